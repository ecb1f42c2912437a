"""overlay: writes go to ``upperdir``, a directory of another filesystem; ``volatile`` drops most syncs.

The stack continues at the upper directory, unless its path now leads to another directory. fstui compares timestamps:
the root of an overlay has those of its upper directory, even the creation time (fs/overlayfs/inode.c: ovl_getattr).

If there are many layers, container engines name the upper directory relative to a directory of their own, because mount
options must fit into a page (containers/storage: ``mountOverlayFrom``). fstui then searches for it relative to each
parent directory of the mount point; ``upperdir_at`` is the candidate with the same timestamps.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fstui.model.storage import Node, Reading, SyncPath
from fstui.proc import MOUNTINFO, Mount
from fstui.storage.layers.kinds import LayerKind
from fstui.storage.layers.readers import FilesystemReader, LayerDescription
from fstui.storage.mounts import parents
from fstui.storage.tool_output import Command, ToolOutputs, command_line, output_of, reports_absence

_TIME = r"(\d{1,12}\.\d{9})"
_DIRECTORY = rf"(\d{{1,20}}) {_TIME} {_TIME}(?: {_TIME})?"


class OverlayReader(FilesystemReader):
    def read_layers_below(self, mount: Mount) -> LayerDescription:
        upper = mount.option("upperdir")
        if upper is None:
            return LayerDescription()
        option = Reading(what="upperdir", value=upper, path=MOUNTINFO)
        if upper.startswith("/"):
            return self._description_at(mount, upper, (option,))
        candidates = (path for path in _candidates(mount.mount_point, upper) if self._is_upper(mount, path))
        if (path := next(candidates, None)) is None:
            return LayerDescription((), (option,))
        reading = Reading(what="upperdir_at", value=path, path=command_line(stat_command(path)))
        return self._description_at(mount, path, (option, reading))

    def _description_at(self, mount: Mount, upper: str, readings: tuple[Reading, ...]) -> LayerDescription:
        upper_mount = self.sources.mount_of_path(upper)
        # in a container, the path of the upper directory on the host seems to be on the overlay itself
        if upper_mount is None or upper_mount.mount_point == mount.mount_point:
            return LayerDescription((), readings)
        if upper_mount.line > mount.line:  # mounted later than the overlay
            reason, source = f"the original {upper}: {upper_mount.mount_point} was mounted over it", MOUNTINFO
        # its filesystem was unmounted or moved, although the overlay still uses it
        elif reports_absence(self.sources.tool_outputs, stat_command(upper)):
            reason, source = f"{upper}: nothing is there", command_line(stat_command(upper))
        elif self._is_upper(mount, upper) is False:
            reason = f"the original {upper}: another directory has taken its place"
            source = command_line(stat_command(upper))
        else:
            return LayerDescription((f"mount:{upper_mount.mount_point}",), readings)
        return LayerDescription((), (*readings, Reading(what="missing", value=reason, path=source)))

    def _is_upper(self, mount: Mount, upper: str) -> bool | None:
        """Return whether ``upper`` is the upper directory; None if unknown, as for a mount of a subdirectory."""
        at_path, at_mount_point = (_directory(self.sources.tool_outputs, path) for path in (upper, mount.mount_point))
        return _has_same_times(at_path, at_mount_point) if at_path and at_mount_point and mount.root == "/" else None

    def settings(self, mount: Mount, device: str) -> tuple[Reading, ...]:
        options = [option for option in mount.super_options if option in ("volatile", "fsync=volatile")]
        volatile = (Reading(what="volatile", value=option, path=MOUNTINFO) for option in options)
        return (*super().settings(mount, device), *volatile)


def upper_path(node: Node) -> str | None:
    """Return the absolute path of the upper directory; None if it was not found."""
    paths = (node.value(what) for what in ("upperdir_at", "upperdir"))
    return next((path for path in paths if path and path.startswith("/")), None)


def stat_command(path: str) -> Command:
    return ("stat", "--format=%i %.9Y %.9Z %.9W", "--", path)


def _candidates(mount_point: str, upper: str) -> Iterator[str]:
    """Yield the possible paths of a relative upper directory, nearest first."""
    return (f"{directory.rstrip('/')}/{upper}" for directory in parents(mount_point))


class _Directory(NamedTuple):
    """What stat(1) prints about a directory. Times are seconds as text, so that they are compared exactly."""

    inode: str
    modified: str
    changed: str
    created: str
    """The time of its creation (statx(2)); empty if the filesystem does not store it."""


def _directory(tool_outputs: ToolOutputs, path: str) -> _Directory | None:
    match = re.fullmatch(_DIRECTORY, (output_of(tool_outputs, stat_command(path)) or "").strip())
    if match is None:
        return None
    return _Directory(match[1], match[2], match[3], match[4] if float(match[4] or 0) else "")


def _has_same_times(upper: _Directory, root: _Directory) -> bool | None:
    """Return whether the root of the overlay has the same times as the upper directory.

    None: unknown, because the times may have changed between the two readings.
    """
    if upper.created and root.created and upper.created != root.created:
        return False
    if (upper.modified, upper.changed) == (root.modified, root.changed):
        return True
    # an equal time of creation is no proof, because several directories may be created at the same time
    is_created_at_same_time = bool(upper.created and root.created)
    return None if is_created_at_same_time or upper.inode == root.inode else False


class Overlay(LayerKind, frozen=True, kw_only=True):
    def commands(self, nodes: Sequence[Node], sources: Sequence[str]) -> tuple[Command, ...]:
        """Return the commands that read the timestamps of each overlay and of its upper directory."""
        mounts = ((node.name, upper) for node in nodes if (upper := node.value("upperdir")))
        return tuple(
            stat_command(path)
            for name, upper in mounts
            for path in (name, *((upper,) if upper.startswith("/") else _candidates(name, upper)))
        )

    def sync_of(self, node: Node) -> tuple[SyncPath, str]:
        if option := node.value("volatile"):
            return "stops", f"{option} skips fsync, fdatasync and syncfs"
        if node.reading("upperdir") is None:
            return "unknown", "no upper directory"
        return "passes", "synced in the upper directory"


KINDS = (Overlay(name="overlay", layer="filesystem", needs_device=False, uses_directory=True),)
FILESYSTEMS = OverlayReader
