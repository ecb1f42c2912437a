"""What a probe says → a step and its snapshots, in constant memory."""

from __future__ import annotations

from collections.abc import Sequence
from operator import add
from typing import Any

import msgspec

from fstui.measure import kinds as measures
from fstui.measure.latency import Histogram, Timeline
from fstui.measure.wire.frames import BadFrame, Samples
from fstui.model.counters import Counters, DeviceCounters, DeviceTrace
from fstui.model.plan import PlannedStep
from fstui.model.settings import Figures
from fstui.model.steps import Failure, Snapshot, Stall, Stalls, Step, StepStatus, Turn
from fstui.model.storage import Node
from fstui.runs.turns import Turns
from fstui.storage.counters import difference

HELD_SHARE = 0.01
"""Above this share of its time the probe was held up, and its rate means nothing."""


class Recorder:
    """One step while it runs. Times are monotonic ns."""

    def __init__(self, index: int, plan: PlannedStep, stack: tuple[Node, ...]) -> None:
        self.index = index
        self.plan = plan
        self.stack = stack
        self.asked = plan.settings
        self._rare_syncs = plan.settings.syncs_rarely
        self._lowest = {node.id for node in stack if node.lowest}
        self.length_s: float | None = plan.settings.seconds or None
        self.writes, self.sync_parts = Histogram(), Histogram()
        self.timeline = Timeline(self.length_s)
        self.turns = Turns()
        self.reported = Reported(plan.settings.probe)
        self.error: Failure | None = None
        self.started_ns = 0
        self.ended_ns = 0
        self.held_ns = 0
        self.cpu_wait_ns: int | None = None
        self.longest_cpu_wait_ns: int | None = None
        self.stolen_ns: int | None = None
        self.before: Counters | None = None
        self.newest: Counters | None = None
        self.trace: tuple[DeviceTrace, ...] | None = None
        self.done = False
        self._played: tuple[Turn, ...] = ()
        self._in_flight: dict[int, tuple[int, str]] = {}
        self._cut_off = 0
        """Operations that had not returned when nobody waited any longer: each is a sample of the age it had."""

    @property
    def _figures(self) -> Figures:
        return self.reported.figures or Figures()

    @property
    def whole(self) -> Histogram:
        """Every operation from begin to end."""
        return self.timeline.whole

    @property
    def ops(self) -> int:
        """Operations finished so far."""
        return self.whole.total - self._cut_off or self._figures.ops

    @property
    def syncs(self) -> int:
        """Operations or calls that promised durability."""
        return self.asked.syncs(self.ops, self.sync_parts.total, self._figures)

    @property
    def bytes(self) -> int:
        """Bytes written by the program: blocks of one size, or as it counts them itself."""
        return self.asked.written_bytes(self.whole.total - self._cut_off, self._figures)

    def begin(self, before: Counters) -> None:
        """The counters between ``ready`` and ``go``."""
        self.before = self.newest = before
        self.started_ns = before.monotonic_ns
        self.turns.read(before)

    def add(self, samples: Samples) -> None:
        """One writer's operations, in their order."""
        self._in_flight.pop(samples.writer, None)
        ends = samples.ends_ns
        if not ends:
            return
        durations: Sequence[int] = samples.durations_ns(0)
        if samples.parts == 2:
            synced = samples.durations_ns(1)
            self.writes.add(durations)
            self.sync_parts.add(list(filter(None, synced)) if self._rare_syncs else synced)
            durations = list(map(add, durations, synced))
        self.turns.add(samples.begins_ns, ends)
        self.timeline.add(ends, durations, self.started_ns)

    def in_flight(self, writer: int, since_ns: int, call: str) -> None:
        """That writer has been in that call since then."""
        self._in_flight[writer] = (since_ns, call)

    def count(self, counters: Counters, *, last: bool = False) -> None:
        """Newer counters; the timeline gets what the lowest devices did since the ones before."""
        assert self.newest is not None
        self.turns.read(counters, last=last)
        moved = [device for device in difference(self.newest, counters) if device.device in self._lowest]
        self.newest = counters
        self.timeline.add_counters(
            counters.monotonic_ns - self.started_ns,
            writes=_sum([device.writes for device in moved]),
            written_bytes=_sum([device.written_bytes for device in moved]),
            flushes=_sum([device.flushes for device in moved]),
        )

    def end(
        self,
        start_ns: int,
        end_ns: int,
        held_ns: int,
        *,
        cpu_wait_ns: int | None = None,
        longest_cpu_wait_ns: int | None = None,
        stolen_ns: int | None = None,
        turns: tuple[Turn, ...] = (),
    ) -> None:
        """The probe's own clock, and how long it had no CPU; ``turns`` as they were saved, where it is played again."""
        self.started_ns, self.ended_ns, self.held_ns = start_ns, end_ns, held_ns
        self.cpu_wait_ns, self.longest_cpu_wait_ns = cpu_wait_ns, longest_cpu_wait_ns
        self.stolen_ns, self._played = stolen_ns, turns
        self.done = True

    def cut_off(self) -> None:
        """Nobody waits any longer: what is in flight has taken at least so long as it was, and percentiles that left
        it out would praise a storage that hangs."""
        now_ns = self.newest.monotonic_ns if self.newest else 0
        for since_ns, _ in self._in_flight.values():
            self.timeline.add([now_ns], [now_ns - since_ns], self.started_ns)
            self._cut_off += 1

    def _stalls(self) -> Stalls:
        """An operation that never returned is one, whatever the others took."""
        seen = self.whole.stalls() if self.asked.uniform else Stalls()
        if seen.count >= self._cut_off:
            return seen
        return Stalls(count=self._cut_off, lost_s=round(self.whole.max / 1e9, 3))

    def moved(self) -> tuple[DeviceCounters, ...]:
        """What every layer counted since ``begin``."""
        return difference(self.before, self.newest) if self.before and self.newest else ()

    def snapshot(self, now_ns: int) -> Snapshot:
        """The view of this moment."""
        elapsed_s = max(0, now_ns - self.started_ns) / 1e9 if self.started_ns else 0.0
        return Snapshot(
            index=self.index,
            name=self.plan.name,
            elapsed_s=elapsed_s,
            length_s=self.length_s,
            ops=self.ops,
            syncs=self.syncs,
            bytes=self.bytes,
            rate_per_s=self.ops / elapsed_s if elapsed_s else 0.0,
            latency_ns=self.whole.latency(),
            sync_ns=self.sync_parts.latency(),
            timeline=self.timeline.points(),
            counters=self.moved(),
            stall=self._stall(now_ns),
            figures=self.reported.figures,
        )

    def step(self, status: StepStatus, prepare_s: float) -> Step:
        """The finished step. A probe that was held up makes it ``disturbed``."""
        elapsed_ns = max(0, (self.ended_ns or (self.newest.monotonic_ns if self.newest else 0)) - self.started_ns)
        if status == "finished" and self.held_ns > HELD_SHARE * elapsed_ns:
            status = "disturbed"
        return Step(
            name=self.plan.name,
            settings=self.asked,
            status=status,
            error=self.error,
            reason=self._length_reason(status, elapsed_ns),
            ops=self.ops,
            syncs=self.syncs,
            bytes=self.bytes,
            writers=self.asked.writers,
            prepare_s=round(prepare_s, 3),
            elapsed_s=elapsed_ns / 1e9,
            held_ns=self.held_ns,
            cpu_wait_ns=self.cpu_wait_ns,
            longest_cpu_wait_ns=self.longest_cpu_wait_ns,
            stolen_ns=self.stolen_ns,
            rate_per_s=self.ops / (elapsed_ns / 1e9) if elapsed_ns else 0.0,
            latency_ns=self.whole.latency() or self._figures.latency(self.reported.histogram),
            write_ns=self.writes.latency(),
            sync_ns=self.sync_parts.latency(),
            histogram=self.whole.table() or tuple(self.reported.histogram),
            stalls=self._stalls(),
            unanswered=self._stall(self.newest.monotonic_ns) if self._cut_off and self.newest else None,
            timeline=self.timeline.points(),
            counters=self.moved(),
            turns=self._played or (self.turns.told() if self.asked.writers == 1 else ()),
            trace=self.trace,
            figures=self.reported.figures,
        )

    def _length_reason(self, status: StepStatus, elapsed_ns: int) -> str | None:
        if status not in ("finished", "disturbed") or not self.length_s or not self.asked.uniform or not self.syncs:
            return None  # a step that never leaves memory is short, and nothing rests on its length
        elapsed_s = elapsed_ns / 1e9
        if self.asked.ends_early(self.ops):
            return None
        if elapsed_s < 0.9 * self.length_s:
            return f"ended after {elapsed_s:.2f} s: it had written as much as the plan allows"
        if elapsed_s > 1.1 * self.length_s and self.ops <= 50 + self.asked.writers:
            return f"went on for {elapsed_s:.1f} s to see {self.ops} operations"
        return None

    def _stall(self, now_ns: int) -> Stall | None:
        if not self._in_flight:
            return None
        writer, (since_ns, call) = min(self._in_flight.items(), key=lambda item: item[1])
        return Stall(call=call, elapsed_s=(now_ns - since_ns) / 1e9, writer=writer)


def _sum(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


class Reported:
    """Figures that come in pieces."""

    def __init__(self, probe: str) -> None:
        self._fields: dict[str, Any] = {measures.TAG: probe}
        self.figures: Figures | None = None
        self.histogram: list[tuple[int, int]] = []
        """(value in ns, count), ascending."""

    def note(self, fields: dict[str, Any]) -> None:
        """Newer figures: intervals and the rows of a histogram are added to those before, others take their place.

        Raises BadFrame where they are none of this kind of step.
        """
        rest = dict(fields)
        self.histogram += [(round(ms * 1e6), count) for ms, count in rest.pop("histogram", [])]
        if "intervals" in rest:
            rest["intervals"] = [*self._fields.get("intervals", []), *rest["intervals"]]
        self._fields |= rest
        try:
            self.figures = measures.figures_from(self._fields)
        except msgspec.ValidationError as error:
            raise BadFrame(f"the probe's figures make no sense: {error}") from None
