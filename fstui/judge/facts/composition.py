"""Calculate how many of a filesystem's flushes and bytes arrived below it, from the counters of the layers.

What a layer without counters received follows from the layers below it. If each of them receives everything, it is the
range of their counts. If they share it, it is the sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from math import inf, isinf
from typing import Literal, NamedTuple

from fstui.judge.facts.stack import Level, Stack
from fstui.model.counters import DeviceCounters
from fstui.model.steps import Snapshot, Step
from fstui.model.storage import Node
from fstui.storage.layers.flushes import Range
from fstui.storage.layers.forwarding import SOMETIMES, Forwarded, How, Member
from fstui.storage.layers.kinds import kind

Quantity = Literal["flushes", "fua", "bytes"]
"""``flushes``: empty flushes. ``fua``: FUA writes, each of which a device without FUA counts as a flush. ``bytes``:
bytes written."""
Requested = Callable[[Node], float | None]
"""Returns the flushes and FUA writes that the kernel's trace saw at a layer; None for a layer without a trace."""
UNKNOWN = Range(inf, 0)
"""Flushes are reported missing only if ``low`` is small, and as arrived only if ``high`` is large, so this inverted
range supports neither. The minimum of ``low`` and the maximum of ``high`` over members ignore it."""
MIN_SHARE = 0.1
"""A member with less than this share of the busiest member's bytes was idle in the step."""


class Edge(NamedTuple):
    """A layer below another, and what the upper one forwards to it."""

    node: Node
    forwarded: Forwarded

    def how(self, what: Quantity) -> How:
        forwarded = self.forwarded
        return {"flushes": forwarded.flushes, "fua": forwarded.fua_writes, "bytes": forwarded.bytes}[what]


