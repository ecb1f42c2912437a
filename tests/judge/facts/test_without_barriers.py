"""Filesystems that send no flushes, and the caches beneath them."""

from __future__ import annotations

import pytest

from fstui.judge.facts.stack import Stack
from fstui.judge.facts.switches import Switches
from fstui.judge.facts.without_barriers import without_barriers
from fstui.model.storage import Medium
from tests.factories.steps import step
from tests.factories.storage import disk, filesystem, on_disk, on_loop


def test_the_caches_are_those_that_end_a_level() -> None:
    on_a_loop = on_loop(filesystem(name="/", barrier="nobarrier"))
    (found,) = without_barriers(Stack(on_a_loop), Switches(()))
    assert [node.id for node in found.caches] == ["sda"]
    assert found.loses_data and found.on == found.caches and found.off == ()


def test_nothing_is_lost_where_each_cache_outlives_a_power_cut() -> None:
    protected = disk(medium=Medium(class_="ssd-plp", write_cache="plp"))
    (found,) = without_barriers(Stack(on_disk(filesystem(barrier="nobarrier"), protected)), Switches(()))
    assert not found.loses_data


@pytest.mark.parametrize(("changes", "value", "back"), [
    ("barrier → nobarrier", "nobarrier since fdatasync", False),
    ("barrier → nobarrier → barrier", "nobarrier for a time in fdatasync", True),
], ids=["off", "off and on"])  # fmt: skip
def test_switched_off_meanwhile_it_is_said_since_when(changes: str, value: str, *, back: bool) -> None:
    ran = step("fdatasync", changes={"changed": (f"mount:/srv: barrier {changes}",)})
    (found,) = without_barriers(Stack(on_disk(filesystem(barrier="barrier"))), Switches((ran,)))
    assert (found.barrier.value, found.back) == (value, back)
