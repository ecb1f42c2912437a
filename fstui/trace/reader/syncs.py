"""Record which files are synced, and which directories get new entries.

Only events of filesystems are used: those of system calls would slow down every system call of every program.
"""

from __future__ import annotations

import contextlib

from fstui.trace.reader.recording import EventRecording, Wanted
from fstui.trace.reader.tracefs import TracefsError

HANDLE_OF_DIRECTORY = 4
"""EXT4_HT_DIR (kernel: fs/ext4/ext4_jbd2.h): the type of a transaction that changes a directory."""
MAX_PER_S = 2000
"""If there are more syncs or new entries than this, ends of syncs or new entries are not recorded for a while."""
PAUSE_READS = 10
"""Number of reads, one per second, for which they are not recorded."""
NAME_EVENTS = (
    "ext4/ext4_allocate_inode", "ext4/ext4_unlink_enter", "ext4/ext4_journal_start_inode", "xfs/xfs_create",
    "xfs/xfs_rename",
)  # fmt: skip
FileNumber = tuple[int, int]
"""Device number and inode. For btrfs the device is 0, because its events do not contain it."""
Running = tuple[FileNumber, int, bool]
"""File and start (ns of CLOCK_MONOTONIC) of a running sync, and whether an event will report its end."""


class EventSwitch:
    """Events that are switched off for PAUSE_READS if there are too many."""

    def __init__(self, *events: str) -> None:
        self.events = events
        self.on = True
        self._reads_left = 0

    def adapt(self, recording: EventRecording, number: int) -> bool:
        """Switch, after ``number`` events since the last read. Return whether the events were switched off just now."""
        self._reads_left = PAUSE_READS if number > MAX_PER_S else self._reads_left - 1
        before, self.on = self.on, self._reads_left <= 0
        if self.on != before:
            for name in self.events:
                with contextlib.suppress(TracefsError):
                    recording.switch_event(name, on=self.on)
        return before and not self.on


class Syncs(EventRecording):
    """What the filesystems' events reported since the last ``clear``."""

    def __init__(self, name: str, device: int | None = None) -> None:
        """``device``: only the filesystem on it. Raises TracefsError or OSError, and then leaves nothing behind."""
        self.counts: dict[tuple[int, int, int], int] = {}
        """Syncs that began, by thread, device and inode."""
        self.ended: dict[FileNumber, tuple[int, int]] = {}
        """By file: start and end of its last completed sync, in ns."""
        self.running: dict[int, Running] = {}
        self.entries: dict[tuple[int, FileNumber], tuple[int, int]] = {}
        """New entries, by thread and directory: their number, and the time of the last one."""
        self._unlinking: dict[int, int] = {}
        """By thread: the directory of the unlink that it has announced."""
        self._ends = EventSwitch("ext4/ext4_sync_file_exit", "f2fs/f2fs_sync_file_exit")
        self._names_seen = 0
        self._names = EventSwitch(*NAME_EVENTS)
        super().__init__(name, lambda: self._enable("" if device is None else f"dev == {device}"))

    @property
    def names_recorded(self) -> bool:
        """Whether new entries of directories are recorded now."""
        return self._has_names and self._names.on

    def _enable(self, only: str) -> None:
        handle, file = self.handle, ("common_pid", "dev", "ino")
        handle(Wanted("ext4/ext4_sync_file_enter", file, only), self.began)
        handle(Wanted("f2fs/f2fs_sync_file_enter", file, only), self.began)
        handle(Wanted("xfs/xfs_file_fsync", file, only), self._began_without_end)
        handle(Wanted("xfs/xfs_dir_fsync", file, only), self._began_without_end)
        handle(Wanted("btrfs/btrfs_sync_file", ("common_pid", "ino")), self._began_without_device)
        if not self.handlers:
            raise TracefsError("this kernel has no event of a filesystem that syncs")
        for name in self._ends.events:
            handle(Wanted(name, ("common_pid",), only), self.end)
        only_directories = " && ".join(filter(None, (only, f"type == {HANDLE_OF_DIRECTORY}")))
        allocates, unlinks, changes, creates, renames = NAME_EVENTS
        self._has_names = any(
            [
                handle(Wanted(allocates, ("common_pid", "dev", "dir"), only), self.entry),
                handle(Wanted(unlinks, ("common_pid", "parent"), only), self._unlinks),
                handle(Wanted(changes, ("common_pid", "ino", "dev"), only_directories), self._changes_directory),
                handle(Wanted(creates, ("common_pid", "dev", "dp_ino"), only), self.entry),
                handle(Wanted(renames, ("common_pid", "dev", "target_dp_ino"), only), self.entry),
            ]
        )

    def read(self) -> None:
        super().read()
        self._ends.adapt(self, sum(self.counts.values()))
        if self._names.adapt(self, self._names_seen):
            self.entries.clear()
        self._names_seen = 0

    def began(self, time_ns: int, thread: int, device: int, inode: int, has_end: bool = True) -> None:
        """Begin a sync. This is called for every sync, so it avoids function calls."""
        file = device, inode
        previous = self.running.get(thread)
        # a thread that begins a sync has ended its previous one
        if previous is not None and self.ended.get(previous[0], (0, 0))[0] < previous[1]:
            self.ended[previous[0]] = previous[1], time_ns
        key = thread, device, inode
        self.counts[key] = self.counts.get(key, 0) + 1
        self.running[thread] = file, time_ns, has_end and self._ends.on

    def _began_without_end(self, time_ns: int, thread: int, device: int, inode: int) -> None:
        self.began(time_ns, thread, device, inode, has_end=False)

    def _began_without_device(self, time_ns: int, thread: int, inode: int) -> None:
        self.began(time_ns, thread, 0, inode, has_end=False)

    def end(self, time_ns: int, thread: int) -> None:
        file, began_ns, _ = self.running.pop(thread, ((0, 0), 0, False))
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
        """Count a rename or a link: a transaction of a thread that has not announced an unlink in this directory."""
        if self._unlinking.pop(thread, None) != directory:
            self.entry(time_ns, thread, device, directory)

    def clear(self) -> None:
        """Forget everything except the running syncs."""
        for table in (self.counts, self.entries, self.ended):
            table.clear()
        self._unlinking.clear()
