"""*cannot-tell, high confidence, where an operation never returned; otherwise a note*

## What it means
One operation took a second or more, and at least half of its step: for that long nothing was written here at all. Where
it had not returned when fstui stopped waiting, the storage may be gone.

## How it was measured
The longest operation by the monotonic clock; of one that never returned, its age, and the system call that it sat in.
Time in which the box had no CPU for it is taken off.

## What it proves, and what not
What was acknowledged before stands, and proves nothing about a storage that answers no longer. The cause may be above
the disk: a frozen filesystem (`fsfreeze`, a snapshot being taken), a journal that is full, a limit of the cgroup. Where
the device did other work meanwhile, it was not the device.

## What to do next
`dmesg` names tasks that are blocked for long; `fstui watch`, as root, who waits for what.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.speed.stalls import without_cpu_ns
from fstui.model.judgement import Finding
from fstui.model.quantities import count, seconds
from fstui.model.steps import Step

LONG_NS = 1_000_000_000
UNUSUAL = 5
"""Times the p50."""
_NEXT = (
    "Look at the kernel's log (dmesg), and, as root, at who waits for what (fstui watch). fsfreeze and snapshots being "
    "taken hold every write up."
)


@rule(place=25, said_first=True)
def stood_still(case: Case) -> Iterator[Finding]:
    """One operation was most of a step, or never returned."""
    held = [step for step in case.steps.all if _still_ns(step)]
    if not held:
        return
    worst = max(held, key=_still_ns)
    long = seconds(_still_ns(worst) / 1e9)
    never = worst.unanswered
    yield Finding(
        rule="stood-still",
        verdict="cannot-tell" if never else None,
        confidence="high",
        scope="storage",
        title=f"everything stood still for {long}",
        sentence=f"Everything stood still for {long} of the {seconds(worst.elapsed_s)} of {worst.name}: "
        + (f"{never.call} had not returned when nobody waited any longer." if never else "one operation took so long."),
        steps=words.names(held),
        because=tuple(line for step in held for line in _evidence(step)),
        next=(_NEXT,),
    )


def _still_ns(step: Step) -> int:
    """How long one operation held all others up; 0 where that was not long, or the want of a CPU did it."""
    if step.unanswered:
        longest, least = round(step.unanswered.elapsed_s * 1e9), 0.0
    elif step.writers == 1 and step.latency_ns and step.settings.uniform:
        longest, least = step.latency_ns.max - without_cpu_ns(step), step.elapsed_s * 1e9 / 2
    else:
        return 0
    return longest if longest >= max(LONG_NS, least, UNUSUAL * _usual_ns(step)) else 0


def _usual_ns(step: Step) -> int:
    """What the others took; a storage may be slow, and answer. Of two, neither is usual."""
    return step.latency_ns.p50 if step.latency_ns and step.ops > 2 else 0


def _evidence(step: Step) -> Iterator[str]:
    took = seconds(_still_ns(step) / 1e9)
    yield f"{step.name}: {count(step.ops)} operations in {seconds(step.elapsed_s)}, one of {took}"
    for device in step.counters:
        if device.flushes and device.flushes > 2 * step.ops:
            yield f"{device.device} counted {count(device.flushes)} flushes meanwhile: it worked, for others"
