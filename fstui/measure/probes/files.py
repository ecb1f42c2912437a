"""The file that a probe writes, and the blocks and offsets of its writes."""

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

from fstui.measure.wire import stdio
from fstui.measure.wire.stdio import CallError, checked_call, clock, exit_if_stopped, is_stopped, send

CHUNK_BYTES = 1 << 20
CHUNKS_PER_S = 4
"""Chunks written per second while a file is filled at a limited rate."""
POLL_INTERVAL_NS = 50_000_000
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TIMEOUT_NS = 30_000_000_000
MAX_NS_PER_BYTE = 1000
"""1 MB/s. Filling a file is given up if it would take TIMEOUT_NS longer than at this rate."""
UNIT_BYTES = 4096
"""Deduplicating storage may compare units of this size."""
BLOCK_DISTANCE = 17 * 64
"""Bytes from the start of one block in the pool to the start of the next. The blocks overlap. Two blocks contain the
same unit only if they are 64 blocks (17 units), or a multiple of that, apart."""
MAX_DISTINCT_BYTES = 16 * UNIT_BYTES
"""A block of at most this size ends before the block that is 64 blocks further, so no two blocks share a unit."""
MAX_DISTINCT_BLOCKS = 64
"""In a pool of at most this many blocks, no two blocks are 64 blocks apart."""
MAX_POOL_BLOCKS = 252
"""Maximum number of blocks in the pool. The samples of this many operations fit into one frame."""
POOL_BYTES = 8 << 20


def create_file(settings: dict[str, Any]) -> None:
    """Create the file, fill it, and sync it and the run's directory. An existing file is not changed.

    If the blocks are whole pages, so that no write has to read a page, drop the file from the page cache, as fio does.
    The large writes that fill the file leave large folios in the cache, in which a write and its sync take longer (18 %
    for 4 KiB with fdatasync on ext4, Linux 6.18).
    """
    path, size = settings["path"], settings["file_bytes"]
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = checked_call("open", os.open, path, flags, 0o600)
    try:
        if settings["offsets"] != "append":
            fill(fd, size, settings["prefill"], settings.get("fill_bytes_per_s"))
        checked_call("fsync", os.fsync, fd)
        if settings.get("block_bytes", PAGE_BYTES) % PAGE_BYTES == 0:
            with contextlib.suppress(OSError):  # this is only a hint to the kernel
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        sync_directory()
    except BaseException:
        remove(path)
        raise
    finally:
        os.close(fd)


