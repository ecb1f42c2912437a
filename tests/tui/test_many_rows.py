"""Thousands of rows cost no more than those that are seen."""

from __future__ import annotations

import msgspec
import pytest
from rich.text import Text

from fstui.tui.drawing import storage
from fstui.tui.drawing.cells import window, window_of
from fstui.tui.screens.storage import StorageScreen
from tests.factories import screens
from tests.tui.conftest import PreparedApp


@pytest.mark.parametrize("height", [1, 2, 3, 9, 10, 11])
@pytest.mark.parametrize("selected", [0, 1, 5, 8, 9])
def test_what_is_drawn_late_is_what_was_drawn_before(selected: int, height: int) -> None:
    rows = [Text(str(number)) for number in range(10)]
    drawn: list[int] = []

    def draw(at: int) -> Text:
        drawn.append(at)
        return rows[at]

    shown = [text.plain for text in window_of(range(10), draw, selected, height)]
    assert shown == [text.plain for text in window(rows, selected, height)]
    assert len(drawn) <= height and (height < 3 or str(selected) in shown)


async def test_a_key_draws_the_rows_that_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
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
