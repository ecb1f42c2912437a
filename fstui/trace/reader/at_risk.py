"""Program: report what each program would lose if the power failed now, without writing or syncing anything.

stdin: a line of JSON:
"name"      of the trace instance; "entry": its file in the ledger; both null: do not trace
"untraced"  why there is no trace, as a sentence, or null
"pid"       null, or only this process and its descendants
"device"    null, or only the filesystem with this device number (major << 20 | minor)
stdout: {"ready": true, "untraced": null or a sentence} or {"error": "…"}, then {"second": {…}} every second, with the
state now and the largest amounts and ages so far. After stdin has closed: {"whole": {…}}, the same at the end.
"""

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
from fstui.trace.reader.new_entries import NewEntries, find_directory, writeback_age_s
from fstui.trace.reader.open_files import EVERYTHING, Opener, OpenFile, OpenFiles, Scope
from fstui.trace.reader.processes import ProcessCache, TracedProcess
from fstui.trace.reader.program import serve
from fstui.trace.reader.syncs import FileNumber, Syncs
from fstui.trace.reader.tracefs import PREFIX, TracefsError, reason_of
from fstui.trace.reader.watch import INTERVAL_S, wait_for_close

POLL_INTERVAL_S = 0.1
MAX_ROWS = 40
MAX_LINE_BYTES = 200_000
MIN_SYNCS = 3
"""A file with fewer syncs is not reported as the file that a program syncs most."""
MAX_PROGRAMS = 1000
"""If there are more programs, those with nothing at risk are forgotten."""
MAX_NEW_ENTRIES = 500
MAX_SEARCHES = 20
"""Maximum number of directories whose paths are searched for per second."""
THREAD_CACHE_LIFETIME_S = 10.0
"""After this time, the program of a thread is looked up again, because thread ids are reused."""


class ProgramRow(Totals):
    """A program: a process, and its descendants of the same name."""

    def __init__(self, name: str, pid: int) -> None:
        super().__init__()
        self.name, self.pid = name, pid
        self.direct_files: dict[int, int] = {}
        """The number of files that the program has open with O_DIRECT, by device number."""


class FileRow(Exposure):
    """A file, and the programs that have it open. If none has it open now: those that had it open last."""

    def __init__(self, file: OpenFile, last_update: float) -> None:
        super().__init__()
        self.file = file
        self.first_found_at = last_update if file.first_scan == file.last_scan >= 0 else None
        """The time given to the bytes that were dirty when the file was first examined. They may be older."""
        self.programs: set[ProgramRow] = set()
        self.closed_at: float | None = None
        self.is_rebuilt = False
        """Whether the file is the index of an SQLite write-ahead log, which SQLite rebuilds from the log after a crash
        (sqlite.org/walformat.html)."""


