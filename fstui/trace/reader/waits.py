"""Find out from events which threads wait for syncs, of which files, and for how long.

The events of a filesystem also show syncs without a sync system call: those of O_DSYNC writes and of io_uring. XFS and
btrfs have no event for the end of a sync, so the duration of the system call is used. Without a system call, the
duration is not known.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from fstui.trace.reader.durations import Durations

UNKNOWN_FILE = (0, 0, 0)
CALLS_WITH_FILE, _WITHOUT_FILE = ("fsync", "fdatasync", "syncfs"), ("msync", "sync")  # sync_file_range sends no flush
SYNC_CALLS = (*CALLS_WITH_FILE, *_WITHOUT_FILE)
FUA_WRITES = 'rwbs ~ "WF*"'
"""Filter for FUA writes. On a device with FUA, an O_DSYNC write becomes one, and no filesystem event shows it."""
FILTERS = {
    "block/block_bio_queue": FUA_WRITES,
    "block/block_bio_complete": FUA_WRITES,
    "syscalls/sys_enter_msync": "flags & 4",  # MS_SYNC; msync(MS_ASYNC) writes nothing (mm/msync.c)
}
"""The kernel's filter expressions for events of which not all belong to a sync."""
EVENTS: dict[str, dict[str, tuple[str, ...]]] = {
    "begin_call": {
        **{f"syscalls/sys_enter_{name}": ("common_pid", "fd") for name in CALLS_WITH_FILE},
        **{f"syscalls/sys_enter_{name}": ("common_pid",) for name in _WITHOUT_FILE},
    },
    "end_call": {f"syscalls/sys_exit_{name}": ("common_pid", "ret") for name in SYNC_CALLS},
    "begin_sync": {
        "ext4/ext4_sync_file_enter": ("common_pid", "dev", "ino"),
        "f2fs/f2fs_sync_file_enter": ("common_pid", "dev", "ino"),
        "nfs/nfs_fsync_enter": ("common_pid", "dev", "fileid"),
    },
    "end_sync": {
        "ext4/ext4_sync_file_exit": ("common_pid", "ret"),
        "f2fs/f2fs_sync_file_exit": ("common_pid", "ret"),
        "nfs/nfs_fsync_exit": ("common_pid",),
    },
    "begin_sync_without_end": {
        "xfs/xfs_file_fsync": ("common_pid", "dev", "ino"),
        "xfs/xfs_dir_fsync": ("common_pid", "dev", "ino"),
    },
    "begin_sync_without_device": {"btrfs/btrfs_sync_file": ("common_pid", "ino")},
    "begin_fua_write": {"block/block_bio_queue": ("common_pid", "dev", "sector")},
    "end_fua_write": {"block/block_bio_complete": ("dev", "sector")},
}
"""By method of ``SyncWaits``: the events that call the method, and the fields that become the method's arguments."""
FREQUENT_EVENTS = tuple(f"syscalls/sys_{end}_{name}" for end in ("enter", "exit") for name in ("fsync", "fdatasync"))
"""Half of all events. They are not needed if the filesystem has events for the start and the end of a sync."""
SLOW_SYNC_NS = 100_000_000
MAX_SLOW_SYNCS = 1000
Key = tuple[int, int, int, int]
"""Thread, device, inode and descriptor. A plain tuple, because there are many keys."""


class SyncedFile(NamedTuple):
    """The file of a sync. System calls show its descriptor, and the events of a filesystem its device and inode."""

    device: int = 0
    inode: int = 0
    fd: int = -1


