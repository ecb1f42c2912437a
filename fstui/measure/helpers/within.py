"""Files below another root directory, a container's: a link leads where it leads for those inside, never out of it.

Every step is taken from a held directory, so that nobody inside can turn a name while it is followed.
"""

from __future__ import annotations

import errno
import os
import stat

MOST_LINKS = 40
"""As many as the kernel follows: path_resolution(7)."""
MOST_BYTES = 1 << 20
STEP = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


def read(root: str, path: str) -> bytes:
    """What the file holds, if it is one, and of no great size. Raises OSError."""
    held = hold(root, path)
    try:
        if not stat.S_ISREG(os.fstat(held).st_mode):
            raise OSError(errno.EINVAL, "it is no file", path)
        fd = os.open(f"/proc/self/fd/{held}", os.O_RDONLY | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            return file.read(MOST_BYTES)
    finally:
        os.close(held)


def names(root: str, path: str) -> list[str]:
    """Of what the directory holds, sorted. Raises OSError."""
    held = hold(root, path)
    try:
        return sorted(os.listdir(f"/proc/self/fd/{held}"))
    finally:
        os.close(held)


def hold(root: str, path: str) -> int:
    """What stands there, by a descriptor (open(2), O_PATH). Raises OSError, also for a relative path."""
    if not path.startswith("/"):
        raise OSError(errno.EINVAL, "it is relative to a directory that is not known", path)
    way = [os.open(root or "/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)]
    try:
        _walk(way, path)
        return way.pop()
    finally:
        for held in way:
            os.close(held)


def _walk(way: list[int], path: str) -> None:
    """``way``: from the root to where we are."""
    left, links = path.split("/")[::-1], 0
    while left:
        name = left.pop()
        if name == "..":
            if len(way) > 1:
                os.close(way.pop())
        elif name not in ("", "."):
            way.append(os.open(name, STEP, dir_fd=way[-1]))
            if stat.S_ISLNK(os.fstat(way[-1]).st_mode):
                links += 1
                if links > MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
                target = os.readlink("", dir_fd=way[-1])
                os.close(way.pop())
                while target.startswith("/") and len(way) > 1:
                    os.close(way.pop())
                left += target.split("/")[::-1]