class AtRiskTracker:
    """The bytes and names that are at risk, and since when. Times are seconds of CLOCK_MONOTONIC."""

    def __init__(self, scope: Scope, syncs: Syncs | None, untraced: str | None) -> None:
        """``untraced``: why ``syncs`` is None. Raises TracefsError if neither bytes nor syncs can be counted."""
        self.untraced = untraced
        self._start = self._now = time.monotonic()
        self._scope, self._syncs = scope, syncs
        self._open_files = OpenFiles(scope)
        if self._open_files.unsupported and syncs is None:
            raise TracefsError(self._open_files.unsupported)
        self._caches = WriteCaches()
        self._rows: dict[OpenFile, FileRow] = {}
        self._programs: dict[tuple[int, int], ProgramRow] = {}
        """By pid and start time of the program's first process."""
        self._new_entries: list[tuple[ProgramRow, NewEntries]] = []
        self._directory_paths: dict[FileNumber, str | None] = {}
        """The path of each directory with new names; None if the path was not found."""
        self._process_cache = ProcessCache(syncs.command_names if syncs else str)
        self._threads: dict[int, TracedProcess] = {}
        self._forget_threads_at = 0.0
        self._running_sync_starts: dict[FileNumber, float] = {}
        """The start of the oldest running sync of each file."""

    def poll(self) -> None:
        self._caches.poll()

    def update(self) -> dict[str, Any]:
        last_update, self._now = self._now, time.monotonic()
        self._open_files.scan()
        if self._syncs:
            self._syncs.read()
        self._caches.poll()  # after the syncs were read, so that the flushes of ended syncs are counted
        if self._syncs:
            self._end_syncs_without_event(self._syncs)
            self._running_sync_starts = {}
            for key, began_ns, _ in self._syncs.running_syncs.values():
                self._running_sync_starts[key] = min(began_ns / 1e9, self._running_sync_starts.get(key, began_ns / 1e9))
        for program in self._programs.values():
            program.direct_files = {}
        synced_files = self._running_sync_starts.keys() | (self._syncs.ended_syncs.keys() if self._syncs else set())
        for file in self._open_files.files.values():
            row = self._rows.get(file)
            is_synced = bool(synced_files) and key_of(file) in synced_files
            if file.unwritten_bytes or file.is_direct or (row and row.total) or is_synced:
                self._update_row(row or self._rows.setdefault(file, FileRow(file, last_update)), last_update)
        if self._syncs:
            self._add_syncs(self._syncs)
        self._forget()
        for row in self._rows.values():
            row.update_maxima(self._now, row.total, row.oldest)
        return self._as_dict()

    def _end_syncs_without_event(self, syncs: Syncs) -> None:
        """End the syncs that have ended without an event.

        Either the thread of the sync has ended, or the filesystem has no event for the end of a sync. In the second
        case, the sync is over when its file is not being written and the disks were flushed after the sync began.
        """
        files = {key_of(file): file for file in self._open_files.files.values()} if syncs.running_syncs else {}
        for thread, (key, began_ns, has_end_event) in list(syncs.running_syncs.items()):
            file = files.get(key)
            is_over = not has_end_event and (
                file is None or (not file.writeback_bytes and self._flushed_at(file) >= began_ns / 1e9)
            )
            if is_over or not os.path.exists(f"/proc/{thread}"):
                syncs.end(began_ns, thread)  # the time of the end is not known, so use that of the start

    def _flushed_at(self, file: OpenFile) -> float:
        disks = disks_of(file.device)
        self._caches.add(disks)
        return self._caches.flushed_at(disks)

    def _update_row(self, row: FileRow, last_update: float) -> None:
        file = row.file
        if file.openers:
            row.programs, row.closed_at = {self._program_of_process(opener) for opener in file.openers}, None
            row.is_rebuilt = is_wal_index(file)
        elif row.closed_at is None:
            row.closed_at = self._now
        if file.is_direct and file.openers:
            for program in row.programs:
                program.direct_files[file.device] = program.direct_files.get(file.device, 0) + 1
        sync_began = 0.0
        if self._syncs and (synced_ns := self._syncs.ended_syncs.get(key_of(file))):
            sync_began, sync_ended = synced_ns[0] / 1e9, synced_ns[1] / 1e9
            row.add_sync(sync_began, sync_ended, self._now)
        flushed_at, disks = self._flushed_at(file), disks_of(file.device)
        dirty = file.unwritten_bytes
        # the pages of a closed file cannot be counted. A later sync, or the kernel after some time, has written them
        if row.closed_at is not None and (sync_began > row.closed_at or self._now - row.closed_at > writeback_age_s()):
            dirty = 0
        if row.is_being_synced(self._now, self._running_sync_starts.get(key_of(file))):
            dirty = 0  # the program syncs without pauses, so these bytes will soon be durable
            row.in_memory = DatedBytes()
        limit, durable_before = self._caches.unflushed_bytes(disks), self._caches.durable_before(disks)
        row.update(dirty, last_update, limit=limit, flushed_at=flushed_at, durable_before=durable_before)
        if file.is_deleted or row.is_rebuilt:
            row.forget()

    def _program_of_process(self, process: Opener) -> ProgramRow:
        leader = process.topmost
        program = self._programs.get((leader.pid, leader.start_ticks))
        if program is None:
            program = self._programs[leader.pid, leader.start_ticks] = ProgramRow(leader.name, leader.pid)
        program.name = leader.name
        return program

    def _add_syncs(self, syncs: Syncs) -> None:
        if self._now > self._forget_threads_at:
            self._threads, self._forget_threads_at = {}, self._now + THREAD_CACHE_LIFETIME_S
        threads = {thread for thread, _, _ in syncs.counts} | {thread for thread, _ in syncs.new_entries}
        self._threads.update(self._process_cache.find_processes(threads - self._threads.keys()))
        rows = {key_of(file): row for file, row in self._rows.items()}
        for (thread, device, inode), times in syncs.counts.items():
            program, row = self._program_of_thread(thread), rows.get((device, inode))
            if program and self._scope.device in (None, device, row.file.device if row else None):
                program.count_syncs(self._now, times)
            if row:
                row.count_syncs(self._now, times)
        self._add_names(syncs)
        syncs.clear()

    def _add_names(self, syncs: Syncs) -> None:
        """Add the new names of this second, and drop the names that are durable."""
        remaining_searches = MAX_SEARCHES
        for (thread, directory), (count, last_ns) in syncs.new_entries.items():
            began_ns, _ = syncs.ended_syncs.get(directory, (0, 0))
            program = self._program_of_thread(thread)
            if not program or began_ns >= last_ns or self._scope.device not in (None, directory[0]):
                continue
            if directory not in self._directory_paths and remaining_searches:
                remaining_searches -= 1
                candidates = {os.path.dirname(file.path) for file in self._rows if file.device == directory[0]}
                self._directory_paths[directory] = find_directory(self._threads[thread].pid, directory[1], candidates)
            path = self._directory_paths.get(directory)
            self._new_entries.append((program, NewEntries(directory, path, count, self._now)))
        journals = {entries.journal for _, entries in self._new_entries}
        commits = {journal: journal.commits() for journal in journals if journal}
        self._new_entries = [
            (program, entries)
            for program, entries in self._new_entries[-MAX_NEW_ENTRIES:]
            if syncs.ended_syncs.get(entries.directory, (0, 0))[0] / 1e9 < entries.created_at
            and not entries.is_committed(self._now, commits)
        ]
        if len(self._directory_paths) > MAX_NEW_ENTRIES:
            self._directory_paths.clear()

    def _program_of_thread(self, thread: int) -> ProgramRow | None:
        process = self._threads[thread]
        opener = self._open_files.processes.get(process.pid)
        if opener:
            return self._program_of_process(opener) if opener.in_scope else None
        if self._scope.pid in (None, process.pid):
            return self._programs.setdefault((process.pid, process.start_ticks), ProgramRow(process.name, process.pid))
        return None

    def _forget(self) -> None:
        self._open_files.drop(lambda file: file not in self._rows or not self._rows[file].total)
        for file in self._rows.keys() - set(self._open_files.files.values()):
            del self._rows[file]
        if len(self._programs) > MAX_PROGRAMS:
            active = {program for row in self._rows.values() for program in row.programs}
            active |= {program for program, _ in self._new_entries}
            self._programs = {key: program for key, program in self._programs.items() if program in active}

    def _as_dict(self) -> dict[str, Any]:
        rows: dict[ProgramRow, list[FileRow]] = defaultdict(list)
        for row in self._rows.values():
            for program in row.programs:
                rows[program].append(row)
        for program, file_rows in rows.items():
            oldest = min(filter(None, (row.oldest for row in file_rows)), default=None)
            program.update_maxima(self._now, sum(row.total for row in file_rows), oldest)
        names: dict[ProgramRow, list[NewEntries]] = defaultdict(list)
        for program, entries in self._new_entries:
            names[program].append(entries)
        file_rows = [row for row in self._rows.values() if row.most_bytes or row.syncs]
        file_rows.sort(key=lambda row: (-row.total, -row.most_bytes, -row.syncs))
        programs = [
            row for row in self._programs.values() if row.most_bytes or row.syncs or row.direct_files or names[row]
        ]
        at_risk_bytes = {program: sum(row.total for row in rows[program]) for program in programs}
        programs.sort(key=lambda program: (-at_risk_bytes[program], -program.most_bytes, -program.syncs))
        return {
            "elapsed_s": self._now - self._start,
            "programs": [self._program_as_dict(row, rows[row], names[row]) for row in programs[:MAX_ROWS]],
            "files": [self._file_as_dict(row) for row in file_rows[:MAX_ROWS]],
            "names": self._new_entries_as_dicts(),
            "devices": [
                {"device": name, "volatile": disk.is_volatile, "not_flushed_bytes": disk.unflushed_bytes}
                for name, disk in self._caches.disks.items()
            ],
            **self._limits_as_dict(),
        }

    def _program_as_dict(self, program: ProgramRow, rows: list[FileRow], names: list[NewEntries]) -> dict[str, Any]:
        log = max(rows, key=lambda row: row.syncs, default=None)
        # writes with O_DIRECT are not counted, so the amount at risk in such a file is not known
        log = log if log and log.syncs >= MIN_SYNCS and not log.file.is_direct else None
        direct = {disk for number in program.direct_files for disk in disks_of(number)}
        return {
            "program": program.name,
            "pid": program.pid,
            "files": sum(row.total > 0 for row in rows),
            "shared_files": sum(row.total > 0 and len(row.programs) > 1 for row in rows),
            "log": log.file.path if log else None,
            "log_bytes": log.total if log else 0,
            "names": sum(entries.count for entries in names),
            "oldest_name_s": max((self._now - entries.created_at for entries in names), default=None),
            "direct_files": sum(program.direct_files.values()),
            "direct_bytes": self._caches.unflushed_bytes(direct),
            **self._amounts_as_dict(program, rows),
        }

    def _file_as_dict(self, row: FileRow) -> dict[str, Any]:
        return {
            "programs": sorted(f"{program.name} ({program.pid})" for program in row.programs),
            "path": row.file.path,
            "device": device_name(row.file.device),
            "direct": row.file.is_direct,
            "closed": row.closed_at is not None,
            **self._amounts_as_dict(row, [row]),
        }

    def _amounts_as_dict(self, totals: Totals, rows: list[FileRow]) -> dict[str, Any]:
        oldest = min(filter(None, (row.oldest for row in rows)), default=None)
        limit = self._caches.unflushed_bytes({disk for row in rows for disk in disks_of(row.file.device)})
        return {
            "dirty_bytes": sum(row.in_memory.total for row in rows),
            "cached_bytes": min(sum(row.in_cache.total for row in rows), limit),
            # not negative, although the bytes may have been written after this second's scan began
            "oldest_s": None if oldest is None else max(0.0, self._now - oldest),
            "at_least": any(row.oldest == oldest == row.first_found_at for row in rows if oldest is not None),
            **totals.as_dict(traced=self._syncs is not None),
        }

    def _new_entries_as_dicts(self) -> list[dict[str, Any]]:
        """Return a row for each program and directory. Directories with an unknown path share one row."""
        groups: dict[tuple[ProgramRow, int, str | None], list[NewEntries]] = defaultdict(list)
        for program, entries in self._new_entries:
            groups[program, entries.directory[0], entries.path].append(entries)
        rows: list[dict[str, Any]] = [
            {
                "program": f"{program.name} ({program.pid})",
                "directory": path,
                "directories": len({entries.directory for entries in names}),
                "device": device_name(device),
                "count": sum(entries.count for entries in names),
                "oldest_s": max(self._now - entries.created_at for entries in names),
            }
            for (program, device, path), names in groups.items()
        ]
        return sorted(rows, key=lambda row: -row["oldest_s"])[:MAX_ROWS]

    def _limits_as_dict(self) -> dict[str, Any]:
        lost = self._syncs.lost() if self._syncs else 0
        if self._open_files.unsupported:
            return {"unsupported": self._open_files.unsupported, "lost": lost}
        covers_all = self._scope == EVERYTHING and not self._open_files.unreadable
        counted = sum(file.unwritten_bytes for file in self._open_files.files.values())
        has_names = bool(self._syncs and self._syncs.names_recorded)
        memory = proc.meminfo()
        unwritten = memory.get("Dirty", 0) + memory.get("Writeback", 0)
        return {
            "lost": lost,
            "rest_bytes": max(0, unwritten - counted) if covers_all else None,
            "not_covered": self._open_files.not_covered,
            "unreadable": self._open_files.unreadable,
            "seconds_per_round": self._open_files.scans_per_round,
            "names_recorded": has_names and len(self._new_entries) < MAX_NEW_ENTRIES,
        }

    def remove(self) -> None:
        self._open_files.close()
        if self._syncs:
            self._syncs.remove()


