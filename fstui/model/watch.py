"""The documents and events of a watch: which programs wait for which files."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

import msgspec
from msgspec.structs import replace

from fstui.model.base import Base
from fstui.model.counters import DeviceTimes
from fstui.model.host import Host, OtherWriter
from fstui.model.judgement import Speed

SCHEMA = "fstui.watch/1"

Culprit = Literal["disk", "filesystem", "program", "cpu", "nobody", "unknown"]
"""The main cause of the waiting: a slow disk, a slow filesystem, a program that syncs too often, too little CPU."""


class FileWaits(Base, frozen=True, kw_only=True):
    """The waits of all processes of one name for syncs of one file."""

    program: str
    pid: int | None
    """None for several processes."""
    processes: int
    kernel: bool = False
    """A kernel thread, which syncs for another process (a loop device, for example)."""
    file: str | None
    """Its path in the program's namespace; None if the file was closed before the path could be read."""
    inode: int | None
    files: int
    """How many files this row covers. Files without a known path are counted together."""
    device: str | None
    """The block device of the file's filesystem."""
    syncs: int
    """Calls of fsync, fdatasync, msync …, O_DSYNC writes, syncs through io_uring, and writes that a freeze blocked."""
    waited_ns: int
    """The sum of the waits within this time, also for syncs in flight; several threads may wait at once."""
    ended_ns: int
    """The sum of the durations of the syncs that ended. A part of them may have been before this time."""
    frozen_ns: int = 0
    """The part of ``waited_ns`` in writes to a frozen filesystem (fsfreeze, a snapshot)."""
    latency_ns: DeviceTimes | None
    """The durations of the syncs. None if the filesystem has no event for the end of a sync."""
    device_ns: int | None
    """Mean time that a sync spends in the devices, over all programs."""
    cpu_ns: int
    """Upper bound of the part of ``waited_ns`` in which the threads waited for a CPU."""
    in_flight_ns: int | None
    """Age of the oldest sync still in flight."""
    is_frozen: bool = False
    """Whether a write still waits for the end of a freeze."""
    failed: dict[int, int] = {}
    """By errno: how many syncs failed."""
    io_limits: tuple[str, ...] = ()
    """Limits of the program's cgroup for writes to the device, such as ``vda wiops 100``. Only for the program that
    waited longest in a second."""

    @property
    def longest_ns(self) -> int:
        """The longest sync, or the age of one in flight."""
        return max(self.latency_ns.max if self.latency_ns else 0, self.in_flight_ns or 0)

    @property
    def program_label(self) -> str:
        """The program with its pid, with the number of its processes, or with the word "kernel"."""
        name = self.program or "a program that has ended"
        if self.kernel:
            return f"{name} (kernel)"
        return f"{name} ({self.pid})" if self.pid is not None else f"{name} ({self.processes} processes)"

    @property
    def file_label(self) -> str:
        """The path, or if that is not known, the number of files or the inode, and the device."""
        if self.file:
            return self.file
        if not (self.device or self.inode):
            return "an unknown file"
        device = self.device or "an unknown device"
        if self.files > 1:
            return f"{self.files} files on {device}"
        return f"inode {self.inode} on {device}" if self.inode else device


class WatchedDevice(Base, frozen=True, kw_only=True):
    """The counters and times of one block device. None: the device has no such counter."""

    device: str
    writes: int | None = None
    written_bytes: int | None = None
    write_ms: int | None = None
    flushes: int | None = None
    flush_ms: int | None = None
    fua: int | None = None
    """FUA writes among the traced requests."""
    flush_ns: DeviceTimes | None = None
    write_ns: DeviceTimes | None = None
    """The device's own time for synchronous writes."""


class JournalCommits(Base, frozen=True, kw_only=True):
    """Commits of one journal (jbd2)."""

    device: str
    count: int
    latency_ns: DeviceTimes | None


class LostWrite(Base, frozen=True, kw_only=True):
    """A failed writeback of the page cache. The next fsync of each open file description must report it."""

    device: str | None
    inode: int
    errno: int
    returned: int = msgspec.field(name="told")
    """How many times an fsync returned the error to a program."""


class WatchCounts(Base, frozen=True, kw_only=True):
    """What was counted in one second, or in the whole watch."""

    elapsed_s: float = 0.0
    traced_s: float = msgspec.field(default=0.0, name="looked_s")
    """The part of ``elapsed_s`` in which the devices' requests were traced: shorter if there were too many requests."""
    lost: int = 0
    """Events that did not fit into the kernel's buffers and are missing from the counts."""
    cpu_pressure_s: float | None = None
    """The time in which at least one process of this host waited for a CPU: from /proc/pressure, or if the kernel lacks
    that, estimated from the runnable threads at the end of each second. None without a trace."""
    waits: tuple[FileWaits, ...] = ()
    """The longest wait first."""
    devices: tuple[WatchedDevice, ...] = ()
    commits: tuple[JournalCommits, ...] = ()
    writers: tuple[OtherWriter, ...] = ()
    """Sorted by bytes written, largest first. Without a trace, this is all that is known about programs."""

    def only_of(self, names: Collection[str]) -> WatchCounts:
        """Return the counts without other devices and their journals."""
        devices = tuple(device for device in self.devices if device.device in names)
        return replace(self, devices=devices, commits=tuple(row for row in self.commits if row.device in names))


class WatchReport(Base, frozen=True, kw_only=True):
    schema: str = SCHEMA
    started_at: str
    version: str
    host: Host
    simulated: str | None = None
    """The name of the simulated disk; None on a real host."""
    pid: int | None = None
    mount_point: str | None = None
    untraced: str | None = None
    """Why only /proc was read, as a sentence."""
    total: WatchCounts = msgspec.field(name="whole")
    errors: tuple[LostWrite, ...] = ()
    culprit: Culprit
    sentence: str
    durability: str = msgspec.field(default="", name="honest")
    """What the configuration alone shows about durability, as a sentence. A watch issues no syncs of its own."""
    speed: Speed = Speed()


class WatchEvent(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    """An event of a watch."""


class WatchStarted(WatchEvent, frozen=True, kw_only=True, tag=True):
    host: Host
    simulated: str | None = None
    untraced: str | None = None


class WatchedSecond(WatchEvent, frozen=True, kw_only=True, tag=True):
    second: WatchCounts
    sentence: str = ""


class WatchFinished(WatchEvent, frozen=True, kw_only=True, tag=True):
    report: WatchReport
