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

PIDFD_GETFD, CACHESTAT = 438, 451
"""System call numbers since Linux 5.6 and 6.5, the same on every architecture (asm-generic/unistd.h)."""
COVERED = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "nilfs2", "vfat", "exfat", "ntfs3"})
IN_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs", "hugetlbfs", "devpts", "proc", "sysfs", "cgroup2", "tracefs"})
"""Their files are lost in any case."""
SCAN_S = 0.012
"""CPU time per scan. If there are more files, the next scan continues with the others."""
RECENT_NS = 20_000_000
"""Older kernels round the time of a change down to a timer tick of at most 10 ms."""
PAGE = resource.getpagesize()
_ARGUMENTS = struct.Struct("=2Q5Q")
"""struct cachestat_range and struct cachestat (uapi/linux/mman.h)."""


class CachestatError(Exception):
    """The kernel has no cachestat(2), or does not allow it. The message is one sentence for the user."""


class SystemCalls:
    """pidfd_getfd and cachestat, which libc has no functions for."""

    def __init__(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        number, integer, pointer = ctypes.c_long, ctypes.c_int, ctypes.c_void_p
        self._getfd = ctypes.CFUNCTYPE(number, number, integer, integer, ctypes.c_uint, use_errno=True)(
            ("syscall", libc)
        )
        self._cachestat = ctypes.CFUNCTYPE(number, number, integer, pointer, pointer, ctypes.c_uint, use_errno=True)(
            ("syscall", libc)
        )
        self._memory = ctypes.create_string_buffer(_ARGUMENTS.size)
        self._range = ctypes.addressof(self._memory)

    def duplicate(self, pidfd: int, fd: int) -> int:
        """Return a duplicate of a program's descriptor. Raises OSError."""
        return self._checked(self._getfd(PIDFD_GETFD, pidfd, fd, 0))

    def not_written(self, fd: int) -> tuple[int, int]:
        """Return the bytes of the file's dirty pages, and of those that are being written. Raises OSError."""
        self._checked(self._cachestat(CACHESTAT, fd, self._range, self._range + 16, 0))
        _, _, _, dirty, writeback, _, _ = _ARGUMENTS.unpack_from(self._memory)
        return dirty * PAGE, writeback * PAGE

    @staticmethod
    def _checked(answer: int) -> int:
        if answer < 0:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))
        return answer


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

    @property
    def first(self) -> Opener:
        """The first examined process of a server whose processes have the same name: PostgreSQL's postmaster."""
        same = self.above is not None and self.above.wanted and self.above.name == self.name
        return self.above.first if same and self.above is not None else self

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

    def close(self) -> None:
        for fd in {self.directory, self.pidfd} - {-1}:
            os.close(fd)
        self.directory = self.pidfd = -1


