"""What a write costs, and what a flush adds."""

from fstui.judge import Case
from fstui.judge.facts.costs import Cost, Costs, added_time, typical_ns
from fstui.model.host import Process
from fstui.model.steps import Step
from fstui.model.storage import Target
from tests.factories.evidence import evidence
from tests.factories.steps import flushed, forced, latency, step, timed, write
from tests.factories.storage import filesystem, on_disk


def costs(*steps: Step, where: Target | None = None, process: Process | None = None) -> Costs:
    given = {"process": process} if process else {}
    return Case(evidence(where, *steps, **given)).costs


def ns(cost: Cost | None) -> int | None:
    return cost and cost.ns


def test_mean_is_typical_if_few_operations_take_the_time() -> None:
    assert typical_ns(latency(245_000, 20_000_000)) == 20_000_000
    assert typical_ns(latency(245_000, 3 * 245_000)) == 245_000


def test_each_cost_comes_from_its_own_step() -> None:
    found = costs(write(20), forced(30), flushed(400))
    assert (ns(found.write), ns(found.dsync), ns(found.synced)) == (20_000, 30_000, 400_000)
    assert found.fastest_synced is not None and found.fastest_synced.name == "O_DIRECT+O_DSYNC"


def test_fua_write_needs_o_direct_and_o_dsync() -> None:
    buffered = timed("O_DSYNC", 11, sync="none", open_flags=("dsync",))
    by_call = timed("O_DIRECT+fdatasync", 60, open_flags=("direct",))
    assert costs(buffered, by_call).dsync is None


def test_append_is_no_measure_of_a_write() -> None:
    assert costs(write(20, offsets="append", prefill="none")).write is None


def test_shorter_of_two_measurements_counts() -> None:
    assert ns(costs(flushed(400), flushed(300)).synced) == 300_000


def test_write_part_of_a_flushed_step_counts_as_a_write() -> None:
    both = timed("both", 400, open_flags=("direct",), changes={"write_ns": latency(10e3), "sync_ns": latency(390e3)})
    assert ns(costs(both).write) == 10_000
    buffered = timed("both", 400, changes={"write_ns": latency(10_000), "sync_ns": latency(390_000)})
    assert costs(buffered).write is None


def test_write_answered_above_the_device_has_no_cost() -> None:
    assert costs(write(2, share=0.0)).write is None
    assert costs(write(20), where=on_disk(filesystem(sync_option="sync"))).write is None
    assert costs(write(20), process=Process(pipe_fsync_fails=False)).write is None


def test_appends_and_paced_steps_have_no_cost() -> None:
    assert costs(flushed(400, offsets="append", prefill="none"), flushed(400, ops_per_s=5.0)).synced is None
    assert costs(step()).synced is None  # without a latency


def test_flush_never_adds_less_than_nothing() -> None:
    write_, flush = Cost(400_000, step()), Cost(300_000, step())
    assert added_time(write_, flush) == "nothing"
    assert added_time(flush, write_) == "100 µs"
