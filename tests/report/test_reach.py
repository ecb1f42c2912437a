import pytest
from msgspec.structs import replace

from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.errors import Refused
from fstui.model.settings import Settings
from fstui.model.storage import Medium, MediumCache, MediumClass, Target
from fstui.report.reach import DataPlace, Reach, actual_reach, places, reach
from fstui.runs import scenarios, simulation
from fstui.tui.drawing import io_path
from tests.factories.storage import disk, filesystem, loop, on_disk, on_loop

CACHES_READ: dict[MediumClass, MediumCache] = {"raid-cache": "unknown", "optane": "unknown", "ssd-plp": "plp"}


async def planned(disk: str, scenario: str = "odirect-truth") -> tuple[Target, dict[str, Settings]]:
    """Return the storage of a simulated disk, and the settings of each step."""
    machine = simulation.find(disk)
    session = simulation.session(machine, pace=0.0)
    site, plan = await session.plan_by_name(scenario, simulation.mount_point(machine))
    return site.target, {step.name: step.settings for step in plan.steps}


async def reached(disk: str, scenario: str = "odirect-truth") -> tuple[list[str], dict[str, Reach | None], str]:
    """Return the places, how far each step comes, and the drawing."""
    target, steps = await planned(disk, scenario)
    below = places(target)
    found = {name: reach(settings, target, below) for name, settings in steps.items()}
    picture = "\n".join(text.plain for text in io_path.reach_lines(list(steps.items()), target, 80))
    return [f"{place.name}: {place.survives}" for place in below], found, picture


async def test_each_kind_of_write_reaches_its_place() -> None:
    below, found, picture = await reached("hdd-7200")
    assert below == ["page cache: False", "sda cache: False", "platter: True"]
    assert found["write, no sync"] == Reach(0)
    assert found["O_DIRECT"] == Reach(1, bypasses_cache=True)
    assert found["fdatasync"] == Reach(2) and found["O_DIRECT+O_DSYNC"] == Reach(2, bypasses_cache=True)
    assert found["flush of unsynced writes"] is None and "varies within the step" in picture


async def test_a_rare_sync_leaves_most_writes_in_memory() -> None:
    target, steps = await planned("hdd-7200")
    synced = steps["fdatasync"]
    assert isinstance(synced, SyncWrites)
    assert reach(replace(synced, sync_every=100), target, places(target)) == Reach(0, "one sync per 100 writes")


async def test_a_dropped_sync_ends_above_the_medium() -> None:
    _, found, picture = await reached("hdd-7200-nobarrier")
    stopped = found["fdatasync"]
    assert stopped is not None and stopped.stopped and stopped.reached == 1 and "✗ nobarrier" in picture
    _, found, _ = await reached("usb-hdd-zfs-disabled")
    stopped = found["fdatasync"]
    assert stopped is not None and stopped.stopped and stopped.reached == 0


@pytest.mark.parametrize(("dio", "place"), [("0", 0), ("1", 1)])
def test_a_loop_device_buffers_what_is_not_flushed(dio: str, place: int) -> None:
    target = on_loop(device=loop(dio=dio))
    target = replace(target, stack=(replace(target.stack[0], sync="stops", reason="nobarrier"), *target.stack[1:]))
    for settings in (SyncWrites(sync="none", open_flags=("direct",)), SyncWrites(sync="fdatasync")):
        found = reach(settings, target, places(target))
        assert found is not None and found.reached == place
        assert found.bypasses_cache == (dio == "1" and bool(settings.open_flags))


@pytest.mark.parametrize(("disk", "kept"), [("raid-cache", "sda cache: True"), ("hdd-7200-no-cache", "platter: True")])
async def test_a_protected_cache_survives_a_power_cut(disk: str, kept: str) -> None:
    below, _, _ = await reached(disk)
    assert below[1] == kept


@pytest.mark.parametrize("class_", ["raid-cache", "optane", "ssd-plp"])
def test_a_cache_that_the_judge_trusts_survives(class_: MediumClass) -> None:
    """A model name is enough to recognise a controller's battery, Optane, or a drive's capacitors."""
    cached = disk(write_cache="write back", medium=Medium(class_=class_, write_cache=CACHES_READ[class_]))
    assert places(on_disk(filesystem(), cached))[1] == DataPlace("sda cache", survives=True)


@pytest.mark.parametrize(
    ("disk_name", "place", "note"),
    [
        ("hdd-7200-eatmydata", 0, "✗ the sync never left the process"),
        ("hdd-7200-lying", 1, "✗ acknowledged by the cache"),
        ("ssd-consumer,disk.cache.flush=ignored", 1, "✗ acknowledged by the cache"),
    ],
)
async def test_the_truth_of_a_simulated_disk_can_be_drawn(disk_name: str, place: int, note: str) -> None:
    made = simulation.find(disk_name)
    target, steps = await planned(disk_name)
    said = reach(steps["fdatasync"], target, places(target))
    assert said is not None and not said.stopped
    true = actual_reach(made, said, places(target))
    assert true.stopped and true.reached == place
    synced = [("fdatasync", steps["fdatasync"])]
    assert note in io_path.reach_lines(synced, target, 80, actual=made)[1].plain
    assert note not in io_path.reach_lines(synced, target, 80)[1].plain


async def test_a_commit_that_may_be_lost_names_the_setting() -> None:
    _, found, _ = await reached("ssd-consumer", "sqlite-commit")
    assert found["WAL NORMAL"] == Reach(0, "synchronous = NORMAL") and found["WAL FULL"] == Reach(2, "each commit")


async def test_every_shipped_scenario_can_be_drawn_at_every_width() -> None:
    session = simulation.session(simulation.find("hdd-7200"), pace=0.0)
    site = await session.look_up("/simulated/hdd-7200")
    for _, scenario in scenarios.load_shipped():
        try:
            plan = await session.plan(scenario, site, {})
        except Refused:
            continue
        for width in (40, 80, 200):
            steps = [(step.name, step.settings) for step in plan.steps]
            assert all(text.cell_len <= width for text in io_path.reach_lines(steps, site.target, width))
