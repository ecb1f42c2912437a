"""Rules 0, 9 and 10: did what was synced arrive below? Counted on every level of the stack on the way down."""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.counting import Arrival, idle_flushes_per_s, proves_bytes
from fstui.judge.descents import Descent, descents, lacking_bytes, lacking_flushes, undirected
from fstui.judge.owed import without_journal
from fstui.judge.steps import names, time_measured
from fstui.model import Confidence, Evidence, Finding, Idle
from fstui.quantities import count, plain, rate, ratio, size

_LOOK_FOR_FILTER = (
    "Look for a filter that swallows the sync calls: grep Seccomp /proc/self/status. A container may have been started "
    "with syncs suppressed: repeat outside it."
)
_WITHOUT_JOURNAL = (
    "ext4 without a journal sends no flush for fdatasync and O_DSYNC on Linux 6.1, and does on 6.18: give it a journal "
    "(tune2fs -O has_journal) or take a newer kernel."
)


def flushes_missing(evidence: Evidence) -> Iterator[Finding]:
    """Rule 9: barriers on, cache on, and the flushes that the filesystem owes did not arrive."""
    lacking = lacking_flushes(descents(evidence))
    if lacking:
        worst = min(lacking, key=lambda arrival: arrival.per_sync)
        where, share = words.devices(worst.devices), ratio(worst.per_sync)
        yield Finding(
            rule="flushes-missing",
            verdict="not-durable",
            confidence="high",
            scope="storage",
            title=f"{share} flushes per sync at {where}, {words.owed(worst.owed)} owed",
            sentence=f"{count(worst.syncs)} syncs ({plain(worst.step.name)}) reached {where} as "
            f"{count(worst.per_sync * worst.syncs)} flushes in {time_measured([worst.step])}: {share} each, where "
            f"{words.named(worst.level.filesystem)} owes {words.owed(worst.owed)}. {_by_whom(worst)} drops "
            "them, so a power cut loses what the write cache holds.",
            steps=names(arrival.step for arrival in lacking),
            because=(*map(_flushes_of, lacking), *_cache_beneath(worst)),
            next=(
                *([_WITHOUT_JOURNAL] if without_journal(worst.level.filesystem) else []),
                _LOOK_FOR_FILTER,
                "Repeat on another filesystem of the same disk: the same there points at the disk's driver.",
            ),
        )


def _by_whom(arrival: Arrival) -> str:
    if without_journal(arrival.level.filesystem):
        return "The filesystem itself, or something below it,"
    return "Something above the driver"


def bytes_missing(evidence: Evidence) -> Iterator[Finding]:
    """Rule 10: what was synced never reached the device; for O_DIRECT alone, it was only not direct."""
    lacking = lacking_bytes(descents(evidence))
    if lacking:
        worst = min(lacking, key=lambda arrival: arrival.byte_share)
        where, asked, got = words.devices(worst.devices), size(worst.step.bytes), size(worst.arrived_bytes)
        yield Finding(
            rule="bytes-missing",
            verdict="not-durable",
            confidence="high",
            scope="storage",
            title=f"{got} of {asked} reached {where}",
            sentence=f"Of {asked} written and synced ({plain(worst.step.name)}), {got} reached {where} in "
            f"{time_measured([worst.step])} ({ratio(worst.byte_share)}): a cache above the device holds the rest and "
            "answered the syncs.",
            steps=names(arrival.step for arrival in lacking),
            because=tuple(map(_bytes_of, lacking)),
            next=(
                _LOOK_FOR_FILTER,
                "Look for a caching layer between the filesystem and the device: lsblk -s, dmsetup table.",
            ),
        )
    yield from _not_direct(undirected(evidence))


def flushes_arrive(evidence: Evidence) -> Iterator[Finding]:
    """Rule 0: every sync arrived as the flushes it owes, with its bytes, as far down as can be counted."""
    steps = descents(evidence)
    owing = [down for down in steps if down[0].owed and down[0].owed.low > 0 and down[0].flushes]
    if not owing or lacking_flushes(steps) or lacking_bytes(steps):
        return
    # where the filesystem may owe one flush or two, a neighbour can hide in the difference
    exact = [down for down in owing if down[0].owed and down[0].owed.low == down[0].owed.high] or owing
    depth = _proven_depth(exact, evidence.idle)
    if depth:
        yield _arrived(exact, depth, evidence)
    elif any(down[0].noisy(evidence.idle) for down in exact):
        yield _drowned([down[0] for down in exact], evidence.idle)


def _proven_depth(steps: list[Descent], idle: Idle | None) -> int:
    """How many levels, from the top, more steps prove than others' writes spoil."""
    depth = 0
    for level in zip(*steps, strict=True):
        if sum(arrival.proves(idle) for arrival in level) <= sum(arrival.noisy(idle) for arrival in level):
            break
        depth += 1
    return depth


