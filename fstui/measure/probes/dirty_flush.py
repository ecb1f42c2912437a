"""Probe: how long a flush takes after growing amounts of unsynced O_DIRECT writes.

The more data a volatile cache contains, the longer a flush takes. If a flush always takes the same time, the cache is
protected, the host keeps the data in its memory, or the flush is ignored.

An operation writes an amount and then calls fdatasync. Each round writes every amount once: first all rounds with
sequential writes, then all rounds with scattered ones. Each figure is the median of its rounds. The ``stat`` files of
the lowest devices (``stat_paths``) show how much data had reached the devices before the fdatasync. If a layer above
cached the data, the duration says nothing about the devices. The files also show how long each device flushed. The rest
of the time is work of the filesystem, which may also grow with the amount (on btrfs with every extent).
"""

import os
import random
import statistics
from collections.abc import Iterator
from typing import Any

from fstui.measure.probes.files import Blocks, create_file, remove
from fstui.measure.wire import frames
from fstui.measure.wire.flush_growth import AMOUNTS, PATTERNS, ROUNDS, DeviceStat, Point, Stats, figures
from fstui.measure.wire.stdio import (
    CommandLines,
    checked_call,
    clock,
    is_stopped,
    run_probe,
    send,
    write_frame,
    write_whole,
)

CLEAR_GROWTH_FACTOR = 4.0
"""Stop after two rounds if the flush of the largest amount takes this many times as long as the flush of no data."""
SECTOR_BYTES = 512


class FlushMeasurement:
    def __init__(self, settings: dict[str, Any]) -> None:
        self.file_bytes: int = settings["file_bytes"]
        self.duration_ns = int(settings["seconds"] * 1e9)
        self.stat_paths: list[str] = settings.get("stat_paths", [])
        flags = os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_DIRECT
        self.fd = checked_call("open", os.open, settings["path"], flags)
        self.blocks = {pattern: Blocks(block_bytes, direct=True) for pattern, block_bytes in PATTERNS.items()}
        self.written_bytes = 0
        self.start_ns = self.end_ns = clock()
        self.ops = 0

    def try_direct(self) -> None:
        """Do one write before the clock starts. Raises CallError: some FUSE filesystems allow open(2) with O_DIRECT and
        refuse the first write."""
        checked_call("pwrite", write_whole, self.fd, next(self.writes("sequential", PATTERNS["sequential"]))[0], 0)

    def run(self) -> None:
        """Measure both patterns, each for half of the time. Raises CallError."""
        self.start_ns = self.end_ns = clock()
        for number, pattern in enumerate(PATTERNS, 1):
            until_ns = self.start_ns + self.duration_ns * number // len(PATTERNS)
            points = self.measure_pattern(pattern, until_ns)
            if points:
                send("figures", **{pattern: figures(points)})
        send("figures", written_bytes=self.written_bytes)

    def measure_pattern(self, pattern: str, until_ns: int) -> list[Point]:
        """Measure all amounts, round by round, until ``until_ns``. Return the points with at least one flush."""
        points = [Point(amount) for amount in AMOUNTS if amount <= self.file_bytes]
        for number in range(ROUNDS):
            for point in points:
                if self.ops and (clock() > until_ns or is_stopped()):  # a step does at least one operation
                    return [point for point in points if point.sync_ns]
                self.measure_once(pattern, point)
            empty, largest = (statistics.median(point.sync_ns) for point in (points[0], points[-1]))
            if number and largest > CLEAR_GROWTH_FACTOR * empty:
                break
        return points

    def measure_once(self, pattern: str, point: Point) -> None:
        """Write an amount, read how many bytes have reached the devices, sync, and send the times to the engine."""
        checked_call("fdatasync", os.fdatasync, self.fd)
        before = self.read_stats()
        write_start_ns = clock()
        for block, offset in self.writes(pattern, point.amount):
            checked_call("pwrite", write_whole, self.fd, block, offset)
        write_end_ns = clock()
        after_writes = self.read_stats()
        sync_start_ns = clock()
        checked_call("fdatasync", os.fdatasync, self.fd)
        self.end_ns = clock()
        sync_ns = self.end_ns - sync_start_ns
        point.sync_ns.append(sync_ns)
        after_sync = self.read_stats()
        if before and after_writes and after_sync:
            point.add_stats(before, after_writes, after_sync)
        self.written_bytes += point.amount
        self.ops += 1
        part_ends_ns = (write_end_ns, write_end_ns + sync_ns)  # without the time in which the counters were read
        for frame in frames.encode_samples(0, 2, write_start_ns, part_ends_ns):
            write_frame(frame)

    def writes(self, pattern: str, amount: int) -> Iterator[tuple[memoryview, int]]:
        block_bytes = PATTERNS[pattern]
        offsets = list(range(0, self.file_bytes - block_bytes + 1, block_bytes))
        if pattern == "scattered":
            random.shuffle(offsets)
        blocks: list[memoryview] = []
        for offset in offsets[: amount // block_bytes]:
            blocks = blocks or list(self.blocks[pattern].restamp())
            yield blocks.pop(), offset

    def read_stats(self) -> Stats:
        """Return the counters in /sys/block/X/stat of each lowest device. If a file cannot be read, return none at all.

        Before Linux 5.5, a file has only 15 fields, and flushes are not counted (Documentation/block/stat.rst).
        """
        stats: Stats = {}
        for path in self.stat_paths:
            try:
                with open(path, encoding="ascii") as file:
                    fields = [*map(int, file.read(512).split()), *[0] * 17]
            except (OSError, ValueError):
                return {}
            stats[path.split("/")[-2]] = DeviceStat(fields[6] * SECTOR_BYTES, *fields[15:17])
        return stats


def measure(settings: dict[str, Any]) -> None:
    commands = CommandLines()
    create_file({**settings, "offsets": "random", "prefill": "written"})
    try:
        measurement = FlushMeasurement(settings)
        measurement.try_direct()
        send("ready")
        if commands.wait_for("go"):
            measurement.run()
        send("done", start_ns=measurement.start_ns, end_ns=measurement.end_ns, delayed_ns=0)
        commands.wait_for_end()
    finally:
        remove(settings["path"])


if __name__ == "__main__":
    run_probe(measure, "open")
