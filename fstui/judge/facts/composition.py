"""What a filesystem's syncs and bytes came to below it, whatever stands on whatever.

A device that counts answers for itself. A layer that does not was handed no more than those below it: the least of
those that each get everything, the sum of those that share it; and no fewer than what was counted there asks for, if
nobody else wrote. What cannot be known is left open, and an open range accuses nobody.
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
from fstui.storage.layers.handing import AT_TIMES, Handed, How, Member
from fstui.storage.layers.kinds import kind

What = Literal["flushes", "forced", "bytes"]
"""Empty flushes; what writes marked FUA became, as flushes; or bytes."""
Told = tuple[str, What]
"""By the id of a layer, what it tells of."""
Below = Callable[[Node], tuple[tuple[Node, str | None], ...]]
"""The layers directly beneath one, each with what it is to it."""
Counted = Callable[[Node], DeviceCounters | None]
Asked = Callable[[Node], float | None]
"""Flushes and FUA writes that a layer was handed, as the kernel's trace saw it; None of one that was not traced."""
OPEN = Range(inf, 0)
"""Nothing is known of it: any number may have arrived, none need have."""
TOOK_PART = 0.1
"""A leg, a stripe or a segment with less than this share of the busiest one's bytes holds nothing of this step."""


class Edge(NamedTuple):
    """From one layer to one beneath it."""

    node: Node
    handed: Handed

    def of(self, what: What) -> How:
        """How that comes down."""
        return {"flushes": self.handed.flushes, "forced": self.handed.forced, "bytes": self.handed.bytes}[what]


