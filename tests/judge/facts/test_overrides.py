"""Devices whose flushes the kernel drops, by what that costs."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fstui.judge.facts.overrides import overrides
from fstui.judge.facts.stack import Stack
from fstui.model.run import Evidence
from fstui.model.storage import Node
from tests.factories.storage import block, disk, filesystem, readings, target

TOLD = block("dm-0", "dm-linear", "sdb", write_cache="write through")
MIRROR = block("md0", "md", "sda", "dm-0", readings=readings(level="raid1"), write_cache="write back")
BENEATH = (disk(), TOLD, disk("sdb"))


def test_a_told_leg_loses_where_nothing_tells_its_copy_from_the_other() -> None:
    on_md = target(filesystem(below=("md0",)), MIRROR, *BENEATH)
    found = overrides(Evidence(target=on_md), Stack(on_md))
    assert [override.device for override in found.losing] == [TOLD] and not found.corrected
    top = filesystem("btrfs", below=("sda", "dm-0"), barrier="barrier", level="raid1", metadata_level="raid1")
    on_btrfs = target(top, *BENEATH)
    found = overrides(Evidence(target=on_btrfs), Stack(on_btrfs))
    assert [override.device for override in found.corrected] == [TOLD] and not found.losing


def test_what_none_contradicts_is_no_override() -> None:
    without = target(filesystem(below=("dm-0",)), TOLD, disk("sdb", write_cache="write through"))
    assert not any(overrides(Evidence(target=without), Stack(without)))


VOLUME = disk(link="scsi", readings=readings(cache_type="write back", controller="stex"))
LINEAR = block("dm-0", "dm-linear", "sda", write_cache="write through")


@pytest.mark.parametrize(("stack", "hidden"), [
    ((replace(VOLUME, write_cache="write through"),), True),
    ((LINEAR, VOLUME), True),
    ((LINEAR, disk()), False),
    ((replace(LINEAR, below=("sda", "sdb")), VOLUME, disk("sdb")), False),
], ids=["itself", "beneath", "a disk beneath", "a disk beneath as well"])  # fmt: skip
def test_a_controllers_volume_of_an_unknown_name_may_have_a_battery(stack: tuple[Node, ...], hidden: bool) -> None:
    where = target(filesystem(below=(stack[0].id,)), *stack)
    found = overrides(Evidence(target=where), Stack(where))
    assert ([each.device for each in found.hidden], [each.device for each in found.losing]) == (
        ([stack[0]], []) if hidden else ([], [stack[0]])
    )
