"""overlay: what is written lies in ``upperdir``, on another filesystem; ``volatile`` leaves every sync out."""

from __future__ import annotations

from collections.abc import Sequence

from fstui.layers.facts import Fact, volatile, word
from fstui.layers.kinds import Kind
from fstui.layers.readers import Filesystem, FilesystemReader
from fstui.layers.sources.claims import Command, Question, line
from fstui.layers.sources.mounts import MOUNTINFO, Mount
from fstui.model.storage import Node, Reading, SyncPath

_NOWHERE = ("No such file or directory", "Not a directory")


def _looking_for(path: str) -> Command:
    return "stat", "--format=%F", path


class OverlayReader(FilesystemReader):
    """Reads overlays."""

    def stands_on(self, mount: Mount) -> Filesystem:
        """The filesystem of its upper directory."""
        upper = mount.option("upperdir")
        if upper is None:
            return Filesystem()
        below = self.sources.holder(upper) if upper.startswith("/") else None
        # in a container the upper directory is named as the host sees it, and seems to lie on the overlay itself
        seen = below is not None and below.mount_point != mount.mount_point
        readings = (Reading(what="upperdir", value=upper, path=MOUNTINFO),)
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


class Overlay(Kind, frozen=True, kw_only=True):
    """The row of this family."""

    def questions(self, nodes: Sequence[Node], sources: Sequence[str]) -> tuple[Question, ...]:
        """Whether each upper directory is there: a child looks, since what holds it may hang."""
        return tuple(Question(_looking_for(told.value)) for node in nodes if (told := upper_directory(node)))

    def sync_of(self, node: Node) -> tuple[SyncPath, str]:
        told = volatile(node)
        if told is not None and told.value:
            return "stops", f"{told.reading.value}: every sync is left out"
        if upper_directory(node) is None:
            return "unknown", "no upper directory"
        return "passes", "synced in the upper directory"


KINDS = (Overlay(name="overlay", layer="filesystem", needs_device=False, over_filesystem=True),)
FILESYSTEMS = OverlayReader
