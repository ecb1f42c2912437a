"""Find in a recording when programs waited unusually long, and why: pure functions of its records."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import NamedTuple

from msgspec.structs import replace

from fstui.judge.speed.stalls import CPU_SHARE
from fstui.measure.latency import STALL_TIMES_P50, stall_limit_ns
from fstui.model.quantities import counted, duration_ns, percent, rate, size
from fstui.model.recording import Bucket, Cause, Incident, Mover, Record, RecordedWait, Second, Window

MIN_WINDOWS = 6
"""A program has a typical sync time if it synced in at least this many windows, of ten seconds each."""
NOTICED, NOTICED_MS = 0.2, 5.0
"""A slowdown counts only if syncs take at least this share of a program's time, and at least this long each."""
RISE, RISE_MS = 5.0, 5.0
"""A device became slow if its writes took this many times longer than otherwise, and at least this long."""
ALONE_MS, ALONE_S = 50.0, 2.0
"""A device that no traced program waited for is reported if its writes took this long for this time."""
APART_S = 10.0
"""Waits for one place belong to one incident if they are at most this far apart."""
AFTER_S = 0.5
"""A request is counted when it is complete, which may be in the second after a wait."""
BEFORE_S = 30.0
"""The kernel keeps written data in memory for about this time, and writes it to the device later."""
MUCH_BYTES_PER_S = 4 << 20
SHARE = 0.3
"""A program counts as the cause if it did at least this share of the device's work, or waited for at least this share
of the time of the program that it slowed down."""
MANY_SYNCS_PER_S = 10
MORE = 2.0
"""A program whose syncs did not become this many times more frequent is not the cause."""
SHORT_OF_MEMORY = 0.2
"""Memory is the cause if processes waited for it in at least this share of the time."""
ALL_CPU = 0.9
"""If the device seems slow, lack of CPU is the cause only if it took this share of the wait. A program that lacks CPU
time also submits its requests late, so that the device seems slow."""
MINUTE_S = 60.0
MIN_WAITED_S = 0.5
"""Waits of less time together are not reported."""
CPU, IO, IO_FULL, MEMORY, MEMORY_FULL = range(5)
"""Indexes of ``Second.pressure_ms``."""
MAX_BUCKETS = 60
_EDGE_S = 0.001
_WIDTHS_S = (10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400)
WRITE_LIMITS = ("wbps", "wiops", "write_bps", "write_iops")


class Wait(NamedTuple):
    """An unusually long wait of one program, or, without ``row``, a time in which a device was slow."""

    start: float
    end: float
    place: tuple[str, ...]
    """The devices; for a filesystem without one, its mount point or type."""
    row: RecordedWait | None = None
    waited_s: float = 0.0


class _Latency(NamedTuple):
    """Latency of a device's writes: the median of several seconds, and the worst of them."""

    median_ms: float
    worst_ms: float


class Records(NamedTuple):
    seconds: list[Second]
    windows: list[Window]
    typical_write_ms: dict[str, float]
    """By device: the median of its latency."""
    typical_sync_us: dict[tuple[str, str], float]
    """By program and device: the median of the typical sync of a window."""


def records_of(records: Iterable[Record]) -> Records:
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
        for row in window.waits:
            if row.p50_us:
                syncs[row.program, row.device].append(row.p50_us)
    known = {key: median(values) for key, values in syncs.items() if len(values) >= MIN_WINDOWS}
    return Records(seconds, windows, {name: median(values) for name, values in latencies.items()}, known)


def incidents(records: Records, start: float, end: float, most: int) -> list[Incident]:
    """Return what was unusual between two times, the longest waits first."""
    groups = _grouped(wait for wait in _waits(records) if wait.start < end and wait.end > start)
    covered = [(group[0].place, group[0].start, _end(group)) for group in groups]
    # a slow device is an incident of its own only if no program waited for it at that time
    for group in _grouped(wait for wait in _slow_devices(records) if wait.start < end and wait.end > start):
        begin, until = group[0].start, _end(group)
        overlapping = (place for place, since, to in covered if since - APART_S < until and begin < to + APART_S)
        if until - begin >= ALONE_S and not any(set(group[0].place) & set(place) for place in overlapping):
            groups.append(group)
    noticed = [group for group in groups if _waited_s(group) >= MIN_WAITED_S or not group[0].row]
    noticed.sort(key=lambda group: (_waited_s(group), _end(group) - group[0].start), reverse=True)
    return [_incident(IncidentFacts(records, group)) for group in noticed[:most]]


