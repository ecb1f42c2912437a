"""What a server may do: as another user, in a place that nobody else can rename, perhaps under AppArmor."""

from __future__ import annotations

import ctypes
import os
import pwd

PLACE = "/media"
"""No server is told of anything there: what it shows to others is hidden from it by its data."""
CLONE_NEWNS, MS_BIND, MS_REC, MS_SLAVE = 0x20000, 1 << 12, 1 << 14, 1 << 19


def privileges(user: str | None) -> list[str]:
    """The words before a command that make it die with us and, where we are root, run as that user."""
    words = ["setpriv", "--pdeathsig", "KILL"]
    if user is not None:
        found = pwd.getpwnam(user)
        words += [f"--reuid={found.pw_uid}", f"--regid={found.pw_gid}", "--clear-groups", "--inh-caps=-all"]
    return words


def mounted_apart(directory: str) -> bool:
    """Show the directory at PLACE, to us and to what we start alone: there its user comes to it without a right to
    walk through root's directories, and nobody can rename it. False where root may not mount (containers).

    mount_namespaces(7): what others mount and unmount happens here too, and nothing of ours there.
    """
    libc = ctypes.CDLL(None)
    flags = ctypes.c_ulong(MS_REC | MS_SLAVE), ctypes.c_ulong(MS_BIND)
    return (
        os.path.isdir(PLACE)
        and libc.unshare(CLONE_NEWNS) == 0
        and libc.mount(None, b"/", None, flags[0], None) == 0
        and libc.mount(directory.encode(), PLACE.encode(), None, flags[1], None) == 0
    )


def is_confined(name: str) -> bool:
    """A profile for that program is loaded and enforced (apparmor(7)); that its file lies in /etc means neither."""
    try:
        with open("/sys/kernel/security/apparmor/profiles", encoding="utf-8", errors="replace") as file:
            profiles = [line.rstrip().rpartition(" ") for line in file]
    except OSError:
        return False
    return any(os.path.basename(profile) == name and mode == "(enforce)" for profile, _, mode in profiles)
