"""overlay: what is written lies in ``upperdir``, on another filesystem; ``volatile`` leaves every sync out.

It is followed where nothing speaks against it: an overlay's root has the times of its upper directory, the one at which
that was made included (fs/overlayfs/inode.c: ovl_getattr). An engine names it relative to a directory of its own where
there are many layers, since a mount's options fit a page (containers/storage: ``mountOverlayFrom``): that is looked for
above the mount point, and ``upperdir_at`` where it is found by those times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fstui.model.storage import Node, Reading, SyncPath
from fstui.proc import MOUNTINFO, Mount
from fstui.storage import claims
from fstui.storage.claims import Claims, Command, Question, line
from fstui.storage.layers.facts import Fact, volatile, word
from fstui.storage.layers.kinds import Kind
from fstui.storage.layers.readers import Filesystem, FilesystemReader
from fstui.storage.mounts import above

_NOWHERE = ("No such file or directory", "Not a directory")


def _above(mount_point: str, relative: str) -> Iterator[str]:
    """Where a relative upper directory may lie, nearest first."""
    return (f"{directory.rstrip('/')}/{relative}" for directory in above(mount_point))


class OverlayReader(FilesystemReader):
    """Reads overlays."""

    def read_below(self, mount: Mount) -> Filesystem:
        """The filesystem of its upper directory."""
        upper = mount.option("upperdir")
        if upper is None:
            return Filesystem()
        told = Reading(what="upperdir", value=upper, path=MOUNTINFO)
        if upper.startswith("/"):
            return self._on(mount, upper, (told,))
        shown = (path for path in _above(mount.mount_point, upper) if self._is_shown(mount, path))
        if (found := next(shown, None)) is None:
            return Filesystem((), (told,))
        return self._on(mount, found, (told, Reading(what="upperdir_at", value=found, path=line(lying_at(found)))))

    def _on(self, mount: Mount, upper: str, readings: tuple[Reading, ...]) -> Filesystem:
        below = self.sources.holder(upper)
        # in a container the upper directory is named as the host sees it, and seems to lie on the overlay itself
        if below is None or below.mount_point == mount.mount_point:
            return Filesystem((), readings)
        if below.place > mount.place:
            # what was mounted there since is not what the overlay was given
            why, asked = f"what {upper} was: {below.mount_point} was mounted there later", MOUNTINFO
        elif self._nothing_at(upper):
            why, asked = f"{upper}: nothing is there", line(lying_at(upper))
        elif self._is_shown(mount, upper) is False:
            why, asked = f"what {upper} was: another directory is there", line(lying_at(upper))
        else:
            return Filesystem((f"mount:{below.mount_point}",), readings)
        return Filesystem((), (*readings, Reading(what="missing", value=why, path=asked)))

    def _is_shown(self, mount: Mount, upper: str) -> bool | None:
        """The overlay shows what lies there; None where that cannot be told, as of a bind mount of one of its
        directories."""
        there, shown = (seen(self.sources.claims, lying_at(path)) for path in (upper, mount.mount_point))
        return is_shown_by(there, shown) if there and shown and mount.root == "/" else None

    def _nothing_at(self, upper: str) -> bool:
        """Its path leads nowhere here: what held it was unmounted, or moved, and the overlay keeps it all the same."""
        told = self.sources.claims.get(line(lying_at(upper)))
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
    if told is not None:
        paths = (told.value,) if told.value.startswith("/") else _above(node.name, told.value)
        yield from map(lying_at, (node.name, *paths))


class Overlay(Kind, frozen=True, kw_only=True):
    """The row of this family."""

    def questions(self, nodes: Sequence[Node], sources: Sequence[str]) -> tuple[Question, ...]:
        """What lies at each upper directory: a child looks, since what holds it may hang."""
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


_FORMAT = "--format=%i %.9Y %.9Z %.9W"
_TIME = r"(\d{1,12}\.\d{7})\d\d"
_SEEN = re.compile(rf"(\d{{1,20}}) {_TIME} {_TIME}(?: {_TIME})?")


class Seen(NamedTuple):
    """A directory. Times are seconds, as their digits."""

    inode: int
    modified: str
    changed: str
    born: float
    """When it was made (statx(2)); 0 where its filesystem does not tell."""


def lying_at(path: str) -> Command:
    """Looks at a directory of this box."""
    return ("stat", _FORMAT, "--", path)


def seen_at(path: str) -> Command:
    """Looks at a remote one, by its server's newest word."""
    return ("stat", "--cached=never", _FORMAT, "--", path)


def seen(answers: Claims, asked: Command) -> Seen | None:
    """What was found so; None where nobody looked, or nothing lies there."""
    found = _SEEN.fullmatch((claims.answer(answers, asked) or "").strip())
    return found and Seen(int(found[1]), found[2], found[3], float(found[4] or 0))


def is_shown_by(there: Seen, shown: Seen) -> bool | None:
    """The directory that another filesystem shows as its own, where it may have an inode of that one; None where that
    cannot be told of one that is written to meanwhile."""
    if there.born and shown.born and there.born != shown.born:
        return False
    if (there.modified, there.changed) == (shown.modified, shown.changed):
        return True
    known = bool(there.born and shown.born)  # many may have been made in the same tick of the clock
    return None if known or there.inode == shown.inode else False
