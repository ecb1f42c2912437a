"""The limits of simulated disks, and their content after a power cut."""

import itertools
from typing import Any

import pytest

from fstui.measure.kinds.dirty_flush import DirtyFlush
from fstui.measure.kinds.powercut import PowerCut, PowerCutFigures
from fstui.measure.kinds.sqlite_commits import SqliteCommits
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.errors import Refused
from fstui.simulate.parameters import load, names, with_change
from fstui.simulate.programs import new_program
from fstui.simulate.simulated_host import SimulatedHost
from tests.simulate.model import host, rate, run

RANDOM: dict[str, Any] = {"offsets": "random", "block_bytes": 16384}


@pytest.mark.parametrize(("rpm", "turns"), [(5400, 90), (7200, 120), (15000, 250)])
def test_one_block_is_overwritten_once_per_revolution(rpm: int, turns: float) -> None:
    assert rate(host("hdd-7200", disk__platter__rpm=rpm)) == pytest.approx(turns, rel=0.02)


def test_random_writes_take_half_a_revolution() -> None:
    assert rate(host("hdd-7200"), seconds=3.0, **RANDOM) == pytest.approx(240, rel=0.1)
    assert rate(host("hdd-7200"), seconds=2.0, writers=8, **RANDOM) > 480


def test_flush_takes_longer_with_more_cached_data() -> None:
    honest, lying = host("ssd-consumer"), host("ssd-consumer", disk__cache__flush="ignored")
    slopes = []
    for each in (honest, lying):
        work = new_program(each, DirtyFlush(seconds=1.0, file_bytes=4 << 20))
        assert work is not None
        work.begin()
        while not work.has_ended:
            list(work.run_until(work.ended_ns + 1e9))
        slopes.append(work.figures["sequential"]["slope_ns_per_mib"])
    assert slopes[0] > 1_000_000 and slopes[1] < 10_000


