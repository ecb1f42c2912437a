"""Program: report what each program would lose if the power failed now, without writing or syncing anything.

stdin: a line of JSON:
"name"      of the trace instance; "entry": its file in the ledger; both null: do not trace
"untraced"  why not, as a sentence
"pid"       null, or only this process and its descendants
"device"    null, or only the filesystem with this device number (major << 20 | minor)
stdout: {"ready": true, "untraced": null or a sentence} or {"error": "…"}, then {"second": {…}} every second, with the
largest amounts and ages so far. After stdin has closed: {"whole": {…}}, the state at the end.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from functools import cache
from typing import Any

from fstui import proc
from fstui.measure.wire.stdio import say
from fstui.trace.reader.exposure import DatedBytes, Exposure, Totals, WriteCaches
from fstui.trace.reader.files import block_device, request_devices
from fstui.trace.reader.new_names import NewNames, expire_s, find_directory
from fstui.trace.reader.open_files import EVERYTHING, CachestatError, Opener, OpenFile, OpenFiles, Scope
from fstui.trace.reader.processes import ProcessCache, TracedProcess, in_outermost_namespace
from fstui.trace.reader.program import serve
from fstui.trace.reader.syncs import FileNumber, Syncs
from fstui.trace.reader.tracefs import PREFIX, TracefsError
from fstui.trace.reader.watch import IN_CONTAINER, SECOND, closed_within

POLL_S = 0.1
MAX_ROWS = 40
MAX_LINE_BYTES = 200_000
MIN_SYNCS = 3
"""Least number of syncs of the file that is named as the one that a program syncs most."""
MAX_OWNERS = 1000
"""If there are more programs, those that have ended or have nothing at risk are forgotten."""
MAX_NAMES = 500
MAX_SEARCHES = 20
"""Maximum number of directories to search for per second."""
THREADS_S = 10.0
"""Time until the programs of threads are looked up again, because thread numbers are reused."""


class Owner(Totals):
    def __init__(self, name: str, pid: int) -> None:
        super().__init__()
        self.name, self.pid = name, pid
        self.direct: dict[int, int] = {}
        """By device number: how many files it has open with O_DIRECT."""


class RiskRow(Exposure):
    def __init__(self, file: OpenFile) -> None:
        super().__init__()
        self.file = file
        self.owners: set[Owner] = set()
        self.closed_at: float | None = None


class AtRiskTracker:
    """What is at risk, and since when. Times are seconds of CLOCK_MONOTONIC."""

    def __init__(self, scope: Scope, syncs: Syncs | None, untraced: str | None = None) -> None:
        """``untraced``: why there are no syncs. Raises CachestatError if neither bytes nor syncs can be seen."""
        self.untraced = untraced
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
        self._rows: dict[OpenFile, RiskRow] = {}
        self._owners: dict[tuple[int, int], Owner] = {}
        """By pid and start time."""
        self._names: list[tuple[Owner, NewNames]] = []
        self._directories: dict[FileNumber, str | None] = {}
        """The path of each directory with new names; None: not found."""
        self._programs = ProcessCache(syncs.command_names if syncs else str)
        self._threads: dict[int, TracedProcess] = {}
        self._forget_threads_at = 0.0
        self._running: dict[FileNumber, float] = {}
        """By file: the start of its oldest running sync."""

    def poll(self) -> None:
        self._caches.poll()

    def end_second(self) -> dict[str, Any]:
        since, self._now = self._now, time.monotonic()
        if self._open:
            self._open.scan()
        if self._syncs:
            self._syncs.read()
        self._caches.poll()  # after the syncs were read, so that the flushes of ended syncs are counted
        if self._syncs:
            self._end_unseen(self._syncs)
            self._running = {}
            for key, began_ns, _ in self._syncs.running.values():
                self._running[key] = min(began_ns / 1e9, self._running.get(key, began_ns / 1e9))
        for owner in self._owners.values():
            owner.direct = {}
        synced = self._running.keys() | (self._syncs.ended.keys() if self._syncs else set())
        for file in self._open.files.values() if self._open else ():
            row = self._rows.get(file)
            is_synced = bool(synced) and key_of(file) in synced
            if file.dirty or file.writeback or file.direct or (row and row.total) or is_synced:
                self._update(row or self._rows.setdefault(file, RiskRow(file)), since)
        if self._syncs:
            self._add_syncs(self._syncs)
        self._forget()
        for row in self._rows.values():
            row.note(self._now, row.total, row.oldest)
        return self._as_dict()

    def _end_unseen(self, syncs: Syncs) -> None:
        """End the running syncs whose end no event will report.

        These are the syncs of threads that have ended. A sync without an end event ends when its file is not being
        written and its disks were flushed since it began.
        """
        for thread, (key, began_ns, has_end) in list(syncs.running.items()):
            file = self._open_file(key)
            is_over = not has_end and (
                file is None or (not file.writeback and self._flushed_at(file) >= began_ns / 1e9)
            )
            if is_over or not os.path.exists(f"/proc/{thread}"):
                syncs.end(began_ns, thread)  # when it ended is not known

    def _open_file(self, key: FileNumber) -> OpenFile | None:
        device, inode = key
        files = self._open.files if self._open else {}
        if device:
            return files.get((os.makedev(device >> 20, device & 0xFFFFF), inode))
        return next((file for file in files.values() if key_of(file) == key), None)

    def _flushed_at(self, file: OpenFile) -> float:
        disks = disks_of(file.number)
        self._caches.add(disks)
        return self._caches.flushed_at(disks)

    def _update(self, row: RiskRow, since: float) -> None:
        file = row.file
        if file.openers:
            row.owners, row.closed_at = {self._owner_of_process(opener) for opener in file.openers}, None
        elif row.closed_at is None:
            row.closed_at = self._now
        if file.direct and file.openers:
            for owner in row.owners:
                owner.direct[file.number] = owner.direct.get(file.number, 0) + 1
        sync_began = 0.0
        if self._syncs and (synced_ns := self._syncs.ended.get(key_of(file))):
            sync_began, sync_ended = synced_ns[0] / 1e9, synced_ns[1] / 1e9
            row.synced(sync_began, sync_ended, self._now)
        flushed_at = self._flushed_at(file)
        dirty = file.dirty + file.writeback
        # the pages of a closed file are not counted any more; a later sync, or the kernel after a time, writes them
        if row.closed_at is not None and (sync_began > row.closed_at or self._now - row.closed_at > expire_s()):
            dirty = 0
        if row.is_being_synced(self._now, self._running.get(key_of(file))):
            dirty = 0
            row.in_memory = DatedBytes()
        row.update(dirty, since, limit=self._caches.not_flushed(disks_of(file.number)), flushed_at=flushed_at)
        if file.deleted:
            row.forget()

    def _owner_of_process(self, process: Opener) -> Owner:
        leader = process.topmost
        owner = self._owners.get((leader.pid, leader.started))
        if owner is None:
            owner = self._owners[leader.pid, leader.started] = Owner(leader.name, leader.pid)
        owner.name = leader.name
        return owner

    def _add_syncs(self, syncs: Syncs) -> None:
        if self._now > self._forget_threads_at:
            self._threads, self._forget_threads_at = {}, self._now + THREADS_S
        threads = {thread for thread, _, _ in syncs.counts} | {thread for thread, _ in syncs.entries}
        self._threads.update(self._programs.of(threads - self._threads.keys()))
        rows = {key_of(file): row for file, row in self._rows.items()}
        for (thread, device, inode), times in syncs.counts.items():
            owner, row = self._owner_of_thread(thread), rows.get((device, inode))
            if owner and self._scope.device in (None, device, row.file.number if row else None):
                owner.count_syncs(self._now, times)
            if row:
                row.count_syncs(self._now, times)
        self._add_names(syncs)
        syncs.clear()

    def _add_names(self, syncs: Syncs) -> None:
        """Add the new names of this second, and drop those that are durable."""
        searches = MAX_SEARCHES
        for (thread, directory), (count, last_ns) in syncs.entries.items():
            began_ns, _ = syncs.ended.get(directory, (0, 0))
            owner = self._owner_of_thread(thread)
            if not owner or began_ns >= last_ns or self._scope.device not in (None, directory[0]):
                continue
            if directory not in self._directories and searches:
                searches -= 1
                near = {os.path.dirname(file.path) for file in self._rows if file.number == directory[0]}
                self._directories[directory] = find_directory(self._threads[thread].pid, directory[1], near)
            self._names.append((owner, NewNames(directory, self._directories.get(directory), count, self._now)))
        commits = {journal: journal.commits() for journal in {new.journal for _, new in self._names} if journal}
        self._names = [
            (owner, new)
            for owner, new in self._names[-MAX_NAMES:]
            if syncs.ended.get(new.directory, (0, 0))[0] / 1e9 < new.since and not new.is_committed(self._now, commits)
        ]
        if len(self._directories) > MAX_NAMES:
            self._directories.clear()

    def _owner_of_thread(self, thread: int) -> Owner | None:
        program = self._threads[thread]
        process = self._open.processes.get(program.pid) if self._open else None
        if process:
            return self._owner_of_process(process) if process.wanted else None
        if self._scope.pid in (None, program.pid):
            return self._owners.setdefault((program.pid, 0), Owner(program.name, program.pid))
        return None

    def _forget(self) -> None:
        if self._open:
            self._open.drop(lambda file: file not in self._rows or not self._rows[file].total)
            for file in self._rows.keys() - set(self._open.files.values()):
                del self._rows[file]
        if len(self._owners) > MAX_OWNERS:
            kept = {owner for row in self._rows.values() for owner in row.owners} | {owner for owner, _ in self._names}
            self._owners = {key: owner for key, owner in self._owners.items() if owner in kept}

    def _as_dict(self) -> dict[str, Any]:
        by_owner: dict[Owner, list[RiskRow]] = defaultdict(list)
        for row in self._rows.values():
            for owner in row.owners:
                by_owner[owner].append(row)
        for owner, rows in by_owner.items():
            oldest = min(filter(None, (row.oldest for row in rows)), default=None)
            owner.note(self._now, sum(row.total for row in rows), oldest)
        names: dict[Owner, list[NewNames]] = defaultdict(list)
        for owner, new in self._names:
            names[owner].append(new)
        shown = [row for row in self._rows.values() if row.most_bytes or row.syncs]
        shown.sort(key=lambda row: (-row.total, -row.most_bytes, -row.syncs))
        owners = [
            owner for owner in self._owners.values() if owner.most_bytes or owner.syncs or owner.direct or names[owner]
        ]
        at_risk = {owner: sum(row.total for row in by_owner[owner]) for owner in owners}
        owners.sort(key=lambda owner: (-at_risk[owner], -owner.most_bytes, -owner.syncs))
        return {
            "elapsed_s": self._now - self._begun,
            "programs": [self._program(owner, by_owner[owner], names[owner]) for owner in owners[:MAX_ROWS]],
            "files": [self._file(row) for row in shown[:MAX_ROWS]],
            "names": self._new_names(),
            "devices": [
                {"device": name, "volatile": disk.volatile, "not_flushed_bytes": disk.not_flushed}
                for name, disk in self._caches.disks.items()
            ],
            **self._limits(),
        }

    def _program(self, owner: Owner, rows: list[RiskRow], names: list[NewNames]) -> dict[str, Any]:
        log = max(rows, key=lambda row: row.syncs, default=None)
        # writes with O_DIRECT are not counted, so the amount at risk in such a file is not known
        log = log if log and log.syncs >= MIN_SYNCS and not log.file.direct else None
        direct = {disk for number in owner.direct for disk in disks_of(number)}
        return {
            "program": owner.name,
            "pid": owner.pid,
            "files": sum(row.total > 0 for row in rows),
            "shared_files": sum(row.total > 0 and len(row.owners) > 1 for row in rows),
            "log": log.file.path if log else None,
            "log_bytes": log.total if log else 0,
            "names": sum(new.count for new in names),
            "oldest_name_s": max((self._now - new.since for new in names), default=None),
            "direct_files": sum(owner.direct.values()),
            "direct_bytes": self._caches.not_flushed(direct),
            **self._exposed(owner, rows),
        }

    def _file(self, row: RiskRow) -> dict[str, Any]:
        return {
            "programs": sorted(f"{owner.name} ({owner.pid})" for owner in row.owners),
            "path": row.file.path,
            "device": device_name(row.file.number),
            "direct": row.file.direct,
            "closed": row.closed_at is not None,
            **self._exposed(row, [row]),
        }

    def _exposed(self, totals: Totals, rows: list[RiskRow]) -> dict[str, Any]:
        oldest = min(filter(None, (row.oldest for row in rows)), default=None)
        return {
            "dirty_bytes": sum(row.in_memory.total for row in rows),
            "cached_bytes": sum(row.in_cache.total for row in rows),
            # not negative: the bytes may have been written after this second's scan began
            "oldest_s": None if oldest is None else max(0.0, self._now - oldest),
            "at_least": oldest == self._begun,  # they were there when the watch began
            **totals.as_dict(traced=self._syncs is not None),
        }

    def _new_names(self) -> list[dict[str, Any]]:
        """Return a row for each program and directory. Directories of unknown path are counted together."""
        groups: dict[tuple[Owner, int, str | None], list[NewNames]] = defaultdict(list)
        for owner, new in self._names:
            groups[owner, new.directory[0], new.path].append(new)
        rows: list[dict[str, Any]] = [
            {
                "program": f"{owner.name} ({owner.pid})",
                "directory": path,
                "directories": len({new.directory for new in names}),
                "device": device_name(device),
                "count": sum(new.count for new in names),
                "oldest_s": max(self._now - new.since for new in names),
            }
            for (owner, device, path), names in groups.items()
        ]
        return sorted(rows, key=lambda row: -row["oldest_s"])[:MAX_ROWS]

    def _limits(self) -> dict[str, Any]:
        lost = self._syncs.lost() if self._syncs else 0
        if not self._open:
            return {"unsupported": self._unsupported, "lost": lost}
        covers_all = self._scope == EVERYTHING and not self._open.unreadable
        known = sum(file.dirty + file.writeback for file in self._open.files.values())
        memory = proc.meminfo()
        unwritten = memory.get("Dirty", 0) + memory.get("Writeback", 0)
        return {
            "lost": lost,
            "rest_bytes": max(0, unwritten - known) if covers_all else None,
            "not_covered": self._open.not_covered,
            "unreadable": self._open.unreadable,
            "seconds_per_round": self._open.scans_per_round,
            "names_recorded": self._syncs is not None and self._syncs.names_recorded and len(self._names) < MAX_NAMES,
        }

    def remove(self) -> None:
        if self._open:
            self._open.close()
        if self._syncs:
            self._syncs.remove()


def key_of(file: OpenFile) -> FileNumber:
    """Return device and inode as events contain them."""
    return (0 if file.fstype == "btrfs" else file.number), file.key[1]


device_name = cache(block_device)


@cache
def disks_of(number: int) -> tuple[str, ...]:
    device = device_name(number)
    return tuple(sorted(request_devices(device))) if device else ()


def say_state(kind: str, state: dict[str, Any]) -> None:
    """Print the state, with fewer rows if the line would be too long for the parent."""
    while len(line := json.dumps({kind: state}).encode() + b"\n") > MAX_LINE_BYTES:
        for rows in ("programs", "files", "names"):
            state[rows] = state[rows][: len(state[rows]) // 2]
    os.write(1, line)


def watch(at_risk: AtRiskTracker) -> None:
    say(ready=True, untraced=at_risk.untraced)
    at_risk.end_second()  # count what is dirty at the start
    due = time.monotonic()
    closed = False
    while not closed:
        due += SECOND
        while not closed and (remaining_s := due - time.monotonic()) > 0:
            closed = closed_within(min(remaining_s, POLL_S))
            at_risk.poll()
        second = at_risk.end_second()
        if not closed:
            say_state("second", second)
    say_state("whole", at_risk.end_second())


def tracker_of(settings: dict[str, Any]) -> AtRiskTracker:
    """Raises CachestatError, OSError."""
    syncs, untraced = (
        syncs_of(settings["name"], settings["device"]) if settings["name"] else (None, settings["untraced"])
    )
    try:
        return AtRiskTracker(Scope(settings["pid"], settings["device"]), syncs, untraced)
    except BaseException:
        if syncs:
            syncs.remove()
        raise


def syncs_of(name: str, device: int | None) -> tuple[Syncs | None, str | None]:
    try:
        if not in_outermost_namespace():
            raise TracefsError(IN_CONTAINER)
        return Syncs(PREFIX + name, device), None
    except (TracefsError, OSError) as problem:
        return None, str(problem)


if __name__ == "__main__":
    serve(tracker_of, watch)