class SyncWaits:
    """The syncs that ended since ``clear``, and those in flight."""

    def __init__(self) -> None:
        self.began_ns = 0
        """When these syncs began to be counted: the time of the last ``clear``."""
        self.durations: dict[Key, Durations] = {}
        self.earlier_ns: Counter[Key] = Counter()
        """The part of ``durations`` before ``began_ns``."""
        self.untimed_syncs: Counter[Key] = Counter()
        self.failures: Counter[tuple[int, int, int, int, int]] = Counter()
        """By thread, device, inode, descriptor and errno."""
        self.slow_syncs: list[tuple[int, int, Key, str]] = []
        """Syncs that took at least SLOW_SYNC_NS: end time, duration, key in ``durations``, and system call or ""."""
        self._calls: dict[int, tuple[int, int, str]] = {}
        """Start time, descriptor and name of the running system call of each thread."""
        self._files: dict[int, tuple[int, int, int]] = {}
        """Device, inode and start time of the file that a filesystem is syncing for each thread."""
        self.frozen: dict[Key, tuple[int, int]] = {}
        """When each write in flight to a frozen filesystem was first and last seen. It counts as a sync."""
        self.ended_frozen: set[Key] = set()
        """The keys of such writes in ``durations``."""
        self._fua_writes: dict[tuple[int, int], tuple[int, int]] = {}
        """Start time and thread of each FUA write in flight, by device and sector."""

    def begin_call(self, time_ns: int, thread: int, fd: int = -1, name: str = "") -> None:
        self._calls[thread] = (time_ns, fd, name)
        self._files.pop(thread, None)

    def end_call(self, time_ns: int, thread: int, result: int) -> None:
        call = self._calls.pop(thread, None)
        if call is not None:
            began_ns, fd, name = call
            device, inode, _ = self._files.pop(thread, UNKNOWN_FILE)
            self._add(time_ns, (thread, device, inode, fd), time_ns - began_ns, result, name)

    def begin_sync(self, time_ns: int, thread: int, device: int, inode: int) -> None:
        """Begin the sync of a file. If a system call syncs several files, keep only the first."""
        if thread not in self._calls or thread not in self._files:
            self._files[thread] = (device, inode, time_ns)

    def end_sync(self, time_ns: int, thread: int, result: int = 0) -> None:
        if thread not in self._calls:
            file = self._files.pop(thread, None)
            if file is not None:
                device, inode, began_ns = file
                self._add(time_ns, (thread, device, inode, -1), time_ns - began_ns, result)

    def begin_sync_without_end(self, time_ns: int, thread: int, device: int, inode: int) -> None:
        """Begin the sync of a file on a filesystem that has no event for the end of a sync."""
        if thread in self._calls:
            self.begin_sync(time_ns, thread, device, inode)
        else:
            self.untimed_syncs[thread, device, inode, -1] += 1

    def begin_sync_without_device(self, time_ns: int, thread: int, inode: int) -> None:
        self.begin_sync_without_end(time_ns, thread, 0, inode)

    def begin_fua_write(self, time_ns: int, thread: int, device: int, sector: int) -> None:
        """Begin a FUA write, unless it is part of a sync."""
        if thread not in self._calls and thread not in self._files:
            self._fua_writes[device, sector] = (time_ns, thread)

    def end_fua_write(self, time_ns: int, device: int, sector: int) -> None:
        began_ns, thread = self._fua_writes.pop((device, sector), (0, 0))
        if thread:
            self._add(time_ns, (thread, device, 0, -1), time_ns - began_ns, 0)

    def set_frozen(self, time_ns: int, fds: Mapping[int, int]) -> None:
        """Set the threads that are now blocked in a write to a frozen filesystem, and the descriptors."""
        now = {(thread, 0, 0, fd) for thread, fd in fds.items()}
        for key in self.frozen.keys() - now:
            first_ns, last_ns = self.frozen.pop(key)
            self._add(last_ns, key, last_ns - first_ns, 0)
            self.ended_frozen.add(key)
        for key in now:
            self.frozen[key] = (self.frozen.get(key, (time_ns, 0))[0], time_ns)

    def _add(self, time_ns: int, key: Key, duration_ns: int, result: int, call: str = "") -> None:
        durations = self.durations.get(key)
        if durations is None:
            durations = self.durations[key] = Durations()
        durations.add(max(0, duration_ns))
        if time_ns - duration_ns < self.began_ns:
            self.earlier_ns[key] += min(self.began_ns - time_ns + duration_ns, duration_ns)
        if duration_ns >= SLOW_SYNC_NS and len(self.slow_syncs) < MAX_SLOW_SYNCS:
            self.slow_syncs.append((time_ns, duration_ns, key, call))
        if result < 0:
            self.failures[*key, -result] += 1

    def in_flight(self) -> Iterator[tuple[int, SyncedFile, int]]:
        """Yield thread, file and start (ns) of each sync that has not ended."""
        for thread, (began_ns, fd, _) in self._calls.items():
            yield thread, SyncedFile(*self._files.get(thread, UNKNOWN_FILE)[:2], fd), began_ns
        for thread, (device, inode, began_ns) in self._files.items():
            if thread not in self._calls:
                yield thread, SyncedFile(device, inode), began_ns

    def threads(self) -> set[int]:
        ended = {key[0] for by_key in (self.durations, self.untimed_syncs, self.failures) for key in by_key}
        return ended | {thread for thread, _, _ in self.in_flight()} | {thread for thread, *_ in self.frozen}

    def forget(self, thread: int) -> None:
        self._calls.pop(thread, None)
        self._files.pop(thread, None)

    def clear(self, now_ns: int = 0) -> None:
        """Forget the syncs that ended. Those in flight are counted again from ``now_ns``.

        ``now_ns``: 0 in a recording, which counts a sync from its start.
        """
        self.began_ns = now_ns
        for table in (self.durations, self.earlier_ns, self.untimed_syncs, self.failures, self.slow_syncs):
            table.clear()
        self.ended_frozen.clear()
