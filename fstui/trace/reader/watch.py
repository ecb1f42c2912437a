"""Program: report which programs wait for which files, and what the devices below do, without writing anything.

stdin: a line of JSON:
"name"    of the first trace instance; "entry": the file in the ledger for both instances
"pid"     null, or only this process and its descendants
"device"  null, or only the filesystem with this device number (major << 20 | minor)
"calls"   whether to record fsync and fdatasync calls, not only the events of filesystems
stdout: {"ready": true} or {"error": "…"}, then every second {"recent": {…}}, the sums of the last seconds, and
{"second": {…}}. After stdin has closed: {"whole": {…}, "errors": […]}.
"""

import os
import select
import time
from collections import deque
from functools import partial
from typing import Any

from fstui import proc
from fstui.measure.wire.stdio import say
from fstui.trace.reader.blocked import FrozenWrites, running_syncs
from fstui.trace.reader.devices import DeviceRecording, read_counters
from fstui.trace.reader.durations import Durations
from fstui.trace.reader.files import FileLocations, block_device, request_devices
from fstui.trace.reader.processes import WORKERS, Lineage, ProcessCache, TracedProcess, family
from fstui.trace.reader.program import serve
from fstui.trace.reader.recording import EventRecording, TracedEvent
from fstui.trace.reader.spans import MAX_ROWS, Span, WaitKey, WaitRow, WaitRows
from fstui.trace.reader.tracefs import PREFIX, TracefsError
from fstui.trace.reader.waits import EVENTS, FILTERS, FREQUENT_EVENTS, SyncedFile, SyncWaits

INTERVAL_S = 1.0
RECENT_SECONDS = 5
"""The conclusion is drawn from this many seconds. From each second alone, it would change all the time."""
COMMIT_BEGAN = TracedEvent("jbd2/jbd2_start_commit", ("dev",))
COMMIT_ENDED = TracedEvent("jbd2/jbd2_end_commit", ("dev",))
ERROR_SET = TracedEvent("filemap/filemap_set_wb_err", ("i_ino", "s_dev", "errseq"))
ERROR_RETURNED = TracedEvent("filemap/file_check_and_advance_wb_err", ("i_ino", "s_dev"))
FORK = TracedEvent("sched/sched_process_fork", ("parent_pid", "child_pid"))
TRACED_ENDS = {name.partition("/")[0] for name in EVENTS["end_sync"]}
"""The filesystems that have an event for the end of a sync."""
ERRNO_MASK = 0xFFF
"""Mask of the errno in an errseq (kernel: lib/errseq.c)."""


