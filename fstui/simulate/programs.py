"""The programs of the steps on a simulated host: their calls, operation by operation, and when each call returns.

They end, count and divide operations into parts as the real probes in ``fstui.measure.probes`` do.
"""

from __future__ import annotations

import heapq
import random
import statistics
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from fstui.measure.kinds import StepSettings
from fstui.measure.kinds.dirty_flush import DirtyFlush
from fstui.measure.kinds.sqlite_commits import SqliteCommits
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.counters import difference
from fstui.simulate.kernel import FileWrite, SyncError
from fstui.simulate.media import US
from fstui.simulate.simulated_host import SimulatedHost

MIN_OPS, EXTRA_NS = 50, 5e9
"""A slow step continues until it has MIN_OPS operations, for at most EXTRA_NS."""
PAGE = 4096
LOG_AT, DIRECTORY_AT = 1 << 30, 1 << 31
"""A database has only one file here. Its table starts at 0, its other files at these offsets."""
CHECKPOINT_COMMITS = 1000
"""sqlite.org/pragma.html#pragma_wal_autocheckpoint counts pages, and each commit writes one."""
SQLITE_US = 15
"""CPU time of SQLite for a commit."""
_AMOUNTS = (0, 1 << 20, 4 << 20, 16 << 20, 32 << 20)
_PATTERNS = {"sequential": 1 << 20, "scattered": 16 << 10}
_ROUNDS = 3


class Operations(NamedTuple):
    """Consecutive operations of one writer."""

    writer: int
    parts: int
    """Number of parts of an operation."""
    start_ns: int
    marks: list[int]
    """When each part ended, in ns."""


class SimulatedProgram:
    """The work of one step."""

    def __init__(self, host: SimulatedHost, settings: Any) -> None:
        self.host = host
        self.settings = settings
        self.started_ns = self.ended_ns = host.now_ns
        self.over = False
        self.figures: dict[str, Any] = {}
        self.failed_call = ""
        """The call that returned EIO and ended the program."""
        self._pause_ns = host.parameters.host.program_us * US

    def begin(self) -> None:
        self.started_ns = self.ended_ns = self.host.now_ns

    def run_until(self, now_ns: float) -> Iterator[Operations]:
        """Run until this time of the simulated clock, or to the end of the program (``over``)."""
        raise NotImplementedError