class Composition:
    """The layers below one filesystem, down to the next filesystem or the lowest devices, and their counters."""

    def __init__(
        self, stack: Stack, level: Level, step: Step | Snapshot, requested: Requested = lambda _: None
    ) -> None:
        """``requested`` is preferred to counters."""
        self._stack, self._level, self._step, self._requested = stack, level, step, requested
        self._filesystem = level.filesystem
        self._path_ids = {node.id for node in level.path}
        self._edges: dict[str, tuple[Edge, ...]] = {}

    def arrived(self, what: Quantity) -> Range:
        """Return the lowest and the highest count of a member, with the flushes of other processes."""
        paths = Counter(end.id for end in self._ends(self._filesystem, what))
        return self._arrived(self._filesystem, what, paths, {})

    def counting(self, what: Quantity) -> tuple[Node, ...]:
        """Return the layers that count the flushes or bytes; if none does, those at the ends of the paths."""
        ends = {end.id: end for end in self._ends(self._filesystem, what)}
        known = tuple(end for end in ends.values() if self._own(end, what) != UNKNOWN)
        return known or tuple(ends.values())

    def fua_reaches_all(self, node: Node | None = None) -> bool:
        """Return whether each FUA write of a layer (None: the filesystem) reaches all counting layers, not one disk."""
        if node is not None and self._own(node, "flushes") is not None:
            return True
        return all(
            (node is None or edge.forwarded.fua_writes == "each") and self.fua_reaches_all(edge.node)
            for edge in self.taking_part(node or self._filesystem, "flushes")
        )

    def holding(self) -> tuple[Node, ...]:
        """Return the lowest layers that may hold the only copy of a byte: no spare, no read cache."""
        return tuple({end.id: end for end in self._holding(self._filesystem)}.values())

    def taking_part(self, node: Node, what: Quantity) -> list[Edge]:
        """Return the edges to members that receive everything, without those that were idle in the step or failed."""
        each = [edge for edge in self.edges(node) if edge.how(what) == "each"]
        written = {edge.node.id: self._received_bytes(edge.node) for edge in each}
        least = MIN_SHARE * max((amount for amount in written.values() if amount < inf), default=0)
        return [edge for edge in each if written[edge.node.id] >= least]

    def edges(self, node: Node) -> tuple[Edge, ...]:
        if node.id not in self._edges:
            edges = self._all_edges(node)
            # with an unknown share of the writes, the number of flushes that accompany them is unknown as well
            if any(edge.forwarded.flushed_with_writes for edge in edges) and not self._gets_every_write(node):
                edges = tuple(
                    edge._replace(forwarded=SOMETIMES) if edge.forwarded.flushed_with_writes else edge for edge in edges
                )
            self._edges[node.id] = edges
        return self._edges[node.id]

    def _gets_every_write(self, node: Node) -> bool:
        """Return whether a layer is known to receive every write; False if it may receive only a part of them."""
        if node.id == self._filesystem.id:
            return self._stack.gets_every_write(self._level)
        return any(
            node.id in self._complete(above) and self._gets_every_write(above)
            for above in (self._filesystem, *self._level.path)
        )

    def _complete(self, node: Node) -> set[str]:
        """Return the layers directly below that receive every write of a layer."""
        if kind(node.kind).may_reduce_bytes:
            return set()
        data = [edge for edge in self._all_edges(node) if edge.forwarded.bytes in ("each", "shared")]
        # if the other segments got no bytes, this member received every write
        written = [edge for edge in data if self._received_bytes(edge.node) > 0] or data
        complete = written if len(written) == 1 else [edge for edge in data if edge.forwarded.bytes == "each"]
        return {edge.node.id for edge in complete}

    def _all_edges(self, node: Node) -> tuple[Edge, ...]:
        """Return the edges as if the layer received every write."""
        below = [child for child in self._stack.children(node) if child.id in self._path_ids]
        members = [Member(child.id, node.below_roles.get(child.id)) for child in below]
        roles, forwards = tuple(member.role for member in members), kind(node.kind).forwards
        return tuple(
            Edge(child, forwards(node, member, roles, self._filesystem))
            for child, member in zip(below, members, strict=True)
        )

    def _arrived(self, node: Node, what: Quantity, paths: Counter[str], known: dict[str, Range]) -> Range:
        if node.id not in known:
            own = self._own(node, what)
            if own is None:
                known[node.id] = self._composed(node, what, paths, known)
            else:  # a device on several paths counts what arrives by each of them
                known[node.id] = _divided(own, max(1, paths[node.id]))
        return known[node.id]

    def _composed(self, node: Node, what: Quantity, paths: Counter[str], known: dict[str, Range]) -> Range:
        each = [self._arrived(edge.node, what, paths, known) for edge in self.taking_part(node, what)]
        shared = [
            _divided(self._arrived(edge.node, what, paths, known), edge.forwarded.copies)
            for edge in self._sharing(node, what)
        ]
        parts = [*each, *([_sum(shared)] if shared else [])]
        return Range(min(part.low for part in parts), max(part.high for part in parts)) if parts else UNKNOWN

    def _sharing(self, node: Node, what: Quantity) -> list[Edge]:
        """Return the edges to members that share it. A member without bytes is left out of FUA writes: it got none."""
        sharing = [edge for edge in self.edges(node) if edge.how(what) == "shared"]
        return [edge for edge in sharing if what != "fua" or self._received_bytes(edge.node) > 0]

    def _received_bytes(self, node: Node) -> float:
        """Return the bytes that a layer received: the largest copy or the sum of parts; infinite if not counted."""
        own = self._own(node, "bytes")
        if own is not None:
            return own.low
        amounts = [(edge.forwarded, self._received_bytes(edge.node)) for edge in self._all_edges(node)]
        copies = [amount for forwarded, amount in amounts if forwarded.bytes == "each"]
        parts = sum(amount / forwarded.copies for forwarded, amount in amounts if forwarded.bytes != "each")
        return max([parts, *copies]) if amounts else inf

    def _own(self, node: Node, what: Quantity) -> Range | None:
        """Return what the layer itself counts; None if the layers below it count instead."""
        if what == "bytes":
            return self._own_bytes(node)
        requested = self._requested(node)
        return self._own_flushes(node, what) if requested is None else Range(requested, requested)

    def _own_flushes(self, node: Node, what: Quantity) -> Range | None:
        if node.write_cache == "write through":
            return UNKNOWN  # the kernel drops flushes here
        counters = flush_counters(node, self._step)
        if counters is None or counters.flushes is None:
            return None
        if node.write_cache is None:
            return UNKNOWN  # it is not known whether the kernel sends flushes
        if what == "fua" and node.fua is not False:  # FUA writes are not counted, but may be flushes further down
            return None if self.edges(node) else UNKNOWN
        return Range(counters.flushes, counters.flushes)

    def _own_bytes(self, node: Node) -> Range | None:
        counters = flush_counters(node, self._step)
        # only at the end of the path: bytes counted above it may be duplicated or split below
        written = counters.written_bytes if counters and not self._path_ids.intersection(node.below) else None
        return None if written is None else Range(written, written)

    def _ends(self, node: Node, what: Quantity) -> Iterator[Node]:
        """Yield the layer that counts on each path. A layer on two paths appears twice."""
        if self._own(node, what) is not None:
            yield node
            return
        for edge in self.edges(node):
            if edge.how(what) in ("each", "shared"):
                yield from self._ends(edge.node, what)

    def _holding(self, node: Node) -> Iterator[Node]:
        edges = self.edges(node)
        if not edges:
            yield node
        for edge in edges:
            if edge.forwarded.bytes != "never":
                yield from self._holding(edge.node)


