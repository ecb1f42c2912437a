"""Count the bytes in the page cache of files that programs have open for writing, without changing anything.

cachestat(2) requires a descriptor. pidfd_getfd(2) returns a duplicate of the program's: no file is opened, so no lease
is broken. The duplicate is closed at once, because it keeps a deleted file on the disk, a flock(2) held and a
filesystem mounted. Closing it has an effect on filesystems with a flush method, such as NFS, SMB and FUSE: it writes
the file back. So only the filesystems in ``COVERED``, which have none, are examined.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import resource
import stat
import struct
import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from fstui import proc
from fstui.trace.reader.processes import KERNEL_THREAD
from fstui.trace.reader.tracefs import TracefsError, system_call

PIDFD_GETFD, CACHESTAT = 438, 451
"""System call numbers since Linux 5.6 and 6.5, the same on every architecture (asm-generic/unistd.h)."""
COVERED = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "nilfs2", "vfat", "exfat", "ntfs3"})
IN_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs", "hugetlbfs", "devpts", "proc", "sysfs", "cgroup2", "tracefs"})
"""Their files are lost in any case."""
SCAN_S = 0.008
"""CPU time per scan. If there are more files, the next scan continues with the others."""
QUIET_SCANS = 8
"""All descriptors of a process that writes nothing are examined in one of these scans."""
RECENT_NS = 20_000_000
"""Older kernels round the time of a change down to a timer tick of at most 10 ms."""
PAGE = resource.getpagesize()
_ARGUMENTS = struct.Struct("=2Q5Q")
"""struct cachestat_range and struct cachestat (uapi/linux/mman.h)."""
_memory = ctypes.create_string_buffer(_ARGUMENTS.size)


class CachestatError(TracefsError):
    """The kernel has no cachestat(2), or does not allow it. The message is one sentence for the user."""


def not_written(fd: int) -> tuple[int, int]:
    """Return the bytes of a file's dirty pages, and of those that are being written. Raises OSError."""
    system_call(CACHESTAT, fd, ctypes.byref(_memory), ctypes.byref(_memory, 16), 0)
    _, _, _, dirty, writeback, _, _ = _ARGUMENTS.unpack_from(_memory)
    return dirty * PAGE, writeback * PAGE


