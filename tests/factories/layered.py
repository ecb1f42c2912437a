"""Made-up stacks that run: a small simulator sends syncs through layers upon layers, request by request.

It knows nothing of the product's table of what is handed to whom: each kind of layer does here what the kernel's driver
does.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from hypothesis import strategies as st

from fstui.model.storage import Node, Reading

KINDS = (
    "disk", "disk with FUA", "dm-crypt", "dm-linear", "dm-stripe", "raid0", "raid1", "raid10", "dm-multipath",
    "dm-thin-pool", "dm-cache", "bcache",
)  # fmt: skip
SYNCS = 300
BLOCK = 16384


@dataclass
class Layer:
    """One made-up layer: what its driver does with a flush and with a write."""

    node: Node
    below: list[tuple[Layer, str | None]] = field(default_factory=list)
    drops: bool = False
    flushes: int = 0
    written_bytes: int = 0

    def flush(self, chance: random.Random) -> None:
        if self.drops:
            return
        if not self.below:
            self.flushes += 1
        match self.node.kind:
            case "dm-multipath":
                chance.choice(self.below)[0].flush(chance)
            case _:
                for layer, role in self.below:
                    if role != "metadata" or chance.random() < 0.3:  # a commit of the pool's or the cache's metadata
                        layer.flush(chance)

    def write(self, forced: bool, chance: random.Random) -> None:
        forced = forced and not self.drops
        if not self.below:
            self.written_bytes += BLOCK
            self.flushes += forced and not self.node.fua  # a device without FUA executes it as a write and a flush
        for layer in self._holders(chance):
            layer.write(forced, chance)

    def _holders(self, chance: random.Random) -> list[Layer]:
        """The layers that a write of one block goes to."""
        layers = [layer for layer, role in self.below if role != "metadata"]
        level = self.node.reading("level")
        match level.value if level else self.node.kind:
            case "raid1" | "dm-mirror":
                return layers
            case "raid10":
                return chance.sample(layers, 2)
            case "dm-cache" | "bcache":
                mode = self.node.reading("cache_mode")
                if mode and mode.value == "writethrough":
                    return layers
                return [chance.choice(layers)]
            case _:
                return [chance.choice(layers)] if layers else []


class Stacks:
    """Draws stacks of made-up layers, three deep at the most above the disks."""

    def __init__(self, draw: Callable[[st.SearchStrategy[int]], int]) -> None:
        self._draw = draw
        self._numbers = count()
        self.layers: list[Layer] = []

    def layer(self, depth: int) -> Layer:
        kind = KINDS[self._draw(st.integers(0, len(KINDS) - 1 if depth else 1))]
        return self._disk(kind != "disk") if kind.startswith("disk") else self._stacked(kind, depth - 1)

    def _disk(self, fua: bool) -> Layer:
        return self._add("disk", [], lowest=True, counted=True, write_cache="write back", fua=fua)

    def _stacked(self, kind: str, depth: int) -> Layer:
        roles = self._roles(kind)
        below = [(self.layer(depth), role) for role in roles]
        if kind in {"dm-cache", "bcache"}:
            mode = ("writeback", "writethrough")[self._draw(st.integers(0, 1))]
            return self._add(kind, below, cache_mode=mode)
        if kind == "dm-multipath":
            return self._add(kind, below, request_based="no")
        if kind.startswith("raid"):
            return self._add("md", below, level=kind)
        return self._add(kind, below)

    def _roles(self, kind: str) -> list[str | None]:
        match kind:
            case "dm-crypt":
                return [None]
            case "dm-cache":
                return ["metadata", "cache", "origin"]
            case "bcache":
                return ["cache", "origin"]
            case "dm-thin-pool":
                return ["metadata", "data"]
            case "raid10":
                return ["mirror leg"] * 4
            case _:
                return [None] * self._draw(st.integers(2, 3))

    def _add(self, kind: str, below: list[tuple[Layer, str | None]], **facts: object) -> Layer:
        fields = {name: facts.pop(name) for name in ("lowest", "counted", "write_cache", "fua") if name in facts}
        read = tuple(Reading(what=what, value=str(value), path="") for what, value in facts.items())
        node = Node(id=f"{kind}{next(self._numbers)}", layer="block", kind=kind, name=kind, readings=read, **fields)  # type: ignore[arg-type]
        layer = Layer(node, below)
        self.layers.append(layer)
        return layer


@st.composite
def stacks(draw: st.DrawFn) -> tuple[Layer, list[Layer]]:
    """The filesystem's device, and every layer."""
    maker = Stacks(draw)
    return maker.layer(3), maker.layers


def run(top: Layer, forced: bool, seed: int) -> None:
    """As many synced writes of one block."""
    chance = random.Random(seed)
    for _ in range(SYNCS):
        top.write(forced, chance)
        if not forced:
            top.flush(chance)
