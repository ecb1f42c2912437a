"""Fixtures for every test: a user of its own, no clock, and a clear message if root is missing."""

import asyncio
import ctypes
import gc
import os
import pickle
import signal
import threading
from collections.abc import Iterator
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from fstui.measure import children
from tests.factories.box import Box

CAP_SYS_ADMIN = 21
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 1 << 14, 1 << 18
WAITING, COMPUTING = ("real", "databases", "terminal"), ("tui", "cli", "powercut", "fleet")
"""The folders with the longest files: their tests wait for storage, or keep a processor busy."""

NUMBERS = count()
settings.register_profile("untimed", deadline=None)  # the load of the host is not tested
settings.register_profile("quick", settings.get_profile("ci"), max_examples=20)
settings.load_profile("untimed")


def pytest_configure(config: pytest.Config) -> None:
    """Give each worker its own mount namespace when several run at once.

    Otherwise an unmounted filesystem stays alive in the namespace of another worker's server, and its device stays
    busy. See unshare(2), mount_namespaces(7).
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets its background jobs ignore it
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # nohup(1)
        signal.signal(signal.SIGHUP, lambda *_: None)  # which the programs that the tests start do not inherit
    gc.disable()  # until all tests are collected: half of the time would go into looking through them again
    if hasattr(config, "workerinput") and not _may_not_make_storage():
        libc = ctypes.CDLL(None)
        assert libc.unshare(CLONE_NEWNS) == 0
        assert libc.mount(b"none", b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None) == 0


def pytest_collection_finish() -> None:
    """Let the collector ignore the collected tests from now on, in each worker."""
    gc.enable()
    gc.freeze()


def pytest_make_parametrize_id(val: object) -> str | None:
    """Cut the names of tests with long values, which would fill pages of output."""
    return repr(val[:30]) if isinstance(val, str | bytes) and len(val) > 60 else None


@pytest.fixture(scope="session", autouse=True)
def clean_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hide what the user has saved and set, also from the fixtures of modules."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("FSTUI_YES", "1")  # the disks below are as busy as the other tests make them
        for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "LD_PRELOAD", "FSTUI_DEBUG"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an empty directory, as pytest does, which however lists the thousands of earlier ones to find a number."""
    return _directory(tmp_path_factory)


@pytest.fixture(autouse=True)
def own_user(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test a home of its own: it neither sees nor leaves what another has saved."""
    home = _directory(tmp_path_factory)
    monkeypatch.setenv("HOME", str(home))
    return home


def _directory(factory: pytest.TempPathFactory) -> Path:
    place = factory.getbasetemp() / str(next(NUMBERS))
    place.mkdir(mode=0o700)
    return place


@pytest.fixture
def without_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """Call in a thread what fstui calls in a child process: starting an interpreter takes longer than most tests."""

    async def call(_path: object, function: Any, arguments: Any, *_more: object) -> Any:
        if isinstance(function, str):
            module, _, name = function.rpartition(".")
            function = getattr(import_module(module), name)
        function, arguments = pickle.loads(pickle.dumps((function, arguments)))
        return pickle.loads(pickle.dumps(await asyncio.to_thread(alone, function, arguments)))

    one_at_a_time = threading.Lock()

    def alone(function: Any, arguments: Any) -> Any:
        # msgspec 0.22 crashes if two threads are the first to convert to a class.
        with one_at_a_time:
            return function(*arguments)

    monkeypatch.setattr(children, "_call", call)


@pytest.fixture
def box(tmp_path: Path) -> Box:
    """Return an empty made-up host."""
    return Box(tmp_path)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort for several workers. Tests that make storage report why they did not run."""
    turns = _turns(items)
    items.sort(key=lambda item: turns[item.path])
    reason = _may_not_make_storage()
    for item in items:
        if reason and item.get_closest_marker("root"):
            item.add_marker(pytest.mark.skip(reason=reason))


def _turns(items: list[pytest.Item]) -> dict[Path, float]:
    """Order the files: the longest first, and those that wait alternately with those that compute."""
    files = list(dict.fromkeys(item.path for item in items))
    turns: dict[Path, float] = {path: len(files) for path in files}
    for offset, folders in ((0.0, WAITING), (0.5, COMPUTING)):
        found = (path for folder in folders for path in files if path.parent.name == folder)
        turns.update((path, at + offset) for at, path in enumerate(found))
    return turns


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
