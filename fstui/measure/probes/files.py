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
"""1 MB/s. A file that takes longer than this and the timeout is given up."""
UNIT = 4096
STEP = 17 * 64
"""Distance of the blocks in the pool, in bytes. Blocks overlap, but the units of one block begin where those of another
begin only if the blocks are 64 steps, which are 17 units, apart. Only such blocks could have a unit in common."""
NEVER_SHARED_BYTES = 16 * UNIT
"""Blocks up to this size end before the block 17 units further on begins."""
NEVER_SHARED_SLOTS = 64
"""Larger blocks have no unit in common if there are at most this many of them."""
SLOTS = 252  # the samples of one batch fit into one frame
POOL_BYTES = 8 << 20


def make_file(settings: dict[str, Any]) -> None:
    """Make the file, fill it, and sync it and the run's directory. An existing file is not changed.

    If the blocks are whole pages, so that no write has to read one, the page cache is dropped: large writes leave large
    folios in it, and in those a write and its sync cost more (ext4 on Linux 6.18: 4 KiB with fdatasync 18 % slower).
    fio drops it, too.
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
    """``bytes_per_s``: limit of the rate. With a limit each piece is synced, because otherwise the kernel would write
    all of them at the end, without a limit."""
    if how == "fallocate":
        calling("fallocate", os.posix_fallocate, fd, 0, size)
    elif how == "written":
        done, began = 0, clock()
        most = CHUNK_BYTES if bytes_per_s is None else max(PAGE, min(CHUNK_BYTES, bytes_per_s // PIECES_PER_S))
        while done < size:
            if bytes_per_s is None:
                give_up_if_slow(done, size, clock() - began)
            else:
                calling("fdatasync", os.fdatasync, fd)
                wait_until(began + done * 1_000_000_000 // bytes_per_s)
            exit_if_interrupted()
            chunk = random.randbytes(min(most, size - done))
            wrote = calling("pwrite", os.pwrite, fd, chunk, done)
            # after a short write, the next turn reports the cause; if nothing was written, this loop would not end
            if not wrote:
                raise CallError("pwrite", cut_short(fd, chunk, done, wrote))
            done += wrote
            send("preparing", done=done, total=size)


def wait_until(due_ns: int) -> None:
    """Wait until then, or until the engine hangs up or stops the probe."""
    while (left_ns := due_ns - clock()) > 0 and not interrupted():
        time.sleep(min(left_ns, LISTEN_NS) / 1e9)


def give_up_if_slow(done: int, size: int, elapsed_ns: int) -> None:
    """Raises CallError if the file would take minutes: a step of seconds would measure nothing there."""
    # at this speed, the whole file would take longer than the timeout and the time at the lowest speed
    if elapsed_ns > TIMEOUT_NS and elapsed_ns * size > done * (TIMEOUT_NS + size * SLOWEST_NS_PER_BYTE):
        said = f"{done} of {size} bytes written in {elapsed_ns / 1e9:.0f} s: too slow for a file of that size"
        raise CallError("pwrite", OSError(errno.ETIMEDOUT, said))


def try_direct(directory: str) -> None:
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
        pass  # the keeper of the run's directory removes the rest, or reports that it could not


class Blocks:
    """Blocks of random bytes, with a stamp in every unit of 4 KiB. New stamps make all blocks new.

    Blocks for buffered writes overlap in one pool at steps of about 1 KiB, so that the pool stays in the processor's
    cache. Blocks for O_DIRECT must be aligned, so they do not overlap. No unit is ever written twice with the same
    contents, so deduplicating storage finds no equal ones.
    """

    def __init__(self, block_bytes: int, direct: bool) -> None:
        step = -(-block_bytes // UNIT) * UNIT if direct else min(STEP, block_bytes // 8 * 8 or 8)
        most = SLOTS if direct or block_bytes <= NEVER_SHARED_BYTES else NEVER_SHARED_SLOTS
        slots = max(1, min(most, POOL_BYTES // step))
        pool = mmap.mmap(-1, slots * step + block_bytes)
        pool.write(random.randbytes(len(pool)))
        view = memoryview(pool)
        page = block_bytes % UNIT or UNIT  # the shortest page of a block: it must contain a stamp, too
        # distance of the stamps: at most one page, so that every page of every block contains a stamp
        apart = page // step * step or max(8, min(step, page) // 8 * 8)
        self._stamps = view[: len(pool) // 8 * 8].cast("Q")[:: apart // 8]
        self._stamp = random.getrandbits(62)
        self.blocks = [view[slot * step : slot * step + block_bytes] for slot in range(slots)]

    def fresh(self) -> list[memoryview]:
        """Return the blocks with contents that were never written before."""
        self._stamp += 1
        self._stamps[:] = memoryview(self._stamp.to_bytes(8, sys.byteorder) * len(self._stamps)).cast("Q")
        return self.blocks


def offsets(settings: dict[str, Any], seed: int) -> Iterator[int]:
    """Yield the offset of each write: block-aligned within the file, or ever larger for an append."""
    block, size = settings["block_bytes"], settings["file_bytes"]
    if settings["offsets"] == "append":
        return iter(range(0, sys.maxsize, block))
    if settings["offsets"] == "same":
        return cycle([0])
    within = list(range(0, size - block + 1, block))
    if settings["offsets"] == "random":
        choose = random.Random(seed)
        chosen = choose.choices(within, k=max(8192, min(len(within), 65536)))
        within = array("q", chosen).tolist()  # new int objects in the order of their use, for the processor's cache
    return cycle(within)
