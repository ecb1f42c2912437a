"""overlay: writes go to ``upperdir``, a directory of another filesystem; ``volatile`` drops most syncs.

The option is the path with which the overlay was mounted. It may contain symbolic links, so ``upperdir_at`` is the path
without them, from realpath(1). If there are many layers, container engines name the upper directory relative to a
directory of their own, because mount options must fit into a page (containers/storage: ``mountOverlayFrom``). fstui
then searches for it relative to each parent directory of the mount point; ``upperdir_at`` is the first that exists.
"""

from collections.abc import Iterator, Sequence

from fstui.model.storage import Node, Reading, SyncPath
from fstui.proc import MOUNTINFO, Mount
from fstui.storage.layers.kinds import LayerKind
from fstui.storage.layers.readers import FilesystemReader, LayerDescription
from fstui.storage.mounts import parents
from fstui.storage.tool_output import Command, command_line, output_of, reports_absence


class OverlayReader(FilesystemReader):
    def read_layers_below(self, mount: Mount) -> LayerDescription:
        upper = mount.option("upperdir")
        if upper is None:
            return LayerDescription()
        readings = [Reading(what="upperdir", value=upper, path=MOUNTINFO)]
        if (found := self._existing_upper(mount.mount_point, upper)) is not None:
            if found.value != upper:
                readings.append(found)
            upper = found.value
        elif not upper.startswith("/"):
            return LayerDescription((), tuple(readings))
        upper_mount = self.sources.mount_of_path(upper)
        # in a container, the path of the upper directory on the host seems to be on the overlay itself
        if upper_mount is None or upper_mount.mount_point == mount.mount_point:
            return LayerDescription((), tuple(readings))
        below: tuple[str, ...] = ()
        if upper_mount.line > mount.line:  # mounted later than the overlay
            reason = f"the original {upper}: {upper_mount.mount_point} was mounted over it"
            readings.append(Reading(what="missing", value=reason, path=MOUNTINFO))
        # its filesystem was unmounted or moved, although the overlay still uses it
        elif reports_absence(self.sources.tool_outputs, real_path_command(upper)):
            path = command_line(real_path_command(upper))
            readings.append(Reading(what="missing", value=f"{upper}: nothing is there", path=path))
        else:
            below = (f"mount:{upper_mount.mount_point}",)
        return LayerDescription(below, tuple(readings))

    def _existing_upper(self, mount_point: str, upper: str) -> Reading | None:
        """Return the first possible path of the upper directory that exists, without symbolic links."""
        for command in map(real_path_command, _candidates(mount_point, upper)):
            if (output := output_of(self.sources.tool_outputs, command)) is not None:
                return Reading(what="upperdir_at", value=output.removesuffix("\n"), path=command_line(command))
        return None

    def settings(self, mount: Mount, device: str) -> tuple[Reading, ...]:
        options = [option for option in mount.super_options if option in ("volatile", "fsync=volatile")]
        volatile = (Reading(what="volatile", value=option, path=MOUNTINFO) for option in options)
        return (*super().settings(mount, device), *volatile)


def upper_path(node: Node) -> str | None:
    """Return the absolute path of the upper directory; None if it was not found."""
    paths = (node.value(what) for what in ("upperdir_at", "upperdir"))
    return next((path for path in paths if path and path.startswith("/")), None)


def real_path_command(path: str) -> Command:
    """Return the command that prints a path without symbolic links, and fails if nothing is there."""
    return ("realpath", "--canonicalize-existing", "--", path)


def _candidates(mount_point: str, upper: str) -> Iterator[str]:
    """Yield the possible paths of the upper directory: of a relative one below each parent directory, nearest first."""
    if upper.startswith("/"):
        yield upper
    else:
        yield from (f"{directory.rstrip('/')}/{upper}" for directory in parents(mount_point))


class Overlay(LayerKind, frozen=True, kw_only=True):
    def commands(self, nodes: Sequence[Node], sources: Sequence[str]) -> tuple[Command, ...]:
        """Return the commands that show which upper directories exist, and where."""
        mounts = ((node.name, upper) for node in nodes if (upper := node.value("upperdir")))
        return tuple(real_path_command(path) for name, upper in mounts for path in _candidates(name, upper))

    def sync_of(self, node: Node) -> tuple[SyncPath, str]:
        if option := node.value("volatile"):
            return "stops", f"{option} skips fsync, fdatasync and syncfs"
        if node.reading("upperdir") is None:
            return "unknown", "no upper directory"
        return "passes", "synced in the upper directory"


KINDS = (Overlay(name="overlay", layer="filesystem", reader=OverlayReader, needs_device=False, uses_directory=True),)
