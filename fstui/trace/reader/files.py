"""Find the paths of the files that programs sync, without reading from any disk."""

from __future__ import annotations

import contextlib
import fcntl
import glob
import os
import struct
import time
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from fstui import proc
from fstui.trace.reader.processes import TracedProcess
from fstui.trace.reader.waits import SyncedFile

SEARCH_CPU_S = 0.05
"""CPU time per second for searching lists of open files. A database server may have thousands of open files."""
SEARCH_INTERVAL_S = 5.0
"""Time between two searches for a file that was not found or that its program may have renamed, as PostgreSQL does."""
MAX_NAMES = 4096
LOOP_GET_STATUS64 = 0x4C05
STATUS_BYTES = 232
"""Size of struct loop_info64, whose first fields are the backing file's device and inode (uapi/linux/loop.h)."""


class FileLocation(NamedTuple):
    path: str | None = None
    """The path in the program's mount namespace."""
    device: int = 0
    """Number (major << 20 | minor) of the filesystem's device; 0 if unknown."""


class FileLocations:
    """Finds and remembers the paths of files."""

    def __init__(self) -> None:
        self._locations: dict[tuple[TracedProcess, SyncedFile], FileLocation] = {}
        self._shared: dict[tuple[str, int, int], FileLocation] = {}
        """By program name, device and inode: a server's processes share files, also when some of them have ended."""
        self._searched_at: dict[tuple[TracedProcess, SyncedFile], float] = {}
        self._descriptors: dict[int, dict[int, list[tuple[str, dict[str, int]]]]] = {}
        """The descriptors of an open file, each with its fdinfo, by pid and inode."""
        self._mounts: dict[int, int] = {}
        self._search_until_s = 0.0

    def begin(self) -> None:
        """Begin a second: read the mounts, and allow the search to take SEARCH_CPU_S."""
        self._descriptors.clear()
        self._mounts = device_numbers()
        self._search_until_s = time.thread_time() + SEARCH_CPU_S
        for cache in (self._locations, self._shared, self._searched_at):
            if len(cache) > MAX_NAMES:
                cache.clear()

    def locate(self, program: TracedProcess, file: SyncedFile) -> FileLocation:
        """Return where a file is, if that is known or can be found in the remaining time."""
        key, shared_key = (program, file), (program.name, file.device, file.inode)
        cached = self._locations.get(key) or self._shared.get(shared_key) or FileLocation(None, file.device)
        now = time.monotonic()
        if self._is_time_up or now - self._searched_at.get(key, -SEARCH_INTERVAL_S) < SEARCH_INTERVAL_S:
            return cached
        location = self._find(program, file)
        if location.path is None and self._is_time_up:
            return cached
        if location.path is None or file.inode:  # without an inode, the descriptor may soon lead to another file
            self._searched_at[key] = now
        if location.path is None:
            return cached
        if file.inode:
            self._locations[key] = location
            if file.device:
                self._shared[shared_key] = location
        return location

    @property
    def _is_time_up(self) -> bool:
        return time.thread_time() > self._search_until_s

    def _find(self, program: TracedProcess, file: SyncedFile) -> FileLocation:
        if program.is_kernel and (path := backing_files().get((file.device, file.inode))):
            return FileLocation(path, file.device)
        fd = self._find_descriptor(program, file)
        if fd is None:
            return FileLocation(None, file.device)
        return FileLocation(path_of(program, fd), file.device or self._device_of(program, fdinfo(program, fd)))

    def _find_descriptor(self, program: TracedProcess, file: SyncedFile) -> str | None:
        """Return the program's descriptor of the file: the descriptor of the call, or another with the same inode."""
        if file.fd >= 0 and (not file.inode or self._matches(program, fdinfo(program, str(file.fd)), file)):
            return str(file.fd)
        files = self._descriptors_by_inode(program).get(file.inode, ()) if file.inode else ()
        return next((fd for fd, info in files if self._matches(program, info, file)), None)

    def _descriptors_by_inode(self, program: TracedProcess) -> Mapping[int, list[tuple[str, dict[str, int]]]]:
        """Return the descriptors of a program, with their fdinfo, by inode. List them at most once per second."""
        files = self._descriptors.get(program.pid)
        if files is None:
            files = self._descriptors[program.pid] = defaultdict(list)
            with contextlib.suppress(OSError):
                for fd in os.listdir(f"/proc/{program.pid}/fd"):
                    info = fdinfo(program, fd)
                    files[info.get("ino", 0)].append((fd, info))
                    if self._is_time_up:
                        break
        return files

    def _matches(self, program: TracedProcess, info: dict[str, int], file: SyncedFile) -> bool:
        """Compare inode and device without access to the filesystem: since Linux 5.14 fdinfo contains the inode."""
        return info.get("ino") == file.inode and (not file.device or self._device_of(program, info) in (0, file.device))

    def _device_of(self, program: TracedProcess, info: dict[str, int]) -> int:
        """Return the device number of an open file's filesystem; 0 if it is unknown."""
        mount = info.get("mnt_id", 0)
        if mount not in self._mounts:  # it is in the mount namespace of the program
            self._mounts.update(device_numbers(program.pid))
        return self._mounts.setdefault(mount, 0)


