"""Filesystems of which little more is known than what they are not."""

from fstui.model.storage import Node
from fstui.storage.layers.flushes import AT_LEAST_ONE, ExpectedFlushes, Sync
from fstui.storage.layers.kinds import Kind

_NEVER_COMPRESS = ("jfs", "gfs2", "ocfs2")
_READ_ONLY = ("squashfs", "erofs", "cramfs", "romfs", "iso9660")
_ONE_FLUSH = ("nilfs2", "vfat", "exfat", "reiserfs")
_WITHOUT_DEVICE = ("aufs",)


class FlushesOnce(Kind, frozen=True, kw_only=True):
    """The row of a filesystem that was seen to send one flush for a sync."""

    def expected_flushes(self, node: Node, sync: Sync, claims_fua: bool | None) -> ExpectedFlushes:
        return AT_LEAST_ONE


KINDS = (
    *(FlushesOnce(name=name, layer="filesystem", compression="never") for name in _ONE_FLUSH),
    FlushesOnce(name="ntfs3", layer="filesystem"),
    FlushesOnce(name="udf", layer="filesystem", compression="never", read_only=True),  # on what can be burnt once
    *(Kind(name=name, layer="filesystem", compression="never") for name in _NEVER_COMPRESS),
    *(Kind(name=name, layer="filesystem", read_only=True) for name in _READ_ONLY),
    *(Kind(name=name, layer="filesystem", needs_device=False) for name in _WITHOUT_DEVICE),
)
