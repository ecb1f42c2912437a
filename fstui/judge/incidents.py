"""Find when programs waited unusually long, and why. All functions depend only on the records of a recording."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from statistics import median
from typing import NamedTuple

from msgspec.structs import replace

from fstui.judge.speed.stalls import CPU_SHARE
from fstui.measure.latency import STALL_P50_FACTOR, stall_limit_ns
from fstui.model.quantities import counted, duration_ns, percent, rate, size, write_limit
from fstui.model.recording import Bucket, Cause, Incident, ProcessIo, Record, RecordedWait, Second, Window
from fstui.proc import WRITE_LIMITS

MIN_WINDOWS = 6
"""A program has a typical sync time if it synced in at least this many windows of ten seconds."""
MIN_WAIT_SHARE, MIN_SYNC_MS = 0.2, 5.0
"""A slowdown counts only if syncs take at least this share of a program's time, and at least this long each."""
SLOW_FACTOR, MIN_SLOW_MS = 5.0, 5.0
"""A device became slow if its writes took this many times as long as at other times, and at least this long."""
SLOW_DEVICE_MS, SLOW_DEVICE_S = 50.0, 2.0
"""A device for which no program waited is reported if its writes took this many ms, for this many seconds."""
MAX_GAP_S = 10.0
"""Waits for the same devices belong to one incident if they are at most this far apart."""
COMPLETION_DELAY_S = 0.5
"""A request is counted when it is complete. This may be up to this long after the end of the wait."""
WRITEBACK_DELAY_S = 30.0
"""The kernel keeps written data in memory for about this time before it writes the data to the device."""
MIN_CAUSE_BYTES_PER_S = 4 << 20
"""If a device transferred less than this, the transfers did not slow it down."""
MAX_COUNTED_FACTOR = 4
"""For a small write to a large folio, the kernel counts the whole folio. A process that seems to have written more than
this many times what its devices wrote is not named as the cause. A smaller factor may be due to compression."""
MIN_CAUSE_SHARE = 0.3
"""A program counts as the cause if it did at least this share of the device's work, or if it waited for at least this
share of the time that the affected program waited."""
MIN_CAUSE_SYNCS_PER_S, SYNC_RATE_FACTOR = 10, 2.0
"""A program may be the cause if it syncs this often, and this many times as often as in the minute before."""
MEMORY_WAIT_SHARE = 0.2
"""Memory is the cause if processes waited for memory in at least this share of the time."""
CPU_WAIT_SHARE = 0.9
"""If the device seems slow, a lack of CPU is the cause only if the program had no CPU for this share of the wait. Such
a program also submits its requests late, so the device seems slow."""
MINUTE_S = 60.0
MIN_WAITED_S = 0.5
"""An incident whose waits add up to less time is not reported."""
MIN_LONGEST_SHARE = 0.5
"""Flushes, and the backing file of a loop device, explain a wait only if they took at least this share of its time."""
CPU, IO, IO_FULL, MEMORY, MEMORY_FULL = range(5)
"""Indexes of ``Second.pressure_ms``."""
MAX_BUCKETS = 60
MIN_LONG_WAIT_MS = 100
"""A wait of this length determines the device of its row, even if writes to another device took longer."""
_LAST_ROW_MARGIN_S = 0.001
"""A time this close before the end of the timeline is in its last row."""
_ROW_WIDTHS_S = (10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400)


class Slowdown(NamedTuple):
    """An unusually long wait of one program. If ``wait`` is None: a period in which a device was slow."""

    start: float
    end: float
    place: tuple[str, ...]
    """The devices; for a filesystem without devices, its mount point or type."""
    wait: RecordedWait | None = None
    waited_s: float = 0.0


class _Latency(NamedTuple):
    """The latency of a device's writes over several seconds: the mean, the median second and the worst second."""

    mean_ms: float
    median_ms: float
    worst_ms: float


class Records(NamedTuple):
    seconds: list[Second]
    windows: list[Window]
    typical_write_ms: dict[str, float]
    """By device: the median of its write latencies in all seconds."""
    typical_sync_us: dict[tuple[str, str], float]
    """By program and device: the median of the median sync times of all windows."""


def collect_records(records: Iterable[Record]) -> Records:
    seconds, windows = [], []
    for record in records:
        if isinstance(record, Second):
            seconds.append(record)
        elif isinstance(record, Window):
            windows.append(record)
    latencies: dict[str, list[float]] = defaultdict(list)
    for second in seconds:
        for device in second.devices:
            if device.ms_per_write is not None:
                latencies[device.device].append(device.ms_per_write)
    syncs: dict[tuple[str, str], list[int]] = defaultdict(list)
    for window in windows:
        for wait in window.waits:
            if wait.p50_us:
                syncs[wait.program, wait.device].append(wait.p50_us)
    typical_write_ms = {name: median(values) for name, values in latencies.items()}
    typical_sync_us = {key: median(values) for key, values in syncs.items() if len(values) >= MIN_WINDOWS}
    return Records(seconds, windows, typical_write_ms, typical_sync_us)


