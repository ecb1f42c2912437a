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

SEARCH_S = 0.05
"""CPU time per second for searching open files: a database server may have thousands."""
AGAIN_S = 5.0
"""Time until a file is searched again, because it was not found or because PostgreSQL, for example, renamed it."""
MAX_NAMES = 4096
LOOP_GET_STATUS64 = 0x4C05
STATUS_BYTES = 232
"""Size of struct loop_info64, which begins with the device and inode of the backing file (uapi/linux/loop.h)."""


class FileLocation(NamedTuple):
    """The path of a file and its device."""

    path: str | None = None
    """The path that the program sees."""
    device: int = 0
    """The kernel's number (major << 20 | minor) of the filesystem's device; 0 if unknown."""


class FileLocations:
    def __init__(self) -> None:
        self._known: dict[tuple[TracedProcess, SyncedFile], FileLocation] = {}
        self._by_name: dict[tuple[str, int, int], FileLocation] = {}
        """By program name, device and inode: processes of a server share files, and some have ended already."""
        self._searched_at: dict[tuple[TracedProcess, SyncedFile], float] = {}
        self._open: dict[int, dict[int, list[tuple[str, dict[str, int]]]]] = {}
        self._mounts: dict[int, int] = {}
        self._until = 0.0

    def begin(self) -> None:
        """Start a new second: read the mounts again, and allow SEARCH_S of searching."""
        self._open.clear()
        self._mounts = device_numbers()
        self._until = time.thread_time() + SEARCH_S
        for cache in (self._known, self._by_name, self._searched_at):
            if len(cache) > MAX_NAMES:
                cache.clear()

    def locate(self, program: TracedProcess, file: SyncedFile) -> FileLocation:
        """Return where the file is, as far as that is known or can be found in the time that is left."""
        key, shared = (program, file), (program.name, file.device, file.inode)
        known = self._known.get(key) or self._by_name.get(shared) or FileLocation(None, file.device)
        now = time.monotonic()
        if self._time_is_up or now - self._searched_at.get(key, -AGAIN_S) < AGAIN_S:
            return known
        found = self._find(program, file)
        if found.path is None and self._time_is_up:
            return known
        if found.path is None or file.inode:  # a descriptor alone may be another file's a moment later
            self._searched_at[key] = now
        if found.path is None:
            return known
        if file.inode:
            self._known[key] = found
            if file.device:
                self._by_name[shared] = found
        return found

    @property
    def _time_is_up(self) -> bool:
        return time.thread_time() > self._until

    def _find(self, program: TracedProcess, file: SyncedFile) -> FileLocation:
        if program.is_kernel and (path := backing_files().get((file.device, file.inode))):
            return FileLocation(path, file.device)
        number = self._descriptor(program, file)
        if number is None:
            return FileLocation(None, file.device)
        return FileLocation(path_of(program, number), file.device or self._device_of(program, fdinfo(program, number)))

    def _descriptor(self, program: TracedProcess, file: SyncedFile) -> str | None:
        """Return the descriptor of the file in the program: that of the call, or one with the same inode."""
        if file.fd >= 0 and (not file.inode or self._matches(program, fdinfo(program, str(file.fd)), file)):
            return str(file.fd)
        found = self._open_files(program).get(file.inode, ()) if file.inode else ()
        return next((number for number, info in found if self._matches(program, info, file)), None)

    def _open_files(self, program: TracedProcess) -> Mapping[int, list[tuple[str, dict[str, int]]]]:
        """Return the open files of a program by inode. They are listed at most once per second."""
        found = self._open.get(program.pid)
        if found is None:
            found = self._open[program.pid] = defaultdict(list)
            with contextlib.suppress(OSError):
                for number in os.listdir(f"/proc/{program.pid}/fd"):
                    info = fdinfo(program, number)
                    found[info.get("ino", 0)].append((number, info))
                    if self._time_is_up:
                        break
        return found

    def _matches(self, program: TracedProcess, info: dict[str, int], file: SyncedFile) -> bool:
        """Compare inode and device. The inode is in fdinfo since Linux 5.14, so the filesystem is not accessed."""
        return info.get("ino") == file.inode and (not file.device or self._device_of(program, info) in (0, file.device))

    def _device_of(self, program: TracedProcess, info: dict[str, int]) -> int:
        """Return the device of the mount, which may be in the mount namespace of the program; 0 if it is unknown."""
        number = info.get("mnt_id", 0)
        if number not in self._mounts:
            self._mounts.update(device_numbers(program.pid))
        return self._mounts.setdefault(number, 0)


def fdinfo(program: TracedProcess, number: str) -> dict[str, int]:
    found = {}
    with contextlib.suppress(OSError, ValueError), open(f"/proc/{program.pid}/fdinfo/{number}", "rb") as file:
        for line in file:
            name, _, value = line.partition(b":")
            if name in (b"mnt_id", b"ino"):
                found[name.decode()] = int(value)
    return found


def path_of(program: TracedProcess, number: str) -> str | None:
    """None if it was closed, or is now a pipe or a socket."""
    with contextlib.suppress(OSError):
        path = os.readlink(f"/proc/{program.pid}/fd/{number}")
        return path if path.startswith("/") else None
    return None


def backing_files() -> dict[tuple[int, int], str]:
    """Return the backing files of loop devices, which a kernel worker syncs, by device and inode.

    The loop's name follows the path in brackets. The files themselves are not accessed.
    """
    found = {}
    for path in glob.glob("/sys/block/loop*/loop/backing_file"):
        loop = path.split("/")[3]
        with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="surrogateescape") as file:
            device, inode = loop_status(loop)
            found[os.major(device) << 20 | os.minor(device), inode] = f"{file.read().rstrip()} ({loop})"
    return found


def loop_status(loop: str) -> tuple[int, int]:
    """Return the device and inode of a loop's backing file. Raises OSError."""
    fd = os.open(f"/dev/{loop}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        device, inode = struct.unpack_from("=QQ", fcntl.ioctl(fd, LOOP_GET_STATUS64, bytes(STATUS_BYTES)))
        return device, inode
    finally:
        os.close(fd)


def device_numbers(pid: int | None = None) -> dict[int, int]:
    """Return the device number of each mount that this process, or another one, sees, by mount id."""
    return {mount.number: proc.device_number(mount.device) for mount in proc.mounts(pid)}


def block_device(number: int) -> str | None:
    """Return the kernel name of a filesystem's block device.

    btrfs makes up a device number; then the name of the device that was mounted is returned.
    """
    with contextlib.suppress(OSError):
        return os.path.basename(os.readlink(f"/sys/dev/block/{number >> 20}:{number & 0xFFFFF}"))
    source = next((mount.source for mount in proc.mounts() if proc.device_number(mount.device) == number), "")
    if not source.startswith("/dev/"):
        return None
    return os.path.basename(os.path.realpath(source))


def request_devices(device: str) -> set[str]:
    """Return the devices at or below this one whose drivers get requests.

    That is the disk of a partition, and the members of a dm or md device.
    """
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