def _end(group: Sequence[Wait]) -> float:
    return max(wait.end for wait in group)


def _waited_s(group: Sequence[Wait]) -> float:
    return sum(wait.waited_s for wait in group)


def _waits(records: Records) -> Iterator[Wait]:
    """Yield the stalls, and the windows in which all syncs of a program took far longer than in most others."""
    # A wait in progress is in each window until it ends, longer each time. Only the last of them is yielded, and none
    # if the wait is then among the stalls.
    in_progress: dict[tuple[str, int, str], Wait] = {}
    for window in records.windows:
        from_before, in_progress = in_progress, {}
        for row in window.waits:
            if row.kernel:
                continue
            key = (row.program, row.pid, row.file)
            place = row.below or (row.mount_point or row.fstype or row.device,)
            typical_us = records.typical_sync_us.get((row.program, row.device), 0.0)
            limit_ms = stall_limit_ns(int(typical_us * 1000)) / 1e6
            stalls = [(ago, ms) for ago, ms, _ in row.slow if ms >= limit_ms]
            for ago, ms in stalls:
                yield Wait(window.at - ago - ms / 1000, window.at - ago, place, row, ms / 1000)
            slower = typical_us and row.p50_us >= max(RISE * typical_us, NOTICED_MS * 1000)
            if not stalls and slower and row.waited_ms >= NOTICED * (window.traced_s or 0.0) * 1000:
                yield Wait(window.at - window.elapsed_s, window.at, place, row, row.waited_ms / 1000)
            if row.in_flight_ms >= limit_ms:
                in_progress[key] = Wait(
                    window.at - row.in_flight_ms / 1000, window.at, place, row, row.in_flight_ms / 1000
                )
                from_before.pop(key, None)
            elif stalls:
                from_before.pop(key, None)
        yield from from_before.values()
    yield from in_progress.values()


def _slow_devices(records: Records) -> Iterator[Wait]:
    for second in records.seconds:
        for device in second.devices:
            limit_ms = max(ALONE_MS, STALL_TIMES_P50 * records.typical_write_ms.get(device.device, 0.0))
            if device.stuck or (device.ms_per_write or 0.0) >= limit_ms:
                yield Wait(second.at - second.elapsed_s, second.at, (device.device,))


def _grouped(waits: Iterable[Wait]) -> list[list[Wait]]:
    """Return the waits for each place that are not far apart, in the order of time."""
    found: list[list[Wait]] = []
    latest: dict[tuple[str, ...], tuple[list[Wait], float]] = {}
    for wait in sorted(waits, key=lambda one: one.start):
        group, until = latest.get(wait.place, ([], 0.0))
        if not group or wait.start > until + APART_S:
            group, until = [], 0.0
            found.append(group)
        group.append(wait)
        latest[wait.place] = group, max(until, wait.end)
    return found


