"""Who waits for data to be on the disk: the events of system calls and filesystems → calls and their times.

A filesystem's own event also shows what no system call of syncing does: O_DSYNC writes and io_uring. Where it tells no
end (xfs, btrfs), the system call around it does; a sync without one is counted without a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from fstui.trace.reader.durations import Durations

NO_FILE = (0, 0, 0)
_WITH_FILE, _WITHOUT_FILE = ("fsync", "fdatasync", "syncfs", "sync_file_range"), ("msync", "sync")
FUA_ALONE = 'rwbs ~ "WF*"'
"""What an O_DSYNC write becomes on a device with FUA: the filesystem's own event does not show it."""
EVENTS: dict[str, dict[str, tuple[str, ...]]] = {
    "called": {
        **{f"syscalls/sys_enter_{name}": ("common_pid", "fd") for name in _WITH_FILE},
        **{f"syscalls/sys_enter_{name}": ("common_pid",) for name in _WITHOUT_FILE},
    },
    "returned": {f"syscalls/sys_exit_{name}": ("common_pid", "ret") for name in (*_WITH_FILE, *_WITHOUT_FILE)},
    "entered": {
        "ext4/ext4_sync_file_enter": ("common_pid", "dev", "ino"),
        "f2fs/f2fs_sync_file_enter": ("common_pid", "dev", "ino"),
        "nfs/nfs_fsync_enter": ("common_pid", "dev", "fileid"),
    },
    "left": {
        "ext4/ext4_sync_file_exit": ("common_pid", "ret"),
        "f2fs/f2fs_sync_file_exit": ("common_pid", "ret"),
        "nfs/nfs_fsync_exit": ("common_pid",),
    },
    "passed": {
        "xfs/xfs_file_fsync": ("common_pid", "dev", "ino"),
        "xfs/xfs_dir_fsync": ("common_pid", "dev", "ino"),
    },
    "passed_somewhere": {"btrfs/btrfs_sync_file": ("common_pid", "ino")},
    "queued": {"block/block_bio_queue": ("common_pid", "dev", "sector")},
    "completed": {"block/block_bio_complete": ("dev", "sector")},
}
"""Which events tell of what, and the fields of theirs that Waits is told."""
FREQUENT = tuple(f"syscalls/sys_{end}_{name}" for end in ("enter", "exit") for name in ("fsync", "fdatasync"))
"""Not needed where every filesystem tells both ends itself: two events of four."""


class File(NamedTuple):
    """What a call was for, as far as the events say."""

    device: int = 0
    inode: int = 0
    fd: int = -1


class Waits:
    """Calls by thread and file since the last look, and those that have not returned. Plain tuples: there are many."""

    def __init__(self) -> None:
        self.done: dict[tuple[int, int, int, int], Durations] = {}
        """By thread, device, inode and fd."""
        self.timeless: Counter[tuple[int, int, int, int]] = Counter()
        self.failed: Counter[tuple[int, int, int, int, int]] = Counter()
        """The same, and the errno."""
        self._calls: dict[int, tuple[int, int]] = {}
        """Thread → when its system call began, and its fd."""
        self._files: dict[int, tuple[int, int, int]] = {}
        """Thread → device and inode of the first file that a filesystem syncs for it, and since when."""
        self._writing: dict[tuple[int, int], tuple[int, int]] = {}

    def called(self, time_ns: int, thread: int, fd: int = -1) -> None:
        """A system call began."""
        self._calls[thread] = (time_ns, fd)
        self._files.pop(thread, None)

    def returned(self, time_ns: int, thread: int, answer: int) -> None:
        """A system call ended."""
        call = self._calls.pop(thread, None)
        if call is not None:
            device, inode, _ = self._files.pop(thread, NO_FILE)
            self._add((thread, device, inode, call[1]), time_ns - call[0], answer)

    def entered(self, time_ns: int, thread: int, device: int, inode: int) -> None:
        """A filesystem began to sync a file, in a system call or of itself. Of several in one call the first is it."""
        if thread not in self._calls or thread not in self._files:
            self._files[thread] = (device, inode, time_ns)

    def left(self, time_ns: int, thread: int, answer: int = 0) -> None:
        """A filesystem has synced a file."""
        if thread not in self._calls:
            file = self._files.pop(thread, None)
            if file is not None:
                self._add((thread, file[0], file[1], -1), time_ns - file[2], answer)

    def passed(self, time_ns: int, thread: int, device: int, inode: int) -> None:
        """A filesystem syncs a file and will not say when it has ended."""
        if thread in self._calls:
            self.entered(time_ns, thread, device, inode)
        else:
            self.timeless[thread, device, inode, -1] += 1

    def passed_somewhere(self, time_ns: int, thread: int, inode: int) -> None:
        """The same, without the filesystem's device."""
        self.passed(time_ns, thread, 0, inode)

    def queued(self, time_ns: int, thread: int, device: int, sector: int) -> None:
        """A FUA write was handed to a device, outside a sync."""
        if thread not in self._calls and thread not in self._files:
            self._writing[device, sector] = (time_ns, thread)

    def completed(self, time_ns: int, device: int, sector: int) -> None:
        """A FUA write is on the medium."""
        since_ns, thread = self._writing.pop((device, sector), (0, 0))
        if thread:
            self._add((thread, device, 0, -1), time_ns - since_ns, 0)

    def _add(self, key: tuple[int, int, int, int], duration_ns: int, answer: int) -> None:
        durations = self.done.get(key)
        if durations is None:
            durations = self.done[key] = Durations()
        durations.add(max(0, duration_ns))
        if answer < 0:
            self.failed[*key, -answer] += 1

    def open(self) -> Iterator[tuple[int, File, int]]:
        """Calls that have not returned: the thread, its file, since when."""
        for thread, (since_ns, fd) in self._calls.items():
            yield thread, File(*self._files.get(thread, NO_FILE)[:2], fd), since_ns
        for thread, (device, inode, since_ns) in self._files.items():
            if thread not in self._calls:
                yield thread, File(device, inode), since_ns

    def forget(self, thread: int) -> None:
        """That thread has ended in its call."""
        self._calls.pop(thread, None)
        self._files.pop(thread, None)

    def clear(self) -> None:
        """A look is over. Calls that have not returned stay."""
        for counted in (self.done, self.timeless, self.failed):
            counted.clear()
