"""Prompts: what is typed while one opens belongs into it."""

from __future__ import annotations

from textual.events import Key
from textual.widgets import Input

from fstui.tui.screens.storage import StorageScreen
from tests.tui.conftest import PreparedApp


async def test_a_prompt_that_is_asked_for_twice_opens_once() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, StorageScreen)
        await screen.action_filter()
        await screen.action_filter()
        assert len(screen.query(Input)) == 1


async def test_letters_that_were_on_their_way_are_typed_and_are_no_commands() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        for letter in "/home":  # all at once, as a paste sends them
            pilot.app.post_message(Key("slash" if letter == "/" else letter, letter))
        await pilot.pause()
        await pilot.pause()
        screen = pilot.app.screen
        assert isinstance(screen, StorageScreen)
        assert sorted(screen.query_one(Input).value) == sorted("home")
