"""Confidence in durability is low on any stack if one of the lowest devices was not observed to work."""

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fstui.judge import judge
from fstui.model.judgement import Finding
from fstui.model.steps import Step
from fstui.model.storage import Medium, Node, Target
from tests.factories.evidence import GUEST, METAL, evidence, quiet
from tests.factories.growth import FLAT_US, GROWN_US, flushes
from tests.factories.layered import BLOCK, SYNCS, Filesystem, Layer, reached, run
from tests.factories.stacks import Maker
from tests.factories.steps import flushed, own_time, step, write
from tests.factories.storage import disk, filesystem, target

MEDIA = (
    Medium(),
    Medium(class_="ssd", write_cache="volatile"),
    Medium(class_="ssd-plp", write_cache="plp", reason="the model says so"),
    Medium(class_="ssd-plp", declared=True),
    Medium(class_="optane", write_cache="none"),
    Medium(class_="raid-cache"),
    Medium(class_="network"),
    Medium(class_="hdd-7200", rpm=7200, write_cache="volatile"),
    Medium(class_="hdd-7200", rpm=7200, write_cache="none", declared=True),
)
LINKS = ("sata", "sas", "nvme", "mmc", "usb", "scsi", "fc", "virtio", None)
TOPS: tuple[tuple[str, dict[str, str]], ...] = (
    ("ext4", {}),
    ("ext4", {"barrier": "nobarrier"}),
    ("xfs", {}),
    ("btrfs", {}),
)


def drawn_disk(node: Node, chance: random.Random) -> Node:
    """Return the disk with a random medium, link and cache setting."""
    return replace(
        node,
        medium=chance.choice(MEDIA),
        link=chance.choice(LINKS) if chance.random() < 0.3 else "sata",
        write_cache="write through" if chance.random() < 0.15 else "write back",
    )


def stack_on(top: Layer, layers: list[Layer], chance: random.Random) -> Target:
    """Return a filesystem on these layers, sometimes with an external log."""
    name, options = chance.choice(TOPS)
    external = (drawn_disk(disk("log"), chance),) if chance.random() < 0.3 else ()
    above = filesystem(name, below=(top.node.id, *(node.id for node in external)), **options)
    roles = {node.id: "log" for node in external}
    within = [
        replace(
            layer.node,
            below=tuple(below.node.id for below, _ in layer.below),
            below_roles={below.node.id: role for below, role in layer.below if role},
        )
        if layer.below
        else drawn_disk(layer.node, chance)
        for layer in layers
    ]
    return target(replace(above, below_roles=roles), *within, *external)


def measured(layers: list[Layer], chance: random.Random, working: set[str]) -> list[Step]:
    """Return steps with honest counters, in which the devices ``working`` took the time themselves."""
    arrived: dict[str, Any] = {
        "flushes": {each.node.id: each.flushes / SYNCS for each in layers if not each.below} | {"log": 0},
        "share": {each.node.id: each.written_bytes / (SYNCS * BLOCK) for each in layers if not each.below} | {"log": 0},
        "ops": SYNCS,
    }
    alone = {**arrived, "flushes": dict.fromkeys(arrived["flushes"], 0)}
    same = own_time(step("same block", offsets="same", rate=chance.choice((100, 119)), **arrived), 8)
    turning = tuple(each for each in same.counters if each.device in working)
    idle = tuple(replace(each, flush_ms=0, write_ms=0) for each in same.counters if each.device not in working)
    return [
        write(chance.choice((20, 90, 400)), **alone),
        flushed(chance.choice((40, 200, 900, 8000)), **arrived),
        replace(same, counters=(*turning, *idle)),
        flushes(chance.choice((FLAT_US, GROWN_US)), own={each: float(each in working) for each in arrived["flushes"]}),
    ]


def is_verified(node: Node, working: set[str]) -> bool:
    """Return whether the device is safe, or its own time shows that it works."""
    medium = node.medium or Medium()
    protected = medium.class_ in {"ssd-plp", "optane"}
    between = medium.class_ in {"raid-cache", "network"} or node.link not in {"sata", "sas", "nvme", "mmc"}
    return protected or (node.id in working and not between)


def confident(findings: tuple[Finding, ...]) -> list[str]:
    return [each.rule for each in findings if each.verdict in {"consistent", "plausible"} and each.confidence != "low"]


@given(st.integers(0, 1 << 32), st.integers(0, 3))
def test_one_unverified_device_is_enough_for_low(seed: int, depth: int) -> None:
    chance = random.Random(seed)
    maker = Maker(chance.randint, files=False)
    top, layers = maker.layer(depth), maker.layers
    where = stack_on(top, layers, chance)
    run(Filesystem(filesystem(), [(top, None)]), False, seed)
    busy = chance.choice((0.5, 0.9, 1.0))
    working = {node.id for node in where.lowest if chance.random() < busy}
    host = chance.choice((METAL, METAL, GUEST))
    steps = measured(layers, chance, working)
    judged = judge(evidence(where, *steps, host=host, idle=quiet(*(node.id for node in where.lowest))))
    holding = [node for node in where.lowest if node.id in reached(top) | {"log"}]
    if host is GUEST or not all(is_verified(node, working) for node in holding):
        assert confident(judged.findings) == []


def test_verified_devices_raise_the_confidence() -> None:
    """Without this, a judge that is never confident would pass the test above."""
    said = set()
    for seed in range(160):
        chance = random.Random(seed)
        layer = Layer(disk("sda", medium=chance.choice(MEDIA)))
        where = target(filesystem(), layer.node)
        run(Filesystem(where.stack[0], [(layer, None)]), False, seed)
        steps = measured([layer], chance, {"sda"})
        said.update(confident(judge(evidence(where, *steps, host=METAL, idle=quiet("sda"))).findings))
    assert said == {"flush-cost", "flushes-arrive", "same-block-rotation", "protected-cache"}
