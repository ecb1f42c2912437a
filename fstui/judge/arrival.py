"""Rules 0, 9 and 10: did what was synced arrive below? Counted on every level of the stack on the way down."""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.counting import Arrival, arrivals, idle_flushes_per_s, proves_bytes
from fstui.judge.override import explained
from fstui.judge.owed import Range
from fstui.judge.steps import direct_alone, names, synced, time_measured
from fstui.model import Confidence, Evidence, Finding, Idle
from fstui.quantities import count, plain, rate, ratio, size

_LOOK_FOR_FILTER = (
    "Look for a filter that swallows the sync calls: grep Seccomp /proc/self/status. A container may have been started "
    "with syncs suppressed: repeat outside it."
)


def flushes_missing(evidence: Evidence) -> Iterator[Finding]:
    """Rule 9: barriers on, cache on, and the flushes that the filesystem owes did not arrive."""
    lacking = _topmost([_first(way, flushes=True) for way in _ways(evidence)])
    if not lacking:
        return
    worst = min(lacking, key=lambda arrival: arrival.per_sync or 0.0)
    where, owed = words.devices(worst.devices), words.owed(worst.owed or Range(0, 0))
    got, share = worst.flushes or Range(0, 0), ratio(worst.per_sync or 0.0)
    yield Finding(
        rule="flushes-missing",
        verdict="not-durable",
        confidence="high",
        scope="storage",
        title=f"{share} flushes per sync at {where}, {owed} owed",
        sentence=f"{count(worst.syncs)} syncs ({plain(worst.step.name)}) reached {where} as {count(got.low)} flushes "
        f"in {time_measured([worst.step])}: {share} each, where {words.named(worst.level.filesystem)} owes {owed}. "
        "Something above the driver drops them, so a power cut loses what the write cache holds.",
        steps=names(arrival.step for arrival in lacking),
        because=(*map(_flush_line, lacking), *_cache_lines(worst)),
        next=(
            _LOOK_FOR_FILTER,
            "Repeat on another filesystem of the same disk: the same there points at the disk's driver.",
        ),
    )


def bytes_missing(evidence: Evidence) -> Iterator[Finding]:
    """Rule 10: what was synced never reached the device; for O_DIRECT alone, it was only not direct."""
    lacking = _topmost([_first(way, flushes=False) for way in _ways(evidence)])
    if lacking:
        worst = min(lacking, key=_arrived_share)
        where, got = words.devices(worst.devices), size((worst.written or Range(0, 0)).low)
        yield Finding(
            rule="bytes-missing",
            verdict="not-durable",
            confidence="high",
            scope="storage",
            title=f"{got} of {size(worst.step.bytes)} reached {where}",
            sentence=f"Of {size(worst.step.bytes)} written and synced ({plain(worst.step.name)}), {got} reached "
            f"{where} in {time_measured([worst.step])} ({ratio(_arrived_share(worst))}): a cache above the device "
            "holds the rest and answered the syncs.",
            steps=names(arrival.step for arrival in lacking),
            because=tuple(map(_byte_line, lacking)),
            next=(
                _LOOK_FOR_FILTER,
                "Look for a caching layer between the filesystem and the device: lsblk -s, dmsetup table.",
            ),
        )
    yield from _not_direct(evidence)


def flushes_arrive(evidence: Evidence) -> Iterator[Finding]:
    """Rule 0: every sync arrived as the flushes it owes, with its bytes, as far down as can be counted."""
    ways = [way for way in _ways(evidence) if way and way[0].owed and way[0].owed.low > 0 and way[0].flushes]
    if not ways or any(arrival.lacks_flushes or arrival.lacks_bytes for way in _ways(evidence) for arrival in way):
        return
    # where the filesystem may owe one flush or two, a neighbour can hide in the difference
    exact = [way for way in ways if way[0].owed and way[0].owed.low == way[0].owed.high]
    ways = exact or ways
    depth = _proven_depth(ways, evidence.idle)
    if depth:
        yield _arrived(ways, depth, evidence)
    elif any(way[0].noisy(evidence.idle) for way in ways):
        yield _drowned(ways, evidence.idle)


def noisy(evidence: Evidence) -> Iterator[Arrival]:
    """The arrivals in which somebody else's writes cannot be told from ours."""
    for way in _ways(evidence):
        yield from (arrival for arrival in way if arrival.noisy(evidence.idle))