class IncidentFacts:
    """What the records show about one incident, which consists of ``waits``."""

    def __init__(self, records: Records, waits: Sequence[Wait]) -> None:
        self.start, self.end = start, end = waits[0].start, _end(waits)
        self.waited_s: dict[tuple[str, str], float] = defaultdict(float)
        """By program and file, in seconds."""
        for wait in waits:
            if wait.row:
                self.waited_s[wait.row.program, wait.row.file] += wait.waited_s
        before = [window for window in records.windows if start - MINUTE_S < window.at <= start]
        self.usual_syncs_per_s: dict[str, float] = defaultdict(float)
        """By program, for those that also synced in the minute before."""
        for window in before:
            for row in window.waits:
                self.usual_syncs_per_s[row.program] += row.syncs / sum(one.elapsed_s for one in before)
        main = max(
            self.waited_s, key=lambda key: (key[0] in self.usual_syncs_per_s, self.waited_s[key]), default=("", "")
        )
        rows = (wait.row for wait in reversed(waits) if wait.row and (wait.row.program, wait.row.file) == main)
        self.row = next(rows, None)
        """The last row of the program and file that waited longest. A program that also synced in the minute before
        comes first, because a new one may be the cause."""
        self.devices = frozenset(self.row.below if self.row else waits[0].place)
        self.seconds = [one for one in records.seconds if any(_overlap(one, wait) for wait in waits)]
        self.elapsed_s = sum(second.elapsed_s for second in self.seconds) or 1.0
        self.counted = [one for second in self.seconds for one in second.devices if one.device in self.devices]
        until_end = [window for window in records.windows if window.at - window.elapsed_s < end]
        self.windows = [window for window in until_end if window.at > start]
        self.earlier = [window for window in until_end if window.at > start - BEFORE_S]
        """``windows`` and earlier ones: the kernel writes data to the device some time after a program wrote it."""
        self.rows = [row for window in self.windows for row in window.waits if not row.kernel]
        self.own = [row for row in self.rows if self.row and row.program == self.row.program]
        self.memory = pressure(self.seconds, MEMORY)
        latencies = {name: ms for name in self.devices if (ms := _latency_ms(self.seconds, name))}
        rise = {
            name: ms.median_ms / max(records.typical_write_ms.get(name, 1.0), 0.1) for name, ms in latencies.items()
        }
        self.device = max(rise, key=lambda name: rise[name], default="")
        latency = latencies.get(self.device)
        self.median_ms = latency.median_ms if latency else None
        self.worst_ms = latency.worst_ms if latency else None
        outside = [
            per_write
            for second in records.seconds
            if second.at <= start or second.at - second.elapsed_s >= end + AFTER_S
            for one in second.devices
            if one.device == self.device and (per_write := one.ms_per_write) is not None
        ]
        self.typical_ms = median(outside) if outside else None

    @property
    def slow_device(self) -> bool:
        if self.median_ms is None:
            return False
        return self.median_ms >= (ALONE_MS if self.typical_ms is None else max(RISE_MS, RISE * self.typical_ms))

    @property
    def cpu(self) -> float | None:
        """The share of its wait in which the program may have waited for a CPU; None if it is not known."""
        slow = [(cpu_ms, ms) for row in self.own for _, ms, cpu_ms in row.slow]
        waits = slow or [(row.cpu_ms, row.waited_ms + row.in_flight_ms) for row in self.own]
        waited_ms = sum(ms for _, ms in waits)
        return sum(cpu_ms for cpu_ms, _ in waits) / waited_ms if waited_ms else None


class Why(NamedTuple):
    cause: Cause
    words: str
    culprit: Mover | RecordedWait | None = None


def _incident(case: IncidentFacts) -> Incident:
    row, why = case.row, _why(case)
    culprit = why.culprit
    busy = pressure(case.seconds, CPU) or 0.0
    cpu = "not CPU" if busy < NOTICED else f"its threads had a CPU, though others waited for one ({percent(busy)})"
    excluded = []
    if why.cause != "cpu" and case.cpu is not None and case.cpu < NOTICED:
        excluded.append(cpu)
    if why.cause != "memory" and case.memory is not None and case.memory < SHORT_OF_MEMORY:
        excluded.append("not memory")
    head = "no program was seen to wait for a sync"
    if row:
        others = len({program for program, _ in case.waited_s} - {row.program})
        call = f"in {row.call} of" if row.call else "for a sync of"
        also = f" ({counted(others, 'other program')} too)" if others else ""
        head = f"{row.who} waited {duration_ns(case.waited_s[row.program, row.file] * 1e9)} {call} {row.where}{also}"
    return Incident(
        start=case.start,
        end=case.end,
        sentence="; ".join(filter(None, [head, why.words, ", ".join(excluded)])) + ".",
        cause=why.cause,
        program=row.program if row else "",
        pid=row.pid or None if row else None,
        file=row.file if row else "",
        waited_s=sum(case.waited_s.values()),
        device=case.device,
        latency_ms=case.worst_ms,
        typical_ms=case.typical_ms,
        culprit=culprit.program if culprit else "",
        culprit_pid=culprit.pid or None if culprit else None,
        culprit_cgroup=culprit.cgroup if culprit else "",
    )