def _arrived(steps: list[Descent], depth: int, evidence: Evidence) -> Finding:
    idle = evidence.idle
    proven = [down for down in steps if down[depth - 1].proves(idle)]
    last = [down[depth - 1] for down in proven]
    where, shares = words.devices(last[0].devices), words.between([arrival.per_sync for arrival in last])
    unproven = _unproven([down[depth] for down in steps if depth < len(down)], idle)
    unsampled = idle_flushes_per_s(last[0].devices, idle) is None
    confidence: Confidence = "low" if unproven or unsampled or evidence.host.virtualization else "medium"
    return Finding(
        rule="flushes-arrive",
        verdict="consistent",
        confidence=confidence,
        scope="storage",
        title=f"{shares} flushes per sync at {where}",
        sentence=f"{count(sum(arrival.syncs for arrival in last))} syncs reached {where} as {shares} flushes each "
        f"({words.owed(last[0].owed)} owed){_bytes_too(last)}. {unproven}This covers "
        f"{time_measured(arrival.step for arrival in last)}; only a power cut proves more.",
        steps=names(arrival.step for arrival in last),
        because=(
            *(_flushes_of(arrival) for down in proven for arrival in down[:depth]),
            *(("idle: not measured, so other writers cannot be excluded",) if unsampled else ()),
        ),
        next=("Cut the power in the middle of acknowledged writes, with a witness on another box.",),
    )


def _bytes_too(arrivals: list[Arrival]) -> str:
    if not proves_bytes(arrivals[0].level.filesystem) or not all(arrival.asked.low for arrival in arrivals):
        return ""
    asked = sum(arrival.step.bytes for arrival in arrivals)
    got = sum(arrival.arrived_bytes for arrival in arrivals)
    return f", and {f'all {size(asked)}' if got >= asked else f'{size(got)} of {size(asked)}'} arrived"


def _unproven(level: list[Arrival], idle: Idle | None) -> str:
    """The sentence about the first level that proves nothing; empty where all was proven."""
    if not level:
        return ""
    where = words.devices(level[0].level.devices) or words.named(level[0].level.filesystem)
    if any(arrival.noisy(idle) for arrival in level):
        return f"At {where}, further down, others write too, so nothing is proven there. "
    if any(arrival.flushes is None for arrival in level):
        return f"Further down, {where} counts no flushes, so nothing is proven there. "
    if any(arrival.owed == (0, 0) for arrival in level):
        return f"Further down, {where} is owed none: the kernel takes it for “write through”. "
    return f"Further down, at {where}, it is not known what is owed, so nothing is proven there. "


def _drowned(arrivals: list[Arrival], idle: Idle | None) -> Finding:
    where = words.devices(arrivals[0].devices)
    shares = words.between([arrival.most_per_sync for arrival in arrivals])
    per_s = idle_flushes_per_s(arrivals[0].devices, idle)
    who = f"Somebody else wrote to {where} meanwhile, or a layer between adds flushes of its own"
    if per_s:
        writers = f": {words.writers(idle)}" if idle and idle.writers else ""
        who = f"Others write to {where} ({rate(per_s)} flushes/s while fstui was idle){writers}"
    surplus = sum(arrival.surplus_bytes for arrival in arrivals)
    bytes_too = f", and {size(surplus)} more than was written" if surplus else ""
    return Finding(
        rule="flushes-arrive",
        verdict="cannot-tell",
        confidence="low",
        scope="storage",
        title=f"{shares} flushes per sync at {where}, not all ours",
        sentence=f"{who}. In {time_measured(arrival.step for arrival in arrivals)} {shares} flushes arrived per sync "
        f"({words.owed(arrivals[0].owed)} owed){bytes_too}: theirs cannot be told from ours.",
        steps=names(arrival.step for arrival in arrivals),
        because=tuple(map(_flushes_of, arrivals)),
        next=(f"Stop the other writers on {where}, or use a disk of its own, and run again.",),
    )


def _not_direct(found: list[Arrival]) -> Iterator[Finding]:
    if found:
        worst = min(found, key=lambda arrival: arrival.byte_share)
        where, asked, got = words.devices(worst.devices), size(worst.step.bytes), size(worst.arrived_bytes)
        yield Finding(
            rule="bytes-missing",
            verdict=None,
            confidence="high",
            scope="step",
            title=f"not direct: {got} of {asked} at {where}",
            sentence=f"O_DIRECT was not direct here: of {asked}, {got} had reached {where} in "
            f"{time_measured([worst.step])}. A layer above keeps the rest in memory, so this rate is not the disk's.",
            steps=names(arrival.step for arrival in found),
            because=tuple(map(_bytes_of, found)),
            next=("A loop device: losetup --direct-io=on. ext4 data=journal: O_DIRECT is buffered there.",),
        )


def _flushes_of(arrival: Arrival) -> str:
    received = f"{count(arrival.per_sync * arrival.syncs)} flushes for {count(arrival.syncs)} syncs"
    return plain(
        f"{arrival.step.name}: {received} at {words.devices(arrival.devices)} "
        f"({ratio(arrival.per_sync)}, {words.owed(arrival.owed)} owed)"
    )


def _bytes_of(arrival: Arrival) -> str:
    received = f"{size(arrival.arrived_bytes)} of {size(arrival.step.bytes)}"
    return plain(f"{arrival.step.name}: {received} at {words.devices(arrival.devices)} ({ratio(arrival.byte_share)})")


def _cache_beneath(arrival: Arrival) -> Iterator[str]:
    barrier = arrival.level.filesystem.reading("barrier")
    if barrier:
        yield words.reading(arrival.level.filesystem, barrier)
    yield from map(words.write_cache, arrival.devices)