def incidents(records: Records, start: float, end: float, limit: int) -> list[Incident]:
    """Return at most ``limit`` incidents between two times, those in which programs waited most.

    The incident whose program waited longest comes first.
    """

    def is_within(slowdown: Slowdown) -> bool:
        return slowdown.start < end and slowdown.end > start

    groups = _group(filter(is_within, _long_waits(records)))
    # a slow device is an incident of its own only if no program waited for it at that time
    for slow in _group(filter(is_within, _slow_devices(records))):
        if _end(slow) - slow[0].start >= SLOW_DEVICE_S and not any(_is_near(group, slow) for group in groups):
            groups.append(slow)
    reported = [group for group in groups if _waited_s(group) >= MIN_WAITED_S or not group[0].wait]
    reported.sort(key=lambda group: (_waited_s(group), _end(group) - group[0].start), reverse=True)
    found = [_incident(IncidentFacts(records, group)) for group in reported[:limit]]
    return sorted(found, key=lambda incident: incident.waited_s, reverse=True)


def _end(group: Sequence[Slowdown]) -> float:
    return max(slowdown.end for slowdown in group)


def _is_near(group: Sequence[Slowdown], other: Sequence[Slowdown]) -> bool:
    """Return whether two groups are about the same device and less than ``MAX_GAP_S`` apart."""
    if not set(group[0].place) & set(other[0].place):
        return False
    return group[0].start - MAX_GAP_S < _end(other) and other[0].start < _end(group) + MAX_GAP_S


def _waited_s(group: Sequence[Slowdown]) -> float:
    return sum(slowdown.waited_s for slowdown in group)


def _long_waits(records: Records) -> Iterator[Slowdown]:
    """Yield the stalls, and the windows in which the syncs of a program took far longer than in most windows."""
    # A wait in progress is in every window until it ends, longer each time. Yield it only once: as a stall when it
    # ends, or as it was in its last window.
    in_progress: dict[tuple[str, int, str], Slowdown] = {}
    for window in records.windows:
        previous, in_progress = in_progress, {}
        for wait in window.waits:
            if wait.kernel:
                continue
            key = (wait.program, wait.pid, wait.file)
            place = wait.below or (wait.mount_point or wait.fstype or wait.device,)
            typical_us = records.typical_sync_us.get((wait.program, wait.device), 0.0)
            limit_ms = stall_limit_ns(int(typical_us * 1000)) / 1e6
            stalls = [(window.at - ago_s, ms / 1000) for ago_s, ms, _ in wait.slow if ms >= limit_ms]
            for stall_end, stall_s in stalls:
                yield Slowdown(stall_end - stall_s, stall_end, place, wait, stall_s)
            is_slower = typical_us and wait.p50_us >= max(SLOW_FACTOR * typical_us, MIN_SYNC_MS * 1000)
            if not stalls and is_slower and wait.waited_ms >= MIN_WAIT_SHARE * (window.traced_s or 0.0) * 1000:
                yield Slowdown(window.at - window.elapsed_s, window.at, place, wait, wait.waited_ms / 1000)
            if wait.in_flight_ms >= limit_ms:
                in_flight_s = wait.in_flight_ms / 1000
                in_progress[key] = Slowdown(window.at - in_flight_s, window.at, place, wait, in_flight_s)
            starts = [stall_end - stall_s for stall_end, stall_s in stalls]
            starts += [in_progress[key].start] if key in in_progress else []
            if key in previous and any(start < previous[key].end for start in starts):
                del previous[key]
        yield from previous.values()
    yield from in_progress.values()


def _slow_devices(records: Records) -> Iterator[Slowdown]:
    for second in records.seconds:
        for device in second.devices:
            limit_ms = max(SLOW_DEVICE_MS, STALL_P50_FACTOR * records.typical_write_ms.get(device.device, 0.0))
            if device.is_stuck or (device.ms_per_write or 0.0) >= limit_ms:
                yield Slowdown(second.at - second.elapsed_s, second.at, (device.device,))


def _group(slowdowns: Iterable[Slowdown]) -> list[list[Slowdown]]:
    """Group the slowdowns of the same place that are at most ``MAX_GAP_S`` apart, in the order of time."""
    groups: list[list[Slowdown]] = []
    latest: dict[tuple[str, ...], tuple[list[Slowdown], float]] = {}
    for slowdown in sorted(slowdowns, key=lambda slowdown: slowdown.start):
        group, group_end = latest.get(slowdown.place, ([], 0.0))
        if not group or slowdown.start > group_end + MAX_GAP_S:
            group, group_end = [], 0.0
            groups.append(group)
        group.append(slowdown)
        latest[slowdown.place] = group, max(group_end, slowdown.end)
    return groups


