"""The box, the process that measures, and all that is here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec.structs import replace

from fstui.model.base import Base, Count
from fstui.model.storage import Node, Reading, Target


class Host(Base, frozen=True, kw_only=True):
    """The box."""

    hostname: str = ""
    kernel: str = ""
    virtualization: str | None = None
    """kvm, virtualbox, vmware, microsoft, wsl, xen, firecracker, container kinds …; None where it is real hardware."""
    cloud: str | None = None
    cpus: int = 0
    memory_bytes: int = 0
    udev: bool = False
    """A udev database was there to enrich what /sys says."""


class Process(Base, frozen=True, kw_only=True):
    """The sync path of the process that measures: does its libc pass the sync on?"""

    pipe_fsync_fails: bool | None = None
    """fsync(2) of a pipe must fail with EINVAL; a stub lets it succeed."""
    futile_syncs: dict[str, tuple[Count, Count]] = {}
    """By call: syncs of what cannot be synced (pipes, eventfds, files opened with O_PATH), and how many succeeded. The
    kernel refuses each."""
    answered_like: dict[str, Literal["syncfs", "sync"]] = {}
    """By call: what succeeded was just what syncfs(2) of the same descriptors does, or all of it, as sync(2) does."""
    left_dirty: dict[str, tuple[Count, Count]] = {}
    """By call: syncs after which the page cache was asked (cachestat(2)), and how many had left pages of their own
    file dirty where the system call leaves none."""
    others_clean: dict[str, tuple[Count, Count]] = {}
    """By call: the same, and how many had left no page of another file dirty: syncs of the whole filesystem."""
    dsync_flag_kept: bool | None = None
    """F_GETFL of an O_DSYNC open still has O_DSYNC; libeatmydata takes it away."""
    libc_sync_ns: int | None = None
    raw_sync_ns: int | None = None
    memory_write_ns: int | None = None
    memory_sync_ns: int | None = None
    """Typical times of a write of 16 KiB into a file that is in memory, and of its fdatasync."""
    preloads: tuple[Reading, ...] = ()
    """Libraries that stub syncs, with where they were seen: /proc/self/maps, LD_PRELOAD, /etc/ld.so.preload."""
    cgroup: str | None = None
    io_limits: tuple[Reading, ...] = ()
    """Limits of that cgroup and of those above it: ``what`` is major:minor and the limit, ``path`` the file."""
    seccomp: Literal["off", "strict", "filter"] | None = None
    """A filter can answer syncs without running them (seccomp(2), SECCOMP_RET_ERRNO with 0)."""
    pid: int | None = None
    """Another process than the one that measures."""
    name: str | None = None
    """Its command name."""

    def answering(self, futile: Mapping[str, tuple[int, int]]) -> Process:
        """With what came of more syncs of a file opened with O_PATH, which syncfs(2) refuses; sync(2) takes none."""
        like = {
            call: like
            for call, like in self.answered_like.items()
            if call not in futile or futile[call][1] == (futile[call][0] if like == "sync" else 0)
        }
        return replace(self, futile_syncs=added(self.futile_syncs, futile), answered_like=like)


def added(counts: Mapping[str, tuple[int, int]], others: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """By call: how many were tried, and how many answered, of both."""
    of_both = {call: (counts.get(call, (0, 0)), others.get(call, (0, 0))) for call in {**counts, **others}}
    return {call: (first[0] + second[0], first[1] + second[1]) for call, (first, second) in of_both.items()}


class Writer(Base, frozen=True, kw_only=True):
    """Another process that wrote to disks meanwhile, from /proc/PID/io."""

    pid: int
    name: str
    written_bytes: int


class Inventory(Base, frozen=True, kw_only=True):
    """What is here: every filesystem with its stack, and the devices that no mounted filesystem stands on."""

    host: Host = Host()
    process: Process = Process()
    filesystems: tuple[Target, ...] = ()
    """Those that can hold files first, in the order of mountinfo; pseudo ones have ``pseudo`` set."""
    unused: tuple[Node, ...] = ()
    """Block devices without a mounted filesystem."""
