"""Program: report what each program would lose if the power failed now, without writing or syncing anything.

stdin: a line of JSON with "name" of the trace instance and "entry", the file in the ledger; both null for no trace, and
"untraced" with the reason; "pid" (only this process and its descendants) or null; and "device" (major << 20 | minor of
a filesystem) or null.
stdout: {"ready": true, "untraced": null or a sentence} or {"error": "…"}, then {"second": {…}} every second, with the
largest amounts and ages so far. After stdin has closed: {"whole": {…}}, the state at the end.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from fstui import proc
from fstui.measure.wire.stdio import read_settings
from fstui.trace.reader.exposure import Bytes, Exposure
from fstui.trace.reader.files import block_device, request_devices
from fstui.trace.reader.new_names import MAX_KEPT, Directories, NewNames, expire_s
from fstui.trace.reader.open_files import EVERYTHING, CachestatError, Opener, OpenFile, OpenFiles, Scope
from fstui.trace.reader.processes import ProcessCache, TracedProcess, in_outermost_namespace
from fstui.trace.reader.record import ignore_signals, remove_entry, say
from fstui.trace.reader.syncs import FileNumber, Syncs
from fstui.trace.reader.tracefs import PREFIX, TracefsError
from fstui.trace.reader.watch import NESTED, SECOND, closed_within
from fstui.trace.reader.write_caches import WriteCaches

POLL_S = 0.05
MAX_ROWS = 60
MAX_BYTES = 200_000
MIN_SYNCS = 3
"""A file that is synced less often is not named as the one that a program syncs most."""
MAX_OWNERS = 1000
"""With more programs, those that have ended or have nothing at risk are forgotten."""
THREADS_S = 10.0
"""Time until the programs of threads are looked up again, because thread numbers are reused."""
MAX_DIRECT = 64
"""At most this many processes with O_DIRECT files are read at every poll."""


class Owner:
    """A program, and the largest amounts so far."""

    def __init__(self, name: str, pid: int) -> None:
        self.name, self.pid = name, pid
        self.most_bytes = self.syncs = 0
        self.longest_s = self.first_sync = self.last_sync = 0.0

    def synced(self, now: float, times: int) -> None:
        self.first_sync = self.first_sync or now
        self.last_sync = now
        self.syncs += times


class RiskRow:
    """A file with its programs. ``file`` is None for all files that a program opened with O_DIRECT."""

    def __init__(self, file: OpenFile | None, number: int, exposure: Exposure) -> None:
        self.file, self.number, self.exposure = file, number, exposure
        self.owners: set[Owner] = set()
        self.closed_at: float | None = None
        self.paths: set[str] = set()


class DirectWrites(RiskRow):
    """The files of one filesystem that the processes of one program write with O_DIRECT."""

    def __init__(self, number: int, exposure: Exposure) -> None:
        super().__init__(None, number, exposure)
        self.files: set[FileNumber] = set()
        self.processes: set[Opener] = set()
        self._durable = self._written = -1
        self._written_at = self._flushed_at = 0.0

    def poll(self, now: float, limit: int, *, flushed: bool) -> None:
        """``limit``: bytes that the disks may hold. ``flushed``: whether they were flushed since the last poll."""
        if not self.processes:  # closed: nothing is added, and the next flush makes the rest durable
            self.exposure.held(0 if flushed else min(self.exposure.total, limit), now)
            return
        written = sum(proc.written_bytes(process.pid) or 0 for process in list(self.processes)[:MAX_DIRECT])
        if self._durable < 0 or written < self._written:  # the first poll, or a process has ended
            self._durable = self._written = written
        if flushed:
            self._durable, self._flushed_at = self._written, now
        if written > self._written:
            self._written, self._written_at = written, now
        self.exposure.held(min(written - self._durable, limit), now - POLL_S)

    def synced(self, began: float, ended: float) -> None:
        """A sync has ended. What was written in the interval in which it ended is taken to have been written before it:
        otherwise a program that syncs each write would never show zero."""
        self.exposure.synced(began, ended)
        if self._flushed_at >= began and self._written_at <= ended + POLL_S:
            self._durable = self._written
            self.exposure.held(0, ended)


class AtRiskTracker:
    """Everything that is at risk, and since when."""

    def __init__(self, scope: Scope, syncs: Syncs | None) -> None:
        """Raises CachestatError."""
        self._begun = self._now = time.monotonic()
        self._scope, self._syncs = scope, syncs
        self._unsupported: str | None = None
        try:
            self._open: OpenFiles | None = OpenFiles(scope)
        except CachestatError as reason:
            if syncs is None:
                raise
            self._open, self._unsupported = None, str(reason)
        self._caches = WriteCaches()
        self._files: dict[OpenFile, RiskRow] = {}
        self._direct: dict[tuple[Owner, int], DirectWrites] = {}
        self._owners: dict[tuple[int, int], Owner] = {}
        self._names: list[tuple[Owner, NewNames]] = []
        self._directories = Directories()
        self._programs = ProcessCache(lambda: syncs.recording.instance.read("../../saved_cmdlines") if syncs else "")
        self._threads: dict[int, TracedProcess] = {}
        self._forget_threads_at = 0.0
        self._running: dict[FileNumber, float] = {}
        """Since when the oldest sync of a file is running."""

    def poll(self) -> None:
        """Read the counters of the disks, several times per second."""
        flushed = self._caches.poll()
        now = time.monotonic()
        for direct in self._direct.values():
            disks = disks_of(direct.number)
            direct.poll(now, self._caches.not_flushed(disks), flushed=bool(flushed.intersection(disks)))

    def end_second(self) -> dict[str, Any]:
        since, self._now = self._now, time.monotonic()
        if self._open:
            self._open.scan()
        self.poll()
        if self._syncs:
            self._syncs.read()
            self._end_unseen(self._syncs)
            self._running = {}
            for key, began_ns, _ in self._syncs.running.values():
                self._running[key] = min(began_ns / 1e9, self._running.get(key, began_ns / 1e9))
        for direct in self._direct.values():
            direct.processes.clear()
        ended = self._syncs.ended if self._syncs else {}
        for file in self._open.files.values() if self._open else ():
            if file.dirty or file.writeback or file.direct or file in self._files or key_of(file) in ended:
                self._update(file, since)
        if self._syncs:
            self._add_syncs(self._syncs)
        self._forget()
        for row in self._rows():
            row.exposure.note(self._now)
        return self._as_dict()

    def _end_unseen(self, syncs: Syncs) -> None:
        """End syncs of ended threads, and those whose end has no event if nothing of their file is being written."""
        busy = {key_of(file) for file in self._open.files.values() if file.writeback} if self._open else set()
        for thread, (file, began_ns, has_end) in list(syncs.running.items()):
            if (not has_end and file not in busy) or not os.path.exists(f"/proc/{thread}"):
                syncs.end(began_ns, thread)

    def _update(self, file: OpenFile, since: float) -> None:
        row = self._files.get(file)
        if row is None:
            from_start = since == self._begun
            row = self._files[file] = RiskRow(file, file.number, Exposure(since, from_start=from_start))
        if file.openers:
            row.owners, row.closed_at = {self._owner(one) for one in file.openers}, None
        elif row.closed_at is None:
            row.closed_at = self._now
        self._apply_sync(row.exposure, key_of(file))
        disks = disks_of(file.number)
        self._caches.add(disks)
        dirty = file.dirty + file.writeback
        if row.closed_at is not None and (self._is_written(row, file) or self._now - row.closed_at > expire_s()):
            dirty = 0
        if row.exposure.is_being_synced(self._now, self._running.get(key_of(file))):
            dirty = 0
            row.exposure.in_memory = Bytes()
        limit, flushes = self._caches.not_flushed(disks), self._caches.flushes(disks)
        row.exposure.update(dirty, since, limit=limit, flushes=flushes)
        if file.deleted:
            row.exposure.forget()
        elif file.direct:
            self._update_direct(row, file)

    def _is_written(self, row: RiskRow, file: OpenFile) -> bool:
        began_ns, _ = self._syncs.ended.get(key_of(file), (0, 0)) if self._syncs else (0, 0)
        return began_ns / 1e9 > (row.closed_at or 0.0)

    def _update_direct(self, row: RiskRow, file: OpenFile) -> None:
        for process in file.openers:
            owner = self._owner(process)
            direct = self._direct.get((owner, file.number))
            if direct is None:
                exposure = Exposure(self._now, from_start=False)
                direct = self._direct[owner, file.number] = DirectWrites(file.number, exposure)
                direct.owners = {owner}
            direct.files.add(key_of(file))
            direct.paths.add(file.path)
            direct.processes.add(process)
            self._apply_sync(direct, key_of(file))
            if direct.exposure.is_being_synced(self._now, self._running.get(key_of(file))):
                direct.exposure.held(0, self._now)

    def _apply_sync(self, to: Exposure | DirectWrites, key: FileNumber) -> None:
        if self._syncs and key in self._syncs.ended:
            began_ns, ended_ns = self._syncs.ended[key]
            to.synced(began_ns / 1e9, ended_ns / 1e9)

    def _owner(self, process: Opener) -> Owner:
        first = process.first
        owner = self._owners.setdefault((first.pid, first.started), Owner(first.name, first.pid))
        owner.name = first.name
        return owner

    def _add_syncs(self, syncs: Syncs) -> None:
        """Count the syncs and the new names of each program."""
        if self._now > self._forget_threads_at:
            self._threads, self._forget_threads_at = {}, self._now + THREADS_S
        threads = {thread for thread, _ in (*syncs.counts, *syncs.entries)}
        self._threads.update(self._programs.of(threads - self._threads.keys()))
        programs = self._threads
        rows = {key_of(file): row for file, row in self._files.items()}
        for (thread, file), times in syncs.counts.items():
            owner = self._owner_of(programs[thread].pid, programs[thread].name)
            row = rows.get(file)
            if owner and self._scope.device in (None, file[0], row.number if row else None):
                owner.synced(self._now, times)
            direct = (one for one in self._direct.values() if file in one.files)
            for each in (row, *direct) if row else direct:
                each.exposure.counted(self._now, times)
        self._add_names(syncs, programs)
        syncs.clear()

    def _add_names(self, syncs: Syncs, programs: Mapping[int, TracedProcess]) -> None:
        """Add the new names of this second, and drop those that are durable by now."""
        self._directories.begin()
        for (thread, directory), (count, last_ns) in syncs.entries.items():
            began_ns, _ = syncs.ended.get(directory, (0, 0))
            owner = self._owner_of(programs[thread].pid, programs[thread].name)
            if owner and began_ns < last_ns and self._scope.device in (None, directory[0]):
                names = NewNames(programs[thread].pid, directory, count, self._now)
                self._names.append((owner, names))
                near = {os.path.dirname(file.path) for file in self._files if file.number == directory[0]}
                names.path = self._directories.path(names.pid, directory, near)
        commits = {journal: journal.commits() for journal in {one.journal for _, one in self._names} if journal}
        self._names = [
            (owner, one)
            for owner, one in self._names[-MAX_KEPT:]
            if syncs.ended.get(one.directory, (0, 0))[0] / 1e9 < one.since and not one.is_committed(self._now, commits)
        ]

    def _owner_of(self, pid: int, name: str) -> Owner | None:
        """Return the program of a process, which may have ended; None if it is not wanted."""
        process = self._open.processes.get(pid) if self._open else None
        if process:
            return self._owner(process) if process.wanted else None
        return self._owners.setdefault((pid, 0), Owner(name, pid)) if self._scope.pid in (None, pid) else None

    def _forget(self) -> None:
        if self._open:
            self._open.drop(lambda file: file not in self._files or not self._files[file].exposure.total)
            for file in self._files.keys() - set(self._open.files.values()):
                del self._files[file]
        for key in [key for key, one in self._direct.items() if not one.processes and not one.exposure.total]:
            del self._direct[key]
        if len(self._owners) > MAX_OWNERS:
            kept = {owner for row in self._rows() for owner in row.owners} | {owner for owner, _ in self._names}
            self._owners = {key: owner for key, owner in self._owners.items() if owner in kept}

    def _rows(self) -> Iterator[RiskRow]:
        yield from self._files.values()
        yield from self._direct.values()

    def _as_dict(self) -> dict[str, Any]:
        by_owner: dict[Owner, list[RiskRow]] = defaultdict(list)
        for row in self._rows():
            for owner in row.owners:
                by_owner[owner].append(row)
        names: dict[Owner, list[NewNames]] = defaultdict(list)
        for owner, one in self._names:
            names[owner].append(one)
        for owner, rows in by_owner.items():
            oldest = min(filter(None, (row.exposure.oldest() for row in rows)), default=self._now)
            owner.longest_s = max(owner.longest_s, self._now - oldest)
            owner.most_bytes = max(owner.most_bytes, sum(row.exposure.total for row in rows))
        shown = [
            row
            for row in self._rows()
            if row.exposure.most_bytes or (row.exposure.syncs and not (row.file and row.file.direct))
        ]
        shown.sort(key=lambda row: (-row.exposure.total, -row.exposure.most_bytes, -row.exposure.syncs))
        owners = [one for one in self._owners.values() if one.most_bytes or one.syncs or names[one]]
        at_risk = {owner: sum(row.exposure.total for row in by_owner[owner]) for owner in owners}
        owners.sort(key=lambda owner: (-at_risk[owner], -owner.most_bytes, -owner.syncs))
        return {
            "elapsed_s": self._now - self._begun,
            "programs": [self._program(owner, by_owner[owner], names[owner]) for owner in owners[:MAX_ROWS]],
            "files": [self._file(row) for row in shown[:MAX_ROWS]],
            "names": self._new_names(),
            "devices": [
                {"device": disk.name, "volatile": disk.volatile, "not_flushed_bytes": disk.not_flushed}
                for disk in self._caches.disks.values()
            ],
            **self._limits(),
        }

    def _program(self, owner: Owner, rows: list[RiskRow], names: list[NewNames]) -> dict[str, Any]:
        exposed = [row for row in rows if row.exposure.total]
        oldest = min(filter(None, (row.exposure.oldest() for row in exposed)), default=None)
        log = max((row for row in rows if row.file), key=lambda row: row.exposure.syncs, default=None)
        log = log if log and log.exposure.syncs >= MIN_SYNCS else None
        return {
            "program": owner.name,
            "pid": owner.pid,
            "dirty_bytes": sum(row.exposure.in_memory.total for row in exposed),
            "cached_bytes": sum(row.exposure.in_cache.total for row in exposed),
            "files": sum(max(1, len(row.paths)) for row in exposed),
            "shared_files": sum(len(row.owners) > 1 for row in exposed),
            "oldest_s": self._age(oldest),
            "at_least": any(row.exposure.is_at_least() for row in exposed if row.exposure.oldest() == oldest),
            "most_bytes": owner.most_bytes,
            "longest_s": owner.longest_s,
            **self._often(owner.syncs, owner.first_sync, owner.last_sync),
            "log": log.file.path if log and log.file else None,
            "log_bytes": log.exposure.total if log else 0,
            "names": sum(one.count for one in names),
            "oldest_name_s": max((self._now - one.since for one in names), default=None),
        }

    def _file(self, row: RiskRow) -> dict[str, Any]:
        exposure, oldest = row.exposure, row.exposure.oldest()
        paths = sorted(row.paths)
        return {
            "programs": sorted(f"{owner.name} ({owner.pid})" for owner in row.owners),
            "path": row.file.path if row.file else paths[0] if len(paths) == 1 else None,
            "files": max(1, len(paths)),
            "device": block_device(row.number),
            "direct": row.file is None,
            "closed": row.closed_at is not None,
            "dirty_bytes": exposure.in_memory.total,
            "cached_bytes": exposure.in_cache.total,
            "oldest_s": self._age(oldest),
            "at_least": oldest is not None and exposure.is_at_least(),
            "most_bytes": exposure.most_bytes,
            "longest_s": exposure.longest_s,
            **self._often(exposure.syncs, exposure.first_sync, exposure.last_sync),
        }

    def _age(self, oldest: float | None) -> float | None:
        """Return the age of the oldest bytes; they may have been written after this second's scan began."""
        return None if oldest is None else max(0.0, self._now - oldest)

    def _often(self, syncs: int, first: float, last: float) -> dict[str, Any]:
        return {
            "syncs": syncs if self._syncs else None,
            "sync_every_s": (last - first) / (syncs - 1) if syncs > 1 else None,
        }

    def _new_names(self) -> list[dict[str, Any]]:
        """Return a row for each program and directory; directories without a known path are counted together."""
        found: dict[tuple[Owner, int, str | None], list[NewNames]] = defaultdict(list)
        for owner, one in self._names:
            found[owner, one.directory[0], one.path].append(one)
        rows: list[dict[str, Any]] = [
            {
                "program": f"{owner.name} ({owner.pid})",
                "directory": path,
                "directories": len({one.directory for one in names}),
                "device": block_device(device),
                "count": sum(one.count for one in names),
                "oldest_s": max(self._now - one.since for one in names),
            }
            for (owner, device, path), names in found.items()
        ]
        return sorted(rows, key=lambda row: -row["oldest_s"])[:MAX_ROWS]

    def _limits(self) -> dict[str, Any]:
        lost = self._syncs.recording.lost() if self._syncs else 0
        if not self._open:
            return {"unsupported": self._unsupported, "lost": lost}
        every = self._scope == EVERYTHING and not self._open.unreadable
        known = sum(file.dirty + file.writeback for file in self._open.files.values())
        return {
            "lost": lost,
            "rest_bytes": max(0, not_written() - known) if every else None,
            "not_covered": dict(self._open.not_covered),
            "unreadable": self._open.unreadable,
            "refused": self._open.refused,
            "seconds_per_round": self._open.scans_per_round,
            "names_recorded": self._syncs is not None and self._syncs.names_recorded and len(self._names) < MAX_KEPT,
        }

    def remove(self) -> None:
        if self._open:
            self._open.close()
        if self._syncs:
            self._syncs.recording.remove()


