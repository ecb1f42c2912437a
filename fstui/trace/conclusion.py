"""Draw conclusions from a watch: which program waits and why, and whether the storage is durable and fast."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from fstui.judge import judge
from fstui.judge.references import published_class
from fstui.judge.speed.stalls import CPU_SHARE, LONGEST_PAUSE
from fstui.judge.speed.yardsticks import SLOW_FACTOR
from fstui.measure.latency import STALL_NS
from fstui.model.counters import DeviceTimes
from fstui.model.host import Inventory
from fstui.model.judgement import NOT_TRUSTED, Speed
from fstui.model.quantities import counted, duration_ns, percent, rate, size, write_limit
from fstui.model.run import Evidence
from fstui.model.storage import MediumClass, Target
from fstui.model.watch import Culprit, FileWaits, JournalCommits, WatchCounts, WatchedDevice

MIN_WAIT_SHARE = 0.05
"""If a program waits for a smaller share of the time, a faster disk would not help it."""
MIN_QUICK_SYNC_SHARE = 0.5
"""Quick syncs slow a program down only if they take at least this share of its time."""
QUICK_SYNC_NS = 2_000_000
"""If a program is slowed down by syncs that are at most this long, it syncs too often: the disk is not slow."""
MAIN_CAUSE_SHARE = 0.5
"""If the device, or waiting for a CPU, takes at least this share of a sync's time, it is the main cause."""
HIGH_CPU_PRESSURE = 0.5
"""If some process waited for a CPU for at least this share of the time, busy CPUs may be why syncs are slow."""
MAX_WRITES_PER_SYNC = 4
"""A sync of few pages sends at most about this many writes and flushes to the device."""
MIN_LIMIT_SHARE = 0.5
"""A limit is reached if the device did at least this share of it."""
MUCH_WRITTEN_PER_S = 4 << 20
"""A device that is written faster than this is mentioned."""
STUCK_SYNC_NS = 1_000_000_000
MIN_VICTIM_SHARE = 0.5
"""Of the programs that wait at least this share of the longest time, the one that syncs most often is judged."""
MIN_FLUSHES = 20
"""Minimum number of flushes of a device from which its typical flush time is calculated."""


class WatchConclusion(NamedTuple):
    culprit: Culprit
    sentence: str


class StorageVerdicts(NamedTuple):
    durability: str
    speed: Speed


class AwaitedDisk(NamedTuple):
    name: str
    time_ns: float
    """How much of a sync's time the disk takes on average."""
    upper: AwaitedDisk | None = None
    """The device of the file, if the disk is below that device."""

    @property
    def time_text(self) -> str:
        """How much of a sync's time the disk takes: ``loop0 takes 6.4 ms, vda below it 619 µs``."""
        if self.upper:
            upper = f"{self.upper.name} takes {duration_ns(self.upper.time_ns)}"
            return f"{upper}, {self.name} below it {duration_ns(self.time_ns)}"
        if self.time_ns:
            return f"the device takes {duration_ns(self.time_ns)}"
        return "no request was seen at the device"


class WaitingProgram(NamedTuple):
    worst_row: FileWaits
    program_label: str
    file_label: str
    syncs: int
    waited_ns: int
    ended_ns: int
    """The sum of the durations of the ``timed_syncs``."""
    timed_syncs: int
    """Syncs whose time is known."""
    frozen_ns: int
    device_ns: float
    """How much of a sync's time the devices take on average."""
    cpu_ns: int

    @property
    def mean_ns(self) -> float:
        return self.ended_ns / max(1, self.timed_syncs)