class Composition:
    """The layers beneath one filesystem, down to the next filesystem or the bottom, and what they counted."""

    def __init__(
        self,
        filesystem: Node,
        below: Below,
        counted: Counted,
        asked: Asked = lambda _: None,
        *,
        gets_all: bool = True,
    ) -> None:
        """``asked``: where it knows, it is believed before any counter. ``gets_all``: every write of what is measured
        comes to the filesystem."""
        self._asked = asked
        self._filesystem = filesystem
        self._below = below
        self._counted = counted
        self._edges: dict[str, tuple[Edge, ...]] = {}
        self._gets_all = {filesystem.id} if gets_all else set()
        """Those of which it is known that every write comes to them."""

    def arrived(self, what: What) -> Range:
        """``low``: as many have arrived at the most, so far as can be shown; ``high``: as many must have been sent, if
        only this filesystem sends there. Of an honest stack that nobody else uses they are the same."""
        ways = Counter((end.id, told) for end, told in self._ends(self._filesystem, what))
        return self._arrived(self._filesystem, what, ways, {})

    def counting(self, what: What) -> tuple[Node, ...]:
        """The layers that count what must arrive there, each once; where any does, none at which flushes end unseen."""
        ends = {end.id: (end, self._own(end, told)) for end, told in self._ends(self._filesystem, what)}
        seen = tuple(end for end, own in ends.values() if own != OPEN)
        return seen or tuple(end for end, _ in ends.values())

    def forced_alike(self) -> bool:
        """Every write marked FUA comes to each of the layers that count flushes, as each flush does. No: it goes to one
        of several disks, by its place, and becomes a flush there alone."""
        return self._forced_alike(self._filesystem, sent=True)

    def _forced_alike(self, node: Node, *, sent: bool = False) -> bool:
        """``sent``: by the filesystem itself, which has one for each of its devices."""
        if not sent and self._own(node, "flushes") is not None:
            return True
        edges = self.taking_part(node, "flushes")
        return all((sent or edge.handed.forced == "each") and self._forced_alike(edge.node) for edge in edges)

    def holding(self) -> tuple[Node, ...]:
        """The lowest layers that any of the bytes may be kept on, each once: no spare, nothing that holds copies."""
        return tuple({end.id: end for end in self._holding(self._filesystem)}.values())

    def edges(self, node: Node) -> tuple[Edge, ...]:
        """The ways down from one layer."""
        if node.id not in self._edges:
            whole = node.id in self._gets_all
            ways = self._ways(node)
            at_times = (edge._replace(handed=AT_TIMES) if edge.handed.with_writes else edge for edge in ways)
            edges = ways if whole else tuple(at_times)
            data = [edge for edge in edges if edge.handed.bytes in ("each", "shared")]
            took = [edge for edge in data if self._bytes_below(edge.node) > 0] or data  # a segment may have had none
            whole_too = took if len(took) == 1 else [edge for edge in data if edge.handed.bytes == "each"]
            self._gets_all |= {edge.node.id for edge in whole_too if whole and not kind(node.kind).reduces}
            self._edges[node.id] = edges
        return self._edges[node.id]

    def _ways(self, node: Node) -> tuple[Edge, ...]:
        """The same, as though every write came to that layer."""
        below, row = self._below(node), kind(node.kind)
        beside = tuple(role for _, role in below)
        return tuple(
            Edge(child, row.hands(node, Member(child.id, role), beside, self._filesystem)) for child, role in below
        )

    def _arrived(self, node: Node, what: What, ways: Counter[Told], found: dict[Told, Range]) -> Range:
        key = (node.id, what)
        if key not in found:
            own = self._own(node, what)
            if own is None:
                found[key] = self._composed(node, what, ways, found)
            else:  # a device that several ways lead to counts what comes by each of them
                found[key] = _divided(own, max(1, ways[key]))
        return found[key]

    def _composed(self, node: Node, what: What, ways: Counter[Told], found: dict[Told, Range]) -> Range:
        each = [self._arrived(edge.node, what, ways, found) for edge in self.taking_part(node, what)]
        shared = [
            _divided(self._arrived(edge.node, what, ways, found), edge.handed.copies)
            for edge in self._sharing(node, what)
        ]
        parts = [*each, *([_together(shared)] if shared else [])]
        return Range(min(part.low for part in parts), max(part.high for part in parts)) if parts else OPEN

    def _sharing(self, node: Node, what: What) -> list[Edge]:
        """Those that share it. A FUA write has bytes with it: none came to a stripe or a segment that got none."""
        sharing = [edge for edge in self.edges(node) if edge.of(what) == "shared"]
        return [edge for edge in sharing if what != "forced" or self._bytes_below(edge.node) > 0]

    def taking_part(self, node: Node, what: What) -> list[Edge]:
        """Those that get everything; without a leg that failed, a stripe or a device that none of the data lies on."""
        each = [edge for edge in self.edges(node) if edge.of(what) == "each"]
        written = {edge.node.id: self._bytes_below(edge.node) for edge in each}
        least = TOOK_PART * max((amount for amount in written.values() if amount < inf), default=0)
        return [edge for edge in each if written[edge.node.id] >= least]

    def _bytes_below(self, node: Node) -> float:
        """Bytes that came to it, by the devices beneath: of copies, one. Infinite where one does not count them."""
        own = self._own(node, "bytes")
        if own is not None:
            return own.low
        ways = [(edge.handed, self._bytes_below(edge.node)) for edge in self._ways(node)]
        copies = [amount for handed, amount in ways if handed.bytes == "each"]
        parts = sum(amount / handed.copies for handed, amount in ways if handed.bytes != "each")
        return max(*copies, parts) if copies else parts if ways else inf

    def _own(self, node: Node, what: What) -> Range | None:
        """What this layer tells of itself; None where those below must tell."""
        counters = self._counted(node)
        if what == "bytes":
            written = counters.written_bytes if counters and node.counted and not self._below(node) else None
            return None if written is None else Range(written, written)
        asked = self._asked(node)
        if asked is not None:
            return Range(asked, asked)
        if node.write_cache == "write through":
            return OPEN  # flushes end here, by the kernel's own view of it
        if not node.counted or counters is None or counters.flushes is None:
            return None
        if node.write_cache is None:
            return OPEN  # whether flushes are sent to it is not known
        forced = what == "forced" and node.fua is not False
        return self._uncounted(node) if forced else Range(counters.flushes, counters.flushes)

    def _uncounted(self, node: Node) -> Range | None:
        """A FUA write to a device that has FUA is not counted there; what it becomes, those below may tell."""
        return None if self.edges(node) else OPEN

    def _ends(self, node: Node, what: What) -> Iterator[tuple[Node, What]]:
        """Each way down to a layer that tells, the same one once for each, and what it tells of."""
        if self._own(node, what) is not None:
            yield node, what
            return
        for edge in self.edges(node):
            if edge.of(what) in ("each", "shared"):
                yield from self._ends(edge.node, what)

    def _holding(self, node: Node) -> Iterator[Node]:
        edges = self.edges(node)
        if not edges:
            yield node
        for edge in edges:
            if edge.handed.bytes != "never":
                yield from self._holding(edge.node)


