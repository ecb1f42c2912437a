"""The box, the process that measures, and all that is here."""

from __future__ import annotations

from typing import Literal

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
    """Whether fsync(2) and fdatasync(2) of a pipe fail with EINVAL; a stub lets them succeed."""
    left_dirty: dict[str, tuple[Count, Count]] = {}
    """By call: how many syncs were tried, and how many left pages of their file dirty where the system call leaves
    none."""
    dsync_flag_kept: bool | None = None
    """F_GETFL of an O_DSYNC open still has O_DSYNC; libeatmydata takes it away."""
    libc_sync_ns: int | None = None
    raw_sync_ns: int | None = None
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
