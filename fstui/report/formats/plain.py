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
    blocks += [list(lines(section, width)) for section in report.shown_as_text if not section.only_in_documents]
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
    at = len(align) - 1  # the column to wrap: the last one, or the widest text if that is numbers
    if align[at] == ">":
        texts = (each for each, how in enumerate(align) if how == "<")
        at = max(texts, default=0, key=lambda each: _widest([row[each] for row in rows]))
    others = columns([(*row[:at], *row[at + 1 :]) for row in rows], align[:at] + align[at + 1 :])
    if len(align) > 1 and _widest(others) + GAP + NARROWEST <= width:
        return hanging(rows, width, align=align, at=at)
    return _narrow(safe_rows(rows), align, width)


def _narrow(rows: list[tuple[str, ...]], align: str, width: int) -> list[str]:
    """Return rows with the columns that fit, each followed by its other cells as text. Nothing is cut.

    The first column with a title contains the names of the rows. A long name gets a line of its own.
    """
    name = next((at for at, head in enumerate(rows[0]) if head), 0)
    most = max(width // 3, _MIN_COLUMN)
    named = [(*row[:name], row[name] if cell_len(row[name]) <= most else "", *row[name + 1 :]) for row in rows]
    widths = [_widest(cells) + GAP for cells in zip(*named, strict=True)]
    fitting: list[int] = []
    for at in range(len(align)):
        if at <= name or sum(widths[each] for each in (*fitting, at)) - GAP <= width:
            fitting.append(at)
    lines = columns([[row[at] for at in fitting] for row in named], "".join(align[at] for at in fitting))
    margin = sum(widths[:name])
    drawn = [lines[0]]
    for line, row, short in zip(lines[1:], rows[1:], named[1:], strict=True):
        long = row[name] != short[name]
        drawn += [f"{line[:margin]:<{margin}}{row[name]}", " " * margin + line[margin:]] if long else [line]
        below = [(at, cell) for at, cell in enumerate(row) if at not in fitting and cell not in ("", NONE)]
        words = " · ".join(f"{rows[0][at]} {cell}" if align[at] == ">" else cell for at, cell in below)
        drawn += (f"     {part}" for part in wrap(words, width - 5))
    return drawn


def _in_pieces(rows: Sequence[tuple[str, ...]], width: int) -> Iterator[str]:
    """Yield the table in pieces: as many columns as fit at a time, with the labels of the rows repeated."""
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
    """Return the lines of a row. A cell that is longer than its column continues below."""
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
