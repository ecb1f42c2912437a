"""A FUSE mount with one file, ``disk.img``: a disk whose volatile cache holds every write until the next flush.

``python forgetful_fuse.py MOUNT_POINT MEDIUM``: MEDIUM is a file with what is durable; a copy of it is what remains
after a power cut. Prints ``mounted`` and stays until it is unmounted.
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
    """Writes go to the cache; fsync moves them to the medium."""

    use_ns = True

    def __init__(self, medium: str) -> None:
        self._medium = os.open(medium, os.O_RDWR)
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
        for block, data in self._cache.items():
            os.pwrite(self._medium, data, block * BLOCK)
        self._cache.clear()
        return 0


if __name__ == "__main__":
    mfusepy.FUSE(Forgetful(sys.argv[2]), sys.argv[1], foreground=True, **OPTIONS)