def conclude(counts: WatchCounts, filesystems: Sequence[Target] = ()) -> WatchConclusion:
    """Return the conclusion from a trace. ``filesystems``: those of this host, to find the disks below loop devices."""
    programs = _programs([row for row in counts.waits if not row.kernel])
    if not programs:
        who = "only kernel threads" if counts.waits else "none"
        return WatchConclusion(
            "nobody", f"No program waits for a sync: in {counts.elapsed_s:.1f} s, {who} requested one."
        )
    longest = max(programs, key=lambda row: row.waited_ns)
    stuck = max(counts.waits, key=lambda row: row.in_flight_ns or 0)
    frozen = max(counts.waits, key=lambda row: (row.is_frozen, row.frozen_ns))
    slowest = max((row for row in counts.waits if not row.kernel), key=lambda row: row.longest_ns)
    if frozen.kernel and frozen.frozen_ns and frozen.longest_ns > MAIN_CAUSE_SHARE * slowest.longest_ns:
        return WatchConclusion("filesystem", _frozen_below_loop(frozen, slowest))
    if stuck.is_frozen or longest.frozen_ns > MAIN_CAUSE_SHARE * longest.waited_ns:
        return WatchConclusion("filesystem", _frozen(frozen, programs))
    # without a sync that ended, only the one in flight shows how long the program waits
    if stuck.in_flight_ns and (stuck.in_flight_ns > STUCK_SYNC_NS or not longest.syncs):
        waited, limit = duration_ns(stuck.in_flight_ns), _reached_limit(stuck, stuck.syncs, counts)
        waiting = f"{stuck.program_label} still waits for a sync of {stuck.file_label}, for {waited} so far."
        return WatchConclusion("unknown", f"{waiting} {limit}".rstrip())
    min_wait_ns = MIN_WAIT_SHARE * counts.elapsed_s * 1e9
    if longest.waited_ns < min_wait_ns:
        longest_kernel_ns = max((row.waited_ns for row in counts.waits if row.kernel), default=0)
        is_kernel = longest_kernel_ns >= min_wait_ns
        lead = "Only kernel threads wait for long" if is_kernel else "No program waits long for syncs"
        of_programs = "of the programs, " if longest_kernel_ns > longest.waited_ns else ""
        waits = _share_of_time(longest, counts.elapsed_s)
        sentence = f"{lead}: in {counts.elapsed_s:.1f} s, {of_programs}{longest.program_label} waited most, {waits}."
        return WatchConclusion("nobody", sentence)
    # a program that syncs rarely may wait for the writes of its own data, and delay the other programs
    min_wait_ns = max(min_wait_ns, longest.waited_ns * MIN_VICTIM_SHARE)
    affected = sorted((row for row in programs if row.waited_ns >= min_wait_ns), key=lambda row: -row.syncs)
    conclusion = _conclude_for(affected[0], counts, filesystems)
    for other in [row for row in affected[1:] if row.timed_syncs][:1]:
        also = f"{other.program_label} also waits, {duration_ns(other.mean_ns)} per sync{_written(other, counts)}."
        conclusion = conclusion._replace(sentence=f"{conclusion.sentence} {also}")
    return conclusion


def _written(program: WaitingProgram, counts: WatchCounts) -> str:
    """Return how much all programs write to the device of a program; empty if that is little."""
    name = program.worst_row.device
    written = sum(device.written_bytes or 0 for device in counts.devices if device.device == name)
    per_s = written / counts.elapsed_s
    return f", and {size(per_s)}/s are written to {name}" if per_s >= MUCH_WRITTEN_PER_S else ""


def _conclude_for(program: WaitingProgram, counts: WatchCounts, filesystems: Sequence[Target]) -> WatchConclusion:
    disk = _disk_of(program, counts, filesystems)
    if not disk.time_ns and (reason := _missing_times_reason(program, counts)):
        waits = f"{program.program_label} waits {duration_ns(program.mean_ns)} per sync on average"
        return WatchConclusion("unknown", f"{waits}. {reason}")
    return _conclude_from_times(program, counts, disk)


def _frozen(row: FileWaits, programs: Sequence[WaitingProgram]) -> str:
    others = sum(other.frozen_ns > 0 and other.worst_row.program != row.program for other in programs)
    too = f", and so {'do' if others > 1 else 'does'} {counted(others, 'other program')}" if others else ""
    if row.is_frozen:
        head = f"The filesystem is frozen: {row.program_label} waits to write to {row.file_label}"
        so_far = f", for {duration_ns(row.in_flight_ns)} so far" if row.in_flight_ns else ""
        return f"{head}{so_far}{too}. fsfreeze or a snapshot has stopped all writes."
    head = f"The filesystem was frozen: {row.program_label} waited to write to {row.file_label}"
    return f"{head}, for {duration_ns(row.longest_ns)}. fsfreeze or a snapshot had stopped all writes."