class IncidentFacts:
    def __init__(self, records: Records, slowdowns: Sequence[Slowdown]) -> None:
        self.start, self.end = start, end = slowdowns[0].start, _end(slowdowns)
        self.waited_s: dict[tuple[str, str], float] = defaultdict(float)
        """By program and file, in seconds."""
        for slowdown in slowdowns:
            if slowdown.wait:
                self.waited_s[slowdown.wait.program, slowdown.wait.file] += slowdown.waited_s
        minute_before = [window for window in records.windows if start - MINUTE_S < window.at <= start]
        before_s = sum(window.elapsed_s for window in minute_before)
        self.usual_syncs_per_s: dict[str, float] = defaultdict(float)
        """By program: its syncs per second in the minute before the incident."""
        for window in minute_before:
            for wait in window.waits:
                self.usual_syncs_per_s[wait.program] += wait.syncs / before_s
        waited_s, usual = self.waited_s, self.usual_syncs_per_s
        longest_key = max(waited_s, key=lambda key: (key[0] in usual, waited_s[key]), default=("", ""))
        waits = [slow.wait for slow in slowdowns if slow.wait and (slow.wait.program, slow.wait.file) == longest_key]
        self.longest_s = max((wait.longest_so_far_ms for wait in waits), default=0) / 1000
        """The longest single wait of that program for that file."""
        self.main_wait = reduce(lambda earlier, later: later.merged_with(earlier), waits) if waits else None
        """The last wait of the program that waited longest for one file. Programs that also synced in the minute before
        take precedence, because a program that just started may be the cause."""
        self.program = self.main_wait.program if self.main_wait else ""
        self.devices = frozenset(self.main_wait.below if self.main_wait else slowdowns[0].place)
        self.seconds = [second for second in records.seconds if any(_overlap(second, slow) for slow in slowdowns)]
        self.elapsed_s = sum(second.elapsed_s for second in self.seconds) or 1.0
        all_counters = [counters for second in self.seconds for counters in second.devices]
        self.counters = [counters for counters in all_counters if counters.device in self.devices]
        until_end = [window for window in records.windows if window.at - window.elapsed_s < end]
        self.windows = [window for window in until_end if window.at > start]
        self.writing_windows = [window for window in until_end if window.at > start - WRITEBACK_DELAY_S]
        """``windows`` and earlier ones, because the kernel writes data to the device up to WRITEBACK_DELAY_S later."""
        self.writing_seconds = [
            second
            for second in records.seconds
            if any(window.at - window.elapsed_s < second.at <= window.at for window in self.writing_windows)
        ]
        self.waits = [wait for window in self.windows for wait in window.waits if not wait.kernel]
        self.own_waits = [wait for wait in self.waits if waits and (wait.program, wait.file) == longest_key]
        self.memory_share = pressure_share(self.seconds, MEMORY)
        latencies = {name: latency for name in self.devices if (latency := _latency(self.seconds, name))}
        typical_ms = records.typical_write_ms
        rise = {name: latency.median_ms / max(typical_ms.get(name, 1.0), 0.1) for name, latency in latencies.items()}
        self.device = max(rise, key=lambda name: rise[name], default="")
        """The device whose write latency rose most. The three latencies below are those of this device."""
        slowest = latencies.get(self.device)
        self.median_ms = slowest.median_ms if slowest else None
        self.worst_ms = slowest.worst_ms if slowest else None
        other_counters = [
            counters
            for second in records.seconds
            if second.at <= start or second.at - second.elapsed_s >= end + COMPLETION_DELAY_S
            for counters in second.devices
            if counters.device == self.device
        ]
        other_times_ms = [ms for counters in other_counters if (ms := counters.ms_per_write) is not None]
        self.typical_ms = median(other_times_ms) if other_times_ms else None
        own_counters = [counters for counters in self.counters if counters.device == self.device]
        self.flushes_ms = sum(counters.flush_ms for counters in own_counters)
        """The time of all flushes together. No flush took longer."""
        flushes_ms = [ms for counters in own_counters if (ms := counters.ms_per_flush) is not None]
        self.worst_flush_ms = max(flushes_ms, default=None)
        other_flushes_ms = [ms for counters in other_counters if (ms := counters.ms_per_flush) is not None]
        self.typical_flush_ms = median(other_flushes_ms) if other_flushes_ms else None

    @property
    def is_device_slow(self) -> bool:
        return self.median_ms is not None and self.median_ms >= _slow_limit_ms(self.typical_ms)

    @property
    def is_flush_slow(self) -> bool:
        """Whether flushes took longer than usual, and long enough to explain the wait."""
        may_explain = self.flushes_ms >= MIN_LONGEST_SHARE * self.longest_s * 1000
        return may_explain and (self.worst_flush_ms or 0.0) >= _slow_limit_ms(self.typical_flush_ms)

    @property
    def is_frozen(self) -> bool:
        """Whether the longest wait may have been that for the end of a freeze."""
        frozen_ms = max((wait.frozen_ms for wait in self.own_waits), default=0)
        return frozen_ms > 0 and frozen_ms >= MIN_LONGEST_SHARE * self.longest_s * 1000

    @property
    def cpu_share(self) -> float | None:
        """The share of the wait in which the program may have waited for a CPU; None if it is not known."""
        known = [wait for wait in self.own_waits if wait.counts_cpu]
        slow_syncs = [(cpu_ms, ms) for wait in known for _, ms, cpu_ms in wait.slow]
        waits = slow_syncs or [(wait.cpu_ms, wait.waited_ms + wait.in_flight_ms) for wait in known]
        waited_ms = sum(ms for _, ms in waits)
        return sum(cpu_ms for cpu_ms, _ in waits) / waited_ms if waited_ms else None


