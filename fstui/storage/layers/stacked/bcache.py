"""bcache, and what it shares with dm-cache and dm-writecache: a fast device that caches for a slow one.

Readings: ``cache_mode``, and ``synchronous`` (0: the cache is discarded at the next start). See
Documentation/admin-guide/bcache.rst.
"""

import re
from collections.abc import Collection, Sequence

from fstui.model.storage import Node, Reading
from fstui.storage.layers.facts import off_reading
from fstui.storage.layers.forwarding import (
    ALL,
    CACHED_BLOCK_LIST,
    COPY,
    FAST_DEVICE,
    LATER_WRITES,
    PART,
    SOMETIMES,
    Forwarded,
    by_role,
)
from fstui.storage.layers.kinds import LayerKind, SkippedSync
from fstui.storage.layers.readers import DeviceReader, LayerDescription, without_none


class CacheKind(LayerKind, frozen=True, kw_only=True):
    """The kind of a layer in which one device caches for another."""

    always_writeback: bool = False
    """The slow device is always written later. False: see ``cache_mode``."""

    def waits_for(self, node: Node, below: Sequence[Node], filesystem: Node) -> tuple[Node, ...] | None:
        """Return the fast device for a write-back cache, else the slow one; None if mode or roles are unknown."""
        unneeded_role = self._unneeded_role(node)
        below = super().waits_for(node, below, filesystem) or ()
        awaited_layers = tuple(child for child in below if node.below_roles.get(child.id) != unneeded_role)
        # if no layer below has the role, the roles are unknown
        return awaited_layers if unneeded_role and len(awaited_layers) < len(below) else None

    def forwards(self, node: Node, member: str, filesystem: Node) -> Forwarded:
        """Return what is forwarded to the member, by its role and the mode of the cache."""
        role, unneeded_role = node.below_roles.get(member), self._unneeded_role(node)
        if (unneeded_role, role) == ("cache", "metadata"):  # in a write-through cache, all blocks are copies
            return CACHED_BLOCK_LIST
        if unneeded_role is None or role not in ("cache", "origin"):
            return by_role(role, SOMETIMES)
        if self.always_writeback:
            return LATER_WRITES if role == "origin" else FAST_DEVICE
        if unneeded_role == "origin":
            return PART
        return ALL if role == "origin" else COPY

    def loses_data(self, node: Node, members: Collection[str], failed: Collection[str]) -> bool:
        return self.knows(node) and super().loses_data(node, members, failed)

    def _unneeded_role(self, node: Node) -> str | None:
        """Return the role of the device that no sync waits for; None if unknown."""
        if self.always_writeback:
            return "origin"
        mode = node.value("cache_mode")
        if mode is None:
            return None
        return "origin" if mode == "writeback" else "cache"


class BcacheReader(DeviceReader):
    def read(self, name: str) -> LayerDescription:
        slaves = self.slaves(name)
        return LayerDescription(
            below=slaves,
            readings=(*self._cache_settings(f"/sys/block/{name}/bcache"), *self.queue_readings(name)),
            identity=self.tree.stripped(f"/sys/block/{name}/bcache/backing_dev_uuid") or "",
            roles={slave: role for slave in slaves if (role := self._role(slave))},
        )

    def _cache_settings(self, directory: str) -> tuple[Reading, ...]:
        """Return ``cache_mode``, and ``synchronous`` of the cache set."""
        path = f"{directory}/cache_mode"
        match = re.search(r"\[(\w+)\]", self.tree.text(path) or "")
        mode = Reading(what="cache_mode", value=match[1], path=path) if match else None
        return without_none([mode, self.tree.reading(_SYNCHRONOUS, f"{directory}/cache/{_SYNCHRONOUS}")])

    def _role(self, slave: str) -> str | None:
        # only a caching device has a replacement policy, and only a backing device a cache mode
        roles = (("cache_replacement_policy", "cache"), ("cache_mode", "origin"))
        return next((role for file, role in roles if self.tree.exists(f"/sys/class/block/{slave}/bcache/{file}")), None)


_SYNCHRONOUS = "synchronous"


class Bcache(CacheKind, frozen=True, kw_only=True):
    def skipped_sync(self, node: Node) -> SkippedSync | None:
        """Return ``synchronous`` if it is off.

        Then no flush commits the journal of the cache, and the next start discards the content of the cache
        (drivers/md/bcache/journal.c: bch_journal; super.c: run_cache_set). 300 syncs caused no flush (Linux 6.12).
        """
        if (reading := off_reading(node, _SYNCHRONOUS)) is None or self._unneeded_role(node) != "origin":
            return None
        return SkippedSync(
            reading=reading,
            option_verb="set up",
            option=f"{_SYNCHRONOUS} 0",
            skipped_request="flush",
            effect="does not commit the cache's journal, so the next start discards the cached blocks",
            undo=f"Turn it on, then run again: 'echo 1 > {reading.path}'",
        )

    def forwards(self, node: Node, member: str, filesystem: Node) -> Forwarded:
        forwarded = super().forwards(node, member, filesystem)
        return CACHED_BLOCK_LIST if forwarded == COPY and off_reading(node, _SYNCHRONOUS) else forwarded


KINDS = (
    Bcache(
        name="bcache",
        name_prefix="bcache",
        reader=BcacheReader,
        sync="passes",
        reason="a flush commits the cache's journal and goes to the backing device",
        accounting="own",
        may_cache=True,
        settings=("cache_mode",),
    ),
)