def _frozen_below_loop(row: FileWaits, waiting: FileWaits) -> str:
    verb, waits = ("has been", "waits") if row.is_frozen else ("was", "waited")
    return (
        f"The filesystem that stores the image of a loop device {verb} frozen for {duration_ns(row.longest_ns)}. "
        f"{waiting.program_label} {waits} for a sync of {waiting.file_label}."
    )


def _missing_times_reason(program: WaitingProgram, counts: WatchCounts) -> str:
    """Return why the times of the program's device are not known; an empty string if it received no request."""
    if counts.traced_s < counts.elapsed_s:
        return "The devices had too many requests to trace them all, so their times are not known."
    own_device = program.worst_row.device
    flushes = sum(device.flushes or 0 for device in counts.devices if device.device == own_device)
    text = f"{own_device} counted {counted(flushes, 'flush')}, but the trace has none, so their times are not known."
    return text if flushes else ""


def _conclude_from_times(program: WaitingProgram, counts: WatchCounts, disk: AwaitedDisk) -> WatchConclusion:
    per_s, share = program.syncs / counts.elapsed_s, program.waited_ns / 1e9 / counts.elapsed_s
    who, mean = program.program_label, duration_ns(program.mean_ns)
    is_quick = program.mean_ns <= QUICK_SYNC_NS
    if is_quick and share < MIN_QUICK_SYNC_SHARE:
        waits = f"in {counts.elapsed_s:.1f} s, {who} waited {_share_of_time(program, counts.elapsed_s)}"
        return WatchConclusion("nobody", f"Syncs are quick: {waits}.")
    waits_for_disk = disk.time_ns >= MAIN_CAUSE_SHARE * program.mean_ns
    if waits_for_disk and not is_quick:
        sentence = (
            f"The program waits for the disk: {disk.name} itself takes {duration_ns(disk.time_ns)} of the {mean} that "
            f"{who} waits per sync on average."
        )
        return WatchConclusion("disk", sentence)
    waits = f"{who} waits {mean} per sync on average: {disk.time_text}"
    if not waits_for_disk and (conclusion := _conclude_above_disk(program, counts, disk, waits)):
        return conclusion
    if is_quick:
        syncs = f"{who} makes {rate(per_s)} syncs/s of {program.file_label} {_time_in_syncs(share)}."
        average = f"An average sync takes {mean}: {disk.time_text}."
        return WatchConclusion("program", f"The program syncs too often: {syncs} {average}")
    slow = "A layer above the disk is slow" if disk.upper else "The filesystem is slow"
    commits = _commits(program.worst_row.device, counts.commits, counts.elapsed_s)
    return WatchConclusion("filesystem", f"{slow}: {waits}{commits}.")


def _conclude_above_disk(
    program: WaitingProgram, counts: WatchCounts, disk: AwaitedDisk, waits: str
) -> WatchConclusion | None:
    """Return the conclusion if a limit or a lack of CPU explains the waits. ``waits``: a clause about them."""
    if limit := _reached_limit(program.worst_row, program.syncs, counts):
        return WatchConclusion("unknown", f"The program probably waits because of an I/O limit: {waits}. {limit}")
    cpu_share = program.cpu_ns / max(1, program.waited_ns)
    # a wait for a CPU during the device's time does not make the sync longer
    cpu_ns = min(cpu_share * program.mean_ns, program.mean_ns - (disk.upper or disk).time_ns)
    if cpu_ns >= MAIN_CAUSE_SHARE * program.mean_ns:
        return WatchConclusion(
            "cpu", f"The program may wait for a CPU: {waits}, and a wait for a CPU at most {duration_ns(cpu_ns)}."
        )
    # no row shows whether the kernel threads that serve the sync waited for a CPU
    if _pressure(counts) >= HIGH_CPU_PRESSURE:
        return WatchConclusion("unknown", f"The cause is not certain: {waits}. {_cpu_shortage(counts)}")
    return None


