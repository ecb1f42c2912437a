"""The levels of a stack, and where flushes end on the way."""

from __future__ import annotations

import pytest

from fstui.judge.facts.stack import Stack
from fstui.model.storage import Medium, Node, Target
from tests.factories.storage import block, disk, filesystem, loop, on_disk, on_loop, target


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
