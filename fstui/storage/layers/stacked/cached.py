"""What a layer with a fast and a slow device below waits for, as bcache, dm-cache and dm-writecache have."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fstui.model.storage import Node
from fstui.storage.layers.facts import word
from fstui.storage.layers.handing import (
    ALL,
    AT_TIMES,
    BYTES_ALONE,
    COPIES_NOTED,
    COPY,
    PART,
    WRITTEN_LATER,
    Handed,
    Member,
    by_role,
)
from fstui.storage.layers.kinds import Kind

_WRITES_PAST = "writes_past"
"""A dm-writecache that accepts no new blocks (cleaner), or only metadata: other writes go straight to the slow device,
and so does each flush (drivers/md/dm-writecache.c: writecache_map_write, num_flush_bios)."""
_WRITTEN_PAST = Handed("each", "sometimes", "shared")


class Cached(Kind, frozen=True, kw_only=True):
    """The row of a layer in which one device caches for another."""

    always_behind: bool = False
    """The slow device is always written later, unless it is written past; else its cache mode decides."""

    def waits_for(self, node: Node, below: Sequence[Node], filesystem: Node) -> tuple[Node, ...] | None:
        """The fast device where writes are held back, else the slow one; None where mode or roles were not read."""
        idle = self._written_later(node)
        below = super().waits_for(node, below, filesystem) or ()
        used = tuple(child for child in below if node.below_roles.get(child.id) != idle)
        return used if idle and len(used) < len(below) else None

    def hands(self, node: Node, member: Member, beside: Collection[str | None], filesystem: Node) -> Handed:
        """A flush goes to both devices, but for one that is always written later; a write where the mode says."""
        later = self._written_later(node)
        if self.always_behind and (past := word(node, _WRITES_PAST)) is not None:
            # a cleaner may hold nothing any more, which only its status tells
            cache = COPIES_NOTED if past.value == "cleaner" else BYTES_ALONE
            return by_role(member.role, cache if member.role == "cache" else _WRITTEN_PAST)
        if (later, member.role) == ("cache", "metadata"):
            return COPIES_NOTED
        if later is None or member.role not in ("cache", "origin"):
            return by_role(member.role, AT_TIMES)
        if self.always_behind:
            return BYTES_ALONE if member.role == "origin" else WRITTEN_LATER
        if later == "origin":
            return PART
        return ALL if member.role == "origin" else COPY

    def _written_later(self, node: Node) -> str | None:
        """The role of the device that no sync waits for."""
        if self.always_behind:
            return "origin" if node.reading(_WRITES_PAST) is None else None
        mode = word(node, "cache_mode")
        return None if mode is None else "origin" if mode.value == "writeback" else "cache"
