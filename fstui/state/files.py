"""Read and write files so that a power cut leaves either the old file or the new one. Standard library only."""

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
_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_MAX_PARTS = 400
"""The maximum number of names in a path, including those in its links, which may form a loop."""
MAX_BYTES = 256 << 20
"""Far more than any document has, and little enough to read into memory."""


def read_regular(path: Path, flags: int = 0) -> tuple[bytes, os.stat_result]:
    """Return the content and the status of a regular file.

    Raises OSError, also for a pipe or device, which could block, and for a file that is too large for memory.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        if status.st_size > MAX_BYTES:
            raise OSError(errno.EFBIG, "it is larger than any file that fstui writes", str(path))
        return file.read(), status


def open_parent(path: Path) -> tuple[int, str]:
    """Return a descriptor (O_PATH) of the directory of a file that a user named, and the name of the file in it.

    A link that another user may have placed as a trap is not followed. The kernel refuses such links only in sticky
    directories, and only with fs.protected_symlinks=1 (proc_sys_fs(5)). Raises OSError.
    """
    directory, rest = os.open("/", _DIRECTORY), _parts(path.absolute())
    try:
        for _ in range(_MAX_PARTS):
            name = rest.pop()
            try:
                fd = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
            except FileNotFoundError:
                if not rest:
                    return directory, name
                raise
            try:
                is_link = stat.S_ISLNK(os.fstat(fd).st_mode)
                if not rest and (not is_link or _in_proc(directory)):
                    return directory, name
                if is_link:
                    _check_link(fd, directory)
                    target = os.readlink("", dir_fd=fd)
                    rest += _parts(Path(target))
                    into = os.open("/" if target.startswith("/") else ".", _DIRECTORY, dir_fd=directory)
                else:
                    into = os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)
            finally:
                os.close(fd)
            os.close(directory)
            directory = into
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    except BaseException as error:
        os.close(directory)
        if isinstance(error, OSError):
            error.filename = str(path)
        raise


def _parts(path: Path) -> list[str]:
    """Return the names in a path, the last one first."""
    return [part for part in reversed(path.parts) if part != "/"] or ["."]


def _in_proc(directory: int) -> bool:
    """Return whether the directory is in /proc. A link there, such as /proc/self/fd/1, may stand for a pipe, which has
    no path (proc(5))."""
    with suppress(OSError):
        return os.fstat(directory).st_dev == Path("/proc").stat().st_dev
    return False


def _check_link(link: int, directory: int) -> None:
    """Raises OSError for a link that may be a trap. Root follows only links of root. Other users also follow links of
    other users, but not in a shared sticky directory such as /tmp."""
    owner, above = os.fstat(link).st_uid, os.fstat(directory)
    shared = above.st_mode & stat.S_ISVTX and above.st_mode & stat.S_IWOTH and above.st_uid != owner
    if owner not in (0, os.geteuid()) and (shared or os.geteuid() == 0):
        raise OSError(errno.ELOOP, "a link of another user leads there. Name the file itself")


def open_named(path: Path, flags: int, mode: int = 0o666) -> int:
    """Open a file that a user named, without following links that ``open_parent`` refuses. Raises OSError.

    A file with several hard links is not opened in a directory where other users may create files: another user may
    have linked a different file of this user there.
    """
    directory, name = open_parent(path)
    try:
        follow = 0 if _in_proc(directory) else os.O_NOFOLLOW
        fd = os.open(name, flags & ~os.O_TRUNC | follow, mode, dir_fd=directory)
        status, above = os.fstat(fd), os.fstat(directory)
        if stat.S_ISREG(status.st_mode):
            if status.st_nlink > 1 and (above.st_mode & 0o022 or above.st_uid not in (0, os.geteuid())):
                os.close(fd)
                raise OSError(errno.EMLINK, "the file has another name, and others may have made it")
            if flags & os.O_TRUNC:
                os.ftruncate(fd, 0)
        return fd
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        os.close(directory)


def write_atomically(path: Path, data: bytes, mode: int = 0o600, *, sync: bool = True) -> None:
    """Replace the file: write a temporary file next to it, fsync it, rename it, and fsync the directory.

    Raises OSError, and then the old file is untouched and the temporary one is removed. Without ``sync`` the new file
    may be empty after a power cut.
    """
    fd, temporary = _locked_temporary(path)
    try:
        with os.fdopen(fd, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            if sync:
                _sync(file.fileno(), path)
            temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:  # write(2) fails without a file name
            error.filename = str(path)
        raise
    if sync:
        sync_directory(path.parent)


def _locked_temporary(path: Path) -> tuple[int, Path]:
    """Create a locked temporary file next to the file.

    Another process may sweep the new file before it is locked. Then it has no name left, and another one is created.
    """
    while True:
        try:
            fd, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=TEMPORARY)
        except OSError as error:
            error.filename = str(path)
            raise
        with suppress(OSError):  # a filesystem without locks
            fcntl.flock(fd, fcntl.LOCK_EX)
        if os.fstat(fd).st_nlink:
            return fd, Path(name)
        os.close(fd)


def sweep(directory: Path) -> None:
    """Remove the temporary files of writers that were killed."""
    with suppress(OSError):
        for path in directory.glob(f".*{TEMPORARY}"):
            with suppress(OSError):
                _sweep_one(path)


def _sweep_one(path: Path) -> None:
    """Remove a temporary file that no process writes. Raises OSError.

    A writer holds a lock, which ends with its process (flock(2)). On a filesystem without locks, a file that is older
    than an hour is removed.
    """
    fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        abandoned = True
    except BlockingIOError:
        abandoned = False
    except OSError:
        abandoned = os.fstat(fd).st_mtime < time.time() - 3600
    try:
        if abandoned:
            path.unlink()
    finally:
        os.close(fd)


def sync_directory(directory: Path) -> None:
    """Sync a directory. Only after that are new names in it durable (fsync(2))."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _sync(fd, directory)
    finally:
        os.close(fd)


def _sync(fd: int, path: Path) -> None:
    """Sync a descriptor. Raises OSError. Its message names fsync, so that the user does not look for a missing
    permission to write."""
    try:
        os.fsync(fd)
    except OSError as error:
        raise OSError(error.errno, f"fsync failed: {error.strerror}", str(path)) from None


def write_private(path: Path, data: bytes) -> None:
    """Write the file into a directory that only this user may read. Raises OSError."""
    make_private(path.parent)
    write_atomically(path, data)


def make_private(directory: Path) -> Path:
    """Create the directory and its missing parents with mode 0700. Raises OSError."""
    if not directory.is_dir():
        make_private(directory.parent)
        directory.mkdir(mode=0o700, exist_ok=True)
    return directory
