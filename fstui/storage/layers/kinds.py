"""One row per kind of layer: what is true of each such layer, and what one layer of the kind answers."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Collection, Iterable, Sequence
from functools import cache, lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import fstui.storage.layers
from fstui.model.base import Base
from fstui.model.counters import DeviceCounters
from fstui.model.storage import Layer, Node, Reading, SyncPath
from fstui.storage.claims import Question
from fstui.storage.layers.facts import barriers
from fstui.storage.layers.forwarding import ALL, AT_TIMES, HALVES, ONE_PATH, PART, Forwarded, Member, by_role
from fstui.storage.tree import Tree

if TYPE_CHECKING:  # flushes.py imports this module
    from fstui.storage.layers.flushes import ExpectedFlushes, Range, Sync

Spread = Literal["one", "stripe", "raid1", "raid10", "path"]
"""How writes are distributed over the layers below. Each stripe and each member of a mirror gets every flush; of
several paths one gets it."""

_NEVER_WAITED_FOR = frozenset({"l2arc", "spare", "metadata"})
"""Roles that hold no data of a commit: a read cache, a spare, the metadata of a cache or a thin pool."""
_BY_SPREAD: dict[Spread, Forwarded] = {"stripe": PART, "raid1": ALL, "raid10": HALVES, "path": ONE_PATH}


class Unsent(NamedTuple):
    """An option by which a layer answers syncs without sending them on."""

    reading: Reading
    option: str
    misses: str
    """What it does not send: a flush, a commit."""
    means: str
    """What it does instead, in words that continue "an fsync there"."""
    undo: str
    briefly: str = ""
    """``means`` in fewer words, if it is long."""
    how: str = "mounted"
    flushed_later: bool = False
    """Only the flush is late: the data is on the layers below when the sync is answered, so their caches decide."""


class Kind(Base, frozen=True, kw_only=True):
    """What is known of a kind of layer."""

    name: str
    layer: Layer
    known: bool = True
    """False: it is not known what the layer does with a write or a flush. Nothing is expected below it, and nothing
    that it got is called lost."""
    label: str | None = None
    """The name shown in a stack; None: ``name``."""
    device_names: str | None = None
    """How the kernel's names of such devices begin; empty for devices that match no other kind."""
    sync: SyncPath = "unknown"
    because: str = ""
    settings: tuple[str, ...] = ()
    """Readings that are part of the identity of a filesystem's stack, in addition to ``write_cache``."""

    counts_flushes: bool = False
    """The driver is request-based. Only blk-flush counts flushes, and only request-based drivers use it."""
    accounting: Literal["queue", "own", "none"] = "queue"
    """The counter of reads and writes: the queue if ``queue/iostats`` is 1, the driver in any case, or none."""
    flush_is_fsync: bool = False
    """Each flush is one fsync of the file below, and nothing else syncs that file."""
    repeats_commits: bool = False
    """A write with a preceding flush and FUA, such as a commit, reaches one of the layers below with one more flush."""
    adds_bytes: bool = True
    """More bytes than were written may reach the layers below: checksums, parity, metadata."""
    reduces: bool = False
    """Fewer bytes may reach the layers below: compression, deduplication."""
    compression: Literal["never", "optional", "unknown"] = "unknown"
    """Whether a filesystem compresses; ``optional``: if its options say so."""
    rewrites_in_place: bool = False
    """The filesystem overwrites a block in its place."""
    takes_unaligned_direct: bool = False
    """The filesystem accepts O_DIRECT writes smaller than statx(2) reports, through its cache."""
    copies_on_write: bool = False
    """The filesystem writes several times as many bytes as it gets, so the number of bytes proves nothing."""
    may_cache: bool = False
    """Something other than the devices below may answer a write."""
    spreads: Spread = "one"
    dispensable: tuple[str, ...] = ()
    """Roles of layers below without which no data is lost, such as the metadata of each member."""

    listed_unused: bool = True
    """A block device that is listed although no filesystem is on it."""
    in_memory: bool = False
    networked: bool = False
    """A block device that is reached over a network."""
    remote: bool = False
    """A filesystem that another host or a program provides."""
    answered_by: str = "the server"
    across_network: bool = True
    """A network lies between this host and the one that provides the filesystem."""
    judge_there: str = "Run fstui where the data is stored: fsync-rate, in the directory that is shared."
    """How to judge a remote filesystem."""
    pseudo: bool = False
    """An interface of the kernel, which holds no files."""
    needs_device: bool = True
    """False: a filesystem that holds files, and for which the kernel needs no block device."""
    read_only: bool = False
    """Read-only by nature: ``ro`` is no sign of trouble."""
    over_filesystem: bool = False
    """Its files are stored in a directory of another filesystem."""
    members_asked: bool = False
    """Only tools report the layers below, so these are no part of the identity of the stack."""

    flushes_on_sync: bool = False
    """An fsync ends in a flush unless barriers are off."""
    sync_ends_traced: bool = False
    """Trace events of the filesystem mark the beginning and the end of each sync."""
    sync_mount: bool = False
    """``mount -o sync`` makes every write an O_DSYNC write: the driver uses ``iocb_is_dsync``. Measured."""
    barriers_on: str | None = "barrier"
    """The mount option that enables barriers; None if ``barrier`` was read from a file that accepts 0."""

    def node(self, node_id: str, name: str, **more: Any) -> Node:
        """Return a layer of this kind."""
        fields = {"layer": self.layer, "sync": self.sync, "because": self.because, **more}
        return Node(id=node_id, kind=self.name, name=name, **fields)

    def sync_of(self, node: Node) -> tuple[SyncPath, str]:
        """Return what happens to a sync in this layer, and why."""
        if (unsent := self.unsent(node)) is not None:
            return "stops", f"{unsent.option}: an fsync {unsent.briefly or unsent.means}"
        return self.sync, self.because

    def unsent(self, node: Node) -> Unsent | None:
        """Return the option by which the layer answers syncs itself, or None."""
        return None

    def may_add_bytes(self, node: Node) -> bool:
        return self.adds_bytes

    def may_compress(self, node: Node) -> bool:
        """Return whether fewer bytes than were written may reach the layers below, or whether that is not known."""
        return node.reading("compress") is not None if self.compression == "optional" else self.compression == "unknown"

    def writes_in_place(self, node: Node) -> bool:
        return self.rewrites_in_place

    def writes_timestamps(self, node: Node) -> bool:
        """Return whether a filesystem writes each new timestamp with the data."""
        return False

    def keeps_each_write(self, node: Node) -> bool:
        """Return whether each write is, or may be, durable before it is acknowledged, so that no flush is expected."""
        return not self.known

    def spread(self, node: Node) -> Spread:
        return self.spreads

    def tolerates(self, node: Node, members: int) -> int:
        """Return how many of that many members may be lost without a loss of data."""
        return {"raid1": members - 1, "raid10": 1}.get(self.spread(node), 0)

    def loses(self, node: Node, members: Collection[str], gone: Collection[str]) -> bool:
        """Return whether data is lost with the members that are gone."""
        return self.known and len(gone) > min(self.tolerates(node, len(members)), max(0, len(members) - 1))

    def corrects(self, node: Node, members: int) -> int:
        """Return how many members may return without their newest writes.

        The layer itself must tell stale copies from good ones. A mirror without checksums may read the stale one.
        """
        return 0

    def waits_for(self, node: Node, below: Sequence[Node], filesystem: Node) -> tuple[Node, ...] | None:
        """Return the layers below that a sync waits for; None if that is not known.

        ``filesystem``: the topmost of the stack, whose options may exclude some.
        """
        if not self.known:
            return None
        return tuple(child for child in below if node.below_roles.get(child.id) not in _NEVER_WAITED_FOR)

    def questions(self, nodes: Sequence[Node], sources: Sequence[str]) -> tuple[Question, ...]:
        """Return what to ask tools about all layers of this kind; ``sources``: the sources of such mounts."""
        return ()

    def counters(self, tree: Tree, nodes: Sequence[Node]) -> Iterable[DeviceCounters]:
        """Return what filesystems of this kind count themselves."""
        return ()

    def forwards(self, node: Node, member: Member, roles: Collection[str | None], filesystem: Node) -> Forwarded:
        """Return what this layer forwards to one of the layers below.

        ``roles``: of all layers below. ``filesystem``: the one that writes, whose options may exclude some.
        """
        if not self.known:
            return AT_TIMES
        if self.spread(node) == "one":
            return by_role(member.role, ALL if len(roles) == 1 else PART)
        return by_role(member.role, _BY_SPREAD[self.spread(node)])

    def expected_flushes(self, node: Node, sync: Sync, claims_fua: bool | None) -> ExpectedFlushes | None:
        """Return the flushes that a filesystem of this kind sends for each sync if barriers are on; None if unknown."""
        return None

    def caller_flushes(self, node: Node, sync: Sync) -> bool:
        """Return whether the thread that syncs sends each of its flushes itself, and no journal does so instead."""
        return False

    def expected_of_backing(self, node: Node) -> Range | None:
        """Return the flushes that an fsync of a loop device's backing file becomes, if barriers are on."""
        return None


def sync_of(node: Node) -> tuple[SyncPath, str]:
    """Return what happens to a sync in that layer, and why, according to the layer alone."""
    barrier = barriers(node)
    if barrier is not None and not barrier.value:
        return "stops", "nobarrier"
    return kind(node.kind).sync_of(node)


@lru_cache(maxsize=1024)
def kind(name: str) -> Kind:
    """Return the row of that kind, or of the part before its dot (``fuse.sshfs``); else a row for an unknown layer."""
    rows = _rows()
    return (
        rows.get(name)
        or rows.get(name.partition(".")[0])
        or Kind(name=name, layer="block", known=False, may_cache=True, reduces=True)
    )


@cache
def modules() -> tuple[ModuleType, ...]:
    """Return the modules that define ``KINDS``."""
    found = pkgutil.walk_packages(fstui.storage.layers.__path__, "fstui.storage.layers.")
    return tuple(module for each in found if hasattr(module := importlib.import_module(each.name), "KINDS"))


@cache
def _rows() -> dict[str, Kind]:
    return {row.name: row for module in modules() for row in module.KINDS}