def _overlap(second: Second, wait: Wait) -> bool:
    return second.at - second.elapsed_s < wait.end + AFTER_S and second.at > wait.start


def _latency_ms(seconds: Sequence[Second], device: str) -> _Latency | None:
    """Return the latency of the device's writes. If it completed nothing for a while, it is at least that time."""
    found = [(second, one) for second in seconds for one in second.devices if one.device == device]
    stuck_ms = sum(second.elapsed_s * 1000 for second, one in found if one.stuck)
    each = [ms for _, one in found if (ms := one.ms_per_write) is not None]
    if not each:
        return _Latency(stuck_ms, stuck_ms) if stuck_ms else None
    return _Latency(max(median(each), stuck_ms), max(*each, stuck_ms))


def _why(case: IncidentFacts) -> Why:
    for rule in (_short_of_memory, _short_of_cpu, _no_device, _io_limit, _other_program, _discards, _other_syncs):
        if why := rule(case):
            return why
    if case.slow_device:
        return Why("device", f"{_rose(case)}, and no other program wrote, read or synced much")
    if case.median_ms is None:
        return Why("unknown", "the cause is not known, because no counters of its device were recorded")
    above = "so the time was spent above it, in the filesystem or in the program"
    return Why("unknown", f"{case.device} {_answered(case)}, {above}")


def _no_device(case: IncidentFacts) -> Why | None:
    row = case.row
    if row is None or row.below or not row.fstype:
        return None
    at = f" at {row.mount_point}" if row.mount_point else ""
    return Why("filesystem", f"the {row.fstype} filesystem{at} did not answer: no block device is below it")


def _short_of_memory(case: IncidentFacts) -> Why | None:
    share = case.memory
    if share is None or share < SHORT_OF_MEMORY:
        return None
    return Why("memory", f"processes waited for memory in {percent(share)} of that time")


def _io_limit(case: IncidentFacts) -> Why | None:
    if case.row is None or case.slow_device:
        return None
    names = case.devices | {case.row.device}
    for limit in dict.fromkeys(limit for row in case.own for limit in row.limits):
        device, what, value = limit.split(" ")
        if device in names and what in WRITE_LIMITS:
            words = f"{size(int(value))}/s" if what.endswith("bps") else f"{value} writes/s"
            limited = next(row for row in case.own if limit in row.limits)
            group = f"cgroup {_short(limited.cgroup)}" if limited.cgroup else "its cgroup"
            answered = f"{case.device or device} itself {_answered(case)}"
            return Why("io-limit", f"{group} may write at most {words} to {device} ({what}), while {answered}")
    return None


def _other_program(case: IncidentFacts) -> Why | None:
    if not case.slow_device:
        return None
    own = case.row.program if case.row else ""
    moved = _moved(case.earlier)
    writers = [one for one in moved if case.devices.intersection(one.devices)]
    writer = max(writers, key=lambda one: one.written, default=None)
    if writer and _is_much(case, writer.written, sum(one.written_kib for one in case.counted)):
        itself = writer.program == own
        who = f"{own} itself" if itself else _named(writer)
        words = f"{_rose(case)} while {who} wrote {_per_s(writer.written, writer, case)}"
        return Why("itself" if itself else "writer", words, None if itself else writer)
    reader = max((one for one in moved if one.program != own), key=lambda one: one.read, default=None)
    if reader and _is_much(case, reader.read, sum(one.read_kib for one in case.counted)):
        return Why("reader", f"{_rose(case)} while {_named(reader)} read {_per_s(reader.read, reader, case)}", reader)
    return None