def _slow_limit_ms(typical_ms: float | None) -> float:
    return SLOW_DEVICE_MS if typical_ms is None else max(MIN_SLOW_MS, SLOW_FACTOR * typical_ms)


class Explanation(NamedTuple):
    cause: Cause
    clause: str
    """The part of the incident's sentence that states the cause."""
    culprit: ProcessIo | RecordedWait | None = None


def _incident(facts: IncidentFacts) -> Incident:
    explanation, nobody = _explain(facts), RecordedWait()
    wait, culprit = facts.main_wait or nobody, explanation.culprit or nobody
    excluded = []
    if explanation.cause != "cpu" and facts.cpu_share is not None and facts.cpu_share < MIN_WAIT_SHARE:
        excluded.append("CPU time")
    if explanation.cause != "memory" and facts.memory_share is not None and facts.memory_share < MEMORY_WAIT_SHARE:
        excluded.append("memory")
    not_the_cause = f" Not the cause: a lack of {' or '.join(excluded)}." if excluded else ""
    cpu_share = pressure_share(facts.seconds, CPU) or 0.0
    if "CPU time" in excluded and cpu_share >= MIN_WAIT_SHARE:
        not_the_cause += (
            f" Processes waited for a CPU for {percent(cpu_share)} of that time, but mainly other programs."
        )
    total_s = sum(facts.waited_s.values())
    waited_s = facts.waited_s.get((wait.program, wait.file), 0.0)
    head = "no program was seen to wait for a sync"
    if facts.main_wait:
        other_programs = len({program for program, _ in facts.waited_s} - {wait.program})
        call = f"in {wait.call} of" if wait.call else "for a sync of"
        if facts.is_frozen:
            call = "to write to"
        others = [f"{counted(other_programs, 'other program')} too"] if other_programs else []
        others += [f"all waits: {duration_ns(total_s * 1e9)}"] if total_s > waited_s else []
        also = f" ({', '.join(others)})" if others else ""
        longest = f" (at most {duration_ns(facts.longest_s * 1e9)} at a time)" if facts.longest_s < waited_s else ""
        head = f"{wait.program_label} waited {duration_ns(waited_s * 1e9)}{longest} {call} {wait.file_label}{also}"
    return Incident(
        start=facts.start,
        end=facts.end,
        sentence=f"{head}; {explanation.clause}.{not_the_cause}",
        cause=explanation.cause,
        program=wait.program,
        pid=wait.pid or None,
        file=wait.file,
        waited_s=waited_s,
        all_waited_s=total_s,
        longest_s=facts.longest_s,
        device=facts.device,
        latency_ms=facts.worst_ms,
        typical_ms=facts.typical_ms,
        culprit=culprit.program,
        culprit_pid=culprit.pid or None,
        culprit_cgroup=culprit.cgroup,
    )


def _overlap(second: Second, slowdown: Slowdown) -> bool:
    return second.at - second.elapsed_s < slowdown.end + COMPLETION_DELAY_S and second.at > slowdown.start


def _latency(seconds: Sequence[Second], device: str) -> _Latency | None:
    """Return the latency of the device's writes, at least the time in which it completed none; None if unknown."""
    samples = [(second, counters) for second in seconds for counters in second.devices if counters.device == device]
    stuck_ms = sum(second.elapsed_s * 1000 for second, counters in samples if counters.is_stuck)
    latencies_ms = [ms for _, counters in samples if (ms := counters.ms_per_write) is not None]
    if not latencies_ms:
        return _Latency(stuck_ms, stuck_ms, stuck_ms) if stuck_ms else None
    mean_ms = sum(counters.write_ms for _, counters in samples) / sum(counters.writes for _, counters in samples)
    return _Latency(*(max(ms, stuck_ms) for ms in (mean_ms, median(latencies_ms), max(latencies_ms))))


