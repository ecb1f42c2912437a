"""Plain text: columns that line up, verdicts in words, a step's figures."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from datetime import datetime

from rich.cells import cell_len

from fstui.model import Confidence, Step, Target, Verdict
from fstui.quantities import duration_ns, plain, rate, ratio
from fstui.report import figures
from fstui.report.glyphs import GLYPHS

WIDTH = 80
_MARGIN = 11
_NARROWEST = 24
NONE = "–"


def verdict_words(verdict: Verdict, confidence: Confidence) -> str:
    """``! SUSPICIOUS  high confidence``."""
    word = verdict.upper() + (" with durable" if verdict == "consistent" else "")
    return f"{GLYPHS[verdict]} {word}  {confidence} confidence"


def columns(rows: Sequence[Sequence[str]], align: str, gap: int = 2) -> list[str]:
    """Rows as lines of aligned cells; ``align`` holds ``<`` or ``>`` for each column."""
    widths = [max(map(cell_len, cells)) for cells in zip(*rows, strict=True)]
    return [(" " * gap).join(_padded(*cell) for cell in zip(row, widths, align, strict=True)).rstrip() for row in rows]


def hanging(rows: Sequence[Sequence[str]], width: int = WIDTH, gap: int = 2) -> list[str]:
    """Left-aligned columns of which the last is text: it is wrapped within its own column."""
    if not rows:
        return []
    lead = len(rows[0]) - 1
    margin = sum(max(cell_len(row[at]) for row in rows) + gap for at in range(lead))
    wrapped = []
    for *cells, text in rows:
        first, *more = wrap(text, max(width - margin, _NARROWEST)) or [""]
        wrapped += [(*cells, first), *((*[""] * lead, line) for line in more)]
    return columns(wrapped, "<" * (lead + 1), gap)


def labelled(label: str, lines: Iterable[str]) -> list[str]:
    """Sentences under a label in the margin: ``next     Switch the cache off …``."""
    return _in_margin(label, [part for line in lines for part in wrap(line, WIDTH - _MARGIN)])


def because(lines: Iterable[str]) -> list[str]:
    """Lines of ``label: evidence`` in two columns: ``because  fdatasync  840/s, limit 120/s``."""
    pairs = [line.partition(": ") for line in lines]
    rows = [(plain(label), evidence) if colon else ("", label) for label, colon, evidence in pairs]
    return _in_margin("because", hanging(rows, WIDTH - _MARGIN))


def _in_margin(label: str, lines: Sequence[str]) -> list[str]:
    return [(f"  {label}".ljust(_MARGIN) if at == 0 else " " * _MARGIN) + line for at, line in enumerate(lines)]


def wrap(text: str, width: int) -> list[str]:
    """Safe text, broken at spaces; a longer word stays whole, so that a path can be copied."""
    return textwrap.wrap(plain(text), width, break_long_words=False, break_on_hyphens=False)


def moment(started_at: str) -> str:
    """``20 Nov 2026 03:12``; what is no time stays as it is."""
    try:
        return datetime.fromisoformat(started_at).strftime("%d %b %Y %H:%M")
    except ValueError:
        return plain(started_at)


def step_cells(step: Step, target: Target | None) -> tuple[str, ...]:
    """Name, rate, p50, p99, max, flushes per sync, bytes that arrived for each byte written."""
    rated = figures.rated(step.probe)
    latency = step.latency_ns if rated else None
    per_sync = figures.flushes_per_sync(step, target)
    arrived = figures.bytes_ratio(step, target)
    return (
        plain(step.name),
        rate(step.rate_per_s) if step.ops and rated else NONE,
        duration_ns(latency.p50) if latency else NONE,
        duration_ns(latency.p99) if latency and latency.p99 is not None else NONE,
        duration_ns(latency.max) if latency else NONE,
        NONE if per_sync is None else ratio(per_sync),
        NONE if arrived is None else ratio(arrived),
    )


def _padded(text: str, width: int, align: str) -> str:
    fill = " " * (width - cell_len(text))
    return text + fill if align == "<" else fill + text
