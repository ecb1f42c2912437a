"""The mounts of this process, from /proc/self/mountinfo (proc_pid_mountinfo(5))."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fstui.storage.layers.sources.files import Tree

MOUNTINFO = "/proc/self/mountinfo"
_LIMIT_BYTES = 64 << 20
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2})")


class Mount(NamedTuple):
    """One line of mountinfo. Names keep bytes that are not UTF-8 as surrogates."""

    number: int
    parent: int
    device: str
    """``major:minor`` of the filesystem; an anonymous 0:n for btrfs, network and memory filesystems."""
    root: str
    """The directory of the filesystem that stands at the mount point; not ``/`` for a bind mount."""
    mount_point: str
    options: tuple[str, ...]
    """Of this mount."""
    fstype: str
    source: str
    super_options: tuple[str, ...]
    """Of the filesystem, shared by all its mounts."""
    place: int = 0
    """Its line in mountinfo. What was mounted later stands further down; its number may be that of one that is gone."""

    @property
    def all_options(self) -> tuple[str, ...]:
        """Options of the mount, then those of the filesystem that are not among them."""
        return tuple(dict.fromkeys(self.options + self.super_options))

    def option(self, name: str) -> str | None:
        """The value of ``name=value`` among the filesystem's options, or None."""
        prefix = name + "="
        return next((option.removeprefix(prefix) for option in self.super_options if option.startswith(prefix)), None)


def read_mounts(tree: Tree) -> tuple[Mount, ...]:
    """Every mount in the order of mountinfo, hidden ones too. Lines that cannot be read are left out."""
    lines = (tree.data(MOUNTINFO, _LIMIT_BYTES) or b"").split(b"\n")
    mounts = (mount for line in lines if (mount := _parse(line)) is not None)
    return tuple(mount._replace(place=place) for place, mount in enumerate(mounts))


def visible(mounts: Sequence[Mount]) -> tuple[Mount, ...]:
    """The mounts that a path can reach, in the order of mountinfo.

    A mount is out of reach below a directory on which a later mount of the same parent stands (an earlier one would
    itself be the parent), and below a mount that is out of reach. A mount is covered by another on its own root.
    """
    children: dict[int, list[Mount]] = defaultdict(list)
    for mount in mounts:
        if mount.number != mount.parent:
            children[mount.parent].append(mount)
    out_of_reach: set[int] = set()
    for siblings in children.values():
        places = {mount.mount_point for mount in siblings}
        out_of_reach.update(mount.number for mount in siblings if not places.isdisjoint(above(mount.mount_point)))
    below = list(out_of_reach)
    while below:
        for mount in children[below.pop()]:
            if mount.number not in out_of_reach:
                out_of_reach.add(mount.number)
                below.append(mount.number)
    topmost = {mount.mount_point: mount for mount in mounts if mount.number not in out_of_reach}
    return tuple(mount for mount in mounts if topmost.get(mount.mount_point) is mount)


def covered(every: Sequence[Mount], shown: Sequence[Mount]) -> tuple[Mount, ...]:
    """The others: what lies there is out of reach and still in use. Each has a name of its own, since its mount point
    is that of what covers it."""
    reached = frozenset(mount.number for mount in shown)
    others = (mount for mount in every if mount.number not in reached)
    return tuple(mount._replace(mount_point=f"{mount.mount_point} (covered {mount.number})") for mount in others)


def holder(path: str, by_mount_point: Mapping[str, Mount]) -> Mount | None:
    """The mount that holds an absolute path: the longest mount point that begins it. Touches nothing."""
    for candidate in (path, *above(path)):
        if candidate in by_mount_point:
            return by_mount_point[candidate]
    return None


def of_device(number: str, mounts: Iterable[Mount]) -> Mount | None:
    """The first mount of the filesystem with that device number, as mountinfo has it."""
    return next((mount for mount in mounts if mount.device == number), None)


def above(path: str) -> Iterator[str]:
    """The directories above an absolute path, nearest first, ``/`` last."""
    while path not in ("/", ""):
        path = path.rpartition("/")[0] or "/"
        yield path


def _parse(line: bytes) -> Mount | None:
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
    )


def _options(field: bytes) -> tuple[str, ...]:
    return tuple(unescape(option) for option in field.split(b",") if option)


def unescape(field: bytes) -> str:
    """A name as the kernel writes it, ``\\040`` for a blank, undone."""
    return os.fsdecode(_ESCAPE.sub(lambda match: bytes([int(match[1], 8)]), field))
