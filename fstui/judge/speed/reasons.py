"""Why a step may be slow, apart from the disk itself: limits, other processes, a degraded stack, a network."""

from collections.abc import Iterator
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.facts import Case
from fstui.judge.speed.stalls import MEASURE_WITH_CPU, host_pressure_ns, is_due_to_freeze, longest_wait_ns
from fstui.model.quantities import count, duration_ns, percent
from fstui.model.steps import Step
from fstui.model.storage import Reading
from fstui.proc import ON_FROZEN
from fstui.storage.layers import kind

LIMIT_FACTOR = 4
"""A limit is a reason if it is between a quarter of the measured rate and four times that rate. It may be higher than
the rate, because flushes and journal writes also count; if a layer used it up, it may be even higher. A limit below a
quarter of the rate belongs to another disk."""
_AT_LIMIT = 0.8, 1.1
"""A rate is at a limit if it is between these multiples of the limit."""
BUSY_SHARE = 0.2
"""A device is a reason if it was busy for at least this share of the time in which fstui was idle."""
MIN_OTHERS_PER_SYNC = 0.1
"""Other processes are a reason if they send at least this many flushes per sync of fstui."""


class Reason(NamedTuple):
    text: str
    """``an I/O limit of the cgroup applies``"""
    evidence: str
    next: str


def find_reasons(case: Case, step: Step) -> tuple[Reason, ...]:
    """Return all known reasons. A freeze is the only reason."""
    reasons = passing_reasons(case, step)
    return reasons if _frozen(case, step) else (*reasons, *_remote(case))


def passing_reasons(case: Case, step: Step) -> tuple[Reason, ...]:
    """Return the reasons that can go away. Limits come first, because they were set on purpose."""
    if frozen := _frozen(case, step):
        return (frozen,)
    return (
        *_limits(case, step),
        *_faults(case),
        *_lack_of_cpu(case, step),
        *_busy_devices(case),
        *_other_writers(case, step),
    )


def _frozen(case: Case, step: Step) -> Reason | None:
    """Return the reason if a write waited for a frozen filesystem for at least half of the longest operation."""
    if step.unanswered and step.unanswered.call.endswith(ON_FROZEN):
        frozen_ns = round(step.unanswered.elapsed_s * 1e9)
    elif is_due_to_freeze(step, longest_wait_ns(step)):
        frozen_ns = step.frozen_ns or 0
    else:
        return None
    evidence = f"frozen: {step.name}: for about {duration_ns(frozen_ns)} (/proc/PID/wchan)"
    advice = "Find out what froze it: a backup, a snapshot, the hypervisor's guest agent, or fsfreeze."
    which = "the filesystem, or a lower one," if case.stack.filesystems[1:] else "the filesystem"
    return Reason(f"{which} was frozen", evidence, advice)


def limits_reached(case: Case, step: Step) -> tuple[Reading, ...]:
    # with --like, the probes ran in the cgroup of that process
    process = case.evidence.cgroup_process or case.evidence.process
    return tuple(limit for limit in process.io_limits if _is_reached(limit, step))


def limits_text(case: Case, step: Step) -> str:
    """Return those limits, with their files; empty if there are none."""
    return words.join_words(f"{limit.what} {limit.value} ({limit.path})" for limit in limits_reached(case, step))


def _limits(case: Case, step: Step) -> Iterator[Reason]:
    if limits := limits_text(case, step):
        yield Reason(
            "an I/O limit of the cgroup applies", f"I/O limit: {limits}", "Raise the limit, or run in another cgroup."
        )


def _is_reached(limit: Reading, step: Step) -> bool:
    """Return whether a limit of writes, such as ``253:0 wiops`` = ``100``, slows down the step."""
    limit_name = limit.what.rpartition(" ")[2]
    if not limit.value.isdecimal() or limit_name[:1] == "r" or not step.elapsed_s:
        return False
    measured = step.rate_per_s if "iops" in limit_name else step.bytes / step.elapsed_s
    return measured / LIMIT_FACTOR <= int(limit.value) <= LIMIT_FACTOR * measured or _is_used_up(limit, step)


