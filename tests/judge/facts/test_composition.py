"""Whatever stands on whatever: a small simulator sends syncs through made-up stacks, and the count below is judged."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from fstui.judge.facts.composition import Composition, What
from fstui.model.counters import DeviceCounters
from fstui.model.storage import Node, Reading
from tests.factories.layered import BLOCK, SYNCS, Layer, run, stacks


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


def kind_of(forced: bool) -> What:
    return "forced" if forced else "flushes"


@settings(max_examples=150, deadline=None)
@given(stacks(), st.booleans(), st.integers(0, 1000))
def test_an_honest_stack_lacks_nothing_and_exceeds_nothing(
    drawn: tuple[Layer, list[Layer]], forced: bool, seed: int
) -> None:
    top, layers = drawn
    run(top, forced, seed)
    found = composed(top, layers)
    what = kind_of(forced)
    assert found.arrived(what).low >= SYNCS >= found.arrived(what).high
    assert found.arrived("bytes").low >= SYNCS * BLOCK >= found.arrived("bytes").high
    kept = {node.id for node in found.holding()}
    assert sum(layer.written_bytes for layer in layers if layer.node.id in kept) >= SYNCS * BLOCK


@settings(max_examples=150, deadline=None)
@given(stacks(), st.booleans(), st.integers(0, 1000), st.integers(0, 1000))
def test_a_layer_that_drops_flushes_is_seen_wherever_the_counters_below_can_show_it(
    drawn: tuple[Layer, list[Layer]], forced: bool, seed: int, which: int
) -> None:
    top, layers = drawn
    liar = layers[which % len(layers)]
    liar.drops = True
    run(top, forced, seed)
    found = composed(top, layers)
    if shows(top, liar, forced) and given_to(liar, top, layers, forced, seed):
        assert found.arrived(kind_of(forced)).low < SYNCS


def shows(top: Layer, liar: Layer, forced: bool) -> bool:
    """A flush that the liar drops is missed at a device that counts: every way from the top to it is one of duty."""
    if top is liar:
        return counts(top, forced)
    for layer, beside in duties(top, forced):
        if contains(layer, liar):
            return shows(layer, liar, forced) and all(counts(other, forced) for other in beside if other is not layer)
    return False


def counts(layer: Layer, forced: bool) -> bool:
    """The flushes of such syncs that reach this layer are told by devices below it."""
    if not layer.below:
        return not (forced and layer.node.fua)
    return any(all(counts(member, forced) for member in (*beside, other)) for other, beside in duties(layer, forced))


def duties(layer: Layer, forced: bool) -> Iterator[tuple[Layer, list[Layer]]]:
    """The layers that get every sync of the kind, each with those that share it with it."""
    data = [below for below, role in layer.below if role != "metadata"]
    level = layer.node.reading("level")
    mode = layer.node.reading("cache_mode")
    word = level.value if level else layer.node.kind
    if mode and mode.value == "writethrough" and forced:
        data = [below for below, role in layer.below if role == "origin"]
    alone = word in {"raid1", "dm-mirror"} or (not forced and word != "dm-multipath")
    for below in data:
        yield below, [] if alone else data


def contains(layer: Layer, other: Layer) -> bool:
    return layer is other or any(contains(below, other) for below, _ in layer.below)


def given_to(liar: Layer, top: Layer, layers: list[Layer], forced: bool, seed: int) -> bool:
    """It was asked at least once: a path or a stripe may not have been."""
    honest = [(layer.flushes, layer.drops) for layer in layers]
    for layer in layers:
        layer.flushes, layer.drops = 0, False
    before = total(top)
    run(top, forced, seed)
    asked = total(liar) > 0 and total(top) > before
    for layer, (flushes, drops) in zip(layers, honest, strict=True):
        layer.flushes, layer.drops = flushes, drops
    return asked


def total(layer: Layer) -> int:
    """Flushes at every disk below."""
    return layer.flushes + sum(total(below) for below, _ in layer.below)


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
        Layer(Node(id=f"part{number}", layer="block", kind="partition", name="part"), [(disk, None)])
        for number in (1, 2)
    ]
    told = (Reading(what="level", value=level, path=""),)
    array = Layer(Node(id="md0", layer="block", kind="md", name="md0", readings=told), [(part, None) for part in parts])
    run(array, forced, seed)
    found = composed(array, [array, *parts, disk])
    assert found.arrived(kind_of(forced)) == (SYNCS, SYNCS)
    assert found.arrived("bytes") == (SYNCS * BLOCK, SYNCS * BLOCK)
