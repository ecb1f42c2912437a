"""A quick check of several filesystems: one row each, then what is wrong and what to do, then what was left out."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from rich.cells import cell_len

from fstui.model.judgement import TOO_SLOW
from fstui.model.quantities import counted, duration_ns, rate, seconds, size
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.report import json
from fstui.report.characters import page
from fstui.report.findings import leading, title
from fstui.report.formats import prometheus
from fstui.report.formats.csv import spreadsheet_safe
from fstui.report.formats.markdown import escape, table_of
from fstui.report.glyphs import GLYPHS, SPEEDS
from fstui.report.text import NONE, WIDTH, columns, hanging, labelled, speed_words, table, wrap

FORMATS = ("plain", "csv", "json", "markdown", "prometheus")
_HEADER = ("", "FILESYSTEM", "VERDICT", "SURE", "COMMITS/S", "P99", "SLOW?", "FLAG")
_ALIGN = "<<<<>><<"
_CSV = (
    "filesystem", "run", "verdict", "confidence", "commits_per_s", "p99_ns", "speed", "flag", "next", "trouble",
)  # fmt: skip
MOST_NAMES = 3
_GOOD = ("consistent", "kept", "plausible")


class Checked(NamedTuple):
    """One filesystem: its run, or why there is none."""

    name: str
    run: Run | None
    trouble: str = ""


class Check(NamedTuple):
    """All of them."""

    rows: Sequence[Checked]
    left_out: Mapping[str, Sequence[str]]
    """By reason."""
    elapsed_s: float


def render(format_: str, check: Check, width: int | None = None) -> str | bytes:
    """In one of ``FORMATS``."""
    if format_ == "json":
        return json.indented([row.run for row in check.rows if row.run])
    if format_ == "prometheus":
        return prometheus.render_all(row.run for row in check.rows if row.run)
    if format_ == "csv":
        return _csv(check)
    return _markdown(check) if format_ == "markdown" else _plain(check, width)


def line(row: Checked) -> str:
    """One filesystem in one line, as soon as it is done."""
    if row.run is None:
        return f"{row.name}: not checked: {row.trouble}"
    _, name, verdict, sure, per_s, p99, slow, _ = _cells(row)
    played = " · SIMULATED" if row.run.simulated else ""
    return f"{name}: {GLYPHS[row.run.verdict]} {verdict}, {sure} · {per_s} commits/s, p99 {p99} · {slow}{played}"


def commits(run: Run) -> Step | None:
    """The step whose rate is that of durable commits."""
    return next((step for step in run.steps if step.syncs and step.latency_ns), None)


def next_step(run: Run) -> str:
    """The first thing to do; of one that is sound and not slow, nothing."""
    found = leading(run)
    if run.verdict not in _GOOD and found and found.next:
        return found.next[0]
    return next(iter(run.speed.next), "") if run.speed.answer in TOO_SLOW else ""


def _cells(row: Checked) -> tuple[str, ...]:
    run = row.run
    if run is None:
        return "?", row.name, "not checked", "", NONE, NONE, "", row.trouble
    per_s, p99_ns = _durable(run)
    return (
        GLYPHS[run.verdict],
        row.name,
        run.verdict,
        run.confidence,
        rate(per_s) if per_s is not None else NONE,
        duration_ns(p99_ns) if p99_ns is not None else NONE,
        f"{SPEEDS[run.speed.answer]} {run.speed.answer}",
        _flag(run),
    )


def _durable(run: Run) -> tuple[float | None, float | None]:
    """Durable commits a second, and their p99 in ns."""
    step = commits(run)
    return (step.rate_per_s, step.latency_ns.p99) if step and step.latency_ns else (None, None)


def _flag(run: Run) -> str:
    found = leading(run)
    return title(found) if found else ""


def _plain(check: Check, width: int | None) -> str:
    lines = [_played(check), ""] if _played(check) else []
    lines += _table(check, width) if check.rows else []
    for row in check.rows:
        lines += _said(row)
    return page([*lines, "", *_left_out(check), *wrap(_footer(check), WIDTH)])


def _table(check: Check, width: int | None) -> list[str]:
    """With the flags, or with a line of its own for each, where a terminal is too narrow."""
    rows = [_HEADER, *map(_cells, check.rows)]
    whole = columns(rows, _ALIGN)
    if width is None or max(map(cell_len, whole)) <= width:
        return whole
    short = table([row[:-1] for row in rows], _ALIGN[:-1], width)
    flags = ((row.name, cells[-1]) for row, cells in zip(check.rows, rows[1:], strict=True))
    return [*short, "", *hanging([pair for pair in flags if pair[1]], width)]


def _said(row: Checked) -> Iterator[str]:
    """What a row has no room for, of what is wrong or slow."""
    run = row.run
    if run is None:
        return
    bad, slow = run.verdict not in _GOOD, run.speed.answer in TOO_SLOW
    if bad or slow:
        yield from ["", *wrap(f"{GLYPHS[run.verdict]} {row.name}: {run.sentence}", WIDTH)]
        yield from (f"  {part}" for part in (wrap(speed_words(run.speed), WIDTH - 2) if slow else ()))
        yield from labelled("next", filter(None, [next_step(run)]))
        if run.simulated is None:  # what is played is not saved
            yield from labelled("more", [f"fstui show {run.id}"])


def _played(check: Check) -> str:
    """Said wherever a number is shown that no storage has given; empty of a real box."""
    played = next((row.run.simulated for row in check.rows if row.run and row.run.simulated), None)
    return f"SIMULATED: {played}. None of this was measured on storage." if played else ""


def _left_out(check: Check) -> list[str]:
    """A sentence for each reason."""
    said = (wrap(f"not checked: {_few(names)}: {reason}", WIDTH) for reason, names in check.left_out.items())
    return [*chain.from_iterable(said), ""] if check.left_out else []


def _few(names: Sequence[str]) -> str:
    """The first ones by name, the others by their number."""
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _footer(check: Check) -> str:
    written = sum(row.run.written_bytes for row in check.rows if row.run)
    done = counted(sum(row.run is not None for row in check.rows), "filesystem")
    removed = "written and removed" if not _played(check) else "written, on a disk that is not there"
    return f"{done} checked in {seconds(check.elapsed_s)}, {size(written)} {removed}; no proof"


def _markdown(check: Check) -> str:
    rows = [(*map(escape, _cells(row)), escape(next_step(row.run) if row.run else "")) for row in check.rows]
    header = ("", "Filesystem", "Verdict", "Sure", "Commits/s", "p99", "Slow?", "Flag", "Next")
    lines = table_of(header, "llllrrlll", rows)
    left_out = [f"- not checked: {escape(_few(names))}: {escape(why)}" for why, names in check.left_out.items()]
    lines += ["", *left_out] if left_out else []
    played = [f"**{escape(_played(check))}**", ""] if _played(check) else []
    return page([*played, *lines, "", escape(_footer(check))])


def _csv(check: Check) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_CSV)
    for row in check.rows:
        writer.writerow(map(spreadsheet_safe, _csv_cells(row)))
    return text.getvalue()


def _csv_cells(row: Checked) -> tuple[object, ...]:
    run = row.run
    if run is None:
        return row.name, "", "", "", None, None, "", "", "", row.trouble
    per_s, p99_ns = _durable(run)
    rated = round(per_s, 1) if per_s is not None else None
    return (
        row.name, run.id, run.verdict, run.confidence, rated, p99_ns, run.speed.answer, _flag(run), next_step(run), "",
    )  # fmt: skip
