"""The settings and the plan that follows from them."""

import pytest

from fstui.model.errors import Refused
from fstui.powercut.plan import make_plan, write_command

KIB, MIB = 1 << 10, 1 << 20


def test_default_settings_write_in_three_ways() -> None:
    plan = make_plan({})
    assert plan.combinations == ("fdatasync overwrite", "fdatasync append", "fdatasync create")
    assert [stream.writer for stream in plan.streams] == [0, 1, 2]
    assert plan.scenario.settings["writes"] == ["overwrite", "append", "create"]
    assert plan.bytes_per_s == 3 * 1000 * 4096
    assert plan.max_bytes is None


def test_plan_has_every_combination_for_each_writer() -> None:
    plan = make_plan({"sync": "fsync,O_DSYNC", "writes": "append,create", "writers": "2", "block": "16K"})
    assert plan.combinations == ("fsync append", "fsync create", "O_DSYNC append", "O_DSYNC create")
    assert [(stream.sync, stream.write_method) for stream in plan.streams[:3]] == [("fsync", "append")] * 2 + [
        ("fsync", "create")
    ]
    assert {stream.block_bytes for stream in plan.streams} == {16 * KIB}
    assert plan.settings.writers == 2


def test_append_uses_three_files_at_a_time() -> None:
    rooms = {writes: make_plan({"writes": writes}).peak_bytes for writes in ("overwrite", "append", "create")}
    assert rooms == {"overwrite": 4 * MIB, "append": 12 * MIB, "create": 4 * MIB + 4 * KIB}


def test_written_bytes_are_bounded_by_seconds_and_pace() -> None:
    plan = make_plan({"seconds": "0.5", "writes": "overwrite"})
    assert plan.max_bytes == 4 * MIB + 500 * 4096
    unpaced = make_plan({"seconds": "0.5", "pace": "0"})
    assert (unpaced.bytes_per_s, unpaced.max_bytes) == (None, None)


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("sync", "none", "sync must be one of fsync, fdatasync, O_DSYNC, O_DIRECT+O_DSYNC"),
        ("writes", "delete", "writes must be one of overwrite, append, create, create-no-dirsync, rename, sqlite"),
        ("seconds", "-1", "seconds must be at least 0"),
        ("seconds", "86401", "seconds must be at most 86400"),
        ("writers", "0", "writers must be at least 1"),
        ("writers", "17", "writers must be at most 16"),
        ("pace", "100001", "pace must be at most 100000"),
        ("block", "8K", "block must be one of 4096, 16384, 65536"),
        ("file", "64K", "file must be at least 131072"),
        ("file", "65M", "file must be at most 67108864"),
        ("speed", "1", "power-cut has no setting 'speed'. It has: seconds, sync, writes, writers, pace, block, file."),
    ],
)
def test_invalid_setting_is_refused(setting: str, value: str, said: str) -> None:
    with pytest.raises(Refused) as refused:
        make_plan({setting: value})
    assert said in str(refused.value)


def test_write_command_repeats_the_settings() -> None:
    assert write_command("/my data", {"sync": "fsync"}) == "fstui powercut write '/my data' --set sync=fsync"


def test_database_is_synced_in_its_own_way() -> None:
    plan = make_plan({"sync": "fsync,O_DSYNC", "writes": "sqlite"})
    assert plan.combinations == ("fdatasync sqlite",)
