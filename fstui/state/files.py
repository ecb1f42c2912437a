"""Files that are either the old one or the new one, whole, also after a power cut. Standard library only."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path

TEMPORARY = ".tmp"
"""The end of the names of what is being written."""
MOST_BYTES = 256 << 20
"""Far more than any document has, and less than would take a box its memory."""


def read_regular(path: Path, flags: int = 0) -> tuple[bytes, os.stat_result]:
    """What the file holds, and whose it is.

    Raises OSError, also for a pipe or a device, which would be waited for, and for what is too large for memory.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    with os.fdopen(fd, "rb") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is no file", str(path))
        if found.st_size > MOST_BYTES:
            raise OSError(errno.EFBIG, "it is too large for a file of fstui", str(path))
        return file.read(), found


def write_atomically(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Replace the file by ``data``: a temporary file beside it, fsync, rename, fsync of the directory.

    Raises OSError; then the old file is untouched and the temporary one is gone.
    """
    fd, temporary = _locked_temporary(path)
    try:
        with os.fdopen(fd, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            _sync(file.fileno(), path)
            temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:  # of a descriptor: write(2)
            error.filename = str(path)
        raise
    sync_directory(path.parent)


def _locked_temporary(path: Path) -> tuple[int, Path]:
    """A file beside it that nobody sweeps away: one that was, between its making and its lock, has no name left."""
    while True:
        fd, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=TEMPORARY)
        with suppress(OSError):  # a filesystem without locks
            fcntl.flock(fd, fcntl.LOCK_EX)
        if os.fstat(fd).st_nlink:
            return fd, Path(name)
        os.close(fd)


def sweep(directory: Path) -> None:
    """Remove what writers left half-written that were killed."""
    with suppress(OSError):
        for path in directory.glob(f".*{TEMPORARY}"):
            with suppress(OSError):
                _sweep_one(path)


def _sweep_one(path: Path) -> None:
    """A lock ends with its holder (flock(2)); where there are none, nobody writes for an hour. Raises OSError."""
    fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        nobody_writes = True
    except BlockingIOError:
        nobody_writes = False
    except OSError:
        nobody_writes = os.fstat(fd).st_mtime < time.time() - 3600
    try:
        if nobody_writes:
            path.unlink()
    finally:
        os.close(fd)


def sync_directory(directory: Path) -> None:
    """A new name is durable only after its directory is synced (fsync(2))."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _sync(fd, directory)
    finally:
        os.close(fd)


def _sync(fd: int, path: Path) -> None:
    """Raises OSError, which says that it was the sync: whoever may write there would look for something else."""
    try:
        os.fsync(fd)
    except OSError as error:
        raise OSError(error.errno, f"fsync failed: {error.strerror}", str(path)) from None


def write_private(path: Path, data: bytes) -> None:
    """Write the file, in a directory for this user alone. Raises OSError."""
    make_private(path.parent)
    write_atomically(path, data)


def make_private(directory: Path) -> Path:
    """Create the directory and those above it that are missing, for this user alone (0700). Raises OSError."""
    if not directory.is_dir():
        make_private(directory.parent)
        directory.mkdir(mode=0o700, exist_ok=True)
    return directory
