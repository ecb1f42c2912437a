"""Leaving, in every way: what runs is stopped first, and the code says what ended it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from fstui.model.events import Event
from fstui.tui import commands
from fstui.tui.screens.history import HistoryScreen
from fstui.tui.screens.plan import PlanScreen
from fstui.tui.screens.result import ResultScreen
from fstui.tui.screens.run import RunScreen
from fstui.tui.screens.storage import StorageScreen
from tests.factories import screens
from tests.tui.conftest import PreparedApp

TAKEN = {"ctrl+a", "ctrl+b"}  # GNU screen's and tmux's own prefixes


class Stoppable(screens.PreparedRunning):
    """A run that goes on until it is stopped, and then cleans up."""

    def __init__(self) -> None:
        super().__init__(screens.events(until=3))
        self.cleaned = False
        self._stop = asyncio.Event()

    async def events(self) -> AsyncIterator[Event]:
        for event in self.told:
            yield event
        await self._stop.wait()
        self.cleaned = True
        yield screens.events()[-1]

    def stop(self) -> None:
        self._stop.set()


@pytest.mark.parametrize(("key", "code"), [("q", 0), ("ctrl+q", 0), ("ctrl+c", 130)])
async def test_leaving_stops_the_run_and_waits_until_it_has_cleaned_up(key: str, code: int) -> None:
    app, running = PreparedApp(), Stoppable()
    async with app.run_test(size=(80, 24)) as pilot:
        app.open_run(running, screens.PLAN, screens.DATA)
        await pilot.pause()
        await pilot.press(key)
        await app.workers.wait_for_complete()
    assert running.cleaned
    assert app.return_value == code
    assert app.result is not None and app.result[0].id == screens.RUN.id


async def test_ctrl_c_leaves_also_while_a_value_is_being_typed() -> None:
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("slash", "x", "ctrl+c")
        await app.workers.wait_for_complete()
    assert app.return_value == 130


@pytest.mark.parametrize("screen", [StorageScreen, PlanScreen, RunScreen, ResultScreen, HistoryScreen])
def test_every_key_is_plain_named_once_and_not_taken_by_tmux_or_screen(screen: type[StorageScreen]) -> None:
    keys = [key for command in screen.KEYS for key in command.keys.split(",")]
    names = [command.id for command in screen.KEYS]
    assert len(set(keys)) == len(keys)
    assert len(set(names)) == len(names)
    assert not TAKEN & set(keys)
    assert all(command.help for command in screen.KEYS)


@pytest.mark.parametrize("screen", [StorageScreen, PlanScreen, RunScreen, ResultScreen, HistoryScreen])
@pytest.mark.parametrize("width", [50, 80])
def test_the_footer_fits_and_always_names_the_help(screen: type[StorageScreen], width: int) -> None:
    text = commands.footer(screen.KEYS, {}, width)
    assert text.cell_len <= width
    assert "? help" in text.plain


@pytest.mark.parametrize("call", ["survey", "counters"])
async def test_a_fault_while_looking_at_the_storage_ends_the_app_with_1(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("sda")

    monkeypatch.setattr(screens.PreparedMachine, call, broken)
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
    assert app.return_value == 1
    assert isinstance(app.fault, KeyError)
