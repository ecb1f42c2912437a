"""Program: a disk of the laboratory, served by this process through FUSE as one file, with a cache in its own memory.

Arguments: the file to be mounted over, the file that holds what is on the disk (the platter), ``hold_s`` and
``writes_per_s``. With ``hold_s`` above 0 the disk lies: a write stays in this process's memory for so long, whatever
was flushed, and what it holds is gone when the process is killed. They reach the platter in the order in which they
came, so that a journal finds the disk as it was some moments before. With 0 each is on the platter at once, and a flush
flushes that. ``writes_per_s`` above 0: no more than so many.

stdout: ``mounted``, or why it could not be; then it goes on until it is killed or unmounted. Needs root. Structures and
numbers: linux/fuse.h.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import signal
import stat
import struct
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

FSTYPE, SOURCE = b"fuse.fstui-lab", b"served-disk"
VERSION = 7, 31
MAX_WRITE = 1 << 17
BUFFER_BYTES = MAX_WRITE + 4096
"""The kernel hands over no request to a buffer without room for a header beside the data."""
HELD_BYTES = 64 << 20
"""A cache has an end: what is older goes to the platter sooner."""
ASYNC_READ, BIG_WRITES = 1 << 0, 1 << 5
DIRECT_IO = 1 << 0
"""FOPEN_DIRECT_IO: nothing of it stays in the page cache, which would remember what the disk forgets."""
PR_SET_IO_FLUSHER = 57
"""prctl(2): memory is found for this process without waiting for the disks that it serves itself."""
IN_HEADER = struct.Struct("=IIQQIII4x")  # length, opcode, unique, node, uid, gid, pid
OUT_HEADER = struct.Struct("=IiQ")  # length, error, unique
INIT_OUT = struct.Struct("=IIIIHHIIHHII24x")
ATTR_OUT = struct.Struct("=QII QQQQQQ III IIIII II")
OPEN_OUT = struct.Struct("=QII")
PLACE_IN = struct.Struct("=QQI")  # of a read and a write: handle, offset, bytes
WRITE_IN_BYTES = 40
WRITE_OUT = struct.Struct("=II")
FORGET, GETATTR, OPEN, READ, WRITE, STATFS, RELEASE, FSYNC = 2, 3, 14, 15, 16, 17, 18, 20
FLUSH, INIT, INTERRUPT, DESTROY, BATCH_FORGET = 25, 26, 36, 38, 42
UNANSWERED = (FORGET, BATCH_FORGET, INTERRUPT)


class Disk:
    """What is on the platter, and what its cache still holds."""

    def __init__(self, platter: int, hold_s: float, writes_per_s: float) -> None:
        self.platter = platter
        self.hold_s = hold_s
        self.pause_s = 1 / writes_per_s if writes_per_s else 0.0
        self.free_at_s = 0.0
        self.held: deque[tuple[float, int, bytes]] = deque()
        self.held_bytes = 0

    def read(self, offset: int, size: int) -> bytes:
        data = bytearray(os.pread(self.platter, size, offset))
        for _, at, piece in self.held:
            begin, end = max(at, offset), min(at + len(piece), offset + len(data))
            if begin < end:
                data[begin - offset : end - offset] = piece[begin - at : end - at]
        return bytes(data)

    def write(self, offset: int, data: bytes) -> None:
        now = time.monotonic()
        if self.pause_s:
            time.sleep(max(0.0, self.free_at_s - now))
            self.free_at_s = max(self.free_at_s, now) + self.pause_s
        if not self.hold_s:
            os.pwrite(self.platter, data, offset)
            return
        self.held.append((now + self.hold_s, offset, data))
        self.held_bytes += len(data)
        while self.held_bytes > HELD_BYTES:
            self.settle_oldest()

    def flush(self) -> None:
        if not self.hold_s:
            os.fdatasync(self.platter)

    def settle(self) -> float | None:
        """What was held long enough goes to the platter; seconds until the next, None where nothing is held."""
        while self.held:
            early = self.held[0][0] - time.monotonic()
            if early > 0:
                return early
            self.settle_oldest()
        return None

    def settle_oldest(self) -> None:
        _, offset, data = self.held.popleft()
        self.held_bytes -= len(data)
        os.pwrite(self.platter, data, offset)


class Server:
    """Answers the kernel, one request after another."""

    def __init__(self, fuse: int, disk: Disk) -> None:
        self.fuse = fuse
        self.disk = disk
        self.answers: dict[int, Callable[[memoryview], bytes]] = {
            INIT: lambda _: INIT_OUT.pack(*VERSION, MAX_WRITE, ASYNC_READ | BIG_WRITES, 0, 0, MAX_WRITE, 1, 0, 0, 0, 0),
            GETATTR: lambda _: self.attributes(),
            OPEN: lambda _: OPEN_OUT.pack(0, DIRECT_IO, 0),
            READ: self.read,
            WRITE: self.write,
            FSYNC: self.sync,
            STATFS: lambda _: bytes(80),
            **dict.fromkeys((RELEASE, FLUSH, DESTROY), lambda _: b""),
        }

    def serve(self) -> None:
        """Until it is unmounted: ENODEV."""
        while True:
            readable, _, _ = select.select([self.fuse], [], [], self.disk.settle())
            if readable:
                try:
                    request = os.read(self.fuse, BUFFER_BYTES)
                except OSError as error:
                    if error.errno in (errno.EINTR, errno.EAGAIN, errno.ENOENT):
                        continue
                    return
                self.answer(memoryview(request))

    def answer(self, request: memoryview) -> None:
        _, opcode, unique, *_ = IN_HEADER.unpack_from(request)
        if opcode in UNANSWERED:
            return
        failed, body = 0, b""
        try:
            call = self.answers.get(opcode)
            failed, body = (0, call(request[IN_HEADER.size :])) if call else (errno.ENOSYS, b"")
        except OSError as error:
            failed = error.errno or errno.EIO
        with suppress(OSError):  # it was interrupted and asks no more
            os.write(self.fuse, OUT_HEADER.pack(OUT_HEADER.size + len(body), -failed, unique) + body)

    def attributes(self) -> bytes:
        found = os.fstat(self.disk.platter)
        mode = stat.S_IFREG | 0o600
        times = (int(found.st_mtime),) * 3
        return ATTR_OUT.pack(
            1, 0, 0, 1, found.st_size, found.st_blocks, *times, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0
        )  # fmt: skip

    def read(self, asked: memoryview) -> bytes:
        _, offset, size = PLACE_IN.unpack_from(asked)
        return self.disk.read(offset, size)

    def write(self, asked: memoryview) -> bytes:
        _, offset, size = PLACE_IN.unpack_from(asked)
        self.disk.write(offset, bytes(asked[WRITE_IN_BYTES : WRITE_IN_BYTES + size]))
        return WRITE_OUT.pack(size, 0)

    def sync(self, _: memoryview) -> bytes:
        self.disk.flush()
        return b""


def mount(fuse: int, point: str) -> None:
    """mount(2), with a file for a root. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0)  # refused before Linux 5.6: then without
    options = f"fd={fuse},rootmode=100600,user_id=0,group_id=0"
    if libc.mount(SOURCE, os.fsencode(point), FSTYPE, 0, options.encode()):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), point)


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # a class goes on when the terminal of who made it is closed
    point, platter, hold_s, writes_per_s = sys.argv[1:]
    try:
        disk = Disk(os.open(platter, os.O_RDWR | os.O_CLOEXEC), float(hold_s), float(writes_per_s))
        fuse = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        mount(fuse, point)
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", flush=True)
        return
    print("mounted", flush=True)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    Server(fuse, disk).serve()


if __name__ == "__main__":
    main()
