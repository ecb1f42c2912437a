"""The properties of each kind of layer. The fields describe all layers of a kind, the methods one such layer."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import fstui.storage.layers
from fstui.model.base import Base
from fstui.model.counters import DeviceCounters
from fstui.model.storage import Layer, Node, Reading, SyncPath
from fstui.storage.layers.facts import barriers_off
from fstui.storage.layers.forwarding import ALL, ONE_PATH, PART, SOMETIMES, TWO_COPIES, Forwarded, by_role
from fstui.storage.tool_output import Command
from fstui.storage.tree import Tree

if TYPE_CHECKING:  # flushes.py imports this module
    from fstui.storage.layers.flushes import ExpectedFlushes, Range, Sync

Spread = Literal["one", "stripe", "raid1", "raid10", "path"]
"""How writes are distributed over the layers below. A flush goes to every stripe and to every member of a mirror, but
to only one of several paths."""

_NEVER_WAITED_FOR = frozenset({"l2arc", "spare", "metadata"})
"""Roles of devices to which a commit writes no data: a read cache, a spare, the metadata of a cache or a thin pool."""
_BY_SPREAD: dict[Spread, Forwarded] = {"stripe": PART, "raid1": ALL, "raid10": TWO_COPIES, "path": ONE_PATH}


class SkippedSync(NamedTuple):
    """An option that makes a layer acknowledge syncs without forwarding them."""

    reading: Reading
    """The reading that shows the option."""
    option: str
    skipped_request: str
    """The request that the layer does not send: a flush, a commit."""
    effect: str
    """What an fsync does instead, as a phrase that follows "an fsync there"."""
    undo: str
    option_verb: str = "mounted"
    """How the option was chosen: "mounted" or "set up" with it."""
    flushed_later: bool = False
    """The layers below have the data when the sync is acknowledged, and are flushed later. Whether the data survives a
    power cut then depends on the caches of these layers."""


class LayerKind(Base, frozen=True, kw_only=True):
    name: str
    layer: Layer = "block"
    is_known: bool = True
    """False: it is unknown how the layer handles writes and flushes. Then no flush is expected below the layer, and no
    flush is reported as lost."""
    unsupported_readings: tuple[str, ...] = ()
    """Readings of settings with which the same is unknown of a layer of this kind."""
    label: str | None = None
    """The name shown in a stack; None: ``name``."""
    name_prefix: str | None = None
    """Prefix of the kernel's names of such devices, such as ``dm-``. Empty: all devices that match no other kind. None:
    the name of a device does not show whether it is of this kind."""
    reader: type[Any] | None = None
    """The subclass of ``FilesystemReader`` or ``DeviceReader`` that reads such layers; None: the class itself."""
    sync: SyncPath = "unknown"
    reason: str = ""
    settings: tuple[str, ...] = ()
    """Readings that are part of the identity of a filesystem's stack, in addition to ``write_cache``."""

    counts_flushes: bool = False
    """The kernel counts flushes of such devices, as it does only for request-based drivers, which use blk-flush."""
    accounting: Literal["queue", "own", "none"] = "queue"
    """What counts reads and writes. ``queue``: the block layer, unless ``queue/iostats`` is 0. ``own``: the driver."""
    flush_is_fsync: bool = False
    """Each flush becomes one fsync of the file below, and nothing else syncs that file."""
    repeats_commits: bool = False
    """A write with a preceding flush and FUA, such as a commit, causes an extra flush in one of the layers below."""
    adds_bytes: bool = True
    """The layers below may receive more bytes than were written: checksums, parity, metadata."""
    may_reduce_bytes: bool = False
    """The layers below may receive fewer bytes than were written: compression, deduplication."""
    compression: Literal["never", "optional", "unknown"] = "unknown"
    """Whether a filesystem compresses data; ``optional``: its options decide."""
    rewrites_in_place: bool = False
    """The filesystem overwrites existing blocks instead of writing to new ones."""
    accepts_unaligned_direct: bool = False
    """The filesystem accepts O_DIRECT writes that are smaller than statx(2) requires, and caches them."""
    copies_on_write: bool = False
    """The filesystem is copy-on-write. It also writes new metadata for each block, so byte counts prove nothing."""
    may_cache: bool = False
    """Something other than the devices below, such as a cache, may acknowledge a write."""
    default_spread: Spread = "one"
    dispensable_roles: tuple[str, ...] = ()
    """Roles of layers below that can fail without data loss, such as the metadata of each member."""

    listed_unused: bool = True
    """Such a block device is listed even if no filesystem is on it."""
    in_memory: bool = False
    networked: bool = False
    """A block device whose data is on another host."""
    remote: bool = False
    """A filesystem that another host or a program in user space provides."""
    served_by: str = "the server"
    """What provides the filesystem, in words."""
    across_network: bool = True
    """A network lies between this host and the one that provides the filesystem."""
    advice: str = "Run the scenario fsync-rate on the host that stores the data, in the shared directory."
    """The advice for a remote filesystem, which cannot be judged on this host."""
    pseudo: bool = False
    needs_device: bool = True
    """False: the filesystem holds files, but not on one block device: in memory, on a server, on several members."""
    read_only: bool = False
    """Such a filesystem is always read-only, so the option ``ro`` does not indicate an error."""
    uses_directory: bool = False
    """Its files are stored in a directory of another filesystem."""

    flushes_on_sync: bool = False
    """Each fsync sends a flush, unless barriers are off."""
    traces_syncs: bool = False
    """The filesystem has trace events for the start and the end of each sync."""
    barrier_option: str | None = "barrier"
    """The mount option that enables barriers; None: writing 0 to the file of a module parameter enables them."""

    def node(self, node_id: str, name: str, **fields: Any) -> Node:
        all_fields = {"layer": self.layer, "sync": self.sync, "reason": self.reason, **fields}
        return Node(id=node_id, kind=self.name, name=name, **all_fields)

    def unsupported_setting(self, node: Node) -> Reading | None:
        return next((reading for what in self.unsupported_readings if (reading := node.reading(what))), None)

    def knows(self, node: Node) -> bool:
        """Return whether fstui knows how this layer handles writes and flushes."""
        return self.is_known and self.unsupported_setting(node) is None

    def sync_of(self, node: Node) -> tuple[SyncPath, str]:
        if (skipped := self.skipped_sync(node)) is not None:
            return "stops", f"{skipped.option}: an fsync {skipped.effect}"
        return self.sync, self.reason

    def skipped_sync(self, node: Node) -> SkippedSync | None:
        """Return the option that makes the layer acknowledge syncs without forwarding them, or None."""
        return None

    def may_add_bytes(self, node: Node) -> bool:
        return self.adds_bytes

    def may_compress(self, node: Node) -> bool:
        """Return whether the layers below may receive fewer bytes than were written; True if that is unknown."""
        return node.reading("compress") is not None if self.compression == "optional" else self.compression == "unknown"

    def writes_in_place(self, node: Node) -> bool:
        return self.rewrites_in_place

    def writes_timestamps(self, node: Node) -> bool:
        """Return whether a filesystem writes the new timestamp of a file with each write of data."""
        return False

    def is_each_write_durable(self, node: Node) -> bool:
        """Return whether no flush is expected: each acknowledged write is durable, or may be, as in an unknown kind."""
        return not self.is_known

    def spread(self, node: Node) -> Spread:
        return self.default_spread

    def tolerated_failures(self, node: Node, members: int) -> int:
        """Return how many of ``members`` may fail without data loss."""
        return {"raid1": members - 1, "raid10": 1}.get(self.spread(node), 0)

    def loses_data(self, node: Node, members: Collection[str], failed: Collection[str]) -> bool:
        """Return whether data is lost if the members ``failed`` fail; True if all fail, False for an unknown layer."""
        tolerance = min(self.tolerated_failures(node, len(members)), max(0, len(members) - 1))
        return self.is_known and len(failed) > tolerance

    def tolerated_stale_members(self, node: Node, members: int) -> int:
        """Return how many members may return with stale data, because the layer detects and corrects stale blocks."""
        return 0

    def waits_for(self, node: Node, below: Sequence[Node], filesystem: Node) -> tuple[Node, ...] | None:
        """Return the layers below that a sync of the topmost filesystem waits for; None if they are unknown."""
        if not self.knows(node):
            return None
        return tuple(child for child in below if node.below_roles.get(child.id) not in _NEVER_WAITED_FOR)

    def commands(self, nodes: Sequence[Node], sources: Sequence[str]) -> tuple[Command, ...]:
        """Return the commands that report on all layers of this kind. ``sources``: the sources of their mounts."""
        return ()

    def counters(self, tree: Tree, nodes: Sequence[Node]) -> Iterable[DeviceCounters]:
        return ()

    def forwards(self, node: Node, member: str, filesystem: Node) -> Forwarded:
        """Return what this layer forwards to the layer below with the id ``member``.

        ``filesystem``: the filesystem that writes. Its options may exclude members.
        """
        if self.spread(node) == "one":
            # the only layer below gets everything; each of several segments gets its own part
            return by_role(node.below_roles.get(member), ALL if len(node.below) == 1 else PART)
        return by_role(node.below_roles.get(member), _BY_SPREAD[self.spread(node)])

    def expected_flushes(self, node: Node, sync: Sync, claims_fua: bool | None) -> ExpectedFlushes | None:
        """Return the flushes that a filesystem of this kind sends for each sync if barriers are on; None if unknown."""
        return None

    def syncing_thread_sends_flushes(self, node: Node, sync: Sync) -> bool:
        """Return whether the thread that syncs sends all flushes of the sync itself, without a journal thread."""
        return False

    def flushes_per_backing_fsync(self, node: Node) -> Range | None:
        """Return how many flushes an fsync of a loop device's backing file causes, if barriers are on."""
        return None


