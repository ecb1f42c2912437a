"""How long a write and its sync take where they are known to go to memory: what is as quick was given to no device.

The same calls take twenty times as long on an emulated processor, so a time alone cannot tell.
"""

from __future__ import annotations

import os
import random
import time

ROUNDS, BLOCK_BYTES = 65, 16384


def memory_times() -> tuple[int | None, int | None]:
    """The typical time of a write of 16 KiB to a file in memory (memfd_create(2)), and of its fdatasync, in ns.

    None where no such file can be made.
    """
    try:
        fd = os.memfd_create("fstui", os.MFD_CLOEXEC)
    except (AttributeError, OSError):  # a libc without it; a filter that forbids it
        return None, None
    try:
        return _times(fd)
    except OSError:
        return None, None
    finally:
        os.close(fd)


def _times(fd: int) -> tuple[int, int]:
    block = random.randbytes(BLOCK_BYTES)
    writes, syncs = [], []
    for _ in range(ROUNDS):
        begun = time.monotonic_ns()
        os.pwrite(fd, block, 0)
        written = time.monotonic_ns()
        os.fdatasync(fd)
        syncs.append(time.monotonic_ns() - written)
        writes.append(written - begun)
    return sorted(writes)[ROUNDS // 2], sorted(syncs)[ROUNDS // 2]
