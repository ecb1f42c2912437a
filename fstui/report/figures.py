"""Figures that every face derives from a run in the same way. None: it cannot be told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from fstui.judge import decisive
from fstui.judge.layers import levels
from fstui.model import DeviceCounters, Finding, Plan, Run, Snapshot, Step, Target
from fstui.quantities import duration_ns, plain, short_size


class Growth(msgspec.Struct, frozen=True):
    """How flush time grew with the unsynced bytes before it: a line through the medians (probe ``dirty_flush``)."""

    slope_ns_per_mib: float
    intercept_ns: float


def rated(probe: str) -> bool:
    """Its operations are of one kind, so that a rate, percentiles and flushes per sync mean something."""
    return probe != "dirty_flush"


def growth(measured: Mapping[str, Any]) -> str:
    """What ``dirty_flush`` measured, in its own words: ``flush 124 µs, +400 µs per MiB, scattered +1.2 ms``."""
    lines = {pattern: line for pattern in ("sequential", "scattered") if (line := _growth(measured.get(pattern)))}
    if not lines:
        return ""
    first, *others = lines
    start_ns = lines[first].intercept_ns
    start = f"flush {duration_ns(start_ns)}," if start_ns > 0 else "flush"
    return ", ".join(
        [f"{start} {_slope(lines[first])} per MiB", *(f"{pattern} {_slope(lines[pattern])}" for pattern in others)]
    )


def _growth(figures: object) -> Growth | None:
    try:
        return msgspec.convert(figures, Growth)
    except msgspec.ValidationError:
        return None


def _slope(line: Growth) -> str:
    return f"{'−' if line.slope_ns_per_mib < 0 else '+'}{duration_ns(abs(line.slope_ns_per_mib))}"


def lowest(counters: Iterable[DeviceCounters], target: Target | None) -> tuple[DeviceCounters, ...]:
    """The counters of the stack's lowest devices."""
    names = {node.id for node in target.lowest} if target else set()
    return tuple(device for device in counters if device.device in names)


def total(values: Iterable[int | None]) -> int | None:
    """The sum of those that count; None where none does."""
    counted = [value for value in values if value is not None]
    return sum(counted) if counted else None


def fewest(values: Iterable[int | None]) -> int | None:
    """The smallest of those that count; None where none does."""
    return min((value for value in values if value is not None), default=None)


def flushes(step: Step | Snapshot, target: Target | None) -> int | None:
    """Flushes that the lowest devices completed meanwhile: added up, of a mirror the leg that saw the fewest."""
    counted = [device.flushes for device in lowest(step.counters, target)]
    return fewest(counted) if _mirror(target) else total(counted)


def written_bytes(step: Step | Snapshot, target: Target | None) -> int | None:
    """Bytes that were written to the lowest devices meanwhile: added up, of a plain mirror (RAID1) the leg with the
    fewest."""
    counted = [device.written_bytes for device in lowest(step.counters, target)]
    return fewest(counted) if _mirror(target) == "raid1" else total(counted)


def flushes_per_sync(step: Step | Snapshot, target: Target | None) -> float | None:
    """Flushes at the lowest devices for each sync that was asked for; None where nothing was synced or counted.

    None of ``dirty_flush`` too, which syncs once more between the amounts that it times. Paths, stripes and log
    devices share the flushes; each leg of a mirror receives all (the judge counts so too).
    """
    if isinstance(step, Step) and not rated(step.probe):
        return None
    counted = flushes(step, target)
    return counted / step.syncs if counted is not None and step.syncs else None


def device_flushes_per_sync(device: DeviceCounters, syncs: int, probe: str) -> float | None:
    """The same of one device alone."""
    return device.flushes / syncs if device.flushes is not None and syncs and rated(probe) else None


def bytes_ratio(step: Step | Snapshot, target: Target | None) -> float | None:
    """Bytes that reached the lowest devices for each byte written; None where nothing was written or counted."""
    arrived = written_bytes(step, target)
    return arrived / step.bytes if arrived is not None and step.bytes else None


def leading(run: Run) -> Finding | None:
    """The finding that the verdict rests on; None where it rests on the lack of any."""
    return decisive(run.findings)


def stack_line(target: Target | None) -> str:
    """The way down in one line, layer by layer: ``ext4 › sda1 › sda``, ``xfs › md0 › sda + sdb``."""
    if target is None or not target.stack:
        return ""
    nodes = {node.id: node for node in target.stack}
    line, seen, level = [], set(), [target.stack[0]]
    while level:
        seen |= {node.id for node in level}
        line.append(_level(level[0].kind if level[0].layer == "filesystem" else node.name for node in level))
        below = dict.fromkeys(name for node in level for name in node.below if name in nodes and name not in seen)
        level = [nodes[name] for name in below]
    return " › ".join(line)


def _mirror(target: Target | None) -> str | None:
    """The kind of mirror that the lowest level of the stack is, if it is one."""
    found = levels(target)[-1:] if target else ()
    return found[0].mirror if found else None


def _level(names: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(plain(name) for name in names))
    return " + ".join(distinct) if len(distinct) <= 3 else f"{distinct[0]} + {len(distinct) - 1} more"


def failure(step: Step) -> str:
    """Why a step did not finish, in words; empty where it did."""
    if step.error is not None:
        return f"{plain(step.error.call)}: {plain(step.error.message)}"
    return plain(step.reason or "")


def writes_at_most(plan: Plan) -> str:
    """What a run writes: ``≤ 2.1 G`` in all, or ``20 K/s`` where it runs until it is stopped."""
    return f"≤ {short_size(plan.max_bytes)}" if plan.bytes_per_s is None else f"{short_size(plan.bytes_per_s)}/s"


def finding_title(finding: Finding) -> str:
    """Its title; a verdict that speaks of one step only says so, lest it be taken for the disk's."""
    of_a_step = finding.scope == "step" and finding.verdict is not None
    return plain(finding.title) + (" (that step only)" if of_a_step else "")
