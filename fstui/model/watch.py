"""Who waits for which file: what was watched, second by second and altogether."""

from __future__ import annotations

from typing import Literal

import msgspec

from fstui.model.base import Base
from fstui.model.host import Host, Writer
from fstui.model.judgement import Speed
from fstui.model.tracing import DeviceTimes

SCHEMA = "fstui.watch/1"

Culprit = Literal["disk", "filesystem", "program", "cpu", "nobody", "unknown"]
"""What the time goes into: the disk is slow, the filesystem is, the program asks too much, the CPU is short."""


class Waiting(Base, frozen=True, kw_only=True):
    """Programs of one name and one of their files."""

    program: str
    pid: int | None
    """Where it is one process."""
    processes: int
    kernel: bool = False
    """A thread of the kernel: what it syncs, a loop say, it syncs for somebody else."""
    file: str | None
    """Its path as the program knows it; None where nobody could tell before it was closed."""
    inode: int | None
    files: int
    """So many: those that were closed before anybody could tell their paths are counted together."""
    device: str | None
    """The block device of its filesystem."""
    syncs: int
    """Calls of fsync, fdatasync, msync …, O_DSYNC writes, io_uring: all that promises durability."""
    waited_ns: int
    """In all of them together; several threads wait at once."""
    latency_ns: DeviceTimes | None
    """Of one. None where the filesystem does not tell when its syncs end."""
    device_ns: int | None
    """The devices' own part of one sync, on average over all who sync on them."""
    cpu_ns: int
    """Of all that time, at the most so much was spent waiting for a CPU."""
    in_flight_ns: int | None
    """For so long its latest sync has not returned."""
    failed: dict[int, int] = {}
    """By errno: how often a sync said that data were lost, or could not be made."""

    @property
    def who(self) -> str:
        """The program with its number, or with how many it is."""
        name = self.program or "a program that has ended"
        return f"{name} ({self.pid})" if self.pid is not None else f"{name} ({self.processes} processes)"

    @property
    def where(self) -> str:
        """The path; else what is known of the file."""
        device = self.device or "an unknown device"
        if self.file:
            return self.file
        if self.files > 1:
            return f"{self.files} files on {device}"
        return f"inode {self.inode} on {device}" if self.inode else device


class WatchedDevice(Base, frozen=True, kw_only=True):
    """What one block device did. None: it does not count this."""

    device: str
    writes: int | None = None
    written_bytes: int | None = None
    write_ms: int | None = None
    flushes: int | None = None
    flush_ms: int | None = None
    fua: int | None = None
    """FUA writes among the requests that were looked at."""
    flush_ns: DeviceTimes | None = None
    write_ns: DeviceTimes | None = None
    """Its own time, for requests that somebody waits for."""


class Commits(Base, frozen=True, kw_only=True):
    """Commits of one journal (jbd2)."""

    device: str
    count: int
    latency_ns: DeviceTimes | None


class LostWrite(Base, frozen=True, kw_only=True):
    """A write of the page cache that failed. An fsync is to say so to each program that has the file open."""

    device: str | None
    inode: int
    errno: int
    told: int
    """How often anybody was told."""


class Watched(Base, frozen=True, kw_only=True):
    """A second, or all of them."""

    elapsed_s: float = 0.0
    looked_s: float = 0.0
    """Of that time, so much in which the devices' requests were looked at; where they are too many, a part."""
    lost: int = 0
    """Events that found no room in the kernel's buffers: so many are missing from the counts."""
    waits: tuple[Waiting, ...] = ()
    """Who waited the longest first."""
    devices: tuple[WatchedDevice, ...] = ()
    commits: tuple[Commits, ...] = ()
    writers: tuple[Writer, ...] = ()
    """By bytes, the most first: where syncs cannot be seen, all that is known of programs."""


class WatchReport(Base, frozen=True, kw_only=True):
    """The document of a watch."""

    schema: str = SCHEMA
    started_at: str
    version: str
    host: Host
    simulated: str | None = None
    """What it is, where it is not that host: its program and its disks are a model's."""
    pid: int | None = None
    mount_point: str | None = None
    untraced: str | None = None
    """Why only /proc was read, in a sentence."""
    whole: Watched
    errors: tuple[LostWrite, ...] = ()
    culprit: Culprit
    sentence: str
    honest: str = ""
    """What the configuration says of it, in a sentence: a watch has no syncs of its own to count."""
    speed: Speed = Speed()


class WatchEvent(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    """What a watch tells any face, in order."""


class WatchStarted(WatchEvent, frozen=True, kw_only=True, tag=True):
    host: Host
    simulated: str | None = None
    untraced: str | None = None


class WatchedSecond(WatchEvent, frozen=True, kw_only=True, tag=True):
    second: Watched
    sentence: str = ""
    """What it comes to."""


class WatchFinished(WatchEvent, frozen=True, kw_only=True, tag=True):
    report: WatchReport
