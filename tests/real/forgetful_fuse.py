"""A FUSE mount with one file, ``disk.img``: a disk whose volatile cache holds every write until the next flush.

``python forgetful_fuse.py MOUNT_POINT MEDIUM [IGNORED]``: MEDIUM is the file with the durable data; a copy of it shows
what remains after a power cut. Every IGNORED-th flush is ignored (1: all of them, 0: none). Prints ``mounted`` and
stays until it is unmounted. Killing it is a power cut, too.
"""

import errno
import os
import stat
import sys
from typing import Any

import mfusepy

NAME = "/disk.img"
BLOCK = 512
OPTIONS = {"attr_timeout": 0, "entry_timeout": 0, "use_ino": True, "nothreads": True, "allow_other": True}


class Forgetful(mfusepy.Operations):  # type: ignore[misc]
    """Writes go to the cache; fsync moves them to the medium, unless it is ignored."""

    use_ns = True

    def __init__(self, medium: str, ignored: int) -> None:
        self._medium = os.open(medium, os.O_RDWR)
        self._ignored = ignored
        self._flushes = 0
        self._cache: dict[int, bytes] = {}

    def init(self, path: str) -> None:
        print("mounted", flush=True)

    def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
        if path == "/":
            return {"st_mode": stat.S_IFDIR | 0o755, "st_nlink": 2, "st_ino": 1}
        if path != NAME:
            raise mfusepy.FuseOSError(errno.ENOENT)
        size = os.fstat(self._medium).st_size
        return {"st_mode": stat.S_IFREG | 0o600, "st_nlink": 1, "st_ino": 2, "st_size": size, "st_blocks": size // 512}

    def readdir(self, path: str, fh: int) -> list[str]:
        return [".", "..", NAME[1:]]

    def open(self, path: str, flags: int) -> int:
        return 0

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        data = bytearray(os.pread(self._medium, size, offset))
        for at in range(0, len(data), BLOCK):
            if (offset + at) // BLOCK in self._cache:
                data[at : at + BLOCK] = self._cache[(offset + at) // BLOCK]
        return bytes(data)

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        for at in range(0, len(data), BLOCK):
            self._cache[(offset + at) // BLOCK] = data[at : at + BLOCK]
        return len(data)

    def fsync(self, path: str, datasync: int, fh: int) -> int:
        self._flushes += 1
        if self._ignored and self._flushes % self._ignored == 0:
            return 0
        for block, data in self._cache.items():
            os.pwrite(self._medium, data, block * BLOCK)
        self._cache.clear()
        return 0


if __name__ == "__main__":
    mount_point, medium_file, *ignored_flushes = sys.argv[1:]
    disk = Forgetful(medium_file, int(ignored_flushes[0]) if ignored_flushes else 0)
    mfusepy.FUSE(disk, mount_point, foreground=True, **OPTIONS)
