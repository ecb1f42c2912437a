"""Record which files are synced, and which directories get entries, with as few events as possible.

The events of filesystems are used. Those of system calls would slow down every system call of every program.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from fstui.trace.reader.recording import EventRecording, Wanted
from fstui.trace.reader.tracefs import TracefsError

HANDLE_OF_DIRECTORY = 4
"""EXT4_HT_DIR (kernel: fs/ext4/ext4_jbd2.h): the type of a transaction that changes a directory."""
MAX_PER_S = 2000
"""Above this rate, the ends of syncs, or the entries of directories, are not recorded for a while."""
PAUSE_READS = 10
NAMES = (
    Wanted("ext4/ext4_allocate_inode", ("common_pid", "dev", "dir")),
    Wanted("ext4/ext4_unlink_enter", ("common_pid", "parent")),
    Wanted("ext4/ext4_journal_start_inode", ("common_pid", "ino", "dev"), f"type == {HANDLE_OF_DIRECTORY}"),
    Wanted("xfs/xfs_create", ("common_pid", "dev", "dp_ino")),
    Wanted("xfs/xfs_rename", ("common_pid", "dev", "target_dp_ino")),
)
"""New names of files: created, renamed or linked."""
FileNumber = tuple[int, int]
"""Device number and inode. The device of a btrfs is 0, because its events do not contain it."""
Running = tuple[FileNumber, int, bool]
"""The file that is being synced, since when (ns of CLOCK_MONOTONIC), and whether the end has an event."""


class Switch:
    """Events that are switched off for some reads if there are too many."""

    def __init__(self, *events: str) -> None:
        self.events = events
        self.on = True
        self._reads_left = 0

    def adapt(self, recording: EventRecording, seen: int) -> bool:
        """Switch according to the events seen since the last read. Return whether they were switched off just now."""
        self._reads_left = PAUSE_READS if seen > MAX_PER_S else self._reads_left - 1
        before, self.on = self.on, self._reads_left <= 0
        if self.on != before:
            for name in self.events:
                with contextlib.suppress(TracefsError):
                    recording.instance.write(f"events/{name}/enable", str(int(self.on)))
        return before and not self.on


class Syncs:
    """What the filesystems' events reported since the last ``clear``."""

    def __init__(self, name: str, device: int | None = None) -> None:
        """``device``: only the filesystem on it. Raises TracefsError or OSError, and then leaves nothing behind."""
        self._only = [] if device is None else [f"dev == {device}"]
        self.counts: dict[tuple[int, FileNumber], int] = {}
        """Syncs that began, by thread and file."""
        self.ended: dict[FileNumber, tuple[int, int]] = {}
        """When the last sync of each file that has ended began and ended, in ns."""
        self.running: dict[int, Running] = {}
        """By thread."""
        self.entries: dict[tuple[int, FileNumber], tuple[int, int]] = {}
        """New names, by thread and directory: their number, and the time of the last one."""
        self._unlinking: dict[int, int] = {}
        self._ends = Switch("ext4/ext4_sync_file_exit", "f2fs/f2fs_sync_file_exit")
        self._names_seen = 0
        self._names = Switch(*(event.name for event in NAMES))
        self._handlers: dict[int, Callable[..., None]] = {}
        self.recording = EventRecording(name)
        try:
            self._enable()
        except BaseException:
            self.recording.remove()
            raise

    @property
    def names_recorded(self) -> bool:
        """Whether entries of directories are recorded now."""
        return self._has_names and self._names.on

    def _enable(self) -> None:
        file = ("common_pid", "dev", "ino")
        for name, fields, handler in (
            ("ext4/ext4_sync_file_enter", file, self.began),
            ("f2fs/f2fs_sync_file_enter", file, self.began),
            ("xfs/xfs_file_fsync", file, self._began_without_end),
            ("xfs/xfs_dir_fsync", file, self._began_without_end),
            ("btrfs/btrfs_sync_file", ("common_pid", "ino"), self._began_without_device),
        ):
            self._handle(Wanted(name, fields), handler)
        if not self._handlers:
            raise TracefsError("this kernel has no event of a filesystem that syncs")
        for name in self._ends.events:
            self._handle(Wanted(name, ("common_pid",)), self.end)
        handlers: tuple[Callable[..., None], ...] = (
            self.entry, self._unlinks, self._changes_directory, self.entry, self.entry,
        )  # fmt: skip
        enabled = [self._handle(event, handler) for event, handler in zip(NAMES, handlers, strict=True)]
        self._has_names = any(enabled)

    def _handle(self, event: Wanted, handler: Callable[..., None]) -> bool:
        conditions = [*filter(None, [event.filter]), *(self._only if "btrfs" not in event.name else ())]
        with contextlib.suppress(TracefsError, OSError):  # not in this kernel, or without the field of the filter
            self._handlers[self.recording.enable(event._replace(filter=" && ".join(conditions)))] = handler
            return True
        return False

    def read(self) -> None:
        until_ns = self.recording.collect()
        handlers = self._handlers
        for time_ns, number, fields in self.recording.events(until_ns):
            if number in handlers:
                handlers[number](time_ns, *fields)
        self._ends.adapt(self.recording, sum(self.counts.values()))
        if self._names.adapt(self.recording, self._names_seen):
            self.entries.clear()
        self._names_seen = 0

    def began(self, time_ns: int, thread: int, device: int, inode: int, has_end: bool = True) -> None:
        if previous := self.running.get(thread):  # it has ended by now
            self._ended(previous, time_ns)
        file = device, inode
        self.counts[thread, file] = self.counts.get((thread, file), 0) + 1
        self.running[thread] = file, time_ns, has_end and self._ends.on

    def _began_without_end(self, time_ns: int, thread: int, device: int, inode: int) -> None:
        self.began(time_ns, thread, device, inode, has_end=False)

    def _began_without_device(self, time_ns: int, thread: int, inode: int) -> None:
        self.began(time_ns, thread, 0, inode, has_end=False)

    def end(self, time_ns: int, thread: int) -> None:
        if running := self.running.pop(thread, None):
            self._ended(running, time_ns)

    def _ended(self, running: Running, time_ns: int) -> None:
        file, began_ns, _ = running
        if self.ended.get(file, (0, 0))[0] < began_ns:
            self.ended[file] = began_ns, time_ns

    def entry(self, time_ns: int, thread: int, device: int, directory: int) -> None:
        self._names_seen += 1
        key = thread, (device, directory)
        self.entries[key] = self.entries.get(key, (0, 0))[0] + 1, time_ns

    def _unlinks(self, _: int, thread: int, directory: int) -> None:
        self._names_seen += 1
        self._unlinking[thread] = directory

    def _changes_directory(self, time_ns: int, thread: int, directory: int, device: int) -> None:
        """Count a rename or a link. The transaction of an unlink comes after another event."""
        if self._unlinking.pop(thread, None) != directory:
            self.entry(time_ns, thread, device, directory)

    def clear(self) -> None:
        """Start anew. Syncs that have not returned are kept."""
        for seen in (self.counts, self.entries, self.ended):
            seen.clear()
        self._unlinking.clear()
