"""What is missing where no rule could say anything about the storage."""

from __future__ import annotations

from fstui.judge import words
from fstui.judge.counting import Arrival, arrivals
from fstui.judge.layers import Level, levels
from fstui.judge.steps import MIN_SYNCS, synced, time_measured
from fstui.model import Evidence


def shortfall(evidence: Evidence) -> str:
    """One sentence, or two: why this evidence decides nothing, and what would."""
    target = evidence.target
    if target is None or not target.stack:
        return "Nothing is known about the stack beneath, so nothing can be judged."
    steps = list(synced(evidence))
    if not evidence.steps:
        return (
            "The configuration shows no fault, and nothing was measured yet: run fsync-rate to follow its syncs down."
        )
    if not steps:
        return (
            f"No step was measured to its end in which one writer synced at least {MIN_SYNCS} times, so there is "
            "nothing to follow down: run fsync-rate, or give it more seconds."
        )
    stack = levels(target)
    ways = [arrivals(target, step, settings) for step, settings in steps]
    covered = time_measured(step for step, _ in steps)
    return f"In {covered} nothing contradicts durability, and nothing shows it: {_why(stack, ways)}"


def _why(stack: tuple[Level, ...], ways: list[tuple[Arrival, ...]]) -> str:
    top = stack[0] if stack else None
    tops = [way[0] for way in ways if way]
    if top is None or not top.devices:
        return "no device of this box that could count flushes is known to lie beneath."
    where = words.devices(top.devices)
    if not tops:
        return f"{words.named(top.filesystem)} uses DAX, which passes every counter by."
    if all(arrival.flushes is None for arrival in tops):
        return f"{where} counts no flushes (a kernel before 5.5, or queue/iostats is 0: echo 1 there and run again)."
    if all(arrival.owed is None for arrival in tops):
        return f"how many flushes {words.named(top.filesystem)} owes for a sync is not known."
    if all(arrival.owed == (0, 0) for arrival in tops) and not all(
        n.write_cache == "write through" for n in top.devices
    ):
        return f"with these steps {where} is owed none that it would count: run a step with fdatasync."
    return (
        f"the kernel takes {where} for “write through” and sends it no flush that could be counted. The device's word "
        "that it has no volatile cache is all there is."
    )