def key_of(file: OpenFile) -> FileNumber:
    """Return device and inode as the events show them."""
    return (0 if file.fstype == "btrfs" else file.number), file.inode


@cache
def disks_of(number: int) -> tuple[str, ...]:
    device = block_device(number)
    return tuple(sorted(request_devices(device))) if device else ()


def not_written() -> int:
    """Return the bytes of all dirty pages of the host, and of those that are being written."""
    words = dict(re.findall(r"^(Dirty|Writeback):\s+(\d+)", proc.read_text("/proc/meminfo"), re.MULTILINE))
    return sum(int(amount) << 10 for amount in words.values())


def say_state(kind: str, state: dict[str, Any]) -> None:
    """Print the state. The parent reads lines of limited length, and paths may be long."""
    while len(line := json.dumps({kind: state}).encode() + b"\n") > MAX_BYTES:
        for rows in ("programs", "files", "names"):
            state[rows] = state[rows][: len(state[rows]) // 2]
    os.write(1, line)


def watch(at_risk: AtRiskTracker) -> None:
    at_risk.end_second()  # what is dirty now
    due = time.monotonic()
    closed = False
    while not closed:
        due += SECOND
        while not closed and (left := due - time.monotonic()) > 0:
            closed = closed_within(min(left, POLL_S))
            at_risk.poll()
        second = at_risk.end_second()
        if not closed:
            say_state("second", second)
    say_state("whole", at_risk.end_second())


def syncs_of(name: str, device: int | None) -> tuple[Syncs | None, str | None]:
    """Return the trace of syncs, or why there is none."""
    try:
        if not in_outermost_namespace():
            raise TracefsError(NESTED)
        return Syncs(PREFIX + name, device), None
    except (TracefsError, OSError) as problem:
        return None, str(problem)


def main() -> None:
    ignore_signals()
    gc.disable()  # this program makes few reference cycles, and the collector would scan many tuples
    settings = read_settings()
    syncs, untraced = (
        syncs_of(settings["name"], settings["device"]) if settings["name"] else (None, settings["untraced"])
    )
    try:
        at_risk = AtRiskTracker(Scope(settings["pid"], settings["device"]), syncs)
    except (CachestatError, OSError) as problem:
        if syncs:
            syncs.recording.remove()
        say(error=str(problem))
    else:
        with contextlib.suppress(BrokenPipeError):
            try:
                say(ready=True, untraced=untraced)
                watch(at_risk)
            finally:
                at_risk.remove()
    remove_entry(settings["entry"])


if __name__ == "__main__":
    main()