class SyncWritesProgram(SimulatedProgram):
    def __init__(self, host: SimulatedHost, settings: SyncWrites) -> None:
        super().__init__(host, settings)
        self._chance = random.Random(f"{settings.offsets} {host.parameters.seed}")
        self._blocks = max(1, settings.file_bytes // settings.block_bytes)
        self._flagged = bool({"dsync", "sync"} & set(settings.open_flags))
        self._written: set[int] = set()
        self._ops = [0] * settings.writers
        self._stamp = 0
        self._queue: list[tuple[float, int]] = []
        """The writers, as a heap, with the times of their next operations."""
        most = int(settings.max_bytes_per_s * settings.seconds // settings.writers // settings.block_bytes)
        self._max_ops = max(1, most) if settings.seconds else 1 << 62
        self._min_ops = 0 if settings.ops_per_s else -(-MIN_OPS // settings.writers)
        if settings.enough_ops:
            self._min_ops, self._max_ops = 0, min(self._max_ops, -(-settings.enough_ops // settings.writers))

    def begin(self) -> None:
        super().begin()
        self._queue = [(self.started_ns, writer) for writer in range(self.settings.writers)]

    def run_until(self, now_ns: float) -> Iterator[Operations]:
        parts = 1 if self.settings.sync == "none" else 2
        by_writer: dict[int, Operations] = {}
        while self._queue and self._queue[0][0] < now_ns:
            at_ns, writer = self._queue[0]
            if self._is_over(at_ns - self.started_ns, self._ops[writer]):
                heapq.heappop(self._queue)
                continue
            if self.settings.ops_per_s:
                due = self.started_ns + self._ops[writer] * 1e9 / self.settings.ops_per_s
                if due > at_ns:
                    heapq.heapreplace(self._queue, (due, writer))
                    if writer in by_writer:
                        yield by_writer.pop(writer)
                    continue
            operations = by_writer.setdefault(writer, Operations(writer, parts, int(at_ns), []))
            try:
                end = self._one(at_ns, writer, operations.marks)
            except SyncError as error:
                operations.marks.pop()  # the write succeeded, but its operation did not
                end, self.failed_call = error.at_ns, self.settings.sync
                self._queue.clear()
            else:
                heapq.heapreplace(self._queue, (end, writer))
            self.ended_ns = max(self.ended_ns, end)
        self.over = not self._queue
        yield from (operations for operations in by_writer.values() if operations.marks)

    def _is_over(self, elapsed_ns: float, ops: int) -> bool:
        length_ns = self.settings.seconds * 1e9
        if ops >= self._max_ops:
            return True
        if not length_ns or elapsed_ns < length_ns:
            return False
        return ops >= self._min_ops or elapsed_ns >= length_ns + EXTRA_NS

    def _one(self, at_ns: float, writer: int, marks: list[int]) -> float:
        settings, filesystem = self.settings, self.host.filesystem
        self._ops[writer] += 1
        self._stamp += 1
        offset = self._offset(self._ops[writer] - 1)
        new = settings.prefill != "written" and offset not in self._written
        self._written.add(offset)
        at_ns += self._pause_ns
        written = FileWrite(offset, settings.block_bytes, self._stamp, new)
        data_only = "sync" not in settings.open_flags
        if "direct" in settings.open_flags:
            at_ns = filesystem.direct(at_ns, written, durable=self._flagged, data_only=data_only)
        else:
            at_ns = filesystem.write(at_ns, written)
            if self._flagged:
                at_ns = filesystem.sync(at_ns, data_only=data_only)
        marks.append(int(at_ns))
        synced = self._flagged
        if settings.sync != "none":
            if self._ops[writer] % settings.sync_every == 0:
                at_ns = self._synced(at_ns, data_only=settings.sync == "fdatasync")
                synced = True
            marks.append(int(at_ns))
        if synced:
            self.host.acknowledge(at_ns, offset, self._stamp)
        return at_ns

    def _synced(self, at_ns: float, *, data_only: bool) -> float:
        try:
            return self.host.filesystem.sync(at_ns, data_only=data_only)
        except SyncError as error:
            if not self.host.parameters.host.retries_sync:
                raise
            return self.host.filesystem.sync(error.at_ns, data_only=data_only)

    def _offset(self, number: int) -> int:
        size: int = self.settings.block_bytes
        if self.settings.offsets == "append":
            return number * size
        if self.settings.offsets == "same":
            return 0
        offset = self._chance.randrange(self._blocks) if self.settings.offsets == "random" else number % self._blocks
        return offset * size


class SqliteProgram(SimulatedProgram):
    """SQLite's commits: which files one writes, and which it syncs (sqlite.org/atomiccommit.html, wal.html)."""

    def __init__(self, host: SimulatedHost, settings: SqliteCommits) -> None:
        super().__init__(host, settings)
        self._commits = self._written = 0
        self._pages = max(1, settings.rows * settings.row_bytes // PAGE)

    def run_until(self, now_ns: float) -> Iterator[Operations]:
        settings, at_ns = self.settings, self.ended_ns
        marks: list[int] = []
        length_ns = settings.seconds * 1e9
        while at_ns < now_ns and not self.over:
            try:
                at_ns = self._one(at_ns + self._pause_ns + SQLITE_US * US)
            except SyncError as error:
                at_ns, self.failed_call, self.over = error.at_ns, "fsync", True
                break
            marks.append(int(at_ns))
            elapsed_ns = at_ns - self.started_ns
            enough = self._commits >= MIN_OPS or elapsed_ns >= length_ns + EXTRA_NS
            too_much = self._written > settings.max_bytes_per_s * settings.seconds
            self.over = (elapsed_ns >= length_ns and enough) or too_much
        started, self.ended_ns = self.ended_ns, at_ns
        elapsed_s = (at_ns - self.started_ns) / 1e9
        self.figures = {
            "commits": self._commits,
            "commits_per_s": round(self._commits / elapsed_s, 2) if elapsed_s else 0.0,
            "written_bytes": self._written,
            "sqlite": "simulated",
        }
        if marks:
            yield Operations(0, 1, int(started), marks)

    def _one(self, at_ns: float) -> float:
        self._commits += 1
        logged = self.settings.journal_mode == "WAL"
        offset = self._commits % (CHECKPOINT_COMMITS if logged else self._pages) * PAGE + (LOG_AT if logged else 0)
        at_ns = self._appended(at_ns, offset) if logged else self._rewritten(at_ns, offset)
        if self.settings.durable:
            self.host.acknowledge(at_ns, offset, self._commits)
        if logged and self._commits % CHECKPOINT_COMMITS == 0:
            at_ns = self._checkpoint(at_ns)
        return at_ns

    def _appended(self, at_ns: float, offset: int) -> float:
        """Append to the log. It grows until the first checkpoint, and is then overwritten from its beginning."""
        at_ns = self._write(at_ns, offset, new=self._commits <= CHECKPOINT_COMMITS)
        return self.host.filesystem.sync(at_ns, data_only=True) if self.settings.durable else at_ns

    def _rewritten(self, at_ns: float, offset: int) -> float:
        """Write the rollback journal and the page. EXTRA also syncs the directory: the journal stays deleted."""
        at_ns = self._synced(self._write(at_ns, LOG_AT, new=self.settings.journal_mode != "PERSIST"))
        at_ns = self._synced(self._write(at_ns, offset))
        if self.settings.synchronous == "EXTRA":
            directory = FileWrite(DIRECTORY_AT, PAGE, self._commits, new=True)
            at_ns = self._synced(self.host.filesystem.write(at_ns, directory))
        return at_ns

    def _checkpoint(self, at_ns: float) -> float:
        at_ns = self._synced(at_ns)
        for page in range(min(self._pages, CHECKPOINT_COMMITS)):
            at_ns = self._write(at_ns, page * PAGE)
        return self._synced(at_ns)

    def _synced(self, at_ns: float) -> float:
        return at_ns if self.settings.synchronous == "OFF" else self.host.filesystem.sync(at_ns, data_only=False)

    def _write(self, at_ns: float, offset: int, *, new: bool = False) -> float:
        self._written += PAGE
        return self.host.filesystem.write(at_ns, FileWrite(offset, PAGE, self._commits, new))


class DirtyFlushProgram(SimulatedProgram):
    """Measures how long a flush takes after increasing amounts of unsynced O_DIRECT writes."""

    def __init__(self, host: SimulatedHost, settings: DirtyFlush) -> None:
        super().__init__(host, settings)
        self._chance = random.Random(f"growing {host.parameters.seed}")
        self._todo = [
            (pattern, amount)
            for pattern in _PATTERNS
            for _ in range(_ROUNDS)
            for amount in _AMOUNTS
            if amount <= settings.file_bytes
        ]
        self._sync_ns: dict[tuple[str, int], list[float]] = {}
        self._flush_ms: dict[tuple[str, int], dict[str, list[int]]] = {}
        self._written = 0

    def run_until(self, now_ns: float) -> Iterator[Operations]:
        while self._todo and self.ended_ns < now_ns:
            half_ns = self.settings.seconds * 1e9 / 2
            pattern, amount = self._todo.pop(0)
            limit_ns = self.started_ns + half_ns * (1 if pattern == "sequential" else 2)
            if self.ended_ns > limit_ns and any(key[0] == pattern for key in self._sync_ns):
                continue
            yield self._one(pattern, amount)
        self.over = not self._todo
        if self.over:
            self.figures = {**self._growths(), "written_bytes": self._written}

    def _one(self, pattern: str, amount: int) -> Operations:
        filesystem, block = self.host.filesystem, _PATTERNS[pattern]
        at_ns = begun = filesystem.sync(self.ended_ns, data_only=True)
        offsets = list(range(0, self.settings.file_bytes - block + 1, block))
        if pattern == "scattered":
            self._chance.shuffle(offsets)
        for offset in offsets[: amount // block]:
            at_ns = filesystem.direct(at_ns, FileWrite(offset, block, 1), durable=False)
        before = self.host.counters()
        end = filesystem.sync(at_ns, data_only=True)
        self._sync_ns.setdefault((pattern, amount), []).append(end - at_ns)
        for moved in difference(before, self.host.counters()):
            if moved.flushes:
                times = self._flush_ms.setdefault((pattern, amount), {})
                times.setdefault(moved.device, []).append(moved.flush_ms or 0)
        self._written += amount
        self.ended_ns = end
        return Operations(0, 2, int(begun), [int(at_ns), int(end)])

    def _growths(self) -> dict[str, Any]:
        patterns = {}
        for pattern in _PATTERNS:
            points = [
                {
                    "bytes": amount,
                    "sync_ns": round(statistics.median(times)),
                    "arrived_share": 1.0 if amount else None,
                    "flush_ms": {
                        device: statistics.median(spent)
                        for device, spent in self._flush_ms.get((pattern, amount), {}).items()
                    },
                    "rounds": len(times),
                }
                for (of, amount), times in self._sync_ns.items()
                if of == pattern
            ]
            if points:
                slope, intercept = _line(points)
                patterns[pattern] = {"slope_ns_per_mib": slope, "intercept_ns": intercept, "points": points}
        return patterns


def _line(points: Sequence[dict[str, Any]]) -> tuple[int, int]:
    """Return slope (ns per MiB) and intercept (ns) of the fitted line."""
    xs, ys = [point["bytes"] / (1 << 20) for point in points], [point["sync_ns"] for point in points]
    if len(set(xs)) < 2:
        return 0, ys[0]
    slope, intercept = statistics.linear_regression(xs, ys)
    return round(slope), round(intercept)


def program(host: SimulatedHost, settings: StepSettings) -> SimulatedProgram | None:
    """Return the program of a step, or None if it cannot be simulated."""
    host.begin_step()
    if isinstance(settings, SqliteCommits):
        return SqliteProgram(host, settings)
    if isinstance(settings, DirtyFlush):
        return DirtyFlushProgram(host, settings)
    writes = settings.as_sync_writes()
    return SyncWritesProgram(host, writes) if writes else None