def _explain(facts: IncidentFacts) -> Explanation:
    for rule in _RULES:
        if explanation := rule(facts):
            return explanation
    if facts.is_device_slow:
        others = "no other program wrote, read or synced enough there to explain it"
        return Explanation("device", f"{_latency_rose(facts)}, and {others}")
    if backing_file := _backing_file_text(facts):
        return Explanation("unknown", backing_file)
    if facts.median_ms is None:
        lack_of_cpu = _lack_of_cpu(facts)
        clause = lack_of_cpu or "the cause is not known, because no counters of its device were recorded"
        return Explanation("unknown", clause)
    return Explanation("unknown", f"{facts.device} {_writes_text(facts)}{_flushes_text(facts)}")


def _backing_file_text(facts: IncidentFacts) -> str:
    """Return how long a loop device waited for its backing file; an empty string if that was not long."""
    waits = [
        (timed.ms, device, timed.wait.file.removesuffix(f" ({device})"))
        for timed in waits_between(facts.windows, facts.start, facts.end, kernel=True)
        for device in facts.devices
        if timed.wait.file.endswith(f" ({device})")
    ]
    ms, device, file = max(waits, default=(0, "", ""))
    if not facts.main_wait or not ms or ms < MIN_LONGEST_SHARE * facts.longest_s * 1000:
        return ""
    waited = f"{device} waited up to {duration_ns(ms * 1e6)} for its backing file {file}"
    return f"{waited}. So the delay may have been in the storage below {device}"


def _flushes_text(facts: IncidentFacts) -> str:
    """Return whether the flushes explain the wait. The time of the writes alone does not exclude the device."""
    worst_ms, typical_ms = facts.worst_flush_ms, facts.typical_flush_ms
    if worst_ms is None:
        return f", but none of its flushes were counted. So it is not known whether the delay was in {facts.device}"
    if not facts.is_flush_slow:
        if lack_of_cpu := _lack_of_cpu(facts):
            return f", but {lack_of_cpu}"
        return ". So the delay was probably in the filesystem or the program"
    usual = "" if typical_ms is None else f" (at other times {duration_ns(typical_ms * 1e6)})"
    return (
        f", but a flush took at least {duration_ns(worst_ms * 1e6)}{usual}. So the delay may have been in "
        f"{facts.device}"
    )


def _lack_of_cpu(facts: IncidentFacts) -> str:
    """Return that a lack of CPUs may be the cause; empty if it cannot be."""
    host_share = pressure_share(facts.seconds, CPU) or 0.0
    if host_share < CPU_SHARE or (facts.cpu_share is not None and facts.cpu_share < MIN_WAIT_SHARE):
        return ""
    return f"processes waited for a CPU for {percent(host_share)} of that time. So that may be the cause"


def _no_device(facts: IncidentFacts) -> Explanation | None:
    wait = facts.main_wait
    if wait is None or wait.below or not wait.fstype:
        return None
    where = f" at {wait.mount_point}" if wait.mount_point else ""
    return Explanation(
        "filesystem", f"the {wait.fstype} filesystem{where} did not respond (no block device is below it)"
    )


def _frozen(facts: IncidentFacts) -> Explanation | None:
    if not facts.is_frozen:
        return None
    return Explanation("filesystem", "its filesystem was frozen: fsfreeze or a snapshot had stopped all writes")


def _short_of_memory(facts: IncidentFacts) -> Explanation | None:
    share = facts.memory_share
    if share is None or share < MEMORY_WAIT_SHARE:
        return None
    return Explanation("memory", f"processes waited for memory for {percent(share)} of that time")


def _io_limit(facts: IncidentFacts) -> Explanation | None:
    if facts.main_wait is None or facts.is_device_slow or facts.is_flush_slow or _backing_file_text(facts):
        return None
    names = facts.devices | {facts.main_wait.device}
    for limit in dict.fromkeys(limit for wait in facts.own_waits for limit in wait.limits):
        device, what, value = limit.split(" ")
        if device in names and what in WRITE_LIMITS:
            limited = next(wait for wait in facts.own_waits if limit in wait.limits)
            # the limit may be that of an outer cgroup
            group = f"cgroup {_cgroup_name(limited.cgroup)}" if limited.cgroup else "the program"
            latency = f"{facts.device or device} {_writes_text(facts, 'the writes of all programs')}"
            most = write_limit(what, int(value))
            clause = f"an I/O limit allows {group} at most {most} to {device} ({what}), while {latency}"
            written_kib = sum(counters.written_kib for counters in facts.counters if counters.device == device)
            written_per_s = written_kib * 1024 / facts.elapsed_s
            if what.endswith("bps") and written_per_s > int(value):
                clause += f". All programs wrote {size(written_per_s)}/s, so the limit probably does not apply to all"
            return Explanation("io-limit", clause)
    return None