class WaitRecording(EventRecording):
    SCAN_SHARE = 0.01
    """Share of the time that may be spent on reading the states of all threads."""

    def __init__(self, name: str, *, pid: int | None, device: int | None, calls: bool) -> None:
        """Start recording. Raises TracefsError, OSError. In this case no trace instance remains."""
        self._pid, self._device, self._calls = pid, device, calls
        self._lineage: Lineage | None = None
        self.waits = SyncWaits()
        self._frozen_writes = FrozenWrites(self.waits, self.SCAN_SHARE)
        self.cpu_delays: dict[int, int] = {}
        """How long (ns) each thread waited for a CPU since the previous call of ``add_waits``."""
        self._locations = FileLocations()
        self._process_cache = ProcessCache(self.command_names)
        self._processes: dict[int, TracedProcess] = {}
        self._rows = WaitRows()
        self._row_of_sync: dict[tuple[int, SyncedFile], WaitRow] = {}
        super().__init__(name)
        self._add_running_syncs()

    def _enable(self) -> None:
        device_filter = f"dev == {self._device}" if self._device is not None else ""
        for handler, events in EVENTS.items():
            for name, fields in events.items():
                if self._calls or name not in FREQUENT_EVENTS:
                    # FUA writes are not filtered by device here, but in _new_row
                    filter_ = FILTERS.get(name) or (device_filter if "dev" in fields else "")
                    handle = getattr(self.waits, handler)
                    if handler == "begin_call":
                        handle = partial(handle, name=name.rpartition("_enter_")[2])
                    self.handle_if_supported(TracedEvent(name, fields, filter_), handle)
        if not self.handlers:
            raise TracefsError("this kernel has no trace event for sync calls or for filesystem syncs")
        if self._pid is not None:
            self._follow(self._pid)

    def _add_running_syncs(self) -> None:
        """Add the syncs whose starts were not traced, as if they began now. Only if their ends will be traced."""
        self._locations.begin()
        running = dict(running_syncs())
        for thread, process in self._process_cache.find_processes(running).items():
            location = self._locations.locate(process, SyncedFile(fd=running[thread]))
            mounts = (mount for mount in proc.mounts() if proc.device_number(mount.device) == location.device)
            if self._calls:
                self.waits.begin_call(time.monotonic_ns(), thread, running[thread])
            if location.inode and (self._calls or any(mount.fstype in TRACED_ENDS for mount in mounts)):
                self.waits.begin_sync(time.monotonic_ns(), thread, location.device, location.inode)

    def _follow(self, pid: int) -> None:
        """Count only this process and its descendants, including those that end quickly."""
        self._lineage = lineage = Lineage()
        if not self.handle_if_supported(FORK, lambda _, parent, child: lineage.add_fork(parent, child)):
            raise TracefsError("this kernel has no trace event for new processes")
        lineage.add("own", family([pid]))

    def add_waits(self, span: Span, now_ns: int) -> None:
        """Add ``self.waits`` to the rows of a span that ends now. The caller clears the waits afterwards."""
        self._locations.begin()
        self._frozen_writes.update()
        waits = self.waits
        self._processes = programs = self._process_cache.find_processes(waits.threads())
        self._rows, self._row_of_sync = span.rows, {}
        self.cpu_delays = self._process_cache.cpu_delays(programs)
        delays = dict(self.cpu_delays)
        # find the paths of the longest waits first, because the time for finding paths is limited
        for key, durations in sorted(waits.durations.items(), key=lambda wait: -wait[1].sum_ns):
            thread, *file = key
            row = self.row(thread, SyncedFile(*file))
            row.durations.merge(durations)
            waited_ns = durations.sum_ns - waits.earlier_ns[key]
            row.waited_ns += waited_ns
            row.frozen_ns += waited_ns if key in waits.ended_frozen else 0
            if not programs[thread].is_kernel:  # a kernel worker's waits for a CPU include unrelated work
                delay_ns = min(delays.get(thread, 0), waited_ns)
                row.cpu_ns += delay_ns
                delays[thread] = delays.get(thread, 0) - delay_ns
        for (thread, *file), count in waits.untimed_syncs.items():
            self.row(thread, SyncedFile(*file)).untimed_syncs += count
        for (thread, *file, errno), count in waits.failures.items():
            self.row(thread, SyncedFile(*file)).failures[errno] += count
        for (thread, *file), (first_ns, last_ns) in waits.frozen.items():
            row, waited_ns = self.row(thread, SyncedFile(*file)), max(0, last_ns - max(first_ns, waits.began_ns))
            row.in_flight_ns, row.is_frozen = max(row.in_flight_ns or 0, last_ns - first_ns), True
            row.waited_ns += waited_ns
            row.frozen_ns += waited_ns
        for thread, synced_file, began_ns in list(waits.in_flight()):
            if os.path.exists(f"/proc/{thread}"):
                row = self.row(thread, synced_file)
                row.in_flight_ns = max(row.in_flight_ns or 0, now_ns - began_ns)
                row.waited_ns += now_ns - max(began_ns, waits.began_ns)
            else:
                waits.forget(thread)

    def forget_in_flight(self) -> None:
        """Drop the syncs in flight, because their ends may be among events that were lost. Add those that still run."""
        for thread, _, _ in list(self.waits.in_flight()):
            self.waits.forget(thread)
        self._add_running_syncs()

    def row(self, thread: int, file: SyncedFile) -> WaitRow:
        """Return this second's row for a thread and a file. The row of an unwanted thread or file is not in a span."""
        row = self._row_of_sync.get((thread, file))
        if row is None:
            row = self._row_of_sync[thread, file] = self._new_row(thread, file)
        return row

    def _new_row(self, thread: int, file: SyncedFile) -> WaitRow:
        program = self._processes[thread]
        path, device, inode = self._locations.locate(program, file)
        row_file = SyncedFile(device, inode, -1) if inode else SyncedFile(device, 0, file.fd)
        # up to MAX_ROWS, give each inode its own row, because its path may be found in a later second
        has_own_row = path or (inode and len(self._rows.rows) < MAX_ROWS)
        key = WaitKey(program.name, program.is_kernel, row_file if has_own_row else SyncedFile(device))
        is_fua_write = file.device and not file.inode and file.fd < 0
        is_unwanted = (
            (program.is_kernel and is_fua_write)  # no program waits for it
            or self._device not in (None, device)
            or (self._lineage and self._lineage.owner(thread) != "own")
        )
        if is_unwanted:
            return WaitRow(key)
        row = self._rows.row(key)
        row.path = path
        row.pids.add(thread if program is WORKERS else program.pid)
        row.threads.add(thread)
        row.inodes |= {inode} if inode else set()
        row.device = block_device(device) if device else None
        row.request_devices = frozenset(request_devices(row.device)) if row.device else frozenset()
        return row