def _is_much(case: IncidentFacts, moved_bytes: int, device_kib: int) -> bool:
    """Return whether the device moved much, and the program a large share of it."""
    device_bytes = device_kib * 1024
    return device_bytes >= max(MUCH_BYTES_PER_S * case.elapsed_s, 1) and moved_bytes >= SHARE * device_bytes


def _discards(case: IncidentFacts) -> Why | None:
    if not case.slow_device or sum(one.discard_ms for one in case.counted) < SHARE * case.elapsed_s * 1000:
        return None
    sums = Counter[str]()
    for window in case.windows:
        sums.update({one.program: one.bytes for one in window.discards if one.device in case.devices})
    amount = size(sum(one.discarded_kib for one in case.counted) * 1024)
    requests = counted(sum(one.discards for one in case.counted), "request")
    for program, _ in sums.most_common(1):
        words = f"{_rose(case)} while {program} discarded {amount} in {requests}"
        return Why("discards", words, Mover(program=program, pid=0, read=0, written=0))
    return Why("discards", f"{_rose(case)} while blocks were discarded: {amount} in {requests}")


def _per_s(moved: int, mover: Mover, case: IncidentFacts) -> str:
    """Return a rate, over the windows in which the process moved much."""
    active_s = sum(
        window.elapsed_s for window in case.earlier if any(one.pid == mover.pid for one in window.processes or ())
    )
    return f"{size(moved / (active_s or 1.0))}/s"


def _other_syncs(case: IncidentFacts) -> Why | None:
    if not case.slow_device:
        return None
    own = case.row.program if case.row else ""
    syncs, waited = Counter[str](), Counter[str]()
    by_program: dict[str, RecordedWait] = {}
    for row in case.rows:
        if set(row.below) & case.devices:
            syncs[row.program] += row.syncs
            waited[row.program] += row.waited_ms + row.in_flight_ms
            by_program[row.program] = row
    windows_s = sum(window.elapsed_s for window in case.windows) or 1.0
    suspects = [
        program
        for program in syncs
        if program != own
        and syncs[program] / windows_s >= MORE * case.usual_syncs_per_s.get(program, 0.0)
        and (
            syncs[program] >= max(MANY_SYNCS_PER_S * windows_s, syncs[own])
            # a new program may sync rarely only because its syncs are slow, too
            or (program not in case.usual_syncs_per_s and waited[program] >= SHARE * waited[own])
        )
    ]
    if not suspects:
        return None
    most = by_program[max(suspects, key=lambda program: waited[program])]
    per_s = rate(syncs[most.program] / windows_s)
    return Why("syncs", f"{_rose(case)} while {_named(most)} synced {per_s} times/s", most)


def _short_of_cpu(case: IncidentFacts) -> Why | None:
    if case.cpu is None or case.cpu < (ALL_CPU if case.slow_device else CPU_SHARE):
        return None
    busy = pressure(case.seconds, CPU)
    longest_s = max((cpu_ms / 1000 for row in case.own for _, _, cpu_ms in row.slow), default=0.0)
    # too little for the longest wait: the program waited for a CPU outside these seconds
    if busy is not None and busy * case.elapsed_s < ALL_CPU * longest_s:
        return None
    host = f" (some process of this host did in {percent(busy)} of the time)" if busy is not None else ""
    return Why("cpu", f"it waited for a CPU{host}, not for the disk")


def _moved(windows: Sequence[Window]) -> list[Mover]:
    sums: dict[int, Mover] = {}
    for window in windows:
        for one in window.processes or ():
            before = sums.get(one.pid)
            more = (before.read, before.written) if before else (0, 0)
            sums[one.pid] = replace(one, read=one.read + more[0], written=one.written + more[1])
    return list(sums.values())


def _rose(case: IncidentFacts) -> str:
    now = duration_ns((case.worst_ms or 0.0) * 1e6)
    if case.typical_ms is None:
        return f"{case.device}'s own latency was {now}"
    return f"{case.device}'s own latency rose from {duration_ns(case.typical_ms * 1e6)} to {now}"


