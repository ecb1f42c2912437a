"""The answer: stalls, slow, normal or unknown."""

import errno
import shlex
from collections.abc import Sequence

from fstui.judge.facts import Case
from fstui.judge.facts.steps import WriteStep
from fstui.judge.references import typical_rates
from fstui.judge.speed.reasons import Reason, find_reasons, is_at_limit, limits_text
from fstui.judge.speed.stalls import (
    DEVICE_SHARE,
    LONGEST_PAUSE,
    MEASURE_WITH_CPU,
    StalledStep,
    is_starved,
    slowest_device,
    stalled_steps,
    without_cpu_ns,
)
from fstui.judge.speed.yardsticks import (
    StepComparison,
    Yardstick,
    fastest_small_step,
    find_yardsticks,
    rate_text,
    rated_steps,
    step_per_s,
)
from fstui.judge.words import command
from fstui.model.judgement import FASTEST_STEP, NOT_TRUSTED, Speed, Verdict
from fstui.model.quantities import counted, duration_ns, rate, ratio, seconds
from fstui.model.steps import Step

_BEFORE_WRITING = "may have returned before the disk had written anything"
_IN_DOUBT = "syncs may have returned before the disk had written"
LOOK_AT_DMESG = "Look for errors of the device in the kernel's log: 'dmesg'."
_FAR_FASTER = 10
"""Syncs are far faster than a reference if every step does this many times the normal rate."""
_RANKS = (
    "about as fast as rotating disks", "between rotating disks and SSDs",
    "between SSDs without and with PLP", "faster than typical SSDs with PLP",
)  # fmt: skip
"""The description of a rate, by the number of typical rates that it reaches. PLP is power-loss protection."""
RECORD_A_BASELINE = (
    "Run this scenario three times while the system is healthy, to record a baseline. Or declare the medium, for "
    "example '--medium ssd'."
)


def speed(case: Case, verdict: Verdict) -> Speed:
    """Return the answer. Stalls take precedence over slow. Neither is reported if a lack of CPU may explain it."""
    if not any(step.settings.in_scenarios for step in case.steps.all):  # only power cuts
        return Speed()
    if case.evidence.rate_limit:
        return Speed(
            title="the rate was limited",
            sentence="fstui limited its own rate (--max-rate, --idle), so this run does not show how fast the storage "
            "is.",
        )
    stalled = stalled_steps(case)
    yardsticks = () if case.configuration.breaks_sync else find_yardsticks(case)
    slow = [yardstick for yardstick in yardsticks if yardstick.is_slow]
    if by_storage := [stall for stall in stalled if not stall.lacked_cpu]:
        return _stalls(case, by_storage, slow)
    if stalled and not any(yardstick.worst.is_slow_without_cpu_waits for yardstick in slow):
        return _without_cpu(stalled[0].step, stalled[0].line, stalled[0].without_cpu_ns)
    if case.configuration.breaks_sync:
        return Speed(
            title="the syncs make nothing durable",
            sentence="The syncs make nothing durable, so their time does not show the disk's speed.",
        )
    return _compared(case, verdict, yardsticks)


def _compared(case: Case, verdict: Verdict, yardsticks: Sequence[Yardstick]) -> Speed:
    slow = next((yardstick for yardstick in yardsticks if yardstick.is_slow), None)
    if slow and is_starved(slow.worst.step) and not slow.worst.is_slow_without_cpu_waits:
        return _without_cpu(slow.worst.step, slow.worst.line, without_cpu_ns(slow.worst.step))
    if slow:
        return _slow(case, slow, yardsticks)
    if verdict == "not-durable" and any(step.error and step.error.errno == errno.EIO for step in case.steps.all):
        return Speed(
            title="the storage failed during the run",
            sentence="The storage failed during the run, so the rates before that do not show its speed.",
        )
    normal = next((yardstick for yardstick in yardsticks if yardstick.is_normal), None)
    if normal and verdict not in NOT_TRUSTED:
        return _normal(case, normal, yardsticks)
    if normal:
        title, reason = _IN_DOUBT, f"they {_BEFORE_WRITING}"
        if verdict == "lost":
            title, reason = "the disk lost acknowledged writes", "a power cut lost writes that they had acknowledged"
        ratios = [comparison.per_s / comparison.min_normal_per_s for comparison in normal.comparisons]
        pace = "far faster than" if min(ratios) >= _FAR_FASTER else "not slow compared with"
        return Speed(
            title=title,
            sentence=f"The syncs are {pace} {normal.name}, but {reason}. So the speed of the disk itself is not known.",
        )
    return _no_reference(case, verdict, yardsticks)