@pytest.mark.parametrize(
    ("disk", "sync", "flags", "fua", "flushes"),
    [
        ("hdd-7200", "fdatasync", (), False, 1),
        ("hdd-7200", "fsync", (), False, 2),
        ("hdd-7200-no-cache", "fsync", (), False, 0),
        # FUA replaces the flush of O_DSYNC alone
        *((disk, "none", ("direct", "dsync"), True, 0) for disk in ("ssd-plp", "ssd-consumer")),
        *((disk, "none", ("direct", "sync"), True, 1) for disk in ("ssd-plp", "ssd-consumer")),
    ],
)
def test_flushes_are_the_expected_ones(disk: str, sync: Any, flags: Any, fua: bool, flushes: int) -> None:
    on = host(disk, **({"disk__fua": True} if fua else {}))
    _, done = run(on, SyncWrites(seconds=1.0, file_bytes=1 << 20, sync=sync, open_flags=flags, **RANDOM))
    (counted, *_) = on.counters().devices
    assert counted.flushes == pytest.approx(flushes * sum(len(each.part_ends_ns) // each.parts for each in done), abs=1)


def test_sqlite_syncs_follow_its_pragmas() -> None:
    ways: tuple[tuple[Any, Any], ...] = (("DELETE", "FULL"), ("WAL", "FULL"), ("WAL", "NORMAL"))
    found = {
        (mode, how): run(host("hdd-7200"), SqliteCommits(seconds=1.0, journal_mode=mode, synchronous=how))[0]
        for mode, how in ways
    }
    assert found["DELETE", "FULL"] < found["WAL", "FULL"] < 120 and found["WAL", "NORMAL"] > 1000


def test_wal_synced_at_checkpoints_makes_commits_wait() -> None:
    here = host("ssd-consumer")
    _, done = run(here, SqliteCommits(seconds=1.0, journal_mode="WAL", synchronous="NORMAL"))
    ends = [end_ns for each in done for end_ns in each.part_ends_ns]
    lengths = sorted((end - start for start, end in itertools.pairwise(ends)), reverse=True)
    checkpoints = len(ends) // 1000
    (counted, *_) = here.counters().devices
    assert counted.flushes is not None and counted.flushes >= 2 * checkpoints > 0
    assert lengths[checkpoints - 1] > 1e6 and lengths[checkpoints] < 1e5, "the others end in memory"


def cut(here: SimulatedHost, **settings: Any) -> PowerCutFigures:
    """Cut the power in the middle of a step."""
    work = new_program(here, SyncWrites(**{"seconds": 5.0, "file_bytes": 1 << 20, **RANDOM, **settings}))
    assert work is not None
    work.begin()
    for _ in range(10):
        list(work.run_until(here.now_ns + 50e6))
        here.now_ns = max(here.now_ns + 50e6, work.ended_ns)
    figures = here.cut_power(here.now_ns, PowerCut(), 16384, 0.5).figures
    assert isinstance(figures, PowerCutFigures) and figures.acknowledged > 0
    return figures


HONEST = [name for name in names() if not {"lying", "nobarrier", "eatmydata", "disabled"} & set(name.split("-"))]


@pytest.mark.parametrize("disk", HONEST)
def test_durable_disk_keeps_acknowledged_data(disk: str) -> None:
    kept = cut(host(disk))
    assert kept.survived_power_cut and kept.present == kept.checked > 0


@pytest.mark.parametrize("disk", sorted(set(names()) - set(HONEST)))
def test_lying_disk_loses_acknowledged_data(disk: str) -> None:
    figures = cut(host(disk))
    assert figures.any_lost and figures.lost + figures.present == figures.checked


def test_failed_sync_is_reported_once_and_its_data_is_lost() -> None:
    appends = {"offsets": "append", "prefill": "none"}
    again = cut(host("hdd-7200", disk__fails_write=5, host__retries_sync=True), **appends)
    assert again.missing == again.lost == 1 and again.acknowledged > 5
    stopped = cut(host("hdd-7200", disk__fails_write=5), **appends)
    assert stopped.survived_power_cut and stopped.acknowledged == 4
    work = new_program(host("hdd-7200", disk__fails_write=5), SqliteCommits(seconds=1.0))
    assert work is not None and list(work.run_until(9e9)) and work.has_ended and work.failed_call == "fsync"


@pytest.mark.parametrize(("disk", "writers"), [("hdd-7200", 8), ("ssd-consumer", 4)])
def test_several_writers_lose_nothing_on_a_durable_disk(disk: str, writers: int) -> None:
    assert cut(host(disk), writers=writers).survived_power_cut


def test_simulation_is_repeatable() -> None:
    assert rate(host("ssd-consumer"), **RANDOM) == rate(host("ssd-consumer"), **RANDOM)
    assert rate(host("ssd-consumer"), **RANDOM) != rate(host("ssd-consumer", seed=2), **RANDOM)


def test_parameter_changes_during_a_run() -> None:
    here = host("hdd-7200")
    assert rate(here) == pytest.approx(120, rel=0.02)
    here.change(with_change(here.parameters, "disk.platter.rpm=15000"))
    assert rate(here) == pytest.approx(250, rel=0.02)
    here.change(with_change(here.parameters, "disk.cache.flush=ignored"))
    assert rate(here) > 1000
    for wrong in ("disk.cache.flush", "disk.platter.rpm=fast", "log.name=sdb"):
        with pytest.raises(Refused):
            with_change(here.parameters, wrong)


@pytest.mark.parametrize(
    ("changes", "names_it"),
    [
        ({"disk.platter.rpms": 3}, "rpms"),
        ({"disk.nand.program_us": 3}, "one of platter, nand"),
        ({"name.x": 1}, "name"),
    ],
)
def test_error_in_a_disk_file_is_named(changes: dict[str, Any], names_it: str) -> None:
    with pytest.raises(Refused, match=names_it):
        load("hdd-7200", changes)
    with pytest.raises(Refused, match=r"^cannot set disk.foo: there is no parameter `foo`.*lessons --disks hdd-7200"):
        load("hdd-7200", {"disk.foo": 3})
    with pytest.raises(Refused, match="Choose one of: cloud-volume"):
        load("floppy")
