"""The file that a probe writes: made anew, filled and synced before the clock starts, removed at the end."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import stat
import time
from typing import Any

from fstui.measure.wire.talk import CallError, calling, clock, cut_short, interrupted, send

CHUNK_BYTES = 1 << 20
PIECES_PER_S = 4
"""Of a file that is written at a pace."""
LISTEN_NS = 50_000_000
PAGE = os.sysconf("SC_PAGE_SIZE")
PATIENCE_NS = 30_000_000_000
SLOWEST_NS_PER_BYTE = 1000
"""1 MB/s: a file that would take longer than this and the patience is given up."""


def make_file(settings: dict[str, Any]) -> None:
    """Make the file, fill it as asked, and sync it and the run's directory. What was there already is left as it is.

    The pages it was filled through are let go of where the blocks are whole pages, so that no write has to read one
    back: large writes leave large folios in the page cache, and in those a block's write and sync cost more (ext4 on
    Linux 6.18: 4 KiB with fdatasync 18 % slower). posix_fadvise(2); fio lets go of them too.
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
    """The one that the file is in. Some filesystems have no fsync for directories (HFS: EINVAL); their files have."""
    directory = calling("open", os.open, ".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise CallError("fsync", error) from error
    finally:
        os.close(directory)


def fill(fd: int, size: int, how: str, bytes_per_s: int | None = None) -> None:
    """``bytes_per_s``: no faster than that, and synced piece by piece, or the kernel would write it all at the end."""
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
            if interrupted():
                raise SystemExit(1)
            chunk = random.randbytes(min(most, size - done))
            wrote = calling("pwrite", os.pwrite, fd, chunk, done)
            if not wrote:  # a short write is followed by the error that made it short; none is followed by none
                raise CallError("pwrite", cut_short(fd, chunk, done, wrote))
            done += wrote
            send("preparing", done=done, total=size)


def wait_until(due_ns: int) -> None:
    """Or until the engine hangs up or says stop."""
    while (left_ns := due_ns - clock()) > 0 and not interrupted():
        time.sleep(min(left_ns, LISTEN_NS) / 1e9)


def give_up_if_slow(done: int, size: int, elapsed_ns: int) -> None:
    """A storage that takes minutes for the file tells nothing in a step of seconds. Raises CallError."""
    if elapsed_ns > PATIENCE_NS and elapsed_ns * size > done * (PATIENCE_NS + size * SLOWEST_NS_PER_BYTE):
        said = f"{done} of {size} bytes written in {elapsed_ns / 1e9:.0f} s: too slow for a file of that size"
        raise CallError("pwrite", OSError(errno.ETIMEDOUT, said))


def try_direct(directory: str) -> None:
    """See that a file there can be opened with O_DIRECT. Raises CallError."""
    path = os.path.join(directory, "direct")
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        os.close(calling("open", os.open, path, flags | os.O_DIRECT, 0o600))
    finally:
        remove(path)


def remove(path: str) -> None:
    """Remove our file: a regular file of that name, nothing else."""
    try:
        if stat.S_ISREG(os.lstat(path).st_mode):
            os.unlink(path)
    except OSError:
        pass  # the keeper of the directory removes the rest, or says that it could not
