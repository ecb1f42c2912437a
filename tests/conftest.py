"""For every test: a user of its own, and a loud word where root is missing."""

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_user(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own: no test sees, or leaves, what the user has saved."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "LD_PRELOAD", "FSTUI_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    return home


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that make storage say why they did not run."""
    if os.geteuid() == 0:
        return
    for item in items:
        if item.get_closest_marker("root"):
            item.add_marker(pytest.mark.skip(reason="makes storage (loop devices, mounts): run the tests as root"))