class Opener:
    """A process, and what its descriptors were at the last scan."""

    def __init__(self, pid: int, found: proc.Stat) -> None:
        self.pid, self.started, self.name = pid, found.start, found.name
        self.above: Opener | None = None
        """Its parent."""
        self.wanted = False
        self.descriptors: dict[str, tuple[str, OpenFile | str | None]] = {}
        """By number: the link in /proc/PID/fd, and the file, or the type of a filesystem that is not covered.

        None: open only for reading; an empty string: nothing to examine.
        """
        self.directory = self.pidfd = -1
        self._moved: tuple[int, int] | None = None

    @property
    def first(self) -> Opener:
        """The first examined process of a server whose processes have the same name: PostgreSQL's postmaster."""
        same = self.above is not None and self.above.wanted and self.above.name == self.name
        return self.above.first if same and self.above is not None else self

    def has_written(self) -> bool:
        """Return whether it may have made pages dirty since the last call."""
        before, self._moved = self._moved, proc.io_bytes(self.pid)
        return self._moved is None or self._moved != before

    def read_name(self) -> None:
        """Read its name again, which execve(2) changes."""
        found = proc.stat(self.pid)
        if found and found.start == self.started:
            self.name = found.name

    def open(self) -> int:
        """Return a descriptor of its /proc/PID/fd, which stays that of this process. Raises OSError."""
        if self.directory < 0:
            self.directory = os.open(f"/proc/{self.pid}/fd", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        return self.directory

    def duplicate(self, name: str) -> int:
        """Return a duplicate of one of its descriptors. Raises OSError."""
        if self.pidfd < 0:
            self.pidfd = os.pidfd_open(self.pid)
        return system_call(PIDFD_GETFD, self.pidfd, int(name), 0)

    def close(self) -> None:
        for fd in {self.directory, self.pidfd} - {-1}:
            os.close(fd)


class OpenFile:
    """A file that processes have open for writing, or had."""

    def __init__(self, key: tuple[int, int], number: int, path: str, fstype: str) -> None:
        self.key, self.number, self.path, self.fstype = key, number, path, fstype
        """``key``: st_dev, of a subvolume as well, and inode. ``number``: that of the filesystem's device in events."""
        self.openers: Counter[Opener] = Counter()
        self.direct = self.deleted = False
        """Some process opened it with O_DIRECT and without O_DSYNC; it has no name any more."""
        self.dirty = self.writeback = 0
        self.scan = self.settled_ns = -1
        """The last scan in which it was examined. ``settled_ns``: while its modification time is this, it has no dirty
        pages."""

    def count(self, fd: int, found: os.stat_result) -> None:
        """Count its pages. Raises OSError."""
        is_regular, now_ns = stat.S_ISREG(found.st_mode), time.time_ns()
        self.deleted = is_regular and not found.st_nlink
        # nothing of a deleted file is expected after a crash
        self.dirty, self.writeback = (0, 0) if self.deleted else not_written(fd)
        is_settled = is_regular and not self.dirty and not self.writeback and found.st_mtime_ns < now_ns - RECENT_NS
        self.settled_ns = found.st_mtime_ns if is_settled else -1


class Scope(NamedTuple):
    """What to examine: only this process and its descendants, only the filesystem on this device."""

    pid: int | None = None
    device: int | None = None


EVERYTHING = Scope()


class OpenFiles:
    """The files that processes have open for writing, and how many of their bytes are not written yet."""

    def __init__(self, scope: Scope = EVERYTHING) -> None:
        """Raises CachestatError."""
        self.files: dict[tuple[int, int], OpenFile] = {}
        """By st_dev and inode."""
        self.processes: dict[int, Opener] = {}
        self.unreadable = 0
        """Processes that may not be examined."""
        self.scans_per_round = 1.0
        self._scope = scope
        self._is_limited = os.geteuid() != 0  # root is refused only while a process ends
        self._scan = 0
        self._waiting: list[Opener] = []
        self._mounts: dict[int, tuple[int, str]] = {}
        self._mounts_scan = -1
        self._check()
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    def _check(self) -> None:
        own = os.open("/proc/self/exe", os.O_RDONLY | os.O_CLOEXEC)
        try:
            not_written(own)
        except OSError as error:
            if error.errno != errno.ENOSYS:
                raise CachestatError(
                    f"cachestat is refused ({error.strerror}): run as root, outside a container"
                ) from None
            raise CachestatError("this kernel has no cachestat, which is in Linux 6.5 and later") from None
        finally:
            os.close(own)

    @property
    def not_covered(self) -> dict[str, int]:
        """Descriptors on other filesystems, by type."""
        every = (file for process in self.processes.values() for _, file in process.descriptors.values())
        return Counter(file for file in every if isinstance(file, str) and file)

    def scan(self) -> None:
        """Examine every file once, or as many as fit into SCAN_S and the others in the next scans."""
        self._scan += 1
        until = time.thread_time() + SCAN_S
        if not self._waiting:
            self._waiting = self._living()
        total = len(self._waiting)
        while self._waiting:
            self._visit(self._waiting.pop())
            if time.thread_time() > until and self._waiting:
                break
        done = total - len(self._waiting)
        self.scans_per_round = max(1.0, total / done) if done else 1.0

    def _living(self) -> list[Opener]:
        """Return the processes that may have files open, and forget those that have ended."""
        self.unreadable = 0
        pids = proc.pids()
        for pid in self.processes.keys() - set(pids):
            self._forget(pid)
        for pid in pids:
            self._add(pid)
        return [process for process in self.processes.values() if process.wanted]

    def _add(self, pid: int) -> Opener | None:
        """Return a process; a new one is added after its parent, which decides whether it is wanted."""
        known = self.processes.get(pid)
        if known is None and pid and (found := proc.stat(pid)):
            known = self.processes[pid] = Opener(pid, found)
            known.above = self._add(found.parent)
            of_family = self._scope.pid in (None, pid) or (known.above is not None and known.above.wanted)
            known.wanted = of_family and not found.flags & KERNEL_THREAD
        return known

    def _forget(self, pid: int) -> None:
        process = self.processes.pop(pid)
        self._replace(process, {})
        process.close()

    def _visit(self, process: Opener) -> None:
        """Examine its files: if it has written nothing for a while, only those with dirty pages."""
        seen: dict[str, tuple[str, OpenFile | str | None]] = {}
        try:
            directory = process.open()
            if process.has_written() or (self._scan + process.pid) % QUIET_SCANS == 0:
                names = os.listdir(directory)
            else:
                seen = dict(process.descriptors)
                names = [
                    name
                    for name, (_, file) in seen.items()
                    if isinstance(file, OpenFile) and (file.dirty or file.writeback)
                ]
            for name in names:
                try:
                    seen[name] = self._look(process, directory, name)
                except PermissionError:
                    raise
                except OSError:  # closed at this moment
                    seen.pop(name, None)
        except PermissionError as error:
            self.unreadable += self._is_limited or error.errno == errno.EPERM
        except OSError as error:  # it has ended, and its number may be another's in the next round
            self.unreadable += error.errno == errno.EMFILE
            self._forget(process.pid)
            return
        if any(isinstance(file, OpenFile) for _, file in seen.values()):
            process.read_name()
        self._replace(process, seen)

    def _replace(self, process: Opener, seen: dict[str, tuple[str, OpenFile | str | None]]) -> None:
        """Replace what is known of a process's descriptors. A file without openers is kept until ``drop``."""
        if seen == process.descriptors:
            return
        for _, file in process.descriptors.values():
            if isinstance(file, OpenFile):
                file.openers[process] -= 1
                if not file.openers[process]:
                    del file.openers[process]
        for _, file in seen.values():
            if isinstance(file, OpenFile):
                file.openers[process] += 1
        process.descriptors = seen

    def _look(self, process: Opener, directory: int, name: str) -> tuple[str, OpenFile | str | None]:
        """Return what ``Opener.descriptors`` holds for a descriptor. Count the pages of its file. Raises OSError."""
        link = os.readlink(name, dir_fd=directory)
        before, known = process.descriptors.get(name, ("", None))
        if link != before:
            known = self._classify(process, name, link)
        elif isinstance(known, OpenFile):
            if known.scan == self._scan:
                return before, known
            found = os.stat(name, dir_fd=directory)  # of a filesystem that is covered, which asks no server
            if (found.st_dev, found.st_ino) != known.key:
                known = self._classify(process, name, link)
            elif found.st_mtime_ns != known.settled_ns or not found.st_nlink:
                known.scan = self._scan
                fd = process.duplicate(name)
                try:
                    known.count(fd, found)
                finally:
                    os.close(fd)
        elif known is None and link[:1] == "/" and os.lstat(name, dir_fd=directory).st_mode & stat.S_IWUSR:
            known = self._classify(process, name, link)  # it was open only for reading
        return link, known

    def _classify(self, process: Opener, name: str, link: str) -> OpenFile | str | None:
        """Return what ``Opener.descriptors`` holds for a new descriptor. Raises OSError."""
        if not link.startswith("/") or link.startswith("/memfd:"):
            return ""
        mount = proc.mount_id(name, process.pid, writable=True)
        number, fstype = self._mount(process, mount) if mount is not None else (0, "")
        if not fstype:  # read-only, or the list of mounts lacks it while another is unmounted: look again later
            return None
        if self._scope.device not in (None, number):
            return ""
        if link.startswith("/dev/") and os.path.exists(f"/sys/class/block/{link[5:]}"):
            fstype = "block device"
        elif fstype not in COVERED:
            return "" if fstype in IN_MEMORY else fstype
        fd = process.duplicate(name)
        try:
            found, flags = os.fstat(fd), fcntl.fcntl(fd, fcntl.F_GETFL)
            if not (stat.S_ISBLK if fstype == "block device" else stat.S_ISREG)(found.st_mode):
                return ""
            key = (found.st_rdev, 0) if fstype == "block device" else (found.st_dev, found.st_ino)
            file = self.files.get(key)
            if file is None:
                number = number if key[1] else os.major(key[0]) << 20 | os.minor(key[0])
                file = self.files[key] = OpenFile(key, number, link, fstype)
            file.direct |= bool(flags & os.O_DIRECT) and not flags & os.O_DSYNC
            file.path, file.scan = link, self._scan
            file.count(fd, found)
            return file
        finally:
            os.close(fd)

    def _mount(self, process: Opener, mount: int) -> tuple[int, str]:
        """Return the device number and type of the filesystem of a mount; the type is empty if it is not found."""
        if self._mounts_scan != self._scan:
            self._mounts, self._mounts_scan = _mounts(None), self._scan
        if mount not in self._mounts:  # a container's
            self._mounts = {mount: (0, ""), **_mounts(process.pid), **self._mounts}
        return self._mounts[mount]

    def drop(self, is_done: Callable[[OpenFile], bool]) -> None:
        for key in [key for key, file in self.files.items() if not file.openers and is_done(file)]:
            del self.files[key]

    def close(self) -> None:
        for process in self.processes.values():
            process.close()


def _mounts(pid: int | None) -> dict[int, tuple[int, str]]:
    return {mount.number: (proc.device_number(mount.device), mount.fstype) for mount in proc.mounts(pid)}
