"""For every test: a user of its own, and a loud word where root is missing."""

import os
from pathlib import Path

import pytest

CAP_SYS_ADMIN = 21


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
    reason = _may_not_make_storage()
    for item in items:
        if reason and item.get_closest_marker("root"):
            item.add_marker(pytest.mark.skip(reason=reason))


def _may_not_make_storage() -> str | None:
    if os.geteuid() != 0:
        return "makes storage (loop devices, mounts): run the tests as root"
    try:
        line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("CapEff:"))
    except (OSError, StopIteration):
        return "makes storage, and /proc does not say what root may do here: mount /proc"
    if not int(line.split()[1], 16) >> CAP_SYS_ADMIN & 1:
        return "makes storage, and this root may not mount: in a container, start it with --privileged"
    return None
