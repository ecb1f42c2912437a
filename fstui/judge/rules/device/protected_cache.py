"""*plausible: high confidence where the model says so on real hardware, medium where you do, else low*

## What it means
The drive has power-loss protection, is Optane, or says that it has no volatile cache. A cheap flush is then as it
should be: it has nothing to do.

## How it was measured
The model table, your declaration, or NVMe's `vwc`; the flush adds less than twice what an O_DIRECT write takes, at no
more than 100 000 synced writes a second. Of a write-back cache (bcache, dm-cache, SLOG) the fast device counts.

## What it proves, and what not
It is plausible, not proven: capacitors age, and a declaration is only as good as who made it.

## What to do next
Check the drive's health (`smartctl -a`). To prove it: a power cut with a witness.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.costs import Cost, added
from fstui.model.judgement import Confidence, Finding
from fstui.model.quantities import duration_ns
from fstui.model.storage import Node
from fstui.storage.layers.devices.caches import has_none, safe_drive

CACHE_PER_S = 100_000
"""Beyond this no protected cache behind a bus answers one writer at a time."""


@rule(place=50)
def protected_cache(case: Case) -> Iterator[Finding]:
    """A cache that outlives a power cut may answer a flush at once."""
    devices, write, flushed = case.commit_devices, case.costs.write, case.costs.synced
    fastest = case.costs.fastest_synced
    if not devices or not all(map(safe_drive, devices)) or not (write and flushed and fastest):
        return
    if flushed.ns - write.ns < 2 * write.ns and fastest.rate_per_s <= CACHE_PER_S:
        yield _as_it_should_be(case, devices, write, flushed)


def _as_it_should_be(case: Case, devices: tuple[Node, ...], write: Cost, flushed: Cost) -> Finding:
    steps, kinds, adds = (
        [write.step, flushed.step],
        words.listed(dict.fromkeys(map(_kind, devices))),
        added(write, flushed),
    )
    return Finding(
        rule="protected-cache",
        verdict="plausible",
        confidence=_sure(case),
        scope="storage",
        title=f"a flush adds {adds}, on {kinds}",
        sentence=f"A flush adds {adds} to a write of {duration_ns(write.ns)} at {words.devices(devices)} "
        f"({words.time_measured(steps)}). On {kinds} that is as it should be: durable, if its cache outlives a power "
        f"cut as it claims.{case.lowest_devices.doubt()}",
        steps=words.names(steps),
        because=(write.because, flushed.because, *map(words.medium, devices)),
        next=("Check the drive's health: smartctl -a shows whether its capacitor still holds.", words.CUT_THE_POWER),
    )


def _sure(case: Case) -> Confidence:
    """What holds the data later counts as well; and bytes that were never counted there may be in a memory above."""
    bottom = case.flushes.bytes_at_the_bottom
    if not case.lowest_devices.verified or not bottom:
        return "low"
    return "medium" if any(node.medium and node.medium.declared for node in case.lowest_devices.all) else "high"


def _kind(node: Node) -> str:
    if node.medium and node.medium.class_ == "optane":
        return "Optane"
    return "a drive without a volatile cache" if has_none(node) else "a power-loss-protected drive"
