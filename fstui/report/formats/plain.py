"""Plain text, for a terminal, a log or a ticket."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, zip_longest

from rich.cells import cell_len

from fstui.report.characters import page
from fstui.report.sections import Report, Section, alignment
from fstui.report.sections import text as cell_text
from fstui.report.text import (
    GAP,
    NARROWEST,
    NONE,
    WIDTH,
    because,
    columns,
    cut_left,
    fold,
    hanging,
    labelled,
    safe_rows,
    wrap,
)

ENDING = ""
_MIN_COLUMN = 16
_MAX_LABEL = 28


def render(report: Report, width: int | None = None) -> str:
    blocks = [[report.title]] if report.title else []
    blocks += [list(lines(section, width)) for section in report.without_figures if not section.in_documents]
    return page(line for at, block in enumerate(blocks) for line in (["", *block] if at else block))


def lines(section: Section, width: int | None) -> Iterator[str]:
    indent = "  " if section.title else ""
    most = min(width or WIDTH, WIDTH)
    if section.title:
        yield from wrap(section.title, most)
    yield from _table(section, width)
    yield from (f"{indent}{cell_text(line)}" for line in section.drawn)
    for line in section.lines:
        yield from (f"{indent}{part}" for part in wrap(line, most - len(indent)))
    for label, points in section.points:
        yield from because(points, most) if label == "because" else labelled(label, points, most)


def _table(section: Section, width: int | None) -> Sequence[str]:
    if not section.rows:
        return ()
    align = alignment(section)
    rows = [section.header, *(tuple(map(cell_text, row)) for row in section.rows)]
    if section.labelled:
        return list(_in_pieces(rows, width or WIDTH))
    whole = columns(rows, align)
    if width is None or _widest(whole) <= width:
        return whole
    lead = columns([row[:-1] for row in rows], align[:-1]) if align.endswith("<") and len(align) > 1 else whole
    return hanging(rows, width, align=align) if _widest(lead) + NARROWEST <= width else _narrow(rows, align, width)


def _narrow(rows: list[tuple[str, ...]], align: str, width: int) -> list[str]:
    """Return the columns that fit. Below each row, return the other columns, and the cells that were cut, in full."""
    most = max(width // 3, _MIN_COLUMN)
    shown, kept = rows, len(align) - 1
    while _widest(columns([row[:kept] for row in shown], align[:kept])) > width and kept > 1:
        if shown is rows:
            shown = [tuple(cut_left(cell, most) for cell in row) for row in rows]
        else:
            kept -= 1
    lines = columns([row[:kept] for row in shown], align[:kept])
    drawn = [lines[0]]
    for line, row, cells in zip(lines[1:], rows[1:], shown[1:], strict=True):
        below = [whole for whole, cell in zip(row[:kept], cells, strict=False) if whole != cell]
        for name, cell, side in zip(rows[0][kept:], row[kept:], align[kept:], strict=True):
            below += [f"{name} {cell}" if side == ">" else cell] if cell not in ("", NONE) else []
        drawn += [line, *(f"     {part}" for part in wrap(" · ".join(below), width - 5))]
    return drawn


def _in_pieces(rows: Sequence[tuple[str, ...]], width: int) -> Iterator[str]:
    """Return the rows with as many columns of figures at a time as fit, each with the label of its row."""
    labels, *columns_ = zip(*safe_rows(rows), strict=True)
    margin = min(max(map(cell_len, labels)), _MAX_LABEL)
    most = max((width - margin) // len(columns_) - GAP, _MIN_COLUMN)
    widths = [min(max(map(cell_len, cells)), most) for cells in columns_]
    first = 0
    while first < len(widths):
        if first:
            yield ""
        ends = accumulate(width_ + GAP for width_ in widths[first:])
        last = max(first + sum(end <= width - margin for end in ends), first + 1)
        for label, *cells in zip(labels, *columns_[first:last], strict=True):
            yield from _folded_row(label, margin, cells, widths[first:last])
        first = last


def _folded_row(label: str, margin: int, cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Continue a cell that is longer than its column in the line below."""
    folded = [_folded(label, margin), *(_folded(*cell) for cell in zip(cells, widths, strict=True))]
    aligned = [
        (f"{lead:<{margin}}", *(f"{part:>{room}}" for part, room in zip(parts, widths, strict=True)))
        for lead, *parts in zip_longest(*folded, fillvalue="")
    ]
    return columns(aligned, "<" + ">" * len(cells)) or [""]


def _folded(text: str, width: int) -> list[str]:
    indent = text[: len(text) - len(text.lstrip())]
    return [f"{indent}{part}" for part in fold(text.strip(), width - len(indent))] or [""]


def _widest(lines: Sequence[str]) -> int:
    return max(map(cell_len, lines))
