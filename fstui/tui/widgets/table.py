"""A table of rows whose cursor is moved by the keys of the screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from rich.text import Text
from textual.message import Message
from textual.widgets import DataTable
from textual.widgets.data_table import RowDoesNotExist

from fstui.tui.drawing.cells import Column, line, styled_row
from fstui.tui.styles import FAINT


class Rows(NamedTuple):
    """The columns of a table, the cells of each row by its key, and titles that differ from the columns' own."""

    columns: Sequence[Column]
    cells: Mapping[str, Sequence[Text]]
    titles: Mapping[str, str]


def row_cells(columns: Sequence[Column], values: Mapping[str, str], styles: Mapping[str, str]) -> list[Text]:
    """Return a cell for each column, by the columns' titles; a missing value is blank."""
    return [line(run) for run in styled_row(columns, values, styles)]


class Table(DataTable[Text]):
    """Show the rows that a function returns for a width. The cursor stays on its row when rows come and go."""

    class Clicked(Message):
        """A table was clicked on."""

        def __init__(self, table: Table) -> None:
            super().__init__()
            self.table = table

    can_focus = False  # the screen has the keys, which a user may have changed
    DEFAULT_CSS = """
    Table { height: auto; background: transparent; scrollbar-size: 1 1; overflow-x: hidden; }
    Table > .datatable--header, Table:ansi > .datatable--header { background: transparent; text-style: none; }
    Table > .datatable--cursor { background: transparent; color: $foreground; text-style: reverse; }
    """

    def __init__(self, draw: Callable[[int], Rows], id: str, *, header: bool = True) -> None:  # noqa: A002
        super().__init__(cursor_type="row", cell_padding=0, show_header=header, id=id)
        self._draw = draw
        self._pending: str | int | None = None
        """The row for the cursor once there are rows."""

    @property
    def chosen(self) -> str | None:
        """The key of the row under the cursor."""
        return self.ordered_rows[self.cursor_row].key.value if self.row_count else None

    def on_click(self) -> None:
        self.post_message(self.Clicked(self))

    def on_resize(self) -> None:
        self.refill()

    def refill(self) -> None:
        """Show the rows as they are now."""
        if not self.size.width:
            return
        chosen = self.chosen if self.row_count else self._pending
        at = chosen if isinstance(chosen, int) else self.cursor_row
        columns, cells, titles = self._draw(self.size.width)
        self.clear(columns=True)
        heads = styled_row(columns, {one.title: one.title for one in columns} | dict(titles), {})
        for column, (head, _) in zip(columns, heads, strict=True):
            self.add_column(Text(head, FAINT), width=column.width + column.gap)
        for key, row in cells.items():
            self.add_row(*row, key=key, height=max(cell.plain.count("\n") for cell in row) + 1)
        self.choose(chosen if chosen in cells else min(at, max(len(cells) - 1, 0)))

    def choose(self, row: str | int | None) -> None:
        """Put the cursor on the row of that key or number."""
        if row is None or not self.row_count:
            self._pending = row
            return
        try:
            at = self.get_row_index(row) if isinstance(row, str) else row
        except RowDoesNotExist:
            return
        self.move_cursor(row=max(0, min(at, self.row_count - 1)))

    def move(self, by: int) -> None:
        self.choose(self.cursor_row + by)
