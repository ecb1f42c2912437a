"""Writes of blocks to a file through a shared mapping. msync(MS_SYNC) makes each block durable."""

from collections.abc import Iterator
from typing import Literal

from fstui.measure.kinds import MAX_BYTES, MAX_SECONDS, StepSettings
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.settings import Amounts, Figures

MAX_MAPPED_BYTES = 1 << 30
"""The limit is low, because the file is read into memory before the clock starts."""


class MsyncWrites(StepSettings, frozen=True, kw_only=True, tag="msync_writes"):
    """One writer. Every operation is a sync."""

    seconds: float = 1.0
    block_bytes: int = 4096
    file_bytes: int = 67108864
    offsets: Literal["random", "same"] = "random"
    max_bytes_per_s: int = 268435456
    """The step ends early when it has written max_bytes_per_s × seconds. The plan shows this product."""

    @property
    def rewrites_one_block(self) -> bool:
        return self.offsets == "same"

    def amounts(self) -> Amounts:
        return Amounts(int(self.seconds * self.max_bytes_per_s) + self.file_bytes, self.file_bytes)

    def written_bytes(self, timed_ops: int, figures: Figures) -> int:
        return timed_ops * self.block_bytes

    def as_sync_writes(self) -> SyncWrites:
        """To the filesystem, msync(MS_SYNC) is an fdatasync of a range (mm/msync.c: vfs_fsync_range, datasync)."""
        return SyncWrites(
            seconds=self.seconds,
            block_bytes=self.block_bytes,
            file_bytes=self.file_bytes,
            offsets=self.offsets,
            sync="fdatasync",
            max_bytes_per_s=self.max_bytes_per_s,
        )

    def mistakes(self) -> Iterator[str]:
        if not 0 < self.seconds <= MAX_SECONDS:
            yield f"seconds must be more than 0 and at most {MAX_SECONDS}, not {self.seconds}"
        if not 1 <= self.block_bytes <= 8 << 20:
            yield f"block_bytes must be between 1 byte and 8 MiB, not {self.block_bytes}"
        if not self.block_bytes <= self.file_bytes <= MAX_MAPPED_BYTES:
            yield f"file_bytes must be between block_bytes and {MAX_MAPPED_BYTES}, not {self.file_bytes}"
        if not 1 <= self.max_bytes_per_s <= MAX_BYTES:
            yield f"max_bytes_per_s must be between 1 and {MAX_BYTES}, not {self.max_bytes_per_s}"
