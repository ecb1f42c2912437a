"""Sums over one second or over a whole watch: which program waited for which file, and what the devices did."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

from fstui.trace.reader.devices import DiskCounters
from fstui.trace.reader.durations import Durations
from fstui.trace.reader.waits import SyncedFile

MAX_ROWS = 1000
MAX_REQUESTS_PER_SYNC = 3
"""A sync waits for at most this many flushes, or groups of writes, one after the other (ext4 with data=journal)."""
MAX_SENT_ROWS = 200
"""Maximum number of rows to send, longest wait first. The parent reads lines of at most 256 KiB."""


class WaitKey(NamedTuple):
    """A file, and all programs with one name, because a database server may consist of a hundred processes."""

    name: str
    is_kernel: bool
    file: SyncedFile


class WaitRow:
    def __init__(self, key: WaitKey) -> None:
        self.key = key
        self.path: str | None = None
        self.pids: set[int] = set()
        self.threads: set[int] = set()
        self.inodes: set[int] = set()
        self.device: str | None = None
        self.request_devices: frozenset[str] = frozenset()
        """The devices that receive requests: ``device`` itself, or devices below it."""
        self.durations = Durations()
        """Of the syncs that ended, from the start of each sync."""
        self.waited_ns = 0
        """The waits within this time: without earlier parts of ``durations``, but with the syncs in flight."""
        self.frozen_ns = 0
        """The part of ``waited_ns`` in writes to a frozen filesystem."""
        self.untimed_syncs = 0
        self.failures: Counter[int] = Counter()
        """By errno."""
        self.cpu_ns = 0
        self.in_flight_ns: int | None = None
        self.is_frozen = False
        """Whether a write in flight waits for the end of a freeze."""
        self.io_limits: list[str] = []
        self.call = ""
        self.slow_syncs: list[tuple[int, int, int]] = []
        """Only in a recording. For each slow sync: end time, duration, and longest possible wait for a CPU, in ns."""
        self.is_partly_traced = False
        """Only in a recording: whether a thread was excluded from the trace for a part of the window."""

    def merge(self, later: WaitRow) -> None:
        self.path = later.path or self.path
        if len(self.inodes) < MAX_ROWS:
            self.inodes |= later.inodes
        if len(self.pids) < MAX_ROWS:
            self.pids |= later.pids
        if len(self.threads) < MAX_ROWS:
            self.threads |= later.threads
        self.device, self.request_devices = later.device, later.request_devices
        self.durations.merge(later.durations)
        self.waited_ns += later.waited_ns
        self.frozen_ns += later.frozen_ns
        self.untimed_syncs += later.untimed_syncs
        self.failures.update(later.failures)
        self.cpu_ns += later.cpu_ns
        self.in_flight_ns, self.is_frozen = later.in_flight_ns, later.is_frozen
        self.io_limits = later.io_limits or self.io_limits
        self.call = later.call or self.call
        self.slow_syncs += later.slow_syncs
        self.is_partly_traced |= later.is_partly_traced

    def as_dict(self, device_ns: int | None) -> dict[str, Any]:
        """``device_ns``: how much of a sync's time the devices take on average."""
        return {
            "program": self.key.name,
            "pid": next(iter(self.pids)) if len(self.pids) == 1 else None,
            "processes": len(self.pids),
            "kernel": self.key.is_kernel,
            "file": self.path,
            "inode": next(iter(self.inodes)) if len(self.inodes) == 1 else None,
            "files": max(1, len(self.inodes)),
            "device": self.device,
            "syncs": self.durations.count + self.untimed_syncs,
            "waited_ns": self.waited_ns,
            "ended_ns": self.durations.sum_ns,
            "frozen_ns": self.frozen_ns,
            "latency_ns": self.durations.as_dict(),
            "device_ns": device_ns,
            "cpu_ns": self.cpu_ns,
            "in_flight_ns": self.in_flight_ns,
            "is_frozen": self.is_frozen,
            "failed": dict(self.failures),
            "io_limits": self.io_limits,
        }


class WaitRows:
    def __init__(self) -> None:
        self.rows: dict[WaitKey, WaitRow] = {}

    def row(self, key: WaitKey) -> WaitRow:
        row = self.rows.get(key)
        if row is None:
            row = self.rows[key] = WaitRow(key)
        return row

    def merge(self, later: WaitRows) -> None:
        """Add the rows of a later second. Only syncs of that second are still in flight."""
        for row in self.rows.values():
            row.in_flight_ns, row.is_frozen = None, False
        if len(self.rows.keys() | later.rows.keys()) > MAX_ROWS:
            self.rows, later.rows = self.combined(), later.combined()
        for key, row in later.rows.items():
            fits = key in self.rows or len(self.rows) < MAX_ROWS
            self.row(key if fits else key._replace(file=SyncedFile())).merge(row)

    def combined(self) -> dict[WaitKey, WaitRow]:
        """Return the rows, with one row for all files of unknown path that a program has on one device. There may be
        thousands of such files."""
        rows = WaitRows()
        for key, row in self.rows.items():
            if row.path:
                rows.rows[key] = row
            else:
                rows.row(key._replace(file=SyncedFile(key.file.device))).merge(row)
        return rows.rows


