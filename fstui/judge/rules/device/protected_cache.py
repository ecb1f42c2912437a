"""* plausible, high confidence: fstui knows the drive's model
* plausible, medium confidence: you declared the medium
* plausible, low confidence: in a virtual machine, or if bytes may be in a cache above the drive

## What it means
The drive has power-loss protection or is Optane, so it is normal that a sync adds little time, whether
the kernel sends a flush or not.

## How it was measured
All of these are true:

- The model or your declaration shows that the drive loses nothing in a power cut.
- A sync adds less than twice the time of an O_DIRECT write.
- The fastest step did at most 100 000 synced writes per second. A higher rate would be the speed of memory.

## What it proves, and what it does not
Acknowledged data survives a power cut if the protection works. fstui cannot confirm that: capacitors wear out, and a
declaration may be wrong.

## What to do next
Check the drive's health (`smartctl -a DEVICE`). For stronger evidence, run a power-cut test: `fstui powercut`.
"""

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.judge.facts.costs import CACHE_PER_S, added_time
from fstui.model.judgement import Confidence
from fstui.model.quantities import duration_ns
from fstui.storage.layers.devices.caches import is_optane, is_safe_drive


@rule(order=50)
def protected_cache(case: Case) -> Iterator[Conclusion]:
    devices, write, flushed = case.stack.commit_devices, case.costs.write, case.costs.synced
    fastest = case.costs.fastest_synced
    if not devices or not all(map(is_safe_drive, devices)) or not (write and flushed and fastest):
        return
    if flushed.ns - write.ns >= 2 * write.ns or fastest.rate_per_s > CACHE_PER_S:
        return
    names = ("Optane" if is_optane(node) else "a power-loss-protected drive" for node in devices)
    steps, kinds = [write.step, flushed.step], words.join_words(dict.fromkeys(names))
    claim = "it has no volatile cache" if all(map(is_optane, devices)) else "its cache survives a power cut"
    added = added_time(write, flushed)
    yield Conclusion(
        title=f"a sync adds {added}, on {kinds}",
        sentence=f"A sync adds {added} to a write of {duration_ns(write.ns)} at {words.devices(devices)} "
        f"(in {words.time_measured(steps)}). That is normal on {kinds}. The write is durable if the drive's claim is "
        f"true: {claim}.{case.lowest_devices.doubt()}",
        verdict="plausible",
        confidence=_confidence(case),
        steps=steps,
        evidence=(write.evidence, flushed.evidence, *map(words.medium, devices)),
        next=(*dict.fromkeys(map(words.check_health, devices)), words.CUT_THE_POWER),
    )


def _confidence(case: Case) -> Confidence:
    """Return low if one of the lowest devices is not known to be safe, or if bytes may be in memory above the drive."""
    if not case.lowest_devices.verified or not case.flushes.bytes_complete_at_lowest:
        return "low"
    return "medium" if any(node.medium and node.medium.declared for node in case.lowest_devices.all) else "high"
