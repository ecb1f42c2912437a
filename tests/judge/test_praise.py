"""No praise above low, whatever stands on whatever, while one of the lowest devices may have forgotten everything."""

from __future__ import annotations

import random
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

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
    Medium(class_="ssd-plp", write_cache="plp", because="the model says so"),
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
    """The same disk, of some medium on some link."""
    return msgspec.structs.replace(
        node,
        medium=chance.choice(MEDIA),
        link=chance.choice(LINKS) if chance.random() < 0.3 else "sata",
        write_cache="write through" if chance.random() < 0.15 else "write back",
    )


def stood_on(top: Layer, layers: list[Layer], chance: random.Random) -> Target:
    """A filesystem on these layers, at times with a log on a disk of its own."""
    name, options = chance.choice(TOPS)
    apart = (drawn_disk(disk("log"), chance),) if chance.random() < 0.3 else ()
    above = filesystem(name, below=(top.node.id, *(node.id for node in apart)), **options)
    roles = {node.id: "log" for node in apart}
    within = [
        msgspec.structs.replace(
            layer.node,
            below=tuple(below.node.id for below, _ in layer.below),
            below_roles={below.node.id: role for below, role in layer.below if role},
        )
        if layer.below
        else drawn_disk(layer.node, chance)
        for layer in layers
    ]
    return target(msgspec.structs.replace(above, below_roles=roles), *within, *apart)


def measured(layers: list[Layer], chance: random.Random, at_work: set[str]) -> list[Step]:
    """What honest counters show, and how long each device took for its own part of it."""
    arrived: dict[str, Any] = {
        "flushes": {each.node.id: each.flushes / SYNCS for each in layers if not each.below} | {"log": 0},
        "share": {each.node.id: each.written_bytes / (SYNCS * BLOCK) for each in layers if not each.below} | {"log": 0},
        "ops": SYNCS,
    }
    alone = {**arrived, "flushes": dict.fromkeys(arrived["flushes"], 0)}
    same = own_time(step("same block", offsets="same", rate=chance.choice((100, 119)), **arrived), 8)
    turning = tuple(each for each in same.counters if each.device in at_work)
    idle = tuple(
        msgspec.structs.replace(each, flush_ms=0, write_ms=0) for each in same.counters if each.device not in at_work
    )
    return [
        write(chance.choice((20, 90, 400)), **alone),
        flushed(chance.choice((40, 200, 900, 8000)), **arrived),
        msgspec.structs.replace(same, counters=(*turning, *idle)),
        flushes(chance.choice((FLAT_US, GROWN_US)), own={each: float(each in at_work) for each in arrived["flushes"]}),
    ]


def is_kept(node: Node, at_work: set[str]) -> bool:
    """By what the box alone can know: it lost nothing, or its own time shows that it works."""
    medium = node.medium or Medium()
    protected = medium.class_ in {"ssd-plp", "optane"}
    between = medium.class_ in {"raid-cache", "network"} or node.link not in {"sata", "sas", "nvme", "mmc"}
    return protected or (node.id in at_work and not between)


def praise(findings: tuple[Finding, ...]) -> list[str]:
    return [each.rule for each in findings if each.verdict in {"consistent", "plausible"} and each.confidence != "low"]


@settings(max_examples=120)
@given(st.integers(0, 1 << 32), st.integers(0, 3))
def test_one_unseen_device_is_enough_for_low(seed: int, depth: int) -> None:
    chance = random.Random(seed)
    maker = Maker(chance.randint, files=False)
    top, layers = maker.layer(depth), maker.layers
    where = stood_on(top, layers, chance)
    run(Filesystem(filesystem(), [(top, None)]), False, seed)
    busy = chance.choice((0.5, 0.9, 1.0))
    at_work = {node.id for node in where.lowest if chance.random() < busy}
    host = chance.choice((METAL, METAL, GUEST))
    steps = measured(layers, chance, at_work)
    judged = judge(evidence(where, *steps, host=host, idle=quiet(*(node.id for node in where.lowest))))
    holding = [node for node in where.lowest if node.id in reached(top) | {"log"}]
    if host is GUEST or not all(is_kept(node, at_work) for node in holding):
        assert praise(judged.findings) == []


def test_where_each_was_seen_there_is_praise() -> None:
    """Else the test above would hold of a judge that never says more than low."""
    said = set()
    for seed in range(160):
        chance = random.Random(seed)
        layer = Layer(disk("sda", medium=chance.choice(MEDIA)))
        where = target(filesystem(), layer.node)
        run(Filesystem(where.stack[0], [(layer, None)]), False, seed)
        steps = measured([layer], chance, {"sda"})
        said.update(praise(judge(evidence(where, *steps, host=METAL, idle=quiet("sda"))).findings))
    assert said == {"flush-flat", "flushes-arrive", "same-block-rotation", "protected-cache"}
