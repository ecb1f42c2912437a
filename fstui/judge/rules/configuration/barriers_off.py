"""*not-durable where a write cache is on; plausible where it is protected (medium) or there is none (low); else
cannot-tell*

## What it means
The filesystem was told to send no flushes (`nobarrier`, `barrier=0`; ZFS: `zfs_nocacheflush`). An fsync returns when
the device has accepted the data, not when it is safe.

## How it was measured
ext4: `/proc/fs/ext4/DEVICE/options`, which always states it; others: `/proc/self/mountinfo`. The caches beneath:
`/sys/block/X/queue/write_cache` of every disk and loop device; where the kernel has none (before Linux 4.7), the
driver's or the drive's own word.

## What it proves, and what not
With a volatile cache beneath, syncs are not durable. Behind a controller or a storage array (by its name) whose
cache survives a power cut, or where no device has a cache, it may be: a claim that nothing here can check. A volume
of an unknown name may have such a cache where the driver is a RAID controller's, and by Fibre Channel: *cannot-tell*.
Of a filesystem that holds one member of a btrfs or ZFS mirror with checksums it is a note: what the others flushed is
read.

## What to do next
Turn barriers on and run again. Behind a RAID controller: check that the battery or capacitor is healthy, and that the
write caches of the drives themselves are off.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.without_barriers import WithoutBarriers
from fstui.model.judgement import Confidence, Finding, Verdict
from fstui.model.storage import Node
from fstui.storage.layers import kind
from fstui.storage.layers.devices.caches import has_cache, protected_cache, volatile_cache


class _Said(NamedTuple):
    verdict: Verdict | None
    title: str
    sentence: str
    next: tuple[str, ...]


@rule(place=50)
def barriers_off(case: Case) -> Iterator[Finding]:
    """The filesystem sends no flushes. What that means depends on the caches beneath."""
    for found in case.configuration.without_barriers:
        said = _by_the_caches(found, case.arrivals.returned_early)
        yield Finding(
            rule="barriers-off",
            verdict=said.verdict,
            confidence=_sure(case, said.verdict),
            scope="storage",
            title=said.title,
            sentence=said.sentence,
            because=(
                words.reading(found.filesystem, found.barrier),
                *map(_cache_line, found.caches),
                *case.arrivals.of_ours,
            ),
            next=said.next,
        )


def _sure(case: Case, verdict: Verdict | None) -> Confidence:
    if verdict == "plausible":
        return "medium" if case.holders.vouched else "low"
    return "high" if verdict in {"not-durable", None} else "medium"


def _by_the_caches(found: WithoutBarriers, early: str) -> _Said:
    off_here = f"{words.named(found.filesystem)} sends no flushes (barriers off)"
    if found.loses_data:
        to = f"{off_here} to {words.devices(found.on)}, whose write cache is on: {early}."
        return _Said("not-durable", "barriers off", to, (_barriers_on(found),))
    if found.corrected:
        copies = (
            f"{off_here}. What it holds is elsewhere too, and checksums tell which copy is right: a power cut loses no "
            "data, but until a scrub it is there once fewer."
        )
        return _Said(None, "barriers off, and doubled", copies, (_barriers_on(found),))
    outlives = f"{off_here}: durable only if the cache of {words.devices(found.on)} really outlives a power cut"
    if found.hidden:
        unsure = f"{outlives}, and no name tells whether its controller has a battery."
        return _Said("cannot-tell", "barriers off behind a controller", unsure, words.CHECK_CONTROLLER)
    if found.on:
        return _Said("plausible", "barriers off above a protected cache", f"{outlives}.", words.CHECK_CONTROLLER)
    if found.caches and len(found.off) == len(found.caches) and not found.unheard:
        return _Said(
            "plausible",
            "barriers off, no write cache beneath",
            f"{off_here}: durable if {words.devices(found.off)} really has no volatile write cache, as it says.",
            (f"{_barriers_on(found)} Where there is no cache they cost nothing.",),
        )
    unknown = f"{off_here}, and what lies beneath does not say whether it has a write cache."
    if found.unheard:
        unknown = f"{off_here}, and the host of {words.devices(found.unheard)} offers none: what it keeps is up to it."
    return _Said("cannot-tell", "barriers off, caches beneath unknown", unknown, (_barriers_on(found),))


def _barriers_on(found: WithoutBarriers) -> str:
    option = kind(found.filesystem.kind).barriers_on
    if option is None:
        return f"echo 0 > {found.barrier.path}, then run fsync-rate there."
    return f"mount -o remount,{option} {found.filesystem.name}, then run fsync-rate there."


def _cache_line(node: Node) -> str:
    protected = f", {node.medium.because or node.medium.class_}" if node.medium and protected_cache(node) else ""
    told = volatile_cache(node)
    better = told is not None and (node.write_cache is None or (told.value and not has_cache(node)))
    return (words.reading(node, told.reading) if told and better else words.write_cache(node)) + protected