def as_owed(evidence: Evidence, step_name: str) -> bool:
    """Every level that counts received the flushes it was owed in that step, and at least one does count."""
    for way in _ways(evidence):
        if way and way[0].step.name == step_name:
            counted = [arrival for arrival in way if arrival.owed and arrival.flushes]
            return bool(counted) and not any(arrival.lacks_flushes for arrival in counted)
    return False


def reached(evidence: Evidence, step_name: str) -> Arrival | None:
    """What the lowest level that counts received in that step."""
    for way in _ways(evidence):
        if way and way[0].step.name == step_name:
            return next((arrival for arrival in reversed(way) if arrival.flushes and arrival.owed), None)
    return None


def undirected(evidence: Evidence) -> tuple[Arrival, ...]:
    """O_DIRECT steps whose bytes stayed above the device: some layer kept them in memory."""
    target = evidence.target
    if target is None or explained(evidence):
        return ()
    ways = (arrivals(target, step, settings) for step, settings in direct_alone(evidence))
    return tuple(first for way in ways if (first := _first(way, flushes=False)))


def _ways(evidence: Evidence) -> list[tuple[Arrival, ...]]:
    """Each synced step's way down the stack. None where the configuration already tells why nothing arrives."""
    target = evidence.target
    if target is None or explained(evidence):
        return []
    return [arrivals(target, step, settings) for step, settings in synced(evidence)]


def _first(way: tuple[Arrival, ...], *, flushes: bool) -> Arrival | None:
    """The topmost level at which too little arrived: whatever is below it merely passes that on."""
    return next((arrival for arrival in way if (arrival.lacks_flushes if flushes else arrival.lacks_bytes)), None)


def _topmost(lacking: list[Arrival | None]) -> list[Arrival]:
    return [arrival for arrival in lacking if arrival is not None]


def _proven_depth(ways: list[tuple[Arrival, ...]], idle: Idle | None) -> int:
    """How many levels from the top were proven by more steps than others spoilt."""
    depth = 0
    for level in zip(*ways, strict=True):
        proven = sum(arrival.proves(idle) for arrival in level)
        spoilt = sum(arrival.noisy(idle) for arrival in level)
        if proven <= spoilt:
            break
        depth += 1
    return depth


def _arrived(ways: list[tuple[Arrival, ...]], depth: int, evidence: Evidence) -> Finding:
    idle = evidence.idle
    proven = [way for way in ways if all(arrival.proves(idle) for arrival in way[:depth])] or ways
    last = [way[depth - 1] for way in proven]
    shares = words.between([arrival.per_sync or 0.0 for arrival in last])
    where = words.devices(last[0].devices)
    steps = [arrival.step for arrival in last]
    total, arrived = sum(step.bytes for step in steps), sum((a.written or Range(0, 0)).low for a in last)
    amount = f"all {size(total)}" if arrived >= total else f"{size(arrived)} of {size(total)}"
    bytes_too = f", and {amount} arrived" if _counts_bytes(last[0]) else ""
    rest = _unproven(ways, depth, idle)
    unsampled = idle_flushes_per_s(last[0].devices, idle) is None
    sure: Confidence = "low" if rest or unsampled or evidence.host.virtualization else "medium"
    return Finding(
        rule="flushes-arrive",
        verdict="consistent",
        confidence=sure,
        scope="storage",
        title=f"{shares} flushes per sync at {where}",
        sentence=f"{count(sum(arrival.syncs for arrival in last))} syncs reached {where} as {shares} flushes each "
        f"({words.owed(last[0].owed or Range(0, 0))} owed){bytes_too}. {rest}This covers {time_measured(steps)}; "
        "only a power cut proves more.",
        steps=names(steps),
        because=(
            *(_flush_line(arrival) for way in proven for arrival in way[:depth]),
            *(("idle: not measured, so other writers cannot be excluded",) if unsampled else ()),
        ),
        next=("Cut the power in the middle of acknowledged writes, with a witness on another box.",),
    )