class WatchSession(WaitRecording):
    """Two trace instances: one for waits, and one for the devices' requests, which is paused if there are too many."""

    def __init__(self, name: str, *, pid: int | None, device: int | None, calls: bool) -> None:
        """Raises TracefsError, OSError. In this case no trace instance remains."""
        self.total = Span()
        self._recent: deque[Span] = deque(maxlen=RECENT_SECONDS)
        self._commits: dict[int, Durations] = {}
        self._commit_starts_ns: dict[int, int] = {}
        self._errors: dict[tuple[int, int], list[int]] = {}
        """Writes that failed in the background, by device and inode: the errno, and how many fsyncs returned it. The
        next fsync of each open file description returns it once."""
        self._counters = read_counters()
        self._lost_before = self._devices_lost_before = 0
        self._share = 1.0
        super().__init__(name, pid=pid, device=device, calls=calls)
        self._second_began_ns = time.monotonic_ns()
        self._pressure_us = proc.pressure_us("cpu")[:1]

    def _enable(self) -> None:
        super()._enable()
        self.handle_if_supported(COMMIT_BEGAN, self._commit_began)
        self.handle_if_supported(COMMIT_ENDED, self._commit_ended)
        self.handle_if_supported(ERROR_SET, self._error_set)
        self.handle_if_supported(ERROR_RETURNED, self._error_returned)
        self._devices = DeviceRecording(f"{self.name}-devices")

    def _commit_began(self, time_ns: int, device: int) -> None:
        self._commit_starts_ns[device] = time_ns

    def _commit_ended(self, time_ns: int, device: int) -> None:
        began_ns = self._commit_starts_ns.pop(device, None)
        if began_ns is not None:
            self._commits.setdefault(device, Durations()).add(time_ns - began_ns)

    def _error_set(self, _: int, inode: int, device: int, errseq: int) -> None:
        self._errors[device, inode] = [errseq & ERRNO_MASK, 0]

    def _error_returned(self, _: int, inode: int, device: int) -> None:
        if error := self._errors.get((device, inode)):
            error[1] += 1

    def begin_second(self) -> float:
        """Return the share of this second in which to record the devices' requests. If it is less than 1, the caller
        must call ``pause_devices`` after that time."""
        self._share = self._devices.share
        self._devices.switch(on=True)  # it may still be paused since the last second
        return self._share

    def pause_devices(self) -> None:
        self._devices.switch(on=False)

    def end_second(self) -> dict[str, Any]:
        self.read()
        now_ns = time.monotonic_ns()
        span = Span()
        span.elapsed_s, self._second_began_ns = (now_ns - self._second_began_ns) / 1e9, now_ns
        span.traced_s = span.elapsed_s * self._share
        span.cpu_pressure_s = self._read_cpu_pressure(span.elapsed_s)
        lost, lost_of_devices = self.lost() - self._lost_before, self._devices.lost() - self._devices_lost_before
        self._lost_before += lost
        self._devices_lost_before += lost_of_devices
        span.lost = lost + lost_of_devices
        if lost:
            self.forget_in_flight()
        self.add_waits(span, now_ns)
        _add_io_limits(span)
        self.waits.clear(now_ns)
        self._add_devices(span)
        for number, commits in self._commits.items():
            span.commits[block_device(number) or "?"] = commits
        self._commits = {}
        self.total.merge(span)
        self._recent.append(span)
        return span.as_dict()

    def recent(self) -> dict[str, Any]:
        recent = Span()
        for span in self._recent:
            recent.merge(span)
        return recent.as_dict()

    def _read_cpu_pressure(self, elapsed_s: float) -> float:
        """Return how long some process waited for a CPU in this second. Without PSI, estimate it from one sample."""
        before_us, self._pressure_us = self._pressure_us, proc.pressure_us("cpu")[:1]
        for before, after in zip(before_us, self._pressure_us, strict=False):
            return (after - before) / 1e6
        return elapsed_s if proc.threads_wait_for_cpu() else 0.0

    def _add_devices(self, span: Span) -> None:
        now = read_counters()
        for name, counters in now.items():
            change = counters.minus(self._counters.get(name, counters))
            if change.writes or change.flushes:
                span.device(name).counters = change
        self._counters = now
        for number, requests in self._devices.drain(span.elapsed_s).items():
            disk = block_device(number)
            if disk and (requests.flushes.count or requests.writes.count):
                device = span.device(disk)
                device.flushes, device.writes, device.fua = requests.flushes, requests.writes, requests.fua_issued

    def errors(self) -> list[dict[str, Any]]:
        """Return the writes that failed in the background, and how many times an fsync returned the error."""
        return [
            {"device": block_device(device), "inode": inode, "errno": errno, "told": times}
            for (device, inode), (errno, times) in self._errors.items()
        ]

    def remove(self) -> None:
        try:
            self._devices.remove()
        finally:
            super().remove()


