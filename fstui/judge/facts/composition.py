"""Calculate how many of a filesystem's flushes and bytes arrived below it, from the counters of the layers.

The count of a layer without counters is calculated from those of its members, the layers directly below it. If each
member receives everything, the count is in the range of the members' counts. If the members share the requests, the
count is their sum.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from math import inf, isinf
from typing import Literal, NamedTuple

from fstui.judge.facts.stack import Level, Stack, walk
from fstui.model.counters import DeviceCounters
from fstui.model.steps import Snapshot, Step
from fstui.model.storage import Node
from fstui.storage.layers.flushes import Range
from fstui.storage.layers.forwarding import SOMETIMES, Forwarded
from fstui.storage.layers.kinds import forwarding_of, kind

Quantity = Literal["flushes", "fua_writes", "bytes"]
"""The fields of ``Forwarded``. A device without FUA counts each FUA write as a flush."""
TraceCount = Callable[[Node], float | None]
"""Returns the flushes and FUA writes that the kernel's trace shows at a layer; None for a layer without a trace."""
UNKNOWN = Range(inf, 0)
"""No count is known. A rule reports missing flushes if ``low`` is below its limit, and arrived flushes if ``high`` is
above it; here neither is true. The minimum and the maximum over members ignore this range."""
MIN_SHARE = 0.1
"""A member with less than this share of the busiest member's bytes was idle in the step."""


class Edge(NamedTuple):
    member: Node
    forwarded: Forwarded
    """What the layer above forwards to the member."""