def _reached_limit(row: FileWaits, syncs: int, counts: WatchCounts) -> str:
    """Return a sentence about a limit of the program's cgroup that it probably reaches; empty if there is none."""
    limits = [text.split(" ") for text in row.io_limits]
    for device, what, value in sorted(limits, key=lambda limit: int(limit[2])):  # an outer cgroup's may be lower
        counters = next((counters for counters in counts.devices if counters.device == device), None)
        amount = int(value) * counts.elapsed_s
        if what.endswith("bps"):
            is_reached = amount * MIN_LIMIT_SHARE <= ((counters and counters.written_bytes) or 0)
        else:
            writes = (counters and counters.writes) or 0
            # a sync of many pages sends many writes; if the device did far more, they were those of other programs
            has_pages = amount * MIN_LIMIT_SHARE <= writes <= amount / MIN_LIMIT_SHARE
            is_reached = amount <= MAX_WRITES_PER_SYNC * syncs or has_pages
        if is_reached:
            return f"Its cgroup may write at most {write_limit(what, int(value))} to {device} ({what})."
    return ""


def _pressure(counts: WatchCounts) -> float:
    return (counts.cpu_pressure_s or 0.0) / counts.elapsed_s if counts.elapsed_s else 0.0


def _cpu_shortage(counts: WatchCounts) -> str:
    return f"The CPU pressure was {percent(_pressure(counts))}."


def _disk_of(program: WaitingProgram, counts: WatchCounts, filesystems: Sequence[Target]) -> AwaitedDisk:
    """Return the device for which a sync waits: the device of the file, or the slowest disk below a loop device."""
    top = program.worst_row.device
    counters = {device.device: device for device in counts.devices}
    own_disk = AwaitedDisk(top or "its device", program.device_ns)
    disks_below = [
        AwaitedDisk(node.id, time_ns, own_disk)
        for target in filesystems
        if _is_at_or_above_loop(top, target)
        for node in target.lowest
        if node.id != top and node.id in counters and (time_ns := _request_ns(counters[node.id])) is not None
    ]
    slowest = max(disks_below, key=lambda disk: disk.time_ns, default=own_disk)
    # a disk whose requests take longer than the requests of its loop device also serves other files
    return slowest if slowest.time_ns < own_disk.time_ns else own_disk


def _is_at_or_above_loop(device: str | None, target: Target) -> bool:
    names = [node.id for node in target.stack]
    return device in names and any(node.kind == "loop" for node in target.stack[names.index(device) :])


def _request_ns(device: WatchedDevice) -> float | None:
    """Return the mean time of a write plus that of a flush, in ns.

    The kernel also counts the request that waits for a flush as a write.
    """
    if not device.writes or device.write_ms is None:
        return None
    flushes, flush_ms = device.flushes or 0, device.flush_ms or 0
    own_writes = device.writes - flushes if device.writes > flushes else device.writes
    write_ns = max(0, device.write_ms - flush_ms) * 1e6 / own_writes
    return write_ns + (flush_ms * 1e6 / flushes if flushes else 0.0)


def conclude_from_proc(counts: WatchCounts, why_untraced: str) -> WatchConclusion:
    """Return the conclusion from counters in /proc. ``why_untraced``: why there is no trace."""
    busiest = max(counts.devices, key=lambda device: device.flushes or 0, default=None)
    sentence = f"fstui cannot see which program waits: {why_untraced}."
    if busiest is not None and busiest.flushes:
        duration = ""
        if busiest.flush_ms is not None:
            duration = f" of {duration_ns(busiest.flush_ms * 1e6 / busiest.flushes)} each"
        sentence += f" {busiest.device} did {rate(busiest.flushes / counts.elapsed_s)} flushes/s{duration}."
    else:
        sentence += " No device that counts flushes received one."
    if counts.writers:
        writer = counts.writers[0]
        sentence += f" {writer.name} ({writer.pid}) wrote most, {size(writer.written_bytes / counts.elapsed_s)}/s."
    return WatchConclusion("unknown", sentence)


def _programs(rows: Sequence[FileWaits]) -> list[WaitingProgram]:
    by_program: dict[str, list[FileWaits]] = defaultdict(list)
    for row in rows:
        by_program[row.program].append(row)
    return list(map(_program, by_program.values()))


