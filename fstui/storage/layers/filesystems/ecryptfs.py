"""eCryptfs: its files lie, encrypted, in the directory it is mounted from (Documentation/filesystems/ecryptfs.rst).

A sync of one is a sync of the file below (fs/ecryptfs/file.c: ecryptfs_fsync).
"""

from __future__ import annotations

from fstui.proc import Mount
from fstui.storage.layers.kinds import Kind
from fstui.storage.layers.readers import Filesystem, FilesystemReader


class EcryptfsReader(FilesystemReader):
    """Reads filesystems of this kind."""

    def stands_on(self, mount: Mount) -> Filesystem:
        """The filesystem of that directory, where it was there before."""
        holder = self.sources.holder(mount.source) if mount.source.startswith("/") else None
        # mounted over its own directory, as a home often is, it hides what it stands on
        seen = holder is not None and holder.place < mount.place
        return Filesystem((f"mount:{holder.mount_point}",) if holder is not None and seen else ())


KINDS = (
    Kind(
        name="ecryptfs",
        layer="filesystem",
        sync="passes",
        because="encrypts, and syncs the file below",
        needs_device=False,
        over_filesystem=True,
    ),
)
FILESYSTEMS = EcryptfsReader
