"""Probe: rewrite blocks of a file through a shared mapping, and make each durable by msync(MS_SYNC), as LMDB does.

The write of a block is a copy into the page cache, including the page fault with which the kernel notes that the page
is dirty. The sync is an msync of the pages with the block.
"""

from __future__ import annotations

import mmap
import os
from itertools import islice
from typing import Any

from fstui.measure.probes.files import SLOTS, Blocks
from fstui.measure.probes.writers import Batch, BlockWriter, Shared, main
from fstui.measure.wire.stdio import CallError, calling, clock

PAGE = mmap.PAGESIZE


class MappedWriter(BlockWriter):
    def __init__(self, settings: dict[str, Any], shared: Shared, number: int) -> None:
        super().__init__(settings, shared, number)
        fd = calling("open", os.open, settings["path"], os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        # read the file before the clock starts, so that no write waits for a read
        flags, protection = mmap.MAP_SHARED | mmap.MAP_POPULATE, mmap.PROT_READ | mmap.PROT_WRITE
        self.mapping: mmap.mmap = calling("mmap", mmap.mmap, fd, settings["file_bytes"], flags, protection)
        self.blocks = Blocks(self.block_bytes, direct=False)

    def batch(self) -> Batch:
        return self.batch_with_msync

    def batch_with_msync(self, until_ns: int, ops_left: int) -> int:
        mapping, msync, tick, size = self.mapping, self.mapping.flush, clock, self.block_bytes
        marks: list[int] = []
        put = marks.append
        blocks = zip(self.blocks.fresh(), islice(self.offsets, min(ops_left, SLOTS)), strict=False)
        now = start = tick()
        try:
            for block, offset in blocks:
                mapping[offset : offset + size] = block
                put(tick())
                into_page = offset % PAGE
                msync(offset - into_page, into_page + size)  # the address must be that of a page
                now = tick()
                put(now)
                if now >= until_ns:
                    break
        except OSError as error:
            self.keep(start, marks[: len(marks) // 2 * 2])
            raise CallError("msync", error) from error
        self.keep(start, marks)
        return now


if __name__ == "__main__":
    main(MappedWriter, writers=1, prefill="written")
