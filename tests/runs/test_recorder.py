from typing import Any

import pytest
from msgspec.structs import replace

from fstui.measure.kinds.sysbench import Sysbench
from fstui.measure.wire.frames import Samples
from fstui.model.counters import Counters, DeviceCounters
from fstui.model.plan import PlannedStep
from fstui.model.steps import CounterInterval, PendingOperation, StallSummary, StepStatus, TracedPart
from fstui.runs.recorder import MIN_INTERVAL_NS, MIN_INTERVALS, Intervals, OperationInFlight, ProbeTimes, StepRecorder
from tests.bench import long
from tests.factories.runs import START_NS, counted, planned, target
from tests.factories.steps import traced

MS = 1_000_000


def recorder(*, other_flushes_per_s: float = 0.0, **settings: Any) -> StepRecorder:
    plan = planned("fdatasync", **settings)
    begun = StepRecorder(3, plan, target().stack, other_flushes_per_s=other_flushes_per_s)
    begun.begin(Counters(monotonic_ns=START_NS, devices=(counted(10, 10),)))
    return begun


def times(elapsed_ms: int, **more: Any) -> ProbeTimes:
    return ProbeTimes(**{"start_ns": START_NS, "end_ns": START_NS + elapsed_ms * MS, "delayed_ns": 0, **more})


def test_neighbouring_operations_share_a_clock_reading() -> None:
    step = recorder(sync="fdatasync")
    step.add_samples(Samples.from_part_ends(0, 2, START_NS, [START_NS + mark * MS for mark in (1, 3, 4, 9)]))
    finished = step.step("finished", prepare_s=0.2)
    assert (finished.ops, finished.syncs, finished.bytes) == (2, 2, 2 * 16384)
    assert finished.latency_ns and finished.write_ns and finished.sync_ns
    assert (finished.latency_ns.min, finished.latency_ns.max) == (3 * MS, 6 * MS)
    assert (finished.write_ns.min, finished.write_ns.max) == (1 * MS, 1 * MS)
    assert (finished.sync_ns.min, finished.sync_ns.max) == (2 * MS, 5 * MS)


@pytest.mark.parametrize(("flags", "syncs"), [((), 0), (("direct",), 0), (("dsync",), 3), (("direct", "sync"), 3)])
def test_a_write_to_an_o_sync_file_counts_as_a_sync(flags: tuple[str, ...], syncs: int) -> None:
    step = recorder(sync="none", open_flags=flags)
    step.add_samples(Samples.from_part_ends(0, 1, START_NS, [START_NS + mark for mark in (100, 200, 300)]))
    assert (step.ops, step.syncs) == (3, syncs)
    assert step.step("finished", 0.0).sync_ns is None


def test_only_synced_operations_count_as_syncs() -> None:
    step = recorder(sync="fsync", sync_every=2)
    step.add_samples(Samples.from_part_ends(0, 2, START_NS, [START_NS + mark for mark in (10, 10, 20, 90, 100, 100)]))
    assert (step.ops, step.syncs) == (3, 1)


def test_the_rate_comes_from_the_clock_and_not_from_latencies() -> None:
    step = recorder(writers=4)
    for writer in range(4):
        step.add_samples(Samples.from_part_ends(writer, 2, START_NS, [START_NS + MS, START_NS + 100 * MS]))
    step.end(times(200))
    finished = step.step("finished", 0.0)
    assert finished.rate_per_s == pytest.approx(20)
    assert finished.elapsed_s == pytest.approx(0.2)


def test_counters_are_differences_since_ready() -> None:
    step = recorder()
    step.add_counters(Counters(monotonic_ns=START_NS + 100 * MS, devices=(counted(15, 14),)))
    step.add_counters(Counters(monotonic_ns=START_NS + 200 * MS, devices=(counted(30, None),)))
    assert step.counter_changes() == (DeviceCounters(device="sda", writes=20, written_bytes=20 * 16384, flushes=None),)
    points = step.step("finished", 0.0).timeline
    assert [(point.writes, point.flushes) for point in points] == [(5, 4), (15, None)]


