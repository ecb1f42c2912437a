"""What the devices of a level counted, whatever was expected."""

from __future__ import annotations

import pytest

from fstui.judge.facts.composition import Received, counted_at, flush_counters, received
from fstui.judge.facts.stack import Stack
from fstui.model.steps import Step
from fstui.model.storage import Target
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, on_disk, readings, target


def array(level: str) -> Target:
    md = block("md0", "md", "sda", "sdb", fua=True, readings=readings(level=level))
    return target(filesystem(below=("md0",)), md, disk(), disk("sdb"))


def of(where: Target, seen: Step, *, forced: bool = False) -> Received:
    stack = Stack(where)
    return received(stack, stack.levels[0], seen, forced=forced)


@pytest.mark.parametrize(("level", "flushes", "written"), [("raid1", (1600, 2000), 1.0), ("raid0", (1600, 2000), 2.0)])
def test_legs_get_all_and_stripes_share_the_bytes(level: str, flushes: tuple[int, int], written: float) -> None:
    found = of(array(level), step(flushes={"sda": 1.0, "sdb": 0.8}))
    assert found.flushes == flushes
    assert found.written is not None and found.written.low == written * step().bytes
    assert [node.id for node in found.devices] == ["sda", "sdb"]


def test_a_forced_write_goes_to_those_that_hold_its_block() -> None:
    half = step(flushes={"sda": 0.5, "sdb": 0.5}, share={"sda": 0.5, "sdb": 0.5})
    found = of(array("raid0"), half, forced=True)
    assert found.flushes is not None and found.flushes.low == 2000


def test_a_leg_that_is_written_behind_gets_every_flush_and_its_bytes_later() -> None:
    """A mirror of a fast disk and a slow one, whose backlog of 256 writes is longer than a short step."""
    md = block("md0", "md", "sda", "sdb", readings=readings(level="raid1", written_behind="sdb"))
    where = target(filesystem(below=("md0",)), md, disk(), disk("sdb"))
    found = of(where, step(flushes={"sda": 1.0, "sdb": 0.9}, share={"sda": 1.0, "sdb": 0.3}))
    assert found.written is not None and found.written.low == step().bytes
    assert found.flushes is not None and found.flushes.low == 1800


@pytest.mark.parametrize(("logged", "low"), [(1.0, 2000), (0, 0)])
def test_beside_a_journal_the_flushes_are_told_by_that_and_not_by_the_members(logged: float, low: int) -> None:
    roles = {"sda": "stripe", "sdb": "stripe", "sdc": "journal"}
    md = block("md0", "md", *roles, readings=readings(level="raid5"), below_roles=roles)
    where = target(filesystem(below=("md0",)), md, disk(), disk("sdb"), disk("sdc"))
    found = of(where, step(flushes={"sda": 0, "sdb": 0, "sdc": logged}))
    assert found.flushes is not None and found.flushes.low == low
    assert [node.id for node in found.devices] == ["sdc"]


def test_a_device_that_does_not_count_leaves_it_open() -> None:
    silent = on_disk(filesystem(), disk(counted=False))
    assert (of(silent, step()).flushes, of(silent, step()).written) == (None, None)
    assert flush_counters(disk(counted=False), step()) is None
    assert counted_at((disk(counted=False),), step()) is None


def test_where_no_flush_is_sent_what_was_counted_is_still_known() -> None:
    through = disk(write_cache="write through")
    found = of(on_disk(filesystem(), through), step(flushes=0))
    assert found.flushes is None
    assert counted_at(found.devices, step(flushes=0)) == (0, 0)
