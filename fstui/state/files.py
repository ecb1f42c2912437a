"""Files that are either the old one or the new one, whole, also after a power cut.

Standard library only, and a program too: a run is saved by a child process, because the disk that it goes to may be
the one that hangs. stdin: the path as a line of JSON, then the document; stdout: one line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path


def write_atomically(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Replace the file by ``data``: a temporary file beside it, fsync, rename, fsync of the directory.

    Raises OSError; then the old file is untouched and the temporary one is gone.
    """
    fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=".tmp")
    try:
        with os.fdopen(fd, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """A new name is durable only after its directory is synced (fsync(2))."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
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
