"""Who is said to take forced writes, and hands them on as plain ones."""

from __future__ import annotations

import pytest

from fstui.judge.facts.forced_writes import handed_as_plain
from fstui.judge.facts.stack import Stack
from fstui.model.storage import Medium, Node
from tests.factories.storage import block, disk, filesystem, loop, readings, target

SERVED = disk("sdb", lowest=False, below=("sda",), fua=True, readings=readings(store="a block device"))
PARTITIONED = disk("sdb", lowest=False, below=("sda1",), fua=True, readings=readings(store="a block device"))


def found(*stack: Node) -> list[tuple[str, str]]:
    return [(each.target.id, each.device.id) for each in handed_as_plain(Stack(target(*stack)))]


def test_the_device_is_named_and_of_a_partition_its_disk() -> None:
    assert found(filesystem(below=("sdb",)), SERVED, disk()) == [("sdb", "sda")]
    partition = block("sda1", "partition", "sda")
    assert found(filesystem(below=("sdb",)), PARTITIONED, partition, disk()) == [("sdb", "sda")]


@pytest.mark.parametrize(("fua", "sent"), [(True, True), (None, True), (False, False)])
def test_below_one_that_says_it_has_none_the_kernel_flushes_instead(fua: bool | None, sent: bool) -> None:
    linear = block("dm-0", "dm-linear", "sdb", fua=fua)
    assert bool(found(filesystem(below=("dm-0",)), linear, SERVED, disk())) is sent


def test_what_two_ways_lead_to_is_named_once() -> None:
    halves = (block(name, "dm-linear", "sdb", fua=True) for name in ("dm-0", "dm-1"))
    assert len(found(filesystem("xfs", below=("dm-0", "dm-1")), *halves, SERVED, disk())) == 1


def test_a_filesystem_that_holds_a_loops_file_forces_its_own() -> None:
    image = Node(id="file:/x.img", layer="file", kind="file", name="/x.img", below=("mount:/",))
    below = filesystem("xfs", "/", below=("sdb",))
    assert found(filesystem(below=("loop0",)), loop(), image, below, SERVED, disk()) == [("sdb", "sda")]


ON_VOLUME = disk("sdb", lowest=False, below=("dm-0",), fua=True, readings=readings(store="a block device"))
PROTECTED = disk(medium=Medium(class_="ssd-plp", write_cache="plp"))


def volume(target_: str) -> Node:
    return block("dm-0", target_, "sda", fua=False, write_cache="write back")


def test_a_cache_that_outlives_a_power_cut_needs_no_force() -> None:
    """SATA drives of data centres say write back, and the kernel uses no FUA of theirs before it is asked to."""
    assert found(filesystem(below=("sdb",)), SERVED, PROTECTED) == []
    raid = disk(medium=Medium(class_="raid-cache"))
    assert found(filesystem(below=("sdb",)), SERVED, raid) == []
    unknown = disk(readings=readings(controller="megaraid_sas"))
    assert found(filesystem(below=("sdb",)), SERVED, unknown) == []
    assert found(filesystem(below=("sdb",)), ON_VOLUME, volume("dm-linear"), PROTECTED) == []


@pytest.mark.parametrize("between", ["dm-writecache", "dm-thin", "dm-integrity"])
def test_what_lies_between_may_have_a_write_in_memory_or_no_map_of_it(between: str) -> None:
    assert found(filesystem(below=("sdb",)), ON_VOLUME, volume(between), PROTECTED) == [("sdb", "dm-0")]