def _stuck_loop_device(facts: IncidentFacts) -> Explanation | None:
    """If a loop device completes nothing, the cause is not its load, but what holds its backing file."""
    stuck_s = sum(counters.is_stuck for counters in facts.counters if counters.device == facts.device)
    if not facts.device.startswith("loop") or stuck_s < max(SLOW_DEVICE_S, MIN_LONGEST_SHARE * facts.longest_s):
        return None
    causes = "was frozen (fsfreeze, a snapshot), or the storage below it did not respond"
    clause = f"{facts.device} completed nothing for {stuck_s} s"
    return Explanation("device", f"{clause}. The filesystem of its backing file {causes}")


def _other_program(facts: IncidentFacts) -> Explanation | None:
    if not facts.is_device_slow:
        return None
    processes = transfers(facts.writing_windows)
    writers = [
        process
        for process in processes
        if facts.devices.intersection(process.devices) and not _exceeds_devices(facts, process)
    ]
    writer = max(writers, key=lambda process: process.written, default=None)
    if writer and _may_be_cause(facts, writer.written, sum(counters.written_kib for counters in facts.counters)):
        is_itself = writer.program == facts.program
        who = f"{facts.program} itself" if is_itself else _label(writer)
        clause = f"{_latency_rose(facts)} while {who} wrote {_rate_text(writer.written, writer, facts)}"
        return Explanation("itself" if is_itself else "writer", clause, None if is_itself else writer)
    others = [process for process in processes if process.program != facts.program]
    reader = max(others, key=lambda process: process.read, default=None)
    if reader and _may_be_cause(facts, reader.read, sum(counters.read_kib for counters in facts.counters)):
        clause = f"{_latency_rose(facts)} while {_label(reader)} read {_rate_text(reader.read, reader, facts)}"
        return Explanation("reader", clause, reader)
    return None


def _exceeds_devices(facts: IncidentFacts, process: ProcessIo) -> bool:
    """Return whether a process seems to have written far more than its devices wrote or still have to write."""
    seconds = facts.writing_seconds
    counters = [counters for second in seconds for counters in second.devices if counters.device in process.devices]
    unwritten_kib = max((sum(second.memory_kib) for second in seconds), default=0)
    kib = sum(counter.written_kib for counter in counters) + unwritten_kib
    return process.written > MAX_COUNTED_FACTOR * kib * 1024


def _may_be_cause(facts: IncidentFacts, program_bytes: int, device_kib: int) -> bool:
    """Return whether the device transferred many bytes, and the program a large share of them."""
    device_bytes = device_kib * 1024
    min_bytes = max(MIN_CAUSE_BYTES_PER_S * facts.elapsed_s, 1)
    return device_bytes >= min_bytes and program_bytes >= MIN_CAUSE_SHARE * device_bytes


def _discards(facts: IncidentFacts) -> Explanation | None:
    discard_ms = sum(counters.discard_ms for counters in facts.counters)
    if not facts.is_device_slow or discard_ms < MIN_CAUSE_SHARE * facts.elapsed_s * 1000:
        return None
    sums = Counter[str]()
    for window in facts.windows:
        sums.update({discard.program: discard.bytes for discard in window.discards if discard.device in facts.devices})
    amount = size(sum(counters.discarded_kib for counters in facts.counters) * 1024)
    requests = counted(sum(counters.discards for counters in facts.counters), "request")
    for program, _ in sums.most_common(1):
        clause = f"{_latency_rose(facts)} while {program} discarded {amount} in {requests}"
        return Explanation("discards", clause, ProcessIo(program=program, pid=0, read=0, written=0))
    return Explanation("discards", f"{_latency_rose(facts)} while blocks were discarded: {amount} in {requests}")


def _rate_text(amount: int, process: ProcessIo, facts: IncidentFacts) -> str:
    """Return the rate of a process in the windows that recorded it. A window records only processes with much I/O."""
    active_s = sum(
        window.elapsed_s
        for window in facts.writing_windows
        if any(recorded.pid == process.pid for recorded in window.processes or ())
    )
    return f"{size(amount / (active_s or 1.0))}/s"