def fdinfo(program: TracedProcess, fd: str) -> dict[str, int]:
    """Return ``mnt_id`` and ``ino`` of an open file. Older kernels show only ``mnt_id``."""
    fields = {}
    with contextlib.suppress(OSError, ValueError), open(f"/proc/{program.pid}/fdinfo/{fd}", "rb") as file:
        for line in file:
            name, _, value = line.partition(b":")
            if name in (b"mnt_id", b"ino"):
                fields[name.decode()] = int(value)
    return fields


def path_of(program: TracedProcess, fd: str) -> str | None:
    """Return the path of an open file; None if it was closed, or is a pipe or a socket."""
    with contextlib.suppress(OSError):
        path = os.readlink(f"/proc/{program.pid}/fd/{fd}")
        return path if path.startswith("/") else None
    return None


def backing_files() -> dict[tuple[int, int], str]:
    """Return the backing files of loop devices, by device and inode: ``/srv/image (loop0)``.

    A kernel worker syncs a backing file, so no program has a descriptor of it. The files themselves are not accessed.
    """
    loops = {}
    for path in glob.glob("/sys/block/loop*/loop/backing_file"):
        loop = path.split("/")[3]
        with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="surrogateescape") as file:
            device, inode = loop_status(loop)
            loops[os.major(device) << 20 | os.minor(device), inode] = f"{file.read().rstrip()} ({loop})"
    return loops


def loop_status(loop: str) -> tuple[int, int]:
    """Return the device and inode of a loop's backing file. Raises OSError."""
    fd = os.open(f"/dev/{loop}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        device, inode = struct.unpack_from("=QQ", fcntl.ioctl(fd, LOOP_GET_STATUS64, bytes(STATUS_BYTES)))
        return device, inode
    finally:
        os.close(fd)


def device_numbers(pid: int | None = None) -> dict[int, int]:
    """Return the device number of each mount by mount number, in the mount namespace of a process (None: this one)."""
    return {mount.number: proc.device_number(mount.device) for mount in proc.mounts(pid)}


def block_device(number: int) -> str | None:
    """Return the kernel name of a filesystem's block device. The number of btrfs is anonymous, so find its mount."""
    with contextlib.suppress(OSError):
        return os.path.basename(os.readlink(f"/sys/dev/block/{number >> 20}:{number & 0xFFFFF}"))
    source = next((mount.source for mount in proc.mounts() if proc.device_number(mount.device) == number), "")
    if not source.startswith("/dev/"):
        return None
    return os.path.basename(os.path.realpath(source))


def request_devices(device: str) -> set[str]:
    """Return the devices that receive requests: this device, the disk of a partition, or the members of dm and md."""
    path = os.path.realpath(f"/sys/class/block/{device}")
    if os.path.isdir(f"{path}/mq"):
        return {device}
    if os.path.exists(f"{path}/partition"):
        return request_devices(os.path.basename(os.path.dirname(path)))
    try:
        members = os.listdir(f"{path}/slaves")
    except OSError:
        return set()
    return {name for member in members for name in request_devices(member)}