def _stalls(case: Case, stalled: Sequence[StalledStep], slow: Sequence[Yardstick]) -> Speed:
    longest, reasons = stalled[0], find_reasons(case, stalled[0].step)
    steps = [stall.step for stall in stalled]
    stall_count, measured_s = sum(step.stalls.count or 1 for step in steps), sum(step.observed_s for step in steps)
    duration = duration_ns(longest.longest_ns)
    title = f"{duration} for one operation of “{longest.step.name}”"
    summary = f"One operation of “{longest.step.name}” took {duration}"
    if longest.call:
        title = summary = f"{longest.call} had not finished after {duration}"
    also = f" At least half of the steps were slow, too. The slowest is {slow[0].worst.line}." if slow else ""
    return Speed(
        answer="stalls",
        yardstick=LONGEST_PAUSE,
        title=f"{title}{_first_reason(reasons)}",
        sentence=f"{summary}: {counted(stall_count, 'stall')} in {seconds(measured_s)}.{also} "
        f"{_stall_cause(longest, reasons)}",
        evidence=(
            *(stall.line for stall in stalled),
            *_evidence_lines(slow),
            *(reason.evidence for reason in reasons),
        ),
        next=_next_steps(case, reasons),
    )


def _stall_cause(stalled: StalledStep, reasons: Sequence[Reason]) -> str:
    """Return the cause, and how long the device itself took if the kernel's trace shows it."""
    slowest, known = slowest_device(stalled.step), "; ".join(reason.text for reason in reasons)
    if slowest is None:
        return _cause(reasons)
    device, longest_ns = slowest
    took = duration_ns(longest_ns)
    if longest_ns >= DEVICE_SHARE * stalled.longest_ns:
        cause = f", perhaps because {known}." if reasons else f". {_cause(reasons)}"
        return f"{device} itself took {took} for one request{cause}"
    cause = f": {known}." if reasons else f", or due to a lack of CPU. {_cause(reasons)}"
    return f"{device} itself never took longer than {took} for one request, so the delay was probably above it{cause}"


def _slow(case: Case, slow: Yardstick, yardsticks: Sequence[Yardstick]) -> Speed:
    worst = slow.worst
    reasons = find_reasons(case, worst.step)
    return Speed(
        answer="slow",
        yardstick=slow.name,
        title=f"{worst.measured_rate}, slower than {slow.name}{_first_reason(reasons)}",
        sentence=f"{worst.step.name} did {worst.measured_rate} in {seconds(worst.step.elapsed_s)}. Compared with "
        f"{slow.name}: {worst.evidence}. {_cause(reasons)}",
        evidence=(*_evidence_lines(yardsticks), *(reason.evidence for reason in reasons)),
        next=_next_steps(case, reasons),
    )


def _normal(case: Case, normal: Yardstick, yardsticks: Sequence[Yardstick]) -> Speed:
    best = max(normal.comparisons, key=lambda comparison: comparison.per_s)
    is_fastest = len(normal.comparisons) > 1 and _is_fastest(case, best.write_step)
    pace = f"not slow compared with {normal.name}"
    if best.median_per_s:  # a rate may be far above it
        pace = f"{ratio(best.per_s / best.median_per_s)} × the median of {normal.name}"
    return Speed(
        answer="normal",
        yardstick=normal.name,
        title=f"{best.step.name} {best.measured_rate}{_at_limit(case, best.step)}, {pace}"
        f"{FASTEST_STEP if is_fastest else ''}",
        sentence=f"{best.step.name} did {best.measured_rate}. That is {pace}: {best.evidence}. "
        f"{_remarks(case, best.step)}",
        evidence=_evidence_lines(yardsticks, (best, normal.name)),
    )


def _without_cpu(step: Step, line: str, lost_ns: int) -> Speed:
    lost = duration_ns(lost_ns)
    return Speed(
        title=f"fstui had no CPU for {lost} of {seconds(step.elapsed_s)}",
        sentence=f"In {step.name}, fstui had no CPU for {lost} of {seconds(step.elapsed_s)}: this host was short of "
        "CPU, a CPU limit of the cgroup applied, or fstui was stopped (SIGSTOP, a cgroup freezer, a debugger). So the "
        "time of the storage itself is not known.",
        evidence=(line, f"{step.name}: {lost} without a CPU (/proc/self/schedstat, /proc/stat, /proc/PID/stat)"),
        next=(MEASURE_WITH_CPU,),
    )


