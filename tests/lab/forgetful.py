"""A disk with a volatile write cache, as an NBD server. Killing it is the power cut: the cache is lost.

``python forgetful.py FILE SOCKET IGNORED``: write the cache out on a flush, but ignore every IGNORED-th flush (1: all
of them, 0: none). Protocol: NetworkBlockDevice/nbd, doc/proto.md, the newstyle negotiation. One client at a time.
"""

import os
import socket
import struct
import sys
from contextlib import suppress
from pathlib import Path

BLOCK = 512
MAGIC, OPTIONS, REPLY, REQUEST, ANSWER = (
    0x4E42444D41474943, 0x49484156454F5054, 0x3E889045565A9, 0x25609513, 0x67446698
)  # fmt: skip
HAS_FLUSH = 1 | 1 << 2
EXPORT_NAME, ABORT, INFO, GO = 1, 2, 6, 7
ACK, INFO_REPLY, UNSUPPORTED = 1, 3, (1 << 31) + 1
READ, WRITE, DISCONNECT, FLUSH = range(4)
EINVAL = 22


class Disk:
    """The medium, and what is in the cache only."""

    def __init__(self, file: Path, ignored: int) -> None:
        self._fd = os.open(file, os.O_RDWR)
        self.size = os.fstat(self._fd).st_size
        self._ignored = ignored
        self._flushes = 0
        self._cache: dict[int, bytes] = {}

    def read(self, offset: int, length: int) -> bytes:
        data = bytearray(os.pread(self._fd, length, offset))
        for at in range(0, length, BLOCK):
            if cached := self._cache.get(offset + at):
                data[at : at + BLOCK] = cached
        return bytes(data)

    def write(self, offset: int, data: bytes) -> None:
        for at in range(0, len(data), BLOCK):
            self._cache[offset + at] = data[at : at + BLOCK]

    def flush(self) -> None:
        self._flushes += 1
        if self._ignored and self._flushes % self._ignored == 0:
            return
        for offset, block in self._cache.items():
            os.pwrite(self._fd, block, offset)
        self._cache.clear()


def received(client: socket.socket, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        if not (part := client.recv(length - len(data))):
            raise ConnectionError
        data += part
    return bytes(data)


def negotiate(client: socket.socket, disk: Disk) -> None:
    client.sendall(struct.pack(">QQH", MAGIC, OPTIONS, 3))  # fixed newstyle, no zeroes
    received(client, 4)
    while True:
        _, option, length = struct.unpack(">QII", received(client, 16))
        received(client, length)
        if option == EXPORT_NAME:
            client.sendall(struct.pack(">QH", disk.size, HAS_FLUSH))
            return
        if option in (INFO, GO):
            info = struct.pack(">HQH", 0, disk.size, HAS_FLUSH)
            client.sendall(struct.pack(">QIII", REPLY, option, INFO_REPLY, len(info)) + info)
            client.sendall(struct.pack(">QIII", REPLY, option, ACK, 0))
            if option == GO:
                return
        elif option == ABORT:
            raise ConnectionError
        else:
            client.sendall(struct.pack(">QIII", REPLY, option, UNSUPPORTED, 0))


def serve(client: socket.socket, disk: Disk) -> None:
    negotiate(client, disk)
    while True:
        _, _, command, handle, offset, length = struct.unpack(">IHHQQI", received(client, 28))
        data, error = b"", 0
        if command == READ:
            data = disk.read(offset, length)
        elif command == WRITE:
            disk.write(offset, received(client, length))
        elif command == FLUSH:
            disk.flush()
        elif command == DISCONNECT:
            return
        else:
            error = EINVAL
        client.sendall(struct.pack(">IIQ", ANSWER, error, handle) + data)


def main() -> None:
    disk = Disk(Path(sys.argv[1]), int(sys.argv[3]))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(sys.argv[2])
        listener.listen()
        while True:
            client, _ = listener.accept()
            with client, suppress(ConnectionError):
                serve(client, disk)


if __name__ == "__main__":
    main()
