"""Syncs of what cannot be synced: a pipe, one of packets (O_DIRECT, as files that are written past the page cache have
it), an eventfd, a file or directory that was opened with O_PATH.

The kernel refuses each of them (EINVAL, EBADF; fsync(2), open(2)), so one that succeeds was answered in its place. A
library may leave out every twelfth sync, or make each when the next one is asked for: hence many tries, on several
descriptors and with every call, and some of them between the measured ones.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from functools import partial
from itertools import cycle, islice
from typing import Any

TRIES = 75
TRIES_AT_ONCE = 3
Call = Callable[[int], object]
_MS_SYNC, _WRITE_AND_WAIT = 4, 7


def futile_syncs(path: str) -> dict[str, tuple[int, int]]:
    """By call: how many were tried, and how many of them succeeded. ``path``: a file of our own. Raises OSError."""
    with ExitStack() as closing:
        unsyncable = (
            (pipe := os.pipe())[1], os.open(path, os.O_PATH), os.eventfd(0), os.open(os.path.dirname(path), os.O_PATH),
            (packets := os.pipe2(os.O_DIRECT | os.O_CLOEXEC))[1],
        )  # fmt: skip
        file = os.open(path, os.O_WRONLY)
        for fd in (pipe[0], packets[0], *unsyncable, file):
            closing.callback(os.close, fd)
        with suppress(OSError):  # what makes a sync when the next is asked for answers with this one's success
            os.fsync(file)
        calls: dict[str, tuple[Call, tuple[int, ...]]] = {
            "fsync": (os.fsync, unsyncable),
            "fdatasync": (os.fdatasync, unsyncable),
            **{name: (call, unsyncable[1:2]) for name, call in _calls_of_libc().items()},
        }
        return {name: (TRIES, _answered(call, islice(cycle(fds), TRIES))) for name, (call, fds) in calls.items()}


class Futile:
    """The same beside the measured syncs of one writer, by the call that it makes."""

    def __init__(self, name: str, call: Call, path: str) -> None:
        self.name, self.call = name, call
        self.fd = os.open(path, os.O_PATH)
        self.tried = self.answered = 0

    def told(self) -> dict[str, Any]:
        """The fields of its frame."""
        return {"call": self.name, "tried": self.tried, "answered": self.answered}

    def try_some(self) -> None:
        self.tried += TRIES_AT_ONCE
        self.answered += _answered(self.call, [self.fd] * TRIES_AT_ONCE)


def _answered(call: Call, fds: Iterable[int]) -> int:
    return sum(not _is_refused(call, fd) for fd in fds)


def _is_refused(call: Call, fd: int) -> bool:
    try:
        call(fd)
    except OSError:
        return True
    return False


def _calls_of_libc() -> dict[str, Call]:
    """Those that Python does not have. msync(2) of the first page, which nothing can be mapped to, ends in ENOMEM."""
    import ctypes  # noqa: PLC0415  late: 15 ms that most probes never need

    libc = ctypes.CDLL(None, use_errno=True)

    def call(name: str, arguments: Callable[[int], tuple[int, ...]], fd: int) -> None:
        if getattr(libc, name)(*arguments(fd)) != 0:
            raise OSError(ctypes.get_errno(), name)

    wanted: dict[str, Callable[[int], tuple[int, ...]]] = {
        "syncfs": lambda fd: (fd,),
        "sync_file_range": lambda fd: (fd, 0, 0, _WRITE_AND_WAIT),
        "msync": lambda _: (0, mmap.PAGESIZE, _MS_SYNC),
    }
    return {name: partial(call, name, arguments) for name, arguments in wanted.items() if hasattr(libc, name)}