def _other_syncs(facts: IncidentFacts) -> Explanation | None:
    if not facts.is_device_slow:
        return None
    syncs, waited_ms = Counter[str](), Counter[str]()
    by_program: dict[str, RecordedWait] = {}
    for wait in facts.waits:
        if set(wait.below) & facts.devices:
            syncs[wait.program] += wait.syncs
            waited_ms[wait.program] += wait.waited_ms + wait.in_flight_ms
            by_program[wait.program] = wait
    windows_s = sum(window.elapsed_s for window in facts.windows) or 1.0
    min_waited_ms = MIN_CAUSE_SHARE * waited_ms[facts.program]
    suspects = [
        program
        for program in syncs
        if program != facts.program
        and syncs[program] / windows_s >= SYNC_RATE_FACTOR * facts.usual_syncs_per_s.get(program, 0.0)
        and (
            syncs[program] >= max(MIN_CAUSE_SYNCS_PER_S * windows_s, syncs[facts.program])
            # a new program may sync rarely because its own syncs are slow
            or (program not in facts.usual_syncs_per_s and waited_ms[program] >= min_waited_ms)
        )
    ]
    if not suspects:
        return None
    culprit = by_program[max(suspects, key=lambda program: waited_ms[program])]
    per_s = rate(syncs[culprit.program] / windows_s)
    written_per_s = sum(counters.written_kib for counters in facts.counters) * 1024 / facts.elapsed_s
    written = f", and {size(written_per_s)}/s were written" if written_per_s >= MIN_CAUSE_BYTES_PER_S else ""
    clause = f"{_latency_rose(facts)} while {_label(culprit)} synced {per_s} times/s{written}"
    return Explanation("syncs", clause, culprit)


def _short_of_cpu(facts: IncidentFacts) -> Explanation | None:
    if facts.cpu_share is None or facts.cpu_share < (CPU_WAIT_SHARE if facts.is_device_slow else CPU_SHARE):
        return None
    host_share = pressure_share(facts.seconds, CPU)
    longest_s = max((cpu_ms / 1000 for wait in facts.own_waits for _, _, cpu_ms in wait.slow), default=0.0)
    # if the host lacked CPU for less time than the longest wait, the program waited outside these seconds
    if host_share is not None and host_share * facts.elapsed_s < CPU_WAIT_SHARE * longest_s:
        return None
    host = ""
    if host_share is not None:
        host = f" (on this host, processes waited for a CPU for {percent(host_share)} of the time)"
    share = percent(min(facts.cpu_share, 1.0))
    return Explanation("cpu", f"it waited for a CPU for up to {share} of that time{host}")


_RULES = (
    _frozen, _short_of_memory, _short_of_cpu, _no_device, _io_limit, _stuck_loop_device, _other_program, _discards,
    _other_syncs,
)  # fmt: skip
"""The first that applies explains the incident."""


def transfers(windows: Sequence[Window]) -> list[ProcessIo]:
    """Return each recorded process with the bytes that it read and wrote in all windows."""
    totals: dict[int, ProcessIo] = {}
    for window in windows:
        for process in window.processes or ():
            previous = totals.get(process.pid)
            read, written = (previous.read, previous.written) if previous else (0, 0)
            totals[process.pid] = replace(process, read=process.read + read, written=process.written + written)
    return list(totals.values())


def _latency_rose(facts: IncidentFacts) -> str:
    now = duration_ns((facts.worst_ms or 0.0) * 1e6)
    if facts.typical_ms is None:
        return f"{facts.device}'s own latency was {now}"
    return f"{facts.device}'s own latency rose from {duration_ns(facts.typical_ms * 1e6)} to {now}"


def _label(process: ProcessIo | RecordedWait) -> str:
    """``rsync (pid 4711, cgroup backup.service)``"""
    pid = f"pid {process.pid}" if process.pid else ""
    group = f"cgroup {_cgroup_name(process.cgroup)}" if process.cgroup else ""
    details = ", ".join(filter(None, (pid, group)))
    return f"{process.program} ({details})" if details else process.program


def _cgroup_name(cgroup: str) -> str:
    return cgroup.rpartition("/")[2] or cgroup


def _writes_text(facts: IncidentFacts, writes: str = "writes") -> str:
    """``completed writes as usual (median 2.0 ms)``"""
    latency = duration_ns((facts.median_ms or 0.0) * 1e6)
    if facts.median_ms is None:
        return "completed no writes"
    is_known = facts.typical_ms is not None
    return f"completed {writes} {'as usual ' if is_known else ''}(median {latency})"


def pressure_share(seconds: Sequence[Second], index: int) -> float | None:
    """Return the share of the time in which processes waited; None if the kernel did not count it."""
    known = [(ms, second.elapsed_s) for second in seconds if (ms := second.pressure_ms[index]) is not None]
    elapsed_s = sum(elapsed for _, elapsed in known)
    return min(sum(ms for ms, _ in known) / 1000 / elapsed_s, 1.0) if elapsed_s else None