def _program(rows: Sequence[FileWaits]) -> WaitingProgram:
    timed_rows = [row for row in rows if row.latency_ns is not None]
    timed_syncs = sum(row.syncs for row in timed_rows)
    worst_row = max(rows, key=lambda row: row.waited_ns)
    pids = {row.pid for row in rows}
    is_one_process = len(pids) == 1 and None not in pids
    # each file counts once, although several threads may have synced it
    files = sum({(row.file, row.inode, row.device): row.files for row in rows}.values())
    process_group = f"{worst_row.program} ({len(pids) if None not in pids else 'several'} processes)"
    return WaitingProgram(
        worst_row=worst_row,
        program_label=worst_row.program_label if len(rows) == 1 or is_one_process else process_group,
        file_label=worst_row.file_label if files == worst_row.files else f"{files} files",
        syncs=sum(row.syncs for row in rows),
        waited_ns=sum(row.waited_ns for row in rows),
        ended_ns=sum(row.ended_ns for row in timed_rows),
        timed_syncs=timed_syncs,
        frozen_ns=sum(row.frozen_ns for row in rows),
        device_ns=sum((row.device_ns or 0) * row.syncs for row in timed_rows) / max(1, timed_syncs),
        cpu_ns=sum(row.cpu_ns for row in rows),
    )


def _share_of_time(program: WaitingProgram, elapsed_s: float) -> str:
    """Return ``4.5 % of its time, for 116 syncs/s of 391 µs``."""
    share, per_s = program.waited_ns / 1e9 / elapsed_s, program.syncs / elapsed_s
    return f"{percent(share, 1)} of its time, for {rate(per_s)} syncs/s of {duration_ns(program.mean_ns)}"


def _time_in_syncs(share: float) -> str:
    """Return ``and spends 93 % of its time in them``, or for several threads ``while 3.4 of its threads wait …``."""
    if share < 1.05:
        return f"and spends {percent(share)} of its time in them"
    return f"while on average {share:.1f} of its threads wait for them"


def _commits(device: str | None, commits: Sequence[JournalCommits], elapsed_s: float) -> str:
    row = next((journal for journal in commits if journal.device == device), None)
    if row is None or row.latency_ns is None:
        return ""
    return (
        f"; the journal made {rate(row.count / elapsed_s)} commits/s of {duration_ns(row.latency_ns.p50)} (p50), "
        f"at most {duration_ns(row.latency_ns.max)}"
    )


def storage_verdicts(counts: WatchCounts, inventory: Inventory, targets: Sequence[Target]) -> StorageVerdicts:
    """Judge whether the storage is durable and whether it is slow. ``targets``: the filesystems that were watched."""
    devices = {row.device for row in counts.waits}
    # only the devices of the filesystem itself, because a disk below its loop device belongs to another filesystem
    synced_targets = [target for target in targets if target.stack and devices.intersection(target.stack[0].below)]
    judged_targets = synced_targets or (targets if len(targets) == 1 else _written_targets(counts, targets))
    return StorageVerdicts(_durability(inventory, judged_targets), _speed(counts, synced_targets))


def _written_targets(counts: WatchCounts, targets: Sequence[Target]) -> list[Target]:
    """Return the filesystems whose devices were written to. Without a trace, only the counters of devices show that."""
    written = {device.device for device in counts.devices if device.writes or device.flushes}
    return [target for target in targets if written.intersection(node.id for node in target.devices)]


def _durability(inventory: Inventory, targets: Sequence[Target]) -> str:
    """Judge only the configuration. A watch does no syncs whose flushes could be counted."""
    advice = "A watch writes no test data: 'fstui check' tests the storage."
    if not targets:
        return f"Is it durable? Not judged: no filesystem was seen to receive a write. {advice}"
    for target in targets:
        result = judge(Evidence(host=inventory.host, process=inventory.process, target=target))
        if result.verdict in NOT_TRUSTED:
            return f"Is it durable? {target.mount_point}: {result.verdict}, {result.confidence}. {result.sentence}"
    names = ", ".join(target.mount_point for target in targets)
    return f"Is it durable? {names}: the storage settings show no defect. {advice}"


