"""Turn what a probe sends into a step and its snapshots, in constant memory."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from operator import add
from typing import Any

import msgspec

from fstui.judge.facts.account import SURPLUS_TOLERANCE
from fstui.measure import kinds as measures
from fstui.measure.latency import Histogram, Timeline
from fstui.measure.wire.frames import FIRST_SAMPLES, BadFrame, Samples
from fstui.model.base import Base, Count
from fstui.model.counters import Counters, DeviceCounters, DeviceTrace, difference
from fstui.model.plan import PlannedStep
from fstui.model.settings import Figures
from fstui.model.steps import (
    CounterInterval,
    Failure,
    PendingOperation,
    Snapshot,
    StallSummary,
    Step,
    StepStatus,
    TracedPart,
)
from fstui.model.storage import Node

MAX_DELAYED_SHARE = 0.01
"""If the probe waited for fstui to read its output for more than this share of its time, its rate is invalid."""
MAX_DELAY_NS = 1_000_000_000
"""Probes report an operation within this time after its end, unless operations are slow or rare."""
FAST_OPS_PER_S = 800
"""At this rate, the trace slows a step down by about 1 %, and at 4 500 operations per second by 4 % (a loop device)."""
MAX_MOMENTS = 16
MIN_INTERVALS = 16
MIN_INTERVAL_NS = 100_000_000
"""Minimum length of an interval. It doubles when there are too many intervals (``Intervals.min_length_ns``)."""


class OperationInFlight(Base, frozen=True, kw_only=True):
    writer: Count
    since_ns: Count
    call: str


class ProbeTimes(Base, frozen=True, kw_only=True, forbid_unknown_fields=True):
    start_ns: Count
    end_ns: Count
    delayed_ns: Count
    cpu_wait_ns: Count | None = None
    longest_cpu_wait_ns: Count | None = None
    cpu_pressure_ns: Count | None = None
    longest_cpu_pressure_ns: Count | None = None
    stolen_ns: Count | None = None
    frozen_ns: Count | None = None
    counter_intervals: tuple[CounterInterval, ...] = ()
    traced_part: TracedPart | None = None


class _Moment:
    """A reading of the counters, and the operations that ended before it. The end of a traced part has only a time."""

    def __init__(self, counters: Counters, ops: int = 0, timed_syncs: int = 0) -> None:
        self.counters, self.ops, self.timed_syncs = counters, ops, timed_syncs


class StepRecorder:
    """A step while it runs. Times are monotonic and in ns."""

    def __init__(
        self, index: int, plan: PlannedStep, stack: tuple[Node, ...], *, other_flushes_per_s: float = 0.0
    ) -> None:
        """``other_flushes_per_s``: flushes by other processes while fstui was idle."""
        self.index = index
        self.plan = plan
        self.stack = stack
        self._other_flushes_per_s = other_flushes_per_s
        self.settings = plan.settings
        self._syncs_some_operations = plan.settings.syncs_some_operations
        self._lowest = {node.id for node in stack if node.lowest}
        self.length_s: float | None = plan.settings.seconds or None
        self.writes, self.sync_parts = Histogram(), Histogram()
        self.timeline = Timeline(self.length_s)
        self.intervals = Intervals()
        self.reported_figures = ReportedFigures(plan.settings.probe)
        self.error: Failure | None = None
        self.started_ns = 0
        self.times = ProbeTimes(start_ns=0, end_ns=0, delayed_ns=0)
        self.first_counters: Counters | None = None
        self.newest_counters: Counters | None = None
        self._moments: list[_Moment] = []
        """First the newest moment before which all operations have been reported, then the newest later moments."""
        self._reported_ns: dict[int, int] = {}
        """The end of the last operation that each writer reported."""
        self._elapsed_ns = 0
        """The elapsed time in the last snapshot."""
        self.trace: tuple[DeviceTrace, ...] | None = None
        self._traced_until: _Moment | None = None
        """The end of the traced part; None if the whole step is traced."""
        self.has_ended = False
        self.abandoned_operation: PendingOperation | None = None
        """The stall of a program that was abandoned and had not reported which operation was in flight."""
        self._operations_in_flight: dict[int, OperationInFlight] = {}
        self._unfinished_ops = 0
        """Operations that had not returned when the step ended. Each is recorded with its elapsed time until then."""

    @property
    def _figures(self) -> Figures:
        return self.reported_figures.figures or Figures()

    @property
    def operations(self) -> Histogram:
        """The durations of whole operations: write and sync together."""
        return self.timeline.histogram

    @property
    def ops(self) -> int:
        """The number of operations that returned. If the program does not report each operation, its own count."""
        return self.timeline.total - self._unfinished_ops or self._figures.ops

    @property
    def syncs(self) -> int:
        """Operations or calls whose data was acknowledged as durable."""
        return self.settings.syncs(self.ops, self.sync_parts.total, self._figures)

    @property
    def bytes(self) -> int:
        """Bytes written by the program, from the number of its blocks or by its own count."""
        return self.settings.written_bytes(self.timeline.total - self._unfinished_ops, self._figures)

    def begin(self, counters: Counters) -> None:
        """Start with the counters that were read between ``ready`` and ``go``."""
        self.first_counters = self.newest_counters = counters
        self.started_ns = counters.monotonic_ns
        self._moments = [_Moment(counters)]
        self.intervals.add_reading(counters)

    def add_samples(self, samples: Samples) -> None:
        self._operations_in_flight.pop(samples.writer, None)
        ends = samples.ends_ns
        if not ends:
            return
        durations: Sequence[int] = samples.durations_ns(0)
        sync_durations: Sequence[int] = ()
        if samples.parts == 2:
            sync_durations = samples.durations_ns(1)
            self.writes.add(durations)
            # if syncs are rare, most operations have no sync, which is reported as a duration of 0
            self.sync_parts.add(list(filter(None, sync_durations)) if self._syncs_some_operations else sync_durations)
            durations = list(map(add, durations, sync_durations))
        self.intervals.add_operations(samples.begins_ns, ends)
        self.timeline.add(ends, durations, self.started_ns)
        self._reported_ns[samples.writer] = ends[-1]
        for moment in (*self._moments, *filter(None, [self._traced_until])):
            ended_count = bisect_right(ends, moment.counters.monotonic_ns)
            moment.ops += ended_count
            ended_syncs = sync_durations[:ended_count]
            moment.timed_syncs += sum(map(bool, ended_syncs)) if self._syncs_some_operations else len(ended_syncs)

    @property
    def is_slowed_by_trace(self) -> bool:
        """Whether the step is fast, so that the trace delays its syncs, and enough operations or syncs were traced.

        If other processes flush often, only a trace of the whole step distinguishes fstui's own flushes.
        """
        if self._traced_until or not self.settings.uniform:
            return False
        seen = self.syncs if self._syncs_some_operations else self.ops
        if seen < FIRST_SAMPLES:
            return False
        elapsed_s = (max(self._reported_ns.values()) - self.started_ns) / 1e9
        others_flush_often = self._other_flushes_per_s * elapsed_s > SURPLUS_TOLERANCE * seen
        return self.ops >= FAST_OPS_PER_S * elapsed_s and not others_flush_often

    def end_traced_part(self) -> None:
        """End the traced part after the last operation that was reported."""
        end = Counters(monotonic_ns=max(self._reported_ns.values()))
        self._traced_until = _Moment(end, self.timeline.total, self.sync_parts.total)

    @property
    def traced_until_ns(self) -> int | None:
        """The end of the traced part or of the step; None before ``begin``."""
        if self._traced_until:
            return self._traced_until.counters.monotonic_ns
        return self.newest_counters.monotonic_ns if self.newest_counters else None

    def _traced_part(self) -> TracedPart | None:
        if self.times.traced_part or not self._traced_until:
            return self.times.traced_part
        ops = self._traced_until.ops
        return TracedPart(
            elapsed_s=(self._traced_until.counters.monotonic_ns - self.started_ns) / 1e9,
            ops=ops,
            syncs=self.settings.syncs(ops, self._traced_until.timed_syncs, self._figures),
        )

    def record_in_flight(self, call: OperationInFlight) -> None:
        self._operations_in_flight[call.writer] = call

    def add_counters(self, counters: Counters, *, is_last: bool = False) -> None:
        """Add newer counters, and add the differences at the lowest devices to the timeline."""
        assert self.newest_counters is not None
        self.intervals.add_reading(counters, is_last=is_last)
        changes = difference(self.newest_counters, counters)
        lowest_changes = [device for device in changes if device.device in self._lowest]
        self.newest_counters = counters
        self._moments.append(_Moment(counters, self.timeline.total, self.sync_parts.total))
        self._drop_old_moments()
        self.timeline.add_counters(
            counters.monotonic_ns - self.started_ns,
            writes=_sum([device.writes for device in lowest_changes]),
            written_bytes=_sum([device.written_bytes for device in lowest_changes]),
            flushes=_sum([device.flushes for device in lowest_changes]),
        )

    def end(self, times: ProbeTimes) -> None:
        self.times, self.started_ns, self.has_ended = times, times.start_ns, True

    def add_unfinished(self) -> None:
        """Record each operation in flight with its elapsed time, so that storage that hangs does not look fast."""
        now_ns = self.newest_counters.monotonic_ns if self.newest_counters else 0
        for call in self._operations_in_flight.values():
            self.timeline.add([now_ns], [now_ns - call.since_ns], self.started_ns)
            self._unfinished_ops += 1

    def _stalls(self, status: StepStatus, elapsed_ns: int) -> StallSummary:
        """Return the stalls. An operation that never returned always counts as one."""
        if status != "failed" and (pauses := self._figures.pauses()):
            ends_s = [elapsed_ns / 1e9 if pause.is_ongoing else pause.end_s for pause in pauses]
            lost_s = sum(end_s - pause.start_s for pause, end_s in zip(pauses, ends_s, strict=True))
            return StallSummary(count=len(pauses), lost_s=round(lost_s, 3))
        stalls = self.operations.stalls() if self.settings.uniform else StallSummary()
        if self.abandoned_operation and not self._unfinished_ops:
            lost_s = stalls.lost_s + self.abandoned_operation.elapsed_s
            return StallSummary(count=stalls.count + 1, lost_s=round(lost_s, 3))
        if stalls.count >= self._unfinished_ops:
            return stalls
        return StallSummary(count=self._unfinished_ops, lost_s=round(self.operations.max / 1e9, 3))

    def _pending_operation(self, status: StepStatus, elapsed_ns: int) -> PendingOperation | None:
        if self._unfinished_ops and self.newest_counters:
            return self._current_stall(self.newest_counters.monotonic_ns)
        if status == "stopped" and not self._operations_in_flight:
            return self._current_stall(self.started_ns + elapsed_ns) or self.abandoned_operation
        return self.abandoned_operation

    def counter_changes(self) -> tuple[DeviceCounters, ...]:
        first, newest = self.first_counters, self.newest_counters
        return difference(first, newest) if first and newest else ()

    def _drop_old_moments(self) -> None:
        reported_ns = min(self._reported_ns.values(), default=0)
        while len(self._moments) > 1 and self._moments[1].counters.monotonic_ns <= reported_ns:
            del self._moments[0]
        del self._moments[1:-MAX_MOMENTS]

    def snapshot(self, now_ns: int) -> Snapshot:
        """Return the numbers of the newest moment before which all operations have been reported.

        If that moment is more than ``MAX_DELAY_NS`` ago, the elapsed time is that of ``now_ns``.
        """
        ops, syncs, written_bytes, counters = self.ops, self.syncs, self.bytes, self.newest_counters
        at_ns = now_ns
        if self._reported_ns and self._moments:
            self._drop_old_moments()
            moment = self._moments[0]
            counters, ops = moment.counters, moment.ops
            syncs = self.settings.syncs(ops, moment.timed_syncs, self._figures)
            written_bytes = self.settings.written_bytes(ops, self._figures)
            is_recent = counters is not self.first_counters and now_ns - counters.monotonic_ns <= MAX_DELAY_NS
            at_ns = counters.monotonic_ns if is_recent else now_ns
        self._elapsed_ns = max(self._elapsed_ns, at_ns - self.started_ns) if self.started_ns else 0
        elapsed_s = self._elapsed_ns / 1e9
        changes = difference(self.first_counters, counters) if self.first_counters and counters else ()
        newest_devices = self.newest_counters.devices if self.newest_counters else ()
        in_flight = {device.device: device.in_flight for device in newest_devices}
        return Snapshot(
            index=self.index,
            name=self.plan.name,
            elapsed_s=elapsed_s,
            length_s=self.length_s,
            ops=ops,
            syncs=syncs,
            bytes=written_bytes,
            rate_per_s=ops / elapsed_s if elapsed_s else 0.0,
            latency_ns=self.operations.latency(),
            sync_ns=self.sync_parts.latency(),
            timeline=tuple(point for point in self.timeline.points() if point.t_s < elapsed_s),
            counters=tuple(msgspec.structs.replace(layer, in_flight=in_flight.get(layer.device)) for layer in changes),
            stall=self._current_stall(now_ns),
            figures=self.reported_figures.figures,
        )

    def step(self, status: StepStatus, prepare_s: float) -> Step:
        """Return the finished step. It is ``disturbed`` if the probe had to wait for fstui to read its output."""
        newest_ns = self.newest_counters.monotonic_ns if self.newest_counters else 0
        elapsed_ns = max(0, (self.times.end_ns or newest_ns) - self.started_ns)
        if status == "finished" and self.times.delayed_ns > MAX_DELAYED_SHARE * elapsed_ns:
            status = "disturbed"
        return Step(
            name=self.plan.name,
            settings=self.settings,
            status=status,
            error=self.error,
            reason=self._reason_for_length(status, elapsed_ns),
            ops=self.ops,
            syncs=self.syncs,
            bytes=self.bytes,
            writers=self.settings.writers,
            prepare_s=round(prepare_s, 3),
            elapsed_s=elapsed_ns / 1e9,
            delayed_ns=self.times.delayed_ns,
            cpu_wait_ns=self.times.cpu_wait_ns,
            longest_cpu_wait_ns=self.times.longest_cpu_wait_ns,
            cpu_pressure_ns=self.times.cpu_pressure_ns,
            longest_cpu_pressure_ns=self.times.longest_cpu_pressure_ns,
            stolen_ns=self.times.stolen_ns,
            frozen_ns=self.times.frozen_ns,
            rate_per_s=self.ops / (elapsed_ns / 1e9) if elapsed_ns else 0.0,
            latency_ns=self.operations.latency() or self._figures.latency(self.reported_figures.histogram),
            write_ns=self.writes.latency(),
            sync_ns=self.sync_parts.latency(),
            histogram=self.operations.table() or tuple(self.reported_figures.histogram),
            stalls=self._stalls(status, elapsed_ns),
            unanswered=self._pending_operation(status, elapsed_ns),
            timeline=self.timeline.points(),
            counters=self.counter_changes(),
            counter_intervals=self.times.counter_intervals
            or (self.intervals.counted_intervals() if self.settings.writers == 1 else ()),
            trace=self.trace,
            traced_part=self._traced_part() if self.trace else None,
            figures=self.reported_figures.figures,
        )

    def _reason_for_length(self, status: StepStatus, elapsed_ns: int) -> str | None:
        if status not in ("finished", "disturbed") or not self.length_s or not self.settings.uniform or not self.syncs:
            return None  # a step without syncs only fills the page cache, so it is short anyway
        elapsed_s = elapsed_ns / 1e9
        if self.settings.ends_early(self.ops):
            return None
        if elapsed_s < 0.9 * self.length_s:
            return "ended early, having written all that the plan allows"
        if elapsed_s > 1.1 * self.length_s and self.ops <= 50 + self.settings.writers:
            return f"ran {elapsed_s:.1f} s instead of {self.length_s:g} s, to complete {self.ops} operations"
        return None

    def _current_stall(self, now_ns: int) -> PendingOperation | None:
        if not self._operations_in_flight:
            pause = next((pause for pause in self._figures.pauses() if pause.is_ongoing), None)
            elapsed_s = (now_ns - self.started_ns) / 1e9
            return PendingOperation(call="a transaction", elapsed_s=elapsed_s - pause.start_s) if pause else None
        longest = min(self._operations_in_flight.values(), key=lambda call: call.since_ns)
        return PendingOperation(call=longest.call, elapsed_s=(now_ns - longest.since_ns) / 1e9, writer=longest.writer)


def _sum(values: list[int | None]) -> int | None:
    counts = [value for value in values if value is not None]
    return sum(counts) if counts else None


class ReportedFigures:
    def __init__(self, probe: str) -> None:
        self._fields: dict[str, Any] = {measures.TAG: probe}
        self.figures: Figures | None = None
        self.histogram: list[tuple[int, int]] = []
        """(value in ns, count), ascending."""

    def merge(self, fields: dict[str, Any]) -> None:
        """Merge newer figures: append intervals and histogram rows, replace other fields. Raises BadFrame."""
        other_fields = dict(fields)
        self.histogram += [(round(ms * 1e6), count) for ms, count in other_fields.pop("histogram", [])]
        if "intervals" in other_fields:
            other_fields["intervals"] = [*self._fields.get("intervals", []), *other_fields["intervals"]]
        self._fields |= other_fields
        try:
            self.figures = measures.figures_from(self._fields)
        except msgspec.ValidationError as error:
            raise BadFrame(f"the probe's figures are not valid: {error}") from None


class _Reading:
    """A reading of the counters, which began at ``since_ns`` and ended at ``until_ns``."""

    def __init__(self, counters: Counters, until_ns: int, ops: int) -> None:
        self.counters, self.since_ns, self.until_ns = counters, counters.monotonic_ns, until_ns
        self.begun_ops = ops
        """Operations that began before the reading ended."""
        self.ended_ops = ops
        """Operations that ended before the reading began."""

    def add(self, begins: Sequence[int], ends: Sequence[int]) -> None:
        self.begun_ops += bisect_left(begins, self.until_ns)
        self.ended_ops += bisect_right(ends, self.since_ns)


class Intervals:
    """A step as a few short intervals, each with the operations in it and the flushes that were counted.

    A reading of the counters takes time, and operations continue during the reading. So an interval has only the
    operations that began after one reading had ended, and that ended before the next reading began. All flushes of
    these operations were counted within the interval. Neighbouring intervals are merged when there are more than twice
    ``MIN_INTERVALS``. This works with one writer only.
    """

    def __init__(self) -> None:
        self._readings: list[_Reading] = []
        self._ops = 0
        self.min_length_ns = MIN_INTERVAL_NS

    def add_reading(self, counters: Counters, *, is_last: bool = False) -> None:
        """Add a reading, which ends an interval, unless the interval would be too short."""
        if counters.until_ns is None:
            return
        since_ns = self._readings[-1].since_ns if self._readings else 0
        if not (is_last or counters.monotonic_ns - since_ns >= self.min_length_ns):
            return
        self._readings.append(_Reading(counters, counters.until_ns, self._ops))
        if len(self._readings) > 2 * MIN_INTERVALS:
            del self._readings[1::2]
            self.min_length_ns *= 2

    def add_operations(self, begins: Sequence[int], ends: Sequence[int]) -> None:
        """Add consecutive operations, which may be reported some time after they ended."""
        self._ops += len(ends)
        for reading in reversed(self._readings):
            if reading.until_ns <= begins[0]:
                break
            reading.add(begins, ends)

    def counted_intervals(self) -> tuple[CounterInterval, ...]:
        intervals = (_interval_between(first, second) for first, second in pairwise(self._readings))
        return tuple(interval for interval in intervals if interval.ops)


def _interval_between(first: _Reading, second: _Reading) -> CounterInterval:
    changes = difference(first.counters, second.counters)
    return CounterInterval(
        elapsed_s=round((second.since_ns - first.until_ns) / 1e9, 4),
        ops=max(0, second.ended_ops - first.begun_ops),
        flushes={device.device: device.flushes for device in changes if device.flushes is not None},
        written_bytes={device.device: device.written_bytes for device in changes if device.written_bytes is not None},
    )
