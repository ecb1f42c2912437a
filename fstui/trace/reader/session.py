"""Watching, second by second."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from fstui.trace.reader.below import Below, counted
from fstui.trace.reader.lineage import in_outermost_namespace
from fstui.trace.reader.naming import Names, block_device, request_makers
from fstui.trace.reader.programs import Program, Programs
from fstui.trace.reader.rows import MOST_ROWS, Key, Row, Rows
from fstui.trace.reader.spans import Span
from fstui.trace.reader.tracefs import Untraceable
from fstui.trace.reader.waits import File, Waits
from fstui.trace.reader.watcher import Watcher


class Session:
    """Two instances: one of calls, one of devices, which looks away where there is too much to see."""

    def __init__(self, name: str, *, pid: int | None, device: int | None, calls: bool) -> None:
        """Raises Untraceable or OSError; then nothing is left."""
        self.whole = Span()
        self._device = device
        self._names = Names()
        self._counted = counted()
        self._lost = 0
        self._share = 1.0
        self._since = time.monotonic()
        if not in_outermost_namespace():
            raise Untraceable("in a container's pid namespace nobody can tell whose numbers the kernel's events give")
        self._watcher = Watcher(name, pid=pid, device=device, calls=calls)
        self._programs = Programs(lambda: self._watcher.recording.instance.read("../../saved_cmdlines"))
        try:
            self._below = Below(f"{name}-devices")
        except BaseException:
            self._watcher.recording.remove()
            raise

    def begin_second(self) -> float:
        """The seconds after which to look away from the devices: 1 and more is never."""
        self._share = self._below.share
        if self._share < 1:
            self._below.switch(on=True)
        return self._share

    def look_away(self) -> None:
        """For the rest of this second the devices' requests are not recorded."""
        self._below.switch(on=False)

    def end_second(self) -> dict[str, Any]:
        """What happened since the last one."""
        self._watcher.look()
        now = time.monotonic()
        span = Span()
        span.elapsed_s, self._since = now - self._since, now
        span.looked_s = span.elapsed_s * self._share
        lost = self._watcher.recording.lost() + self._below.lost()
        span.lost, self._lost = lost - self._lost, lost
        self._names.begin()
        self._note_waits(span, self._watcher.waits)
        self._note_devices(span)
        for number, commits in self._watcher.take_commits().items():
            span.commits[block_device(number) or "?"] = commits
        self.whole.merge(span)
        return span.told()

    def _note_waits(self, span: Span, seen: Waits) -> None:
        programs = self._programs.of(threads_of(seen))
        rows = SecondOfRows(span.rows, self._names, programs, self._wanted)
        delays = self._programs.cpu_delays(programs)
        # who waited the longest is named first: for all there may be no time
        for (thread, *file), durations in sorted(seen.done.items(), key=lambda one: -one[1].sum_ns):
            rows.row(thread, File(*file)).durations.merge(durations)
            if not programs[thread].is_kernel:  # whose workers wait for the CPU with other work, too
                rows.row(thread, File(*file)).cpu_ns += delays.pop(thread, 0)
        for (thread, *file), count in seen.timeless.items():
            rows.row(thread, File(*file)).timeless += count
        for (thread, *file, errno), count in seen.failed.items():
            rows.row(thread, File(*file)).failed[errno] += count
        for thread, which, since_ns in list(seen.open()):
            if os.path.exists(f"/proc/{thread}"):
                row = rows.row(thread, which)
                row.in_flight_ns = max(row.in_flight_ns or 0, time.monotonic_ns() - since_ns)
            else:
                seen.forget(thread)
        seen.clear()

    def _wanted(self, thread: int, program: Program, file: File, device: int) -> bool:
        """Whether a row is told of."""
        if program.is_kernel and not file.inode and file.fd < 0:
            return False  # its FUA write is no program's
        return self._device in (None, device) and self._watcher.is_of_family(thread)

    def _note_devices(self, span: Span) -> None:
        now = counted()
        for name, numbers in now.items():
            since = numbers.since(self._counted.get(name, numbers))
            if since.writes or since.flushes:
                span.device(name).counted = since
        self._counted = now
        for number, requests in self._below.take(span.elapsed_s).items():
            disk = block_device(number)
            if disk and (requests.flushes.count or requests.writes.count):
                device = span.device(disk)
                device.flushes, device.writes, device.fua = requests.flushes, requests.writes, requests.fua_issued

    def errors(self) -> list[dict[str, Any]]:
        """Writes that failed behind a program's back, and how often anybody was told."""
        return [
            {"device": block_device(device), "inode": inode, "errno": error.errno, "told": error.told}
            for (device, inode), error in self._watcher.errors.items()
        ]

    def remove(self) -> None:
        """Take the instances back."""
        try:
            self._below.remove()
        finally:
            self._watcher.recording.remove()


class SecondOfRows:
    """The rows of one second; those that nobody asked for go nowhere."""

    def __init__(
        self,
        rows: Rows,
        names: Names,
        programs: Mapping[int, Program],
        wanted: Callable[[int, Program, File, int], bool],
    ) -> None:
        self._rows, self._names, self._programs, self._wanted = rows, names, programs, wanted
        self._known: dict[tuple[int, File], Row] = {}

    def row(self, thread: int, file: File) -> Row:
        """A thread's row for a file, with its names."""
        known = self._known.get((thread, file))
        if known is None:
            known = self._known[thread, file] = self._new(thread, self._programs[thread], file)
        return known

    def _new(self, thread: int, program: Program, file: File) -> Row:
        path, number = self._names.place(program, file)
        inode, fd = (file.inode, -1) if file.inode else (0, file.fd)
        told_apart = path or (file.inode and len(self._rows.rows) < MOST_ROWS)  # a later second may name it
        key = Key(program.name, program.is_kernel, File(number, inode, fd) if told_apart else File(number))
        if not self._wanted(thread, program, file, number):
            return Row(key)
        row = self._rows.row(key)
        row.path = path
        row.pids.add(program.pid)
        row.inodes |= {file.inode} if file.inode else set()
        row.device = block_device(number) if number else None
        row.below = frozenset(request_makers(row.device)) if row.device else frozenset()
        return row


def threads_of(seen: Waits) -> set[int]:
    """All that have a row."""
    return {key[0] for kind in (seen.done, seen.timeless, seen.failed) for key in kind} | {
        key[0] for key in seen.open()
    }
