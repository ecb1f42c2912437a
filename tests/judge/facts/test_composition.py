"""What a stack's counters come to, where one disk counts for several layers."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from fstui.judge.facts.composition import Composition
from fstui.model.counters import DeviceCounters
from fstui.model.storage import Node, Reading
from tests.factories.layered import BLOCK, SYNCS, Layer


def composed(top: Layer, layers: list[Layer]) -> Composition:
    by_id = {layer.node.id: layer for layer in layers}
    filesystem = Node(id="mount:/srv", layer="filesystem", kind="ext4", name="/srv")

    def below(node: Node) -> tuple[tuple[Node, str | None], ...]:
        if node is filesystem:
            return ((top.node, None),)
        return tuple((layer.node, role) for layer, role in by_id[node.id].below)

    def counted(node: Node) -> DeviceCounters | None:
        layer = by_id.get(node.id)
        if layer is None or layer.below:
            return None
        return DeviceCounters(device=node.id, flushes=layer.flushes, written_bytes=layer.written_bytes)

    return Composition(filesystem, below, counted)


@given(st.sampled_from(["raid1", "raid0"]), st.booleans(), st.integers(0, 1000))
def test_a_disk_that_two_ways_lead_to_is_owed_what_comes_by_each(level: str, forced: bool, seed: int) -> None:
    """An array over two partitions of one disk, which counts for both."""
    disk_node = Node(
        id="disk",
        layer="block",
        kind="disk",
        name="disk",
        lowest=True,
        counted=True,
        write_cache="write back",
        fua=False,
    )
    disk = Layer(disk_node)
    parts = [
        Layer(Node(id=f"part{number}", layer="block", kind="partition", name="part"), "alone", [(disk, None)])
        for number in (1, 2)
    ]
    told = (Reading(what="level", value=level, path=""),)
    node = Node(id="md0", layer="block", kind="md", name="md0", readings=told)
    array = Layer(node, "mirror" if level == "raid1" else "stripe", [(part, None) for part in parts])
    chance = random.Random(seed)
    for _ in range(SYNCS):
        array.take("forced" if forced else "write", chance)
        if not forced:
            array.take("flush", chance)
    found = composed(array, [array, *parts, disk])
    assert found.arrived("forced" if forced else "flushes") == (SYNCS, SYNCS)
    assert found.arrived("bytes") == (SYNCS * BLOCK, SYNCS * BLOCK)