def sync_directory() -> None:
    """Sync the run's directory. Some filesystems have no fsync for directories (HFS: EINVAL)."""
    directory = checked_call("open", os.open, ".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise CallError("fsync", error) from error
    finally:
        os.close(directory)


def fill(fd: int, size: int, prefill: str, bytes_per_s: int | None = None) -> None:
    """Fill the file. If ``bytes_per_s`` limits the rate, sync each chunk, so that the kernel does not write all chunks
    at the end."""
    if prefill == "fallocate":
        checked_call("fallocate", os.posix_fallocate, fd, 0, size)
    elif prefill == "written":
        written_bytes, start_ns = 0, clock()
        limit_bytes = CHUNK_BYTES if bytes_per_s is None else bytes_per_s // CHUNKS_PER_S
        chunk_bytes = max(PAGE_BYTES, min(CHUNK_BYTES, limit_bytes))
        while written_bytes < size:
            if bytes_per_s is None:
                give_up_if_slow(written_bytes, size, clock() - start_ns)
            else:
                checked_call("fdatasync", os.fdatasync, fd)
                wait_until(start_ns + written_bytes * 1_000_000_000 // bytes_per_s)
            exit_if_stopped()
            chunk = random.randbytes(min(chunk_bytes, size - written_bytes))
            added_bytes = checked_call("pwrite", os.pwrite, fd, chunk, written_bytes)
            # the next iteration reports the cause of a short write, but a write of 0 bytes would be repeated forever
            if not added_bytes:
                raise CallError("pwrite", stdio.short_write_error(fd, chunk, written_bytes, added_bytes))
            written_bytes += added_bytes
            send("preparing", done=written_bytes, total=size)


def wait_until(due_ns: int) -> None:
    """Wait until ``due_ns``, or until the engine closes stdin or sends ``stop``."""
    while (remaining_ns := due_ns - clock()) > 0 and not is_stopped():
        time.sleep(min(remaining_ns, POLL_INTERVAL_NS) / 1e9)


def give_up_if_slow(written_bytes: int, size: int, elapsed_ns: int) -> None:
    """Raise CallError if the whole file would take too long. There, a short step would complete no operation."""
    limit_ns = TIMEOUT_NS + size * MAX_NS_PER_BYTE
    if elapsed_ns > TIMEOUT_NS and elapsed_ns * size / max(written_bytes, 1) > limit_ns:
        text = f"{written_bytes} of {size} bytes written in {elapsed_ns / 1e9:.0f} s: too slow for a file of that size"
        raise CallError("pwrite", OSError(errno.ETIMEDOUT, text))


def try_direct(directory: str) -> None:
    """Create a file with O_DIRECT, and remove it. Raises CallError."""
    path = os.path.join(directory, "direct")
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        os.close(checked_call("open", os.open, path, flags | os.O_DIRECT, 0o600))
    finally:
        remove(path)


def remove(path: str) -> None:
    try:
        if stat.S_ISREG(os.lstat(path).st_mode):
            os.unlink(path)
    except OSError:
        pass  # a remaining file is removed with the run's directory


class Blocks:
    """Blocks of random bytes. Each unit contains a number, its stamp. ``restamp`` changes the stamp of every unit.

    No unit is written twice with the same contents, so deduplicating storage finds no equal units. Blocks for buffered
    writes overlap, so that the pool stays in the processor's cache. Blocks for O_DIRECT must be aligned, so they do not
    overlap.
    """

    def __init__(self, block_bytes: int, direct: bool) -> None:
        aligned_bytes = -(-block_bytes // UNIT_BYTES) * UNIT_BYTES
        distance = aligned_bytes if direct else min(BLOCK_DISTANCE, block_bytes // 8 * 8 or 8)
        max_slots = MAX_POOL_BLOCKS if direct or block_bytes <= MAX_DISTINCT_BYTES else MAX_DISTINCT_BLOCKS
        slots = max(1, min(max_slots, POOL_BYTES // distance))
        pool = mmap.mmap(-1, slots * distance + block_bytes)
        pool.write(random.randbytes(len(pool)))
        view = memoryview(pool)
        last_unit_bytes = block_bytes % UNIT_BYTES or UNIT_BYTES  # the last unit may be incomplete
        # at this distance, every unit of every block contains a stamp
        stamp_distance = last_unit_bytes // distance * distance or max(8, min(distance, last_unit_bytes) // 8 * 8)
        self._stamps = view[: len(pool) // 8 * 8].cast("Q")[:: stamp_distance // 8]
        self._stamp = random.getrandbits(62)
        self.blocks = [view[slot * distance : slot * distance + block_bytes] for slot in range(slots)]

    def restamp(self) -> list[memoryview]:
        """Write new stamps, and return the blocks, whose contents are now different from all previous contents."""
        self._stamp += 1
        self._stamps[:] = memoryview(self._stamp.to_bytes(8, sys.byteorder) * len(self._stamps)).cast("Q")
        return self.blocks


def offsets(settings: dict[str, Any], seed: int) -> Iterator[int]:
    """Return the offsets of the writes: multiples of the block size within the file, or growing offsets to append."""
    block_bytes, file_bytes = settings["block_bytes"], settings["file_bytes"]
    if settings["offsets"] == "append":
        return iter(range(0, sys.maxsize, block_bytes))
    if settings["offsets"] == "same":
        return cycle([0])
    values = list(range(0, file_bytes - block_bytes + 1, block_bytes))
    if settings["offsets"] == "random":
        rng = random.Random(seed)
        sample = rng.choices(values, k=max(8192, min(len(values), 65536)))
        # make new int objects: for the processor's cache, their order in memory should be the order of their use
        values = array("q", sample).tolist()
    return cycle(values)
