"""Was anything written to meanwhile that a stack was read from: a setting in /sys, the options of its mounts?

Reading twice does not tell of what was switched and switched back in between. inotify(7) hears others' writes in sysfs,
those too that leave a value as it was; of mounts the kernel's flag tells; what a device or a btrfs stands on is listed
each time: whatever was taken away and put back is another inode in sysfs.
Heard is who writes through the same sysfs and mounts in the same namespace: a container has others of its own. What is
written there shows where it is found as it is now, and not where it was over before anybody looked.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from fstui.model.storage import Node, Reading
from fstui.storage.blockdevices import write_cache
from fstui.storage.layers.filesystems import btrfs
from fstui.storage.layers.readers import BARRIERS_OFF
from fstui.storage.layers.sources.files import Tree
from fstui.storage.layers.sources.mounts import MOUNTINFO, Mount, read_mounts
from fstui.storage.mount_flag import MountFlag

_SYS = "/sys/"
_MODIFIED, _OVERFLOWN = 0x2, 0x4000
"""IN_MODIFY and IN_Q_OVERFLOW (linux/inotify.h)."""
_REFUSED = -1
_EVENT = struct.Struct("iIII")
_READ_BYTES = 1 << 16


class SettingsWatch:
    """Of one stack. Where nothing can be heard (no inotify left to this user, no /sys), it hears nothing. Close it."""

    def __init__(self, stack: Iterable[Node], root: Path = Path("/")) -> None:
        nodes = tuple(stack)
        self._tree = Tree(root)
        self._points = {node.id.removeprefix("mount:") for node in nodes if node.layer == "filesystem"}
        self._inotify, self._paths = _listening(_settings(nodes), root)
        homes = ((node.id, btrfs.home_of(self._tree, node.below)) for node in nodes if node.kind == "btrfs")
        self._btrfs = {place: home for place, home in homes if home is not None}
        listed = [(node, self._tree.inodes(self._links(node))) for node in nodes]
        self._stands_on = {node.id: (tuple(links), node.below) for node, links in listed if links}
        self._linked = {node.id: links for node, links in listed if links}
        self._flag = MountFlag() if self._tree.real else None
        self._mounts = self._before = self._own_mounts()

    def written(self) -> frozenset[str]:
        """The paths written to since this was last asked, or since it began: those of readings, and mountinfo."""
        return frozenset({*self._settings_written(), *([MOUNTINFO] if self._remounted() else ())})

    def now(self, stack: tuple[Node, ...]) -> tuple[Node, ...]:
        """That stack with caches, counting and what each stands on as they are now, and the barriers of what was
        remounted meanwhile."""
        mounts = set(self._mounts).difference(self._before)  # a default of the filesystem's own shows in no options
        options = {f"mount:{mount.mount_point}": mount.super_options for mount in mounts}
        return tuple(self._barriers(self._placed(self._device(node)), options.get(node.id)) for node in stack)

    def close(self) -> None:
        """Give back what it holds open."""
        if self._inotify is not None:
            os.close(self._inotify)
            self._inotify = None
        if self._flag is not None:
            self._flag.close()

    def _device(self, node: Node) -> Node:
        cache, counting = node.reading("write_cache"), node.reading("iostats")
        if cache is None or counting is None:
            return node
        counted = node.counted and self._tree.word(counting.path) != "0"
        return replace(node, write_cache=write_cache(self._tree.word(cache.path)), counted=counted)

    def _links(self, node: Node) -> str:
        home = self._btrfs.get(node.id)
        return f"/sys/block/{node.id}/slaves" if home is None else f"{home}/devices"

    def _placed(self, node: Node) -> Node:
        """Who takes a device away and gives it back (a cache, an array's member) writes nowhere that is heard. One that
        came back since this was last asked is left out once."""
        if node.id not in self._stands_on:
            return node
        first, below = self._stands_on[node.id]
        links = self._tree.inodes(self._links(node))
        before, self._linked[node.id] = self._linked[node.id], links
        now = tuple(name for name, inode in links.items() if before.get(name, inode) == inode)
        return replace(node, below=below if now == first else now, state=self._state(node))

    def _state(self, node: Node) -> tuple[Reading, ...]:
        home = self._btrfs.get(node.id)
        if home is None:
            return node.state
        return (*(told for told in node.state if told.what != btrfs.EXCLUSIVE), *btrfs.under_way(self._tree, home))

    def _barriers(self, node: Node, options: tuple[str, ...] | None) -> Node:
        told = node.reading("barrier")
        if told is None or options is None:
            return node
        value = "nobarrier" if BARRIERS_OFF.intersection(options) else "barrier"
        readings = (replace(each, value=value) if each is told else each for each in node.readings)
        return replace(node, readings=tuple(readings))

    def _settings_written(self) -> set[str]:
        found: set[str] = set()
        while self._inotify is not None and (events := _read(self._inotify)):
            for watch, mask in events:
                # where events were lost it may have been any
                found.update(self._paths.values() if mask & _OVERFLOWN else {self._paths[watch]})
        return found

    def _remounted(self) -> bool:
        """Others' mounts come and go all the time."""
        if self._flag is None or not self._flag.raised():
            return False
        before, self._mounts = self._mounts, self._own_mounts()
        return before != self._mounts

    def _own_mounts(self) -> tuple[Mount, ...]:
        own = (mount for mount in read_mounts(self._tree) if mount.mount_point in self._points)
        return tuple(mount._replace(place=0) for mount in own)


class NothingWritten:
    """Of storage that nobody can write to."""

    def written(self) -> frozenset[str]:
        return frozenset()

    def now(self, stack: tuple[Node, ...]) -> tuple[Node, ...]:
        return stack

    def close(self) -> None:
        """It holds nothing."""


def _settings(nodes: Iterable[Node]) -> frozenset[str]:
    return frozenset(reading.path for node in nodes for reading in node.readings if reading.path.startswith(_SYS))


def _listening(paths: Iterable[str], root: Path) -> tuple[int | None, dict[int, str]]:
    """A descriptor that hears writes, and which of them each number stands for; what cannot be heard is left out."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if descriptor < 0:
        return None, {}
    watched = {libc.inotify_add_watch(descriptor, os.fsencode(str(root / path[1:])), _MODIFIED): path for path in paths}
    watched.pop(_REFUSED, None)
    return descriptor, watched


def _read(descriptor: int) -> list[tuple[int, int]]:
    """The events that wait: which watch, and what happened."""
    try:
        data = os.read(descriptor, _READ_BYTES)
    except BlockingIOError:
        return []
    # events of watched files carry no name, so all are of one length
    return [(watch, mask) for watch, mask, _, _ in _EVENT.iter_unpack(data)]
