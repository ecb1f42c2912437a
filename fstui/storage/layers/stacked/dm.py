"""device-mapper, by target. Its core hands a flush to each device below (Documentation/admin-guide/device-mapper).

Names tell most targets to every user (``dm_names``), the table tells all of them to root (``dm_tables``): ``target``,
``cache_mode`` (dm-cache), ``level`` and ``missing_members`` (dm-raid), ``writes_past`` (cleaner | metadata_only: a
dm-writecache that data is written past), ``persistent`` (yes | no: what a snapshot's store holds after a reboot).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

from fstui.model.storage import Node
from fstui.storage.layers.facts import Fact, one_of
from fstui.storage.layers.handing import (  # fmt: skip
    ALL,
    AT_TIMES,
    CLONES,
    ONE_PATH,
    ONLY_READ,
    Handed,
    Member,
)
from fstui.storage.layers.kinds import Kind
from fstui.storage.layers.sources.claims import Question
from fstui.storage.layers.stacked import dm_tables
from fstui.storage.layers.stacked.cached import Cached
from fstui.storage.layers.stacked.dm_reader import DmReader
from fstui.storage.layers.stacked.levels import Array


class Target(Kind, frozen=True, kw_only=True):
    """The row of a target.

    Device-mapper's core turns the flush before a write into empty ones. The first is a clone of that write, and has its
    FUA, for which a device without FUA is flushed again (drivers/md/dm.c: alloc_tio; block/blk-flush.c). An append
    under ext4 has 3 flushes instead of 2 (6.1, 6.12), data=journal 4 instead of 3 (6.12).
    """

    repeats_commits: bool = True

    def questions(self, nodes: Sequence[Node], sources: Sequence[str]) -> tuple[Question, ...]:
        """One answer tells of all."""
        return (Question(dm_tables.COMMAND, root=True),)


def persistent(node: Node) -> Fact[bool] | None:
    """Whether a snapshot finds what was written again after a reboot."""
    return one_of(node, "persistent", {"yes": True, "no": False})


def sends_requests(node: Node) -> bool | None:
    """Whether a device hands whole requests to its paths, as multipath alone does, whoever may read that it is one: a
    flush among them reaches the path's driver, whatever that path's own queue takes it for (block/blk-mq.c:
    blk_insert_cloned_request). None where it was not read."""
    told = one_of(node, "request_based", {"yes": True, "no": False})
    return told.value if told is not None else None


class Multipath(Target, frozen=True, kw_only=True):
    """The row of dm-multipath. Where it is request-based it counts flushes itself: its paths get clones of the
    requests, which they do not count as flushes."""

    def hands(self, node: Node, member: Member, beside: Collection[str | None], filesystem: Node) -> Handed:
        return CLONES if sends_requests(node) is not False else ONE_PATH


class Raid(Array, Target, frozen=True, kw_only=True):
    """The row of dm-raid, whose level is read."""


class CachedTarget(Cached, Target, frozen=True, kw_only=True):
    """The row of a target in which one device caches for another."""


class Snapshot(Target, frozen=True, kw_only=True):
    """The row of dm-snapshot: every write and every flush goes to its store, the origin is only read
    (drivers/md/dm-snap.c: snapshot_map)."""

    def hands(self, node: Node, member: Member, beside: Collection[str | None], filesystem: Node) -> Handed:
        known = {"cow": ALL, "origin": ONLY_READ}
        return known.get(member.role or "") or super().hands(node, member, beside, filesystem)


class Thin(Target, frozen=True, kw_only=True):
    """The row of dm-thin: everything goes to its pool; an external origin is only read
    (Documentation/admin-guide/device-mapper/thin-provisioning.rst)."""

    def hands(self, node: Node, member: Member, beside: Collection[str | None], filesystem: Node) -> Handed:
        known = {"pool": ALL, "origin": ONLY_READ}
        return ALL if len(beside) == 1 else known.get(member.role or "", AT_TIMES)


_target = partial(Target, layer="block", sync="passes", because="would pass it on")
_cached = partial(CachedTarget, layer="block", sync="passes", may_cache=True)
_COMMITS = "a flush commits the pool's metadata and goes below"
KINDS = (
    # no name tells which target it is
    Target(
        name="dm",
        layer="block",
        known=False,
        device_names="dm-",
        because="what it does with a flush is not told here",
        counts_flushes=True,
        may_cache=True,
    ),
    _target(name="dm-linear", label="linear", adds_bytes=False, takes_part=True),
    _target(name="dm-stripe", label="striped", adds_bytes=False, spreads="stripe", takes_part=True),
    _target(name="dm-crypt", label="encrypted", because="encrypts, and passes a flush on", adds_bytes=False),
    Multipath(
        name="dm-multipath",
        layer="block",
        sync="passes",
        because="a flush takes one of the paths",
        counts_flushes=True,
        adds_bytes=False,
        spreads="path",
    ),
    _target(name="dm-mirror", spreads="raid1", dispensable=("log",)),
    Raid(name="dm-raid", layer="block", sync="passes", because="would pass it on", dispensable=("metadata",)),
    Thin(name="dm-thin", layer="block", sync="passes", because=_COMMITS),
    _target(name="dm-thin-pool", because=_COMMITS),
    Snapshot(name="dm-snapshot", layer="block", sync="passes", because="a flush goes to its store"),
    *(_target(name=name) for name in ("dm-snapshot-merge", "dm-snapshot-origin")),
    _cached(name="dm-cache", because="a flush commits the cache's metadata and goes below"),
    _cached(
        name="dm-writecache",
        because="a flush makes the cache device durable; the origin is written later",
        always_behind=True,
    ),
)
DEVICES = DmReader
