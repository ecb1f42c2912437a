"""The programs of the steps on a simulated host: their calls, operation by operation, and when each call returns.

Like the real probes in ``fstui.measure.probes``, they count operations, divide operations into parts, and decide when
to end.
"""

import heapq
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from fstui.measure.kinds import StepSettings
from fstui.measure.kinds.dirty_flush import DirtyFlush
from fstui.measure.kinds.sqlite_commits import SqliteCommits
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.measure.wire.flush_growth import AMOUNTS, PATTERNS, ROUNDS, Point, figures
from fstui.model.counters import difference
from fstui.simulate.kernel import FileWrite, SyncError
from fstui.simulate.media import US
from fstui.simulate.simulated_host import SimulatedHost

MIN_OPS, MAX_EXTRA_NS = 50, 5e9
"""A slow step continues until it has MIN_OPS operations, for at most MAX_EXTRA_NS longer than planned."""
PAGE = 4096
LOG_OFFSET, DIRECTORY_OFFSET = 1 << 30, 1 << 31
"""A simulated database has only one file. The table starts at offset 0, the log and the directory at these offsets."""
CHECKPOINT_COMMITS = 1000
"""wal_autocheckpoint (sqlite.org/pragma.html) is a number of pages, and each commit writes one page."""
SQLITE_US = 15
"""CPU time of SQLite for a commit."""


class Operations(NamedTuple):
    """Consecutive operations of one writer."""

    writer: int
    parts: int
    start_ns: int
    part_ends_ns: list[int]


class SimulatedProgram:
    """The program of one step. Its times are those of the simulated clock."""

    def __init__(self, host: SimulatedHost, settings: Any) -> None:
        self.host = host
        self.settings = settings
        self.started_ns = self.ended_ns = host.now_ns
        self.has_ended = False
        self.figures: dict[str, Any] = {}
        self.failed_call = ""
        """The call that returned EIO and ended the program."""
        self._pause_ns = host.parameters.host.program_us * US

    def begin(self) -> None:
        self.started_ns = self.ended_ns = self.host.now_ns

    def run_until(self, until_ns: float) -> Iterator[Operations]:
        """Run until ``until_ns``, or to the end of the program (``has_ended``)."""
        raise NotImplementedError


