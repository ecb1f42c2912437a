"""Plain text: aligned columns, wrapped sentences, and verdicts in words."""

import re
import textwrap
from collections.abc import Iterable, Sequence
from datetime import datetime

from rich.cells import cell_len, set_cell_size

from fstui.model.judgement import Answer, Confidence, Speed, Verdict
from fstui.report.characters import escape_controls

GLYPHS: dict[Verdict, str] = {
    "lost": "✗", "not-durable": "✗", "suspicious": "!", "cannot-tell": "?",
    "plausible": "~", "consistent": "✓", "kept": "✓",
}  # fmt: skip
SPEED_GLYPHS: dict[Answer, str] = {"stalls": "▲", "slow": "!", "unknown": "?", "normal": "✓"}
WIDTH = 80
GAP = 2
MARGIN = 11
"""Width of the column of labels, such as ``because``."""
_EVIDENCE = ("because", "details")
"""Labels of sentences that have a label of their own: ``fdatasync: 840/s, limit 120/s``."""
MIN_COLUMN = 24
"""Minimum width of a wrapped column in cells."""
NONE = "–"
_REPLAY = "replay of "
_BLOCKS = "▁▂▃▄▅▆▇█"
_COMMAND = r"(?:^|(?<=[\s(]))'[^']+'(?=[\s).,;:]|$)"
_BEFORE_UNIT = r"(?<=\d) (?=(?:[nµm]?s|[mhB×]|[KMGT]iB|rpm|[a-z]+/s)(?![\w/]))"


def verdict_line(verdict: Verdict, confidence: Confidence) -> str:
    """Return ``! SUSPICIOUS  high confidence``."""
    return f"{GLYPHS[verdict]} {verdict_label(verdict)}  {confidence} confidence"


def verdict_label(verdict: Verdict) -> str:
    """Return ``SUSPICIOUS``, ``NOT DURABLE`` or ``CONSISTENT with durable storage``."""
    return verdict.upper().replace("-", " ") + (" with durable storage" if verdict == "consistent" else "")


def speed_line(speed: Speed) -> str:
    """Return ``▲ STALLS  412 ms for one operation of “fdatasync”``; empty for a document without this answer."""
    if not speed.title:
        return ""
    return f"{SPEED_GLYPHS[speed.answer]} {speed_label(speed.answer)}  {speed.title}"


def origin(simulated: str | None) -> str:
    """Return ``SIMULATED hdd-7200`` or ``REPLAY of k3f9a1``; empty if real storage was measured."""
    if not simulated:
        return ""
    return simulated.replace("replay", "REPLAY", 1) if simulated.startswith(_REPLAY) else f"SIMULATED {simulated}"


def unsaved_reason(simulated: str) -> str:
    """Return why a run on a simulated disk, or the replay of a run, was not saved."""
    return "this is the replay of a saved run" if simulated.startswith(_REPLAY) else "simulated disk"


def simulation_warning(simulated: str) -> str:
    """Return the warning about the figures of a simulated disk or of a replay."""
    if simulated.startswith(_REPLAY):
        return f"{origin(simulated)}: the figures are those of the saved run."
    return f"SIMULATED: {simulated}. No real storage was measured."


def speed_word(answer: Answer) -> str:
    """Return the word that users see. ``normal`` appears only in documents for programs."""
    return "not slow" if answer == "normal" else answer


def speed_label(answer: Answer) -> str:
    return "SPEED UNKNOWN" if answer == "unknown" else speed_word(answer).upper()


