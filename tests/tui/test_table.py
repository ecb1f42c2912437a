from functools import partial

import pytest
from rich.text import Text
from textual.app import App, ComposeResult

from fstui.tui.drawing.cells import Column
from fstui.tui.widgets.table import MORE_ROWS, DrawnTable, TableContent

LONG = 3 * MORE_ROWS
NUMBER = Column("NUMBER", 8)


class Long(App[None]):
    """An app with a table of ``count`` rows, which are recorded when they are drawn."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.drawn: list[int] = []
        self.count = count
        self.table = DrawnTable(self._rows, id="table")

    def compose(self) -> ComposeResult:
        yield self.table

    def _rows(self, width: int) -> TableContent:
        return TableContent((NUMBER,), {str(at): partial(self._draw, at) for at in range(self.count)})

    def _draw(self, at: int) -> list[Text]:
        self.drawn.append(at)
        return [Text(str(at))]


async def test_long_table_draws_only_rows_near_its_cursor() -> None:
    app = Long(LONG)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert max(app.drawn) == MORE_ROWS - 1


@pytest.mark.parametrize("row", [LONG, str(LONG - 1)])
async def test_last_row_of_a_long_table_can_be_chosen(row: int | str) -> None:
    app = Long(LONG)
    async with app.run_test(size=(80, 24)) as pilot:
        app.table.choose(row)
        await pilot.pause()
        assert app.table.chosen_key == str(LONG - 1) and app.drawn[-1] == LONG - 1


async def test_scrolling_a_long_table_adds_rows() -> None:
    app = Long(LONG)
    app.table.styles.height = "1fr"
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        app.table.scroll_to(y=MORE_ROWS - 30, animate=False, immediate=True)
        await pilot.pause()
        assert app.table.row_count > MORE_ROWS


async def test_cursor_stays_on_its_row_when_the_table_is_refilled() -> None:
    app = Long(LONG)
    async with app.run_test(size=(80, 24)) as pilot:
        app.table.choose("1200")
        app.table.refill()
        await pilot.pause()
        assert app.table.chosen_key == "1200"
        app.count = 3
        app.table.refill()
        await pilot.pause()
        assert app.table.chosen_key == "2"
