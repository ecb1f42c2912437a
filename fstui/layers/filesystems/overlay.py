"""overlay: what is written lies in ``upperdir``, on another filesystem; ``volatile`` leaves every sync out.

An engine names it relative to a directory of its own where there are many layers, since a mount's options fit a page
(containers/storage: ``mountOverlayFrom``). It is looked for above the mount point, and followed as ``upperdir_at``
where it is proved: the overlay's root has the times of its upper directory (fs/overlayfs/inode.c: ovl_getattr).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fstui.layers.facts import Fact, volatile, word
from fstui.layers.kinds import Kind
from fstui.layers.readers import Filesystem, FilesystemReader
from fstui.layers.sources import directories
from fstui.layers.sources.claims import Command, Question, line
from fstui.layers.sources.directories import seen_at
from fstui.layers.sources.mounts import MOUNTINFO, Mount, above
from fstui.model.storage import Node, Reading, SyncPath

_NOWHERE = ("No such file or directory", "Not a directory")


def _looking_for(path: str) -> Command:
    return "stat", "--format=%F", path


def _above(mount_point: str, relative: str) -> Iterator[str]:
    """Where a relative upper directory may lie, nearest first."""
    return (f"{directory.rstrip('/')}/{relative}" for directory in above(mount_point))


class OverlayReader(FilesystemReader):
    """Reads overlays."""

    def stands_on(self, mount: Mount) -> Filesystem:
        """The filesystem of its upper directory."""
        upper = mount.option("upperdir")
        if upper is None:
            return Filesystem()
        found = upper if upper.startswith("/") else self._found(mount.mount_point, upper)
        below = self.sources.holder(found) if found is not None else None
        # in a container the upper directory is named as the host sees it, and seems to lie on the overlay itself
        seen = below is not None and below.mount_point != mount.mount_point
        readings: tuple[Reading, ...] = (Reading(what="upperdir", value=upper, path=MOUNTINFO),)
        if found is not None and found != upper:
            readings = (*readings, Reading(what="upperdir_at", value=found, path=line(seen_at(found))))
        if below is None or not seen:
            return Filesystem((), readings)
        if below.place > mount.place:
            # what was mounted there since is not what the overlay was given
            why = f"what {upper} was: {below.mount_point} was mounted there later"
            return Filesystem((), (*readings, Reading(what="missing", value=why, path=MOUNTINFO)))
        if self._nothing_at(upper):
            asked = line(_looking_for(upper))
            return Filesystem((), (*readings, Reading(what="missing", value=f"{upper}: nothing is there", path=asked)))
        return Filesystem((f"mount:{below.mount_point}",), readings)

    def _found(self, mount_point: str, relative: str) -> str | None:
        """Where a relative upper directory lies."""
        answers = self.sources.claims
        root = directories.seen(answers, mount_point)
        for path in _above(mount_point, relative):
            there = directories.seen(answers, path)
            if root is not None and there is not None and there[1:] == root[1:]:  # it may have an inode of its own
                return path
        return None

    def _nothing_at(self, upper: str) -> bool:
        """Its path leads nowhere here: what held it was unmounted, or moved, and the overlay keeps it all the same."""
        told = self.sources.claims.get(line(_looking_for(upper)))
        return told is not None and (told.error or "").endswith(_NOWHERE)

    def settings(self, mount: Mount, device: str) -> tuple[Reading, ...]:
        """``volatile``: every sync is left out."""
        told = (option for option in mount.super_options if option in ("volatile", "fsync=volatile"))
        volatile = tuple(Reading(what="volatile", value=option, path=MOUNTINFO) for option in told)
        return (*super().settings(mount, device), *volatile)


def upper_directory(node: Node) -> Fact[str] | None:
    """Where what is written lies, as the overlay was told."""
    return word(node, "upperdir")


def _looking(node: Node) -> Iterator[Command]:
    told = upper_directory(node)
    if told is not None and told.value.startswith("/"):
        yield _looking_for(told.value)
    elif told is not None:
        yield from map(seen_at, (node.name, *_above(node.name, told.value)))


class Overlay(Kind, frozen=True, kw_only=True):
    """The row of this family."""

    def questions(self, nodes: Sequence[Node], sources: Sequence[str]) -> tuple[Question, ...]:
        """Whether each upper directory is there: a child looks, since what holds it may hang."""
        return tuple(Question(asked) for node in nodes for asked in _looking(node))

    def sync_of(self, node: Node) -> tuple[SyncPath, str]:
        told = volatile(node)
        if told is not None and told.value:
            return "stops", f"{told.reading.value}: every sync is left out"
        if upper_directory(node) is None:
            return "unknown", "no upper directory"
        return "passes", "synced in the upper directory"


KINDS = (Overlay(name="overlay", layer="filesystem", needs_device=False, over_filesystem=True),)
FILESYSTEMS = OverlayReader
