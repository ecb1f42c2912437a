"""The answer: stalls, slow, normal or unknown."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from fstui.judge.facts import Case
from fstui.judge.facts.steps import SyncStep
from fstui.judge.references import typical
from fstui.judge.speed.reasons import Reason, limits_met, reasons
from fstui.judge.speed.stalls import (
    LONGEST_PAUSE,
    StalledStep,
    slowest_device,
    stalled_steps,
    starved,
    without_cpu_ns,
)
from fstui.judge.speed.yardsticks import StepComparison, Yardstick, best_small, pace, per_s, rated, yardsticks
from fstui.judge.words import capital, command, listed
from fstui.model.judgement import NOT_TRUSTED, Speed, Verdict
from fstui.model.quantities import counted, duration_ns, rate, seconds
from fstui.model.steps import Step

IN_THE_DEVICE = 0.5
"""A stall is attributed to the device if one of its requests took at least this share of the stall."""
_IN_DOUBT = "syncs may have returned before the disk had written"
NO_REASON = "No cause was found."
LOOK_AT_DMESG = "Look for errors of the device in the kernel's log: 'dmesg'."
_RANKS = (
    "about as fast as rotating disks", "between rotating disks and SSDs",
    "between SSDs without and with PLP", "faster than typical SSDs with PLP",
)  # fmt: skip
"""Where a rate is, by the number of typical rates that it reaches. PLP is power-loss protection."""
RECORD_A_BASELINE = (
    "Run this scenario three times while the system is healthy, to record a baseline. Or declare the medium, for "
    "example '--medium ssd'."
)


def speed(case: Case, verdict: Verdict) -> Speed:
    """Return the answer. Stalls precede slow; neither is reported if fstui lacked CPU. Normal needs a yardstick."""
    if not any(step.settings.in_scenarios for step in case.steps.all):  # only power cuts
        return Speed()
    if case.evidence.rate_limit:
        return _unknown(
            "the rate was limited",
            "fstui limited its own rate (--max-rate, --idle), so this run does not show how fast the storage is.",
        )
    stalled = stalled_steps(case)
    if by_storage := [one for one in stalled if not one.by_cpu]:
        return _stalls(case, by_storage)
    if stalled and not _slow_without_cpu_waits(case):
        return _without_cpu(stalled[0].step, stalled[0].line, stalled[0].without_cpu_ns)
    if case.configuration.breaks_sync:
        return _unknown(
            "its syncs make nothing durable",
            "The syncs make nothing durable, so their time does not show the disk's speed.",
        )
    return _compared(case, verdict, yardsticks(case))


def _slow_without_cpu_waits(case: Case) -> bool:
    """Return whether the other operations are far too slow even without the one that waited for a CPU."""
    if case.configuration.breaks_sync:
        return False
    return any(one.slow and one.worst.slow_without(without_cpu_ns(one.worst.step)) for one in yardsticks(case))


def _compared(case: Case, verdict: Verdict, found: Sequence[Yardstick]) -> Speed:
    slow = next((one for one in found if one.slow), None)
    if slow and starved(slow.worst.step) and not slow.worst.slow_without(without_cpu_ns(slow.worst.step)):
        return _without_cpu(slow.worst.step, slow.worst.line, without_cpu_ns(slow.worst.step))
    if slow:
        return _slow(case, slow, found)
    normal = next((one for one in found if one.normal), None)
    if normal and verdict not in NOT_TRUSTED:
        return _normal(case, normal, found)
    if normal:
        title, why = _IN_DOUBT, "they may have returned before the disk had written anything"
        if verdict == "lost":
            title, why = "the disk lost acknowledged writes", "a power cut lost writes that they had acknowledged"
        return _unknown(
            title,
            f"The rate of the syncs is normal compared with {normal.name}, but {why}. So the speed of the disk itself "
            "is not known.",
        )
    return _no_reference(case, verdict, found)


def _stalls(case: Case, stalled: Sequence[StalledStep]) -> Speed:
    longest, why = stalled[0], reasons(case, stalled[0].step)
    times, measured_s = sum(one.step.stalls.count or 1 for one in stalled), sum(one.step.elapsed_s for one in stalled)
    what = f"{longest.call} that never returned" if longest.call else f"one operation of “{longest.step.name}”"
    slow = [] if case.configuration.breaks_sync else [one for one in yardsticks(case) if one.slow]
    also = f" At least half of the steps were slow, too. The slowest is {slow[0].worst.line}." if slow else ""
    return Speed(
        answer="stalls",
        yardstick=LONGEST_PAUSE,
        title=f"{duration_ns(longest.ns)} for {what}{_by(why)}",
        sentence=f"{capital(what)} took {duration_ns(longest.ns)}, and everything that waited for it was blocked: "
        f"{counted(times, 'stall')} in {seconds(measured_s)}.{_device(longest)}{also}{_explained(why)}",
        because=(*(one.line for one in stalled), *_lines(slow), *(reason.because for reason in why)),
        next=_next(case, why),
    )


def _device(stalled: StalledStep) -> str:
    """Return a sentence: the device or a layer above it stalled. Empty if the kernel's trace does not show which."""
    found = slowest_device(stalled.step)
    if found is None:
        return ""
    device, longest_ns = found
    took = duration_ns(longest_ns)
    if longest_ns >= IN_THE_DEVICE * stalled.ns:
        return f" {device} itself took {took} to answer."
    return f" {device} itself never took longer than {took}: the delay was in a layer above, or for lack of a CPU."


