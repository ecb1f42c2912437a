"""Rule 20: slower than its class is no lie. Something limits it, and the places to look are known."""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.answering import answering, classes
from fstui.judge.override import explained
from fstui.judge.references import Reference, operation_of, published
from fstui.judge.steps import has_rate, names, synced, time_measured
from fstui.model import Evidence, Finding, Process, Step
from fstui.quantities import count, plain, rate

FAR = 2
"""So many times slower than the slowest that was published."""
_ENOUGH = 3
"""Published measurements of the same kind: fewer are no class."""


def slower_than_class(evidence: Evidence) -> Iterator[Finding]:
    """Rule 20: far below everything published of the same operation on the same class of medium."""
    target = evidence.target
    media = classes(target) if target else frozenset()
    if target is None or not media or "unknown" in media or explained(evidence):
        return
    slow: list[tuple[Step, tuple[Reference, ...]]] = []
    for step, settings in synced(evidence):
        operation = operation_of(settings)
        others = published(operation, media) if operation else ()
        if len(others) >= _ENOUGH and has_rate(step) and 0 < FAR * step.rate_per_s < others[0].per_s:
            slow.append((step, others))
    if slow:
        step, others = min(slow, key=lambda pair: pair[0].rate_per_s / pair[1][0].per_s)
        where, slowest = words.devices(answering(target)), others[0]
        limits = [*_limits(evidence.process)]
        yield Finding(
            rule="slower-than-class",
            verdict=None,
            confidence="medium",
            scope="storage",
            title=f"{rate(step.rate_per_s)}/s, the slowest published has {rate(slowest.per_s)}/s",
            sentence=f"{plain(step.name)} did {rate(step.rate_per_s)}/s in {time_measured([step])}; the slowest of "
            f"{count(len(others))} published on {words.listed(sorted(media))} has {rate(slowest.per_s)}/s. "
            "Slow is no lie: something limits it, or the disk is busy.",
            steps=names(step for step, _ in slow),
            because=(
                *(plain(f"{step.name}: {rate(step.rate_per_s)}/s") for step, _ in slow),
                f"slowest published: {slowest.device}, {rate(slowest.per_s)}/s ({slowest.source})",
                *limits,
            ),
            next=(
                "Raise the io limits of this process, or run outside its cgroup."
                if limits
                else "Look for io limits: io.max of the cgroup, a cap of the cloud's volume or instance, its credits.",
                f"Look at {where}: SMR, thin provisioning, RAID5 that reads before it writes, a cache switched off.",
            ),
        )


def _limits(process: Process) -> Iterator[str]:
    for limit in process.io_limits:
        yield plain(f"io limit: {limit.what} {limit.value} ({limit.path})")
