"""Program: report who waits for which file, and what the devices below do, without writing anything.

stdin: a line of JSON with "name" of the instances, "entry", the file in the ledger, "pid" (only this process and its
descendants) or null, "device" (major << 20 | minor of a filesystem) or null, and "calls" (record fsync and fdatasync
calls, not only the events of filesystems). stdout: {"ready": true} or {"error": "…"}, then {"second": {…}} every
second. After stdin has closed: {"whole": {…}, "errors": […]}.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import time
from collections.abc import Mapping
from typing import Any

from fstui.measure.wire.stdio import read_settings
from fstui.trace.reader.devices import DeviceRecording, read_counters
from fstui.trace.reader.files import FileLocations, block_device, request_devices
from fstui.trace.reader.processes import WORKERS, ProcessCache, TracedProcess, cpu_pressure_s, in_outermost_namespace
from fstui.trace.reader.record import ignore_signals, remove_entry, say
from fstui.trace.reader.spans import MAX_ROWS, Span, WaitKey, WaitRow
from fstui.trace.reader.tracefs import PREFIX, TracefsError
from fstui.trace.reader.waits import SyncedFile, Watcher

SECOND = 1.0
NESTED = "the process numbers of a container's pid namespace are not those of the kernel's events"


class Calls:
    """Records who waits for which file."""

    def __init__(self, name: str, *, pid: int | None, device: int | None, calls: bool) -> None:
        """Raises TracefsError or OSError, and then leaves nothing behind."""
        self._device = device
        self._locations = FileLocations()
        if not in_outermost_namespace():
            raise TracefsError(NESTED)
        self._watcher = Watcher(name, pid=pid, device=device, calls=calls)
        self._programs = ProcessCache(lambda: self._watcher.recording.instance.read("../../saved_cmdlines"))

    def rows_of(self, span: Span) -> SecondOfRows:
        """Add the waits since the last call to the rows of a span. The caller clears them afterwards."""
        self._locations.begin()
        seen = self._watcher.waits
        programs = self._programs.of(seen.threads())
        rows = SecondOfRows(self, span, programs)
        rows.cpu_delays = self._programs.cpu_delays(programs)
        delays = dict(rows.cpu_delays)
        # those that waited longest come first, because the time for finding names is limited
        for (thread, *file), durations in sorted(seen.done.items(), key=lambda one: -one[1].sum_ns):
            rows.row(thread, SyncedFile(*file)).durations.merge(durations)
            if not programs[thread].is_kernel:  # kernel workers also wait for the CPU with unrelated work
                part = min(delays.get(thread, 0), durations.sum_ns)
                rows.row(thread, SyncedFile(*file)).cpu_ns += part
                delays[thread] = delays.get(thread, 0) - part
        for (thread, *file), count in seen.timeless.items():
            rows.row(thread, SyncedFile(*file)).timeless += count
        for (thread, *file, errno), count in seen.failed.items():
            rows.row(thread, SyncedFile(*file)).failed[errno] += count
        for thread, which, since_ns in list(seen.open()):
            if os.path.exists(f"/proc/{thread}"):
                row = rows.row(thread, which)
                row.in_flight_ns = max(row.in_flight_ns or 0, time.monotonic_ns() - since_ns)
            else:
                seen.forget(thread)
        return rows

    def is_wanted(self, thread: int, program: TracedProcess, file: SyncedFile, device: int) -> bool:
        """Return whether to report this row. A FUA write of a kernel thread belongs to no program."""
        if program.is_kernel and not file.inode and file.fd < 0:
            return False
        return self._device in (None, device) and self._watcher.is_of_family(thread)

    def locate(self, program: TracedProcess, file: SyncedFile) -> tuple[str | None, int]:
        """Return the path of the file and the number of its device."""
        return self._locations.locate(program, file)

    def remove(self) -> None:
        self._watcher.recording.remove()


class WatchSession(Calls):
    """Two instances: one for calls, and one for devices that is paused if there are too many requests."""

    def __init__(self, name: str, *, pid: int | None, device: int | None, calls: bool) -> None:
        """Raises TracefsError or OSError, and then leaves nothing behind."""
        super().__init__(name, pid=pid, device=device, calls=calls)
        self.whole = Span()
        self._counters = read_counters()
        self._lost = 0
        self._share = 1.0
        self._since = time.monotonic()
        self._pressure_s = cpu_pressure_s()
        try:
            self._devices = DeviceRecording(f"{name}-devices")
        except BaseException:
            super().remove()
            raise

    def begin_second(self) -> float:
        """Return the share of the next second to record, after which ``pause_devices`` is called; 1: all of it."""
        self._share = self._devices.share
        if self._share < 1:
            self._devices.switch(on=True)
        return self._share

    def pause_devices(self) -> None:
        self._devices.switch(on=False)

    def end_second(self) -> dict[str, Any]:
        self._watcher.recording.read()
        now = time.monotonic()
        span = Span()
        span.elapsed_s, self._since = now - self._since, now
        span.looked_s = span.elapsed_s * self._share
        before_s, self._pressure_s = self._pressure_s, cpu_pressure_s()
        if before_s is not None and self._pressure_s is not None:
            span.cpu_pressure_s = self._pressure_s - before_s
        lost = self._watcher.recording.lost() + self._devices.lost()
        span.lost, self._lost = lost - self._lost, lost
        self.rows_of(span)
        self._watcher.waits.clear()
        self._add_devices(span)
        for number, commits in self._watcher.take_commits().items():
            span.commits[block_device(number) or "?"] = commits
        self.whole.merge(span)
        return span.as_dict()

    def _add_devices(self, span: Span) -> None:
        now = read_counters()
        for name, counters in now.items():
            moved = counters.minus(self._counters.get(name, counters))
            if moved.writes or moved.flushes:
                span.device(name).counters = moved
        self._counters = now
        for number, requests in self._devices.take(span.elapsed_s).items():
            disk = block_device(number)
            if disk and (requests.flushes.count or requests.writes.count):
                device = span.device(disk)
                device.flushes, device.writes, device.fua = requests.flushes, requests.writes, requests.fua_issued

    def errors(self) -> list[dict[str, Any]]:
        """Return the writes that failed in the background, and how many times the error was returned."""
        return [
            {"device": block_device(device), "inode": inode, "errno": error.errno, "told": error.returned}
            for (device, inode), error in self._watcher.errors.items()
        ]

    def remove(self) -> None:
        try:
            self._devices.remove()
        finally:
            super().remove()


class SecondOfRows:
    """The rows of one second, with their names. Rows that are not wanted are not added to the span."""

    def __init__(self, calls: Calls, span: Span, programs: Mapping[int, TracedProcess]) -> None:
        self._calls, self._rows, self._programs = calls, span.rows, programs
        self.cpu_delays: dict[int, int] = {}
        """How long (ns) each thread has waited for a CPU."""
        self._known: dict[tuple[int, SyncedFile], WaitRow] = {}

    def row(self, thread: int, file: SyncedFile) -> WaitRow:
        known = self._known.get((thread, file))
        if known is None:
            known = self._known[thread, file] = self._new(thread, self._programs[thread], file)
        return known

    def _new(self, thread: int, program: TracedProcess, file: SyncedFile) -> WaitRow:
        path, number = self._calls.locate(program, file)
        inode, fd = (file.inode, -1) if file.inode else (0, file.fd)
        own_row = path or (file.inode and len(self._rows.rows) < MAX_ROWS)  # a later second may find its name
        key = WaitKey(program.name, program.is_kernel, SyncedFile(number, inode, fd) if own_row else SyncedFile(number))
        if not self._calls.is_wanted(thread, program, file, number):
            return WaitRow(key)
        row = self._rows.row(key)
        row.path = path
        row.pids.add(thread if program is WORKERS else program.pid)
        row.inodes |= {file.inode} if file.inode else set()
        row.device = block_device(number) if number else None
        row.below = frozenset(request_devices(row.device)) if row.device else frozenset()
        return row


def closed_within(seconds: float) -> bool:
    """Wait; return True as soon as stdin has closed."""
    return bool(select.select([0], [], [], max(0.0, seconds))[0]) and not os.read(0, 4096)


def watch(session: WatchSession) -> None:
    due = time.monotonic()
    closed = False
    while not closed:
        due += SECOND
        recorded_s = session.begin_second()
        if recorded_s < SECOND:
            closed = closed_within(recorded_s)
            session.pause_devices()
        closed = closed or closed_within(due - time.monotonic())
        second = session.end_second()
        if not closed:
            say(second=second)
    say(whole=session.whole.as_dict(), errors=session.errors())


def main() -> None:
    ignore_signals()
    gc.disable()  # this program makes no reference cycles, and the collector would scan many tuples
    settings = read_settings()
    try:
        session = WatchSession(
            PREFIX + settings["name"], pid=settings["pid"], device=settings["device"], calls=settings["calls"]
        )
    except (TracefsError, OSError) as problem:
        say(error=str(problem))
    else:
        with contextlib.suppress(BrokenPipeError):
            try:
                say(ready=True)
                watch(session)
            finally:
                session.remove()
    remove_entry(settings["entry"])


if __name__ == "__main__":
    main()
