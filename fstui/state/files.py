"""Files that are either the old one or the new one, whole, also after a power cut.

Standard library only, and a program too: a run is saved by a child process, because the disk that it goes to may be
the one that hangs. stdin: the path as a line of JSON, then the document; stdout: one line of JSON.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

TEMPORARY = ".tmp"
"""The end of the names of what is being written."""


def read_regular(path: Path, flags: int = 0) -> tuple[bytes, os.stat_result]:
    """What the file holds, and whose it is. Raises OSError, also for a pipe or a device, which would be waited for."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    with os.fdopen(fd, "rb") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is no file", str(path))
        return file.read(), found


def write_atomically(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Replace the file by ``data``: a temporary file beside it, fsync, rename, fsync of the directory.

    Raises OSError; then the old file is untouched and the temporary one is gone.
    """
    fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=TEMPORARY)
    try:
        with os.fdopen(fd, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:  # of a descriptor: write(2), fsync(2)
            error.filename = str(path)
        raise
    sync_directory(path.parent)


def sweep(directory: Path) -> None:
    """Remove what writers left half-written that were killed. Nobody writes for an hour."""
    before = time.time() - 3600
    with suppress(OSError):
        for path in directory.glob(f".*{TEMPORARY}"):
            with suppress(OSError):
                if path.lstat().st_mtime < before:
                    path.unlink()


def sync_directory(directory: Path) -> None:
    """A new name is durable only after its directory is synced (fsync(2))."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        error.filename = str(directory)
        raise
    finally:
        os.close(fd)


def make_private(directory: Path) -> Path:
    """Create the directory and those above it that are missing, for this user alone (0700). Raises OSError."""
    if not directory.is_dir():
        make_private(directory.parent)
        directory.mkdir(mode=0o700, exist_ok=True)
    return directory


def main() -> None:
    """Write what stdin holds, and say ``saved`` or what went wrong."""
    path = Path(json.loads(sys.stdin.buffer.readline()))
    data = sys.stdin.buffer.read()
    try:
        make_private(path.parent)
        write_atomically(path, data)
        answer = {"saved": str(path)}
    except OSError as error:
        answer = {"error": str(error.strerror), "file": str(error.filename or path)}
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
