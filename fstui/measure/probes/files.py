"""The file that a probe writes, and the blocks and offsets of its writes."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import random
import stat
import sys
import time
from array import array
from collections.abc import Iterator
from itertools import cycle
from typing import Any

from fstui.measure.wire.stdio import CallError, calling, clock, cut_short, exit_if_interrupted, interrupted, send

CHUNK_BYTES = 1 << 20
PIECES_PER_S = 4
"""Pieces per second of a file that is filled at a limited rate."""
LISTEN_NS = 50_000_000
PAGE = os.sysconf("SC_PAGE_SIZE")
TIMEOUT_NS = 30_000_000_000
SLOWEST_NS_PER_BYTE = 1000
"""1 MB/s. A file that would take TIMEOUT_NS longer than at this rate is given up."""
UNIT = 4096
"""Deduplicating storage may compare pieces of this size."""
STEP = 17 * 64
"""Distance in bytes of the blocks in the pool. Blocks overlap, but two have a unit in common only if their distance is
a multiple of UNIT: 64 steps are 17 units."""
NEVER_SHARED_BYTES = 16 * UNIT
"""Blocks up to this size are shorter than 64 steps, so no two blocks have a unit in common."""
NEVER_SHARED_SLOTS = 64
"""If the pool has at most this many blocks, the distance of any two is less than 64 steps."""
SLOTS = 252  # so many samples fit into one frame
POOL_BYTES = 8 << 20


def make_file(settings: dict[str, Any]) -> None:
    """Make the file, fill it, and sync it and the run's directory. An existing file is not changed.

    If the blocks are whole pages, so that no write has to read a page, drop the file from the page cache, as fio does.
    The large writes that fill the file leave large folios in the cache, in which a write and its sync cost more (ext4
    on Linux 6.18: 4 KiB with fdatasync 18 % slower).
    """
    path, size = settings["path"], settings["file_bytes"]
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = calling("open", os.open, path, flags, 0o600)
    try:
        if settings["offsets"] != "append":
            fill(fd, size, settings["prefill"], settings.get("fill_bytes_per_s"))
        calling("fsync", os.fsync, fd)
        if settings.get("block_bytes", PAGE) % PAGE == 0:
            with contextlib.suppress(OSError):  # a hint
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        sync_directory()
    except BaseException:
        remove(path)
        raise
    finally:
        os.close(fd)


def sync_directory() -> None:
    """Sync the run's directory. Some filesystems have no fsync for directories (HFS: EINVAL)."""
    directory = calling("open", os.open, ".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise CallError("fsync", error) from error
    finally:
        os.close(directory)


def fill(fd: int, size: int, how: str, bytes_per_s: int | None = None) -> None:
    """Fill the file. If ``bytes_per_s`` limits the rate, sync each piece, or the kernel would write all at the end."""
    if how == "fallocate":
        calling("fallocate", os.posix_fallocate, fd, 0, size)
    elif how == "written":
        written, began = 0, clock()
        most = CHUNK_BYTES if bytes_per_s is None else max(PAGE, min(CHUNK_BYTES, bytes_per_s // PIECES_PER_S))
        while written < size:
            if bytes_per_s is None:
                give_up_if_slow(written, size, clock() - began)
            else:
                calling("fdatasync", os.fdatasync, fd)
                wait_until(began + written * 1_000_000_000 // bytes_per_s)
            exit_if_interrupted()
            chunk = random.randbytes(min(most, size - written))
            wrote = calling("pwrite", os.pwrite, fd, chunk, written)
            # the next turn reports the cause of a short write; if nothing is written, this loop would not end
            if not wrote:
                raise CallError("pwrite", cut_short(fd, chunk, written, wrote))
            written += wrote
            send("preparing", done=written, total=size)


def wait_until(due_ns: int) -> None:
    """Wait until ``due_ns``, or until the engine hangs up or sends ``stop``."""
    while (left_ns := due_ns - clock()) > 0 and not interrupted():
        time.sleep(min(left_ns, LISTEN_NS) / 1e9)


def give_up_if_slow(written: int, size: int, elapsed_ns: int) -> None:
    """Raises CallError if the whole file would take too long, because a short step would measure nothing there."""
    limit_ns = TIMEOUT_NS + size * SLOWEST_NS_PER_BYTE
    if elapsed_ns > TIMEOUT_NS and elapsed_ns * size > written * limit_ns:  # expected time: elapsed_ns * size / written
        said = f"{written} of {size} bytes written in {elapsed_ns / 1e9:.0f} s: too slow for a file of that size"
        raise CallError("pwrite", OSError(errno.ETIMEDOUT, said))


def try_direct(directory: str) -> None:
    """Make and remove a file that is opened with O_DIRECT. Raises CallError."""
    path = os.path.join(directory, "direct")
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        os.close(calling("open", os.open, path, flags | os.O_DIRECT, 0o600))
    finally:
        remove(path)


def remove(path: str) -> None:
    try:
        if stat.S_ISREG(os.lstat(path).st_mode):
            os.unlink(path)
    except OSError:
        pass  # the keeper of the run's directory removes what is left, or reports an error


class Blocks:
    """Blocks of random bytes, with a stamp in every unit. New stamps make all blocks new.

    No unit is ever written twice with the same contents, so deduplicating storage finds no equal ones. Blocks for
    buffered writes overlap in one pool, so that it stays in the processor's cache. Blocks for O_DIRECT must be aligned,
    so they do not overlap.
    """

    def __init__(self, block_bytes: int, direct: bool) -> None:
        step = -(-block_bytes // UNIT) * UNIT if direct else min(STEP, block_bytes // 8 * 8 or 8)
        most = SLOTS if direct or block_bytes <= NEVER_SHARED_BYTES else NEVER_SHARED_SLOTS
        slots = max(1, min(most, POOL_BYTES // step))
        pool = mmap.mmap(-1, slots * step + block_bytes)
        pool.write(random.randbytes(len(pool)))
        view = memoryview(pool)
        shortest = block_bytes % UNIT or UNIT  # the last unit of a block, which may be incomplete
        # distance of the stamps, so that every unit of every block contains one
        apart = shortest // step * step or max(8, min(step, shortest) // 8 * 8)
        self._stamps = view[: len(pool) // 8 * 8].cast("Q")[:: apart // 8]
        self._stamp = random.getrandbits(62)
        self.blocks = [view[slot * step : slot * step + block_bytes] for slot in range(slots)]

    def fresh(self) -> list[memoryview]:
        """Return the blocks with contents that were never written before."""
        self._stamp += 1
        self._stamps[:] = memoryview(self._stamp.to_bytes(8, sys.byteorder) * len(self._stamps)).cast("Q")
        return self.blocks


def offsets(settings: dict[str, Any], seed: int) -> Iterator[int]:
    """Yield the offset of each write: a multiple of the block within the file, or ever larger for an append."""
    block, size = settings["block_bytes"], settings["file_bytes"]
    if settings["offsets"] == "append":
        return iter(range(0, sys.maxsize, block))
    if settings["offsets"] == "same":
        return cycle([0])
    within = list(range(0, size - block + 1, block))
    if settings["offsets"] == "random":
        choose = random.Random(seed)
        chosen = choose.choices(within, k=max(8192, min(len(within), 65536)))
        # new int objects, in memory in the order of their use, which the processor's cache prefers
        within = array("q", chosen).tolist()
    return cycle(within)
