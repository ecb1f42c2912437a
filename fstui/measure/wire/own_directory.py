"""Make, enter and remove the directories of fstui, without following the path of a directory twice.

A user who owns a directory on the path may rename its contents at any moment and put something else there. So a path is
used only once. After that a descriptor holds the directory, or it is the working directory, and names are relative to
it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence

from fstui import proc

MARK = "made-by-fstui"
"""A file in every directory that fstui makes on a target. fstui empties only directories with this file."""
OWN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags to open such a directory, but not a link to it."""
ABOVE = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
OTHER = "it is not a directory of this user's"


class NotOwn(OSError):  # noqa: N818  an expected outcome
    """fstui or this user did not make the directory."""


def make(path: str) -> int:
    """Make a private directory and return its descriptor. Raises OSError: NotOwn if a user replaced it."""
    home, name = os.path.split(path)
    above = os.open(home, ABOVE)
    try:
        os.mkdir(name, 0o700, dir_fd=above)
        held = os.open(name, OWN, dir_fd=above)
        try:
            if os.fstat(held).st_dev != os.fstat(above).st_dev or os.listdir(held) or not is_own(held):
                raise NotOwn(errno.ESTALE, "another directory has taken its place", path)
            os.close(os.open(MARK, NEW, 0o600, dir_fd=held))
        except BaseException:
            os.close(held)
            raise
    finally:
        os.close(above)
    return held


def is_own(held: int) -> bool:
    """Return whether the directory belongs to this user.

    Some filesystems show another owner (vfat, NFS with squashed users). There, the owner of a new file in the directory
    must be that of the directory.
    """
    owner = os.fstat(held).st_uid
    if owner == os.geteuid():
        return True
    try:
        made = os.open("owner", NEW, 0o600, dir_fd=held)
    except OSError:
        return False
    try:
        return os.fstat(made).st_uid == owner
    finally:
        os.close(made)
        os.unlink("owner", dir_fd=held)


def enter(directory: str, identity: Sequence[int]) -> None:
    """Make a directory the working directory. ``identity``: its device and inode; if they differ, raises OSError."""
    try:
        os.chdir(directory)
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, "it was moved or removed", directory) from None
    status = os.stat(".")
    if (status.st_dev, status.st_ino) != tuple(identity):
        raise OSError(errno.ESTALE, "another directory has taken its place", directory)


def hold(path: str) -> int:
    """Open a directory that an earlier run left. Raises FileNotFoundError, NotOwn, other OSError."""
    home, name = os.path.split(path)
    above = os.open(home, ABOVE)
    try:
        held = os.open(name, OWN, dir_fd=above)
    except NotADirectoryError:  # also for a link
        raise NotOwn(None, OTHER) from None
    finally:
        os.close(above)
    if not is_own(held):
        os.close(held)
        raise NotOwn(None, OTHER)
    return held


def remove(held: int) -> None:
    """Remove the directory with its contents, wherever it was moved to. Raises OSError.

    A directory without the mark is removed only if it is empty: fstui may have been killed before it made the mark.
    """
    names = names_in(held)
    if names and MARK not in names:
        raise NotOwn(
            None, f"it contains no file {MARK!r}, so fstui did not make it and leaves it alone: check its contents"
        )
    _empty(held, proc.mount_id(held))
    here = os.readlink(f"/proc/self/fd/{held}")
    if here.endswith(" (deleted)"):
        return
    above = os.open("..", ABOVE, dir_fd=held)
    try:
        name = os.path.basename(here)
        if os.path.samestat(os.stat(name, dir_fd=above, follow_symlinks=False), os.fstat(held)):
            os.rmdir(name, dir_fd=above)
    finally:
        os.close(above)


def _empty(held: int, mount: int | None) -> None:
    """Remove the contents, the mark last. Raises OSError if something is mounted below.

    ``mount``: the mount number of the directory. The device number does not tell a second mount of the same filesystem.
    """
    for name in sorted(names_in(held), key=lambda name: name == MARK):
        if not stat.S_ISDIR(os.stat(name, dir_fd=held, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=held)
            continue
        below = os.open(name, OWN, dir_fd=held)
        try:
            if proc.mount_id(below) != mount:
                raise OSError(errno.EBUSY, f"something is mounted on {name!r} in it")
            _empty(below, mount)
        finally:
            os.close(below)
        os.rmdir(name, dir_fd=held)


def names_in(held: int) -> list[str]:
    """Return the names in the directory. Open it anew, because on CIFS (Linux 6.12) a descriptor that was read before
    returns the old names."""
    return os.listdir(f"/proc/self/fd/{held}")
