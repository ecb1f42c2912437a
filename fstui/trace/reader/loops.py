"""Which file a loop device stands on: its worker syncs it for whoever uses the loop."""

from __future__ import annotations

import contextlib
import fcntl
import glob
import os
import struct

LOOP_GET_STATUS64 = 0x4C05
STATUS_BYTES = 232
"""Of struct loop_info64, which begins with the device and the inode of the file (uapi/linux/loop.h)."""


def backing_files() -> dict[tuple[int, int], str]:
    """Device (major << 20 | minor) and inode → path, and the loop in brackets. The files themselves are not touched."""
    found = {}
    for path in glob.glob("/sys/block/loop*/loop/backing_file"):
        loop = path.split("/")[3]
        with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="surrogateescape") as file:
            device, inode = status(loop)
            found[os.major(device) << 20 | os.minor(device), inode] = f"{file.read().rstrip()} ({loop})"
    return found


def status(loop: str) -> tuple[int, int]:
    """Raises OSError."""
    fd = os.open(f"/dev/{loop}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        device, inode = struct.unpack_from("=QQ", fcntl.ioctl(fd, LOOP_GET_STATUS64, bytes(STATUS_BYTES)))
        return device, inode
    finally:
        os.close(fd)