class DeviceSpan:
    def __init__(self) -> None:
        self.counters: DiskCounters | None = None
        self.flushes, self.writes = Durations(), Durations()
        self.fua = 0

    def merge(self, later: DeviceSpan) -> None:
        if later.counters is not None:
            self.counters = self.counters.plus(later.counters) if self.counters else later.counters
        self.flushes.merge(later.flushes)
        self.writes.merge(later.writes)
        self.fua += later.fua

    def ns_per_sync(self, syncs: float, threads: int) -> float:
        """Return how much of a sync's time the device takes on average.

        ``syncs``: those in the time of the recorded requests. ``threads``: those that synced.

        If there are fewer flushes than syncs, several threads may have waited for the same flush, and each of them for
        all of its time. But a flush serves at most one sync of each thread, so the other syncs waited for no flush.
        Flushes beyond MAX_REQUESTS_PER_SYNC belong to other programs. The same applies to writes, which may also run at
        the same time.
        """
        time_ns = 0.0
        for requests in (self.flushes, self.writes):
            if requests.count:
                per_sync = requests.count / syncs if syncs else 1.0
                waited_for = max(min(per_sync, MAX_REQUESTS_PER_SYNC), min(per_sync * threads, 1.0))
                time_ns += requests.sum_ns / requests.count * waited_for
        return time_ns

    def as_dict(self, device: str) -> dict[str, Any]:
        counters = self.counters._asdict() if self.counters else dict.fromkeys(DiskCounters._fields)
        return {
            "device": device,
            **counters,
            "fua": self.fua,
            "flush_ns": self.flushes.as_dict(),
            "write_ns": self.writes.as_dict(),
        }


class Span:
    def __init__(self) -> None:
        self.elapsed_s = 0.0
        self.traced_s = 0.0
        """The part of ``elapsed_s`` in which the devices' requests were recorded."""
        self.lost = 0
        self.cpu_pressure_s: float | None = None
        """How long at least one process of this host waited for a CPU."""
        self.rows = WaitRows()
        self.devices: dict[str, DeviceSpan] = {}
        self.commits: dict[str, Durations] = {}

    def device(self, name: str) -> DeviceSpan:
        return self.devices.setdefault(name, DeviceSpan())

    def merge(self, later: Span) -> None:
        self.elapsed_s += later.elapsed_s
        self.traced_s += later.traced_s
        self.lost += later.lost
        if later.cpu_pressure_s is not None:
            self.cpu_pressure_s = (self.cpu_pressure_s or 0.0) + later.cpu_pressure_s
        self.rows.merge(later.rows)
        for name, device in later.devices.items():
            self.device(name).merge(device)
        for name, commits in later.commits.items():
            self.commits.setdefault(name, Durations()).merge(commits)

    def as_dict(self) -> dict[str, Any]:
        syncs, threads = self._syncs_by_device()
        rows = sorted(self.rows.combined().values(), key=lambda row: -row.waited_ns)
        return {
            "elapsed_s": self.elapsed_s,
            "looked_s": self.traced_s,
            "lost": self.lost,
            "cpu_pressure_s": self.cpu_pressure_s,
            "waits": [row.as_dict(self._device_ns(row, syncs, threads)) for row in rows[:MAX_SENT_ROWS]],
            "devices": [device.as_dict(name) for name, device in sorted(self.devices.items())],
            "commits": [
                {"device": name, "count": row.count, "latency_ns": row.as_dict()} for name, row in self.commits.items()
            ],
        }

    def _syncs_by_device(self) -> tuple[Mapping[str, int], Mapping[str, set[int]]]:
        """Return the number of syncs, and the threads that did them."""
        syncs, threads = Counter[str](), defaultdict[str, set[int]](set)
        for row in self.rows.rows.values():
            for name in row.request_devices:
                syncs[name] += row.durations.count + row.untimed_syncs
                threads[name] |= row.threads
        return syncs, threads

    def _device_ns(self, row: WaitRow, syncs: Mapping[str, int], threads: Mapping[str, set[int]]) -> int | None:
        """Return how much of a sync's time the devices take on average, in ns: that of the slowest device, because
        members of a mirror or stripe work at the same time.

        A request does not name its program, so the result is the same for all programs on these devices. It is at most
        the mean time of this row's syncs.
        """
        if not row.request_devices or not self.traced_s or not row.durations.count:
            return None
        share = self.traced_s / self.elapsed_s  # requests may be recorded only part of the time
        device_ns = max(
            self.device(name).ns_per_sync(syncs[name] * share, len(threads[name])) for name in row.request_devices
        )
        return min(int(device_ns), row.durations.sum_ns // row.durations.count)
