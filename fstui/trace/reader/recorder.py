"""Program: record counters every second. As root, also record every ten seconds (a *window*) which programs waited.

argv: a line of JSON:
"directory", "max_bytes"  of the ring of files to write (fstui.state.ring)
"seconds"    null, or the time until the end. The program also ends at a signal
"anonymous"  whether to leave out the paths of files
"name"       of the trace instance; "entry": its file in the ledger; both null: do not trace
stderr: messages for the user. A child writes the ring, because the disk of the state directory may hang. Records that
do not fit into the socket to the child are dropped and counted.
"""

import contextlib
import fcntl
import gc
import json
import os
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from fstui import proc
from fstui.state.ring import Ring
from fstui.trace.reader.blocked import system_call
from fstui.trace.reader.devices import read_disks
from fstui.trace.reader.files import block_device, device_numbers, request_devices
from fstui.trace.reader.processes import KERNEL_THREAD
from fstui.trace.reader.program import remove_entry
from fstui.trace.reader.recording import TracedEvent
from fstui.trace.reader.spans import Span, WaitRow
from fstui.trace.reader.tracefs import PREFIX, TracefsError, reason_of
from fstui.trace.reader.waits import FUA_WRITES, SLOW_SYNC_NS, SYNC_CALLS, SyncedFile
from fstui.trace.reader.watch import INTERVAL_S, WaitRecording, limits_of

WINDOW_S = 10.0
MAX_TRACED_BYTES = 200_000
"""About 5000 events. If a window has more, the busiest threads are excluded from the trace, to save CPU time."""
MIN_TRACED_S = 0.1
"""Minimum number of seconds per window in which all threads are traced."""
PROCESS_SCAN_SHARE = 0.002
"""Share of the time that may be spent on reading how much every process has read and written. The same share may be
spent on reading the states of all threads."""
MAX_DEVICES = 32  # in the record of a second
MAX_ROWS = 24  # in the record of a window
MAX_ROWS_PER_PROGRAM = 4  # rows of a program on one device
MAX_SLOW_SYNCS = 20  # for each row
MAX_PROCESSES = 8  # in the record of a window
MAX_DESCRIPTORS = 256  # descriptors of a process to examine
MAX_CHECKS = 64  # excluded threads to check per second
SLOW_SHARE = 0.25
"""An excluded thread is traced again if it blocks at most this share as often as it synced before."""
BUSY_SHARE = 0.8
"""The threads that are excluded account for this share of all syncs."""
MIN_BYTES = 256 << 10
"""If a process read and wrote less in a window, it is not recorded."""
MAX_RECORD_BYTES = 1 << 20
WRITER_END_TIMEOUT_S = 5.0
"""Time for the child to write its last records."""
HEADER_INTERVAL_S = 300.0
"""Time between two headers. The header is repeated, because the oldest files of the ring are removed."""
EXIT_REFUSED = 2
"""Exit status if recording could not start."""
DISCARD_FIELDS = ("common_pid", "dev", "sector", "nr_sector", "rwbs")
_RECORDED_FIELDS = (0, 2, 4, 6, 7, 15, 16, 11, 13, 14, 8)
"""Positions in /proc/diskstats, after the name, of the fields to record (Documentation/admin-guide/iostats.rst)."""
_SECTOR_FIELDS = (2, 6, 13)
_IN_FLIGHT_FIELD = 8
"""The number of requests in flight. All other fields are counters."""
JsonObject = dict[str, Any]


class ExcludedThread(NamedTuple):
    """A thread that is not traced now, and its state at the last check."""

    since_ns: int
    """The start of the sync in flight, as far as it is known."""
    checked_ns: int
    switches: int | None
    """How many times the thread had blocked until then; None if it had ended."""
    syncs_per_s: float
    """Before it was excluded."""
    file: SyncedFile

    def check(self, thread: int) -> "ExcludedThread":
        """Return the state now. While the number of switches stays the same, the thread is blocked in the same sync."""
        now_ns, count = time.monotonic_ns(), switches(thread)
        since_ns = self.since_ns if count == self.switches else now_ns
        return self._replace(since_ns=since_ns, checked_ns=now_ns, switches=count)

    def has_slowed(self, last: "ExcludedThread") -> bool:
        """Return whether the thread blocked far less often than it synced before. A slow sync may block many times."""
        if self.switches is None or last.switches is None:
            return False
        usual = self.syncs_per_s * (self.checked_ns - last.checked_ns) / 1e9
        return self.switches - last.switches <= SLOW_SHARE * usual