def sync_of(node: Node) -> tuple[SyncPath, str]:
    """Return what happens to a sync in a layer, and why. The layers below are not considered."""
    if barriers_off(node):
        return "stops", "nobarrier"
    return kind(node.kind).sync_of(node)


def forwarding_of(node: Node, member: str, filesystem: Node) -> Forwarded:
    """Return what a layer forwards to the layer below with the id ``member``. See ``LayerKind.forwards``."""
    layer_kind = kind(node.kind)
    return layer_kind.forwards(node, member, filesystem) if layer_kind.knows(node) else SOMETIMES


@lru_cache(maxsize=1024)
def kind(name: str) -> LayerKind:
    """Return the kind with that name, or with the part of the name before a dot, or else an unknown kind."""
    kinds = all_kinds()
    return (
        kinds.get(name)
        or kinds.get(name.partition(".")[0])
        or LayerKind(name=name, is_known=False, may_cache=True, may_reduce_bytes=True)
    )


def group_by_kind(nodes: Iterable[Node]) -> Mapping[str, list[Node]]:
    groups: dict[str, list[Node]] = {}
    for node in nodes:
        groups.setdefault(node.kind, []).append(node)
    return groups


@cache
def all_kinds() -> dict[str, LayerKind]:
    infos = pkgutil.walk_packages(fstui.storage.layers.__path__, "fstui.storage.layers.")
    modules = (importlib.import_module(info.name) for info in infos)
    return {layer_kind.name: layer_kind for module in modules for layer_kind in getattr(module, "KINDS", ())}
