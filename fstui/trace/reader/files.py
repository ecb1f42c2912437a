"""Find the paths of the files that programs sync, without reading from any disk."""

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
"""Time between two searches for the same file. A file may be found later, or be renamed, as PostgreSQL's log is."""
MAX_CACHED_FILES = 4096
LOOP_GET_STATUS64 = 0x4C05
STATUS_BYTES = 232
"""Size of struct loop_info64, whose first fields are the backing file's device and inode (uapi/linux/loop.h)."""


class FileLocation(NamedTuple):
    path: str | None = None
    """The path in the program's mount namespace."""
    device: int = 0
    """Number of the filesystem's device (major << 20 | minor); 0 if unknown."""
    inode: int = 0
    """0 if unknown."""


class FileLocations:
    def __init__(self) -> None:
        self._locations: dict[tuple[TracedProcess, SyncedFile], FileLocation] = {}
        self._shared_locations: dict[tuple[str, int, int], FileLocation] = {}
        """By program name, device and inode. The processes of a server share files, and some of them may have ended."""
        self._searched_at: dict[tuple[TracedProcess, SyncedFile], float] = {}
        self._descriptors: dict[int, dict[int, list[tuple[str, dict[str, int]]]]] = {}
        """By pid and inode: the descriptors of a file, each with its fdinfo."""
        self._mounts: dict[int, int] = {}
        self._search_until_s = 0.0

    def begin(self) -> None:
        """Begin a second: read the mounts, and allow searches to take SEARCH_CPU_S."""
        self._descriptors.clear()
        self._mounts = device_numbers()
        self._search_until_s = time.thread_time() + SEARCH_CPU_S
        for cache in (self._locations, self._shared_locations, self._searched_at):
            if len(cache) > MAX_CACHED_FILES:
                cache.clear()

    def locate(self, program: TracedProcess, file: SyncedFile) -> FileLocation:
        """Return the location of a file, if it is known or can be found in the remaining time."""
        key, shared_key = (program, file), (program.name, file.device, file.inode)
        cached = (
            self._locations.get(key)
            or self._shared_locations.get(shared_key)
            or FileLocation(None, file.device, file.inode)
        )
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
                self._shared_locations[shared_key] = location
        return location

    @property
    def _is_time_up(self) -> bool:
        return time.thread_time() > self._search_until_s

    def _find(self, program: TracedProcess, file: SyncedFile) -> FileLocation:
        if program.is_kernel and (path := backing_files().get((file.device, file.inode))):
            return FileLocation(path, file.device, file.inode)
        fd = self._find_descriptor(program, file)
        path = path_of(program, fd) if fd is not None else None
        if fd is None or path is None:
            return FileLocation(None, file.device, file.inode)
        info = fdinfo(program, fd)
        return FileLocation(path, file.device or self._device_of(program, info), file.inode or info.get("ino", 0))

    def _find_descriptor(self, program: TracedProcess, file: SyncedFile) -> str | None:
        """Return the program's descriptor of the file: that of the system call, or another with the same inode."""
        if file.fd >= 0 and (not file.inode or self._matches(program, fdinfo(program, str(file.fd)), file)):
            return str(file.fd)
        files = self._descriptors_by_inode(program).get(file.inode, ()) if file.inode else ()
        return next((fd for fd, info in files if self._matches(program, info, file)), None)

    def _descriptors_by_inode(self, program: TracedProcess) -> Mapping[int, list[tuple[str, dict[str, int]]]]:
        """Return the descriptors of a program by inode, each with its fdinfo. Read them at most once per second."""
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
        """Compare inode and device without accessing the filesystem. Since Linux 5.14, fdinfo contains the inode."""
        return info.get("ino") == file.inode and (not file.device or self._device_of(program, info) in (0, file.device))

    def _device_of(self, program: TracedProcess, info: dict[str, int]) -> int:
        """Return the device number of an open file's filesystem; 0 if it is unknown."""
        mount = info.get("mnt_id", 0)
        if mount not in self._mounts:  # the mount is in the mount namespace of the program
            self._mounts.update(device_numbers(program.pid))
        return self._mounts.setdefault(mount, 0)


def fdinfo(program: TracedProcess, fd: str) -> dict[str, int]:
    """Return ``mnt_id`` and ``ino`` of an open file. Before Linux 5.14, there is no ``ino``."""
    fields = proc.fields(f"/proc/{program.pid}/fdinfo/{fd}")
    return {name: int(fields[name]) for name in ("mnt_id", "ino") if name in fields}


def path_of(program: TracedProcess, fd: str) -> str | None:
    """Return the path of an open file, or None if it was closed or has no path (a pipe or a socket)."""
    with contextlib.suppress(OSError):
        path = os.readlink(f"/proc/{program.pid}/fd/{fd}")
        return path if path.startswith("/") else None
    return None


def backing_files() -> dict[tuple[int, int], str]:
    """Return the backing files of loop devices, such as ``/srv/image (loop0)``, by their device and inode.

    A kernel worker syncs a backing file, so no program has a descriptor of it. The files themselves are not accessed.
    """
    loops = {}
    for path in glob.glob("/sys/block/loop*/loop/backing_file"):
        loop = path.split("/")[3]
        with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="surrogateescape") as file:
            device, inode = loop_status(loop)
            loops[proc.kernel_device_number(device), inode] = f"{file.read().rstrip()} ({loop})"
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
    """Return the device number of each mount by mount ID, in the mount namespace of a process (None: this process)."""
    return {mount.number: proc.device_number(mount.device) for mount in proc.mounts(pid)}


def block_device(number: int) -> str | None:
    """Return the kernel name of a filesystem's block device. On btrfs, ``number`` is not that of the block device."""
    with contextlib.suppress(OSError):
        return os.path.basename(os.readlink(f"/sys/dev/block/{number >> 20}:{number & 0xFFFFF}"))
    source = next((mount.source for mount in proc.mounts() if proc.device_number(mount.device) == number), "")
    if not source.startswith("/dev/"):
        return None
    return os.path.basename(os.path.realpath(source))


def request_devices(device: str) -> set[str]:
    """Return the devices whose drivers get requests: this device, a partition's disk, or the members of dm or md."""
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
