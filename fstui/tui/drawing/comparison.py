"""Two runs side by side, on a page that fits its width."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from fstui.model.run import Run
from fstui.report import compare, pivot, ranking
from fstui.report.text import table
from fstui.tui.drawing.cells import line, rule
from fstui.tui.glyphs import HEAD


def page(runs: Sequence[Run], width: int) -> list[Text]:
    """The older run first; what is too long for its column goes on below."""
    older_first = sorted(runs, key=lambda run: run.started_at)
    cells = compare.rows(older_first)
    heads, *rows = table(cells, "<<" + ">" * (len(cells[0]) - 2), width - 2)
    together = pivot.of_runs(older_first)
    databases = ["", *pivot.lines(together, width - 2)] if together else []
    drawn = [line(f" {row}") for row in (*rows, *databases)]
    ranked = [line(f" {row}") for row in ranking.lines(older_first, width - 2)]
    return [rule(width, "compare", "older first"), *ranked, line(), line(" ", (heads, HEAD)), *drawn]
