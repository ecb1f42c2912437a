"""Probe: write blocks of a file and sync them, with one or more writers, and time writes and syncs."""

import os
import time
from collections.abc import Callable
from itertools import islice
from typing import Any

from fstui.measure.probes.files import MAX_POOL_BLOCKS, Blocks
from fstui.measure.probes.writers import POLL_INTERVAL_NS, Batch, BlockWriter, Shared, main
from fstui.measure.wire.stdio import CallError, checked_call, clock, short_write_error, write_whole

OPEN_FLAGS = {"direct": os.O_DIRECT, "dsync": os.O_DSYNC, "sync": os.O_SYNC}
SYNCS: dict[str, Callable[[int], None]] = {"fsync": os.fsync, "fdatasync": os.fdatasync}


class SyncWriter(BlockWriter):
    def __init__(self, settings: dict[str, Any], shared: Shared, number: int) -> None:
        super().__init__(settings, shared, number)
        self.sync = SYNCS.get(settings["sync"])
        self.sync_call: str = settings["sync"]
        self.sync_every: int = settings["sync_every"]
        self.parts = 2 if self.sync else 1
        self.pause_ns = 0
        if settings["ops_per_s"]:
            self.pause_ns, self.min_ops = int(1e9 * settings["writers"] / settings["ops_per_s"]), 0
        flags = os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
        for flag in settings["open_flags"]:
            flags |= OPEN_FLAGS[flag]
        self.fd = checked_call("open", os.open, settings["path"], flags)
        self.blocks = Blocks(self.block_bytes, direct="direct" in settings["open_flags"])

    def batch_function(self) -> Batch:
        if self.pause_ns:
            return self.paced_batch
        if self.sync and self.sync_every > 1:
            return self.batch_with_rare_sync
        return self.batch_with_sync if self.sync else self.batch_without_sync

    def batch_with_sync(self, until_ns: int, remaining_ops: int) -> int:
        pwrite, sync, read_clock, fd, size = os.pwrite, self.sync, clock, self.fd, self.block_bytes
        assert sync is not None
        part_ends_ns: list[int] = []
        add_end = part_ends_ns.append
        blocks = zip(self.blocks.restamp(), islice(self.offsets, min(remaining_ops, MAX_POOL_BLOCKS)), strict=False)
        now = start = read_clock()
        try:
            for block, offset in blocks:
                if (written := pwrite(fd, block, offset)) != size:
                    raise short_write_error(fd, block, offset, written)
                add_end(read_clock())
                sync(fd)
                now = read_clock()
                add_end(now)
                if now >= until_ns:
                    break
        except OSError as error:
            raise CallError(self.sync_call if len(part_ends_ns) % 2 else "pwrite", error) from error
        finally:
            self.record(start, part_ends_ns)
        return now

    def batch_without_sync(self, until_ns: int, remaining_ops: int) -> int:
        pwrite, read_clock, fd, size = os.pwrite, clock, self.fd, self.block_bytes
        part_ends_ns: list[int] = []
        add_end = part_ends_ns.append
        blocks = zip(self.blocks.restamp(), islice(self.offsets, min(remaining_ops, MAX_POOL_BLOCKS)), strict=False)
        now = start = read_clock()
        try:
            for block, offset in blocks:
                if (written := pwrite(fd, block, offset)) != size:
                    raise short_write_error(fd, block, offset, written)
                now = read_clock()
                add_end(now)
                if now >= until_ns:
                    break
        except OSError as error:
            raise CallError("pwrite", error) from error
        finally:
            self.record(start, part_ends_ns)
        return now

    def batch_with_rare_sync(self, until_ns: int, remaining_ops: int) -> int:
        """Sync only every N-th write. For the other writes, record a sync of 0 ns."""
        part_ends_ns: list[int] = []
        blocks = zip(self.blocks.restamp(), islice(self.offsets, min(remaining_ops, MAX_POOL_BLOCKS)), strict=False)
        now = start = clock()
        try:
            for block, offset in blocks:
                self.run_operation(block, offset, part_ends_ns)
                now = part_ends_ns[-1]
                if now >= until_ns:
                    break
        finally:
            self.record(start, part_ends_ns)
        return now

    def paced_batch(self, until_ns: int, remaining_ops: int) -> int:
        """Do one operation at its time. Until then, sleep in short intervals, so that a stop is noticed soon."""
        due_ns = self.started_ns + self.ops * self.pause_ns
        while (remaining_ns := due_ns - clock()) > 0 and not self.shared.stop_requested:
            if clock() >= until_ns:
                return clock()
            time.sleep(min(remaining_ns, POLL_INTERVAL_NS) / 1e9)
        if self.shared.stop_requested:
            return clock()
        part_ends_ns: list[int] = []
        block, offset = self.blocks.restamp()[0], next(self.offsets)
        start = clock()
        self.run_operation(block, offset, part_ends_ns)
        self.record_after_pause(start, part_ends_ns)
        return part_ends_ns[-1]

    def run_operation(self, block: memoryview, offset: int, part_ends_ns: list[int]) -> None:
        checked_call("pwrite", write_whole, self.fd, block, offset)
        part_ends_ns.append(clock())
        if self.sync:
            number = self.ops + len(part_ends_ns) // 2 + 1
            if number % self.sync_every == 0:
                checked_call(self.sync_call, self.sync, self.fd)
                part_ends_ns.append(clock())
            else:
                part_ends_ns.append(part_ends_ns[-1])


if __name__ == "__main__":
    main(SyncWriter)
