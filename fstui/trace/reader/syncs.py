"""Record which files are synced, and which directories get new entries.

Only events of filesystems are used, because those of system calls would slow down all system calls of all programs.
"""

import contextlib

from fstui.trace.reader.recording import EventRecording, TracedEvent
from fstui.trace.reader.tracefs import TracefsError

HANDLE_OF_DIRECTORY = 4
"""EXT4_HT_DIR (kernel: fs/ext4/ext4_jbd2.h): the type of a transaction that changes a directory."""
MAX_EVENTS_PER_READ = 2000
"""If there are more syncs, their ends are not recorded during PAUSE_READS. The same applies to new entries."""
PAUSE_READS = 10
"""The number of reads, one per second, for which events are switched off."""
NAME_EVENTS = (
    "ext4/ext4_allocate_inode", "ext4/ext4_unlink_enter", "ext4/ext4_journal_start_inode", "xfs/xfs_create",
    "xfs/xfs_rename",
)  # fmt: skip
FileNumber = tuple[int, int]
"""Device number and inode. For btrfs the device is 0, because events of btrfs do not contain the device."""
RunningSync = tuple[FileNumber, int, bool]
"""File and start (ns of CLOCK_MONOTONIC) of a running sync, and whether an event will report its end."""


class EventSwitch:
    """Switches events off during PAUSE_READS if there are too many."""

    def __init__(self, *events: str) -> None:
        self.events = events
        self.is_on = True
        self._reads_left = 0

    def adapt(self, recording: EventRecording, event_count: int) -> bool:
        """Switch the events off if there are too many, or on again. Return whether this call switched them off."""
        self._reads_left = PAUSE_READS if event_count > MAX_EVENTS_PER_READ else self._reads_left - 1
        was_on, self.is_on = self.is_on, self._reads_left <= 0
        if self.is_on != was_on:
            for name in self.events:
                with contextlib.suppress(TracefsError):
                    recording.switch_event(name, on=self.is_on)
        return was_on and not self.is_on


class Syncs(EventRecording):
    """The syncs and new entries according to the filesystems' events since the last ``clear``."""

    def __init__(self, name: str, device: int | None = None) -> None:
        """``device``: record only the filesystem with this device number. Raises TracefsError, OSError."""
        self.counts: dict[tuple[int, int, int], int] = {}
        """Syncs that began, by thread, device and inode."""
        self.ended_syncs: dict[FileNumber, tuple[int, int]] = {}
        """Start and end (ns) of the last completed sync of each file."""
        self.running_syncs: dict[int, RunningSync] = {}
        """The running sync of each thread."""
        self.new_entries: dict[tuple[int, FileNumber], tuple[int, int]] = {}
        """By thread and directory: the number of new entries, and the time of the last entry."""
        self._unlinking: dict[int, int] = {}
        """By thread: the inode of the directory in which the thread is unlinking a name."""
        self._end_events = EventSwitch("ext4/ext4_sync_file_exit", "f2fs/f2fs_sync_file_exit")
        self._entry_count = 0
        self._entry_events = EventSwitch(*NAME_EVENTS)
        self._device_filter = "" if device is None else f"dev == {device}"
        super().__init__(name)

    @property
    def names_recorded(self) -> bool:
        """Whether new entries of directories are recorded now."""
        return self._has_names and self._entry_events.is_on

    def _enable(self) -> None:
        handle, file_fields = self.handle_if_supported, ("common_pid", "dev", "ino")
        device_filter = self._device_filter
        handle(TracedEvent("ext4/ext4_sync_file_enter", file_fields, device_filter), self.begin)
        handle(TracedEvent("f2fs/f2fs_sync_file_enter", file_fields, device_filter), self.begin)
        handle(TracedEvent("xfs/xfs_file_fsync", file_fields, device_filter), self._begin_without_end)
        handle(TracedEvent("xfs/xfs_dir_fsync", file_fields, device_filter), self._begin_without_end)
        handle(TracedEvent("btrfs/btrfs_sync_file", ("common_pid", "ino")), self._begin_without_device)
        if not self.handlers:
            raise TracefsError("this kernel has no trace event for filesystem syncs")
        for name in self._end_events.events:
            handle(TracedEvent(name, ("common_pid",), device_filter), self.end)
        directory_filter = " && ".join(filter(None, (device_filter, f"type == {HANDLE_OF_DIRECTORY}")))
        allocate_inode, unlink, start_transaction, create, rename = NAME_EVENTS
        self._has_names = any(
            [
                handle(TracedEvent(allocate_inode, ("common_pid", "dev", "dir"), device_filter), self.add_entry),
                handle(TracedEvent(unlink, ("common_pid", "parent"), device_filter), self._begin_unlink),
                handle(
                    TracedEvent(start_transaction, ("common_pid", "ino", "dev"), directory_filter),
                    self._change_directory,
                ),
                handle(TracedEvent(create, ("common_pid", "dev", "dp_ino"), device_filter), self.add_entry),
                handle(TracedEvent(rename, ("common_pid", "dev", "target_dp_ino"), device_filter), self.add_entry),
            ]
        )

    def read(self) -> None:
        super().read()
        self._end_events.adapt(self, sum(self.counts.values()))
        if self._entry_events.adapt(self, self._entry_count):
            self.new_entries.clear()
        self._entry_count = 0

    def begin(self, time_ns: int, thread: int, device: int, inode: int, has_end_event: bool = True) -> None:
        """Begin a sync. This is called for every sync, so it avoids function calls."""
        file = device, inode
        previous = self.running_syncs.get(thread)
        # if a thread begins a sync, its previous sync has ended
        if previous is not None and self.ended_syncs.get(previous[0], (0, 0))[0] < previous[1]:
            self.ended_syncs[previous[0]] = previous[1], time_ns
        key = thread, device, inode
        self.counts[key] = self.counts.get(key, 0) + 1
        self.running_syncs[thread] = file, time_ns, has_end_event and self._end_events.is_on

    def _begin_without_end(self, time_ns: int, thread: int, device: int, inode: int) -> None:
        self.begin(time_ns, thread, device, inode, has_end_event=False)

    def _begin_without_device(self, time_ns: int, thread: int, inode: int) -> None:
        self.begin(time_ns, thread, 0, inode, has_end_event=False)

    def end(self, time_ns: int, thread: int) -> None:
        file, began_ns, _ = self.running_syncs.pop(thread, ((0, 0), 0, False))
        if self.ended_syncs.get(file, (0, 0))[0] < began_ns:
            self.ended_syncs[file] = began_ns, time_ns

    def add_entry(self, time_ns: int, thread: int, device: int, directory: int) -> None:
        self._entry_count += 1
        key = thread, (device, directory)
        self.new_entries[key] = self.new_entries.get(key, (0, 0))[0] + 1, time_ns

    def _begin_unlink(self, _: int, thread: int, directory: int) -> None:
        self._entry_count += 1
        self._unlinking[thread] = directory

    def _change_directory(self, time_ns: int, thread: int, directory: int, device: int) -> None:
        """Count a rename or a link: a transaction that changes a directory in which the thread is not unlinking."""
        if self._unlinking.pop(thread, None) != directory:
            self.add_entry(time_ns, thread, device, directory)

    def clear(self) -> None:
        """Forget everything except the running syncs."""
        for table in (self.counts, self.new_entries, self.ended_syncs):
            table.clear()
        self._unlinking.clear()