def is_at_limit(case: Case, step: Step) -> bool:
    """Return whether the rate or the bytes of the step, or of a layer, were those that an I/O limit allows."""
    return any(_is_used_up(limit, step) for limit in limits_reached(case, step))


def _is_used_up(limit: Reading, step: Step) -> bool:
    lowest, highest = (share * int(limit.value) for share in _AT_LIMIT)
    return any(lowest <= amount / step.elapsed_s <= highest for amount in _limited_amounts(limit, step))


def _limited_amounts(limit: Reading, step: Step) -> Iterator[int]:
    """Yield what counts towards the limit, as requested by fstui and as counted by each layer."""
    if "iops" in limit.what:
        yield step.ops
        for layer in step.counters:  # a layer may count an empty flush as a write, too
            yield from (layer.writes or 0, (layer.writes or 0) + (layer.flushes or 0))
    else:
        yield step.bytes
        yield from (layer.written_bytes or 0 for layer in step.counters)


def _faults(case: Case) -> Iterator[Reason]:
    if faults := case.stack.faults:
        fault_texts = words.join_words(words.evidence_line(node, state.what, state.value) for node, state in faults)
        repair = "Repair the stack first: see 'dmesg' for details."
        yield Reason(f"the stack is degraded or faulty ({fault_texts})", f"stack: {fault_texts}", repair)


def _lack_of_cpu(case: Case, step: Step) -> Iterator[Reason]:
    """Yield the CPU pressure of the host. A sync also waits for kernel threads."""
    if ns := host_pressure_ns(case, step):
        evidence = f"{step.name}: {duration_ns(ns)} of CPU pressure (/proc/pressure/cpu)"
        yield Reason("this host was short of CPU at the same time", evidence, MEASURE_WITH_CPU)


def _busy_devices(case: Case) -> Iterator[Reason]:
    for device, share in case.other_writers.busy_shares:
        if share >= BUSY_SHARE:
            yield _others_reason(
                case,
                f"other processes kept {device} busy {percent(share)} of the time",
                f"{device}: {percent(share)} while fstui was idle",
            )


def _other_writers(case: Case, step: Step) -> Iterator[Reason]:
    """Yield other processes that flushed or wrote during the step, from the kernel's trace if there is one."""
    most_by_others = max((trace.requested_by_others or 0 for trace in step.trace or ()), default=0)
    noisy = [account for account in case.flushes.noisy_accounts if account.step is step]
    syncs = step.traced_part.syncs if step.traced_part else step.syncs
    if most_by_others >= MIN_OTHERS_PER_SYNC * max(syncs, 1):
        evidence = f"{step.name}: {count(most_by_others)} flushes by other processes"
        yield _others_reason(case, "other processes also flushed this device", evidence)
    elif noisy:
        yield _others_reason(case, "other processes also wrote to this device", noisy[0].flush_line)


def _others_reason(case: Case, text: str, evidence: str) -> Reason:
    writers = case.other_writers.writers
    names = f" ({words.writers(writers)})" if writers else ""
    next_step = "Measure again when these processes are idle: 'fstui watch' shows what they do."
    return Reason(text + names, f"others: {evidence}", next_step)


def _remote(case: Case) -> Iterator[Reason]:
    remote_nodes = [node for node in case.stack.nodes if node.layer == "remote" or kind(node.kind).remote]
    if remote_nodes:
        where, remote_kind = words.label(remote_nodes[0]), kind(remote_nodes[0].kind)
        server = f"{'the network and ' if remote_kind.across_network else ''}{remote_kind.served_by}"
        yield Reason(f"{where} also waits for {server}", f"remote: {where}", f"Check {server}.")
