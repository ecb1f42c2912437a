"""Count the bytes in the page cache of files that programs have open for writing, without changing anything.

cachestat(2) requires a descriptor. pidfd_getfd(2) duplicates the program's descriptor. So no file is opened, and no
lease is broken. The duplicate is closed at once: while it is open, a deleted file stays on the disk, a flock(2) is held
and the filesystem cannot be unmounted. On filesystems whose close(2) writes the file back, such as NFS, SMB and FUSE,
closing the duplicate would do so, too. So only the filesystems in ``COVERED`` are examined.
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
from fstui.trace.reader.tracefs import system_call

PIDFD_GETFD, CACHESTAT = 438, 451
"""System call numbers since Linux 5.6 and 6.5, the same on every architecture (asm-generic/unistd.h)."""
FS_IOC_GETVERSION = 0x80087601
"""Return the generation of an inode (linux/fs.h), which differs if the number of a deleted file is used again."""
COVERED = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "nilfs2", "vfat", "exfat", "ntfs3"})
IN_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs", "hugetlbfs", "devpts", "proc", "sysfs", "cgroup2", "tracefs"})
"""A crash loses the files of these filesystems in any case, so they are not examined."""
SCAN_CPU_S = 0.008
"""CPU time per scan. The processes for which it is too short are examined in the next scan."""
QUIET_SCANS = 8
"""If a process writes nothing, all its descriptors are examined only in one of this many scans."""
RECENT_NS = 20_000_000
"""If a file was changed so recently, the next change may not change its modification time. Older kernels round that
time down to a timer tick of at most 10 ms."""
PAGE_BYTES = resource.getpagesize()
_CACHESTAT = struct.Struct("=2Q5Q")
"""struct cachestat_range and, from byte 16, struct cachestat (uapi/linux/mman.h)."""
_cachestat_buffer = ctypes.create_string_buffer(_CACHESTAT.size)


def dirty_and_writeback(fd: int) -> tuple[int, int]:
    """Return the bytes of a file's dirty pages, and of its pages that are being written. Raises OSError."""
    system_call(CACHESTAT, fd, ctypes.byref(_cachestat_buffer), ctypes.byref(_cachestat_buffer, 16), 0)
    _, _, _, dirty, writeback, _, _ = _CACHESTAT.unpack_from(_cachestat_buffer)
    return dirty * PAGE_BYTES, writeback * PAGE_BYTES


def inode_generation(fd: int) -> bytes:
    """Return the generation of a file's inode, or nothing if the filesystem does not report it."""
    try:
        return fcntl.ioctl(fd, FS_IOC_GETVERSION, bytes(8))
    except OSError:
        return b""


def why_unsupported() -> str:
    """Return why cachestat(2) cannot be used, as a sentence; empty if it can be used."""
    fd = os.open("/proc/self/exe", os.O_RDONLY | os.O_CLOEXEC)
    try:
        dirty_and_writeback(fd)
    except OSError as error:
        if error.errno == errno.ENOSYS:
            return "this kernel has no cachestat, which is in Linux 6.5 and later"
        return f"cachestat is refused ({error.strerror}): run as root, outside a container"
    finally:
        os.close(fd)
    return ""


