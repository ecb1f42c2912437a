"""Does a sync clean the pages of its file? The kernel tells, without writing anything back.

cachestat(2) (Linux 6.5) counts the dirty pages of a file and those being written. On an overlay it counts none: the
pages belong to the file of the upper filesystem. /proc/self/smaps reports mapped pages (``Shared_Dirty`` and
``Private_Dirty``, fs/proc/task_mmu.c) on every kernel, under every filter of system calls, and on an overlay. On FUSE
both report none: its server has the data.
"""

from __future__ import annotations

import mmap
import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from itertools import count, cycle
from typing import Any, NamedTuple

TRIES, LONGEST_S = 24, 0.3
"""How many syncs are tried at most, and for how long; four are tried however slow the storage is."""
SEARCHES, LONGEST_SEARCH_S = 88, 1.3
"""The same where one sync left its page dirty, until a second one does: one may be chance, as btrfs reports the end of
a write a moment late."""
LEAST = 4
CONTROLS = 3
"""As many raw system calls must leave the page clean where a call of libc left it dirty."""
CACHESTAT = 451
"""The same number on every architecture (include/uapi/asm-generic/unistd.h)."""
_FILTERED = "Seccomp:\t2"
_DIRTY_KB = re.compile(r"^(?:Shared|Private)_Dirty: +(\d+) kB$")
_HEADER = re.compile(r"^[0-9a-f]+-[0-9a-f]+ ")


Sync = Callable[[int], object]


class File(NamedTuple):
    """Open to be read and written."""

    fd: int
    path: str


Dirty = Callable[[File], bool]
Read = Callable[[str], str]
"""A file of /proc by its name there."""


def left_dirty(path: str, calls: Mapping[str, Sync], raw: Sync | None, read: Read) -> dict[str, tuple[int, int]]:
    """Return by call how many syncs were tried, and how many left the page written before them dirty.

    ``path``: a new file. ``raw``: fdatasync as a system call; where it leaves the page dirty as well (in memory, in
    some journals), or no page was dirty before the sync (FUSE, a mount that syncs each write), the try does not count.
    """
    tally: dict[str, tuple[int, int]] = {}
    if raw is None:
        return tally
    with ExitStack() as closing, suppress(OSError):  # the step that follows meets the same error and reports it
        file = _created(closing, path)
        ways, began = tellers(closing, read), time.monotonic()
        for number, (name, sync) in zip(count(), cycle(calls.items()), strict=False):
            searching = sum(left for _, left in tally.values()) == 1
            most, longest_s = (SEARCHES, LONGEST_SEARCH_S) if searching else (TRIES, LONGEST_S)
            if number >= most or (number >= LEAST and time.monotonic() - began > longest_s):
                break
            left = _leaves_dirty(file, ways, sync)
            if left is False or (left and not any(_leaves_dirty(file, ways, raw) for _ in range(CONTROLS))):
                tried, before = tally.get(name, (0, 0))
                tally[name] = (tried + 1, before + left)
    return tally


def _created(closing: ExitStack, path: str) -> File:
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    closing.callback(os.unlink, path)
    closing.callback(os.close, fd)
    return File(fd, path)


def _leaves_dirty(file: File, ways: list[Dirty], sync: Sync) -> bool | None:
    """Whether the page is dirty after the sync; None where it was not seen to be dirty before."""
    os.pwrite(file.fd, os.urandom(mmap.PAGESIZE), 0)
    is_dirty = next((way for way in ways if way(file)), None)
    if is_dirty is None:
        return None
    sync(file.fd)
    return is_dirty(file)


def tellers(closing: ExitStack, read: Read) -> list[Dirty]:
    """Ways to ask whether a file's first page is dirty; the first that saw it dirty after a write is to be asked.

    A filter of system calls may end who makes one that it does not know: under one cachestat is not called.
    """
    status = read("self/status")
    counted = _by_count() if status and _FILTERED not in status else None
    return [told for told in (counted, _by_mapping(closing, read)) if told]


def _by_count() -> Dirty | None:
    """None where the kernel does not tell."""
    import ctypes  # noqa: PLC0415  late: 15 ms that most probes never need

    syscall: Any = ctypes.CDLL(None, use_errno=True).syscall
    whole, found = (ctypes.c_uint64 * 2)(0, 0), (ctypes.c_uint64 * 5)()

    def dirty(file: File) -> bool:
        return syscall(CACHESTAT, file.fd, whole, found, 0) == 0 and found[1] + found[2] > 0

    fd = os.memfd_create("fstui", os.MFD_CLOEXEC)
    try:
        return dirty if syscall(CACHESTAT, fd, whole, found, 0) == 0 else None
    finally:
        os.close(fd)


def _by_mapping(closing: ExitStack, read: Read) -> Dirty:
    """Each file is mapped when it is first asked about. Raises OSError where its filesystem maps none."""
    mapped: dict[File, mmap.mmap] = {}

    def dirty(file: File) -> bool:
        if file not in mapped:
            mapped[file] = closing.enter_context(mmap.mmap(file.fd, 1, prot=mmap.PROT_READ))
        _ = mapped[file][0]  # only a page that was touched is there to be told of
        return dirty_kb(read("self/smaps"), os.path.basename(file.path)) > 0

    return dirty


def dirty_kb(smaps: str, name: str) -> int:
    """Of the mappings of files with this name."""
    total, ours = 0, False
    for line in smaps.splitlines():
        if _HEADER.match(line):
            ours = line.endswith("/" + name)
        elif ours and (dirty := _DIRTY_KB.match(line)):
            total += int(dirty[1])
    return total
