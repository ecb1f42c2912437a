"""Names for the numbers of events: the files that programs sync. Nothing is read from a disk for it."""

from __future__ import annotations

import contextlib
import os
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from fstui import proc
from fstui.trace.reader.loops import backing_files
from fstui.trace.reader.programs import Program
from fstui.trace.reader.waits import File

SEARCH_S = 0.05
"""CPU time of each look for files among what programs have open: a server may have thousands."""
AGAIN_S = 5.0
"""A file is looked for again after this: it was not found, or has another name by now, as PostgreSQL's WAL."""
MOST_NAMES = 4096


class Place(NamedTuple):
    """Where a file is."""

    path: str | None = None
    """As the program knows it."""
    device: int = 0
    """Of its filesystem, as the kernel holds it; 0 is unknown."""


class Names:
    """Places of files, kept once they are known."""

    def __init__(self) -> None:
        self._places: dict[tuple[Program, File], Place] = {}
        self._of_namesakes: dict[tuple[str, int, int], Place] = {}
        """By the program's name, device and inode: a server's process that has ended shared its files with others."""
        self._asked_at: dict[tuple[Program, File], float] = {}
        self._open: dict[int, dict[int, list[tuple[str, dict[str, int]]]]] = {}
        self._mounts: dict[int, int] = {}
        self._until = 0.0

    def begin(self) -> None:
        """A look begins: mounts may have changed, and searching may take its time again."""
        self._open.clear()
        self._mounts = {mount: device for mount, device, _ in mounts()}
        self._until = time.thread_time() + SEARCH_S
        for kept in (self._places, self._of_namesakes, self._asked_at):
            if len(kept) > MOST_NAMES:
                kept.clear()

    def place(self, program: Program, file: File) -> Place:
        """Where the file is, as far as anybody can tell."""
        key, namesake = (program, file), (program.name, file.device, file.inode)
        known = self._places.get(key) or self._of_namesakes.get(namesake) or Place(None, file.device)
        now = time.monotonic()
        if self._spent or now - self._asked_at.get(key, -AGAIN_S) < AGAIN_S:
            return known
        found = self._found(program, file)
        if found.path is None and self._spent:
            return known
        if found.path is None or file.inode:  # a number alone may be another file's by then
            self._asked_at[key] = now
        if found.path is None:
            return known
        if file.inode:
            self._places[key] = found
            if file.device:
                self._of_namesakes[namesake] = found
        return found

    @property
    def _spent(self) -> bool:
        """This look has searched for as long as it may."""
        return time.thread_time() > self._until

    def _found(self, program: Program, file: File) -> Place:
        if program.is_kernel and (path := backing_files().get((file.device, file.inode))):
            return Place(path, file.device)
        number = self._open_as(program, file)
        if number is None:
            return Place(None, file.device)
        return Place(path_of(program, number), file.device or self._device_of(fdinfo(program, number)))

    def _open_as(self, program: Program, file: File) -> str | None:
        """The number under which the program has the file open: that of the call, or one with the same inode."""
        if file.fd >= 0 and (not file.inode or self._agrees(fdinfo(program, str(file.fd)), file)):
            return str(file.fd)
        found = self._open_files(program).get(file.inode, ()) if file.inode else ()
        return next((number for number, told in found if self._agrees(told, file)), None)

    def _open_files(self, program: Program) -> Mapping[int, list[tuple[str, dict[str, int]]]]:
        """What a program has open, by inode. It is gone through once in a look, however many files it syncs."""
        found = self._open.get(program.pid)
        if found is None:
            found = self._open[program.pid] = defaultdict(list)
            with contextlib.suppress(OSError):
                for number in os.listdir(f"/proc/{program.pid}/fd"):
                    told = fdinfo(program, number)
                    found[told.get("ino", 0)].append((number, told))
                    if self._spent:
                        break
        return found

    def _agrees(self, told: dict[str, int], file: File) -> bool:
        """By its inode and the device of its mount (since Linux 5.14), without asking the filesystem."""
        return told.get("ino") == file.inode and (not file.device or self._device_of(told) in (0, file.device))

    def _device_of(self, told: dict[str, int]) -> int:
        """0 where it is a mount of another namespace."""
        return self._mounts.get(told.get("mnt_id", 0), 0)


def fdinfo(program: Program, number: str) -> dict[str, int]:
    """The mount and the inode of an open file."""
    found = {}
    with contextlib.suppress(OSError, ValueError), open(f"/proc/{program.pid}/fdinfo/{number}", "rb") as file:
        for line in file:
            name, _, value = line.partition(b":")
            if name in (b"mnt_id", b"ino"):
                found[name.decode()] = int(value)
    return found


def path_of(program: Program, number: str) -> str | None:
    """None where it is closed, or a pipe by now: what was synced was a file."""
    with contextlib.suppress(OSError):
        path = os.readlink(f"/proc/{program.pid}/fd/{number}")
        return path if path.startswith("/") else None
    return None


def mounts() -> Iterator[tuple[int, int, str]]:
    """Mount id, device as the kernel holds it, source. Those of other namespaces are not among them."""
    for mount in proc.mounts():
        yield mount.number, number_of(mount.device), mount.source


def number_of(text: str) -> int:
    """A device as the kernel holds it, from MAJOR:MINOR."""
    major, _, minor = text.partition(":")
    return int(major) << 20 | int(minor)


def block_device(number: int) -> str | None:
    """The kernel name of a filesystem's block device; of one that btrfs made up, the device that was mounted."""
    with contextlib.suppress(OSError):
        return os.path.basename(os.readlink(f"/sys/dev/block/{number >> 20}:{number & 0xFFFFF}"))
    source = next((source for _, device, source in mounts() if device == number), "")
    if not source.startswith("/dev/"):
        return None
    return os.path.basename(os.path.realpath(source))


def request_makers(device: str) -> set[str]:
    """The devices at or below it whose drivers get requests: of a partition its disk, of dm and md their members."""
    path = os.path.realpath(f"/sys/class/block/{device}")
    if os.path.isdir(f"{path}/mq"):
        return {device}
    if os.path.exists(f"{path}/partition"):
        return request_makers(os.path.basename(os.path.dirname(path)))
    try:
        members = os.listdir(f"{path}/slaves")
    except OSError:
        return set()
    return {name for member in members for name in request_makers(member)}
