"""The scenarios of logs make the same calls as the tools that they imitate, as strace shows them."""

from __future__ import annotations

from fstui.judge.references import operation_of
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.runs import scenarios


def steps_of(name: str) -> dict[str, SyncWrites]:
    planned = scenarios.expand(scenarios.load(name), {})[1]
    return {step.name: step.settings for step in planned if isinstance(step.settings, SyncWrites)}


def test_wal_postgres_does_what_pg_test_fsync_does() -> None:
    steps = steps_of("wal-postgres")
    assert {name: (settings.open_flags, settings.sync) for name, settings in steps.items()} == {
        "open_datasync": (("direct", "dsync"), "none"),
        "fdatasync": ((), "fdatasync"),
        "fsync": ((), "fsync"),
        "open_sync": (("direct", "sync"), "none"),
        "no sync": ((), "none"),
    }
    assert {(each.offsets, each.prefill, each.block_bytes) for each in steps.values()} == {("same", "written", 8192)}
    assert operation_of(steps["open_datasync"]) == "O_DIRECT+O_DSYNC"


def test_wal_etcd_fills_allocated_space() -> None:
    ((_, log),) = steps_of("wal-etcd").items()
    assert (log.offsets, log.prefill, log.block_bytes, log.sync) == ("sequential", "fallocate", 2300, "fdatasync")
    assert log.seconds * log.max_bytes_per_s <= log.file_bytes, "nothing is written twice"
    assert operation_of(log) == "append+fdatasync"


def test_one_block_rewrites_a_block_in_eight_ways() -> None:
    steps = steps_of("one-block")
    ways = {(each.block_bytes, each.open_flags, each.sync) for each in steps.values()}
    assert ways == {
        (block, flags, sync) for block in (512, 4096) for flags in ((), ("direct",)) for sync in ("fsync", "fdatasync")
    }
    assert {each.offsets for each in steps.values()} == {"same"}