class Opener:
    """A process that may open files, and its descriptors at the last scan."""

    def __init__(self, pid: int, process: proc.Stat) -> None:
        self.pid, self.start_ticks, self.name = pid, process.start, process.name
        self.parent: Opener | None = None
        self.in_scope = False
        self.descriptors: dict[str, Descriptor] = {}
        self.was_examined = False
        self.fd_directory = self.pidfd = -1
        self._io_bytes: tuple[int, int] | None = None

    @property
    def topmost(self) -> Opener:
        """The topmost of the ancestors with the same name, such as PostgreSQL's postmaster, or this process itself."""
        parent = self.parent
        return parent.topmost if parent is not None and parent.in_scope and parent.name == self.name else self

    def may_have_written(self) -> bool:
        """Return whether the process may have written to files since the last call."""
        before, self._io_bytes = self._io_bytes, proc.io_bytes(self.pid)
        return self._io_bytes is None or self._io_bytes != before

    def read_name(self) -> None:
        """Read the name of the process again, because execve(2) changes it."""
        process = proc.stat(self.pid)
        if process and process.start == self.start_ticks:
            self.name = process.name

    def open_directory(self) -> int:
        """Return a descriptor of /proc/PID/fd. It never leads to a later process with the same pid. Raises OSError."""
        if self.fd_directory < 0:
            self.fd_directory = os.open(f"/proc/{self.pid}/fd", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        return self.fd_directory

    def duplicate(self, name: str) -> int:
        """Return a duplicate of a descriptor of the process. Raises OSError."""
        if self.pidfd < 0:
            self.pidfd = os.pidfd_open(self.pid)
        return system_call(PIDFD_GETFD, self.pidfd, int(name), 0)

    def close(self) -> None:
        for fd in {self.fd_directory, self.pidfd} - {-1}:
            os.close(fd)


class OpenFile:
    def __init__(self, key: tuple[int, int], device: int, path: str, fstype: str) -> None:
        """``key``: st_dev (on btrfs that of the subvolume) and inode. ``device``: the filesystem's number in events."""
        self.key, self.device, self.path, self.fstype = key, device, path, fstype
        self.generation = b""
        self.openers: Counter[Opener] = Counter()
        self.is_direct = False
        """Whether a process opened the file with O_DIRECT and without O_DSYNC."""
        self.is_deleted = False
        self.dirty_bytes = self.writeback_bytes = 0
        self.first_scan = self.last_scan = -1
        """The first and the last scan that examined the file. The first is -1 if the file was opened between scans."""
        self.clean_mtime_ns = -1
        """As long as the file has this modification time, it has no dirty pages. -1: it may have some."""

    @property
    def unwritten_bytes(self) -> int:
        return self.dirty_bytes + self.writeback_bytes

    def count(self, fd: int, status: os.stat_result) -> None:
        """Count the dirty pages. Raises OSError."""
        is_regular, now_ns = stat.S_ISREG(status.st_mode), time.time_ns()
        self.is_deleted = is_regular and not status.st_nlink
        # no program expects a deleted file after a crash
        self.dirty_bytes, self.writeback_bytes = (0, 0) if self.is_deleted else dirty_and_writeback(fd)
        is_clean = is_regular and not self.unwritten_bytes and status.st_mtime_ns < now_ns - RECENT_NS
        self.clean_mtime_ns = status.st_mtime_ns if is_clean else -1


Descriptor = tuple[str, OpenFile | str | None]
"""The link in /proc/PID/fd, and the file. Instead of the file: the filesystem's type if it is not in COVERED, an empty
string if there is nothing to examine, or None if the descriptor is only for reading."""


class Scope(NamedTuple):
    """Which files to examine."""

    pid: int | None = None
    """Only those of this process and its descendants; None: those of all processes."""
    device: int | None = None
    """Only those of the filesystem with this device number; None: those of all filesystems."""


EVERYTHING = Scope()


class OpenFiles:
    """The files that processes have open for writing, and how many of their bytes are not written yet."""

    def __init__(self, scope: Scope) -> None:
        self.unsupported = why_unsupported()
        """Why no file is examined; empty if the kernel supports it."""
        self.files: dict[tuple[int, int], OpenFile] = {}
        self.processes: dict[int, Opener] = {}
        self.unreadable = 0
        """The number of processes that could not be examined in this round."""
        self.scans_per_round = 1.0
        """How many scans a round takes. In a round, each process is examined once."""
        self._scope = scope
        self._is_limited = os.geteuid() != 0  # root gets EACCES only from a process that is ending
        self._scan_number = 0
        self._remaining_processes: list[Opener] = []
        """The processes that are still to be examined in this round."""
        self._mounts: dict[int, tuple[int, str]] = {}
        """By mount ID: device number and type of the filesystem, as read in scan ``_mounts_scan``."""
        self._mounts_scan = -1
        hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))

    @property
    def not_covered(self) -> dict[str, int]:
        """The number of descriptors on filesystems that are not in COVERED, by filesystem type."""
        files = (file for process in self.processes.values() for _, file in process.descriptors.values())
        return Counter(fstype for fstype in files if isinstance(fstype, str) and fstype)

    def scan(self) -> None:
        """Examine the remaining processes of this round for SCAN_CPU_S. If there are none, begin a new round."""
        if self.unsupported:
            return
        self._scan_number += 1
        until_s = time.thread_time() + SCAN_CPU_S
        if not self._remaining_processes:
            self._remaining_processes = self._find_processes()
        total = len(self._remaining_processes)
        while self._remaining_processes:
            self._examine_process(self._remaining_processes.pop())
            if time.thread_time() > until_s and self._remaining_processes:
                break
        examined = total - len(self._remaining_processes)
        self.scans_per_round = max(1.0, total / examined) if examined else 1.0

    def _find_processes(self) -> list[Opener]:
        """Return the processes to examine, and forget those that have ended."""
        self.unreadable = 0
        pids = proc.pids()
        for pid in self.processes.keys() - set(pids):
            self._forget(pid)
        for pid in pids:
            self._add(pid)
        return [process for process in self.processes.values() if process.in_scope]

    def _add(self, pid: int) -> Opener | None:
        """Return a process, or None if it has ended. Add the process and its parent if they are new."""
        opener = self.processes.get(pid)
        if opener is None and pid and (process := proc.stat(pid)):
            opener = self.processes[pid] = Opener(pid, process)
            opener.parent = self._add(process.parent)
            in_scope = self._scope.pid in (None, pid) or (opener.parent is not None and opener.parent.in_scope)
            opener.in_scope = in_scope and not process.flags & KERNEL_THREAD
        return opener

    def _forget(self, pid: int) -> None:
        process = self.processes.pop(pid)
        self._replace(process, {})
        process.close()

    def _examine_process(self, process: Opener) -> None:
        """Examine the files of a process. If it has written nothing, examine only its files with dirty pages."""
        descriptors: dict[str, Descriptor] = {}
        try:
            directory = process.open_directory()
            if process.may_have_written() or (self._scan_number + process.pid) % QUIET_SCANS == 0:
                names = os.listdir(directory)
            else:
                descriptors = dict(process.descriptors)
                files = ((name, file) for name, (_, file) in descriptors.items())
                names = [name for name, file in files if isinstance(file, OpenFile) and file.unwritten_bytes]
            for name in names:
                try:
                    descriptors[name] = self._examine_descriptor(process, directory, name)
                except PermissionError:
                    raise
                except OSError:  # the descriptor was closed after it was listed
                    descriptors.pop(name, None)
        except PermissionError as error:
            self.unreadable += self._is_limited or error.errno == errno.EPERM
        except OSError as error:  # the process has ended, and another process may have its pid in the next round
            self.unreadable += error.errno == errno.EMFILE
            self._forget(process.pid)
            return
        if any(isinstance(file, OpenFile) for _, file in descriptors.values()):
            process.read_name()
        process.was_examined = True
        self._replace(process, descriptors)

    def _replace(self, process: Opener, descriptors: dict[str, Descriptor]) -> None:
        """Replace the descriptors of a process. A file without openers is kept until ``drop``."""
        if descriptors == process.descriptors:
            return
        for _, file in process.descriptors.values():
            if isinstance(file, OpenFile):
                file.openers[process] -= 1
                if not file.openers[process]:
                    del file.openers[process]
        for _, file in descriptors.values():
            if isinstance(file, OpenFile):
                file.openers[process] += 1
        process.descriptors = descriptors

    def _examine_descriptor(self, process: Opener, directory: int, name: str) -> Descriptor:
        """Examine a descriptor, and count the dirty pages of its file. Raises OSError."""
        link = os.readlink(name, dir_fd=directory)
        old_link, file = process.descriptors.get(name, ("", None))
        if link != old_link:
            file = self._classify(process, name, link)
        elif isinstance(file, OpenFile):
            if file.last_scan == self._scan_number:
                return link, file
            status = os.stat(name, dir_fd=directory)  # quick, because no covered filesystem is remote
            if (status.st_dev, status.st_ino) != file.key:
                file = self._classify(process, name, link)
            elif status.st_mtime_ns != file.clean_mtime_ns or not status.st_nlink:
                file.last_scan = self._scan_number
                fd = process.duplicate(name)
                try:
                    if inode_generation(fd) == file.generation:
                        file.count(fd, status)
                    else:
                        file = self._classify(process, name, link)
                finally:
                    os.close(fd)
        elif file is None and link[:1] == "/" and os.lstat(name, dir_fd=directory).st_mode & stat.S_IWUSR:
            file = self._classify(process, name, link)  # the descriptor was only for reading before
        return link, file

    def _classify(self, process: Opener, name: str, link: str) -> OpenFile | str | None:
        """Return the file of a new descriptor, or what ``Descriptor`` has instead. Raises OSError."""
        if not link.startswith("/") or link.startswith("/memfd:"):
            return ""
        mount = proc.mount_id(name, process.pid, writable=True)
        number, fstype = self._mount(process, mount) if mount is not None else (0, "")
        # open only for reading, or the list of mounts was incomplete because of an umount: try again in the next scan
        if not fstype:
            return None
        if self._scope.device not in (None, number):
            return ""
        if link.startswith("/dev/") and os.path.exists(f"/sys/class/block/{link[5:]}"):
            fstype = "block device"
        elif fstype not in COVERED:
            return "" if fstype in IN_MEMORY else fstype
        fd = process.duplicate(name)
        try:
            status, flags = os.fstat(fd), fcntl.fcntl(fd, fcntl.F_GETFL)
            if not (stat.S_ISBLK if fstype == "block device" else stat.S_ISREG)(status.st_mode):
                return ""
            key = (status.st_rdev, 0) if fstype == "block device" else (status.st_dev, status.st_ino)
            file, generation = self.files.get(key), inode_generation(fd)
            if file is None or file.generation != generation:
                if fstype == "block device":  # use its own number, not that of the filesystem of /dev
                    number = proc.kernel_device_number(key[0])
                file = self.files[key] = OpenFile(key, number, link, fstype)
                file.generation = generation
                file.first_scan = -1 if process.was_examined else self._scan_number
            file.is_direct |= bool(flags & os.O_DIRECT) and not flags & os.O_DSYNC
            file.path, file.last_scan = link, self._scan_number
            file.count(fd, status)
            return file
        finally:
            os.close(fd)

    def _mount(self, process: Opener, mount: int) -> tuple[int, str]:
        """Return device number and type of a mount's filesystem. The type is empty if there is no such mount."""
        if self._mounts_scan != self._scan_number:
            self._mounts, self._mounts_scan = _mounts(None), self._scan_number
        if mount not in self._mounts:  # the mount is in the mount namespace of a container
            self._mounts = {mount: (0, ""), **_mounts(process.pid), **self._mounts}
        return self._mounts[mount]

    def drop(self, is_obsolete: Callable[[OpenFile], bool]) -> None:
        """Forget the files without openers for which ``is_obsolete`` returns True."""
        for key in [key for key, file in self.files.items() if not file.openers and is_obsolete(file)]:
            del self.files[key]

    def close(self) -> None:
        for process in self.processes.values():
            process.close()


def _mounts(pid: int | None) -> dict[int, tuple[int, str]]:
    return {mount.number: (proc.device_number(mount.device), mount.fstype) for mount in proc.mounts(pid)}
