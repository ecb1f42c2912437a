"""What the kernel's own trace events showed of one step, per block device."""

from __future__ import annotations

from fstui.model.base import Base


class DeviceTimes(Base, frozen=True, kw_only=True):
    """How long requests were in the driver and the device, in ns. p99 is None below 100 of them."""

    p50: int
    p99: int | None
    max: int


class DeviceTrace(Base, frozen=True, kw_only=True):
    """Whose flushes one device was asked for, and what it did with them.

    Asked are the bios that were handed to it with a flush before them. At the layer that a program hands its bios to,
    they are its own, exactly; further down, a layer's own threads ask. A bio with data may ask for a flush before
    them and for FUA; a device whose cache the kernel believes to be off is asked for neither: the block layer strips
    both before anybody can see them. Bios for a partition are told of as the whole disk's (kernel: ``bio_dev``).
    """

    device: str
    asked_by_us: int | None
    """By fstui's probes, and the servers that it has started. None here and below: an event was lost, nobody knows."""
    asked_by_kernel_threads: int | None
    """By a journal's thread, a loop's worker, writeback. None also in a pid namespace: there they are others."""
    asked_by_others: int | None
    fua_writes: int | None
    """Writes that were to be on the medium when they are done, whoever asked."""
    fua_writes_by_us: int | None
    requests: int | None
    """Flushes that reached the driver. None also for a device that has no requests and hands bios on (dm, md, zram)."""
    device_flush_ns: DeviceTimes | None = None
    """From the driver to the answer, without the filesystem. Several at once are told apart by their order."""
    device_write_ns: DeviceTimes | None = None
    lost: int = 0
    """Events that found no room in the kernel's buffers. Above 0 nothing was counted."""
