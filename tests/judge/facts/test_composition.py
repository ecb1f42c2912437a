"""What arrived below a filesystem, by the counters of its devices."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fstui.judge.facts.composition import Composition, LevelCounts, level_counts
from fstui.judge.facts.stack import Stack
from fstui.model.counters import DeviceCounters
from fstui.model.steps import Step
from fstui.model.storage import Target
from tests.factories.layered import BLOCK, SYNCS, Layer
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, readings, target


@given(st.sampled_from(["raid1", "raid0"]), st.booleans(), st.integers(0, 1000))
def test_disk_on_two_paths_counts_for_both(level: str, fua: bool, seed: int) -> None:
    """An array of two partitions of one disk."""
    lowest = Layer(disk())
    nodes = [block(name, "partition", "sda") for name in ("sda1", "sda2")]
    parts = [Layer(node, "alone", [(lowest, None)]) for node in nodes]
    md = block("md0", "md", "sda1", "sda2", readings=readings(level=level))
    made = Layer(md, "mirror" if level == "raid1" else "stripe", [(part, None) for part in parts])
    chance = random.Random(seed)
    for _ in range(SYNCS):
        made.take("forced" if fua else "write", chance)
        if not fua:
            made.take("flush", chance)
    counted = DeviceCounters(device="sda", flushes=lowest.flushes, written_bytes=lowest.written_bytes)
    stack = Stack(target(filesystem(below=("md0",)), md, *nodes, lowest.node))
    found = Composition(stack, stack.levels[0], step(changes={"counters": (counted,)}))
    assert found.arrived_range("fua_writes" if fua else "flushes") == (SYNCS, SYNCS)
    assert found.arrived_range("bytes") == (SYNCS * BLOCK, SYNCS * BLOCK)


def array(level: str) -> Target:
    md = block("md0", "md", "sda", "sdb", fua=True, readings=readings(level=level))
    return target(filesystem(below=("md0",)), md, disk(), disk("sdb"))


def below(where: Target, seen: Step, *, fua: bool = False) -> LevelCounts:
    stack = Stack(where)
    return level_counts(stack, stack.levels[0], seen, fua=fua)


@pytest.mark.parametrize(("level", "flushes", "written"), [("raid1", (1600, 2000), 1.0), ("raid0", (1600, 2000), 2.0)])
def test_members_receive_all_and_stripes_share_the_bytes(level: str, flushes: tuple[int, int], written: float) -> None:
    found = below(array(level), step(flushes={"sda": 1.0, "sdb": 0.8}))
    assert found.flushes == flushes
    assert found.written_bytes is not None and found.written_bytes.low == written * step().bytes
    assert [node.id for node in found.devices] == ["sda", "sdb"]


def test_fua_write_reaches_the_devices_with_its_block() -> None:
    half = step(flushes={"sda": 0.5, "sdb": 0.5}, share={"sda": 0.5, "sdb": 0.5})
    found = below(array("raid0"), half, fua=True)
    assert found.flushes is not None and found.flushes.low == 2000


@pytest.mark.parametrize(("logged", "low"), [(1.0, 2000), (0, 0)])
def test_journal_of_an_array_counts_its_flushes(logged: float, low: int) -> None:
    roles = {"sda": "stripe", "sdb": "stripe", "sdc": "journal"}
    md = block("md0", "md", *roles, readings=readings(level="raid5"), below_roles=roles)
    where = target(filesystem(below=("md0",)), md, disk(), disk("sdb"), disk("sdc"))
    found = below(where, step(flushes={"sda": 0, "sdb": 0, "sdc": logged}))
    assert found.flushes is not None and found.flushes.low == low
    assert [node.id for node in found.devices] == ["sdc"]
    stripe = block("dm-0", "dm-stripe", "md0", "sdd")
    parts = below(target(filesystem(below=("dm-0",)), stripe, *where.stack[1:], disk("sdd")), step())
    assert parts.flushes is None, "the array receives only a part of the writes"