class Trace(WaitRecording):
    """Record which programs wait for which files, and which programs send discards.

    If there are many events, the threads with the most syncs are excluded until the window ends. They are checked about
    once a second. If one of them has become slow and is in a sync, all threads are traced again.
    """

    SCAN_SHARE = PROCESS_SCAN_SHARE

    def __init__(self, name: str) -> None:
        """Raises TracefsError, OSError. In this case no trace instance remains."""
        self._discarded_bytes: Counter[tuple[int, int]] = Counter()
        """By thread and device number."""
        self.exclude_after_s = WINDOW_S
        """How long after the start of the next window to call ``exclude_busiest``."""
        self._began_s, self._traced_s = time.monotonic(), 0.0
        """The start of the window, and how long all threads were traced in it before some were excluded."""
        self._bytes_before = self._lost_before = 0
        self._excluded_threads: dict[int, ExcludedThread] = {}
        self._partly_traced: set[int] = set()
        """The threads that were excluded in this window."""
        super().__init__(name, pid=None, device=None, calls=True)

    def _enable(self) -> None:
        super()._enable()
        discards = TracedEvent("block/block_bio_queue", DISCARD_FIELDS, f'{FUA_WRITES} || rwbs ~ "D*"')
        self.handle_if_supported(discards, self._add_bio)

    def _add_bio(self, time_ns: int, thread: int, device: int, *bio: Any) -> None:
        sector, sectors, rwbs = bio
        if rwbs[:1] == b"D":
            self._discarded_bytes[thread, device] += sectors * 512
        elif rwbs[:2] == b"WF":
            self.waits.begin_fua_write(time_ns, thread, device, sector)

    def limit_events(self) -> None:
        self._frozen_writes.update()
        self._check_excluded()
        self.collect()
        limit = MAX_TRACED_BYTES // 2 if self._excluded_threads else MAX_TRACED_BYTES
        if self.collected_bytes - self._bytes_before >= limit:
            self.exclude_busiest()

    def exclude_busiest(self) -> None:
        """Exclude the threads that sync most. Before Linux 5.7 this is not possible, so exclude all threads."""
        self.read()
        if not self._excluded_threads:
            self._traced_s = time.monotonic() - self._began_s
            collected_bytes = self.collected_bytes - self._bytes_before
            self.exclude_after_s = max(MIN_TRACED_S, MAX_TRACED_BYTES * self._traced_s / max(collected_bytes, 1))
        long_ago_ns = time.monotonic_ns() - SLOW_SYNC_NS
        # their syncs cause few events
        slow_threads = {thread for thread, _, began_ns in self.waits.in_flight() if began_ns <= long_ago_ns}
        syncs: Counter[int] = Counter()
        files: dict[int, SyncedFile] = {}
        for (thread, *file), durations in self.waits.durations.items():
            if thread not in self._excluded_threads and thread not in slow_threads:
                syncs[thread] += durations.count
                files[thread] = SyncedFile(*file)
        threads = busiest_threads(syncs)
        try:
            # append, because otherwise the threads excluded before would be traced for a moment
            self.instance.write("set_event_notrace_pid", " ".join(map(str, threads)), append=True)
        except TracefsError:
            self.instance.write("tracing_on", "0")
            self.read()  # syncs that began just before
            files = {thread: file for thread, file, _ in self.waits.in_flight()} | files
            threads = list(files)
        self.read()
        starts_ns = {thread: began_ns for thread, _, began_ns in self.waits.in_flight()}
        window_s = max(time.monotonic() - self._began_s, MIN_TRACED_S)
        for thread in threads:
            now_ns, per_s = time.monotonic_ns(), syncs[thread] / window_s
            self._excluded_threads[thread] = ExcludedThread(
                starts_ns.get(thread, now_ns), now_ns, switches(thread), per_s, files[thread]
            )
        for thread in self._excluded_threads:
            self.waits.forget(thread)  # the end of its running sync will not be traced
        self._partly_traced.update(threads)
        self._bytes_before = self.collected_bytes

    def _check_excluded(self) -> None:
        """Trace all threads again if an excluded thread has become slow."""
        slow = {}
        for thread, last in list(islice(self._excluded_threads.items(), MAX_CHECKS)):
            state = last.check(thread)
            if state.has_slowed(last) and is_blocked(thread, state.file):
                slow[thread] = state
            del self._excluded_threads[thread]  # move the thread to the end of the queue
            self._excluded_threads[thread] = state
        if slow:
            self._trace_all_threads(slow)

    def _excluded_in_calls(self) -> dict[int, ExcludedThread]:
        """Return the excluded threads that are blocked in a system call that syncs, and their state now."""
        threads = list(islice(self._excluded_threads.items(), MAX_CHECKS))
        states = {thread: last.check(thread) for thread, last in threads}
        return {
            thread: state for thread, state in states.items() if state.file.fd >= 0 and is_blocked(thread, state.file)
        }

    def _trace_all_threads(self, blocked: Mapping[int, ExcludedThread]) -> None:
        """Trace all threads again. ``blocked``: threads that were blocked in a sync, and their state at that time."""
        if self._excluded_threads:
            with contextlib.suppress(TracefsError):
                self.instance.write("set_event_notrace_pid", "")
            self.instance.write("tracing_on", "1")
        for thread in self._excluded_threads:
            self.waits.forget(thread)  # its sync may have ended before now
        self._excluded_threads.clear()
        for thread, state in blocked.items():
            file = state.file
            # the sync has not ended until now, so its end will be traced
            if is_blocked(thread, file) and switches(thread) == state.switches:
                if file.fd >= 0:
                    self.waits.begin_call(state.since_ns, thread, file.fd, system_call(thread)[0])
                if file.inode:
                    self.waits.begin_sync(state.since_ns, thread, file.device, file.inode)

    def end_window(self, elapsed_s: float, anonymous: bool) -> JsonObject:
        self.read()
        waits = self.waits
        lost = self.lost()
        lost_events, self._lost_before = lost - self._lost_before, lost
        if lost_events:
            self.forget_in_flight()
        span = Span()
        self.add_waits(span, time.monotonic_ns())
        for end_ns, duration_ns, (thread, *numbers), call in sorted(waits.slow_syncs, key=lambda wait: -wait[1]):
            row = self.row(thread, SyncedFile(*numbers))
            delay_ns = min(duration_ns, self.cpu_delays.get(thread, 0))
            self.cpu_delays[thread] = self.cpu_delays.get(thread, 0) - delay_ns
            row.slow_syncs.append((end_ns, duration_ns, delay_ns))
            row.call = call
        for thread, *numbers in waits.durations:
            self.row(thread, SyncedFile(*numbers)).is_partly_traced |= thread in self._partly_traced
        rows = [
            row
            for row in limit_rows(span.rows.combined().values())
            if row.durations.count or row.untimed_syncs or row.in_flight_ns
        ]
        result = {
            "traced_s": round(min(self._traced_s, elapsed_s) if self._partly_traced else elapsed_s, 2),
            "lost": lost_events,
            "waits": [_row_as_dict(row, anonymous) for row in rows[:MAX_ROWS]],
            "discards": list(self._discards()),
        }
        waits.clear()
        self._partly_traced.clear()
        if not self._excluded_threads:
            self.exclude_after_s = WINDOW_S
        self._bytes_before, self._began_s = self.collected_bytes, time.monotonic()
        self._trace_all_threads(self._excluded_in_calls())
        return result

    def _discards(self) -> Iterator[JsonObject]:
        """Yield the programs that discarded the most bytes. All programs of one name count as one."""
        programs = self._process_cache.find_processes({thread for thread, _ in self._discarded_bytes})
        sums: Counter[tuple[str, str]] = Counter()
        for (thread, number), size in self._discarded_bytes.items():
            sums[programs[thread].name, block_device(number) or "?"] += size
        for (program, device), size in sums.most_common(MAX_PROCESSES):
            yield {"program": program, "device": device, "bytes": size}
        self._discarded_bytes.clear()


