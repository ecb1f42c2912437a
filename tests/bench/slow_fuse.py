"""A FUSE mount like ``tests.real.hanging_fuse`` whose files are as slow as a cheap disk, one request at a time.

A file on it below a loop device makes a disk whose latency grows with its load, whatever the host's own disk does.
"""

import os
import sys
import threading
import time
from pathlib import Path

import mfusepy

from tests.real import hanging_fuse

BYTES_PER_S = 40_000_000
WRITE_S, FLUSH_S, DISCARD_S = 0.001, 0.004, 0.2


class Slow(hanging_fuse.PassThrough):
    """Passes calls on, after the time that a disk would need."""

    _busy = threading.Lock()

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        with self._busy:
            time.sleep(WRITE_S + len(data) / BYTES_PER_S)
        return os.pwrite(fh, data, offset)

    def fsync(self, path: str, datasync: int, fh: int) -> int:
        with self._busy:
            time.sleep(FLUSH_S)
        return 0

    def fallocate(self, path: str, mode: int, offset: int, size: int, fh: int) -> int:
        with self._busy:
            time.sleep(DISCARD_S)
        return 0


if __name__ == "__main__":
    os.sched_setaffinity(0, {0})  # the bench takes the time of another CPU
    mount_point, directory, command_file = sys.argv[1:]
    threading.Thread(target=hanging_fuse.say_when_mounted, args=(mount_point,), daemon=True).start()
    mfusepy.FUSE(Slow(directory, Path(command_file)), mount_point, foreground=True, **hanging_fuse.OPTIONS)
