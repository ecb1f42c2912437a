"""The levels of a stack, and where flushes end on the way."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fstui.judge.facts.stack import Stack
from fstui.model.storage import Medium, Node, Space, Target
from fstui.storage.layers.facts import DEVICE_UNSEEN
from tests.factories.storage import block, disk, filesystem, loop, on_disk, on_loop, readings, target


def levels(where: Target) -> list[tuple[str, list[str]]]:
    return [(level.filesystem.id, [node.id for node in level.devices]) for level in Stack(where).levels]


def test_a_level_ends_at_a_disk_or_at_a_loop_device() -> None:
    assert levels(on_disk()) == [("mount:/srv", ["sda"])]
    assert levels(on_loop()) == [("mount:/srv", ["loop0"]), ("mount:/", ["sda"])]


def test_what_passes_on_is_on_the_way_and_no_end() -> None:
    stack = target(
        filesystem(below=("dm-0",)), block("dm-0", "dm-crypt", "sda1"), block("sda1", "partition", "sda"), disk()
    )
    (level,) = Stack(stack).levels
    assert [node.id for node in level.path] == ["dm-0", "sda1", "sda"]
    assert [node.id for node in level.devices] == ["sda"]
    assert Stack(stack).ends_in("sda") and not Stack(stack).ends_in("dm-0")


def test_an_overlay_is_no_level_but_the_filesystem_of_its_upper_directory() -> None:
    overlay = filesystem("overlay", "/merged", below=("mount:/srv",))
    assert levels(target(overlay, *on_disk().stack)) == levels(on_disk())


def test_a_loop_on_a_block_device_ends_no_level() -> None:
    device = disk("loop0", kind="loop", lowest=False, below=("sda",))
    assert levels(target(filesystem(below=("loop0",)), device, disk())) == [("mount:/srv", ["sda"])]


@pytest.mark.parametrize(
    ("above", "below", "dropped"),
    [
        ("write back", "write back", False),
        ("write through", "write back", True),
        ("write back", "write through", True),
        (None, "write back", False),
        (None, None, None),
    ],
)
def test_flushes_end_at_write_through_wherever_it_stands(
    above: str | None, below: str | None, dropped: bool | None
) -> None:
    crypt = block("dm-0", "dm-crypt", "sda", write_cache=above)
    stack = Stack(target(filesystem(below=("dm-0",)), crypt, disk(write_cache=below)))
    (level,) = stack.levels
    assert stack.drops_flushes(level, level.devices[0]) is dropped


def test_of_two_layers_in_memory_the_lowest_is_named() -> None:
    tmpfs = filesystem("tmpfs", below=("memory:tmpfs",))
    memory = Node(id="memory:tmpfs", layer="memory", kind="tmpfs", name="memory", lowest=True)
    assert [node.id for node in Stack(target(tmpfs, memory)).in_memory] == ["memory:tmpfs"]
    assert [node.id for node in Stack(target(filesystem("ramfs", below=()))).in_memory] == ["mount:/srv"]
    declared = on_disk(filesystem(), disk(medium=Medium(class_="memory", declared=True)))
    assert [node.id for node in Stack(declared).in_memory] == ["sda"]
    assert Stack(on_disk()).in_memory == ()


def test_a_layer_that_reduces_is_known_on_the_way() -> None:
    vdo = target(filesystem(below=("dm-0",)), block("dm-0", "dm-vdo", "sda"), disk())
    assert [level.reduces for level in Stack(vdo).levels] == [True]
    assert [level.reduces for level in Stack(on_disk()).levels] == [False]


def test_the_backing_file_of_a_loop_leads_to_its_filesystem() -> None:
    stack = Stack(on_loop())
    assert [node.id for node in stack.backing(loop())] == ["mount:/"]
    assert stack.backing(disk()) == ()


def test_a_stack_ends_where_nothing_is_below() -> None:
    assert [node.id for node in Stack(on_loop()).lowest] == ["sda"]


def sized(*stack: Node, total_bytes: int = 1001) -> Stack:
    return Stack(replace(target(*stack), space=Space(total_bytes=total_bytes, free_bytes=500)))


def test_a_filesystem_reaches_further_only_where_all_its_devices_are_of_known_size() -> None:
    both = filesystem(below=("sda", "sdb"))
    assert sized(filesystem(), disk(size_bytes=1000)).reaches_further
    assert not sized(filesystem(), disk(size_bytes=1000), total_bytes=1000).reaches_further
    assert not sized(both, disk(size_bytes=1000), disk("sdb")).reaches_further
    assert not sized(both, disk(size_bytes=1000), disk("sdb", size_bytes=1)).reaches_further
    assert not sized(filesystem("nfs4", below=())).reaches_further
    unseen = replace(filesystem(), readings=readings(**{DEVICE_UNSEEN: "/dev/sdz"}))
    assert sized(unseen, disk()).reaches_further
    assert not Stack(None).reaches_further


@pytest.mark.parametrize(
    ("devices", "claims"),
    [
        ((disk(fua=False), disk("sdb", fua=True, readings=readings(role="log"))), False),
        ((disk(fua=True), disk("sdb", fua=False, readings=readings(role="journal"))), True),
        ((disk(fua=True), disk("sdb", fua=False)), None),
        ((disk(fua=True), block("sdb", "partition", "sdc"), disk("sdc", fua=True)), True),
        ((disk(fua=True), block("sdb", "partition", "sdc"), disk("sdc", fua=False)), None),
        ((disk(fua=True), block("sdb", "md", "sdc", "sdd"), disk("sdc", fua=True), disk("sdd", fua=True)), None),
        ((disk(fua=True),), None),
    ],
    ids=["a log apart", "a journal apart", "one of two", "a partition's disk", "a disk without", "an array", "unseen"],
)
def test_what_the_datas_devices_say_of_fua(devices: tuple[Node, ...], claims: bool | None) -> None:
    (level,) = Stack(target(filesystem("xfs", below=("sda", "sdb")), *devices)).levels
    assert level.claims_fua is claims