def _no_reference(case: Case, verdict: Verdict, yardsticks: Sequence[Yardstick]) -> Speed:
    if not any(rated_steps(case)):
        return Speed(title="no rate of syncs was measured", sentence="No step synced each write for long enough.")
    if yardsticks:
        worst = yardsticks[0].worst
        slow = ""
        if worst.slow_below_per_s:
            slow = f"a rate below {rate_text(worst.slow_below_per_s, worst.write_step)} is slow, and "
        return Speed(
            title=f"not clearly slow or fast compared with {yardsticks[0].name}",
            sentence=f"Compared with {yardsticks[0].name}, fewer than half of the steps are slow, and at most half are "
            f"fast enough. {worst.step.name} did {worst.measured_rate}: {slow}a rate of at least "
            f"{rate_text(worst.min_normal_per_s, worst.write_step)} is not slow.",
            evidence=_evidence_lines(yardsticks),
            next=(RECORD_A_BASELINE,),
        )
    if verdict in NOT_TRUSTED:
        return Speed(title=_IN_DOUBT, sentence=f"The syncs {_BEFORE_WRITING}.")
    best = fastest_small_step(case)
    if best is None:
        return Speed(
            title="no small writes were synced",
            sentence="The blocks are too large to compare, or not every write was synced.",
        )
    return _compared_with_all_kinds(case, best)


def _compared_with_all_kinds(case: Case, best: WriteStep) -> Speed:
    """Compare a device of an unknown class with what is typical for each kind of disk."""
    as_rate = f", as in {rate(step_per_s(best))}/s" if best.settings.ops_per_s else ""
    measured = rate_text(step_per_s(best), best)
    is_fastest = _is_fastest(case, best)
    fastest = ", the fastest step with one writer," if is_fastest else ""
    rank = _RANKS[sum(typical_per_s <= step_per_s(best) for _, typical_per_s in typical_rates())]
    medians = ", ".join(f"{kind} {rate(typical_per_s)}/s" for kind, typical_per_s in typical_rates())
    return Speed(
        answer="normal",
        yardstick="what is typical for each kind of disk",
        title=f"{best.step.name} {measured}{_at_limit(case, best.step)}, {rank}{FASTEST_STEP if is_fastest else ''}",
        sentence=f"{best.step.name}{fastest} did {measured}. Compared with the medians of published rates, that is "
        f"{rank}. There is no reference for exactly this kind of device. {_remarks(case, best.step)}".strip(),
        evidence=(f"{best.step.name}: {measured}{as_rate}; medians of all methods: {medians}",),
    )


def _is_fastest(case: Case, best: WriteStep) -> bool:
    """Return whether no other step with one writer is faster, also of those that were not compared."""
    rated = list(rated_steps(case))
    return len(rated) > 1 and best == max(rated, key=step_per_s)


def _at_limit(case: Case, step: Step) -> str:
    return " at an I/O limit of the cgroup" if is_at_limit(case, step) else ""


def _remarks(case: Case, step: Step) -> str:
    """Return sentences about the longest synced write of the run, and about a limit that applied to ``step``."""
    latencies = (write_step.step.latency_ns for write_step in case.steps.write_steps if write_step.sync_method)
    longest = max((latency.max for latency in latencies if latency), default=None)
    limits = limits_text(case, step)
    remarks = (
        f"The longest synced write took {duration_ns(longest)}." if longest else "",
        f"An I/O limit of the cgroup applies: {limits}." if limits else "",
    )
    return " ".join(filter(None, remarks))


def _evidence_lines(yardsticks: Sequence[Yardstick], *first: tuple[StepComparison, str]) -> tuple[str, ...]:
    """Return a line of evidence per step. ``first``: comparisons to list first, with the names of their yardsticks."""
    lines: dict[str, dict[str, None]] = {}  # the inner keys are the evidence of a step, without repetitions
    for comparison, name in (*first, *((yardstick.worst, yardstick.name) for yardstick in yardsticks)):
        evidence_of_step = lines.setdefault(f"{comparison.step.name}: {comparison.measured_rate}", {})
        evidence_of_step[f"compared with {name}: {comparison.evidence}"] = None
    return tuple("; ".join((measured, *evidence)) for measured, evidence in lines.items())


def _first_reason(reasons: Sequence[Reason]) -> str:
    return f": {reasons[0].text}" if reasons else ""


def _cause(reasons: Sequence[Reason]) -> str:
    """Return a sentence with the reasons."""
    if not reasons:
        return "No cause was found."
    return f"The disk may not be the cause: {'; '.join(reason.text for reason in reasons)}."


def _next_steps(case: Case, reasons: Sequence[Reason]) -> tuple[str, ...]:
    if reasons:
        return tuple(dict.fromkeys(reason.next for reason in reasons))
    target = case.evidence.target
    mount = f" --mount {shlex.quote(target.mount_point)}" if target else ""
    return (f"See which layer takes the time: {command(f'sudo fstui watch{mount}')}", LOOK_AT_DMESG)
