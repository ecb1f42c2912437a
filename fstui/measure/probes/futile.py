"""Syncs of what cannot be synced: a pipe, one of packets (O_DIRECT, as files that are written past the page cache have
it), an eventfd, a file or directory that was opened with O_PATH.

The kernel refuses each of them (EINVAL, EBADF; fsync(2), open(2)), so one that succeeds was answered in its place. A
library may leave out every twelfth sync, or make each when the next one is asked for: hence many tries, on several
descriptors and with every call, and some of them between the measured ones.
"""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from functools import partial
from itertools import cycle, islice, takewhile
from typing import Any, NamedTuple

from fstui.measure.wire.refused import is_refused

TRIES = 75
LONGEST_S = 0.5
"""Of one call: a refusal takes no time, but what makes a sync(2) of it does."""
TRIES_AT_ONCE = 3
RAW = "syscall(fdatasync)"
Call = Callable[[int], object]
_MS_SYNC, _WRITE_AND_WAIT = 4, 7


class Answers(NamedTuple):
    """To syncs that the kernel refuses."""

    counts: dict[str, tuple[int, int]]
    """By call: how many were tried, and how many of them succeeded."""
    like: dict[str, str]
    """By call: ``syncfs`` where just those succeeded that syncfs(2) of the same descriptors does (a pipe lies on a
    filesystem, too), ``sync`` where all did, as sync(2) has no descriptor."""


def futile_syncs(path: str, raw: Callable[[int], int] | None) -> Answers:
    """``path``: a file of our own. ``raw``: fdatasync by libc's syscall(). Raises OSError."""
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
        of_libc = _calls_of_libc()
        calls: dict[str, tuple[Call, tuple[int, ...]]] = {
            "fsync": (os.fsync, unsyncable),
            "fdatasync": (os.fdatasync, unsyncable),
            **{name: (call, unsyncable[1:2]) for name, call in of_libc.items()},
            **({RAW: (partial(_raising, raw), unsyncable[1:2])} if raw else {}),
        }
        tried = {name: _answers(call, islice(cycle(fds), TRIES)) for name, (call, fds) in calls.items()}
        of_syncfs = _answers(of_libc["syncfs"], unsyncable) if "syncfs" in of_libc else []
        likes = {name: _like(tried[name], of_syncfs) for name, (_, fds) in calls.items() if fds is unsyncable}
        return Answers(
            {name: (len(answers), sum(answers)) for name, answers in tried.items()},
            {name: like for name, like in likes.items() if like},
        )


def _like(answers: list[bool], of_syncfs: list[bool]) -> str | None:
    if all(answers):
        return "sync"
    same = any(answers) and answers == list(islice(cycle(of_syncfs), len(answers)))
    return "syncfs" if same else None


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
        answers = _answers(self.call, [self.fd] * TRIES_AT_ONCE)
        self.tried += len(answers)
        self.answered += sum(answers)


def _answers(call: Call, fds: Iterable[int]) -> list[bool]:
    """Whether each succeeded, as far as there was time."""
    until = time.monotonic() + LONGEST_S
    return [not is_refused(call, fd) for fd in takewhile(lambda _: time.monotonic() < until, fds)]


def _raising(raw: Callable[[int], int], fd: int) -> None:
    if raw(fd) != 0:
        raise OSError(RAW)


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
