"""Filesystems that are read-only by nature."""

from fstui.storage.layers.kinds import Kind

_NAMES = ("squashfs", "erofs", "cramfs", "romfs", "iso9660", "udf")

KINDS = tuple(Kind(name=name, layer="filesystem", read_only=True) for name in _NAMES)
