"""Fixtures for every test: its own home directory, no time limit, and a clear message if root is missing."""

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
"""The folders with the longest tests: those that wait for storage, and those that keep a CPU busy."""

DIRECTORY_NUMBERS = count()
settings.register_profile("untimed", deadline=None)  # the load of the host is not tested
settings.register_profile("quick", settings.get_profile("ci"), max_examples=20)
settings.load_profile("untimed")


def pytest_configure(config: pytest.Config) -> None:
    """Give each worker its own mount namespace when several run at once.

    Otherwise an unmounted filesystem stays alive in the namespace of another worker's server, and its device stays
    busy. See unshare(2), mount_namespaces(7).
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts its background jobs with SIGINT ignored
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # nohup(1)
        signal.signal(signal.SIGHUP, lambda *_: None)  # programs that the tests start do not inherit a handler
    gc.disable()  # until all tests are collected: the collector would examine them repeatedly
    if hasattr(config, "workerinput") and not _may_not_make_storage():
        libc = ctypes.CDLL(None)
        assert libc.unshare(CLONE_NEWNS) == 0
        assert libc.mount(b"none", b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None) == 0


def pytest_collection_finish() -> None:
    """Exclude the collected tests from garbage collection, in each worker."""
    gc.enable()
    gc.freeze()


def pytest_make_parametrize_id(val: object) -> str | None:
    """Shorten the names of tests with long values, which would fill pages of output."""
    return repr(val[:30]) if isinstance(val, str | bytes) and len(val) > 60 else None


@pytest.fixture(scope="session", autouse=True)
def clean_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hide the saved runs and the settings of the user, also from the fixtures of modules."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("FSTUI_YES", "1")  # the other tests keep the disks busy
        for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "LD_PRELOAD", "FSTUI_DEBUG"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an empty directory. The fixture of pytest is slower: it lists all earlier directories to find a number."""
    return _directory(tmp_path_factory)


@pytest.fixture(autouse=True)
def own_user(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test its own home directory, so that tests share no saved runs."""
    home = _directory(tmp_path_factory)
    monkeypatch.setenv("HOME", str(home))
    return home


def _directory(factory: pytest.TempPathFactory) -> Path:
    directory = factory.getbasetemp() / str(next(DIRECTORY_NUMBERS))
    directory.mkdir(mode=0o700)
    return directory


@pytest.fixture
def without_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """Call functions in a thread, not in a child process: starting an interpreter takes longer than most tests."""

    async def call(_path: object, function: Any, arguments: Any, *_more: object) -> Any:
        if isinstance(function, str):
            module, _, name = function.rpartition(".")
            function = getattr(import_module(module), name)
        function, arguments = pickle.loads(pickle.dumps((function, arguments)))
        return pickle.loads(pickle.dumps(await asyncio.to_thread(call_alone, function, arguments)))

    lock = threading.Lock()

    def call_alone(function: Any, arguments: Any) -> Any:
        # msgspec 0.22 crashes if two threads are the first to convert to a class.
        with lock:
            return function(*arguments)

    monkeypatch.setattr(children, "_call", call)


@pytest.fixture
def box(tmp_path: Path) -> Box:
    """Return an empty made-up host."""
    return Box(tmp_path)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the tests for several workers. Skip those that make storage if that is not possible."""
    order = _file_order(items)
    items.sort(key=lambda item: order[item.path])
    reason = _may_not_make_storage()
    for item in items:
        if reason and item.get_closest_marker("root"):
            item.add_marker(pytest.mark.skip(reason=reason))


def _file_order(items: list[pytest.Item]) -> dict[Path, float]:
    """Return the position of each file: the longest first, files that wait alternating with files that compute."""
    files = list(dict.fromkeys(item.path for item in items))
    order: dict[Path, float] = {path: len(files) for path in files}
    for offset, folders in ((0.0, WAITING), (0.5, COMPUTING)):
        found = (path for folder in folders for path in files if path.parent.name == folder)
        order.update((path, index + offset) for index, path in enumerate(found))
    return order


def _may_not_make_storage() -> str | None:
    if os.geteuid() != 0:
        return "makes storage (loop devices, mounts): run the tests as root"
    try:
        line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("CapEff:"))
    except (OSError, StopIteration):
        return "makes storage, and /proc does not show the capabilities of root: mount /proc"
    if not int(line.split()[1], 16) >> CAP_SYS_ADMIN & 1:
        return "makes storage, and this root may not mount: in a container, start it with --privileged"
    return None
