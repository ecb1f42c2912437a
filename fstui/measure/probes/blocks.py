"""What a probe writes and where: fresh blocks that no storage can have seen before, and the offsets of each write."""

from __future__ import annotations

import mmap
import random
import sys
from array import array
from collections.abc import Iterator
from itertools import cycle
from typing import Any

PAGE = 4096
STEP = 17 * 64
"""Blocks lie so far apart in the pool. Two of them share a page only where they are 64 steps and 17 pages apart."""
NEVER_SHARED_BYTES = 16 * PAGE
NEVER_SHARED_SLOTS = 64
SLOTS = 252  # samples of one batch fill one frame
POOL_BYTES = 8 << 20


class Blocks:
    """Blocks of random bytes, each its own; a new number stamped into all of them makes them new again.

    Buffered writes take them from one pool at steps of about 1 KiB, so that it stays in the processor's cache; O_DIRECT
    wants them page-aligned. Every page of a block holds a stamp, and no two blocks share a page, so no page is ever
    written twice as it was: storage that finds equal pages finds none.
    """

    def __init__(self, block_bytes: int, direct: bool) -> None:
        step = -(-block_bytes // PAGE) * PAGE if direct else min(STEP, block_bytes // 8 * 8 or 8)
        most = SLOTS if direct or block_bytes <= NEVER_SHARED_BYTES else NEVER_SHARED_SLOTS
        slots = max(1, min(most, POOL_BYTES // step))
        pool = mmap.mmap(-1, slots * step + block_bytes)
        pool.write(random.randbytes(len(pool)))
        view = memoryview(pool)
        page = block_bytes % PAGE or PAGE  # the shortest of a block: stamps as far apart as leaves none out
        apart = page // step * step or max(8, min(step, page) // 8 * 8)
        self._stamps = view[: len(pool) // 8 * 8].cast("Q")[:: apart // 8]
        self._stamp = random.getrandbits(62)
        self.blocks = [view[slot * step : slot * step + block_bytes] for slot in range(slots)]

    def fresh(self) -> list[memoryview]:
        """The blocks, none of which was ever written as it is now."""
        self._stamp += 1
        self._stamps[:] = memoryview(self._stamp.to_bytes(8, sys.byteorder) * len(self._stamps)).cast("Q")
        return self.blocks


def offsets(settings: dict[str, Any], seed: int) -> Iterator[int]:
    """Where each write goes: block-aligned within the file, or on and on for an append."""
    block, size = settings["block_bytes"], settings["file_bytes"]
    if settings["offsets"] == "append":
        return iter(range(0, sys.maxsize, block))
    if settings["offsets"] == "same":
        return cycle([0])
    places = list(range(0, size - block + 1, block))
    if settings["offsets"] == "random":
        choose = random.Random(seed)
        chosen = choose.choices(places, k=max(8192, min(len(places), 65536)))
        places = array("q", chosen).tolist()  # numbers made in the order of their use: the cache is one step ahead
    return cycle(places)