def busiest_threads(syncs: Counter[int]) -> list[int]:
    """Return the threads with the most syncs that together account for BUSY_SHARE of all syncs."""
    threads: list[int] = []
    remaining = syncs.total() * BUSY_SHARE
    for thread, number in syncs.most_common():
        if remaining <= 0:
            break
        threads.append(thread)
        remaining -= number
    return threads


def limit_rows(rows: Iterable[WaitRow]) -> list[WaitRow]:
    """Merge rows until each program has at most MAX_ROWS_PER_PROGRAM per device. Return them, longest wait first."""
    groups: dict[tuple[str, bool, str | None], list[WaitRow]] = {}
    for row in sorted(rows, key=_waited_ns, reverse=True):
        group = groups.setdefault((row.key.name, row.key.is_kernel, row.device), [])
        if len(group) < MAX_ROWS_PER_PROGRAM:
            group.append(row)
        else:
            group[-1].merge(row)
            group[-1].path = None
    return sorted((row for group in groups.values() for row in group), key=_waited_ns, reverse=True)


def _waited_ns(row: WaitRow) -> int:
    return row.durations.sum_ns + (row.in_flight_ns or 0)


def _row_as_dict(row: WaitRow, anonymous: bool) -> JsonObject:
    now_ns = time.monotonic_ns()
    pid = next(iter(row.pids), 0)
    special_file = device_at(row.path) if not row.request_devices else None
    if special_file:
        row.device, row.request_devices = special_file, frozenset(request_devices(special_file))
    number = row.key.file.device
    mounts = () if row.request_devices else (*proc.mounts(pid), *proc.mounts())
    mount = next((mount for mount in mounts if number and proc.device_number(mount.device) == number), None)
    values = row.as_dict(None)
    slow = sorted(sorted(row.slow_syncs, key=lambda wait: -wait[1])[:MAX_SLOW_SYNCS])
    fields = {
        "program": values["program"], "pid": values["pid"], "processes": values["processes"],
        "kernel": values["kernel"], "call": row.call, "file": "" if anonymous else values["file"],
        "inode": values["inode"], "device": values["device"], "below": sorted(row.request_devices),
        "fstype": mount.fstype if mount else "",
        "mount_point": mount.mount_point if mount and not anonymous else "",
        "syncs": values["syncs"], "waited_ms": row.durations.sum_ns // 1_000_000,
        "longest_ms": row.durations.longest_ns // 1_000_000,
        "p50_us": row.durations.percentile(0.5) // 1000 if row.durations.count else 0,
        "frozen_ms": row.frozen_ns // 1_000_000,
        "cpu_ms": values["cpu_ns"] // 1_000_000, "in_flight_ms": (row.in_flight_ns or 0) // 1_000_000,
        "cgroup": cgroup_of(pid), "limits": limits_of(pid),
        "slow": [
            [round((now_ns - end_ns) / 1e9, 2), duration_ns // 1_000_000, delay_ns // 1_000_000]
            for end_ns, duration_ns, delay_ns in slow
        ],
        "partly_traced": row.is_partly_traced,
    }  # fmt: skip
    return {name: value for name, value in fields.items() if value}


def device_at(path: str | None) -> str | None:
    """Return the block device with this path. Access only paths in /dev, because /dev is not on a disk."""
    if path and path.startswith("/dev/"):
        with contextlib.suppress(OSError):
            number = os.stat(path).st_rdev
            return block_device(proc.kernel_device_number(number)) if number else None
    return None


def switches(thread: int) -> int | None:
    """Return how many times a thread has blocked; None if the thread has ended."""
    count = proc.fields(f"/proc/{thread}/status").get("voluntary_ctxt_switches")
    return int(count) if count else None


def is_blocked(thread: int, file: SyncedFile) -> bool:
    if file.fd >= 0 and proc.SYSTEM_CALLS:  # a system call syncs the file
        return system_call(thread)[0] in SYNC_CALLS
    process = proc.stat(thread)
    return process is not None and process.state == "D"


def cgroup_of(pid: int) -> str:
    """Return the path of a process's cgroup, from the hierarchy in which the path names its service or container."""
    groups = proc.cgroups(proc.read_text(f"/proc/{pid}/cgroup"))
    paths = (groups.get(hierarchy, "/") for hierarchy in ("", "name=systemd", "blkio", "memory", "cpu"))
    return next((path for path in paths if path != "/"), "")


class HostCounters:
    def __init__(self) -> None:
        self._disks, self._pressure = read_disks(), read_pressure()

    def changes_since_last_call(self) -> JsonObject:
        """Return the changes of the counters since the last call. Omit devices without requests."""
        disks, pressure = read_disks(), read_pressure()
        devices: list[list[Any]] = []
        for name, now in disks.items():
            before = self._disks.get(name, now)
            changes = {index: max(now[index] - before[index], 0) for index in _RECORDED_FIELDS}
            for index in _SECTOR_FIELDS:
                changes[index] //= 2  # KiB
            changes[_IN_FLIGHT_FIELD] = now[_IN_FLIGHT_FIELD]
            if any(changes.values()):
                devices.append([name, *changes.values()])
        devices.sort(key=lambda row: -(row[1] + row[3] + row[6]))  # by reads, writes and flushes
        pressure_ms = [
            None if after is None or before is None else (after - before) // 1000
            for after, before in zip(pressure, self._pressure, strict=True)
        ]
        self._disks, self._pressure = disks, pressure
        memory = proc.meminfo()
        return {
            "pressure_ms": pressure_ms,
            "memory_kib": [memory.get(name, 0) >> 10 for name in ("Dirty", "Writeback")],
            "devices": devices[:MAX_DEVICES],
        }


def read_pressure() -> list[int | None]:
    """Return the pressure totals in µs: cpu some, io some and full, memory some and full. None: not reported."""
    totals: list[int | None] = []
    for name, kinds in (("cpu", 1), ("io", 2), ("memory", 2)):
        totals += proc.pressure_us(name)[:kinds] or [None] * kinds
    return totals


class Processes:
    """How much each process reads and writes. The recorder's own processes are left out."""

    def __init__(self, own_pids: set[int]) -> None:
        self._own_pids = own_pids
        self._amounts_before: dict[int, tuple[int, int]] | None = None
        self._scan_cost_s, self._scanned_at_s = 0.0, 0.0

    def busiest_since_last_call(self) -> list[JsonObject] | None:
        """Return the processes that read and wrote the most since the last call; None if it is too early for a scan."""
        now_s = time.monotonic()
        if now_s - self._scanned_at_s < self._scan_cost_s / PROCESS_SCAN_SHARE:
            return None
        began_s = time.thread_time()
        now = {pid: amounts for pid in proc.pids() if pid not in self._own_pids and (amounts := proc.io_bytes(pid))}
        amounts_before, self._amounts_before = self._amounts_before, now
        self._scan_cost_s, self._scanned_at_s = time.thread_time() - began_s, now_s
        if amounts_before is None:
            return []
        busiest = []
        for pid, (read, written) in now.items():
            read_before, written_before = amounts_before.get(pid, (0, 0))
            if read - read_before + written - written_before >= MIN_BYTES:
                busiest.append((read - read_before, written - written_before, pid))
        busiest.sort(key=lambda row: -(row[0] + row[1]))  # by bytes read and written
        return [
            {
                "program": process.name, "pid": pid, "read": max(read, 0), "written": max(written, 0),
                "cgroup": cgroup_of(pid), "devices": written_devices(pid),
            }
            for read, written, pid in busiest[: 2 * MAX_PROCESSES]
            if (process := proc.stat(pid)) and not process.flags & KERNEL_THREAD  # kernel threads write for others
        ][:MAX_PROCESSES]  # fmt: skip


def written_devices(pid: int) -> list[str]:
    """Return the disks below the files that a process has open for writing."""
    with contextlib.suppress(OSError):
        mounts = device_numbers(pid)
        fds = os.listdir(f"/proc/{pid}/fd")[:MAX_DESCRIPTORS]
        devices = {mounts.get(proc.mount_id(fd, pid, writable=True) or 0) for fd in fds}
        names = {block_device(device) for device in devices if device}
        return sorted({disk for name in names if name for disk in request_devices(name)})
    return []


class RingWriter:
    """A child process that writes the records to the ring of files."""

    def __init__(self, directory: str, max_bytes: int) -> None:
        self._socket, child_socket = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if not self.pid:
            self._socket.close()
            write_ring(child_socket, directory, max_bytes)
        child_socket.close()
        self._socket.setblocking(False)
        self._dropped_records = 0

    def write(self, record: JsonObject) -> bool:
        """Send a record to the child. Return False if the child has ended."""
        if self._dropped_records:
            trouble = "the writer was too slow, or a record too long"
            record = {**record, "dropped": self._dropped_records, "trouble": trouble}
        try:
            self._socket.send(json.dumps(record, separators=(",", ":")).encode())
        except ConnectionError:
            return False
        except OSError:  # the socket is full, or the record is too long
            self._dropped_records += 1
        else:
            self._dropped_records = 0
        return True

    def close(self, entry: str | None) -> None:
        """Let the child write its last records and remove the ledger's entry. Do not wait long: the disk may hang."""
        self.write({"entry": entry})
        self._socket.close()
        until_s = time.monotonic() + WRITER_END_TIMEOUT_S
        while time.monotonic() < until_s and os.waitpid(self.pid, os.WNOHANG) == (0, 0):
            time.sleep(0.01)


def write_ring(records: socket.socket, directory: str, max_bytes: int) -> None:
    """Write the records that arrive until the socket is closed. Then end this process."""
    status = 1
    try:
        ring = Ring(Path(directory), max_bytes)
        has_reported_loss, entry = False, None
        while data := records.recv(MAX_RECORD_BYTES):
            record = json.loads(data)
            if "entry" in record:
                entry = record["entry"]
                break
            ring.write(record)
            if ring.dropped_records and not has_reported_loss:
                say(f"records are being lost: {ring.trouble}")
            has_reported_loss = bool(ring.dropped_records)
        ring.close()
        remove_entry(entry)  # None if the trace still exists: it was not removed, or the recorder was killed
        status = 0
    finally:
        os._exit(status)


def say(sentence: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, f"fstui: {sentence}\n".encode(errors="replace"))


def lock(directory: str) -> str:
    """Lock the directory for this process. Return an empty string, or why the directory cannot be locked."""
    try:
        fd = os.open(f"{directory}/lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return f"another 'fstui record' is already writing to {directory}. Stop it first."
    except OSError as error:
        return f"{directory}: {error.strerror}"
    return ""


class Recorder:
    """Writes a record of counters every second, and a record of waits at the end of each window."""

    def __init__(self, settings: JsonObject, writer: RingWriter, trace: Trace | None, untraced: str) -> None:
        self._settings, self._writer, self._trace = settings, writer, trace
        self._counters = HostCounters()
        self._processes = Processes({os.getpid(), writer.pid})
        self._processes.busiest_since_last_call()  # so that the next call returns the changes from now on
        self._second_began_s = self._window_began_s = time.monotonic()
        self._window_number = _window_number()
        self._header = {
            "version": settings["version"], "host": os.uname().nodename, "kernel": os.uname().release,
            "boot": proc.boot_id(),
            "anonymous": settings["anonymous"], "untraced": untraced, "started": True,
        }  # fmt: skip
        self._header_written_s = -HEADER_INTERVAL_S

    def run(self, signals: set[signal.Signals], seconds: float | None) -> int:
        """Record until a signal arrives or the time limit expires. Return the exit status.

        Without a time limit, SIGINT (Ctrl-C) is the normal end.
        """
        end_s = inf if seconds is None else time.monotonic() + seconds
        is_last = False
        received: signal.struct_siginfo | None = None
        while not is_last:
            due_s = min(time.monotonic() + _until_whole_second_s(), end_s)
            is_first_second = self._window_began_s == self._second_began_s
            if self._trace and is_first_second and self._trace.exclude_after_s < INTERVAL_S:
                received = signal.sigtimedwait(signals, self._trace.exclude_after_s)
                if not received:
                    self._trace.exclude_busiest()
            received = received or signal.sigtimedwait(signals, max(due_s - time.monotonic(), 0.0))
            is_last = bool(received) or due_s == end_s
            if not self._end_second(is_last=is_last):
                say("the program that writes the records has ended")
                return 1
        if not received or (seconds is None and received.si_signo == signal.SIGINT):
            return 0
        return 128 + received.si_signo

    def _end_second(self, *, is_last: bool) -> bool:
        """Write the records of a second. Return False if the child that writes them has ended."""
        now_s = time.monotonic()
        elapsed_s, self._second_began_s = now_s - self._second_began_s, now_s
        if now_s - self._header_written_s >= HEADER_INTERVAL_S:
            self._write("header", 0.0, self._header)
            self._header_written_s, self._header["started"] = now_s, False
        is_written = self._write("second", elapsed_s, self._counters.changes_since_last_call())
        if is_last or _window_number() != self._window_number:
            window_s = now_s - self._window_began_s
            self._window_began_s, self._window_number = now_s, _window_number()
            window = self._trace.end_window(window_s, self._settings["anonymous"]) if self._trace else {}
            return self._write("window", window_s, {**window, "processes": self._processes.busiest_since_last_call()})
        if self._trace:
            self._trace.limit_events()
        return is_written

    def _write(self, kind: str, elapsed_s: float, fields: JsonObject) -> bool:
        stamp = {
            "kind": kind, "at": round(time.time(), 2), "boot_s": round(time.clock_gettime(time.CLOCK_BOOTTIME), 2),
            "elapsed_s": max(round(elapsed_s, 2), 0.01),
        }  # fmt: skip
        return self._writer.write({**stamp, **fields})


def _window_number() -> int:
    """Return the number of the present window. Windows begin at multiples of WINDOW_S, as columns of charts do."""
    return int(round(time.time()) // WINDOW_S)


def _until_whole_second_s() -> float:
    """Return the time until a second of the system clock begins, at least half an interval."""
    remaining_s = INTERVAL_S - time.time() % INTERVAL_S
    return remaining_s if remaining_s >= INTERVAL_S / 2 else remaining_s + INTERVAL_S


def run(settings: JsonObject) -> int:
    candidates = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    signals = {number for number in candidates if signal.getsignal(number) is not signal.SIG_IGN}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    # fork the child before taking the lock, because the child must not hold it
    writer = RingWriter(settings["directory"], settings["max_bytes"])
    if why_not := lock(settings["directory"]):
        say(why_not)
        writer.close(settings["entry"])
        return EXIT_REFUSED
    entry, trace, untraced = settings["entry"], None, "only root may trace the kernel"
    try:
        if settings["name"]:
            try:
                trace, untraced = Trace(PREFIX + settings["name"]), ""
            except (TracefsError, OSError) as problem:
                untraced = reason_of(problem)
        say(f"recording to {settings['directory']}; press Ctrl-C to stop")
        if untraced:
            say(f"no kernel trace, so the programs that wait are not recorded: {untraced}")
        return Recorder(settings, writer, trace, untraced).run(signals, settings["seconds"])
    finally:
        try:
            if trace:
                trace.remove()
        except OSError as problem:
            say(f"the trace instance was not removed: {problem.strerror}; 'fstui clean' tries again")
            entry = None
        writer.close(entry)


def open_standard_streams() -> None:
    """Open /dev/null for each standard stream that is closed. Otherwise the messages go to the next opened file."""
    while (fd := os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)) <= 2:
        pass
    os.close(fd)


def main() -> None:
    open_standard_streams()
    gc.disable()  # this program makes no reference cycles, and the garbage collector would scan many tuples
    status = run(json.loads(sys.argv[1]))
    if status > 128:  # systemd reports the exit status 143 as a failure, but not a process that SIGTERM ended
        number = status - 128
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        signal.raise_signal(number)
    sys.exit(status)


if __name__ == "__main__":
    main()
