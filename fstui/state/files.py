"""Read and write files so that a power cut leaves either the old file or the new one. Standard library only."""

import errno
import fcntl
import itertools
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

TEMPORARY_SUFFIX = ".tmp"
ABANDONED_AFTER_S = 3600
"""No writer takes this long, so an older temporary file is that of a writer that was killed."""
_DIRECTORY_FLAGS = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_MAX_PATH_NAMES = 400
"""The maximum number of names in a path, including those in its symbolic links. The links may form a loop."""
MAX_BYTES = 256 << 20
"""Larger than any document of fstui, and small enough to read into memory."""


def read_regular(path: Path, flags: int = 0) -> tuple[bytes, os.stat_result]:
    """Return the content and the status of a regular file.

    Raises OSError, also for a file of more than MAX_BYTES, and for a pipe or a device, because their reads may block.
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
    """Return a descriptor (O_PATH) of the directory that contains a file, and the name of the file in it.

    The path comes from the user. Raises OSError, also if it contains a link that another user may have placed as a
    trap. The kernel refuses such links only in sticky directories, with fs.protected_symlinks=1 (proc_sys_fs(5)).
    """
    directory_fd, names = os.open("/", _DIRECTORY_FLAGS), _names_reversed(path.absolute())
    try:
        for _ in range(_MAX_PATH_NAMES):
            name = names.pop()
            try:
                fd = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory_fd)
            except FileNotFoundError:
                if not names:
                    return directory_fd, name
                raise
            try:
                is_link = stat.S_ISLNK(os.fstat(fd).st_mode)
                if not names and (not is_link or _is_in_proc(directory_fd)):
                    return directory_fd, name
                if is_link:
                    _check_link(fd, directory_fd)
                    target = os.readlink("", dir_fd=fd)
                    names += _names_reversed(Path(target))
                    next_fd = os.open("/" if target.startswith("/") else ".", _DIRECTORY_FLAGS, dir_fd=directory_fd)
                else:
                    next_fd = os.open(name, _DIRECTORY_FLAGS | os.O_NOFOLLOW, dir_fd=directory_fd)
            finally:
                os.close(fd)
            os.close(directory_fd)
            directory_fd = next_fd
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    except BaseException as error:
        os.close(directory_fd)
        if isinstance(error, OSError):
            error.filename = str(path)
        raise


def _names_reversed(path: Path) -> list[str]:
    """Return the names in a path in reverse order, so that ``pop`` removes the next one."""
    return [part for part in reversed(path.parts) if part != "/"] or ["."]


def _is_in_proc(directory_fd: int) -> bool:
    """Return whether the directory is in /proc. A link there, such as /proc/self/fd/1, may lead to a pipe, which has no
    path (proc(5))."""
    with suppress(OSError):
        return os.fstat(directory_fd).st_dev == Path("/proc").stat().st_dev
    return False


def _check_link(link_fd: int, directory_fd: int) -> None:
    """Raise OSError if a link may be a trap. Root follows only links of root. Other users also follow links of other
    users, but not in a shared sticky directory such as /tmp."""
    owner, parent = os.fstat(link_fd).st_uid, os.fstat(directory_fd)
    is_shared = parent.st_mode & stat.S_ISVTX and parent.st_mode & stat.S_IWOTH and parent.st_uid != owner
    if owner not in (0, os.geteuid()) and (is_shared or os.geteuid() == 0):
        raise OSError(errno.ELOOP, "the path contains a link of another user. Name the file itself")


def open_user_file(path: Path, flags: int, mode: int = 0o666) -> int:
    """Open a file whose path comes from the user. Raises OSError, also for a link that ``open_parent`` refuses.

    Also raises OSError for a file with several hard links in a directory where other users may create files. Another
    user may have created one of the links, to a different file of this user.
    """
    directory_fd, name = open_parent(path)
    try:
        follow = 0 if _is_in_proc(directory_fd) else os.O_NOFOLLOW
        fd = os.open(name, flags & ~os.O_TRUNC | follow, mode, dir_fd=directory_fd)
        status, parent = os.fstat(fd), os.fstat(directory_fd)
        if stat.S_ISREG(status.st_mode):
            if status.st_nlink > 1 and (parent.st_mode & 0o022 or parent.st_uid not in (0, os.geteuid())):
                os.close(fd)
                raise OSError(errno.EMLINK, "the file has several hard links, and another user may have created one")
            if flags & os.O_TRUNC:
                os.ftruncate(fd, 0)
        return fd
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        os.close(directory_fd)


def write_atomically(path: Path, data: bytes, mode: int = 0o600, *, sync: bool = True) -> None:
    """Replace the file: write a temporary file next to it, fsync it, rename it, and fsync the directory.

    Raises OSError. In this case, the old file is unchanged and no temporary file remains. Without ``sync``, the new
    file may be empty after a power cut.
    """
    with locked(path.parent, fcntl.LOCK_SH):
        try:
            fd, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=TEMPORARY_SUFFIX)
        except OSError as error:
            error.filename = str(path)
            raise
        temporary = Path(name)
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


def sweep(directory: Path) -> None:
    """Remove the temporary files of writers that were killed. While a process writes in the directory, or if it cannot
    be locked, remove only old files."""
    with locked(directory, fcntl.LOCK_EX | fcntl.LOCK_NB) as no_process_writes, suppress(OSError):
        for path in directory.glob(f".*{TEMPORARY_SUFFIX}"):
            with suppress(OSError):
                if no_process_writes or path.lstat().st_mtime < time.time() - ABANDONED_AFTER_S:
                    path.unlink()


@contextmanager
def locked(directory: Path, lock: int) -> Iterator[bool]:
    """Lock the directory, and yield whether that succeeded. Not every filesystem has locks of directories."""
    fd = -1
    try:
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(fd, lock)
        is_locked = True
    except OSError:
        is_locked = False
    try:
        yield is_locked
    finally:
        if fd >= 0:
            os.close(fd)


def sync_directory(directory: Path) -> None:
    """Sync a directory, so that new entries in it are durable (fsync(2))."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _sync(fd, directory)
    finally:
        os.close(fd)


def _sync(fd: int, path: Path) -> None:
    """Sync a descriptor. Raises OSError with a message that contains "fsync": it is not about a missing permission."""
    try:
        os.fsync(fd)
    except OSError as error:
        raise OSError(error.errno, f"fsync failed: {error.strerror}", str(path)) from None


def write_private(path: Path, data: bytes) -> None:
    """Write the file. If its directory is missing, create it with mode 0700. Raises OSError."""
    create_private_directory(path.parent)
    write_atomically(path, data)


def create_private_directory(directory: Path) -> Path:
    """Create the directory and its missing parents with mode 0700. Raises OSError."""
    missing_directories = itertools.takewhile(lambda path: not path.is_dir(), (directory, *directory.parents))
    for path in reversed(list(missing_directories)):
        path.mkdir(mode=0o700, exist_ok=True)
    return directory