def test_a_step_is_disturbed_if_its_probe_was_held_up() -> None:
    for delayed_ns, status in ((2 * MS, "finished"), (3 * MS, "disturbed")):
        step = recorder()
        step.end(times(250, delayed_ns=delayed_ns))
        assert step.step("finished", 0.0).status == status


def test_the_longest_call_in_flight_is_shown_until_it_returns() -> None:
    step = recorder(writers=2)
    step.record_in_flight(OperationInFlight(writer=0, since_ns=START_NS + 100 * MS, call="pwrite64"))
    step.record_in_flight(OperationInFlight(writer=1, since_ns=START_NS + 50 * MS, call="fdatasync"))
    stall = step.snapshot(START_NS + 1050 * MS).stall
    assert stall
    assert (stall.writer, stall.call, stall.elapsed_s) == (1, "fdatasync", 1.0)
    step.add_samples(Samples.from_part_ends(1, 2, START_NS, [START_NS + MS, START_NS + 1000 * MS]))
    stall = step.snapshot(START_NS + 1050 * MS).stall
    assert stall and stall.writer == 0


def operations(step: StepRecorder, first_ms: int, last_ms: int) -> None:
    """Report operations of 1 ms, each half write and half sync."""
    ends = [START_NS + half * MS // 2 for half in range(2 * first_ms + 1, 2 * last_ms + 1)]
    step.add_samples(Samples.from_part_ends(0, 2, START_NS + first_ms * MS, ends))


def test_a_fast_step_is_traced_until_enough_was_reported() -> None:
    step = recorder()
    step.add_samples(Samples.from_part_ends(0, 2, START_NS, []))
    assert not step.is_slowed_by_trace
    operations(step, 0, 90)
    assert not step.is_slowed_by_trace
    operations(step, 90, 120)
    assert step.is_slowed_by_trace
    step.end_traced_part()
    assert not step.is_slowed_by_trace
    operations(step, 120, 900)
    assert step.traced_until_ns == START_NS + 120 * MS
    step.trace = (traced(us=120),)
    assert step.step("finished", 0.0).traced_part == TracedPart(elapsed_s=0.12, ops=120, syncs=120)


@pytest.mark.parametrize(("per_s", "is_slowed"), [(40, True), (60, False)])
def test_a_fast_step_is_traced_to_its_end_next_to_others(per_s: int, is_slowed: bool) -> None:
    step = recorder(other_flushes_per_s=per_s)
    operations(step, 0, 200)  # 1 000 operations per second
    assert step.is_slowed_by_trace == is_slowed


def test_the_traced_part_counts_operations_that_were_reported_later() -> None:
    step = recorder(writers=2)
    step.add_samples(Samples.from_part_ends(0, 2, START_NS, [START_NS + half * MS // 2 for half in range(1, 241)]))
    step.end_traced_part()
    step.add_samples(Samples.from_part_ends(1, 2, START_NS, [START_NS + half * MS for half in range(1, 201)]))
    step.trace = (traced(us=180),)
    assert step.step("finished", 0.0).traced_part == TracedPart(elapsed_s=0.12, ops=180, syncs=180)


def test_a_slow_step_is_traced_to_its_end() -> None:
    step = recorder()
    for first_ms in range(0, 1000, 4):  # 250 operations per second
        ends = [START_NS + (first_ms + 2) * MS, START_NS + (first_ms + 4) * MS]
        step.add_samples(Samples.from_part_ends(0, 2, START_NS + first_ms * MS, ends))
    assert step.ops == 250
    assert not step.is_slowed_by_trace


@pytest.mark.parametrize(("ops", "is_slowed"), [(900, False), (1100, True)])
def test_enough_syncs_are_traced_even_if_they_are_rare(ops: int, is_slowed: bool) -> None:
    step = recorder(sync="fsync", sync_every=10)
    part_ends, now_ns = [], START_NS
    for number in range(1, ops + 1):
        now_ns += MS // 10
        part_ends.append(now_ns)
        now_ns += MS // 10 if number % 10 == 0 else 0
        part_ends.append(now_ns)
    step.add_samples(Samples.from_part_ends(0, 2, START_NS, part_ends))
    assert (step.ops, step.syncs) == (ops, ops // 10)
    assert step.is_slowed_by_trace == is_slowed


def test_the_numbers_of_a_snapshot_are_of_one_moment() -> None:
    step = recorder()
    operations(step, 0, 200)
    step.add_counters(Counters(monotonic_ns=START_NS + 250 * MS, devices=(counted(260, 260),)))
    operations(step, 200, 450)
    waiting = replace(counted(510, 510), in_flight=1)
    step.add_counters(Counters(monotonic_ns=START_NS + 500 * MS, devices=(waiting,)))
    view = step.snapshot(START_NS + 500 * MS)
    assert (view.ops, view.syncs, view.bytes) == (250, 250, 250 * 16384)
    assert (view.elapsed_s, view.rate_per_s) == (0.25, 1000)
    assert [(device.flushes, device.in_flight) for device in view.counters] == [(250, 1)]
    assert view.timeline[-1].t_s < 0.25
    assert step.step("stopped", 0.0).ops == 450


def test_a_snapshot_without_recent_operations_continues() -> None:
    step = recorder()
    step.add_counters(Counters(monotonic_ns=START_NS + 250 * MS, devices=(counted(260, 260),)))
    operations(step, 0, 400)
    for at_ms in (500, 750, 1000, 1250, 1500):
        step.add_counters(Counters(monotonic_ns=START_NS + at_ms * MS, devices=(counted(410, 410),)))
    view = step.snapshot(START_NS + 1500 * MS)
    assert (view.syncs, view.counters[0].flushes, view.elapsed_s) == (250, 250, 1.5)


@pytest.mark.parametrize(
    ("elapsed_ms", "ops", "reason"),
    [
        (1000, 500, None),
        (800, 500, "ended early, having written all that the plan allows"),
        (3000, 50, "ran 3.0 s instead of 1 s, to complete 50 operations"),
        (4, 1000, None),  # as many as were requested
    ],
)
def test_a_step_says_why_it_ran_shorter_or_longer(elapsed_ms: int, ops: int, reason: str | None) -> None:
    step = recorder(enough_ops=1000)
    step.add_samples(
        Samples.from_part_ends(0, 2, START_NS, [START_NS + number * 1000 for number in range(1, 2 * ops + 1)])
    )
    step.end(times(elapsed_ms))
    assert step.step("finished", 0.0).reason == reason


def test_a_step_that_never_began_is_empty() -> None:
    step = StepRecorder(0, planned("fdatasync"), target().stack).step("failed", 0.1)
    assert (step.ops, step.elapsed_s, step.rate_per_s, step.latency_ns, step.counters) == (0, 0.0, 0.0, None, ())


@pytest.mark.parametrize(("writers", "intervals"), [(1, 1), (4, 0)])
def test_a_step_of_one_writer_has_counter_intervals(writers: int, intervals: int) -> None:
    """With several writers, a flush cannot be assigned to one."""
    begun = StepRecorder(0, planned("fdatasync", writers=writers), target().stack)
    begun.begin(Counters(monotonic_ns=START_NS, until_ns=START_NS, devices=(counted(0, 0),)))
    begun.add_samples(Samples.from_part_ends(0, 2, START_NS, [START_NS + mark * MS for mark in (1, 3, 4, 9)]))
    end_ns = START_NS + 10 * MS
    begun.add_counters(Counters(monotonic_ns=end_ns, until_ns=end_ns + MS, devices=(counted(2, 2),)), is_last=True)
    assert [each.ops for each in begun.step("finished", 0.0).counter_intervals] == [2] * intervals


def test_saved_counter_intervals_are_played_again() -> None:
    saved = (CounterInterval(elapsed_s=0.1, ops=7, flushes={"sda": 1}, written_bytes={"sda": 16384}),)
    begun = recorder()
    begun.end(times(100, counter_intervals=saved))
    assert begun.step("finished", 0.0).counter_intervals == saved


def test_an_operation_that_never_returned_is_a_sample_of_its_age() -> None:
    step = recorder(sync="fdatasync", writers=2)
    step.add_samples(Samples.from_part_ends(0, 2, START_NS, [START_NS + mark * MS for mark in (1, 3)]))
    for writer in (0, 1):
        step.record_in_flight(OperationInFlight(writer=writer, since_ns=START_NS + 3 * MS, call="fdatasync"))
    step.add_counters(Counters(monotonic_ns=START_NS + 13_003 * MS, devices=(counted(10, 10),)))
    step.add_unfinished()
    stopped = step.step("stopped", 0.0)
    assert (stopped.ops, stopped.syncs, stopped.bytes) == (1, 1, 16384)
    assert stopped.latency_ns and stopped.latency_ns.max == 13_000 * MS
    assert stopped.stalls.count == 2 and stopped.stalls.lost_s >= 13
    assert stopped.unanswered and stopped.unanswered.elapsed_s == 13.0


def test_the_step_has_the_time_without_a_cpu() -> None:
    step = recorder(sync="fdatasync")
    step.record_in_flight(OperationInFlight(writer=0, since_ns=START_NS + MS, call="fdatasync"))
    step.add_samples(Samples.from_part_ends(0, 2, START_NS, [START_NS + MS, START_NS + 4500 * MS]))
    pressure = {"cpu_pressure_ns": 9, "longest_cpu_pressure_ns": 5}
    step.end(times(4500, cpu_wait_ns=7, longest_cpu_wait_ns=6, stolen_ns=8, **pressure))
    ended = step.step("stopped", 0.0)
    assert (ended.unanswered, ended.cpu_wait_ns, ended.longest_cpu_wait_ns, ended.stolen_ns) == (None, 7, 6, 8)
    assert (ended.cpu_pressure_ns, ended.longest_cpu_pressure_ns) == (9, 5)


def sysbench(*tps: float) -> StepRecorder:
    """Return the recorder of a database step with these transactions in each second."""
    begun = StepRecorder(0, PlannedStep(name="oltp", settings=Sysbench(server="mariadb")), target().stack)
    begun.begin(Counters(monotonic_ns=START_NS, devices=()))
    for second, each in enumerate(tps, 1):
        interval = {"t_s": second, "tps": each, "qps": 2 * each, "p95_ms": 0.0}
        begun.reported_figures.merge({"intervals": [interval], "transactions": round(sum(tps[:second]))})
    begun.end(times(round((len(tps) + 0.5) * 1000)))
    return begun


@pytest.mark.parametrize(
    ("tps", "status", "stalls", "unanswered_s"),
    [
        ((80, 90, 0, 0, 0), "stopped", StallSummary(count=1, lost_s=3.5), 3.5),
        ((0, 0), "stopped", StallSummary(count=1, lost_s=2.5), 2.5),
        ((80, 0, 0, 70), "finished", StallSummary(count=1, lost_s=2.0), None),
        ((80, 0, 90, 0, 0), "finished", StallSummary(count=2, lost_s=3.5), None),
        ((80, 90), "stopped", StallSummary(), None),
        ((1, 0, 0, 1, 0, 1, 0, 0), "stopped", StallSummary(), None),  # it always takes seconds
        ((80, 0, 0), "failed", StallSummary(), None),  # the failure is the reason
    ],
)
def test_silence_of_a_server_is_a_stall(
    tps: tuple[float, ...], status: StepStatus, stalls: StallSummary, unanswered_s: float | None
) -> None:
    step = sysbench(*tps).step(status, 0.0)
    assert step.stalls == stalls
    assert step.unanswered == (PendingOperation(call="a transaction", elapsed_s=unanswered_s) if unanswered_s else None)


def test_abandoned_probe_counts_the_operation_that_it_named() -> None:
    step = recorder()
    step.add_samples(Samples.from_part_ends(0, 2, START_NS, [START_NS + MS, START_NS + 2 * MS]))
    step.record_in_flight(OperationInFlight(writer=0, since_ns=START_NS + 2 * MS, call="fdatasync"))
    step.add_counters(Counters(monotonic_ns=START_NS + 6002 * MS, devices=()), is_last=True)
    step.abandoned_operation = PendingOperation(call="the probe", elapsed_s=1.1)
    step.add_unfinished()
    stopped = step.step("stopped", 0.0)
    assert stopped.unanswered == PendingOperation(call="fdatasync", elapsed_s=6.0)
    assert stopped.stalls.count == 1 and stopped.stalls.lost_s == pytest.approx(6.0, rel=0.01)


def test_silence_of_a_server_is_shown_while_it_lasts() -> None:
    running = sysbench(80, 0, 0)
    stall = running.snapshot(START_NS + 3200 * MS).stall
    assert stall and (stall.call, stall.elapsed_s) == ("a transaction", 2.2)


def read(intervals: Intervals, at_ms: int, ops: int, *, last: bool = False) -> None:
    since_ns = START_NS + at_ms * MS
    reading = Counters(monotonic_ns=since_ns, until_ns=since_ns + 2 * MS, devices=(counted(ops, ops),))
    intervals.add_reading(reading, is_last=last)


def add(intervals: Intervals, *marks_ms: int) -> None:
    marks = [START_NS + mark * MS for mark in marks_ms]
    intervals.add_operations(marks[:-1], marks[1:])


def test_an_operation_during_a_reading_belongs_to_no_interval() -> None:
    intervals = Intervals()
    read(intervals, 0, 0)
    add(intervals, 2, 50, 100)
    read(intervals, 110, 3)
    add(intervals, 100, 111, 112, 150, 200)
    read(intervals, 220, 7, last=True)
    add(intervals, 200, 230)
    first, second = intervals.counted_intervals()
    assert (first.ops, second.ops) == (2, 2)  # without the operations that end at 111, 112 and 230
    assert [turn.flushes["sda"] for turn in (first, second)] == [3, 4]
    assert (first.elapsed_s, second.elapsed_s) == (0.108, 0.108)


def test_late_reports_count_where_they_happened() -> None:
    late, prompt = Intervals(), Intervals()
    for intervals in (late, prompt):
        read(intervals, 0, 0)
    add(prompt, 10, 40, 80, 120, 160)
    read(prompt, 200, 4)
    read(late, 200, 4)
    add(late, 10, 40, 80, 120, 160)
    add(late, 160, 240, 280)
    assert [turn.ops for turn in late.counted_intervals()] == [turn.ops for turn in prompt.counted_intervals()] == [4]


def test_only_the_last_interval_may_be_short() -> None:
    intervals = Intervals()
    read(intervals, 0, 0)
    add(intervals, 2, 20, 40)
    read(intervals, 50, 2)
    add(intervals, 40, 90, 105)
    read(intervals, 110, 4)
    add(intervals, 112, 118)
    read(intervals, 120, 5, last=True)
    assert [turn.ops for turn in intervals.counted_intervals()] == [4, 1]


def test_neighbouring_intervals_of_a_long_step_are_merged() -> None:
    intervals = Intervals()
    for number in range(200):
        read(intervals, number * 100, number)
        add(intervals, number * 100 + 10, number * 100 + 50)
    found = intervals.counted_intervals()
    assert MIN_INTERVALS <= len(found) <= 2 * MIN_INTERVALS
    assert intervals.min_length_ns >= 4 * MIN_INTERVAL_NS
    assert sum(turn.ops for turn in found) > 190
    assert all(turn.ops == turn.flushes["sda"] for turn in found)


def test_without_the_time_of_a_reading_there_are_no_intervals() -> None:
    intervals = Intervals()
    intervals.add_reading(Counters(monotonic_ns=START_NS, devices=(counted(0, 0),)))
    add(intervals, 2, 20)
    intervals.add_reading(Counters(monotonic_ns=START_NS + 300 * MS, devices=(counted(1, 1),)), is_last=True)
    assert intervals.counted_intervals() == ()


@pytest.mark.parametrize("fed", [long.samples, long.watched])
def test_memory_does_not_grow_with_the_samples(fed: long.Part) -> None:
    assert next(fed(0.003)), "it grew"