def _named(one: Mover | RecordedWait) -> str:
    """``rsync (pid 4711, cgroup backup.service)``"""
    pid = f"pid {one.pid}" if one.pid else ""
    group = f"cgroup {_short(one.cgroup)}" if one.cgroup else ""
    inside = ", ".join(filter(None, (pid, group)))
    return f"{one.program} ({inside})" if inside else one.program


def _short(cgroup: str) -> str:
    return cgroup.rpartition("/")[2] or cgroup


def _answered(case: IncidentFacts) -> str:
    """``answered as usual (2.0 ms)``"""
    took = duration_ns((case.median_ms or 0.0) * 1e6)
    if case.median_ms is None:
        return "completed no writes"
    return f"answered in {took}" if case.typical_ms is None else f"answered as usual ({took})"


def pressure(seconds: Sequence[Second], which: int) -> float | None:
    """Return the share of the time in which processes waited; None if it was not counted."""
    known = [(ms, second.elapsed_s) for second in seconds if (ms := second.pressure_ms[which]) is not None]
    elapsed_s = sum(elapsed for _, elapsed in known)
    return min(sum(ms for ms, _ in known) / 1000 / elapsed_s, 1.0) if elapsed_s else None


def longest(windows: Iterable[Window]) -> RecordedWait | None:
    rows = (row for window in windows for row in window.waits if not row.kernel)
    return max(rows, key=lambda row: row.longest_so_far_ms, default=None)


def buckets(records: Records, start: float, end: float, width_s: float | None = None) -> list[Bucket]:
    """Return the rows of a timeline, each of ``width_s``; if None, of a width that makes at most MAX_BUCKETS rows."""
    width = width_s or next((one for one in _WIDTHS_S if (end - start) / one <= MAX_BUCKETS), _WIDTHS_S[-1])
    seconds: dict[int, list[Second]] = defaultdict(list)
    windows: dict[int, list[Window]] = defaultdict(list)

    def cell(record: Record) -> int:
        """Return the number of the row; -1 if the record is outside."""
        into_s = record.at - record.elapsed_s / 2 - start
        if isinstance(record, Window) and start < record.at < end + record.elapsed_s:
            # one that is partly outside belongs to the nearest row: the sentence reports its waits as well
            into_s = min(max(into_s, 0), end - start - _EDGE_S)
        return int(into_s // width) if 0 <= into_s < end - start else -1

    for second in records.seconds:
        seconds[cell(second)].append(second)
    for window in records.windows:
        windows[cell(window)].append(window)
    return [
        _bucket(start + at * width, min(start + (at + 1) * width, end), seconds[at], windows[at])
        for at in sorted((seconds.keys() | windows.keys()) - {-1})
    ]


def _bucket(start: float, end: float, seconds: list[Second], windows: list[Window]) -> Bucket:
    names = {device.device for second in seconds for device in second.devices}
    latencies = {name: ms for name in names if (ms := _latency_ms(seconds, name)) is not None}
    device = max(latencies, key=lambda name: latencies[name].median_ms, default="")
    of_device = [one for second in seconds for one in second.devices if one.device == device]
    traced = [window for window in windows if window.traced_s is not None]
    worst = longest(traced)
    return Bucket(
        start=start,
        end=end,
        device=device,
        writes=sum(one.writes for one in of_device),
        written_bytes=sum(one.written_kib for one in of_device) * 1024,
        read_bytes=sum(one.read_kib for one in of_device) * 1024,
        flushes=sum(one.flushes for one in of_device),
        latency_ms=latencies[device].median_ms if device else None,
        cpu=pressure(seconds, CPU),
        io=pressure(seconds, IO),
        memory=pressure(seconds, MEMORY),
        dirty_bytes=max((sum(second.memory_kib) * 1024 for second in seconds), default=0),
        longest_ms=worst.longest_so_far_ms if worst else (0 if traced else None),
        program=worst.program if worst else "",
        file=worst.where if worst else "",
    )
