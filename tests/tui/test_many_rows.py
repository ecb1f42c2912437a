"""Tables with thousands of rows draw only the rows that are shown."""

from __future__ import annotations

import msgspec
import pytest
from rich.text import Text

from fstui.tui.drawing import storage
from fstui.tui.drawing.cells import window
from fstui.tui.screens.storage import StorageScreen
from tests.factories import screens
from tests.tui.conftest import PreparedApp


@pytest.mark.parametrize(
    ("selected", "height", "expected"),
    [
        (0, 10, [*"0123456789"]),
        (9, 11, [*"0123456789"]),
        (0, 3, ["0", "1", "   … 8 more (↓)"]),
        (5, 3, ["4", "5", "   … 4 more (↓)"]),
        (7, 9, [*"01234567", "   … 2 more (↓)"]),
        (9, 9, [*"123456789"]),
        (9, 3, ["7", "8", "9"]),
        (5, 1, ["0"]),
    ],
)
def test_the_selected_row_is_among_those_that_fit(selected: int, height: int, expected: list[str]) -> None:
    assert [text.plain for text in window(10, lambda at: Text(str(at)), selected, height)] == expected


async def test_a_key_draws_only_the_shown_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, StorageScreen)
        one = screens.INVENTORY.filesystems[0]
        many = [msgspec.structs.replace(one, mount_point=f"/{number}") for number in range(5000)]
        screen.rows = [storage.Entry(target) for target in many]
        drawn = []
        draw = storage._row

        def counted(entry: storage.Entry, *how: object) -> Text:
            drawn.append(entry.name)
            return draw(entry, *how)  # type: ignore[arg-type]

        monkeypatch.setattr(storage, "_row", counted)
        screen.action_move(3000)
        assert "/3000" in drawn and len(drawn) < 100
