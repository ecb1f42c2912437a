"""What the kernel counted, per layer."""

from __future__ import annotations

from fstui.model.base import Base
from fstui.model.host import Writer


class DeviceCounters(Base, frozen=True, kw_only=True):
    """What one layer counted. ``None``: it does not count this; ``0``: it counts, and saw none.

    From /sys/block/X/stat (Documentation/block/stat.rst); flushes are field 16, FUA writes are not counted there.
    """

    device: str
    reads: int | None = None
    read_bytes: int | None = None
    read_ms: int | None = None
    writes: int | None = None
    written_bytes: int | None = None
    write_ms: int | None = None
    flushes: int | None = None
    flush_ms: int | None = None
    discards: int | None = None
    busy_ms: int | None = None
    """Time in which it had anything to do, whoever asked."""
    in_flight: int | None = None
    """Now, not a difference."""
    commits: int | None = None
    """ZIL commits of a ZFS dataset (of the whole box before OpenZFS 2.2), COMMIT calls of an NFS mount."""


class Counters(Base, frozen=True, kw_only=True):
    """Every layer's counters, read one after the other from one monotonic time on."""

    monotonic_ns: int
    until_ns: int | None = None
    """When the last of them had been read; None where that is not known."""
    devices: tuple[DeviceCounters, ...] = ()

    def device(self, device: str) -> DeviceCounters | None:
        """That device's counters, or None where they were not read."""
        return next((counters for counters in self.devices if counters.device == device), None)


class Idle(Base, frozen=True, kw_only=True):
    """What the devices did while fstui did nothing: 1 s before the run and the pauses between steps, added up."""

    elapsed_s: float = 0.0
    counters: tuple[DeviceCounters, ...] = ()
    writers: tuple[Writer, ...] = ()
