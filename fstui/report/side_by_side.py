"""The cells of a comparison as plain text of a given width: a column for each side, as many at a time as there is room.

A step's name has a line of its own, so that it stands there whole however narrow the columns are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, zip_longest

from rich.cells import cell_len

from fstui.report.text import columns, fold, safe_rows, wrap

_GAP = 2
_LABEL = 20
_LEAST = 16
"""So wide a column may be, however many there are; a cell that is longer goes on in the line below."""


def lines(rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """``rows``: what each is about, which figure of it, a cell for each side; the first one is their heading."""
    rows = safe_rows(rows)
    labels = [f"  {figure}" if figure else name for name, figure, *_ in rows]
    margin = min(max(map(cell_len, labels)), _LABEL)
    held = list(zip(*(cells for _, _, *cells in rows), strict=True))
    most = max((width - margin) // len(held) - _GAP, _LEAST)
    sides = [_width(cells, most) for cells in held]
    for first, last in _pieces(sides, width - margin):
        if first:
            yield ""
        for (name, figure, *cells), lead in zip(rows, labels, strict=True):
            if name and figure:
                yield from wrap(name, width)
            yield from _row(lead, margin, cells[first:last], sides[first:last])


def _row(label: str, margin: int, cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    folded = [_folded(label, margin), *(_folded(*cell) for cell in zip(cells, widths, strict=True))]
    aligned = [
        (f"{lead:<{margin}}", *(f"{part:>{room}}" for part, room in zip(parts, widths, strict=True)))
        for lead, *parts in zip_longest(*folded, fillvalue="")
    ]
    return columns(aligned, "<" + ">" * len(cells), _GAP) or [""]


def _pieces(widths: Sequence[int], room: int) -> Iterator[tuple[int, int]]:
    """Which columns stand beside each other: from, to. One at the least."""
    first = 0
    while first < len(widths):
        ends = accumulate(width + _GAP for width in widths[first:])
        last = max(first + sum(end <= room for end in ends), first + 1)
        yield first, last
        first = last


def _width(cells: Sequence[str], most: int) -> int:
    """Of a column: as wide as its widest cell, and no wider than that."""
    return min(max(map(cell_len, cells)), most)


def _folded(text: str, width: int) -> list[str]:
    """Broken at spaces, within a word where it alone is longer; what it was indented by stays."""
    indent = text[: len(text) - len(text.lstrip())]
    return [f"{indent}{part}" for part in fold(text.strip(), width - len(indent))] or [""]