def _slow(case: Case, slow: Yardstick, found: Sequence[Yardstick]) -> Speed:
    worst = slow.worst
    why = reasons(case, worst.step)
    return Speed(
        answer="slow",
        yardstick=slow.name,
        title=f"{worst.did}, slower than {slow.name}{_by(why)}",
        sentence=f"{worst.step.name} did {worst.did} in {seconds(worst.step.elapsed_s)}. Compared with {slow.name}: "
        f"{worst.evidence}.{_explained(why)}",
        because=(*_lines(found), *(reason.because for reason in why)),
        next=_next(case, why),
    )


def _normal(case: Case, normal: Yardstick, found: Sequence[Yardstick]) -> Speed:
    best = max(normal.comparisons, key=lambda one: one.per_s)
    return Speed(
        answer="normal",
        yardstick=normal.name,
        title=f"{best.step.name} {best.did}, normal compared with {normal.name}",
        sentence=f"{best.step.name} did {best.did}. That is normal compared with {normal.name}: {best.evidence}. "
        f"{_remarks(case, best.step)}",
        because=_lines(found, (best, normal.name)),
    )


def _without_cpu(step: Step, line: str, ns: int) -> Speed:
    missing = duration_ns(ns)
    return Speed(
        title=f"fstui had no CPU for {missing} of {seconds(step.elapsed_s)}",
        sentence=f"This host was short of CPU: in {step.name}, fstui was ready to run but had no CPU for {missing} of "
        f"{seconds(step.elapsed_s)}. So the time of the storage itself is not known.",
        because=(line, f"{step.name}: {missing} without a CPU (/proc/self/schedstat, /proc/stat)"),
        next=("Measure again when the host has CPU time to spare.",),
    )


def _no_reference(case: Case, verdict: Verdict, found: Sequence[Yardstick]) -> Speed:
    if not any(rated(case)):
        return _unknown("no rate was measured", "No step synced each write for long enough to have a rate.")
    if found:
        worst = found[0].worst
        slow = f"slow is below {pace(worst.slow_below_per_s, worst.done)}, and " if worst.slow_below_per_s else ""
        return Speed(
            title=f"neither slow nor clearly normal compared with {found[0].name}",
            sentence=f"Fewer than half of the steps are slow compared with {found[0].name}, and not more than half are "
            f"normal. {worst.step.name} did {worst.did}: {slow}normal is at least "
            f"{pace(worst.normal_from_per_s, worst.done)}.",
            because=_lines(found),
            next=(RECORD_A_BASELINE,),
        )
    if verdict in NOT_TRUSTED:
        return _unknown(_IN_DOUBT, "Something other than the disk may answer its syncs.")
    best = best_small(case)
    if best is None:
        return _unknown("no small writes were synced", "Its blocks are too large to compare, or not each was synced.")
    return _among_all_kinds(case, best)


def _among_all_kinds(case: Case, best: SyncStep) -> Speed:
    """Compare a device of an unknown class with what is typical for each kind of disk."""
    as_rate = f", as in {rate(per_s(best))}/s" if best.settings.ops_per_s else ""
    did, rank = pace(per_s(best), best), _RANKS[sum(each <= per_s(best) for _, each in typical())]
    medians = ", ".join(f"{kind} {rate(each)}/s" for kind, each in typical())
    return Speed(
        answer="normal",
        yardstick="what is typical for each kind of disk",
        title=f"{best.step.name} {did}, {rank}",
        sentence=f"{best.step.name} did {did}: {rank}, judging by the medians of published rates. There is no "
        f"reference for exactly this kind of device. {_remarks(case, best.step)}".strip(),
        because=(f"{best.step.name}: {did}{as_rate}; medians: {medians}",),
    )


def _remarks(case: Case, step: Step) -> str:
    """Return sentences about the longest operation, and about a limit that applied to the step."""
    longest = max((done.step.latency_ns.max for done in rated(case) if done.step.latency_ns), default=None)
    limits = listed(f"{limit.what} {limit.value} ({limit.path})" for limit in limits_met(case, step))
    found = (
        f"The longest synced write took {duration_ns(longest)}." if longest else "",
        f"An I/O limit of its cgroup applies: {limits}." if limits else "",
    )
    return " ".join(filter(None, found))


def _unknown(title: str, sentence: str) -> Speed:
    return Speed(title=title, sentence=sentence)


def _lines(found: Sequence[Yardstick], *first: tuple[StepComparison, str]) -> tuple[str, ...]:
    """Return a line of evidence per step. ``first``: comparisons to begin with, and the names of their yardsticks."""
    lines: dict[str, dict[str, None]] = {}
    for one, name in (*first, *((yardstick.worst, yardstick.name) for yardstick in found)):
        lines.setdefault(f"{one.step.name}: {one.did}", {})[f"{one.evidence} ({name})"] = None
    return tuple("; ".join((did, *evidence)) for did, evidence in lines.items())


def _by(why: Sequence[Reason]) -> str:
    return f": {why[0].words}" if why else ""


def _explained(why: Sequence[Reason]) -> str:
    """Return sentences with the reasons. If there are any, the disk may not be the cause."""
    if not why:
        return f" {NO_REASON}"
    return " " + " ".join(f"{capital(reason.words)}." for reason in why) + " So the disk may not be the cause."


def _next(case: Case, why: Sequence[Reason]) -> tuple[str, ...]:
    if why:
        return tuple(dict.fromkeys(reason.next for reason in why))
    target = case.evidence.target
    mount = f" --mount {shlex.quote(target.mount_point)}" if target else ""
    return (f"See which layer takes the time: {command(f'sudo fstui watch{mount}')}", LOOK_AT_DMESG)
