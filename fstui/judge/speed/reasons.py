"""Reasons other than the disk itself: limits, other processes, a degraded stack, a network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.facts import Case
from fstui.model.quantities import percent
from fstui.model.steps import Step
from fstui.model.storage import Reading
from fstui.storage.layers import kind

NEAR = 4
"""A limit is a reason if it allows at most this many times the measured rate, because flushes and journal writes count,
too. If it allows far less, it is that of another disk."""
BUSY_SHARE = 0.2
"""A device is a reason if it was busy for at least this share of the time in which fstui was idle."""
SHARED = 0.1
"""Other processes are a reason if they cause at least this many flushes per sync of fstui."""


class Reason(NamedTuple):
    words: str
    """``an I/O limit of its cgroup applies``"""
    because: str
    next: str


def reasons(case: Case, step: Step) -> tuple[Reason, ...]:
    """Return all known reasons, those that a user has configured first."""
    return (*_limits(case, step), *_faults(case), *_busy_devices(case), *_other_writers(case, step), *_remote(case))


def limits_met(case: Case, step: Step) -> tuple[Reading, ...]:
    """Return the I/O limits of the cgroup that slowed the writes of the step down."""
    process = case.evidence.like or case.evidence.process  # with --like, the probes ran in that process's cgroup
    return tuple(limit for limit in process.io_limits if _is_met(limit, step))


def _limits(case: Case, step: Step) -> Iterator[Reason]:
    met = limits_met(case, step)
    if met:
        lines = words.listed(f"{limit.what} {limit.value} ({limit.path})" for limit in met)
        yield Reason(
            "an I/O limit of its cgroup applies", f"io limit: {lines}", "Raise the limit, or run outside its cgroup."
        )


def _is_met(limit: Reading, step: Step) -> bool:
    """Return whether a limit of writes, such as ``253:0 wiops`` = ``100``, slows down the step."""
    what = limit.what.rpartition(" ")[2]
    if not limit.value.isdecimal() or what[:1] == "r" or not step.elapsed_s:
        return False
    done = step.rate_per_s if "iops" in what else step.bytes / step.elapsed_s
    return done / NEAR <= int(limit.value) <= NEAR * done


def _faults(case: Case) -> Iterator[Reason]:
    troubled = [(node, state) for node in case.stack.nodes for state in node.state]
    if troubled:
        said = words.listed(f"{words.named(node)} {state.what}: {state.value}" for node, state in troubled)
        repair = "Repair the stack first: 'dmesg' says more."
        yield Reason(f"the stack is degraded or faulty ({said})", f"stack: {said}", repair)


def _busy_devices(case: Case) -> Iterator[Reason]:
    for device, share in case.others.busy_shares:
        if share >= BUSY_SHARE:
            yield _others(
                case,
                f"other processes kept {device} busy {percent(share)} of the time",
                f"{device}: {percent(share)} while fstui was idle",
            )


def _other_writers(case: Case, step: Step) -> Iterator[Reason]:
    """Yield other processes that flushed or wrote during the step, from the kernel's trace if there is one."""
    of_others = max((one.asked_by_others or 0 for one in step.trace or ()), default=0)
    noisy = [account for account in case.flushes.noisy if account.step is step]
    if of_others >= SHARED * max(step.syncs, 1):
        because = f"{step.name}: {of_others} flushes of others"
        yield _others(case, "other processes flushed the same device at that time", because)
    elif noisy:
        yield _others(case, "other processes wrote to the same device at that time", noisy[0].flush_line)


def _others(case: Case, what: str, because: str) -> Reason:
    writers = case.others.writers
    named = f" ({words.writers(writers)})" if writers else ""
    return Reason(what + named, f"others: {because}", "Measure again when they are idle: 'fstui watch' names them.")


def _remote(case: Case) -> Iterator[Reason]:
    far = [node for node in case.stack.nodes if node.layer == "remote" or kind(node.kind).remote]
    if far:
        where, row = words.named(far[0]), kind(far[0].kind)
        who = f"the network and {row.answered_by}" if row.across_network else row.answered_by
        yield Reason(f"{where} also waits for {who}", f"served: {where}", f"Look at {who}.")