def _divided(whole: Range, parts: int) -> Range:
    return Range(whole.low / parts, whole.high / parts)


def _together(parts: list[Range]) -> Range:
    return Range(sum(part.low for part in parts), sum(part.high for part in parts))


class Received(NamedTuple):
    """``low``: what can have arrived at the most; ``high``: what must have been sent, were nobody else there."""

    devices: tuple[Node, ...]
    """Those that count what must arrive at them."""
    flushes: Range | None
    """None where it cannot be known."""
    written: Range | None
    forced_alike: bool
    """A write marked FUA comes to each of them, as a flush does."""


def received(stack: Stack, level: Level, step: Step | Snapshot, *, forced: bool) -> Received:
    """What that level's filesystem sent down, by what was counted.

    ``forced``: by writes that are each marked FUA, where the device below takes that.
    """
    composed = Composition(
        level.filesystem,
        below_within(stack, level),
        lambda node: counters_of(node, step),
        gets_all=stack.gets_every_write(level),
    )
    what: What = "forced" if forced and level.claims_fua is not False else "flushes"
    return Received(
        devices=composed.counting(what) or level.devices,
        flushes=_known(composed.arrived(what)),
        written=_written(composed, step),
        forced_alike=what == "forced" or composed.forced_alike(),
    )


def below_within(stack: Stack, level: Level) -> Below:
    """The layers beneath each one of that level, with their roles."""
    within = {node.id for node in level.path}

    def below(node: Node) -> tuple[tuple[Node, str | None], ...]:
        return tuple((child, node.below_roles.get(child.id)) for child in stack.children(node) if child.id in within)

    return below


def counted_at(devices: tuple[Node, ...], step: Step | Snapshot) -> Range | None:
    """What all of them counted, where none of it is expected; None where one of them does not count."""
    flushes = [found.flushes if (found := flush_counters(node, step)) else None for node in devices]
    total = sum(number for number in flushes if number is not None)
    return None if None in flushes or not flushes else Range(total, total)


def flush_counters(node: Node, step: Step | Snapshot) -> DeviceCounters | None:
    """That layer's counters of the step; None where it does not count flushes, whatever its file says."""
    return counters_of(node, step) if node.counted else None


def counters_of(node: Node, step: Step | Snapshot) -> DeviceCounters | None:
    """That layer's counters of the step."""
    return next((found for found in step.counters if found.device == node.id), None)


def _written(composed: Composition, step: Step | Snapshot) -> Range | None:
    """Bytes; where the layers say nothing of how they share them, all that reached the devices that keep them."""
    arrived = _known(composed.arrived("bytes"))
    if arrived is not None:
        return arrived
    amounts = [found.written_bytes if (found := flush_counters(node, step)) else None for node in composed.holding()]
    total = sum(amount for amount in amounts if amount is not None)
    return None if None in amounts or not amounts else Range(total, total)


def _known(arrived: Range) -> Range | None:
    return None if isinf(arrived.low) else arrived
