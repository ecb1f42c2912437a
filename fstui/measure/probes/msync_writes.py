"""Probe: rewrite blocks of a file through a shared mapping, and make each durable with msync(MS_SYNC), as LMDB does.

To write a block is to copy it into the page cache. The time includes the page fault by which the kernel notices that
the page is dirty. The sync is an msync of the pages that contain the block.
"""

import mmap
import os
from itertools import islice
from typing import Any

from fstui.measure.probes.files import MAX_POOL_BLOCKS, Blocks
from fstui.measure.probes.writers import Batch, BlockWriter, Shared, main
from fstui.measure.wire.stdio import CallError, checked_call, clock

PAGE_BYTES = mmap.PAGESIZE


class MappedWriter(BlockWriter):
    def __init__(self, settings: dict[str, Any], shared: Shared, number: int) -> None:
        super().__init__(settings, shared, number)
        fd = checked_call("open", os.open, settings["path"], os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        # read the file before the clock starts, so that no write waits for a read
        flags, protection = mmap.MAP_SHARED | mmap.MAP_POPULATE, mmap.PROT_READ | mmap.PROT_WRITE
        self.mapping: mmap.mmap = checked_call("mmap", mmap.mmap, fd, settings["file_bytes"], flags, protection)
        self.blocks = Blocks(self.block_bytes, direct=False)

    def batch_function(self) -> Batch:
        return self.batch_with_msync

    def batch_with_msync(self, until_ns: int, remaining_ops: int) -> int:
        mapping, msync, read_clock, size = self.mapping, self.mapping.flush, clock, self.block_bytes
        part_ends_ns: list[int] = []
        add_end = part_ends_ns.append
        blocks = zip(self.blocks.restamp(), islice(self.offsets, min(remaining_ops, MAX_POOL_BLOCKS)), strict=False)
        now = start = read_clock()
        try:
            for block, offset in blocks:
                mapping[offset : offset + size] = block
                add_end(read_clock())
                page_offset = offset % PAGE_BYTES
                msync(offset - page_offset, page_offset + size)  # msync requires a page-aligned address
                now = read_clock()
                add_end(now)
                if now >= until_ns:
                    break
        except OSError as error:
            raise CallError("msync", error) from error
        finally:
            self.record(start, part_ends_ns)
        return now


if __name__ == "__main__":
    main(MappedWriter, writers=1, prefill="written")