class OpenFile:
    """A file that processes have open for writing, or had."""

    def __init__(self, number: int, device: int, inode: int, path: str, fstype: str) -> None:
        self.number, self.device, self.inode, self.path, self.fstype = number, device, inode, path, fstype
        """``number``: the kernel's number of the filesystem's device; ``device``: st_dev, of a subvolume as well."""
        self.openers: Counter[Opener] = Counter()
        self.direct = self.deleted = False
        """Some process opened it with O_DIRECT and without O_DSYNC; it has no name any more."""
        self.dirty = self.writeback = 0
        self.scan = -1
        """The last scan in which it was examined."""
        self._changed_ns, self._asked_ns = -1, 0

    def examine(self, calls: SystemCalls, fd: int, found: os.stat_result) -> None:
        """Count its pages. A file that had none is asked again only after a change. Raises OSError."""
        self.deleted = not found.st_nlink and stat.S_ISREG(found.st_mode)
        if self.deleted:
            self.dirty = self.writeback = 0  # nothing of it is expected after a crash
            return
        settled = self._changed_ns < self._asked_ns - RECENT_NS and stat.S_ISREG(found.st_mode)
        if settled and found.st_mtime_ns == self._changed_ns and not (self.dirty or self.writeback):
            return
        self._changed_ns, self._asked_ns = found.st_mtime_ns, time.time_ns()
        self.dirty, self.writeback = calls.not_written(fd)


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
        self.not_covered: Counter[str] = Counter()
        """Descriptors on other filesystems, by type."""
        self.unreadable = 0
        """Processes of other users."""
        self.refused = 0
        """Processes whose descriptors may not be duplicated."""
        self.descriptors = 0
        self.scans_per_round = 1.0
        self._scope = scope
        self._calls = SystemCalls()
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
            self._calls.not_written(own)
        except OSError as error:
            if error.errno != errno.ENOSYS:
                raise CachestatError(f"cachestat is refused here: {error.strerror}") from None
            raise CachestatError("this kernel has no cachestat, which is in Linux 6.5 and later") from None
        finally:
            os.close(own)

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
        self.unreadable = self.refused = self.descriptors = 0
        self.not_covered.clear()
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
        try:
            directory = process.open()
            names = os.listdir(directory)
        except PermissionError:
            self.unreadable += self._is_limited
            return
        except OSError as error:  # it has ended, and its number may be another's in the next round
            self.refused += error.errno == errno.EMFILE
            self._forget(process.pid)
            return
        self.descriptors += len(names)
        seen: dict[str, tuple[str, OpenFile | str | None]] = {}
        for name in names:
            try:
                link = os.readlink(name, dir_fd=directory)
                before, known = process.descriptors.get(name, ("", None))
                if link != before or (known is None and link[:1] == "/" and _is_writable(name, directory)):
                    known = self._classify(process, name, link)
                if isinstance(known, OpenFile) and known.scan != self._scan:
                    known = self._examine(process, name, known)
                elif known and isinstance(known, str):
                    self.not_covered[known] += 1
            except PermissionError as error:
                self.refused += error.errno == errno.EPERM
                self.unreadable += error.errno == errno.EACCES and self._is_limited
                break
            except OSError:  # closed at this moment
                continue
            seen[name] = link, known
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

    def _classify(self, process: Opener, name: str, link: str) -> OpenFile | str | None:
        """Return what ``Opener.descriptors`` holds for a descriptor. Raises OSError."""
        if not link.startswith("/") or link.startswith("/memfd:"):
            return ""
        mount = proc.mount_id(name, process.pid, writable=True)
        if mount is None:
            return None
        number, fstype = self._mount(process, mount)
        if not fstype:  # the list of mounts may lack one while another is unmounted: look again in the next scan
            return None
        if link.startswith("/dev/") and os.path.exists(f"/sys/class/block/{link[5:]}"):
            fstype = "block device"
        elif fstype not in COVERED:
            return "" if fstype in IN_MEMORY else fstype
        return self._examine(process, name, OpenFile(number, 0, 0, link, fstype))

    def _examine(self, process: Opener, name: str, expected: OpenFile) -> OpenFile | str | None:
        """Examine the file through a duplicate of the descriptor. Raises OSError."""
        if process.pidfd < 0:
            process.pidfd = os.pidfd_open(process.pid)
        fd = self._calls.duplicate(process.pidfd, int(name))
        try:
            found = os.fstat(fd)
            if stat.S_ISBLK(found.st_mode):
                key = found.st_rdev, 0
            elif stat.S_ISREG(found.st_mode):
                key = found.st_dev, found.st_ino
            else:
                return ""
            if self._scope.device is not None and expected.number != self._scope.device:
                return ""
            file = self._file(key, expected)
            if file is not expected:
                flags = fcntl.fcntl(fd, fcntl.F_GETFL)
                file.direct |= bool(flags & os.O_DIRECT) and not flags & os.O_DSYNC
                file.path = expected.path
            file.scan = self._scan
            file.examine(self._calls, fd, found)
            return file
        finally:
            os.close(fd)

    def _file(self, key: tuple[int, int], like: OpenFile) -> OpenFile:
        known = self.files.get(key)
        if known is None:
            number = like.number if key[1] else os.major(key[0]) << 20 | os.minor(key[0])
            known = self.files[key] = OpenFile(number, key[0], key[1], like.path, like.fstype)
        return known

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


def _is_writable(name: str, directory: int) -> bool:
    """Return whether a descriptor that was open only for reading is now another one, which is open for writing."""
    return bool(os.lstat(name, dir_fd=directory).st_mode & stat.S_IWUSR)
