"""For every test: a user of its own, no clock, and a loud word where root is missing."""

import ctypes
import os
from pathlib import Path

import pytest
from hypothesis import settings

from tests.factories.box import Box

CAP_SYS_ADMIN = 21
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 1 << 14, 1 << 18
LONGEST = ("databases", "terminal", "storage")
"""Where several files are tested at once, what takes longest begins first."""

settings.register_profile("untimed", deadline=None)  # how busy the box is is no matter of what is tested
settings.load_profile("untimed")


def pytest_configure(config: pytest.Config) -> None:
    """Where several files are tested at once, each worker's mounts are its own.

    Else what one has unmounted lives on in the namespace of another's server, and its device stays busy. unshare(2),
    mount_namespaces(7)
    """
    if hasattr(config, "workerinput") and not _may_not_make_storage():
        libc = ctypes.CDLL(None)
        assert libc.unshare(CLONE_NEWNS) == 0
        assert libc.mount(b"none", b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None) == 0


@pytest.fixture(autouse=True)
def own_user(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own: no test sees, or leaves, what the user has saved."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("FSTUI_YES", "1")  # the disks beneath are as busy as the other tests make them
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "LD_PRELOAD", "FSTUI_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def box(tmp_path: Path) -> Box:
    """A made-up box without anything in it."""
    return Box(tmp_path)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first; tests that make storage say why they did not run."""
    items.sort(key=_turn)
    reason = _may_not_make_storage()
    for item in items:
        if reason and item.get_closest_marker("root"):
            item.add_marker(pytest.mark.skip(reason=reason))


def _turn(item: pytest.Item) -> int:
    room = item.path.parent.name
    return LONGEST.index(room) if room in LONGEST else len(LONGEST)


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
