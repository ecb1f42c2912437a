"""One row per kind of layer: what is true of each such layer, and what a single one of them answers."""

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
from fstui.storage.layers.handing import ALL, AT_TIMES, HALVES, ONE_PATH, PART, Handed, Member, by_role
from fstui.storage.tree import Tree

if TYPE_CHECKING:  # which itself asks for rows
    from fstui.storage.layers.flushes import ExpectedFlushes, Range, Sync

Spread = Literal["one", "stripe", "raid1", "raid10", "path"]
"""Over those below: of a stripe and of a mirror each gets every flush, of multiple paths one."""

_NEVER_WAITED_FOR = frozenset({"l2arc", "spare", "metadata"})
"""A read cache, a spare, and the metadata of a cache or a thin pool hold no commit's data."""
_HANDED: dict[Spread, Handed] = {"stripe": PART, "raid1": ALL, "raid10": HALVES, "path": ONE_PATH}


class Unsent(NamedTuple):
    """A filesystem that was told to answer a sync by itself."""

    told: Reading
    option: str
    misses: str
    """What is not asked for: a flush, a commit."""
    means: str
    """What such a sync does instead, in words that go on after "an fsync there"."""
    undo: str
    briefly: str = ""
    """The same as ``means`` in fewer words, where it has many."""
    how: str = "mounted"
    """Where it was told so."""


