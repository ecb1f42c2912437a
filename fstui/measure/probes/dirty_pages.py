"""Whether pages of a file of ours are dirty: what the kernel tells without writing anything back.

cachestat(2) (Linux 6.5) counts those of a whole file, and those being written. On an overlay it counts none: the pages
are the upper file's. /proc/self/smaps tells of pages that are mapped (``Shared_Dirty`` and ``Private_Dirty`` count a
page that is dirty by whatever way, fs/proc/task_mmu.c), on every kernel, under every filter of system calls, and on
an overlay, where the mapping is the upper file's. On FUSE both see none: it keeps no dirty page, its server does.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NamedTuple

CACHESTAT = 451
"""The same number on every architecture (include/uapi/asm-generic/unistd.h)."""
_FILTERED = "Seccomp:\t2"
_DIRTY_KB = re.compile(r"^(?:Shared|Private)_Dirty: +(\d+) kB$")
_HEADER = re.compile(r"^[0-9a-f]+-[0-9a-f]+ ")


class File(NamedTuple):
    """Open to be read and written."""

    fd: int
    path: str


Dirty = Callable[[File], bool]
Read = Callable[[str], str]
"""A file of /proc by its name there."""


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
