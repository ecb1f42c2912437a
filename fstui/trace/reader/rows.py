"""Programs and their files, second by second and altogether: how often they waited, how long, and for what."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from fstui.trace.reader.durations import Durations
from fstui.trace.reader.waits import File

MOST_ROWS = 1000


class Key(NamedTuple):
    """Programs of one name and one of their files: a server may be a hundred processes."""

    name: str
    is_kernel: bool
    file: File


class Row:
    """How they waited for it."""

    def __init__(self, key: Key) -> None:
        self.key = key
        self.path: str | None = None
        self.pids: set[int] = set()
        self.inodes: set[int] = set()
        self.device: str | None = None
        self.below: frozenset[str] = frozenset()
        self.durations = Durations()
        self.timeless = 0
        self.failed: Counter[int] = Counter()
        self.cpu_ns = 0
        self.in_flight_ns: int | None = None

    def merge(self, later: Row) -> None:
        """The same row of a later second."""
        self.path = later.path or self.path
        if len(self.inodes) < MOST_ROWS:
            self.inodes |= later.inodes
        if len(self.pids) < MOST_ROWS:
            self.pids |= later.pids
        self.device, self.below = later.device, later.below
        self.durations.merge(later.durations)
        self.timeless += later.timeless
        self.failed.update(later.failed)
        self.cpu_ns += later.cpu_ns
        self.in_flight_ns = later.in_flight_ns

    def told(self, device_ns: int | None) -> dict[str, Any]:
        """``device_ns``: of one sync, on average."""
        return {
            "program": self.key.name,
            "pid": next(iter(self.pids)) if len(self.pids) == 1 else None,
            "processes": len(self.pids),
            "kernel": self.key.is_kernel,
            "file": self.path,
            "inode": next(iter(self.inodes)) if len(self.inodes) == 1 else None,
            "files": max(1, len(self.inodes)),
            "device": self.device,
            "syncs": self.durations.count + self.timeless,
            "waited_ns": self.durations.sum_ns,
            "latency_ns": self.durations.told(),
            "device_ns": device_ns,
            "cpu_ns": min(self.cpu_ns, self.durations.sum_ns),
            "in_flight_ns": self.in_flight_ns,
            "failed": dict(self.failed),
        }


class Rows:
    """All of them, in one second or since the beginning."""

    def __init__(self) -> None:
        self.rows: dict[Key, Row] = {}

    def row(self, key: Key) -> Row:
        """The row of a program and file, made where it is new."""
        found = self.rows.get(key)
        if found is None:
            found = self.rows[key] = Row(key)
        return found

    def merge(self, later: Rows) -> None:
        """A later second, which may know the name of a file that had none. What waits no longer says nothing of now."""
        for row in self.rows.values():
            row.in_flight_ns = None
        if len(self.rows.keys() | later.rows.keys()) > MOST_ROWS:
            self.rows, later.rows = self.together(), later.together()
        for key, row in later.rows.items():
            room = key in self.rows or len(self.rows) < MOST_ROWS
            self.row(key if room else key._replace(file=File())).merge(row)

    def together(self) -> dict[Key, Row]:
        """Each program's files without a name in one row for each device: there may be thousands."""
        found = Rows()
        for key, row in self.rows.items():
            if row.path:
                found.rows[key] = row
            else:
                found.row(key._replace(file=File(key.file.device))).merge(row)
        return found.rows
