"""What the yardsticks come to."""

from __future__ import annotations

from collections.abc import Sequence

from fstui.judge.facts import Case
from fstui.judge.speed.comparison import Yardstick, rated
from fstui.judge.speed.reasons import Reason, reasons
from fstui.judge.speed.stalls import Held, slowest_device, stalled, starved, without_cpu_ns
from fstui.judge.speed.yardsticks import yardsticks
from fstui.judge.words import capital
from fstui.model.judgement import NOT_TRUSTED, Speed, Verdict
from fstui.model.quantities import counted, duration_ns, seconds
from fstui.model.steps import Step

IN_THE_DEVICE = 0.5
"""Of a stall: then it is the device's."""
UNSEEN = "What holds it up was not seen: look at the device's own time (fstui watch, as root), and at dmesg."
NOTHING = (
    "There is nothing to hold its rate against: its class is not known, or few have published of it, and it was "
    "measured here less than three times."
)
HELD_BACK = (
    "fstui held itself back (--max-rate, --idle): the pace was its own, and how fast the storage is was not asked."
)
LONGER = "To know: measure here three times, and the next run is held against those; or say --medium."


def speed(case: Case, verdict: Verdict) -> Speed:
    """Stalls before slowness, and neither where a CPU was wanting; ``normal`` only by a yardstick."""
    if not any(step.settings.in_scenarios for step in case.steps.all):  # of a power cut nobody asks how fast
        return Speed()
    if case.evidence.rate_limit:
        return _unknown("it was held back", HELD_BACK)
    held = stalled(case)
    if by_storage := [one for one in held if not one.by_cpu]:
        return _stalls(case, by_storage)
    if held and not _slow_all_the_same(case):
        return _without_cpu(held[0].step, held[0].line, held[0].cpu_ns)
    if case.configuration.breaks_sync:
        return _unknown("its syncs do not reach the disk", "Its syncs do not reach the disk: their time tells nothing.")
    return _compared(case, verdict, yardsticks(case))


def _slow_all_the_same(case: Case) -> bool:
    """One operation waited for a CPU, and the others are far too slow without that."""
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
        return _unknown("quick, but not durable", "It is not slow; but what answers so soon may not be the disk.")
    return _nothing_to_hold_against(case, found)


def _stalls(case: Case, held: Sequence[Held]) -> Speed:
    longest, why = held[0], reasons(case, held[0].step)
    times, measured_s = sum(one.step.stalls.count or 1 for one in held), sum(one.step.elapsed_s for one in held)
    what = f"{longest.call} that never returned" if longest.call else f"one operation of {longest.step.name}"
    return Speed(
        answer="stalls",
        yardstick="a sound device's longest pause",
        title=f"{duration_ns(longest.ns)} for {what}{_by(why)}",
        sentence=f"{capital(what)} took {duration_ns(longest.ns)}, and whoever waited for it stood still: "
        f"{counted(times, 'stall')} in {seconds(measured_s)}.{_device(longest)}{_said(why)}",
        because=(*(one.line for one in held), *(reason.because for reason in why)),
        next=_next(why),
    )


def _device(held: Held) -> str:
    """Did the device stall, or what is above it?"""
    found = slowest_device(held.step)
    if found is None:
        return ""
    device, took = found[0], duration_ns(found[1])
    if found[1] >= IN_THE_DEVICE * held.ns:
        return f" {device} itself took {took} for an answer."
    return (
        f" {device} itself never took longer than {took}: it was held up above, in the filesystem or for want of a CPU."
    )


def _slow(case: Case, slow: Yardstick, found: Sequence[Yardstick]) -> Speed:
    worst = slow.worst
    why = reasons(case, worst.step)
    return Speed(
        answer="slow",
        yardstick=slow.name,
        title=f"{worst.did} beside {slow.name}{_by(why)}",
        sentence=f"{worst.step.name} did {worst.did} in {seconds(worst.step.elapsed_s)}; held against {slow.name}, "
        f"{worst.evidence}.{_said(why)}",
        because=(*_lines(found), *(reason.because for reason in why)),
        next=_next(why),
    )


def _normal(case: Case, normal: Yardstick, found: Sequence[Yardstick]) -> Speed:
    best = max(normal.comparisons, key=lambda one: one.per_s)
    return Speed(
        answer="normal",
        yardstick=normal.name,
        title=f"{best.did}, as {normal.name}",
        sentence=f"{best.step.name} did {best.did}; held against {normal.name}, {best.evidence}. {_longest(case)}",
        because=_lines(found),
    )


def _without_cpu(step: Step, line: str, ns: int) -> Speed:
    missing = duration_ns(ns)
    return Speed(
        title=f"fstui had no CPU for {missing} of {seconds(step.elapsed_s)}",
        sentence=f"The box was short of CPU: in {step.name} fstui was ready to run and had none for {missing} of "
        f"{seconds(step.elapsed_s)}. How long the storage itself took cannot be told from that.",
        because=(line, f"{step.name}: {missing} without a CPU (/proc/self/schedstat, /proc/stat)"),
        next=("Measure again when the box has processor time to spare.",),
    )


def _nothing_to_hold_against(case: Case, found: Sequence[Yardstick]) -> Speed:
    if not any(rated(case)):
        return _unknown("no rate to go by", "No step synced write after write long enough to have a rate.")
    if found:
        return Speed(
            title=f"slower than {found[0].name}, by too little to tell",
            sentence=f"It is slower than {found[0].name}, but by less than twice, or in a step too short to tell.",
            because=_lines(found),
            next=(LONGER,),
        )
    return _unknown("nothing to hold it against", f"{NOTHING} {_longest(case)}", LONGER)


def _longest(case: Case) -> str:
    longest = max((done.step.latency_ns.max for done in rated(case) if done.step.latency_ns), default=None)
    return f"The longest operation took {duration_ns(longest)}." if longest else ""


def _unknown(title: str, sentence: str, *steps: str) -> Speed:
    return Speed(title=title, sentence=sentence, next=steps)


def _lines(found: Sequence[Yardstick]) -> tuple[str, ...]:
    return tuple(f"{one.worst.line} ({one.name})" for one in found)


def _by(why: Sequence[Reason]) -> str:
    return f": {why[0].words}" if why else ""


def _said(why: Sequence[Reason]) -> str:
    """What else is to blame; where there is something, the disk is not."""
    if not why:
        return f" {UNSEEN}"
    return " " + " ".join(f"{capital(reason.words)}." for reason in why) + " So this is not laid to the disk."


def _next(why: Sequence[Reason]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reason.next for reason in why))
