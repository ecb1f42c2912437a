"""bcache, and what it shares with dm-cache and dm-writecache: a fast device that caches for a slow one.

Readings: ``cache_mode``, and ``synchronous`` (0: the cache is discarded at the next start). See
Documentation/admin-guide/bcache.rst.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from fstui.model.storage import Node, Reading
from fstui.storage.layers.facts import switched_off
from fstui.storage.layers.forwarding import (
    ALL,
    BYTES_ALONE,
    COPIES_NOTED,
    COPY,
    PART,
    SOMETIMES,
    WRITTEN_LATER,
    Forwarded,
    Member,
    by_role,
)
from fstui.storage.layers.kinds import LayerKind, SkippedSync
from fstui.storage.layers.readers import DeviceReader, LayerDescription, without_none

_WRITES_PAST = "writes_past"
"""A reading of a dm-writecache that accepts no new blocks (cleaner) or only metadata. Other writes, and every flush, go
straight to the slow device (drivers/md/dm-writecache.c: writecache_map_write, num_flush_bios)."""
_BYPASSED = Forwarded("each", "sometimes", "shared")
"""The slow device of such a dm-writecache: every flush and a part of the writes."""


class Cached(LayerKind, frozen=True, kw_only=True):
    """The row of a layer in which one device caches for another."""

    always_writeback: bool = False
    """The slow device is always written later, except for writes that bypass the cache. False: ``cache_mode``
    decides."""

    def waits_for(self, node: Node, below: Sequence[Node], filesystem: Node) -> tuple[Node, ...] | None:
        """Return the fast device for a write-back cache, else the slow one; None if mode or roles are unknown."""
        later = self._written_later(node)
        below = super().waits_for(node, below, filesystem) or ()
        used = tuple(child for child in below if node.below_roles.get(child.id) != later)
        return used if later and len(used) < len(below) else None  # no layer below with the role: roles are unknown

    def forwards(self, node: Node, member: Member, roles: Collection[str | None], filesystem: Node) -> Forwarded:
        """Return what the member gets: each flush, unless it is always written later, and writes by ``cache_mode``."""
        later = self._written_later(node)
        if self.always_writeback and (past := node.value(_WRITES_PAST)) is not None:
            # a cleaner's cache may be empty already, which only its status shows, so no flush is expected there
            cache = COPIES_NOTED if past == "cleaner" else BYTES_ALONE
            return by_role(member.role, cache if member.role == "cache" else _BYPASSED)
        if (later, member.role) == ("cache", "metadata"):  # in a write-through cache, all blocks are copies
            return COPIES_NOTED
        if later is None or member.role not in ("cache", "origin"):
            return by_role(member.role, SOMETIMES)
        if self.always_writeback:
            return BYTES_ALONE if member.role == "origin" else WRITTEN_LATER
        if later == "origin":
            return PART
        return ALL if member.role == "origin" else COPY

    def _written_later(self, node: Node) -> str | None:
        """Return the role of the device that no sync waits for."""
        if self.always_writeback:
            return "origin" if node.reading(_WRITES_PAST) is None else None
        mode = node.value("cache_mode")
        return None if mode is None else "origin" if mode == "writeback" else "cache"


class BcacheReader(DeviceReader):
    def read(self, name: str) -> LayerDescription:
        slaves = self.slaves(name)
        return LayerDescription(
            below=slaves,
            readings=(*self._own(f"/sys/block/{name}/bcache"), *self.queue(name)),
            identity=self.tree.word(f"/sys/block/{name}/bcache/backing_dev_uuid") or "",
            roles=dict(self._roles(slaves)),
        )

    def _own(self, directory: str) -> tuple[Reading, ...]:
        """Return ``cache_mode``, and ``synchronous`` of the cache set."""
        path = f"{directory}/cache_mode"
        chosen = re.search(r"\[(\w+)\]", self.tree.text(path) or "")
        mode = Reading(what="cache_mode", value=chosen[1], path=path) if chosen else None
        return without_none([mode, self.tree.reading(_SYNCHRONOUS, f"{directory}/cache/{_SYNCHRONOUS}")])

    def _roles(self, slaves: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """Yield the role of each device: only a backing device has a cache mode, only a caching device a replacement
        policy."""
        for slave in slaves:
            home = f"/sys/class/block/{slave}/bcache"
            for file, role in (("cache_replacement_policy", "cache"), ("cache_mode", "origin")):
                if self.tree.exists(f"{home}/{file}"):
                    yield slave, role
                    break


_SYNCHRONOUS = "synchronous"


class Bcache(Cached, frozen=True, kw_only=True):
    def skipped_sync(self, node: Node) -> SkippedSync | None:
        """Return ``synchronous`` if it is off.

        Then no flush commits the journal of the cache, and the next start discards the content of the cache
        (drivers/md/bcache/journal.c: bch_journal; super.c: run_cache_set). 300 syncs caused no flush (Linux 6.12).
        """
        if (reading := switched_off(node, _SYNCHRONOUS)) is None or self._written_later(node) != "origin":
            return None
        return SkippedSync(
            reading=reading,
            how="set up",
            option=f"{_SYNCHRONOUS} 0",
            misses="flush",
            means="commits no journal of the cache, whose blocks the next start throws away",
            undo=f"Turn it on, then run again: 'echo 1 > {reading.path}'",
        )

    def forwards(self, node: Node, member: Member, roles: Collection[str | None], filesystem: Node) -> Forwarded:
        found = super().forwards(node, member, roles, filesystem)
        return COPIES_NOTED if found == COPY and switched_off(node, _SYNCHRONOUS) else found


KINDS = (
    Bcache(
        name="bcache",
        layer="block",
        device_names="bcache",
        sync="passes",
        because="a flush commits the cache's journal and goes to the backing device",
        accounting="own",
        may_cache=True,
        settings=("cache_mode",),
    ),
)
DEVICES = BcacheReader
