"""What the kernel counted and traced, per layer of the stack."""

from collections.abc import Callable, Iterable

import msgspec

from fstui.model.base import Base
from fstui.model.host import OtherWriter


class DeviceCounters(Base, frozen=True, kw_only=True):
    """What one layer counted. ``None``: the layer has no such counter. ``0``: it has the counter, and nothing happened.

    From /sys/block/X/stat (Documentation/block/stat.rst). Flushes are field 16; FUA writes have no counter.
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
    """Time during which requests of any process were in flight."""
    in_flight: int | None = None
    """The current number, not a difference."""
    commits: int | None = None
    """ZIL commits of a ZFS dataset (of the whole host before OpenZFS 2.2), or COMMIT calls of an NFS mount."""


COUNTER_FIELDS = tuple(name for name in DeviceCounters.__struct_fields__ if name not in ("device", "in_flight"))
"""Fields whose values only grow. Their difference between two readings is what happened in between."""


class Counters(Base, frozen=True, kw_only=True):
    """The counters of every layer, read one after the other."""

    monotonic_ns: int
    """When the counters of the first layer were read."""
    until_ns: int | None = None
    """When the counters of the last layer were read; None if unknown."""
    devices: tuple[DeviceCounters, ...] = ()


def difference(before: Counters, after: Counters) -> tuple[DeviceCounters, ...]:
    """Return what was counted between two readings, per device. A device that is missing in one reading is left out.

    A counter that went backwards is None: the device was replaced, or its counter wrapped.
    """
    earlier = {device.device: device for device in before.devices}
    return tuple(_growth(earlier[device.device], device) for device in after.devices if device.device in earlier)


def written_bytes_by_device(before: Counters, after: Counters) -> dict[str, int]:
    changes = difference(before, after)
    return {device.device: device.written_bytes for device in changes if device.written_bytes is not None}


def sum_counters(parts: Iterable[tuple[DeviceCounters, ...]]) -> tuple[DeviceCounters, ...]:
    """Add up the differences of several periods per device. A sum is None if any part is None."""
    sums: dict[str, DeviceCounters] = {}
    for part in parts:
        for device in part:
            sums[device.device] = (
                _combined(sums[device.device], device, int.__add__) if device.device in sums else device
            )
    return tuple(sums.values())


def _growth(before: DeviceCounters, after: DeviceCounters) -> DeviceCounters:
    return _combined(before, after, lambda earlier, later: later - earlier if later >= earlier else None)


def _combined(before: DeviceCounters, after: DeviceCounters, join: Callable[[int, int], int | None]) -> DeviceCounters:
    values: dict[str, int | None] = {}
    for name in COUNTER_FIELDS:
        old, new = getattr(before, name), getattr(after, name)
        values[name] = None if old is None or new is None else join(old, new)
    return msgspec.structs.replace(after, **values)


class Idle(Base, frozen=True, kw_only=True):
    """The activity of the devices while fstui was idle: 1 s before the run, plus the pauses between steps."""

    elapsed_s: float = 0.0
    counters: tuple[DeviceCounters, ...] = ()
    writers: tuple[OtherWriter, ...] = ()

    @property
    def busy_shares(self) -> dict[str, float]:
        """The share of ``elapsed_s`` in which each device was busy. Devices without this counter are missing."""
        counted = ((device.device, device.busy_ms) for device in self.counters if self.elapsed_s)
        return {device: busy_ms / 1000 / self.elapsed_s for device, busy_ms in counted if busy_ms is not None}


class DeviceTimes(Base, frozen=True, kw_only=True):
    """How long requests spent in the driver and the device, in ns. p99 is None for fewer than 100 requests."""

    p50: int
    p99: int | None
    max: int


class DeviceTrace(Base, frozen=True, kw_only=True):
    """The flushes that the kernel's trace saw at one device: who requested them, and how long the device took.

    A flush is requested by a bio with REQ_PREFLUSH. The requesting process is exact only at the layer that receives the
    bios of the filesystem itself. Further down, a layer's own threads submit bios. A bio with data may request a flush
    and FUA. If the kernel considers a device's cache to be off, the block layer strips both flags before any trace
    event. Bios for a partition are attributed to the whole disk (kernel: ``bio_dev``).
    """

    device: str
    requested_by_us: int | None = msgspec.field(name="asked_by_us")
    """Flushes that fstui's probes, and the servers that it started, requested. None here and below: unknown, because an
    event was lost."""
    requested_by_kernel_threads: int | None = msgspec.field(name="asked_by_kernel_threads")
    """Flushes that a journal's thread, a loop's worker or writeback requested. Earlier versions also traced in a pid
    namespace: there it is None, and ``requested_by_others`` contains them."""
    requested_by_others: int | None = msgspec.field(name="asked_by_others")
    fua_writes: int | None
    """FUA writes of all processes."""
    fua_writes_by_us: int | None
    requests: int | None
    """Flushes that reached the driver. None also for a bio-based device (dm, md, zram), and if recording all
    block requests would have slowed the step down."""
    device_flush_ns: DeviceTimes | None = None
    """From the driver to the completion, without the filesystem. Of concurrent flushes, the first that was issued is
    assumed to be the first that was completed. None if there were no flushes, or too many block requests to record."""
    device_write_ns: DeviceTimes | None = None
    """The same times for writes."""
    lost: int = 0
    """Events that did not fit into the kernel's buffers. If any are lost, all counts are None, because they would be
    too low."""
