"""The mounts of this process, and which of them a path can reach."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

from fstui.proc import MOUNTINFO, Mount, parse_mounts
from fstui.storage.tree import Tree

Mounted = TypeVar("Mounted")
MAX_MOUNTS_BYTES = 64 << 20


def read_mounts(tree: Tree) -> tuple[Mount, ...]:
    """Return all mounts in the order of mountinfo, including those that no path reaches. Skip unreadable lines."""
    return _parse(tree.data(MOUNTINFO, MAX_MOUNTS_BYTES) or b"")


@lru_cache(maxsize=1)
def _parse(data: bytes) -> tuple[Mount, ...]:
    """Parse thousands of mounts once: a survey reads them three times, and they seldom change."""
    return tuple(parse_mounts(data))


def visible_mounts(mounts: Sequence[Mount]) -> tuple[Mount, ...]:
    """Return the mounts that a path can reach, in the order of mountinfo.

    A mount is out of reach if a sibling (a mount with the same parent) is mounted on a directory above it. That sibling
    was mounted later, because otherwise it would be the parent. Mounts below such a mount are out of reach too. Of
    several mounts on one path, the last covers the others.
    """
    children: dict[int, list[Mount]] = defaultdict(list)
    for mount in mounts:
        if mount.number != mount.parent:
            children[mount.parent].append(mount)
    out_of_reach: set[int] = set()
    for siblings in children.values():
        mount_points = {mount.mount_point for mount in siblings}
        hidden_mounts = (mount for mount in siblings if not mount_points.isdisjoint(parents(mount.mount_point)))
        out_of_reach.update(mount.number for mount in hidden_mounts)
    parents_to_visit = list(out_of_reach)
    while parents_to_visit:
        for mount in children[parents_to_visit.pop()]:
            if mount.number not in out_of_reach:
                out_of_reach.add(mount.number)
                parents_to_visit.append(mount.number)
    topmost = {mount.mount_point: mount for mount in mounts if mount.number not in out_of_reach}
    return tuple(mount for mount in mounts if topmost.get(mount.mount_point) is mount)


def mount_of_path(path: str, by_mount_point: Mapping[str, Mounted]) -> Mounted | None:
    """Return the mount that holds an absolute path: the one with the longest mount point. This touches no file."""
    candidates = (path, *parents(path))
    return next((by_mount_point[candidate] for candidate in candidates if candidate in by_mount_point), None)


def parents(path: str) -> Iterator[str]:
    """Yield the directories above an absolute path, nearest first, ``/`` last."""
    while path not in ("/", ""):
        path = path.rpartition("/")[0] or "/"
        yield path
