"""F2FS (Documentation/filesystems/f2fs.rst): ``fsync_mode=nobarrier`` keeps its flushes back; ``checkpoint`` (disable)
keeps all of them, and a power cut takes the filesystem back to where it was when it was mounted so."""

from __future__ import annotations

from fstui.layers.facts import word
from fstui.layers.filesystems.plain import FlushesOnce
from fstui.layers.kinds import Unsent
from fstui.layers.readers import FilesystemReader
from fstui.layers.sources.mounts import MOUNTINFO, Mount
from fstui.model.storage import Node, Reading

_DISABLED = "checkpoint=disable"
"""A number may follow, of the space that may be unusable meanwhile."""


class F2fsReader(FilesystemReader):
    """Reads filesystems of this family."""

    def more(self, mount: Mount) -> tuple[Reading, ...]:
        off = any(option.partition(":")[0] == _DISABLED for option in mount.super_options)
        told = (Reading(what="checkpoint", value="disable", path=MOUNTINFO),) if off else ()
        return (*super().more(mount), *told)


class F2fs(FlushesOnce, frozen=True, kw_only=True):
    """The row of this family."""

    def unsent(self, node: Node) -> Unsent | None:
        told = word(node, "checkpoint")
        if told is None:
            return None
        return Unsent(
            told=told.reading,
            option=_DISABLED,
            misses="commit",
            means="writes the data and nothing that finds it again after a power cut, which undoes all since the mount",
            briefly="commits nothing",
            undo=f"mount -o remount,checkpoint=enable {node.name}, then run fsync-rate there.",
        )


KINDS = (
    F2fs(
        name="f2fs",
        hides_devices=True,
        layer="filesystem",
        sync="passes",
        because="a sync ends in a flush",
        flushes_on_sync=True,
        sync_ends_traced=True,
        barriers_on="fsync_mode=posix",
    ),
)
FILESYSTEMS = F2fsReader
