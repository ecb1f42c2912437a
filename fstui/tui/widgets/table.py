"""A table whose cursor is moved by the keys of the screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from rich.text import Text
from textual.events import Click
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widgets import DataTable

from fstui.tui.drawing.cells import Column, line, styled_row
from fstui.tui.styles import FAINT

MORE_ROWS = 500
"""How many rows are added below the cursor and the top line. More would take time: a history may have thousands."""
Cells = Sequence[Text]


class TableContent(NamedTuple):
    columns: Sequence[Column]
    rows: Mapping[str, Callable[[], Cells]]
    """By key, the function that draws the row. It is called when the cursor or the top line comes near the row."""
    titles: Mapping[str, str] = {}
    """Titles to show in place of those of the columns."""


def row_cells(columns: Sequence[Column], values: Mapping[str, str], styles: Mapping[str, str]) -> list[Text]:
    """Return a cell for each column, by the columns' titles; a missing value is blank."""
    return [line(span) for span in styled_row(columns, values, styles)]


class DrawnTable(DataTable[Text]):
    """Show the rows that a function returns for a width. The cursor stays on its row when rows are added or removed."""

    class Clicked(Message):
        def __init__(self, table: DrawnTable) -> None:
            super().__init__()
            self.table = table

    can_focus = False  # the screen handles the keys, because users can change them
    DEFAULT_CSS = """
    DrawnTable { height: auto; background: transparent; scrollbar-size: 1 1; overflow-x: hidden; }
    DrawnTable > .datatable--header, DrawnTable:ansi > .datatable--header { background: transparent; text-style: none; }
    DrawnTable > .datatable--cursor { background: transparent; color: $foreground; text-style: reverse; }
    """

    def __init__(self, draw: Callable[[int], TableContent], id: str, *, header: bool = True) -> None:  # noqa: A002
        super().__init__(cursor_type="row", cell_padding=0, show_header=header, id=id)
        self._draw = draw
        self._rows: Mapping[str, Callable[[], Cells]] = {}
        self.titles: list[str] = []
        self._pending_row: str | int | None = None
        """Where to put the cursor as soon as there are rows: a key or an index."""

    @property
    def chosen_key(self) -> str | None:
        return self.ordered_rows[self.cursor_row].key.value if self.row_count else None

    async def on_click(self, event: Click) -> None:
        if event.chain > 1:
            await self.app.run_action("open_row", default_namespace=self.screen)
        else:
            self.post_message(self.Clicked(self))

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw two dashes before the title of the border, as ``rule`` does. Textual draws one."""
        strips = super().render_lines(crop)
        if strips and self.styles.border_top[0] and crop.offset == (0, 0):
            top = strips[0]
            strips[0] = Strip.join([top.crop(0, 2), top.crop(1, crop.width - 2), top.crop(crop.width - 1)])
        return strips

    def on_resize(self) -> None:
        self.refill()

    def refill(self) -> None:
        if not self.size.width:
            return
        chosen = self.chosen_key if self.row_count else self._pending_row
        index = chosen if isinstance(chosen, int) else self.cursor_row
        columns, rows, titles = self._draw(self.size.width - 2)  # the scroll bar, and a blank cell before it
        self._rows = {}  # clear() may scroll, which adds rows, but there are no columns for them yet
        self.clear(columns=True)
        self.titles = [column.title for column in columns]
        header = styled_row(columns, {column.title: column.title for column in columns} | dict(titles), {})
        for column, (title, _) in zip(columns, header, strict=True):
            self.add_column(Text(title, FAINT), width=column.width + column.gap)
        self._rows = rows
        self.choose(chosen if chosen in rows else index)

    def empty(self) -> None:
        """Remove the rows, which take memory, until the next ``refill`` puts the cursor on the same row again."""
        self._pending_row, self._rows = self.chosen_key, {}
        self.clear(columns=True)

    def choose(self, row: str | int | None) -> None:
        """Put the cursor on the row with this key, or on the row nearest to this index."""
        if row is None or not self._rows:
            self._pending_row = row
        elif isinstance(row, int):
            index = max(0, min(row, len(self._rows) - 1))
            self._add_rows(index + MORE_ROWS)
            self.move_cursor(row=index)
        elif row in self._rows:
            self.choose(list(self._rows).index(row))

    def move(self, offset: int) -> None:
        self.choose(self.cursor_row + offset)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._add_rows(round(new_value) + MORE_ROWS)

    def _add_rows(self, count: int) -> None:
        for key in islice(self._rows, self.row_count, count):
            row = self._rows[key]()
            self.add_row(*row, key=key, height=max(cell.plain.count("\n") for cell in row) + 1)
