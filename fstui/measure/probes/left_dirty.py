"""What a sync leaves behind: dirty pages of its file, and of another file beside it.

A library that makes syncfs(2) or sync(2) of every fsync answers where fsync itself is refused, as one that makes
nothing does. The page cache tells them apart (``dirty_pages``): after a sync no page of its file is dirty, and after
one of the whole filesystem none of another file either. Both files are written to before each try; where nothing was
seen to be dirty then (a filesystem past the page cache, FUSE, a mount that syncs each write) nothing is told.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from itertools import islice, product
from typing import NamedTuple

from fstui.measure.probes.dirty_pages import Dirty, File, Read, tellers

ROUNDS, LONGEST_S = 3, 0.3
"""So often each way of syncing is tried, as long as storage is quick enough."""
LEAST = 8
"""So many tries at the least where something else is known to be in the syncs' place, however long they take."""
SIGNS, SEARCHES, LONGEST_SEARCH_S = 2, 64, 1.0
"""One sync that left something dirty may be chance: a page whose write ended is told so a moment later (btrfs), a
neighbour's sync came between (ext4 with data=journal). A second one is looked for, in so many tries."""
CONTROLS = 3
"""Raw calls that must all leave nothing dirty where one by libc did."""
O_DSYNC = "O_DSYNC"
"""Beside the calls: writes to a descriptor that was opened with it."""
FILE_BYTES = 1 << 20
_PAGE = 4096
Call = Callable[[int], object]
Tally = dict[str, tuple[int, int]]


class Left(NamedTuple):
    """By call: how many were tried, and what was seen after them."""

    dirty: Tally
    """That left pages of their own file dirty; where the system call itself leaves some, nothing is told."""
    others_clean: Tally
    """That left none of another file of that filesystem dirty."""

    @property
    def signs(self) -> int:
        """How many syncs left something of their own file dirty."""
        return sum(left for _, left in self.dirty.values())

    def note(self, name: str, own_dirty: bool, others_clean: bool) -> None:
        """One more try."""
        for tally, seen in ((self.dirty, own_dirty), (self.others_clean, others_clean)):
            tried, before = tally.get(name, (0, 0))
            tally[name] = (tried + 1, before + seen)


class _Files:
    """Two files of one filesystem, and descriptors of the first to sync it by."""

    def __init__(self, closing: ExitStack, path: str, read: Read) -> None:
        self._closing, self._path = closing, path
        self._tellers = tellers(closing, read)
        self.is_dirty: Dirty = self._tellers[0]
        self.own, self.other = self._made(path), self._made(path + "-beside")
        self.ways = [self.own.fd, *filter(None, [self.opened(os.O_DIRECT)])]

    def opened(self, flag: int) -> int | None:
        """Another descriptor of it; None where the filesystem takes no such flag."""
        with suppress(OSError):
            fd = os.open(self._path, os.O_WRONLY | os.O_CLOEXEC | flag)
            self._closing.callback(os.close, fd)
            return fd
        return None

    def _made(self, path: str) -> File:
        fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        self._closing.callback(os.unlink, path)
        self._closing.callback(os.close, fd)
        with suppress(OSError):  # no room for as many bytes as files that are measured have
            os.ftruncate(fd, FILE_BYTES)
        os.pwrite(fd, os.urandom(_PAGE), 0)
        os.fsync(fd)
        return File(fd, path)

    def dirtied(self) -> bool:
        """Both were written to, and are dirty."""
        for fd, _ in (self.own, self.other):
            os.pwrite(fd, os.urandom(_PAGE), 0)
        for told in self._tellers:
            if told(self.own) and told(self.other):
                self.is_dirty = told
                return True
        return False

    def left_by(self, call: Call, fd: int) -> tuple[bool, bool]:
        """Whether their own and the other's pages are dirty after it."""
        call(fd)
        return self.is_dirty(self.own), self.is_dirty(self.other)

    def are_cleaned_by(self, raw: Call, fd: int) -> bool:
        """The system call itself leaves no page of its file dirty, each time: in memory it does, and in some
        journals."""
        return all(self.dirtied() and not self.left_by(raw, fd)[0] for _ in range(CONTROLS))


def left_dirty(
    path: str, calls: Mapping[str, Call], raw: Call | None, read: Read, *, least: int = 0, o_dsync_too: bool = False
) -> Left:
    """``path``: a file of ours that is not there yet. ``raw``: fdatasync past libc's wrapper. ``o_dsync_too``: where
    O_DSYNC is taken away, what is written by such a descriptor is tried as well."""
    seen = Left({}, {})
    if raw is None:
        return seen
    with ExitStack() as closing, suppress(OSError):  # the step that follows meets the same error and reports it
        files = _Files(closing, path, read)
        until = time.monotonic() + LONGEST_S
        for number, one in enumerate(_tries(calls, files.ways, ROUNDS)):
            if number >= least and time.monotonic() > until:
                break
            _try_one(seen, files, one, raw)
        until = time.monotonic() + LONGEST_SEARCH_S
        for one in islice(_tries(calls, files.ways, SEARCHES), SEARCHES):
            if not 0 < seen.signs < SIGNS or time.monotonic() > until:
                break
            _try_one(seen, files, one, raw)
        if o_dsync_too and seen.dirty and (synced := files.opened(os.O_DSYNC)) is not None:
            for _ in range(LEAST):
                os.pwrite(synced, os.urandom(_PAGE), 0)
                seen.note(O_DSYNC, files.is_dirty(files.own), others_clean=False)
    return seen


class _Try(NamedTuple):
    name: str
    call: Call
    fd: int


def _try_one(seen: Left, files: _Files, one: _Try, raw: Call) -> None:
    if files.dirtied():
        own, other = files.left_by(one.call, one.fd)
        if not own or files.are_cleaned_by(raw, one.fd):
            seen.note(one.name, own, not other)


def _tries(calls: Mapping[str, Call], fds: list[int], rounds: int) -> Iterator[_Try]:
    """Each call by each descriptor, from this thread and from another one."""
    for _, fd, threaded, (name, call) in product(range(rounds), fds, (False, True), calls.items()):
        yield _Try(name, _in_a_thread(call) if threaded else call, fd)


def _in_a_thread(call: Call) -> Call:
    def called(fd: int) -> None:
        ended, failed = allocate_lock(), []

        def run() -> None:
            try:
                call(fd)
            except OSError as error:
                failed.append(error)
            finally:
                ended.release()

        ended.acquire()
        try:
            start_new_thread(run, ())
        except RuntimeError:  # no more threads are allowed here
            run()
        ended.acquire()
        if failed:
            raise failed[0]

    return called
