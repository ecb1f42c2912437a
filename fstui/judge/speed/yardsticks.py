"""What storage is held against: others of its class, itself before, and the turns of a disk."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median, quantiles

from fstui.judge.facts import Case
from fstui.judge.facts.limits import SLOWEST_RPM, rewrites_per_s, rpm
from fstui.judge.facts.steps import SyncStep
from fstui.judge.references import NEVER_SYNCED, any_class, class_of, expand, operation_of, published
from fstui.judge.speed.comparison import LONG_ENOUGH_S, Comparison, Yardstick, rated
from fstui.judge.speed.reasons import limits_met
from fstui.model.quantities import counted, duration_ns, rate
from fstui.storage.layers import kind

FAR = 2
"""So many times slower than the slowest, and it is no longer one of them."""
ENOUGH_BEFORE = 3
"""Runs before."""
MOST_BLOCK_BYTES = 65536
"""Published are blocks of 512 bytes to 16 KiB; in much larger ones the bytes count, not the sync."""
MOST_TURNS = 10
"""A durable write waits for a few turns and seeks: its data, a journal's record, each with a flush."""


def yardsticks(case: Case) -> tuple[Yardstick, ...]:
    """Those that there are for these steps, the most telling first: what the user named, what it did itself."""
    steps = tuple(rated(case))
    unpaced = tuple(done for done in steps if not done.settings.ops_per_s)
    found = (_own(case, unpaced), _before(case, steps), _of_class(case, unpaced), _turns(case, unpaced))
    slow_at_best = (_limited(case, steps), _of_any_class(case, steps))
    return tuple(one for one in found if one.comparisons) + tuple(one for one in slow_at_best if one.slow)


def _own(case: Case, steps: tuple[SyncStep, ...]) -> Yardstick:
    names = dict.fromkeys(one.name for one in case.evidence.own)
    return Yardstick(f"your own {', '.join(names)}", tuple(_with_own(case, steps)))


def _with_own(case: Case, steps: tuple[SyncStep, ...]) -> Iterator[Comparison]:
    """Below half of the slowest run of the user's own."""
    for done in steps:
        like_it = [one for one in case.evidence.own if one.operation == operation_of(done.settings)]
        if like_it:
            floor = min(one.slowest_per_s for one in like_it) / FAR
            long_enough = done.step.elapsed_s >= LONG_ENOUGH_S
            typical = median(one.per_s for one in like_it)
            evidence = f"of your own it did {rate(typical)}/s (median)"
            yield Comparison(done.step, floor if long_enough else 0.0, floor, evidence)


def _before(case: Case, steps: tuple[SyncStep, ...]) -> Yardstick:
    runs = case.evidence.before
    return Yardstick(f"{counted(len(runs), 'run')} before", tuple(_with_before(case, steps)))


def _with_before(case: Case, steps: tuple[SyncStep, ...]) -> Iterator[Comparison]:
    """Below half of its lower quartile: storage whose rate goes up and down has a low one."""
    for done in steps:
        means = [mean for run in case.evidence.before if (mean := run.mean_ns.get(done.step.name))]
        if len(means) >= ENOUGH_BEFORE:
            floor = 1e9 / quantiles(means, n=4, method="inclusive")[2] / FAR
            slow_below = floor if done.step.elapsed_s >= LONG_ENOUGH_S else 0.0
            paced, typical = done.settings.ops_per_s > 0, median(means)
            did = f"{duration_ns(typical)} each" if paced else f"{rate(1e9 / typical)}/s"
            yield Comparison(done.step, slow_below, floor, f"before it did {did} (median)", paced)


def _of_class(case: Case, steps: tuple[SyncStep, ...]) -> Yardstick:
    """Below half of the slowest published durable write of any kind, for each flush that the filesystem is expected to
    send."""
    known = class_of(case.commit_media)
    if known is None:
        return Yardstick("", ())
    found = (_with_class(case, done, known.slowest_per_s) for done in steps if _is_published(done))
    return Yardstick(known.name, tuple(found))


def _with_class(case: Case, done: SyncStep, slowest: float) -> Comparison:
    same = published(operation_of(done.settings), expand(case.commit_media))
    like_these = max(slowest, same[0].per_s / FAR if same else 0.0)
    floor = slowest / FAR / _work(case, done)
    return Comparison(done.step, floor, like_these / _work(case, done), f"the slowest of them has {rate(slowest)}/s")


def _is_published(done: SyncStep) -> bool:
    operation = operation_of(done.settings)
    return operation is not None and operation not in NEVER_SYNCED and done.settings.block_bytes <= MOST_BLOCK_BYTES


def _work(case: Case, done: SyncStep) -> float:
    """How many times as much as an overwrite in place: flushes expected, copies on write, parity, files that are
    disks."""
    way = case.flushes.of(done)
    flushes = way[0].expected.low if way and way[0].expected else 1
    copies = any(kind(level.filesystem.kind).copies_on_write for level in case.stack.levels)
    parity = any(len(node.below) > 1 and kind(node.kind).may_add_bytes(node) for node in case.stack.nodes)
    return max(1.0, flushes) * (2 if copies else 1) * (3 if parity else 1) * max(1, len(case.stack.levels))


def _turns(case: Case, steps: tuple[SyncStep, ...]) -> Yardstick:
    known = [rpm(device.medium) for device in case.commit_devices if device.medium]
    turns = [each for each in known if each]
    if not turns or len(turns) < len(case.commit_devices):
        return Yardstick("", ())
    slowest = min(turns)
    turn = f"{MOST_TURNS} turns take {duration_ns(MOST_TURNS * 60e9 / slowest)}"
    floors = ((done, slowest / 60 / MOST_TURNS / _work(case, done)) for done in steps)
    return Yardstick(f"{slowest} rpm", tuple(Comparison(done.step, floor, floor, turn) for done, floor in floors))


def _limited(case: Case, steps: tuple[SyncStep, ...]) -> Yardstick:
    """A limit that holds, and that allows fewer writes than the slowest disk turns, is slow whatever is beneath it."""
    turns = rewrites_per_s(SLOWEST_RPM)
    found = (
        (done, any("iops" in limit.what and int(limit.value) < turns for limit in limits_met(case, done.step)))
        for done in steps
        if done.step.elapsed_s >= LONG_ENOUGH_S
    )
    evidence = f"{turns:.0f} turns a second"
    return Yardstick(
        f"a disk of {SLOWEST_RPM} rpm",
        tuple(
            Comparison(done.step, turns if held else 0.0, turns, evidence, done.settings.ops_per_s > 0)
            for done, held in found
        ),
    )


def _of_any_class(case: Case, steps: tuple[SyncStep, ...]) -> Yardstick:
    """Where the class is not known: half of the slowest durable write that was ever published is slow on anything."""
    if class_of(case.commit_media) is not None:
        return Yardstick("", ())
    name, slowest = any_class()
    found = (
        Comparison(
            done.step,
            floor := slowest / FAR / _work(case, done),
            floor,
            f"the slowest of them has {rate(slowest)}/s",
            done.settings.ops_per_s > 0,
        )
        for done in steps
        if done.settings.sync_every == 1
        and done.settings.block_bytes <= MOST_BLOCK_BYTES
        and done.step.elapsed_s >= LONG_ENOUGH_S
    )
    return Yardstick(name, tuple(found))