def _divided(whole: Range, parts: int) -> Range:
    return Range(whole.low / parts, whole.high / parts)


def _sum(parts: list[Range]) -> Range:
    return Range(sum(part.low for part in parts), sum(part.high for part in parts))


class Received(NamedTuple):
    """The flushes and bytes that arrived below a filesystem. For the ranges see ``Composition.arrived``."""

    devices: tuple[Node, ...]
    flushes: Range | None
    written: Range | None
    """Bytes; None if not known."""
    fua_reaches_all: bool
    """Every FUA write reaches each of these devices."""


def received(stack: Stack, level: Level, step: Step | Snapshot, *, fua: bool) -> Received:
    """Return what the counters show. ``fua``: each write of the step is marked FUA if the device supports it."""
    composed = Composition(stack, level, step)
    what: Quantity = "fua" if fua and level.claims_fua is not False else "flushes"
    return Received(
        devices=composed.counting(what) or level.devices,
        flushes=_known(composed.arrived(what)),
        written=_written(composed, step),
        # FUA writes that are counted themselves need no allowance for those that reach only one device
        fua_reaches_all=what == "fua" or composed.fua_reaches_all(),
    )


def counted_at(devices: tuple[Node, ...], step: Step | Snapshot) -> Range | None:
    """Return the sum of the devices' flushes; None if one of them does not count flushes."""
    flushes = [found.flushes if (found := flush_counters(node, step)) else None for node in devices]
    total = sum(number for number in flushes if number is not None)
    return None if None in flushes or not flushes else Range(total, total)


def flush_counters(node: Node, step: Step | Snapshot) -> DeviceCounters | None:
    """Return the layer's counters; None if it counts no flushes. Its stat file may contain a 0 even then."""
    return next((found for found in step.counters if found.device == node.id), None) if node.counted else None


def _written(composed: Composition, step: Step | Snapshot) -> Range | None:
    """Return the bytes that arrived; if it is unknown how layers share them, the sum over the devices with data."""
    arrived = _known(composed.arrived("bytes"))
    if arrived is not None:
        return arrived
    amounts = [found.written_bytes if (found := flush_counters(node, step)) else None for node in composed.holding()]
    total = sum(amount for amount in amounts if amount is not None)
    return None if None in amounts or not amounts else Range(total, total)


def _known(arrived: Range) -> Range | None:
    return None if isinf(arrived.low) else arrived
