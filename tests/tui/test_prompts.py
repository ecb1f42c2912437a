"""Prompts, also for letters that arrive while one opens."""

from __future__ import annotations

from textual.events import Key
from textual.widgets import Input

from fstui.tui.screens.storage import StorageScreen
from tests.tui.conftest import PreparedApp


async def test_prompt_opens_only_once() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, StorageScreen)
        await screen.action_filter()
        await screen.action_filter()
        assert len(screen.query(Input)) == 1


async def test_letters_during_the_opening_are_typed() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        for letter in "/home":  # all at once, as a paste sends them
            pilot.app.post_message(Key("slash" if letter == "/" else letter, letter))
        await pilot.pause()
        await pilot.pause()
        screen = pilot.app.screen
        assert isinstance(screen, StorageScreen)
        assert sorted(screen.query_one(Input).value) == sorted("home")
