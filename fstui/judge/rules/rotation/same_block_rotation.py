"""*consistent up to 1.5 times the limit, suspicious beyond*

## What it means
A rotating disk sees one block once per turn: 5400 rpm allow 90 durable rewrites a second, 7200 rpm 120, 10 000 rpm 166,
15 000 rpm 250. A disk that is faster has a cache that survives a power cut, or it says "done" before it is.

## How it was measured
One block overwritten and synced again and again by one writer: a turn each. Every other step that syncs each write
before the next is asked as well: half a turn each on average at random offsets, nearly a whole one for the block that
follows, so twice the limit is allowed. The revolutions are those the drive states (SCSI VPD page B1, ATA) or that you
declared; for one that does not say, and has a hard disk's name, 15 000 are assumed: a memory card, a RAID of SSDs on
AHCI or an array that says nothing is "rotational" as well. Never from `rotational=1` of a virtual disk. Silent above
copy-on-write filesystems, caches and RAID controllers, and where a SAN or an unknown adapter states the turns of disks
that an array may stand before. Several writers may share a turn (group commit), so their rate is never held against it.
A disk whose model may append to a log on its platters (a media cache, shingled tracks), or that nobody knows by its
name, waits for no block: it may answer after 473 µs; one with flash of its own after 200 µs, as flash is programmed.

## What it proves, and what not
Up to 1.1 times the limit the disk behaves like a platter: medium confidence where every lowest device took half of that
time itself (fields 8 and 17 of `/sys/block/X/stat`), else low. Beyond 1.5 times, something answers early; above 5 times
with all flushes arriving it is the device or the host behind it. It does not tell an honest non-volatile cache from a
lie: some hard disks keep their cache in flash, so it is high confidence only of a disk that you declared, and nothing
is said of the models that are known to.

## What to do next
Switch the drive's write cache off and repeat. VirtualBox: set IgnoreFlush to 0 for the disk. To prove it: a power cut
with a witness.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.rotation import FAR_BEYOND, Pace, fastest
from fstui.model.judgement import Confidence, Finding
from fstui.model.quantities import rate, ratio, size

WITHIN = 1.1


@rule(place=10)
def same_block_rotation(case: Case) -> Iterator[Finding]:
    """One block rewritten and synced, against the turns of the platter."""
    if case.rotation.too_fast:
        same = tuple(pace for pace in case.rotation.too_fast if pace.same)
        yield _too_fast(case, same or case.rotation.too_fast)
    elif case.rotation.same_block:
        yield _no_faster(case, fastest(case.rotation.same_block))


def _no_faster(case: Case, pace: Pace) -> Finding:
    paces = case.rotation.same_block
    held_back = case.evidence.process.io_limits or case.others.while_idle
    low = pace.times > WITHIN or pace.platter.assumed or held_back or not case.lowest_devices.verified
    confidence: Confidence = "low" if low else "medium"
    per_s = rate(pace.step.rate_per_s)
    return Finding(
        rule="same-block-rotation",
        verdict="consistent",
        confidence=confidence,
        scope="storage",
        title=f"{per_s}/s, {pace.allowance}",
        sentence=f"One block was rewritten and synced {per_s} times a second, and {pace.allowance}: no faster than a "
        f"platter. This covers {words.time_measured(pace.step for pace in paces)}; only a power cut proves more."
        f"{case.lowest_devices.doubt()}",
        steps=words.names(pace.step for pace in paces),
        because=(*(pace.because for pace in paces), *pace.platter.because),
        next=(words.CUT_THE_POWER,),
    )


def _too_fast(case: Case, paces: tuple[Pace, ...]) -> Finding:
    worst = fastest(paces)
    step, platter = worst.step, worst.platter
    as_expected = case.flushes.as_expected(step)
    per_s = rate(step.rate_per_s)
    return Finding(
        rule="same-block-rotation",
        verdict="suspicious",
        confidence="high" if worst.times > FAR_BEYOND and as_expected and platter.declared else "medium",
        scope="storage",
        title=f"{per_s}/s, {worst.allowance}",
        sentence=f"{_what(worst)} synced {per_s} times a second in {words.time_measured([step])}; a disk of "
        f"{platter.turns} {'turns' if platter.writes == 'in place' else 'can do so'} {rate(platter.per_s)} times: "
        f"{worst.times:.1f} × what it can do. "
        f"{_who_answers(case, worst)}",
        steps=words.names(pace.step for pace in paces),
        because=(*(pace.because for pace in paces), *platter.because),
        next=(
            *words.hypervisor(case.host),
            *case.rotation.switch_cache_off,
            words.CUT_THE_POWER,
        ),
    )


def _what(pace: Pace) -> str:
    block = size(pace.step.bytes / max(pace.step.ops, 1))
    return (
        f"One {block} block was rewritten and" if pace.same else f"{block} blocks ({pace.step.name}) were written and"
    )


def _who_answers(case: Case, worst: Pace) -> str:
    way = case.flushes.counting_levels(worst.step)
    if not case.flushes.as_expected(worst.step) or not way[-1].per_sync:
        return "A non-volatile cache, or a lie."
    where = words.devices(way[-1].devices)
    return (
        f"Each sync reached {where} as a flush ({ratio(way[-1].per_sync)}), so the early answer comes from {where} or "
        "from what is behind it: a non-volatile cache, or a lie."
    )