def _speed(counts: WatchCounts, synced_targets: Sequence[Target]) -> Speed:
    longest = max((row for row in counts.waits if not row.kernel), key=lambda row: row.longest_ns, default=None)
    if longest is not None and longest.longest_ns >= STALL_NS:
        return _describe_stall(longest, counts, synced_targets)
    flush_times = _flush_times(counts, synced_targets)
    if not flush_times:
        return Speed(title=_why_not_compared(counts, synced_targets))
    name, times, media = max(flush_times, key=lambda device: device[1].p50)
    mount = next(target.mount_point for target in synced_targets if name in {node.id for node in target.stack})
    return _compare_with_class(mount, name, times, media)


def _why_not_compared(counts: WatchCounts, synced_targets: Sequence[Target]) -> str:
    flushed = {device.device for device in counts.devices if (device.flushes or 0) >= MIN_FLUSHES}
    lowest = {node.id: node.medium for target in synced_targets for node in target.lowest}
    for name, medium in lowest.items():
        if name in flushed and (medium is None or medium.class_ == "unknown"):
            return f"fstui does not know what kind of disk {name} is"
    return f"fstui timed fewer than {MIN_FLUSHES} flushes of the disk"


def _describe_stall(row: FileWaits, counts: WatchCounts, synced_targets: Sequence[Target]) -> Speed:
    longest = duration_ns(row.longest_ns)
    if row.latency_ns is not None and row.cpu_ns >= CPU_SHARE * row.longest_ns:
        sentence = (
            f"{row.program_label} waited up to {longest} for a sync, and may have spent that time waiting for a CPU: "
            "this host was short of CPU, or a CPU limit of the cgroup applied. This says nothing about the storage."
        )
        return Speed(title=f"{row.program_label} had no CPU", sentence=sentence)
    if row.frozen_ns >= MAIN_CAUSE_SHARE * row.longest_ns:
        title = f"{row.program_label} waited {longest} to write, because the filesystem was frozen"
        device = shortage = ""
    else:
        mounts = (f"on {target.mount_point}, " for target in synced_targets if row.device in target.stack[0].below)
        title = f"{next(mounts, '')}{row.program_label} waited {longest} for one sync"
        device = f" On average, the device needed {duration_ns(row.device_ns)} per sync." if row.device_ns else ""
        shortage = f" {_cpu_shortage(counts)}" if _pressure(counts) >= HIGH_CPU_PRESSURE else ""
    return Speed(
        answer="stalls",
        yardstick=LONGEST_PAUSE,
        title=title,
        sentence=f"The file: {row.file_label}.{device}{shortage}",
        evidence=(f"{row.program_label}: at most {longest}",),
    )


def _compare_with_class(mount: str, name: str, times: DeviceTimes, media: frozenset[MediumClass]) -> Speed:
    device_class = published_class(media)
    if device_class is None:
        return Speed(title="no reference to compare with", sentence="Too few rates of such devices are published.")
    reference_ns = 1e9 / device_class.slowest_per_s
    typical, reference = duration_ns(times.p50), duration_ns(reference_ns)
    return Speed(
        answer="slow" if times.p50 > SLOW_FACTOR * reference_ns else "normal",
        yardstick=device_class.name,
        title=f"on {mount}, a flush of {name} takes {typical}",
        sentence=f"Compared with {device_class.name}: the slowest needs {reference} for a durable write.",
        evidence=(f"{name}: p50 {typical}, at most {duration_ns(times.max)}",),
    )


def _flush_times(
    counts: WatchCounts, synced_targets: Sequence[Target]
) -> list[tuple[str, DeviceTimes, frozenset[MediumClass]]]:
    """Return name, flush times and medium of each device whose medium is known and that has enough flushes."""
    media = {node.id: node.medium.class_ for target in synced_targets for node in target.stack if node.medium}
    known_media = {name: frozenset[MediumClass]({class_}) for name, class_ in media.items() if class_ != "unknown"}
    return [
        (device.device, device.flush_ns, known_media[device.device])
        for device in counts.devices
        if device.device in known_media and device.flush_ns is not None and (device.flushes or 0) >= MIN_FLUSHES
    ]