def _add_io_limits(span: Span) -> None:
    """Add the limits for writes by the program that waited longest. They delay its writes above the device."""
    rows = (row for row in span.rows.rows.values() if row.pids and not row.key.is_kernel)
    longest = max(rows, key=lambda row: row.waited_ns, default=None)
    if longest is not None:
        names = longest.request_devices | {longest.device}
        limits = (limit.split(" ") for limit in limits_of(min(longest.pids)))
        longest.io_limits = [" ".join(limit) for limit in limits if limit[0] in names and limit[1] in proc.WRITE_LIMITS]


def limits_of(pid: int) -> list[str]:
    """Return the I/O limits that apply to a process, such as ``vda wiops 100``."""
    limits = proc.io_limits(proc.mounts(), proc.read_text(f"/proc/{pid}/cgroup"), proc.read_text)
    lines = []
    for limit in limits:
        device, _, setting = limit.what.partition(" ")
        lines.append(f"{block_device(proc.device_number(device)) or device} {setting} {limit.value}")
    return list(dict.fromkeys(lines))


def wait_for_close(timeout_s: float) -> bool:
    """Wait until stdin closes, for at most this time. Return whether stdin has closed."""
    is_readable = bool(select.select([0], [], [], max(0.0, timeout_s))[0])
    return is_readable and not os.read(0, 4096)


def watch(session: WatchSession) -> None:
    say(ready=True)
    due = time.monotonic()
    closed = False
    while not closed:
        due += INTERVAL_S
        share = session.begin_second()
        if share < 1:
            closed = wait_for_close(share * INTERVAL_S)
            session.pause_devices()
        closed = closed or wait_for_close(due - time.monotonic())
        second = session.end_second()
        if not closed:
            say(recent=session.recent())
            say(second=second)
    say(whole=session.total.as_dict(), errors=session.errors())


def make_session(settings: dict[str, Any]) -> WatchSession:
    name = PREFIX + settings["name"]
    return WatchSession(name, pid=settings["pid"], device=settings["device"], calls=settings["calls"])


if __name__ == "__main__":
    serve(make_session, watch)
