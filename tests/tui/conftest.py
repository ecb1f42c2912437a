"""The app on a prepared box, in a terminal of a fixed size, with a state directory of its own."""

from __future__ import annotations

from typing import Any

import pytest

from fstui.model import Judgement
from fstui.tui.app import FstuiApp
from tests.tui import prepared


class PreparedApp(FstuiApp):
    """The app with the flags of the prepared box: judging is tested elsewhere."""

    def __init__(self, machine: Any = None, *, ascii_only: bool = False, directory: str | None = None) -> None:
        given: Any = machine or prepared.PreparedMachine()
        super().__init__(given, directory, ascii_only=ascii_only)

    def flags(self, inventory: object) -> dict[str, Judgement]:
        return dict(prepared.FLAGS)


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees, or leaves, what the user has saved."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
    monkeypatch.setenv("TZ", "UTC")
