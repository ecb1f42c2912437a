"""F2FS (Documentation/filesystems/f2fs.rst): ``fsync_mode=nobarrier`` keeps its flushes back; ``checkpoint`` (disable)
keeps all of them, and a power cut takes the filesystem back to where it was when it was mounted so.

Which devices it lies on, where they are several, its superblock tells to root.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fstui.model.storage import Node, Reading
from fstui.proc import MOUNTINFO, Mount
from fstui.storage.layers.facts import word
from fstui.storage.layers.filesystems.plain import FlushesOnce
from fstui.storage.layers.handing import ONE_PATH, Handed, Member
from fstui.storage.layers.kinds import Unsent
from fstui.storage.layers.readers import FilesystemReader
from fstui.storage.layers.sources import claims
from fstui.storage.layers.sources.claims import Command, Question

_DISABLED = "checkpoint=disable"
"""A number may follow, of the space that may be unusable meanwhile."""


def _superblock(name: str) -> Command:
    """The devices that the f2fs on a device names; the child reads its superblock itself."""
    return ("f2fs_devices", f"/dev/{name}")


class F2fsReader(FilesystemReader):
    """Reads filesystems of this family."""

    def members(self, mount: Mount) -> tuple[str, ...]:
        """The device that is mounted, and those that its superblock names after that."""
        mounted = super().members(mount)
        told = (claims.answer(self.sources.claims, _superblock(name)) or "" for name in mounted)
        named = [self.sources.names.at(path) for paths in told for path in paths.split("\n")[1:]]
        return tuple(dict.fromkeys((*mounted, *filter(None, named))))

    def more(self, mount: Mount) -> tuple[Reading, ...]:
        off = any(option.partition(":")[0] == _DISABLED for option in mount.super_options)
        told = (Reading(what="checkpoint", value="disable", path=MOUNTINFO),) if off else ()
        return (*super().more(mount), *told)


class F2fs(FlushesOnce, frozen=True, kw_only=True):
    """The row of this family."""

    def questions(self, nodes: Sequence[Node], sources: Sequence[str]) -> tuple[Question, ...]:
        return tuple(Question(_superblock(node.below[0]), root=True) for node in nodes if node.below)

    def hands(self, node: Node, member: Member, beside: Collection[str | None], filesystem: Node) -> Handed:
        """Of several devices a sync flushes those that its file was written to, one at the least (fs/f2fs/segment.c:
        submit_flush_wait)."""
        return super().hands(node, member, beside, filesystem) if len(beside) == 1 else ONE_PATH

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
