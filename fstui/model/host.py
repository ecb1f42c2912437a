"""The host, the measuring process, and the inventory of filesystems and devices."""

from typing import Literal

from fstui.model.base import Base, Count
from fstui.model.guests import Guest
from fstui.model.storage import Node, Reading, Target


class Host(Base, frozen=True, kw_only=True):
    hostname: str = ""
    kernel: str = ""
    virtualization: str | None = None
    """kvm, virtualbox, vmware, microsoft, wsl, xen, firecracker, container kinds …; None on bare metal."""
    cloud: str | None = None
    cpus: int = 0
    memory_bytes: int = 0
    udev: bool = False
    """A udev database exists and complements /sys."""


class Process(Base, frozen=True, kw_only=True):
    """A process, usually the measuring one: whether its libc passes syncs to the kernel, and which limits apply."""

    pipe_fsync_fails: bool | None = None
    """Whether fsync(2) and fdatasync(2) of a pipe fail with EINVAL, as they must. With a stub they succeed."""
    left_dirty: dict[str, tuple[Count, Count]] = {}
    """By call: how many syncs were tried, and after how many of them the file still had dirty pages."""
    dsync_flag_kept: bool | None = None
    """F_GETFL of a file opened with O_DSYNC still reports O_DSYNC; libeatmydata removes the flag."""
    preloads: tuple[Reading, ...] = ()
    """Libraries that stub syncs, and where they were found: /proc/self/maps, LD_PRELOAD, /etc/ld.so.preload."""
    cgroup: str | None = None
    io_limits: tuple[Reading, ...] = ()
    """I/O limits of that cgroup and its ancestors: ``what`` is major:minor and the limit, ``path`` the file."""
    seccomp: Literal["off", "strict", "filter"] | None = None
    """A filter can acknowledge syncs without running them (seccomp(2), SECCOMP_RET_ERRNO with 0)."""
    pid: int | None = None
    """None for the measuring process itself."""
    name: str | None = None
    """The command name of that process."""


class OtherWriter(Base, frozen=True, kw_only=True):
    """Another process that wrote to disks during the run, from /proc/PID/io."""

    pid: int
    name: str
    written_bytes: int


class Inventory(Base, frozen=True, kw_only=True):
    """Every filesystem with its stack, and the block devices that no mounted filesystem uses."""

    host: Host = Host()
    process: Process = Process()
    filesystems: tuple[Target, ...] = ()
    """In the order of mountinfo, pseudo filesystems (``pseudo``) last."""
    unused: tuple[Node, ...] = ()
    """Block devices without a mounted filesystem."""
    guests: tuple[Guest, ...] = ()
    """The virtual machines that run here, as they were when their processes were last read."""
