"""What holds storage up and is not the storage: limits, others at work, a stack that mends itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.facts import Case
from fstui.model.steps import Step
from fstui.model.storage import Reading
from fstui.storage.layers import kind

NEAR = 4
"""A limit is met where no more than so many times as much was allowed: a flush costs one of its operations, and what
a filesystem adds as well."""
BUSY_SHARE = 0.2
"""Of the time in which fstui did nothing."""
SHARED = 0.1
"""Flushes that others asked for, of ours: so much of the device's time is theirs."""


class Reason(NamedTuple):
    """Something else than the disk."""

    words: str
    """``an I/O limit holds``, for the sentence."""
    because: str
    next: str


def reasons(case: Case, step: Step) -> tuple[Reason, ...]:
    """All that is known, what somebody decided first."""
    return (*_limits(case, step), *_trouble(case), *_busy(case), *_during(case, step), *_remote(case))


def limits_met(case: Case, step: Step) -> tuple[Reading, ...]:
    """I/O limits of its cgroup that held its writes up."""
    process = case.evidence.like or case.evidence.process
    return tuple(limit for limit in process.io_limits if _is_met(limit, step))


def _limits(case: Case, step: Step) -> Iterator[Reason]:
    met = limits_met(case, step)
    if met:
        lines = words.listed(f"{limit.what} {limit.value} ({limit.path})" for limit in met)
        yield Reason(
            "an I/O limit of its cgroup holds here", f"io limit: {lines}", "Raise the limit, or run outside its cgroup."
        )


def _is_met(limit: Reading, step: Step) -> bool:
    """``253:0 wiops`` = ``100``: operations, or bytes, that a second allows. One of reads alone holds no write up."""
    what = limit.what.rpartition(" ")[2]
    if not limit.value.isdecimal() or what[:1] == "r" or not step.elapsed_s:
        return False
    done = step.rate_per_s if "iops" in what else step.bytes / step.elapsed_s
    return int(limit.value) <= NEAR * done


def _trouble(case: Case) -> Iterator[Reason]:
    troubled = [(node, state) for node in case.stack.nodes for state in node.state]
    if troubled:
        said = words.listed(f"{words.named(node)} {state.what}: {state.value}" for node, state in troubled)
        yield Reason(f"the stack is in trouble ({said})", f"stack: {said}", "Mend the stack first; see dmesg.")


def _busy(case: Case) -> Iterator[Reason]:
    """What the devices were busy with while fstui did nothing."""
    for device, share in case.others.busy_shares:
        if share >= BUSY_SHARE:
            yield _others(
                case, f"others kept {device} busy {share:.0%} of the time", f"{device}: {share:.0%} while idle"
            )


def _during(case: Case, step: Step) -> Iterator[Reason]:
    """What came from others in the step itself: as the trace tells, else as more arrived than was asked."""
    theirs = max((one.asked_by_others or 0 for one in step.trace or ()), default=0)
    noisy = [account for account in case.flushes.noisy if account.step is step]
    if theirs >= SHARED * max(step.syncs, 1):
        yield _others(case, "others flushed the same device meanwhile", f"{step.name}: {theirs} flushes of others")
    elif noisy:
        yield _others(case, "others wrote to the same device meanwhile", noisy[0].flush_line)


def _others(case: Case, what: str, because: str) -> Reason:
    writers = case.others.writers
    named = f" ({words.writers(writers)})" if writers else ""
    return Reason(what + named, f"others: {because}", "Measure again when they are quiet: fstui watch names them.")


def _remote(case: Case) -> Iterator[Reason]:
    far = [node for node in case.stack.nodes if node.layer == "remote" or kind(node.kind).remote]
    if far:
        where, row = words.named(far[0]), kind(far[0].kind)
        who = f"the network and {row.answered_by}" if row.across_network else row.answered_by
        yield Reason(f"{where} waits for {who}, too", f"served: {where}", f"Look at {who}.")