class Composition:
    """The combined counters of the layers from one filesystem down to the next filesystem or the lowest devices."""

    def __init__(
        self, stack: Stack, level: Level, step: Step | Snapshot, trace_count: TraceCount = lambda _: None
    ) -> None:
        """``trace_count``: where it returns a number, this number replaces the counters of the layer."""
        self._stack, self._level, self._step, self._trace_count = stack, level, step, trace_count
        self._filesystem = level.filesystem
        self._path_ids = {node.id for node in level.path}
        self._known_edges: dict[str, list[Edge]] = {}

    def arrived_range(self, quantity: Quantity) -> Range:
        """Return the range of the number of requests that arrived, including requests of other processes."""
        paths = Counter(end.id for end in self._path_ends(self._filesystem, quantity))
        return self._arrived_range(self._filesystem, quantity, paths, {})

    def counting_layers(self, quantity: Quantity) -> tuple[Node, ...]:
        """Return the layers that count the flushes or bytes; if no layer does, the layers at the ends of the paths."""
        ends = {end.id: end for end in self._path_ends(self._filesystem, quantity)}
        counting = tuple(end for end in ends.values() if self._own_count(end, quantity) != UNKNOWN)
        return counting or tuple(ends.values())

    def fua_reaches_all(self, node: Node | None = None) -> bool:
        """Return whether each FUA write of a layer (None: the filesystem) reaches all counting layers, not only one."""
        if node is not None and self._own_count(node, "flushes") is not None:
            return True
        return all(
            (node is None or forwarded.fua_writes == "each") and self.fua_reaches_all(member)
            for member, forwarded in self._active_edges(node or self._filesystem, "flushes")
        )

    def data_layers(self) -> tuple[Node, ...]:
        """Return the lowest layers that may hold the only copy of a byte. Excludes spares and read caches."""

        def layers_with_bytes(node: Node) -> list[Node]:
            return [member for member, forwarded in self._edges(node) if forwarded.bytes != "never"]

        reached = walk([self._filesystem], layers_with_bytes)
        return tuple(node for node in reached.values() if not self._edges(node))

    def _active_edges(self, node: Node, quantity: Quantity) -> list[Edge]:
        """Return the edges to members that receive everything, except members that were idle in the step or failed."""
        edges = [edge for edge in self._edges(node) if getattr(edge.forwarded, quantity) == "each"]
        received = {member.id: self._received_bytes(member) for member, _ in edges}
        least = MIN_SHARE * max((amount for amount in received.values() if amount < inf), default=0)
        return [edge for edge in edges if received[edge.member.id] >= least]

    def _edges(self, node: Node) -> list[Edge]:
        if node.id not in self._known_edges:
            edges = self._all_edges(node)
            # if the layer gets an unknown share of the writes, the number of flushes sent with them is unknown as well
            if any(edge.forwarded.flushed_with_writes for edge in edges) and not self._gets_every_write(node):
                edges = [
                    edge._replace(forwarded=SOMETIMES) if edge.forwarded.flushed_with_writes else edge for edge in edges
                ]
            self._known_edges[node.id] = edges
        return self._known_edges[node.id]

    def _gets_every_write(self, node: Node) -> bool:
        """Return whether no layer above distributes writes, reduces them, or stores them in a file."""
        layer = self._filesystem
        for _ in (self._filesystem, *self._level.path):  # a limit, because a damaged document may contain a circle
            if layer.id == node.id:
                return self._filesystem == self._stack.levels[0].filesystem
            holding_data = [
                edge.member for edge in self._all_edges(layer) if edge.forwarded.bytes in ("each", "shared")
            ]
            if len(holding_data) != 1 or kind(layer.kind).may_reduce_bytes:
                break
            (layer,) = holding_data
        return False

    def _all_edges(self, node: Node) -> list[Edge]:
        """Return the edges as if the layer received every write."""
        children = (child for child in self._stack.children(node) if child.id in self._path_ids)
        return [Edge(child, forwarding_of(node, child.id, self._filesystem)) for child in children]

    def _arrived_range(self, node: Node, quantity: Quantity, paths: Counter[str], cache: dict[str, Range]) -> Range:
        if node.id not in cache:
            own = self._own_count(node, quantity)
            if own is None:
                cache[node.id] = self._range_of_members(node, quantity, paths, cache)
            else:  # a device on several paths counts the requests of all these paths together
                cache[node.id] = _divided(own, max(1, paths[node.id]))
        return cache[node.id]

    def _range_of_members(self, node: Node, quantity: Quantity, paths: Counter[str], cache: dict[str, Range]) -> Range:
        def arrived(member: Node) -> Range:
            return self._arrived_range(member, quantity, paths, cache)

        ranges = [arrived(member) for member, _ in self._active_edges(node, quantity)]
        sharing = [edge for edge in self._edges(node) if getattr(edge.forwarded, quantity) == "shared"]
        if quantity == "fua_writes":  # a member that received no bytes got none
            sharing = [edge for edge in sharing if self._received_bytes(edge.member) > 0]
        shares = [_divided(arrived(member), forwarded.copies) for member, forwarded in sharing]
        if shares:
            ranges.append(Range(sum(part.low for part in shares), sum(part.high for part in shares)))
        return Range(min(part.low for part in ranges), max(part.high for part in ranges)) if ranges else UNKNOWN

    def _received_bytes(self, node: Node) -> float:
        """Return the bytes that a layer received; infinity if not counted. If only its members have counters:
        the largest count of a member that gets every byte, or, if it is larger, the sum over those that share them."""
        own = self._own_count(node, "bytes")
        if own is not None:
            return own.low
        amounts = [(forwarded, self._received_bytes(member)) for member, forwarded in self._all_edges(node)]
        copies = [amount for forwarded, amount in amounts if forwarded.bytes == "each"]
        parts = sum(amount / forwarded.copies for forwarded, amount in amounts if forwarded.bytes != "each")
        return max([parts, *copies]) if amounts else inf

    def _own_count(self, node: Node, quantity: Quantity) -> Range | None:
        """Return what the layer itself counts; None if its members count instead."""
        if quantity == "bytes":
            return self._own_bytes(node)
        traced = self._trace_count(node)
        return self._own_flushes(node, quantity) if traced is None else Range(traced, traced)

    def _own_flushes(self, node: Node, quantity: Quantity) -> Range | None:
        if node.write_cache == "write through":
            return UNKNOWN  # the kernel drops flushes here
        counters = flush_counters(node, self._step)
        if counters is None or counters.flushes is None:
            return None
        if node.write_cache is None:
            return UNKNOWN  # it is not known whether the kernel sends flushes
        # the layer counts no FUA writes, but a lower layer without FUA may count them as flushes
        if quantity == "fua_writes" and node.fua is not False:
            return None if self._edges(node) else UNKNOWN
        return Range(counters.flushes, counters.flushes)

    def _own_bytes(self, node: Node) -> Range | None:
        counters = flush_counters(node, self._step)
        # use only the bytes of a layer at the end of the path, because a layer above may duplicate or split them
        written = counters.written_bytes if counters and not self._path_ids.intersection(node.below) else None
        return None if written is None else Range(written, written)

    def _path_ends(self, node: Node, quantity: Quantity) -> Iterator[Node]:
        """Yield the first layer with a count (or UNKNOWN) on each path down. A layer on two paths appears twice."""
        if self._own_count(node, quantity) is not None:
            yield node
            return
        for member, forwarded in self._edges(node):
            if getattr(forwarded, quantity) in ("each", "shared"):
                yield from self._path_ends(member, quantity)