class TimedWait(NamedTuple):
    """A wait for a sync, and when it was. If only its window is known, the times are those of the window."""

    start: float
    end: float
    ms: int
    wait: RecordedWait
    middle: float
    """The middle of the part that is in the window."""


def waits_between(windows: Iterable[Window], start: float, end: float, *, kernel: bool = False) -> Iterator[TimedWait]:
    """Yield the slow syncs between two times, and the longest other sync of each program in each window.

    ``kernel``: whether to yield the waits of kernel threads instead of those of programs.
    """
    for window in windows:
        window_start = window.at - window.elapsed_s
        for wait in window.waits:
            if wait.kernel != kernel:
                continue
            times = [(window.at - ago_s - ms / 1000, window.at - ago_s, ms) for ago_s, ms, _ in wait.slow]
            if wait.longest_ms > max((ms for *_, ms in times), default=-1):
                times.append((window_start, window.at, wait.longest_ms))
            if wait.in_flight_ms:
                times.append((window.at - wait.in_flight_ms / 1000, window.at, wait.in_flight_ms))
            for began, ended, ms in times:
                if began < end and ended > start:
                    yield TimedWait(began, ended, ms, wait, (max(began, window_start) + ended) / 2)


def buckets(records: Records, start: float, end: float, width_s: float | None = None, device: str = "") -> list[Bucket]:
    """Return the rows of a timeline.

    ``width_s``: the seconds in a row; None for the smallest width with at most MAX_BUCKETS rows. ``device``: the device
    that all rows describe. If it is empty, each row describes the device of its longest wait. If that wait was shorter
    than MIN_LONG_WAIT_MS and than the writes to another device, the row describes the slowest device.
    """
    fitting_s = (width for width in _ROW_WIDTHS_S if (end - start) / width <= MAX_BUCKETS)
    width = width_s or next(fitting_s, _ROW_WIDTHS_S[-1])
    seconds: dict[float, list[Second]] = defaultdict(list)
    windows: dict[float, list[Window]] = defaultdict(list)
    waits: dict[float, list[TimedWait]] = defaultdict(list)

    def row_of(time: float) -> float:
        """Return the start of the nearest row. The sentence also reports the waits of a window partly outside."""
        return start + (min(max(time, start), end - _LAST_ROW_MARGIN_S) - start) // width * width

    for second in records.seconds:
        middle = second.at - second.elapsed_s / 2
        if start <= middle < end:
            seconds[row_of(middle)].append(second)
    for window in records.windows:
        if start < window.at < end + window.elapsed_s:
            windows[row_of(window.at - window.elapsed_s / 2)].append(window)
    for timed in waits_between(records.windows, start, end):
        waits[row_of(timed.middle)].append(timed)
    return [
        _bucket(row, min(row + width, end), seconds[row], windows[row], waits=waits[row], device=device)
        for row in sorted(seconds.keys() | windows.keys() | waits.keys())
    ]


def _bucket(
    start: float, end: float, seconds: list[Second], windows: list[Window], *, waits: list[TimedWait], device: str
) -> Bucket:
    names = {device.device for second in seconds for device in second.devices}
    latencies = {name: latency for name in names if (latency := _latency(seconds, name))}
    worst = max(waits, key=lambda timed: timed.ms, default=None)

    def mean_ms(name: str) -> float:
        return latencies[name].mean_ms if name in latencies else 0.0

    if not device:
        device = max(latencies, key=mean_ms, default="")
        if worst and worst.wait.below and worst.ms >= min(mean_ms(device), MIN_LONG_WAIT_MS):
            device = max(worst.wait.below, key=mean_ms)
    device_counters = [counters for second in seconds for counters in second.devices if counters.device == device]
    traced = [window for window in windows if window.traced_s is not None]
    has_slow = any(wait.slow and not wait.kernel for window in traced for wait in window.waits)
    return Bucket(
        start=start,
        end=end,
        device=device,
        writes=sum(counters.writes for counters in device_counters),
        written_bytes=sum(counters.written_kib for counters in device_counters) * 1024,
        read_bytes=sum(counters.read_kib for counters in device_counters) * 1024,
        flushes=sum(counters.flushes for counters in device_counters),
        latency_ms=latencies[device].mean_ms if device in latencies else None,
        cpu=pressure_share(seconds, CPU),
        io=pressure_share(seconds, IO),
        memory=pressure_share(seconds, MEMORY),
        dirty_bytes=max((sum(second.memory_kib) * 1024 for second in seconds), default=0),
        longest_ms=worst.ms if worst else (0 if traced and not has_slow else None),
        program=worst.wait.program if worst else "",
        file=worst.wait.file_label if worst else "",
        recorded_s=sum(second.elapsed_s for second in seconds),
    )
