"""Find out from events which threads wait for syncs, of which files, and for how long.

The events of a filesystem also show syncs without a system call: O_DSYNC writes and io_uring. XFS and btrfs have no
event for the end of a sync. Then the system call around it gives the time; without a system call, the sync is counted
without a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from fstui.trace.reader.durations import Durations

NO_FILE = (0, 0, 0)
_WITH_FILE, _WITHOUT_FILE = ("fsync", "fdatasync", "syncfs", "sync_file_range"), ("msync", "sync")
FUA_WRITES = 'rwbs ~ "WF*"'
"""Filter for O_DSYNC writes on a device with FUA. No event of a filesystem shows them."""
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
"""For each method of Waits, the events that call it and their fields that are its arguments."""
FREQUENT = tuple(f"syscalls/sys_{end}_{name}" for end in ("enter", "exit") for name in ("fsync", "fdatasync"))
"""Half of all events. They are not needed if the filesystem has events for the start and the end of a sync."""
SLOW_NS = 100_000_000
MAX_SLOW = 1000


class SyncedFile(NamedTuple):
    """The file of a call. Events of a system call show the descriptor, those of a filesystem device and inode."""

    device: int = 0
    inode: int = 0
    fd: int = -1


class SyncWaits:
    """Calls that returned since the last report, by thread and file, and calls that have not returned.

    Keys are plain tuples, because there are many.
    """

    def __init__(self) -> None:
        self.done: dict[tuple[int, int, int, int], Durations] = {}
        """By thread, device, inode and descriptor."""
        self.untimed: Counter[tuple[int, int, int, int]] = Counter()
        self.failed: Counter[tuple[int, int, int, int, int]] = Counter()
        """By thread, device, inode, descriptor and errno."""
        self.slow: list[tuple[int, int, tuple[int, int, int, int]]] = []
        """Calls that took at least SLOW_NS: when each returned, its duration, and its key in ``done``."""
        self._calls: dict[int, tuple[int, int]] = {}
        """By thread: start time of its system call, and its descriptor."""
        self._files: dict[int, tuple[int, int, int]] = {}
        """By thread: device and inode of the first file that a filesystem syncs for it, and the start time."""
        self._fua: dict[tuple[int, int], tuple[int, int]] = {}

    def called(self, time_ns: int, thread: int, fd: int = -1) -> None:
        self._calls[thread] = (time_ns, fd)
        self._files.pop(thread, None)

    def returned(self, time_ns: int, thread: int, answer: int) -> None:
        call = self._calls.pop(thread, None)
        if call is not None:
            device, inode, _ = self._files.pop(thread, NO_FILE)
            self._add(time_ns, (thread, device, inode, call[1]), time_ns - call[0], answer)

    def sync_began(self, time_ns: int, thread: int, device: int, inode: int) -> None:
        """Begin the sync of a file. If a call syncs several files, the first one counts."""
        if thread not in self._calls or thread not in self._files:
            self._files[thread] = (device, inode, time_ns)

    def sync_ended(self, time_ns: int, thread: int, answer: int = 0) -> None:
        if thread not in self._calls:
            file = self._files.pop(thread, None)
            if file is not None:
                self._add(time_ns, (thread, file[0], file[1], -1), time_ns - file[2], answer)

    def sync_without_end(self, time_ns: int, thread: int, device: int, inode: int) -> None:
        """Note the sync of a file whose end has no event."""
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

    def _add(self, time_ns: int, key: tuple[int, int, int, int], duration_ns: int, answer: int) -> None:
        durations = self.done.get(key)
        if durations is None:
            durations = self.done[key] = Durations()
        durations.add(max(0, duration_ns))
        if duration_ns >= SLOW_NS and len(self.slow) < MAX_SLOW:
            self.slow.append((time_ns, duration_ns, key))
        if answer < 0:
            self.failed[*key, -answer] += 1

    def in_flight(self) -> Iterator[tuple[int, SyncedFile, int]]:
        """Yield the calls that have not returned: thread, file, and start in ns."""
        for thread, (since_ns, fd) in self._calls.items():
            yield thread, SyncedFile(*self._files.get(thread, NO_FILE)[:2], fd), since_ns
        for thread, (device, inode, since_ns) in self._files.items():
            if thread not in self._calls:
                yield thread, SyncedFile(device, inode), since_ns

    def threads(self) -> set[int]:
        counted = {key[0] for kind in (self.done, self.untimed, self.failed) for key in kind}
        return counted | {thread for thread, _, _ in self.in_flight()}

    def forget(self, thread: int) -> None:
        """Drop the open call of a thread that has ended."""
        self._calls.pop(thread, None)
        self._files.pop(thread, None)

    def clear(self) -> None:
        """Start anew. Calls that have not returned are kept."""
        for counted in (self.done, self.untimed, self.failed, self.slow):
            counted.clear()
