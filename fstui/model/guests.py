"""The virtual machines that this host runs, and what each of their disks does with a guest's flush."""

from typing import Literal

import msgspec

from fstui.model.base import Base

Hypervisor = Literal["qemu", "libvirt", "proxmox", "firecracker", "cloud-hypervisor"]

GuestFlush = Literal["passed", "each write", "ignored", "discarded", "unknown"]
"""passed: the flush reaches the host's storage; each write: the guest sends no flushes, because each of its writes is
synced; ignored: the flush does nothing; discarded: all writes are discarded when the guest ends."""

LOSSY_FLUSHES: frozenset[GuestFlush] = frozenset({"ignored", "discarded"})
"""With such a flush, a guest's synced data is lost if the host loses power."""


class GuestDisk(Base, frozen=True, kw_only=True):
    """A disk that the guest can write to."""

    name: str
    """The hypervisor's name of the disk: ``scsi0``, ``virtio-disk0``."""
    image: str
    """The path of the file or device with its data; for a volume on a network, the hypervisor's name of the volume."""
    format: str = ""
    cache: str = ""
    """The cache mode: one of QEMU's five, or another hypervisor's own term; empty if unknown."""
    flush: GuestFlush = "unknown"
    reason: str = msgspec.field(default="", name="because")
    """The settings that decide what happens to a flush, or why that is unknown."""
    mount_point: str | None = None
    """The mount point on this host of the filesystem that holds the image; None if none was found."""
    device: str | None = None
    """The kernel name of the block device that is the image."""


class Guest(Base, frozen=True, kw_only=True):
    pid: int
    hypervisor: Hypervisor
    name: str = ""
    number: int | None = None
    disks: tuple[GuestDisk, ...] = ()
    read_from: str = "its arguments"
    trouble: str = ""
    """What could not be read, and why."""

    @property
    def title(self) -> str:
        if self.number is not None:
            return f"VM {self.number}"
        return f"VM {self.name}" if self.name else f"{self.hypervisor} {self.pid}"

    @property
    def label(self) -> str:
        """The title, and after a number also the name: ``VM 101 db``."""
        return f"{self.title} {self.name}".rstrip() if self.number is not None else self.title

    @property
    def lossy_disks(self) -> tuple[GuestDisk, ...]:
        """The disks whose synced data is lost if the host loses power."""
        return tuple(disk for disk in self.disks if disk.flush in LOSSY_FLUSHES)