def _divided(whole: Range, parts: int) -> Range:
    return Range(whole.low / parts, whole.high / parts)


class LevelCounts(NamedTuple):
    """The flushes and bytes that arrived below a filesystem; None if not known. See ``Composition.arrived_range``."""

    devices: tuple[Node, ...]
    flushes: Range | None
    written_bytes: Range | None
    fua_reaches_all: bool
    """Every FUA write reaches each of these devices."""


def level_counts(stack: Stack, level: Level, step: Step | Snapshot, *, fua: bool) -> LevelCounts:
    """Combine the counters of a level. ``fua``: each write of the step is marked FUA if the device supports FUA."""
    composition = Composition(stack, level, step)
    quantity: Quantity = "fua_writes" if fua and level.claims_fua is not False else "flushes"
    return LevelCounts(
        devices=composition.counting_layers(quantity) or level.devices,
        flushes=_if_known(composition.arrived_range(quantity)),
        written_bytes=_written_range(composition, step),
        # if FUA writes themselves are counted, it does not matter that each may reach only one device
        fua_reaches_all=quantity == "fua_writes" or composition.fua_reaches_all(),
    )


def total_flushes(devices: tuple[Node, ...], step: Step | Snapshot) -> Range | None:
    """Return the sum of the devices' flushes; None if one of the devices does not count flushes."""
    return _total([counters.flushes if (counters := flush_counters(node, step)) else None for node in devices])


def flush_counters(node: Node, step: Step | Snapshot) -> DeviceCounters | None:
    """Return the layer's counters; None if it counts no flushes, even if its stat file contains a 0 for them."""
    return next((counters for counters in step.counters if counters.device == node.id), None) if node.counted else None


def _written_range(composition: Composition, step: Step | Snapshot) -> Range | None:
    """Return the bytes that arrived. If it is unknown how members share them, add up all devices that hold data."""
    arrived_range = _if_known(composition.arrived_range("bytes"))
    if arrived_range is not None:
        return arrived_range
    all_counters = (flush_counters(node, step) for node in composition.data_layers())
    return _total([counters.written_bytes if counters else None for counters in all_counters])


def _total(numbers: list[int | None]) -> Range | None:
    """Return the sum of the numbers; None if one of them is not known, or if there are none."""
    known = [number for number in numbers if number is not None]
    return Range(sum(known), sum(known)) if numbers and len(known) == len(numbers) else None


def _if_known(arrived_range: Range) -> Range | None:
    return None if isinf(arrived_range.low) else arrived_range
