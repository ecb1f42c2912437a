"""Over which TCP connection the kernel reaches the server of an nbd device, which it tells nowhere (netlink interface).

What is read from the device comes through that connection: it grows by as much, and no other one does so twice. What is
read past the page cache changes nothing.
"""

from __future__ import annotations

import errno
import mmap
import os
import re
import threading
from collections.abc import Callable, Mapping

RECEIVED = ("ss", "--no-header", "--numeric", "--tcp", "--info", "--oneline")
LINE = re.compile(r"ESTAB\s+\d+\s+\d+\s+(\S+)\s+(\S+) .*\bbytes_received:(\d+)", re.ASCII)
SIZES_BYTES = (1 << 20, 3 << 18)
MOST_BESIDE_BYTES = 1 << 16
"""What else may come meanwhile: the headers of the answers, and what somebody else reads."""
ALONE = threading.Lock()
"""Two that read at once would be taken for each other."""


def connection(device: str, look: Callable[[], str]) -> str:
    """Its two ends, as ss(8) writes them. ``look``: what that told. Raises OSError where none stands out."""
    with ALONE:
        found = [grown(device, size_bytes, look) for size_bytes in SIZES_BYTES]
    both = found[0] & found[1]
    if len(both) != 1:
        raise OSError(errno.ENODATA, "none of the connections stands out")
    return " ".join(both.pop())


def grown(device: str, size_bytes: int, look: Callable[[], str]) -> set[tuple[str, str]]:
    """The connections that brought so much while it was read."""
    before = received(look())
    come_bytes = read(device, size_bytes)
    after = received(look())
    expected = range(come_bytes, come_bytes + MOST_BESIDE_BYTES)
    return {ends for ends, bytes_ in after.items() if ends in before and bytes_ - before[ends] in expected}


def received(told: str) -> Mapping[tuple[str, str], int]:
    """Bytes so far, by the ends of a connection, ours first."""
    return {(found[1], found[2]): int(found[3]) for found in map(LINE.match, told.split("\n")) if found}


def read(device: str, size_bytes: int) -> int:
    """So many bytes from its beginning; how many came. Raises OSError."""
    file = os.open(device, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)
    try:
        with mmap.mmap(-1, size_bytes) as memory:
            return os.preadv(file, [memory], 0)
    finally:
        os.close(file)
