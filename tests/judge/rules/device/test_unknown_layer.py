"""A layer of a kind that fstui does not know."""

from __future__ import annotations

import pytest

from fstui.model.storage import Target
from fstui.storage.layers import kind
from tests.factories.box import Box
from tests.factories.evidence import finding, rules, verdict
from tests.factories.looking import look
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, readings, target

RULE = "unknown-layer"


def under(name: str, *below: str, **told: str) -> Target:
    return target(filesystem(below=("x",)), block("x", name, *below, readings=readings(**told)), disk(), disk("sdb"))


@pytest.mark.parametrize("flushes", [0, 1, 5])
def test_below_an_unknown_layer_nothing_is_accused_or_accepted(flushes: float) -> None:
    judgement = verdict(under("drbd", "sda"), step(flushes=flushes))
    assert judgement.verdict == "cannot-tell"
    assert "fstui does not know the layer drbd (x)" in judgement.sentence
    assert "fstui powercut" in finding(judgement, RULE).next[0]


@pytest.mark.parametrize("flushes", [0, 1])
def test_an_unknown_filesystem_is_neither_accused_nor_accepted(flushes: float) -> None:
    judgement = verdict(target(filesystem("f2fs"), disk()), step(flushes=flushes))
    assert (judgement.verdict, RULE in rules(judgement)) == ("cannot-tell", True)


def test_an_unknown_layer_may_keep_each_write_itself() -> None:
    assert verdict(under("drbd", "sda", write_cache="write through"), step(flushes=0)).verdict == "cannot-tell"


def test_memory_below_an_unknown_layer_need_not_hold_the_only_copy() -> None:
    stack = target(filesystem(below=("x",)), block("x", "drbd", "zram0"), block("zram0", "zram", lowest=True))
    assert verdict(stack, step()).verdict == "cannot-tell"


def test_barriers_off_above_an_unknown_layer_are_reported() -> None:
    top = filesystem(below=("x",), barrier="nobarrier")
    assert "barriers-off" in rules(verdict(target(top, block("x", "drbd", "sda"), disk()), step(flushes=0)))


def test_a_block_device_of_an_unknown_driver_is_not_taken_for_a_disk(box: Box) -> None:
    box.disk("sda")
    box.device("drbd0", slaves=("sda",), iostats=0)
    box.mount("/dev/drbd0", "/srv", "ext4")
    node = look(box).node("drbd0")
    assert (node.kind, kind(node.kind).known, node.below) == ("drbd", False, ("sda",))