def _unproven(ways: list[tuple[Arrival, ...]], depth: int, idle: Idle | None) -> str:
    """The sentence about the first level that proves nothing, or no sentence at the bottom."""
    if depth == len(ways[0]):
        return ""
    level = [way[depth] for way in ways]
    where = words.devices(level[0].level.devices)
    if any(arrival.noisy(idle) for arrival in level):
        return f"At {where}, further down, others write too, so nothing is proven there. "
    if any(arrival.flushes is None for arrival in level):
        return f"Further down, {where} counts no flushes, so nothing is proven there. "
    if any(arrival.owed == (0, 0) for arrival in level):
        return f"Further down, {where} is owed none: the kernel takes it for “write through”. "
    return f"Further down, at {where}, it is not known what is owed, so nothing is proven there. "


def _drowned(ways: list[tuple[Arrival, ...]], idle: Idle | None) -> Finding:
    top = [way[0] for way in ways]
    where = words.devices(top[0].devices)
    shares = words.between([(arrival.flushes or Range(0, 0)).high / arrival.syncs for arrival in top])
    per_s = idle_flushes_per_s(top[0].devices, idle)
    seen = f" ({rate(per_s)} flushes/s while fstui was idle)" if per_s else ""
    writers = words.listed(plain(writer.name) for writer in idle.writers) if idle and idle.writers else ""
    who = f"Others write to {where}{seen}" + (f": {writers}" if writers else "")
    if not per_s:
        who = f"Somebody else wrote to {where} meanwhile, or a layer between adds flushes of its own"
    return Finding(
        rule="flushes-arrive",
        verdict="cannot-tell",
        confidence="low",
        scope="storage",
        title=f"{shares} flushes per sync at {where}, not all ours",
        sentence=f"{who}. In {time_measured([arrival.step for arrival in top])} {shares} flushes arrived per sync "
        f"({words.owed(top[0].owed or Range(0, 0))} owed), and theirs cannot be told from ours.",
        steps=names(arrival.step for arrival in top),
        because=tuple(map(_flush_line, top)),
        next=(f"Stop the other writers on {where}, or use a disk of its own, and run again.",),
    )


def _not_direct(evidence: Evidence) -> Iterator[Finding]:
    found = undirected(evidence)
    if found:
        worst = min(found, key=_arrived_share)
        where, got = words.devices(worst.devices), size((worst.written or Range(0, 0)).low)
        yield Finding(
            rule="bytes-missing",
            verdict=None,
            confidence="high",
            scope="step",
            title=f"not direct: {got} of {size(worst.step.bytes)} at {where}",
            sentence=f"O_DIRECT was not direct here: of {size(worst.step.bytes)}, {got} had reached {where} in "
            f"{time_measured([worst.step])}. A layer above keeps the rest in memory, so this rate is not the disk's.",
            steps=names(arrival.step for arrival in found),
            because=tuple(map(_byte_line, found)),
            next=("A loop device: losetup --direct-io=on. ext4 data=journal: O_DIRECT is buffered there.",),
        )


def _counts_bytes(arrival: Arrival) -> bool:
    return proves_bytes(arrival.level.filesystem) and arrival.asked.low > 0


def _arrived_share(arrival: Arrival) -> float:
    return (arrival.written or Range(0, 0)).low / max(arrival.asked.low, 1)


def _flush_line(arrival: Arrival) -> str:
    flushes = arrival.flushes or Range(0, 0)
    owed = words.owed(arrival.owed) if arrival.owed else "?"
    return plain(
        f"{arrival.step.name}: {count(flushes.low)} flushes for {count(arrival.syncs)} syncs at "
        f"{words.devices(arrival.devices)} ({ratio(arrival.per_sync or 0.0)}, {owed} owed)"
    )


def _byte_line(arrival: Arrival) -> str:
    written = arrival.written or Range(0, 0)
    return plain(
        f"{arrival.step.name}: {size(written.low)} of {size(arrival.step.bytes)} at {words.devices(arrival.devices)} "
        f"({ratio(_arrived_share(arrival))})"
    )


def _cache_lines(arrival: Arrival) -> Iterator[str]:
    barrier = arrival.level.filesystem.reading("barrier")
    if barrier:
        yield words.reading(arrival.level.filesystem, barrier)
    for device in arrival.devices:
        yield words.read(device, "write cache", device.write_cache or "?", f"/sys/block/{device.id}/queue/write_cache")
