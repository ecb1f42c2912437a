"""Find out from events which threads wait for syncs, of which files, and for how long.

The events of a filesystem also show syncs without a system call: O_DSYNC writes and io_uring. XFS and btrfs have no
event for the end of a sync, so the sync takes as long as the system call around it. A sync without such a call has no
time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from fstui.trace.reader.durations import Durations

NO_FILE = (0, 0, 0)
_WITH_FILE, _WITHOUT_FILE = ("fsync", "fdatasync", "syncfs", "sync_file_range"), ("msync", "sync")
FUA_WRITES = 'rwbs ~ "WF*"'
"""Filter for FUA writes: what O_DSYNC writes become on a device with FUA. No event of a filesystem shows them."""
EVENTS: dict[str, dict[str, tuple[str, ...]]] = {
    "called": {
        **{f"syscalls/sys_enter_{name}": ("common_pid", "fd") for name in _WITH_FILE},
        **{f"syscalls/sys_enter_{name}": ("common_pid",) for name in _WITHOUT_FILE},
    },
    "returned": {f"syscalls/sys_exit_{name}": ("common_pid", "ret") for name in (*_WITH_FILE, *_WITHOUT_FILE)},
    "sync_began": {
        "ext4/ext4_sync_file_enter": ("common_pid", "dev", "ino"),
        "f2fs/f2fs_sync_file_enter": ("common_pid", "dev", "ino"),
        "nfs/nfs_fsync_enter": ("common_pid", "dev", "fileid"),
    },
    "sync_ended": {
        "ext4/ext4_sync_file_exit": ("common_pid", "ret"),
        "f2fs/f2fs_sync_file_exit": ("common_pid", "ret"),
        "nfs/nfs_fsync_exit": ("common_pid",),
    },
    "sync_without_end": {
        "xfs/xfs_file_fsync": ("common_pid", "dev", "ino"),
        "xfs/xfs_dir_fsync": ("common_pid", "dev", "ino"),
    },
    "sync_without_device": {"btrfs/btrfs_sync_file": ("common_pid", "ino")},
    "fua_submitted": {"block/block_bio_queue": ("common_pid", "dev", "sector")},
    "fua_completed": {"block/block_bio_complete": ("dev", "sector")},
}
"""By method of ``SyncWaits``: the events that call it, and the fields that are its arguments."""
FREQUENT = tuple(f"syscalls/sys_{end}_{name}" for end in ("enter", "exit") for name in ("fsync", "fdatasync"))
"""These are half of all events. They are not needed if the filesystem has events for start and end of a sync."""
SLOW_NS = 100_000_000
MAX_SLOW = 1000
Key = tuple[int, int, int, int]
"""Thread, device, inode and descriptor. A plain tuple, because there are many."""


class SyncedFile(NamedTuple):
    """The file of a sync. System calls have a descriptor; the events of a filesystem have device and inode."""

    device: int = 0
    inode: int = 0
    fd: int = -1


class SyncWaits:
    """The syncs that ended since ``clear``, and those in flight."""

    def __init__(self) -> None:
        self.done: dict[Key, Durations] = {}
        self.untimed: Counter[Key] = Counter()
        self.failed: Counter[tuple[int, int, int, int, int]] = Counter()
        """By thread, device, inode, descriptor and errno."""
        self.slow: list[tuple[int, int, Key]] = []
        """Syncs that took at least SLOW_NS: end time, duration, and key in ``done``."""
        self._calls: dict[int, tuple[int, int]] = {}
        """By thread: start time and descriptor of its system call."""
        self._files: dict[int, tuple[int, int, int]] = {}
        """By thread: device, inode and start time of the first file that a filesystem syncs for it."""
        self._fua: dict[tuple[int, int], tuple[int, int]] = {}
        """FUA writes in flight, by device and sector: start time and thread."""

    def called(self, time_ns: int, thread: int, fd: int = -1) -> None:
        self._calls[thread] = (time_ns, fd)
        self._files.pop(thread, None)

    def returned(self, time_ns: int, thread: int, result: int) -> None:
        call = self._calls.pop(thread, None)
        if call is not None:
            device, inode, _ = self._files.pop(thread, NO_FILE)
            self._add(time_ns, (thread, device, inode, call[1]), time_ns - call[0], result)

    def sync_began(self, time_ns: int, thread: int, device: int, inode: int) -> None:
        """Begin the sync of a file. If a system call syncs several files, only the first is kept."""
        if thread not in self._calls or thread not in self._files:
            self._files[thread] = (device, inode, time_ns)

    def sync_ended(self, time_ns: int, thread: int, result: int = 0) -> None:
        if thread not in self._calls:
            file = self._files.pop(thread, None)
            if file is not None:
                self._add(time_ns, (thread, file[0], file[1], -1), time_ns - file[2], result)

    def sync_without_end(self, time_ns: int, thread: int, device: int, inode: int) -> None:
        """Begin the sync of a file on a filesystem that has no event for its end."""
        if thread in self._calls:
            self.sync_began(time_ns, thread, device, inode)
        else:
            self.untimed[thread, device, inode, -1] += 1

    def sync_without_device(self, time_ns: int, thread: int, inode: int) -> None:
        self.sync_without_end(time_ns, thread, 0, inode)

    def fua_submitted(self, time_ns: int, thread: int, device: int, sector: int) -> None:
        """Begin a FUA write that is not part of a sync."""
        if thread not in self._calls and thread not in self._files:
            self._fua[device, sector] = (time_ns, thread)

    def fua_completed(self, time_ns: int, device: int, sector: int) -> None:
        since_ns, thread = self._fua.pop((device, sector), (0, 0))
        if thread:
            self._add(time_ns, (thread, device, 0, -1), time_ns - since_ns, 0)

    def _add(self, time_ns: int, key: Key, duration_ns: int, result: int) -> None:
        durations = self.done.get(key)
        if durations is None:
            durations = self.done[key] = Durations()
        durations.add(max(0, duration_ns))
        if duration_ns >= SLOW_NS and len(self.slow) < MAX_SLOW:
            self.slow.append((time_ns, duration_ns, key))
        if result < 0:
            self.failed[*key, -result] += 1

    def in_flight(self) -> Iterator[tuple[int, SyncedFile, int]]:
        """Yield thread, file and start (ns) of each sync that has not ended."""
        for thread, (since_ns, fd) in self._calls.items():
            yield thread, SyncedFile(*self._files.get(thread, NO_FILE)[:2], fd), since_ns
        for thread, (device, inode, since_ns) in self._files.items():
            if thread not in self._calls:
                yield thread, SyncedFile(device, inode), since_ns

    def threads(self) -> set[int]:
        ended = {key[0] for by_key in (self.done, self.untimed, self.failed) for key in by_key}
        return ended | {thread for thread, _, _ in self.in_flight()}

    def forget(self, thread: int) -> None:
        """Drop the sync of a thread that is in flight."""
        self._calls.pop(thread, None)
        self._files.pop(thread, None)

    def clear(self) -> None:
        for counted in (self.done, self.untimed, self.failed, self.slow):
            counted.clear()
