"""F2FS (Documentation/filesystems/f2fs.rst): ``fsync_mode=nobarrier`` keeps its flushes back."""

from fstui.layers.plain import FlushesOnce

KINDS = (
    FlushesOnce(
        name="f2fs",
        layer="filesystem",
        sync="passes",
        because="a sync ends in a flush",
        flushes_on_sync=True,
        sync_ends_traced=True,
        barriers_on="fsync_mode=posix",
    ),
)
