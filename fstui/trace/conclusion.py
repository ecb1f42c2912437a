"""What a watch comes to, in one sentence with its numbers: who waits, and what the time goes into."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from fstui.model.quantities import duration_ns, rate, size
from fstui.model.watch import Commits, Culprit, Waiting, Watched, WatchedDevice

WAITS = 0.05
"""Below this share of the time nobody waits: a disk twice as quick would be noticed by none."""
MUCH = 0.5
"""Below this share of the time no program is held up by many quick syncs."""
QUICK_NS = 2_000_000
"""A sync that takes no longer than this is no slow disk's; who waits for many of them asks for many."""
MOSTLY = 0.5
STUCK_NS = 1_000_000_000


class Conclusion(NamedTuple):
    """What the time goes into, and the sentence."""

    culprit: Culprit
    sentence: str


class Program(NamedTuple):
    """Programs of one name over all their files."""

    worst: Waiting
    """The file that it waited for the longest."""
    syncs: int
    waited_ns: int
    timed: int
    """Syncs of which the time is known."""
    device_ns: float
    """The devices' own part of one of them, on average."""
    cpu_ns: int

    @property
    def mean_ns(self) -> float:
        """The time of one sync."""
        return self.waited_ns / max(1, self.timed)


def conclude(whole: Watched) -> Conclusion:
    """Of all that was seen. A kernel's own thread that waits, a loop's say, waits for somebody who is named too."""
    programs = _programs([row for row in whole.waits if not row.kernel])
    if not programs:
        return Conclusion("nobody", f"Nobody waits: no program asked for a sync in {whole.elapsed_s:.1f} s.")
    stuck = max((row for row in whole.waits if row.in_flight_ns), key=lambda row: row.in_flight_ns or 0, default=None)
    if stuck is not None and stuck.in_flight_ns and stuck.in_flight_ns > STUCK_NS:
        return Conclusion("unknown", _of_a_stall(stuck))
    program = max(programs, key=lambda each: each.waited_ns)
    per_s = program.syncs / whole.elapsed_s
    share = program.waited_ns / 1e9 / whole.elapsed_s
    if share < WAITS:
        return Conclusion(
            "nobody",
            f"Nobody waits: {program.worst.who} asks for most, {rate(per_s)} syncs/s of "
            f"{duration_ns(program.mean_ns)} each, {share:.1%} of its time.",
        )
    return _of(program, per_s, share, whole)


def _of(program: Program, per_s: float, share: float, whole: Watched) -> Conclusion:
    who, mean, device = program.worst.who, duration_ns(program.mean_ns), duration_ns(program.device_ns)
    where = program.worst.where
    if program.mean_ns <= QUICK_NS:
        asked = (
            f"{who} makes {rate(per_s)} syncs/s of {where} and spends {_times(share)} in them; one takes {mean}, of "
            f"which the device needs {device}."
        )
        if share < MUCH:
            return Conclusion("nobody", f"Little is waited: {asked}")
        return Conclusion("program", f"The program asks too much: {asked}")
    if program.device_ns >= MOSTLY * program.mean_ns:
        disk = program.worst.device or "its device"
        return Conclusion(
            "disk", f"The disk is slow: {disk} itself takes {device} of the {mean} that a sync of {where} takes {who}."
        )
    if program.cpu_ns >= MOSTLY * program.waited_ns:
        return Conclusion(
            "cpu",
            f"The CPU is short: a sync of {where} takes {who} {mean}, {device} of them in the device, and for up to "
            f"{program.cpu_ns / program.waited_ns:.0%} of the time it waited for a CPU.",
        )
    return Conclusion(
        "filesystem",
        f"The filesystem is slow: a sync of {where} takes {who} {mean}, {device} of them in the device"
        f"{_commits(program.worst.device, whole.commits, whole.elapsed_s)}.",
    )


def conclude_from_proc(whole: Watched, why: str) -> Conclusion:
    """Where nobody can say who waits: what the devices count, and who writes most."""
    busiest = max(whole.devices, key=lambda device: device.flushes or 0, default=None)
    sentence = f"Who waits is not to be seen: {why}."
    if busiest is not None and busiest.flushes:
        sentence += f" {busiest.device} did {rate(busiest.flushes / whole.elapsed_s)} flushes/s{_flush_time(busiest)}."
    else:
        sentence += " No device that counts them was asked for a flush."
    if whole.writers:
        writer = whole.writers[0]
        sentence += f" {writer.name} ({writer.pid}) wrote most, {size(writer.written_bytes / whole.elapsed_s)}/s."
    return Conclusion("unknown", sentence)


def _flush_time(device: WatchedDevice) -> str:
    if not device.flushes or device.flush_ms is None:
        return ""
    return f" of {duration_ns(device.flush_ms * 1e6 / device.flushes)} each"


def _programs(rows: Sequence[Waiting]) -> list[Program]:
    by_program: dict[str, list[Waiting]] = defaultdict(list)
    for row in rows:
        by_program[row.program].append(row)
    return list(map(_program, by_program.values()))


def _program(rows: Sequence[Waiting]) -> Program:
    timed = [row for row in rows if row.latency_ns is not None]
    syncs = sum(row.syncs for row in timed)
    return Program(
        worst=max(rows, key=lambda row: row.waited_ns),
        syncs=sum(row.syncs for row in rows),
        waited_ns=sum(row.waited_ns for row in rows),
        timed=syncs,
        device_ns=sum((row.device_ns or 0) * row.syncs for row in timed) / max(1, syncs),
        cpu_ns=sum(row.cpu_ns for row in rows),
    )


def _times(share: float) -> str:
    """``93 % of its time``; of several threads ``the time of 3.4 threads``."""
    return f"{share:.0%} of its time" if share < 1.05 else f"the time of {share:.1f} threads"


def _commits(device: str | None, commits: Sequence[Commits], elapsed_s: float) -> str:
    found = next((one for one in commits if one.device == device), None)
    if found is None or found.latency_ns is None:
        return ""
    return (
        f"; its journal made {rate(found.count / elapsed_s)} commits/s of {duration_ns(found.latency_ns.p50)} (p50), "
        f"{duration_ns(found.latency_ns.max)} at the most"
    )


def _of_a_stall(row: Waiting) -> str:
    return f"{row.who} has waited {duration_ns(row.in_flight_ns or 0)} for {row.where}, and still does."
