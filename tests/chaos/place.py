"""The host of an attack: an ext4 on a loop device, a home directory, and namespaces of its own. So everything that is
left in them belongs to the test."""

import ctypes
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from tests.real import disks

CLONE_NEWNS, CLONE_NEWIPC = 0x20000, 0x8000000
MS_REC, MS_PRIVATE = 1 << 14, 1 << 18
TRACING = Path("/sys/kernel/tracing")
TOKEN = "FSTUI_CHAOS"
_OF_OTHERS = ("fstui-tests-", "fstui-chaos-", "fstui-lab-")
_RUN = re.compile(r"\.fstui-(?:powercut-)?([0-9a-z-]+)$|^\.?([0-9a-z]+)-(?:directory|server|mount|database|trace)-")


class Left(NamedTuple):
    """Names of things that fstui has not removed, by kind."""

    processes: tuple[str, ...]
    files: tuple[str, ...]
    ledger: tuple[str, ...]
    mounts: tuple[str, ...]
    traces: tuple[str, ...]
    memory: tuple[str, ...]
    """Files in /dev/shm, and System V segments."""
    cgroups: tuple[str, ...]

    def __bool__(self) -> bool:
        return any(self)


class Place:
    """The host for a series of attacks."""

    def __init__(self, workshop: Path, directory: Path) -> None:
        self.workshop = workshop
        self.directory = directory
        self.point = directory.parent
        """Where its filesystem is mounted."""
        self.state = workshop / "state"
        self.token = f"{os.getpid()}"
        self.environment = {
            **os.environ,
            "HOME": str(workshop),
            "XDG_STATE_HOME": str(self.state),
            "XDG_CONFIG_HOME": str(workshop / "config"),
            TOKEN: self.token,
        }
        self._family: dict[int, psutil.Process] = {}
        self._runs: set[str] = set()
        self._mounted = _mounted()
        self._cgroups = set(_cgroups())

    def watch(self, pid: int | None = None) -> None:
        """Record processes and runs while they exist; they may become orphans a moment later."""
        with suppress(psutil.Error):
            for process in psutil.Process(pid).children(recursive=True) if pid else ():
                self._family[process.pid] = process
        for name in (*_names(self.directory), *_names(self.state / "fstui/ledger")):
            if found := _RUN.search(name):
                self._runs.add(found[1] or found[2])

    def family(self) -> list[psutil.Process]:
        """Return all living processes that were started for an attack."""
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.pid != os.getpid() and self._is_ours(process):
                    self._family[process.pid] = process
        return [process for process in self._family.values() if _lives(process)]

    def _is_ours(self, process: psutil.Process) -> bool:
        return process.environ().get(TOKEN) == self.token or str(self.directory) in process.cwd()

    def left(self) -> Left:
        self.watch()
        ledger = self.state / "fstui/ledger"
        return Left(
            processes=tuple(_called(process) for process in self.family()),
            files=tuple(_of_ours(self.point)),
            ledger=tuple(_names(ledger)),
            mounts=tuple(
                point
                for number, point in _mounted().items()
                if number not in self._mounted and point != str(self.point)  # a fault mounted it again
            ),
            traces=tuple(
                name for name in _names(TRACING / "instances") if any(f"fstui-{run}" in name for run in self._runs)
            ),
            memory=(*_names(Path("/dev/shm")), *Path("/proc/sysvipc/shm").read_text().splitlines()[1:]),
            cgroups=tuple(sorted(set(_cgroups()) - self._cgroups)),
        )


@contextmanager
def made(size_bytes: int = disks.SIZE_BYTES) -> Iterator[Place]:
    """Enter new mount and IPC namespaces (unshare(2)) and make the host there. Needs root."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS | CLONE_NEWIPC):
        raise OSError(ctypes.get_errno(), "unshare")
    libc.mount(b"none", b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None)
    libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", ctypes.c_ulong(0), None)
    libc.mount(b"tracefs", os.fsencode(TRACING), b"tracefs", ctypes.c_ulong(0), None)
    with tempfile.TemporaryDirectory(prefix="fstui-chaos-", dir="/var/tmp") as home:
        workshop = Path(home)
        with disks.on_loop(workshop, size_bytes=size_bytes) as storage:
            directory = storage.directory / "target"
            directory.mkdir()
            yield Place(workshop, directory)


def _names(*directories: Path) -> Iterator[str]:
    for directory in directories:
        with suppress(OSError):
            yield from sorted(os.listdir(directory))


def _of_ours(mount_point: Path) -> Iterator[str]:
    for base, names, _ in os.walk(mount_point):
        yield from (os.path.join(os.path.relpath(base, mount_point), name) for name in names if ".fstui" in name)


def _mounted() -> dict[str, str]:
    """Return the mount points by mount id. Other processes may rename mount points that the namespace has copied."""
    lines = map(str.split, Path("/proc/self/mountinfo").read_text().splitlines())
    return {words[0]: words[4] for words in lines}


def _cgroups() -> Iterator[str]:
    for base, names, _ in os.walk("/sys/fs/cgroup"):
        yield from (os.path.join(base, name) for name in names if "fstui" in name and not name.startswith(_OF_OTHERS))


def _lives(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def _called(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        words = process.cmdline()
        return next((word for word in words if word.startswith("fstui.")), " ".join(words)[-60:]) or process.name()
    return f"pid {process.pid}"
