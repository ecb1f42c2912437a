"""Writes of blocks to a file. A sync call, or a flag of open(2), makes them durable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from fstui.measure.kinds import MAX_BYTES, MAX_OPS_PER_S, MAX_SECONDS, StepSettings
from fstui.model.settings import Amounts, Figures, OpenFlag


class SyncWrites(StepSettings, frozen=True, kw_only=True, tag="sync_writes"):
    seconds: float = 1.0
    block_bytes: int = 4096
    file_bytes: int = 67108864
    offsets: Literal["random", "same", "sequential", "append"] = "random"
    open_flags: tuple[OpenFlag, ...] = ()
    sync: Literal["none", "fsync", "fdatasync"] = "fdatasync"
    sync_every: int = 1
    writers: int = 1
    ops_per_s: float = 0.0
    """Rate limit of all writers together; 0: no limit."""
    prefill: Literal["written", "fallocate", "none"] = "written"
    max_bytes_per_s: int = 268435456
    """The step ends early when it has written max_bytes_per_s × seconds. The plan shows this product."""
    enough_ops: int = 0
    """The step ends early after this many operations (0: no such limit), and gets no extra time if it is slow."""

    @property
    def syncs_some_operations(self) -> bool:
        return self.sync_every > 1

    @property
    def rewrites_one_block(self) -> bool:
        return self.offsets == "same" and self.writers == 1

    @property
    def direct(self) -> bool:
        return "direct" in self.open_flags

    @property
    def direct_block_bytes(self) -> int | None:
        return self.block_bytes if self.direct else None

    @property
    def bytes_per_s(self) -> int:
        return int(self.ops_per_s * self.block_bytes)

    @property
    def prefill_bytes(self) -> int:
        return self.file_bytes if self.prefill == "written" and self.offsets != "append" else 0

    def with_rate_limit(self, bytes_per_s: int) -> SyncWrites:
        ops_per_s = min(self.ops_per_s or MAX_OPS_PER_S, bytes_per_s / self.block_bytes, MAX_OPS_PER_S)
        return msgspec.structs.replace(self, ops_per_s=ops_per_s)

    def as_sync_writes(self) -> SyncWrites:
        return self

    def amounts(self) -> Amounts:
        bytes_per_s = self.ops_per_s * self.block_bytes if self.ops_per_s else self.max_bytes_per_s
        written_bytes = int(self.seconds * min(bytes_per_s, self.max_bytes_per_s))
        if self.enough_ops:
            written_bytes = min(written_bytes, self.enough_ops * self.block_bytes)
        if self.offsets == "append":
            return Amounts(written_bytes, written_bytes)
        return Amounts(written_bytes + self.prefill_bytes, self.file_bytes)

    def written_bytes(self, timed_ops: int, figures: Figures) -> int:
        return timed_ops * self.block_bytes

    def syncs(self, ops: int, timed_syncs: int, figures: Figures) -> int:
        return ops if {"dsync", "sync"} & set(self.open_flags) else timed_syncs

    def ends_early(self, ops: int) -> bool:
        return 0 < self.enough_ops <= ops

    def mistakes(self) -> Iterator[str]:
        if self.block_bytes < 1 or self.writers < 1 or self.sync_every < 1 or self.max_bytes_per_s < 1:
            yield "block_bytes, writers, sync_every and max_bytes_per_s must be at least 1"
        if self.enough_ops < 0:
            yield f"enough_ops must be 0 or more, not {self.enough_ops}"
        if self.writers > 64:
            yield f"writers must be at most 64, not {self.writers}"
        if self.file_bytes < self.block_bytes:
            yield f"file_bytes ({self.file_bytes}) is smaller than block_bytes ({self.block_bytes})"
        if self.block_bytes > 8 << 20:
            yield f"block_bytes must be at most 8 MiB, not {self.block_bytes}"
        if self.direct and self.block_bytes % 512:
            yield f"O_DIRECT requires a block size that is a multiple of 512 bytes, not {self.block_bytes}"
        if self.offsets == "append" and self.writers > 1:
            yield "append requires one writer"
        if not 0 <= self.seconds <= MAX_SECONDS:
            yield f"seconds must be between 0 and {MAX_SECONDS}, not {self.seconds}"
        if not 0 <= self.ops_per_s <= MAX_OPS_PER_S:
            yield f"ops_per_s must be between 0 and {MAX_OPS_PER_S}, not {self.ops_per_s}"
        if max(self.file_bytes, self.max_bytes_per_s) > MAX_BYTES:
            yield f"file_bytes and max_bytes_per_s must be at most {MAX_BYTES}"
        if not self.seconds and not self.ops_per_s:
            yield "a step without an end (seconds = 0) requires a rate limit (ops_per_s)"
