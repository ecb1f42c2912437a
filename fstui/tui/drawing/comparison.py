"""Runs side by side: a bar for each in each step, then the figures; beside them where there is room."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from rich.text import Text

from fstui.model.run import Run
from fstui.report import compare, pivot, ranking, sides
from fstui.report.sides import Side
from fstui.report.text import table
from fstui.tui.drawing.cells import line, rule
from fstui.tui.glyphs import DOUBT, FAINT, HEAD, not_bold, of_verdict

_BESIDE, _MOST_BESIDE = 150, 3
"""Cells from which the figures of so many runs stand beside the bars."""
_BAR = re.compile("  ([A-Z]) ([█▏▎▍▌▋▊▉]+)(.*)")
_THIN = str.maketrans("█▏▎▍▌▋▊▉", "━╸╸╸╸╸╸╸")


def page(runs: Sequence[Run], width: int) -> list[Text]:
    """The older run first; what is too long for its column goes on below."""
    older_first = sorted(runs, key=lambda run: run.started_at)
    found = sides.of(older_first)
    if width < _BESIDE or len(found) > _MOST_BESIDE:
        return [*_ranked(older_first, found, width), line(), *_figures(older_first, width)]
    half = (width - 2) // 2
    pairs = zip_longest(_ranked(older_first, found, half), _figures(older_first, width - half - 2), fillvalue=line())
    return [_beside(left, right, half + 2) for left, right in pairs]


def _ranked(runs: Sequence[Run], found: Sequence[Side], width: int) -> Iterator[Text]:
    """The verdict's sign and colour on each bar."""
    yield rule(width, "compare", "older first")
    verdicts = {side.letter: side.run.verdict for side in found}
    for row in ranking.lines(runs, width - 2):
        if bar := _BAR.fullmatch(row):
            letter, drawn, told = bar.groups()
            glyph, style = of_verdict(verdicts[letter])
            yield line(" ", (glyph, style), f" {letter} ", (drawn.translate(_THIN), not_bold(style)), told)
        else:
            yield line(" ", (row, _style(row)))


def _style(row: str) -> str:
    if row.startswith(("   ", "(")):
        return FAINT  # a place and its stack; what an interval is worth
    return DOUBT if row.startswith("  !") else "" if row.startswith(" ") else HEAD


def _figures(runs: Sequence[Run], width: int) -> Iterator[Text]:
    yield rule(width, "figures")
    cells = compare.rows(runs)
    heads, *rows = table(cells, "<<" + ">" * (len(cells[0]) - 2), width - 2)
    together = pivot.of_runs(runs)
    databases = ["", *pivot.lines(together, width - 2)] if together else []
    yield line(" ", (heads, HEAD))
    yield from (line(f" {row}") for row in (*rows, *databases))


def _beside(left: Text, right: Text, at: int) -> Text:
    both = left.copy()
    both.append(" " * (at - left.cell_len))
    return both.append_text(right)
