"""The records of ``fstui record``, and the document of ``fstui what-happened``.

The records are the lines of the ring (fstui.state.ring), as fstui.trace.reader.recorder writes them.
"""

from datetime import datetime
from typing import Literal

import msgspec

from fstui.model.base import Base
from fstui.model.quantities import write_limit
from fstui.proc import WRITE_LIMITS

SCHEMA = "fstui.what-happened/1"

Cause = Literal[
    "filesystem", "io-limit", "discards", "device", "writer", "syncs", "reader", "itself", "memory", "cpu", "unknown"
]
"""Why programs waited. filesystem: it was frozen, or one without a block device (FUSE, NFS) did not respond;
io-limit: a limit of their cgroup; device: the device became slow by itself; writer, syncs, reader: another program
wrote, synced or read; itself: the program wrote much itself; memory, cpu: there was too little memory or CPU time."""


class DeviceSecond(msgspec.Struct, frozen=True, array_like=True):
    """What one device did in a second: differences, except for ``in_flight``."""

    device: str
    reads: int
    read_kib: int
    writes: int
    """Empty flushes are counted as writes, too."""
    written_kib: int
    write_ms: int
    flushes: int
    flush_ms: int
    discards: int
    discarded_kib: int
    discard_ms: int
    in_flight: int

    @property
    def ms_per_write(self) -> float | None:
        return self.write_ms / self.writes if self.writes else None

    @property
    def ms_per_flush(self) -> float | None:
        return self.flush_ms / self.flushes if self.flushes else None

    @property
    def is_stuck(self) -> bool:
        """Whether requests were in flight and none was completed."""
        return self.in_flight > 0 and not (self.reads or self.writes or self.flushes or self.discards)


class TimedRecord(Base, frozen=True, kw_only=True, tag_field="kind"):
    """A record. ``at``: when it was taken, in seconds since 1970 according to the system clock."""

    at: float
    boot_s: float
    """The same time in seconds since boot, including suspend. Setting the clock does not change it."""
    elapsed_s: float
    """How much time the record covers."""
    dropped: int = 0
    """Records before this one that could not be written."""
    trouble: str = ""
    """Why the ``dropped`` records could not be written."""


class Header(TimedRecord, frozen=True, kw_only=True, tag="header"):
    version: str
    host: str
    kernel: str
    boot: str
    anonymous: bool
    untraced: str
    """Why the kernel was not traced; empty if it was."""
    started: bool
    """This is the first record since the recorder was started."""


class Second(TimedRecord, frozen=True, kw_only=True, tag="second"):
    pressure_ms: tuple[int | None, int | None, int | None, int | None, int | None]
    """cpu some; io some, full; memory some, full. None without pressure stall information."""
    memory_kib: tuple[int, int]
    """Dirty, and under writeback."""
    devices: tuple[DeviceSecond, ...]


class RecordedWait(Base, frozen=True, kw_only=True):
    """The processes with one name that waited for one file. Empty fields and 0 are left out of the recording."""

    program: str = ""
    pid: int = 0
    processes: int = 1
    """0: more than one, but their number is not known."""
    kernel: bool = False
    call: str = ""
    """The system call of the last slow sync; empty if it is not known."""
    file: str = ""
    inode: int = 0
    device: str = ""
    below: tuple[str, ...] = ()
    """The devices that receive requests: ``device`` itself or devices below it."""
    fstype: str = ""
    """Only for a filesystem without a block device."""
    mount_point: str = ""
    syncs: int = 0
    waited_ms: int = 0
    longest_ms: int = 0
    p50_us: int = 0
    cpu_ms: int = 0
    """Upper bound of the part of ``waited_ms`` in which the threads waited for a CPU."""
    frozen_ms: int = 0
    """The part of ``waited_ms`` and ``in_flight_ms`` in writes to a frozen filesystem."""
    in_flight_ms: int = 0
    """Age of the oldest sync that had not returned at the end of the window."""
    cgroup: str = ""
    limits: tuple[str, ...] = ()
    """The io limits of the cgroup: ``vda wiops 100``."""
    slow: tuple[tuple[float, int, int], ...] = ()
    """For each sync of at least 100 ms: the seconds from its return to the end of the window, its duration in ms, and
    an upper bound of the ms in which its thread waited for a CPU."""
    partly_traced: bool = False
    """Whether one of these processes synced so often that it was not traced for the whole window."""

    @property
    def longest_so_far_ms(self) -> int:
        return max(self.longest_ms, self.in_flight_ms)

    @property
    def counts_cpu(self) -> bool:
        """Whether ``cpu_ms`` is known. Waits of kernel workers and of short processes for a CPU are not recorded."""
        return bool(self.cpu_ms or (self.pid and not self.kernel))

    @property
    def program_label(self) -> str:
        name = self.program or "a program that has ended"
        if self.kernel:
            return f"{name} (kernel)"
        return f"{name} (pid {self.pid})" if self.pid else f"{name} ({self.processes or 'several'} processes)"

    @property
    def write_limit(self) -> str:
        """The first limit of the cgroup for writes to these devices: ``146.5 KiB/s`` or ``100 writes/s``; or empty."""
        devices = (self.device, *self.below)
        limits = (limit.split(" ") for limit in self.limits)
        on_device = ((what, int(value)) for device, what, value in limits if device in devices)
        return next((write_limit(what, value) for what, value in on_device if what in WRITE_LIMITS), "")

    def merged_with(self, earlier: "RecordedWait") -> "RecordedWait":
        """Return this wait as one of the processes of both. The number of different processes is not known."""
        is_same = (self.pid, self.processes) == (earlier.pid, earlier.processes)
        pid, processes = (self.pid, self.processes) if is_same else (0, 0)
        return msgspec.structs.replace(self, pid=pid, processes=processes)

    @property
    def file_label(self) -> str:
        if self.file:
            return self.file
        if self.call == "sync":
            return "all filesystems"
        place = self.mount_point or self.device or self.fstype or "an unknown device"
        return f"inode {self.inode} on {place}" if self.inode else f"a file on {place}"


