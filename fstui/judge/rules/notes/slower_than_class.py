"""*a note*

## What it means
The rate is less than half of the slowest that was published of the same operation on the same class of medium. Slow is
never a lie; it has a cause.

## How it was measured
The user's own references for such storage (`fstui references add`); else the library of `fstui references`, where it
has at least three measurements of that kind.

## What it proves, and what not
It says nothing of honesty. Battery-backed controllers may be slow on purpose, SMR disks once their cache is full.

## What to do next
Look at io limits of the cgroup (`io.max`), caps of the cloud's volume and instance, burst credits, SMR, thin
provisioning, RAID5 read-modify-write, and at who else uses the disk.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.process import io_limits
from fstui.judge.facts.steps import has_rate
from fstui.judge.references import Operation, Reference, beside, operation_of, published
from fstui.model.judgement import Finding
from fstui.model.quantities import count, rate
from fstui.model.steps import Step

FAR = 2
"""So many times slower than the slowest that was published."""
ENOUGH = 3
"""Published measurements of the same kind: fewer are no class."""


class _Class(NamedTuple):
    slowest: Reference
    whose: str
    """``12 published on ssd``, ``your own db hosts``"""
    in_short: str
    """``published``, ``of your own db hosts``"""


class _Slow(NamedTuple):
    step: Step
    beside: _Class

    @property
    def share(self) -> float:
        return self.step.rate_per_s / self.beside.slowest.per_s


@rule(place=10)
def slower_than_class(case: Case) -> Iterator[Finding]:
    """Far below everything published of the same operation on the same class of medium."""
    if case.evidence.rate_limit:  # the pace was fstui's own
        return
    if case.configuration.breaks_sync:
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
    """What it is held against: the user's own before the published."""
    if own := beside(case, operation):
        whose = f"your own {words.listed(dict.fromkeys(one.device for one in own))}"
        return _Class(own[0], whose, f"of {whose}")
    if not case.commit_media or "unknown" in case.commit_media:
        return None
    found = published(operation, case.commit_media)
    whose = f"{count(len(found))} published on {words.listed(sorted(case.commit_media))}"
    return _Class(found[0], whose, "published") if len(found) >= ENOUGH else None


def _slower(case: Case, slow: list[_Slow]) -> Finding:
    step, (slowest, whose, in_short) = min(slow, key=lambda found: found.share)
    per_s, limits = rate(step.rate_per_s), tuple(io_limits(case.evidence.process, "io limit"))
    return Finding(
        rule="slower-than-class",
        verdict=None,
        confidence="medium",
        scope="storage",
        title=f"{per_s}/s, the slowest {in_short} has {rate(slowest.per_s)}/s",
        sentence=f"{step.name} did {per_s}/s in {words.time_measured([step])}; the slowest of {whose} has "
        f"{rate(slowest.per_s)}/s. "
        "Slow is no lie: something limits it, or the disk is busy.",
        steps=words.names(found.step for found in slow),
        because=(
            *(f"{found.step.name}: {rate(found.step.rate_per_s)}/s" for found in slow),
            f"slowest {in_short}: {slowest.device}, {rate(slowest.per_s)}/s ({slowest.source})",
            *limits,
        ),
        next=(
            "Raise the io limits of this process, or run outside its cgroup."
            if limits
            else "Look for io limits: io.max of the cgroup, a cap of the cloud's volume or instance, its credits.",
            f"Look at {words.devices(case.commit_devices)}: SMR, thin provisioning, RAID5 that reads before it writes, "
            "a cache switched off.",
        ),
    )
