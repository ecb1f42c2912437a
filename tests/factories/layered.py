"""Made-up stacks that run: a small simulator sends syncs through many layers, request by request.

It does not use fstui's table of layers. Routes describe how the kernel's driver of each kind of layer behaves. The
simulator follows the routes, and ``shows`` derives from them whether a dropped flush is visible.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Literal

from fstui.model.counters import DeviceCounters
from fstui.model.storage import Node

What = Literal["flush", "forced", "write", "clone"]
"""A flush without data; a FUA write; a plain write; a request that a layer above has counted."""
Member = tuple["Layer", "str | None"]
SYNCS = 30
BLOCK = 16384
ASIDE = frozenset({"metadata", "log", "journal", "spare"})
"""Roles of devices that contain none of the data."""
SMALL = 0.2
"""A device with a smaller share of the bytes of its busiest sibling may be judged as unused. fstui's limit is a tenth,
but the run with the lying layer distributes the requests differently."""


@dataclass
class Route:
    """A request that a layer sends on to ``number`` of the layers ``to``. ``often``: with this probability."""

    to: list[Layer]
    number: int
    what: What
    often: float = 1.0
    named: bool = True
    """Whether it is known which devices receive the request, and as what. It is not known for a FUA write that
    dm-writecache or parity changes, or for the flushes of an array's journal below other layers. Then counters below
    are not expected to show the request."""


@dataclass(eq=False)
class Layer:
    """A made-up layer: what its driver does with a flush and with a write."""

    node: Node
    does: str = "disk"
    below: list[Member] = field(default_factory=list)
    aside: frozenset[str] = ASIDE
    drops: bool = False
    asked: int = 0
    flushes: int = 0
    written_bytes: int = 0
    _routes: dict[What, list[Route]] = field(default_factory=dict)

    def take(self, what: What, chance: random.Random) -> None:
        """Count one request, and send on what the block layer and the driver make of it."""
        if self.drops or self.node.write_cache == "write through":
            if what == "flush":
                return
            what = "write" if what == "forced" else what
        self.asked += what in ("flush", "forced")
        self.written_bytes += BLOCK * (what != "flush")
        if self.node.counted:
            self.flushes += what == "flush" or (what == "forced" and not self.node.fua)
        for route in self.routes(what):
            if route.often == 1 or chance.random() < route.often:
                for layer in route.to if len(route.to) == route.number else chance.sample(route.to, route.number):
                    layer.take(route.what, chance)

    def role(self, *wanted: str | None) -> list[Layer]:
        return [layer for layer, role in self.below if role in wanted]

    @property
    def data(self) -> list[Layer]:
        return [layer for layer, role in self.below if role not in self.aside]

    def routes(self, what: What) -> list[Route]:
        if what not in self._routes:
            plain: What = "write" if what == "clone" else what
            self._routes[what] = self._flush() if what == "flush" else self._write(plain)
        return self._routes[what]

    def _flush(self) -> list[Route]:
        data = self.data
        noted = [
            Route([each], 1, "flush", 0.3) for each in self.role("metadata", "log")
        ]  # together with one of their commits
        known = {
            "disk": [],
            "requests": [],
            "paths": [Route(data, 1, "flush")],
            "journal of an array": [Route(data, 1, "flush", 0.3)],
            "written later": every(self.role("cache"), "flush"),
        }
        return known.get(self.does, [*every(data, "flush"), *noted])

    def _write(self, what: What) -> list[Route]:
        data, log, cache = self.data, self.role("journal"), self.role("cache")
        forced = what == "forced"
        known = {
            "disk": [],
            "mirror": every(data, what),
            "pairs": [Route(data, 2, what)],
            "parity": [Route(data, 2, what, named=not forced)],
            "journal of an array": [*every(log, "write"), *unnamed(log, "flush"), Route(data, 2, "write", 0.5)],
            "requests": [Route(data, 1, "clone")],
            "loop": [*every(data, "write"), *(every(data, "flush") if forced else [])],
            "written through": [*every(self.role("origin"), what), Route(cache, 1, "write", 0.5)],
            "written later": [*every(cache, "write"), *(unnamed(cache, "flush") if forced else [])],
            "one segment": [Route(data[:1], 1, what)],
        }
        return known.get(self.does, [Route(data, 1, what)])


def every(layers: list[Layer], what: What) -> list[Route]:
    return [Route([layer], 1, what) for layer in layers]


def unnamed(layers: list[Layer], what: What) -> list[Route]:
    return [Route([layer], 1, what, named=False) for layer in layers]


@dataclass
class Filesystem:
    """The filesystem at the top."""

    node: Node
    below: list[Member]
    in_place: bool = True
    """Whether it overwrites a block in place. btrfs writes new blocks, and a super block on each device."""

    @property
    def data(self) -> list[Layer]:
        return [layer for layer, role in self.below if role not in ASIDE]

    def sync(self, forced: bool, chance: random.Random) -> None:
        for _ in range(1 if self.in_place else 3):
            as_fua = forced and self.in_place and claims_fua(self.data[0])
            chance.choice(self.data).take("forced" if as_fua else "write", chance)
        for layer in self.data if not as_fua else ():
            layer.take("flush", chance)
            if not self.in_place:
                layer.take("forced", chance)
        for layer, role in self.below:
            if role in ASIDE and chance.random() < 0.1:  # its own periodic commits
                layer.take("write", chance)
                layer.take("flush", chance)


def run(top: Filesystem, forced: bool, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(SYNCS):
        top.sync(forced, chance)


def counters(layers: list[Layer]) -> tuple[DeviceCounters, ...]:
    return tuple(
        DeviceCounters(device=layer.node.id, flushes=layer.flushes, writes=0, written_bytes=layer.written_bytes)
        for layer in layers
        if layer.node.counted
    )


def begin_anew(layers: list[Layer]) -> None:
    for layer in layers:
        layer.asked = layer.flushes = layer.written_bytes = 0


def shows(layer: Layer, liar: Layer, what: What) -> bool:
    """Return whether counters show what the lying layer drops: the request must take this route, and all devices that
    may have received it instead have counters."""
    if layer is liar:  # the journal of an array is flushed with each write
        return layer.does != "journal of an array" and counts(layer, what)
    if layer.does == "requests":
        return False  # it counts instead of the devices below
    for route in layer.routes(what):
        if route.often < 1 or not route.named or route.what in ("write", "clone"):
            continue
        for member in route.to:
            if contains(member, liar):
                others = [other for other in route.to if other is not member]
                if not has_share(member, layer):
                    return False
                return shows(member, liar, route.what) and all(counts(other, route.what) for other in others)
    return False


def counts(layer: Layer, what: What) -> bool:
    """Return whether this layer counts such requests, or all devices below that must receive them."""
    if layer.node.write_cache == "write through":
        return False
    if layer.node.counted:
        return tells(layer, what)
    duties = [
        each for each in layer.routes(what) if each.often == 1 and each.named and each.what in ("flush", "forced")
    ]
    return any(all(counts(member, each.what) and has_share(member, layer) for member in each.to) for each in duties)


def has_share(member: Layer, layer: Layer) -> bool:
    """Return whether the member received enough of the bytes in the previous run (see SMALL)."""
    return member.written_bytes > SMALL * max(below.written_bytes for below in layer.data)


def tells(layer: Layer, what: What) -> bool:
    return what == "flush" or (what == "forced" and not layer.node.fua)


def contains(layer: Layer, other: Layer) -> bool:
    return layer is other or any(contains(below, other) for below, _ in layer.below)


def claims_fua(layer: Layer) -> bool:
    return layer.node.fua if layer.node.fua is not None else claims_fua(layer.below[0][0])


def reached(layer: Layer) -> set[str]:
    """Return the layers that any part of a sync may reach."""
    whats: tuple[What, ...] = ("flush", "forced", "write")
    below = {id(each): each for what in whats for route in layer.routes(what) for each in route.to}
    return {layer.node.id}.union(*map(reached, below.values()))