class Kind(Base, frozen=True, kw_only=True):
    """What is known of a kind of layer."""

    name: str
    layer: Layer
    known: bool = True
    """False: what such a layer does with a write and with a flush is not known. Nothing is expected below it, and
    nothing that it was given is called lost."""
    label: str | None = None
    """What it is called in a stack; None for its own name."""
    device_names: str | None = None
    """How the kernel's names of such devices begin; empty for those that no other kind's names fit."""
    sync: SyncPath = "unknown"
    because: str = ""
    settings: tuple[str, ...] = ()
    """Readings that make another storage of it where they are others, beside ``write_cache``, which always does."""

    counts_flushes: bool = False
    """The driver is request-based: only blk-flush counts flushes, and only such drivers go through it."""
    accounting: Literal["queue", "own", "none"] = "queue"
    """Who counts its reads and writes: the queue where queue/iostats says so, the driver whatever that says, nobody."""
    flush_is_fsync: bool = False
    """One that stands on a file: each flush of it is one fsync of that file, and nothing else syncs it."""
    repeats_commits: bool = False
    """What is written with a flush before it and FUA, as a commit is, comes to one of those below with a flush more."""
    takes_part: bool = False
    """It may stand on a part of what is below, and have nothing to do with the rest."""
    adds_bytes: bool = True
    """More bytes than were written may reach what is below: checksums, parity, metadata."""
    reduces: bool = False
    """Fewer may: it compresses, or keeps equal blocks once."""
    compression: Literal["never", "told", "unknown"] = "unknown"
    """Of a filesystem. ``told``: its options say so."""
    rewrites_in_place: bool = False
    """A filesystem that overwrites a block where it lies."""
    takes_unaligned_direct: bool = False
    """A filesystem that takes O_DIRECT writes smaller than statx(2) has it, through its cache."""
    copies_on_write: bool = False
    """A filesystem that writes several times as many bytes as it was given: that enough arrived proves nothing."""
    may_cache: bool = False
    """Something else than the devices below may answer a write."""
    spreads: Spread = "one"
    dispensable: tuple[str, ...] = ()
    """Roles of layers below without which all that was written is still there, as each leg's own metadata."""

    listed_unused: bool = True
    """A block device that is listed although no filesystem is on it."""
    in_memory: bool = False
    """It forgets with the power."""
    networked: bool = False
    """A block device that is reached over a network."""
    remote: bool = False
    """A filesystem that another machine, or a program, answers for."""
    answered_by: str = "the server"
    across_network: bool = True
    """Of a remote one: a network lies between."""
    judge_there: str = "Run fstui where the data is stored: fsync-rate, in the directory that is shared."
    """Of a remote one: where its syncs can be judged."""
    pseudo: bool = False
    """A window into the kernel: it holds no files."""
    needs_device: bool = True
    """A filesystem on a block device, as far as is known. False: it holds files, and the kernel needs none for it."""
    read_only: bool = False
    """By nature: ``ro`` is no sign of trouble there."""
    over_filesystem: bool = False
    """Its files lie in a directory of another filesystem, which answers for them."""

    members_asked: bool = False
    """What it stands on is told by tools alone, so it has no part in telling this storage from others."""

    flushes_on_sync: bool = False
    """A filesystem whose fsync is known to end in a flush, unless barriers are off."""
    sync_ends_traced: bool = False
    """A filesystem whose trace events tell when each of its syncs begins and when it ends."""
    sync_mount: bool = False
    """``mount -o sync`` makes every write one with O_DSYNC: it asks the kernel's ``iocb_is_dsync``. Measured."""
    barriers_on: str | None = "barrier"
    """The mount option that switches barriers on; None where ``barrier`` was read of a file that takes a 0 for it."""

    def node(self, node_id: str, name: str, **more: Any) -> Node:
        """A layer of this kind."""
        told = {"layer": self.layer, "sync": self.sync, "because": self.because, **more}
        return Node(id=node_id, kind=self.name, name=name, **told)

    def sync_of(self, node: Node) -> tuple[SyncPath, str]:
        """What becomes of a sync here, by what this layer alone says, and why."""
        if (unsent := self.unsent(node)) is not None:
            return "stops", f"{unsent.option}: an fsync {unsent.briefly or unsent.means}"
        return self.sync, self.because

    def unsent(self, node: Node) -> Unsent | None:
        """The option by which it answers syncs itself; None where it has none."""
        return None

    def may_add_bytes(self, node: Node) -> bool:
        """``adds_bytes`` of this very layer."""
        return self.adds_bytes

    def may_compress(self, node: Node) -> bool:
        """Fewer bytes than were written may honestly arrive below, or nobody knows whether."""
        return self.compression == "unknown" or (self.compression == "told" and node.reading("compress") is not None)

    def writes_in_place(self, node: Node) -> bool:
        """``rewrites_in_place`` of this very layer, with its options."""
        return self.rewrites_in_place

    def writes_timestamps(self, node: Node) -> bool:
        """A filesystem that writes each tick of them with the data, by what it is."""
        return False

    def keeps_each_write(self, node: Node) -> bool:
        """Each write is, or may be, durable below before it is acknowledged: no flush is expected there."""
        return not self.known

    def spread(self, node: Node) -> Spread:
        """``spreads`` of this very layer."""
        return self.spreads

    def tolerates(self, node: Node, members: int) -> int:
        """How many of so many layers below may lose everything, and what this one holds is still there."""
        return {"raid1": members - 1, "raid10": 1}.get(self.spread(node), 0)

    def loses(self, node: Node, members: Collection[str], gone: Collection[str]) -> bool:
        """Whether what this one holds is lost with those of the layers below: with too many, or with all there are."""
        return self.known and len(gone) > min(self.tolerates(node, len(members)), max(0, len(members) - 1))

    def corrects(self, node: Node, members: int) -> int:
        """How many of so many layers below may come back without the last they acknowledged: it tells their stale
        copies from good ones by itself. A mirror without checksums may read the stale one."""
        return 0

    def waits_for(self, node: Node, below: Sequence[Node], filesystem: Node) -> tuple[Node, ...] | None:
        """Those of the layers below that a sync waits for; None where that cannot be told.

        ``filesystem``: the topmost of the stack, whose options may pass some by.
        """
        if not self.known:
            return None
        return tuple(child for child in below if node.below_roles.get(child.id) not in _NEVER_WAITED_FOR)

    def questions(self, nodes: Sequence[Node], sources: Sequence[str]) -> tuple[Question, ...]:
        """What to ask tools about all layers of this kind; ``sources`` are what such filesystems are mounted from."""
        return ()

    def counters(self, tree: Tree, nodes: Sequence[Node]) -> Iterable[DeviceCounters]:
        """What filesystems of this kind count by themselves."""
        return ()

    def hands(self, node: Node, member: Member, beside: Collection[str | None], filesystem: Node) -> Handed:
        """What this layer hands to one of those below; ``beside``: the roles of all of them.

        ``filesystem``: whose writes they are; its options may pass some by.
        """
        if not self.known:
            return AT_TIMES
        if self.spread(node) == "one":
            return by_role(member.role, ALL if len(beside) == 1 else PART)
        return by_role(member.role, _HANDED[self.spread(node)])

    def expected_flushes(self, node: Node, sync: Sync, claims_fua: bool | None) -> ExpectedFlushes | None:
        """What each sync of a filesystem of this kind sends down, with barriers on; None where nobody measured it."""
        return None

    def caller_asks(self, node: Node, sync: Sync) -> bool:
        """The thread that syncs asks for each of its flushes itself: no journal's commit, and nobody else's, may do
        in its place."""
        return False

    def expected_of_backing(self, node: Node) -> Range | None:
        """Flushes that an fsync of a loop device's backing file becomes below, with barriers on."""
        return None


def sync_of(node: Node) -> tuple[SyncPath, str]:
    """What becomes of a sync at that layer, by what it alone says, and why."""
    barrier = barriers(node)
    if barrier is not None and not barrier.value:
        return "stops", "nobarrier"
    return kind(node.kind).sync_of(node)


@lru_cache(maxsize=1024)
def kind(name: str) -> Kind:
    """Return the row of that kind, or of the part before its dot (``fuse.sshfs``); else that of an unknown layer."""
    rows = _rows()
    return (
        rows.get(name)
        or rows.get(name.partition(".")[0])
        or Kind(name=name, layer="block", known=False, may_cache=True, reduces=True)
    )


@cache
def modules() -> tuple[ModuleType, ...]:
    """The modules of the families: those that have ``KINDS``."""
    found = pkgutil.walk_packages(fstui.storage.layers.__path__, "fstui.storage.layers.")
    return tuple(module for each in found if hasattr(module := importlib.import_module(each.name), "KINDS"))


@cache
def _rows() -> dict[str, Kind]:
    return {row.name: row for module in modules() for row in module.KINDS}
