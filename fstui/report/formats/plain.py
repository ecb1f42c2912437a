"""Plain text, for a terminal, a log or a ticket."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, zip_longest

from rich.cells import cell_len

from fstui.report.characters import join_lines
from fstui.report.sections import Report, Section, alignment, cell_text
from fstui.report.text import (
    GAP,
    MIN_COLUMN,
    NONE,
    WIDTH,
    columns,
    fold,
    point_lines,
    safe_rows,
    wrap,
    wrapped_columns,
)

EXTENSION = ""
_MIN_COLUMN_WIDTH = 16
_MAX_LABEL_WIDTH = 28


def render(report: Report, width: int | None = None) -> str:
    blocks = [[report.title]] if report.title else []
    blocks += [list(lines(section, width)) for section in report.text_sections if not section.only_in_documents]
    return join_lines(line for index, block in enumerate(blocks) for line in (["", *block] if index else block))


def lines(section: Section, width: int | None) -> Iterator[str]:
    indent = "  " if section.title else ""
    max_width = min(width or WIDTH, WIDTH)
    if section.title:
        yield from wrap(section.title, max_width)
    yield from _table(section, width)
    yield from (f"{indent}{cell_text(line)}" for line in section.drawn)
    for line in section.lines:
        yield from (f"{indent}{part}" for part in wrap(line, max_width - len(indent)))
    for label, points in section.points:
        yield from point_lines(label, points, max_width)


def _table(section: Section, width: int | None) -> Sequence[str]:
    if not section.rows:
        return ()
    align = alignment(section)
    rows = [section.header, *(tuple(map(cell_text, row)) for row in section.rows)]
    if section.labelled:
        return list(_split_table(rows, width or WIDTH))
    table = columns(rows, align)
    if width is None or _widest(table) <= width:
        return table
    index = len(align) - 1  # wrap the last column or, if it contains numbers, the widest text column
    if align[index] == ">":
        texts = (column for column, side in enumerate(align) if side == "<")
        index = max(texts, default=0, key=lambda column: _widest([row[column] for row in rows]))
    other_columns = columns([(*row[:index], *row[index + 1 :]) for row in rows], align[:index] + align[index + 1 :])
    if len(align) > 1 and _widest(other_columns) + GAP + MIN_COLUMN <= width:
        return wrapped_columns(rows, width, align=align, column=index)
    return _narrow(safe_rows(rows), align, width)


def _narrow(rows: list[tuple[str, ...]], align: str, width: int) -> list[str]:
    """Return rows with the columns that fit. Below each row, its other cells follow as text. Nothing is cut.

    The first column with a title is the key of the rows. A long key gets a line of its own.
    """
    key = next((index for index, head in enumerate(rows[0]) if head), 0)
    max_key = max(width // 3, _MIN_COLUMN_WIDTH)
    short_rows = [(*row[:key], row[key] if cell_len(row[key]) <= max_key else "", *row[key + 1 :]) for row in rows]
    widths = [_widest(cells) + GAP for cells in zip(*short_rows, strict=True)]
    fitting: list[int] = []
    for index in range(len(align)):
        if index <= key or sum(widths[column] for column in (*fitting, index)) - GAP <= width:
            fitting.append(index)
    lines = columns(
        [[row[index] for index in fitting] for row in short_rows], "".join(align[index] for index in fitting)
    )
    margin = sum(widths[:key])
    result = [lines[0]]
    for line, row, short in zip(lines[1:], rows[1:], short_rows[1:], strict=True):
        is_long = row[key] != short[key]
        result += [f"{line[:margin]:<{margin}}{row[key]}", " " * margin + line[margin:]] if is_long else [line]
        hidden = [(index, cell) for index, cell in enumerate(row) if index not in fitting and cell not in ("", NONE)]
        texts = [f"{rows[0][index]} {cell}" if align[index] == ">" else cell for index, cell in hidden]
        packed: list[str] = []
        for text in texts:
            joined = " · ".join([*packed[-1:], text])
            packed[-1:] = [joined] if cell_len(joined) <= width - 5 else [*packed[-1:], text]
        result += (f"     {part}" for text in packed for part in wrap(text, width - 5))
    return result


def _split_table(rows: Sequence[tuple[str, ...]], width: int) -> Iterator[str]:
    """Yield the table in pieces: as many columns as fit at a time, with the labels of the rows repeated."""
    labels, *columns_ = zip(*safe_rows(rows), strict=True)
    margin = min(max(map(cell_len, labels)), _MAX_LABEL_WIDTH)
    max_column_width = max((width - margin) // len(columns_) - GAP, _MIN_COLUMN_WIDTH)
    widths = [min(max(map(cell_len, cells)), max_column_width) for cells in columns_]
    start = 0
    while start < len(widths):
        if start:
            yield ""
        ends = accumulate(width_ + GAP for width_ in widths[start:])
        end = max(start + sum(column_end <= width - margin for column_end in ends), start + 1)
        for label, *cells in zip(labels, *columns_[start:end], strict=True):
            yield from _fold_row(label, margin, cells, widths[start:end])
        start = end


def _fold_row(label: str, margin: int, cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Return the lines of a row. A cell that is longer than its column continues below."""
    folded = [_fold(label, margin), *(_fold(*cell) for cell in zip(cells, widths, strict=True))]
    aligned = [
        (f"{label_part:<{margin}}", *(f"{part:>{cell_width}}" for part, cell_width in zip(parts, widths, strict=True)))
        for label_part, *parts in zip_longest(*folded, fillvalue="")
    ]
    return columns(aligned, "<" + ">" * len(cells)) or [""]


def _fold(text: str, width: int) -> list[str]:
    indent = text[: len(text) - len(text.lstrip())]
    return [f"{indent}{part}" for part in fold(text.strip(), width - len(indent))] or [""]


def _widest(lines: Sequence[str]) -> int:
    return max(map(cell_len, lines))
