"""Measured steps: what arrived at the devices, and how long an operation took."""

from collections.abc import Mapping
from typing import Any

import msgspec

from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.counters import DeviceCounters, DeviceTrace
from fstui.model.steps import Latency, Step


def counted(device: str, flushes: int | None, written_bytes: int | None) -> DeviceCounters:
    return DeviceCounters(device=device, flushes=flushes, writes=flushes, written_bytes=written_bytes)


def step(
    name: str = "fdatasync",
    *,
    ops: int = 2000,
    rate: float = 2000.0,
    flushes: Mapping[str, float | None] | float | None = 1.0,
    share: Mapping[str, float | None] | float | None = 1.0,
    status: str = "finished",
    device: str = "sda",
    changes: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Step:
    """Return a step of overwrites. ``flushes``: per operation; ``share``: of the bytes that arrived at each device."""
    asked = SyncWrites(**{"block_bytes": 16384, "file_bytes": 1 << 20, **settings})
    done = ops * asked.block_bytes
    per_op = flushes if isinstance(flushes, Mapping) else {device: flushes}
    shares = share if isinstance(share, Mapping) else dict.fromkeys(per_op, share)
    fields: dict[str, Any] = {
        "name": name,
        "settings": asked,
        "status": status,
        "ops": ops,
        "syncs": ops // asked.sync_every if asked.sync != "none" or set(asked.open_flags) & {"dsync", "sync"} else 0,
        "bytes": done,
        "writers": asked.writers,
        "elapsed_s": ops / rate,
        "rate_per_s": rate,
        "counters": tuple(
            counted(name, None if per is None else round(per * ops), None if part is None else round(part * done))
            for name, per in per_op.items()
            for part in [shares.get(name)]
        ),
    }
    return Step(**(fields | dict(changes or {})))


def own_time(step: Step, ms_each: float) -> Step:
    """Return the step with this time of each flush and each write at every device."""
    counters = tuple(
        msgspec.structs.replace(each, write_ms=round(ms_each * step.ops), flush_ms=round(ms_each * (each.flushes or 0)))
        for each in step.counters
    )
    return msgspec.structs.replace(step, counters=counters)


def traced(device: str = "sda", us: int = 0, kernel: int | None = 0, others: int = 0, **more: Any) -> DeviceTrace:
    """Return who requested flushes of a device. ``fua``: fstui's own FUA writes; ``fua_in_all``: of all processes."""
    fua = more.pop("fua", 0)
    return DeviceTrace(
        device=device,
        requested_by_us=us,
        requested_by_kernel_threads=kernel,
        requested_by_others=others,
        fua_writes=more.pop("fua_in_all", fua),
        fua_writes_by_us=fua,
        requests=None,
        **more,
    )


def latency(
    ns: float, mean_ns: float | None = None, p99_ns: float | None = None, longest_ns: float | None = None
) -> Latency:
    typical = round(ns)
    mean = typical if mean_ns is None else round(mean_ns)
    p99 = typical if p99_ns is None else round(p99_ns)
    return Latency(
        min=typical, mean=mean, p50=typical, p90=typical, p95=typical, p99=p99, p99_9=None, max=round(longest_ns or p99)
    )


def timed(name: str, us: float, *, mean_us: float | None = None, **settings: Any) -> Step:
    """Return a step whose operations took ``us`` each, one after the other."""
    changes = {"latency_ns": latency(us * 1000, mean_us and mean_us * 1000), **settings.pop("changes", {})}
    return step(name, rate=1e6 / (mean_us or us), changes=changes, **settings)


def write(us: float, **settings: Any) -> Step:
    wanted: dict[str, Any] = {"sync": "none", "open_flags": ("direct",), "flushes": 0, **settings}
    return timed("O_DIRECT", us, **wanted)


def forced(us: float, **settings: Any) -> Step:
    wanted: dict[str, Any] = {"sync": "none", "open_flags": ("direct", "dsync"), "flushes": 0, **settings}
    return timed("O_DIRECT+O_DSYNC", us, **wanted)


def flushed(us: float, **settings: Any) -> Step:
    return timed("fdatasync", us, **settings)
