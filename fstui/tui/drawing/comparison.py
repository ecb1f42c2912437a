"""Two runs side by side, on a page that fits its width."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import zip_longest

from rich.text import Text

from fstui.model import Run
from fstui.quantities import plain
from fstui.report import compare
from fstui.tui.drawing.cells import fit_middle, fit_right, line, rule
from fstui.tui.glyphs import FAINT, HEAD

_LABEL = 10


def page(runs: Sequence[Run], width: int) -> list[Text]:
    """The older run first; what is too long for its column goes on below."""
    ordered = sorted(runs, key=lambda run: run.started_at)
    title = width * 28 // 80
    column = (width - title - _LABEL - 2) // len(ordered) - 1
    lines = [rule(width, "compare", "older first")]
    for name, label, *values in compare.rows(ordered):
        heads = label == "" and name != ""
        first = (fit_middle(plain(name), title), HEAD if label else FAINT), (f" {label:<{_LABEL}}", FAINT)
        parts = [textwrap.wrap(value, max(column, 6)) or [""] for value in values]
        for number, cells in enumerate(zip_longest(*parts, fillvalue="")):
            words = "".join(" " + fit_right(cell, column) for cell in cells)
            lead = first if number == 0 else (" " * (title + _LABEL + 1),)
            lines.append(line(" ", *lead, (words, "" if label or heads else HEAD)))
    return lines