class SyncWritesProgram(SimulatedProgram):
    def __init__(self, host: SimulatedHost, settings: SyncWrites) -> None:
        super().__init__(host, settings)
        self._rng = random.Random(f"{settings.offsets} {host.parameters.seed}")
        self._block_count = max(1, settings.file_bytes // settings.block_bytes)
        self._syncs_by_flag = bool({"dsync", "sync"} & set(settings.open_flags))
        self._written_offsets: set[int] = set()
        self._ops = [0] * settings.writers
        self._stamp = 0
        self._queue: list[tuple[float, int]] = []
        """A heap: the time of the next operation of each writer, and the writer."""
        max_ops = int(settings.max_bytes_per_s * settings.seconds // settings.writers // settings.block_bytes)
        self._max_ops = max(1, max_ops) if settings.seconds else 1 << 62
        self._min_ops = 0 if settings.ops_per_s else -(-MIN_OPS // settings.writers)
        if settings.enough_ops:
            self._min_ops, self._max_ops = 0, min(self._max_ops, -(-settings.enough_ops // settings.writers))

    def begin(self) -> None:
        super().begin()
        self._queue = [(self.started_ns, writer) for writer in range(self.settings.writers)]

    def run_until(self, until_ns: float) -> Iterator[Operations]:
        parts = 1 if self.settings.sync == "none" else 2
        by_writer: dict[int, Operations] = {}
        while self._queue and self._queue[0][0] < until_ns:
            now_ns, writer = self._queue[0]
            if self._is_over(now_ns - self.started_ns, self._ops[writer]):
                heapq.heappop(self._queue)
                continue
            if self.settings.ops_per_s:
                due_ns = self.started_ns + self._ops[writer] * 1e9 / self.settings.ops_per_s
                if due_ns > now_ns:
                    heapq.heapreplace(self._queue, (due_ns, writer))
                    if writer in by_writer:
                        yield by_writer.pop(writer)
                    continue
            operations = by_writer.setdefault(writer, Operations(writer, parts, int(now_ns), []))
            try:
                end_ns = self._run_operation(now_ns, writer, operations.part_ends_ns)
            except SyncError as error:
                operations.part_ends_ns.pop()  # the write succeeded, but the operation did not
                end_ns, self.failed_call = error.time_ns, self.settings.sync
                self._queue.clear()
            else:
                heapq.heapreplace(self._queue, (end_ns, writer))
            self.ended_ns = max(self.ended_ns, end_ns)
        self.has_ended = not self._queue
        yield from (operations for operations in by_writer.values() if operations.part_ends_ns)

    def _is_over(self, elapsed_ns: float, ops: int) -> bool:
        length_ns = self.settings.seconds * 1e9
        if ops >= self._max_ops:
            return True
        if not length_ns or elapsed_ns < length_ns:
            return False
        return ops >= self._min_ops or elapsed_ns >= length_ns + MAX_EXTRA_NS

    def _run_operation(self, now_ns: float, writer: int, part_ends_ns: list[int]) -> float:
        settings, file = self.settings, self.host.file
        self._ops[writer] += 1
        self._stamp += 1
        offset = self._offset(self._ops[writer] - 1)
        allocates = settings.prefill != "written" and offset not in self._written_offsets
        self._written_offsets.add(offset)
        now_ns += self._pause_ns
        write = FileWrite(offset, settings.block_bytes, self._stamp, allocates)
        data_only = "sync" not in settings.open_flags
        if "direct" in settings.open_flags:
            now_ns = file.write_direct(now_ns, write, durable=self._syncs_by_flag, data_only=data_only)
        else:
            now_ns = file.write(now_ns, write)
            if self._syncs_by_flag:
                now_ns = file.sync(now_ns, data_only=data_only)
        part_ends_ns.append(int(now_ns))
        is_durable = self._syncs_by_flag
        if settings.sync != "none":
            if self._ops[writer] % settings.sync_every == 0:
                now_ns = self._sync(now_ns, data_only=settings.sync == "fdatasync")
                is_durable = True
            part_ends_ns.append(int(now_ns))
        if is_durable:
            self.host.acknowledge(now_ns, offset, self._stamp)
        return now_ns

    def _sync(self, now_ns: float, *, data_only: bool) -> float:
        try:
            return self.host.file.sync(now_ns, data_only=data_only)
        except SyncError as error:
            if not self.host.parameters.host.retries_sync:
                raise
            return self.host.file.sync(error.time_ns, data_only=data_only)

    def _offset(self, op_number: int) -> int:
        block_number = op_number % self._block_count
        if self.settings.offsets == "append":
            block_number = op_number
        elif self.settings.offsets == "same":
            block_number = 0
        elif self.settings.offsets == "random":
            block_number = self._rng.randrange(self._block_count)
        return block_number * int(self.settings.block_bytes)


class SqliteProgram(SimulatedProgram):
    """The writes and syncs of SQLite's commits (sqlite.org/atomiccommit.html, wal.html)."""

    def __init__(self, host: SimulatedHost, settings: SqliteCommits) -> None:
        super().__init__(host, settings)
        self._commits = self._written_bytes = 0
        self._pages = max(1, settings.rows * settings.row_bytes // PAGE)

    def run_until(self, until_ns: float) -> Iterator[Operations]:
        settings, now_ns = self.settings, self.ended_ns
        part_ends_ns: list[int] = []
        length_ns = settings.seconds * 1e9
        while now_ns < until_ns and not self.has_ended:
            try:
                now_ns = self._commit(now_ns + self._pause_ns + SQLITE_US * US)
            except SyncError as error:
                now_ns, self.failed_call, self.has_ended = error.time_ns, "fsync", True
                break
            part_ends_ns.append(int(now_ns))
            elapsed_ns = now_ns - self.started_ns
            has_enough_commits = self._commits >= MIN_OPS or elapsed_ns >= length_ns + MAX_EXTRA_NS
            exceeds_bytes = self._written_bytes > settings.max_bytes_per_s * settings.seconds
            self.has_ended = (elapsed_ns >= length_ns and has_enough_commits) or exceeds_bytes
        start_ns, self.ended_ns = self.ended_ns, now_ns
        elapsed_s = (now_ns - self.started_ns) / 1e9
        self.figures = {
            "commits": self._commits,
            "commits_per_s": round(self._commits / elapsed_s, 2) if elapsed_s else 0.0,
            "written_bytes": self._written_bytes,
            "sqlite": "simulated",
        }
        if part_ends_ns:
            yield Operations(0, 1, int(start_ns), part_ends_ns)

    def _commit(self, now_ns: float) -> float:
        self._commits += 1
        has_log = self.settings.journal_mode == "WAL"
        if has_log:
            offset = LOG_OFFSET + self._commits % CHECKPOINT_COMMITS * PAGE
            now_ns = self._append_to_log(now_ns, offset)
        else:
            offset = self._commits % self._pages * PAGE
            now_ns = self._rewrite_page(now_ns, offset)
        if self.settings.durable:
            self.host.acknowledge(now_ns, offset, self._commits)
        if has_log and self._commits % CHECKPOINT_COMMITS == 0:
            now_ns = self._checkpoint(now_ns)
        return now_ns

    def _append_to_log(self, now_ns: float, offset: int) -> float:
        """Append to the log. The log grows until the first checkpoint, and is then overwritten from its beginning."""
        now_ns = self._write(now_ns, offset, allocates=self._commits <= CHECKPOINT_COMMITS)
        return self.host.file.sync(now_ns, data_only=True) if self.settings.durable else now_ns

    def _rewrite_page(self, now_ns: float, offset: int) -> float:
        """Write the rollback journal and the page. EXTRA also syncs the directory, so the journal stays deleted."""
        now_ns = self._sync(self._write(now_ns, LOG_OFFSET, allocates=self.settings.journal_mode != "PERSIST"))
        now_ns = self._sync(self._write(now_ns, offset))
        if self.settings.synchronous == "EXTRA":
            directory = FileWrite(DIRECTORY_OFFSET, PAGE, self._commits, allocates=True)
            now_ns = self._sync(self.host.file.write(now_ns, directory))
        return now_ns

    def _checkpoint(self, now_ns: float) -> float:
        now_ns = self._sync(now_ns)
        for page in range(min(self._pages, CHECKPOINT_COMMITS)):
            now_ns = self._write(now_ns, page * PAGE)
        return self._sync(now_ns)

    def _sync(self, now_ns: float) -> float:
        return now_ns if self.settings.synchronous == "OFF" else self.host.file.sync(now_ns, data_only=False)

    def _write(self, now_ns: float, offset: int, *, allocates: bool = False) -> float:
        self._written_bytes += PAGE
        return self.host.file.write(now_ns, FileWrite(offset, PAGE, self._commits, allocates))


class DirtyFlushProgram(SimulatedProgram):
    """Measure how long a flush takes after increasing amounts of unsynced O_DIRECT writes."""

    def __init__(self, host: SimulatedHost, settings: DirtyFlush) -> None:
        super().__init__(host, settings)
        self._rng = random.Random(f"growing {host.parameters.seed}")
        amounts = [amount for amount in AMOUNTS if amount <= settings.file_bytes]
        self._points = {pattern: list(map(Point, amounts)) for pattern in PATTERNS}
        self._remaining = [
            (pattern, point) for pattern, points in self._points.items() for _ in range(ROUNDS) for point in points
        ]
        self._written_bytes = 0

    def run_until(self, until_ns: float) -> Iterator[Operations]:
        while self._remaining and self.ended_ns < until_ns:
            pattern_ns = self.settings.seconds * 1e9 / 2
            pattern, point = self._remaining.pop(0)
            limit_ns = self.started_ns + pattern_ns * (1 if pattern == "sequential" else 2)
            if self.ended_ns > limit_ns and self._measured(pattern):
                continue
            yield self._measure_flush(pattern, point)
        self.has_ended = not self._remaining
        if self.has_ended:
            growths = {pattern: figures(points) for pattern in PATTERNS if (points := self._measured(pattern))}
            self.figures = {**growths, "written_bytes": self._written_bytes}

    def _measured(self, pattern: str) -> list[Point]:
        return [point for point in self._points[pattern] if point.sync_ns]

    def _measure_flush(self, pattern: str, point: Point) -> Operations:
        file, block_bytes = self.host.file, PATTERNS[pattern]
        now_ns = start_ns = file.sync(self.ended_ns, data_only=True)
        offsets = list(range(0, self.settings.file_bytes - block_bytes + 1, block_bytes))
        if pattern == "scattered":
            self._rng.shuffle(offsets)
        for offset in offsets[: point.amount // block_bytes]:
            now_ns = file.write_direct(now_ns, FileWrite(offset, block_bytes, 1), durable=False)
        before = self.host.counters()
        end_ns = file.sync(now_ns, data_only=True)
        point.sync_ns.append(round(end_ns - now_ns))
        point.arrived_shares += [1.0] if point.amount else []
        for delta in difference(before, self.host.counters()):
            if delta.flushes:
                point.flush_ms.setdefault(delta.device, []).append(delta.flush_ms or 0)
        self._written_bytes += point.amount
        self.ended_ns = end_ns
        return Operations(0, 2, int(start_ns), [int(now_ns), int(end_ns)])


def new_program(host: SimulatedHost, settings: StepSettings) -> SimulatedProgram | None:
    """Create a file on the host. Return the program of a step, or None if the step cannot be simulated."""
    host.begin_step()
    if isinstance(settings, SqliteCommits):
        return SqliteProgram(host, settings)
    if isinstance(settings, DirtyFlush):
        return DirtyFlushProgram(host, settings)
    writes = settings.as_sync_writes()
    return SyncWritesProgram(host, writes) if writes else None
