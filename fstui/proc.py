"""What /proc tells of processes and mounts: one parser for fstui and for the programs that it starts.

Standard library only. Names are data: they keep bytes that are not UTF-8 as surrogates.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

MOUNTINFO = "/proc/self/mountinfo"
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2})")
_WRITE_BYTES = re.compile(rb"^write_bytes: (\d+)", re.MULTILINE)


class Stat(NamedTuple):
    """Fields of /proc/PID/stat (proc_pid_stat(5)). Times are clock ticks."""

    name: str
    state: str
    parent: int
    flags: int
    cpu_ticks: int
    """In user mode and in the kernel."""
    start: int
    """Since boot: with the pid it identifies a process."""


class Mount(NamedTuple):
    """One line of mountinfo (proc_pid_mountinfo(5))."""

    number: int
    parent: int
    device: str
    """``major:minor`` of the filesystem; an anonymous 0:n for btrfs, network and memory filesystems."""
    root: str
    """The directory of the filesystem that is mounted there; not ``/`` for a bind mount."""
    mount_point: str
    options: tuple[str, ...]
    """Of this mount."""
    fstype: str
    source: str
    super_options: tuple[str, ...]
    """Of the filesystem, shared by all its mounts."""
    place: int = 0
    """Its line in mountinfo. What was mounted later is further down; its number may be that of one that is gone."""

    @property
    def all_options(self) -> tuple[str, ...]:
        """Options of the mount, then those of the filesystem that are not among them."""
        return tuple(dict.fromkeys(self.options + self.super_options))

    def option(self, name: str) -> str | None:
        """The value of ``name=value`` among the filesystem's options, or None."""
        prefix = name + "="
        return next((option.removeprefix(prefix) for option in self.super_options if option.startswith(prefix)), None)


def pids() -> list[int]:
    """Return the ids of all processes that are visible."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def stat(pid: int) -> Stat | None:
    """Return what the kernel says of a process, or None where there is no such process."""
    data = _read(f"/proc/{pid}/stat")
    # the name in brackets may hold anything: its end is the last bracket
    before, bracket, after = data.rpartition(b")")
    words = after.split()
    if not bracket or len(words) < 20:
        return None
    return Stat(
        name=os.fsdecode(before.partition(b"(")[2]),
        state=words[0].decode(),
        parent=int(words[1]),
        flags=int(words[6]),
        cpu_ticks=int(words[11]) + int(words[12]),
        start=int(words[19]),
    )


def written_bytes(pid: int) -> int | None:
    """Return how many bytes a process has written to disks so far; None where that may not be read."""
    found = _WRITE_BYTES.search(_read(f"/proc/{pid}/io"))
    return int(found[1]) if found else None


def mounts(pid: int | None = None) -> Iterator[Mount]:
    """Yield the mounts that a process sees, or this process, in the order of mountinfo."""
    return parse_mounts(_read(MOUNTINFO if pid is None else f"/proc/{pid}/mountinfo"))


def parse_mounts(data: bytes) -> Iterator[Mount]:
    """Yield the mounts in a mountinfo file. Lines that cannot be read are left out."""
    place = 0
    for line in data.split(b"\n"):
        if mount := _parse_mount(line, place):
            place += 1
            yield mount


def unescape(field: bytes) -> str:
    """Return a name without the kernel's escapes, such as ``\\040`` for a space."""
    return os.fsdecode(_ESCAPE.sub(lambda match: bytes([int(match[1], 8)]), field))


def _parse_mount(line: bytes, place: int) -> Mount | None:
    mount, separator, filesystem = line.partition(b" - ")
    left, right = mount.split(b" "), filesystem.split(b" ")
    if not separator or len(left) < 6 or len(right) < 3 or not (left[0].isdigit() and left[1].isdigit()):
        return None
    return Mount(
        number=int(left[0][:18]),
        parent=int(left[1][:18]),
        device=os.fsdecode(left[2]),
        root=unescape(left[3]),
        mount_point=unescape(left[4]),
        options=_options(left[5]),
        fstype=unescape(right[0]),
        source=unescape(right[1]),
        super_options=_options(b" ".join(right[2:])),
        place=place,
    )


def _options(field: bytes) -> tuple[str, ...]:
    return tuple(unescape(option) for option in field.split(b",") if option)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
