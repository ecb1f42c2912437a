"""Rates and latencies that are worth a note."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.judge.facts.rate_change import RateChange, rate_change
from fstui.judge.facts.steps import has_rate
from fstui.judge.references import Operation, Reference, operation_of, own_references, published
from fstui.model.quantities import count, counted, duration_ns, rate, seconds, size
from fstui.model.steps import Latency, Step

FAR = 2
"""How many times slower than the slowest published rate a step must be."""
ENOUGH = 3
"""Fewer published measurements of the same kind are no basis for a comparison."""


@rule(order=130, said_first=True)
def sync_latency(case: Case) -> Iterator[Conclusion]:
    """*a note: how long one write with its sync takes*

    ## What it means
    The scenario makes a fixed number of synced writes per second, so its rate says nothing about the disk. What counts
    is how long each write took: the median (p50), the tail (p99, from 100 operations on) and the longest.

    ## How it was measured
    Each write was timed together with its sync by the monotonic clock, one at a time.

    ## What it proves, and what it does not
    It is the latency during these seconds, on a disk that other processes may use. It says nothing about durability.

    ## What to do next
    Keep it running while you change something. If the longest operation is far above the p50:

    - with requests in flight at the device, look at the device or its host
    - without them, look at the filesystem's journal or a limit
    """
    if case.evidence.rate_limit:  # A rate limit paces every step, so that the pace is not the scenario's.
        return
    for done in case.steps.measured:
        took = done.step.latency_ns
        if done.settings.ops_per_s and done.call and took is not None and not case.configuration.stub_signs:
            yield _took(done.step, took, done.syncs)


def _took(step: Step, took: Latency, syncs: int) -> Conclusion:
    p50, worst = duration_ns(took.p50), duration_ns(took.max)
    p99 = f", p99 {duration_ns(took.p99)}" if took.p99 is not None else ""
    return Conclusion(
        title=f"p50 {p50}{p99}, worst {worst}",
        sentence=f"A write with its sync took {p50} (p50{p99}), at worst {worst}: {count(syncs)} of them in "
        f"{words.time_measured([step])}.",
        scope="step",
        steps=[step],
        because=(f"{step.name}: p50 {p50}{p99}, max {worst}",),
    )


@rule(order=80)
def stalls(case: Case) -> Iterator[Conclusion]:
    """*a note*

    ## What it means
    Some operations took far longer than the rest, and every writer waited for them.

    ## How it was measured
    By the number of these operations and the time they took, per step.

    ## What it proves, and what it does not
    The probe waits for each operation, so a stall of two seconds is one sample. Percentiles hide it; the time lost does
    not. The cause may be the disk, a limit of the cgroup, the host or another writer.

    ## What to do next
    Run for longer and watch the device. Look at `dmesg` and at the io limits of the cgroup.
    """
    steps = [step for step in case.steps.all if step.stalls.count]
    if steps:
        number = sum(step.stalls.count for step in steps)
        lost = seconds(sum(step.stalls.lost_s for step in steps))  # of all writers, so it may exceed the measured time
        writers = max(step.writers for step in steps)
        in_total = f"{lost} summed over {writers} writers" if writers > 1 else f"{lost} in total"
        yield Conclusion(
            title=f"{counted(number, 'stall')}, {lost} in total",
            sentence=f"{counted(number, 'operation')} stalled, for {in_total}; the "
            f"{'step' if len(steps) == 1 else 'steps'} took {seconds(sum(step.elapsed_s for step in steps))}. The "
            f"percentiles count {'it' if number == 1 else 'each of them'} only once.",
            scope="step",
            steps=steps,
            because=(
                f"{step.name}: {counted(step.stalls.count, 'stall')}, {seconds(step.stalls.lost_s)}" for step in steps
            ),
        )


@rule(order=90)
def rate_changed(case: Case) -> Iterator[Conclusion]:
    """*a note*

    ## What it means
    The rate of a long step changed permanently: "fell from 7 400/s to 28/s after 3.1 GiB". Typical causes are burst
    credits, a fast (SLC) cache on the drive, or a log device that drains to a slow disk.

    ## How it was measured
    The step's timeline of about 60 intervals is split where two medians fit it best. It is a change if:

    - the step lasted at least 10 s, with five intervals before the change and ten after it
    - the medians differ by more than a factor of 2, and the middle halves do not overlap
    - the two medians explain more than half of the variation around a single one

    ## What it proves, and what it does not
    Plan with the later rate: you will not keep the earlier one. Single stalls and a rate that goes up and down are not
    reported. Slower changes need a longer run.

    ## What to do next
    Run `sustained` for as long as your busiest hour: `--set seconds=3600`.
    """
    if case.evidence.rate_limit:  # fstui paused for other processes, which may explain the change.
        return
    for done in case.steps.measured:
        found = rate_change(done)
        if found:
            yield _changed(done.step, found)


def _changed(step: Step, found: RateChange) -> Conclusion:
    before, after, at = rate(found.before_per_s), rate(found.after_per_s), seconds(found.at_s)
    fell = found.after_per_s < found.before_per_s
    what = f"{'fell' if fell else 'rose'} from {before}/s to {after}/s after {size(found.after_bytes)}"
    meaning = (
        "Burst credits, a fast cache on the drive or a log device may be used up: plan with the later rate."
        if fell
        else "A cause such as another writer, a rebuild or a limit may have ended."
    )
    return Conclusion(
        title=what,
        sentence=f"{step.name} {what}, {at} into {words.time_measured([step])}, and stayed there. {meaning}",
        scope="step",
        steps=[step],
        because=(
            f"{step.name}: median {before}/s in the first {at}",
            f"{step.name}: median {after}/s after that",
        ),
    )


class _Class(NamedTuple):
    slowest: Reference
    whose: str
    """``12 published rates for ssd``, ``your own db hosts``"""
    in_short: str
    """``published``, ``of your own db hosts``"""


class _Slow(NamedTuple):
    step: Step
    reference: _Class

    @property
    def share(self) -> float:
        return self.step.rate_per_s / self.reference.slowest.per_s


@rule(order=10)
def slower_than_class(case: Case) -> Iterator[Conclusion]:
    """*a note*

    ## What it means
    The rate is less than half of the slowest one published for the same operation on the same class of medium. Slow
    does not mean not durable; it has a cause.

    ## How it was measured
    - your own references for such storage (`fstui references add`), if there are any
    - otherwise the library of `fstui references`, if it has at least three measurements of that kind

    ## What it proves, and what it does not
    It says nothing about durability. Some RAID controllers with a battery are slow on purpose, and SMR disks are slow
    once their cache is full.

    ## What to do next
    Look at:

    - io limits of the cgroup (`io.max`), limits of the cloud volume and instance, burst credits
    - SMR, thin provisioning, RAID5 read-modify-write
    - other processes that use the disk
    """
    if case.evidence.rate_limit or case.configuration.breaks_sync:
        return
    slow = list(_slow(case))
    if slow:
        yield _slower(case, slow)


def _slow(case: Case) -> Iterator[_Slow]:
    for step, settings in case.steps.synced:
        operation = operation_of(settings)
        its_class = _class_of(case, operation) if operation else None
        if its_class and has_rate(step) and 0 < FAR * step.rate_per_s < its_class.slowest.per_s:
            yield _Slow(step, its_class)


def _class_of(case: Case, operation: Operation) -> _Class | None:
    """Return the user's own references, otherwise the published ones, otherwise None."""
    if own := own_references(case, operation):
        whose = f"your own {words.listed(dict.fromkeys(one.device for one in own))}"
        return _Class(own[0], whose, f"of {whose}")
    if not case.commit_media or "unknown" in case.commit_media:
        return None
    found = published(operation, case.commit_media)
    whose = f"{count(len(found))} published rates for {words.listed(sorted(case.commit_media))}"
    return _Class(found[0], whose, "published") if len(found) >= ENOUGH else None


def _slower(case: Case, slow: list[_Slow]) -> Conclusion:
    step, (slowest, whose, in_short) = min(slow, key=lambda found: found.share)
    per_s, limits = rate(step.rate_per_s), tuple(words.io_limits(case.evidence.process, "io limit"))
    return Conclusion(
        title=f"{per_s}/s, slowest {in_short} {rate(slowest.per_s)}/s",
        sentence=f"{step.name} did {per_s}/s in {words.time_measured([step])}; the slowest of {whose} was "
        f"{rate(slowest.per_s)}/s. Slow does not mean not durable: something limits the storage, or it is busy.",
        confidence="medium",
        steps=(found.step for found in slow),
        because=(
            *(f"{found.step.name}: {rate(found.step.rate_per_s)}/s" for found in slow),
            f"slowest {in_short}: {slowest.device}, {rate(slowest.per_s)}/s ({slowest.source})",
            *limits,
        ),
        next=(
            "Raise the io limits of this process, or run outside its cgroup."
            if limits
            else "Look for io limits: io.max of the cgroup, limits of the cloud volume or instance, its burst credits.",
            f"Check {words.devices(case.commit_devices)} for SMR, thin provisioning, RAID5 read-modify-write and a "
            "cache that is switched off.",
        ),
    )