def safe_rows(rows: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """Escape cells before their width is measured, so that columns are aligned."""
    return [tuple(map(escape_controls, row)) for row in rows]


def columns(rows: Sequence[Sequence[str]], align: str) -> list[str]:
    """Return rows as lines of aligned cells. ``align`` contains ``<`` or ``>`` for each column."""
    safe = safe_rows(rows)
    widths = [max(map(cell_len, cells)) for cells in zip(*safe, strict=True)]
    return [(" " * GAP).join(_pad(*cell) for cell in zip(row, widths, align, strict=True)).rstrip() for row in safe]


def wrapped_columns(rows: Sequence[Sequence[str]], width: int = WIDTH, align: str = "", column: int = -1) -> list[str]:
    """Return aligned columns, with ``column`` (by default the last) wrapped so that lines fit in ``width``."""
    if not rows:
        return []
    count = len(rows[0])
    column %= count
    safe = safe_rows(rows)
    widths = [max(map(cell_len, cells)) + GAP for cells in zip(*safe, strict=True)]
    column_width = max(width - sum(widths) + widths[column], MIN_COLUMN)
    wrapped = []
    for row in safe:
        first_line, *more_lines = wrap(row[column], column_width) or [""]
        wrapped.append((*row[:column], first_line, *row[column + 1 :]))
        wrapped += [(*[""] * column, line, *[""] * (count - column - 1)) for line in more_lines]
    return columns(wrapped, align or "<" * count)


def point_lines(label: str, sentences: Iterable[str], width: int, *, break_long_words: bool = False) -> list[str]:
    """Return sentences with a label in the margin: ``next     Switch the cache off …``.

    Evidence is in two columns, ``because  fdatasync  840/s, limit 120/s``, unless that takes more lines.
    """
    points = [escape_controls(text).partition(": ") if label in _EVIDENCE else (text, "", "") for text in sentences]
    column, room = max((cell_len(name) + GAP for name, colon, _ in points if colon), default=0), max(width - MARGIN, 20)

    def layout(*, in_columns: bool) -> list[str]:
        lines, previous = [], ""
        for name, colon, text in points:
            words, first, indent = f"{name}{colon}{text}", "", "  " if colon else ""
            if colon and in_columns:
                words, first, indent = text, _pad("" if name == previous else name, column, "<"), " " * column
            lines += _break_lines(words, room, first, indent, break_long_words=break_long_words) or [first]
            previous = name
        return lines

    lines = min(layout(in_columns=column <= room * 2 // 5), layout(in_columns=False), key=len)
    return [(f"  {label}".ljust(MARGIN) if index == 0 else " " * MARGIN) + line for index, line in enumerate(lines)]


def wrap(text: str, width: int) -> list[str]:
    """Escape text and break it at spaces. A longer word stays whole, so that a path can be copied."""
    return _break_lines(text, width, break_long_words=False)


def fold(text: str, width: int, first: str = "", indent: str = "") -> list[str]:
    """Escape text and break it into lines, also within a long word. Start the first line with ``first``."""
    return _break_lines(text, width, first, indent, break_long_words=True)


def _break_lines(text: str, width: int, first: str = "", indent: str = "", *, break_long_words: bool) -> list[str]:
    # Do not break a command in quotes, so that it can be copied, or a number and its unit. NUL can replace the spaces
    # in them, because escaped text contains no NUL. A command that does not fit into a line together with the full
    # stop after it breaks at its spaces.
    max_length = width - len(indent) if break_long_words else len(text) + 1

    def joined(part: re.Match[str]) -> str:
        return part[0].replace(" ", "\0") if len(part[0]) < max_length else part[0]

    unbroken = re.sub(f"{_COMMAND}|{_BEFORE_UNIT}", joined, escape_controls(text))
    lines = textwrap.wrap(
        unbroken,
        max(width, 1),
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=break_long_words,
        break_on_hyphens=False,
    )
    return [line.replace("\0", " ") for line in lines]


def cut_left(text: str, width: int) -> str:
    """Escape text and cut off its beginning, because paths differ at their ends."""
    text = escape_controls(text)
    return text if cell_len(text) <= width else "…" + set_cell_size(text[::-1], max(width - 1, 0))[::-1]


def sparkline(values: Sequence[float | None], highest: float | None = None) -> str:
    """Return a block for each value, scaled to ``highest`` (by default the highest value); a space for None."""
    highest = highest or max((value for value in values if value), default=1.0)
    top = len(_BLOCKS) - 1
    return "".join(" " if value is None else _BLOCKS[min(round(top * value / highest), top)] for value in values)


def moment(started_at: str, form: str = "%d %b %Y %H:%M") -> str:
    """Return ``20 Nov 2026 03:12``, or the text itself if it is not a time."""
    try:
        return datetime.fromisoformat(started_at).strftime(form)
    except ValueError:
        return started_at


def setting_text(value: object) -> str:
    """Return the value of a setting as it is typed after ``--set KEY=``: ``4096,8192``, ``true``."""
    values = value if isinstance(value, list | tuple) else [value]
    return ",".join(str(each).lower() if isinstance(each, bool) else str(each) for each in values)


def _pad(text: str, width: int, align: str) -> str:
    if text.isascii():
        return text.ljust(width) if align == "<" else text.rjust(width)
    fill = " " * (width - cell_len(text))
    return text + fill if align == "<" else fill + text
