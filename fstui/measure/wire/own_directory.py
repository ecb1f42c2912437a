"""Create, enter and remove the directories of fstui, and use the path of a directory only once.

A user who owns a directory on the path may rename its contents at any moment and put something else there. So after the
first use of a path, names are relative to an open descriptor of the directory, or to the working directory.
"""

import errno
import os
import stat
from collections.abc import Sequence

from fstui import proc

PREFIX = ".fstui-"
"""Prefix of the name of a directory that fstui creates on a target; the run id follows."""
POWER_CUT_PREFIX = f"{PREFIX}powercut-"
"""The same for the records of a power-cut test."""
MARK = "made-by-fstui"
"""A file in every directory that fstui creates on a target. fstui empties only directories with this file."""
OPEN_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags to open a directory of fstui. Opening a symbolic link fails."""
PARENT_FLAGS = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
CREATE_FLAGS = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
NOT_OWN_REASON = "it is not a directory, or does not belong to this user"


class NotOwn(OSError):  # noqa: N818  an expected outcome
    """The directory does not belong to this user, or was not created by fstui."""


def create(path: str) -> int:
    """Create a private directory and return its descriptor. Raises NotOwn if a user has replaced it, or OSError."""
    parent, name = os.path.split(path)
    parent_fd = os.open(parent, PARENT_FLAGS)
    try:
        os.mkdir(name, 0o700, dir_fd=parent_fd)
        try:
            return _open_new(name, parent_fd, path)
        except PermissionError:  # a default ACL may deny the owner rights (acl(5))
            os.rmdir(name, dir_fd=parent_fd)
            raise
    finally:
        os.close(parent_fd)


def _open_new(name: str, parent_fd: int, path: str) -> int:
    """Open a directory that was just created, and create the file MARK in it. Raises NotOwn or OSError."""
    fd = os.open(name, OPEN_FLAGS, dir_fd=parent_fd)
    try:
        if os.fstat(fd).st_dev != os.fstat(parent_fd).st_dev or os.listdir(fd) or not is_own(fd):
            raise NotOwn(errno.ESTALE, "another directory has taken its place", path)
        _mark(fd)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _mark(fd: int) -> None:
    os.close(os.open(MARK, CREATE_FLAGS, 0o600, dir_fd=fd))


def is_own(fd: int) -> bool:
    """Return whether the directory belongs to this user.

    Some filesystems report another owner (vfat, NFS with squashed users). In this case, return whether a new file in
    the directory gets the same owner as the directory.
    """
    owner = os.fstat(fd).st_uid
    if owner == os.geteuid():
        return True
    try:
        file_fd = os.open("owner", CREATE_FLAGS, 0o600, dir_fd=fd)
    except OSError:
        return False
    try:
        return os.fstat(file_fd).st_uid == owner
    finally:
        os.close(file_fd)
        os.unlink("owner", dir_fd=fd)


def enter(directory: str, identity: Sequence[int]) -> None:
    """Change to a directory. Raises OSError if its device and inode are not those in ``identity``."""
    try:
        os.chdir(directory)
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, "it was moved or removed", directory) from None
    status = os.stat(".")
    if (status.st_dev, status.st_ino) != tuple(identity):
        raise OSError(errno.ESTALE, "another directory has taken its place", directory)


def open_left_behind(path: str) -> int:
    """Open a directory that an earlier run left. Raises FileNotFoundError, NotOwn or another OSError."""
    parent, name = os.path.split(path)
    parent_fd = os.open(parent, PARENT_FLAGS)
    try:
        fd = os.open(name, OPEN_FLAGS, dir_fd=parent_fd)
    except NotADirectoryError:  # also for a link
        raise NotOwn(None, NOT_OWN_REASON) from None
    finally:
        os.close(parent_fd)
    try:
        if not is_own(fd):
            raise NotOwn(None, NOT_OWN_REASON)
    except BaseException:
        os.close(fd)
        raise
    return fd


def remove(fd: int) -> None:
    """Remove the directory with its contents, even if it was moved. Raises OSError.

    An empty directory is removed even without the file MARK: fstui may have been killed before it created the file.
    """
    names = names_in(fd)
    if names and MARK not in names:
        raise NotOwn(
            None, f"it contains no file {MARK!r}, so fstui did not create it and does not remove it: check its contents"
        )
    _empty(fd, proc.mount_id(fd))
    path = os.readlink(f"/proc/self/fd/{fd}")
    if path.endswith(" (deleted)"):
        return
    parent_fd = os.open("..", PARENT_FLAGS, dir_fd=fd)
    try:
        name = os.path.basename(path)
        if os.path.samestat(os.stat(name, dir_fd=parent_fd, follow_symlinks=False), os.fstat(fd)):
            os.rmdir(name, dir_fd=parent_fd)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):  # a killed process created a file when its disk answered
            _mark(fd)
        raise
    finally:
        os.close(parent_fd)


def _empty(fd: int, mount_id: int | None) -> None:
    """Remove the contents, the file MARK last. Raises OSError if a filesystem is mounted on a subdirectory.

    ``mount_id``: that of the directory. The device number would not show a mount of the same filesystem.
    """
    for name in sorted(names_in(fd), key=lambda name: name == MARK):
        if not stat.S_ISDIR(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=fd)
            continue
        child_fd = os.open(name, OPEN_FLAGS, dir_fd=fd)
        try:
            if proc.mount_id(child_fd) != mount_id:
                raise OSError(errno.EBUSY, f"a filesystem is mounted on its subdirectory {name!r}")
            _empty(child_fd, mount_id)
        finally:
            os.close(child_fd)
        os.rmdir(name, dir_fd=fd)


def names_in(fd: int) -> list[str]:
    """Return the names in the directory. Open it again: on CIFS (Linux 6.12), a descriptor returns old names later."""
    return os.listdir(f"/proc/self/fd/{fd}")
