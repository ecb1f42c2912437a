"""Filesystems that send no flushes, and the caches beneath them."""

from __future__ import annotations

from fstui.judge.facts.stack import Stack
from fstui.judge.facts.without_barriers import without_barriers
from fstui.model.run import Evidence
from fstui.model.storage import Medium
from tests.factories.storage import disk, filesystem, on_disk, on_loop


def test_the_caches_are_those_that_end_a_level() -> None:
    on_a_loop = on_loop(filesystem(name="/", barrier="nobarrier"))
    (found,) = without_barriers(Stack(on_a_loop), Evidence())
    assert [node.id for node in found.caches] == ["sda"]
    assert found.loses_data and found.on == found.caches and found.off == ()


def test_nothing_is_lost_where_each_cache_outlives_a_power_cut() -> None:
    protected = disk(medium=Medium(class_="ssd-plp", write_cache="plp"))
    (found,) = without_barriers(Stack(on_disk(filesystem(barrier="nobarrier"), protected)), Evidence())
    assert not found.loses_data
