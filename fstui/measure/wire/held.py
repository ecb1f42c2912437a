"""A run's own directory: made, and then entered by all who work in it, who see that it is the one that was made.

Whoever owns a directory further up may rename what lies in it, and put something of his own there, at any moment. So a
path serves once, to come in; what was entered is held by the process, and every other name is relative to it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence

MARK = "made-by-fstui"
"""A file in every directory that fstui makes on a target: only what holds one is ever emptied."""
OWN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""How such a directory is opened: itself, and nothing that a link leads to."""
ABOVE = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC


class NotOurs(OSError):  # noqa: N818  an answer as good as others
    """What stands there was made by somebody else."""


def make(path: str) -> int:
    """A new private directory, held. Raises FileExistsError, NotOurs where it was swapped at once, other OSError."""
    home, name = os.path.split(path)
    above = os.open(home, ABOVE)
    try:
        os.mkdir(name, 0o700, dir_fd=above)
        held = os.open(name, OWN, dir_fd=above)
        if os.fstat(held).st_dev != os.fstat(above).st_dev or os.listdir(held) or not is_ours(held):
            raise NotOurs(errno.ESTALE, "another directory has taken its place", path)
    finally:
        os.close(above)
    os.close(os.open(MARK, NEW, 0o600, dir_fd=held))
    return held


def is_ours(held: int) -> bool:
    """It is this user's; or owned as all that this user makes there, where the filesystem keeps no owners (vfat, NFS
    with squashed users)."""
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
    """Make it the working directory. Raises OSError where it is not the one of that device and inode any more."""
    try:
        os.chdir(directory)
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, "somebody moved or removed it", directory) from None
    found = os.stat(".")
    if (found.st_dev, found.st_ino) != tuple(identity):
        raise OSError(errno.ESTALE, "another directory has taken its place", directory)
