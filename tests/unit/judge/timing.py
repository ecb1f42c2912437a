"""Steps that took a typical time: what a write, a write and flush, and a forced write cost."""

from __future__ import annotations

from typing import Any

from fstui.model import Latency, Step
from tests.unit.judge.evidence import step


def latency(ns: float, mean_ns: float | None = None, p99_ns: float | None = None) -> Latency:
    typical = round(ns)
    mean = typical if mean_ns is None else round(mean_ns)
    p99 = typical if p99_ns is None else round(p99_ns)
    return Latency(min=typical, mean=mean, p50=typical, p90=typical, p95=typical, p99=p99, p99_9=None, max=p99)


def timed(name: str, us: float, *, mean_us: float | None = None, **settings: Any) -> Step:
    """A step whose operations took so long, and that did as many a second as fit."""
    changes = {"latency_ns": latency(us * 1000, mean_us and mean_us * 1000), **settings.pop("changes", {})}
    return step(name, rate=1e6 / (mean_us or us), changes=changes, **settings)


def write(us: float, **settings: Any) -> Step:
    """Tw: O_DIRECT alone."""
    wanted: dict[str, Any] = {"sync": "none", "open_flags": ("direct",), "flushes": 0, **settings}
    return timed("O_DIRECT", us, **wanted)


def forced(us: float, **settings: Any) -> Step:
    """Td: O_DIRECT+O_DSYNC, a FUA write where the device has FUA."""
    wanted: dict[str, Any] = {"sync": "none", "open_flags": ("direct", "dsync"), "flushes": 0, **settings}
    return timed("O_DIRECT+O_DSYNC", us, **wanted)


def flushed(us: float, **settings: Any) -> Step:
    """Ts: a write and fdatasync."""
    return timed("fdatasync", us, **settings)