class Discarder(Base, frozen=True, kw_only=True):
    program: str
    device: str
    bytes: int


class ProcessIo(Base, frozen=True, kw_only=True):
    """A process that read or wrote much since all processes were last examined."""

    program: str
    pid: int
    read: int
    written: int
    cgroup: str = ""
    devices: tuple[str, ...] = ()
    """The disks that hold the files that the process had open for writing."""


class Window(TimedRecord, frozen=True, kw_only=True, tag="window"):
    """Ten seconds. Without root, ``traced_s`` is None and ``waits`` is empty."""

    traced_s: float | None = None
    lost: int = 0
    waits: tuple[RecordedWait, ...] = ()
    discards: tuple[Discarder, ...] = ()
    processes: tuple[ProcessIo, ...] | None = None
    """None if it was too early to examine all processes again."""


Record = Header | Second | Window


class Gap(Base, frozen=True, kw_only=True):
    start: float
    end: float
    reason: str


class Incident(Base, frozen=True, kw_only=True):
    """A time in which a program waited unusually long, or a device was unusually slow."""

    start: float
    end: float
    sentence: str
    cause: Cause
    program: str = ""
    """The program that waited; empty if only devices were recorded."""
    pid: int | None = None
    file: str = ""
    waited_s: float = 0.0
    """The waits of ``program`` for ``file``."""
    all_waited_s: float = 0.0
    """The waits of all programs for all files."""
    device: str = ""
    longest_s: float = 0.0
    """The longest single wait of ``program`` for ``file``."""
    latency_ms: float | None = None
    typical_ms: float | None = None
    """Latency of the device's writes outside the incident. ``latency_ms`` is the latency in its worst second."""
    culprit: str = ""
    culprit_pid: int | None = None
    culprit_cgroup: str = ""

    @property
    def middle(self) -> float:
        return (self.start + self.end) / 2


class Bucket(Base, frozen=True, kw_only=True):
    """One row of the timeline. None: not counted."""

    start: float
    end: float
    device: str = ""
    """The device of the longest wait. If it took less than 100 ms, and writes to another device longer: that device."""
    writes: int = 0
    written_bytes: int = 0
    read_bytes: int = 0
    flushes: int = 0
    latency_ms: float | None = None
    """Mean time of its writes, at least the time during which it completed no request."""
    cpu: float | None = None
    """``cpu``, ``io``, ``memory``: the share of the time in which a process waited for it."""
    io: float | None = None
    memory: float | None = None
    dirty_bytes: int = 0
    longest_ms: int | None = None
    """The longest wait for a sync; None if that was not traced, or only known to be short."""
    program: str = ""
    file: str = ""
    recorded_s: float = 0.0
    """How much time the records in the row cover."""


class WhatHappened(Base, frozen=True, kw_only=True):
    """The document of ``fstui what-happened``. Times are seconds since 1970."""

    schema: str = SCHEMA
    version: str
    host: str
    start: float
    end: float
    """The requested period, as far as it was recorded."""
    recorded: tuple[float, float] | None
    """The whole recording; None if there is none."""
    sentence: str
    incidents: tuple[Incident, ...] = ()
    gaps: tuple[Gap, ...] = ()
    notes: tuple[str, ...] = ()
    """What was not recorded, or only in part."""
    buckets: tuple[Bucket, ...] = ()


def is_outside(period: tuple[float, float], recorded: tuple[float, float]) -> bool:
    """Return whether a part of the period is not recorded. The last minute does not count: it is written later."""
    return period[0] < recorded[0] or period[1] > recorded[1] + 60


def span(start: float, end: float, *, with_date: bool = False) -> str:
    """Return ``03:11:40–03:12:25`` in local time, with the day if it is not today, or if ``with_date``.

    If both times are in the same second, return only one.
    """
    first, last = datetime.fromtimestamp(start), datetime.fromtimestamp(end)
    is_today = first.date() == last.date() == datetime.now().date()
    day = "" if is_today and not with_date else f"{first:%Y-%m-%d} "
    if int(start) == int(end):
        return f"{day}{first:%H:%M:%S}"
    last_text = f"{last:%H:%M:%S}" if last.date() == first.date() else f"{last:%Y-%m-%d %H:%M:%S}"
    return f"{day}{first:%H:%M:%S}–{last_text}"
