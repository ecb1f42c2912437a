"""A directory of fstui's own on a target, held by a descriptor and removed through it; and who might come between.

Nothing here follows a path twice: see ``fstui.measure.wire.held``.
"""

from __future__ import annotations

import errno
import os
import stat

from fstui.measure.wire.held import ABOVE, MARK, OWN, NotOurs, is_ours

NOT_OURS = "it is not a directory of this user's"


def hold(path: str) -> int:
    """What an earlier run left. Raises FileNotFoundError, NotOurs, other OSError."""
    home, name = os.path.split(path)
    above = os.open(home, ABOVE)
    try:
        held = os.open(name, OWN, dir_fd=above)
    except NotADirectoryError:  # a link is none either
        raise NotOurs(None, NOT_OURS) from None
    finally:
        os.close(above)
    if not is_ours(held):
        raise NotOurs(None, NOT_OURS)
    return held


def remove(held: int) -> None:
    """Take the directory away with all that is in it, wherever it was moved to meanwhile. Raises OSError.

    One that has no mark in it is removed only where it is empty: its maker was killed at once, or it is not ours.
    """
    names = names_in(held)
    if names and MARK not in names:
        raise NotOurs(None, f"it holds no file {MARK!r}, so that fstui did not make it: look into it and remove it")
    empty(held, mount_of(held))
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


def empty(held: int, mount: str) -> None:
    """Remove all that is in it and on the same mount; its mark last. Raises OSError."""
    for name in sorted(names_in(held), key=lambda name: name == MARK):
        if not stat.S_ISDIR(os.stat(name, dir_fd=held, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=held)
            continue
        below = os.open(name, OWN, dir_fd=held)
        try:
            if mount_of(below) != mount:
                raise OSError(errno.EBUSY, f"something is mounted on {name!r} in it")
            empty(below, mount)
        finally:
            os.close(below)
        os.rmdir(name, dir_fd=held)


def names_in(held: int) -> list[str]:
    """Read anew: a descriptor that was listed before says on CIFS (Linux 6.12) what it said then."""
    return os.listdir(f"/proc/self/fd/{held}")


def mount_of(held: int) -> str:
    """The id of its mount (proc_pid_fdinfo(5)): a mount of the same filesystem has the same device, and another id."""
    with open(f"/proc/self/fdinfo/{held}", encoding="ascii") as file:
        return next((line for line in file if line.startswith("mnt_id:")), "")


def renamers(path: str) -> str | None:
    """Who, besides root and this user, may put something else in the place of this directory or of what is made in it.

    Entries of a directory are renamed by its owner, and by all who may write there unless it has the sticky bit: then
    by each entry's own (rename(2), EPERM).
    """
    while True:
        found = os.stat(path)
        if found.st_uid not in (0, os.geteuid()):
            return f"user {name_of_user(found.st_uid)}, who owns {path}"
        if not found.st_mode & stat.S_ISVTX:
            if found.st_mode & stat.S_IWOTH:
                return f"any user, as all may write to {path}"
            if found.st_mode & stat.S_IWGRP and found.st_gid != 0:
                return f"group {name_of_group(found.st_gid)}, which may write to {path}"
            if found.st_mode & stat.S_IWGRP and has_acl(path):
                return f"whoever the access control list of {path} names (getfacl {path})"
        if path == "/":
            return None
        path = os.path.dirname(path)


def has_acl(path: str) -> bool:
    """It names users or groups besides; the group's bits are then what they may have at most (acl(5))."""
    try:
        return len(os.getxattr(path, "system.posix_acl_access")) > 0
    except OSError:
        return False


def name_of_user(number: int) -> str:
    import pwd  # noqa: PLC0415  it may ask a directory server, and only a refusal needs it

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def name_of_group(number: int) -> str:
    import grp  # noqa: PLC0415  the same

    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)