def key_of(file: OpenFile) -> FileNumber:
    """Return device and inode of a file as in trace events. For btrfs, the device is 0."""
    return (0 if file.fstype == "btrfs" else file.device), file.key[1]


def is_wal_index(file: OpenFile) -> bool:
    """Return whether a program that has the file open also has the SQLite log open to which it is the index."""
    path, is_index, rest = file.path.rpartition("-shm")
    links = (link for opener in file.openers for link, _ in opener.descriptors.values())
    return bool(is_index) and not rest and f"{path}-wal" in links


device_name = cache(block_device)


@cache
def disks_of(number: int) -> tuple[str, ...]:
    device = device_name(number)
    return tuple(sorted(request_devices(device))) if device else ()


def print_state(kind: str, state: dict[str, Any]) -> None:
    """Print the state. Leave rows out if the line would be too long for the parent."""
    while len(line := json.dumps({kind: state}).encode() + b"\n") > MAX_LINE_BYTES:
        for rows in ("programs", "files", "names"):
            state[rows] = state[rows][: len(state[rows]) // 2]
    os.write(1, line)


def watch(tracker: AtRiskTracker) -> None:
    say(ready=True, untraced=tracker.untraced)
    tracker.update()  # count the bytes that are dirty at the start
    due = time.monotonic()
    closed = False
    while not closed:
        due += INTERVAL_S
        while not closed and (remaining_s := due - time.monotonic()) > 0:
            closed = wait_for_close(min(remaining_s, POLL_INTERVAL_S))
            tracker.poll()
        second = tracker.update()
        if not closed:
            print_state("second", second)
    print_state("whole", tracker.update())


def make_tracker(settings: dict[str, Any]) -> AtRiskTracker:
    """Raises TracefsError, OSError."""
    syncs: Syncs | None = None
    untraced: str | None = settings["untraced"]
    if settings["name"]:
        try:
            syncs, untraced = Syncs(PREFIX + settings["name"], settings["device"]), None
        except (TracefsError, OSError) as problem:
            untraced = reason_of(problem)
    try:
        return AtRiskTracker(Scope(settings["pid"], settings["device"]), syncs, untraced)
    except BaseException:
        if syncs:
            syncs.remove()
        raise


if __name__ == "__main__":
    serve(make_tracker, watch)
