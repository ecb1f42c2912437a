"""How far data has come when its call returns, by what a step asks and what the layers are."""

from __future__ import annotations

import pytest

from fstui.model.errors import Refused
from fstui.report.reach import Reach, places, reach
from fstui.session import scenarios, simulation
from fstui.tui.drawing import way


async def reached(disk: str, scenario: str = "odirect-truth") -> tuple[list[str], dict[str, Reach | None], str]:
    """The places, how far each step comes, and the picture."""
    session = simulation.session(simulation.named(disk), pace=0.0)
    site, plan = await session.planned(scenario, simulation.mount_point(simulation.named(disk)))
    below = places(site.target)
    found = {step.name: reach(step.settings, site.target, below) for step in plan.steps}
    asked = [way.Asked(step.name, step.settings) for step in plan.steps]
    picture = "\n".join(text.plain for text in way.lines(asked, site.target, 80))
    return [f"{place.name}: {place.kept}" for place in below], found, picture


async def test_a_write_ends_in_memory_a_direct_one_in_the_disks_cache_and_a_sync_on_the_platter() -> None:
    below, found, picture = await reached("hdd-7200")
    assert below == ["page cache: False", "sda cache: False", "platter: True"]
    assert found["write, no sync"] == Reach(0)
    assert found["O_DIRECT"] == Reach(1, past_memory=True)
    assert found["fdatasync"] == Reach(2) and found["O_DIRECT+O_DSYNC"] == Reach(2, past_memory=True)
    assert found["flush of unsynced writes"] is None and "as its program does it" in picture


async def test_without_barriers_a_sync_ends_in_the_cache_and_where_zfs_drops_it_in_memory() -> None:
    _, found, picture = await reached("hdd-7200-nobarrier")
    stopped = found["fdatasync"]
    assert stopped is not None and stopped.stopped and stopped.place == 1 and "✗ nobarrier" in picture
    _, found, _ = await reached("usb-hdd-zfs-disabled")
    stopped = found["fdatasync"]
    assert stopped is not None and stopped.stopped and stopped.place == 0


@pytest.mark.parametrize(("disk", "kept"), [("raid-cache", "sda cache: True"), ("hdd-7200-no-cache", "platter: True")])
async def test_a_protected_cache_keeps_and_a_disk_without_one_has_none(disk: str, kept: str) -> None:
    below, _, _ = await reached(disk)
    assert below[1] == kept


async def test_a_commit_that_may_be_lost_says_by_which_setting() -> None:
    _, found, _ = await reached("ssd-consumer", "sqlite-commit")
    assert found["WAL NORMAL"] == Reach(0, "synchronous = NORMAL") and found["WAL FULL"] == Reach(2, "each commit")


async def test_every_shipped_scenario_can_be_drawn_at_every_width() -> None:
    session = simulation.session(simulation.named("hdd-7200"), pace=0.0)
    site = await session.look_up("/simulated/hdd-7200")
    for _, scenario in scenarios.shipped_ones():
        try:
            plan = await session.plan(scenario, site, {})
        except Refused:
            continue
        for width in (40, 80, 200):
            asked = [way.Asked(step.name, step.settings) for step in plan.steps]
            assert all(text.cell_len <= width for text in way.lines(asked, site.target, width))
