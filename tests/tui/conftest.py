"""The app on a prepared machine."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.pilot import Pilot

from fstui.model.host import Inventory
from fstui.model.judgement import Judgement
from fstui.runs.session import Session, Survey
from fstui.tui.app import FstuiApp
from fstui.tui.screens.storage import StorageScreen
from tests.factories import screens


class PreparedSession(Session):
    """A session with prepared flags, so that no test depends on the judge."""

    def __init__(self, machine: Any, flags: Mapping[str, Judgement]) -> None:
        super().__init__(machine)
        self.prepared_flags = dict(flags)

    def judged_filesystems(self) -> Survey:
        return super().judged_filesystems()._replace(judgements=self.prepared_flags)

    async def with_space(self, inventory: Inventory) -> Survey:
        return (await super().with_space(inventory))._replace(judgements=self.prepared_flags)


class PreparedApp(FstuiApp):
    """The app on a prepared machine."""

    def __init__(
        self,
        machine: Any = None,
        *,
        ascii_only: bool = False,
        directory: str | None = None,
        flags: Mapping[str, Judgement] = screens.FLAGS,
        **options: Any,
    ) -> None:
        session = PreparedSession(machine or screens.PreparedMachine(), flags)
        super().__init__(session, directory, ascii_only=ascii_only, **options)

    @asynccontextmanager
    async def run_test(self, **options: Any) -> AsyncGenerator[Pilot[int]]:
        async with super().run_test(**options) as pilot:
            while (
                self.fault is None
                and isinstance(first := self.screen_stack[0], StorageScreen)
                and first.judgements is None
            ):
                await pilot.pause()
            yield pilot


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch, without_children: None) -> None:
    """Show the same times everywhere, and start no interpreters."""
    monkeypatch.setenv("TZ", "UTC")
