"""Devices whose flushes the kernel drops, by what that costs."""

from __future__ import annotations

from typing import Literal

import pytest
from msgspec.structs import replace

from fstui.judge import Case
from fstui.model.storage import Node
from tests.factories.evidence import evidence
from tests.factories.storage import block, disk, filesystem, loop, on_loop, readings, target

TOLD = block("dm-0", "dm-linear", "sdb", write_cache="write through")
MIRROR = block("md0", "md", "sda", "dm-0", readings=readings(level="raid1"), write_cache="write back")
BENEATH = (disk(), TOLD, disk("sdb"))


def outcomes(*stack: Node) -> list[tuple[str, str]]:
    found = Case(evidence(target(*stack))).configuration.defects
    return [(hit.layer.id, hit.outcome) for defect, hit in found if defect.name == "write-through-override"]


def test_a_told_leg_loses_where_nothing_tells_its_copy_from_the_other() -> None:
    assert outcomes(filesystem(below=("md0",)), MIRROR, *BENEATH) == [("dm-0", "lost")]
    top = filesystem("btrfs", below=("sda", "dm-0"), barrier="barrier", level="raid1", metadata_level="raid1")
    assert outcomes(top, *BENEATH) == [("dm-0", "copied")]


def test_what_none_contradicts_is_no_override() -> None:
    assert not outcomes(filesystem(below=("dm-0",)), TOLD, disk("sdb", write_cache="write through"))


@pytest.mark.parametrize(
    ("below", "line"),
    [
        ("write back", "sda write cache: write back (/sys/block/sda/queue/write_cache)"),
        ("write through", "loop0: keeps what it writes in the page cache until it is flushed (no direct-io)"),
    ],
)
def test_who_says_that_the_cache_of_a_buffered_loop_is_on_is_told(
    below: Literal["write back", "write through"], line: str
) -> None:
    through = on_loop(device=loop(dio="0", write_cache="write through"), below=disk(write_cache=below))
    ((_, hit),) = Case(evidence(through)).configuration.defects
    assert (hit.layer.id, hit.because[1:]) == ("loop0", (line,))


VOLUME = disk(link="scsi", readings=readings(cache_type="write back", controller="stex"))
LINEAR = block("dm-0", "dm-linear", "sda", write_cache="write through")


@pytest.mark.parametrize(("stack", "hidden"), [
    ((replace(VOLUME, write_cache="write through"),), True),
    ((LINEAR, VOLUME), True),
    ((LINEAR, disk()), False),
    ((replace(LINEAR, below=("sda", "sdb")), VOLUME, disk("sdb")), False),
], ids=["itself", "beneath", "a disk beneath", "a disk beneath as well"])  # fmt: skip
def test_a_controllers_volume_of_an_unknown_name_may_have_a_battery(stack: tuple[Node, ...], hidden: bool) -> None:
    expected = "unknown_controller" if hidden else "lost"
    assert outcomes(filesystem(below=(stack[0].id,)), *stack) == [(stack[0].id, expected)]
