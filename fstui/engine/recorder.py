"""What a probe says → a step and its snapshots, in constant memory."""

from __future__ import annotations

from operator import sub

from fstui.engine.reported import Reported
from fstui.inventory.counters import difference
from fstui.judge import promises
from fstui.latency import Histogram, Timeline
from fstui.model import Counters, DeviceCounters, Failure, Node, PlannedStep, Snapshot, Stall, Stalls, Step, StepStatus
from fstui.probes.frames import Samples

HELD_SHARE = 0.01
"""Above this share of its time the probe was held up, and its rate means nothing (DESIGN section 5)."""


class Recorder:
    """One step while it runs. Times are monotonic ns."""

    def __init__(self, index: int, plan: PlannedStep, stack: tuple[Node, ...]) -> None:
        self.index = index
        self.plan = plan
        self.stack = stack
        self._rare_syncs = plan.settings.get("sync_every", 1) > 1
        self._lowest = {node.id for node in stack if node.lowest}
        self.length_s: float | None = plan.settings.get("seconds") or None
        self.writes, self.sync_parts = Histogram(), Histogram()
        self.timeline = Timeline(self.length_s)
        self.reported = Reported()
        self.error: Failure | None = None
        self.started_ns = 0
        self.ended_ns = 0
        self.held_ns = 0
        self.before: Counters | None = None
        self.newest: Counters | None = None
        self.done = False
        self._in_flight: dict[int, tuple[int, str]] = {}

    @property
    def _alike(self) -> bool:
        """Its operations are of one kind; those of dirty_flush grow on purpose."""
        return self.plan.probe != "dirty_flush"

    @property
    def whole(self) -> Histogram:
        """Every operation from begin to end."""
        return self.timeline.whole

    @property
    def ops(self) -> int:
        """Operations finished so far."""
        return self.whole.total or self.reported.ops

    @property
    def syncs(self) -> int:
        """Operations or calls that promised durability."""
        return self.ops if self._every_op_syncs() else self.sync_parts.total

    @property
    def bytes(self) -> int:
        """Bytes written by the program: blocks of one size, or as it counts them itself."""
        block_bytes: int | None = self.plan.settings.get("block_bytes")
        if block_bytes and self.whole.total:
            return self.whole.total * block_bytes
        return int(self.reported.figures.get("written_bytes", 0))

    def begin(self, before: Counters) -> None:
        """The counters between ``ready`` and ``go``."""
        self.before = self.newest = before
        self.started_ns = before.monotonic_ns

    def add(self, samples: Samples) -> None:
        """One writer's consecutive operations."""
        self._in_flight.pop(samples.writer, None)
        ends = samples.marks[samples.parts - 1 :: samples.parts]
        if not ends:
            return
        begins = [samples.start_ns, *ends[:-1]]
        whole = list(map(sub, ends, begins))
        if samples.parts == 2:
            written = list(map(sub, samples.marks[0::2], begins))
            self.writes.add(written)
            synced = map(sub, whole, written)  # small numbers: quicker than the times themselves
            self.sync_parts.add(list(filter(None, synced) if self._rare_syncs else synced))
        self.timeline.add(ends, whole, self.started_ns)

    def in_flight(self, writer: int, since_ns: int, call: str) -> None:
        """That writer has been in that call since then."""
        self._in_flight[writer] = (since_ns, call)

    def count(self, counters: Counters) -> None:
        """Newer counters; the timeline gets what the lowest devices did since the ones before."""
        assert self.newest is not None
        moved = [device for device in difference(self.newest, counters) if device.device in self._lowest]
        self.newest = counters
        self.timeline.add_counters(
            counters.monotonic_ns - self.started_ns,
            writes=_sum([device.writes for device in moved]),
            written_bytes=_sum([device.written_bytes for device in moved]),
            flushes=_sum([device.flushes for device in moved]),
        )

    def end(self, start_ns: int, end_ns: int, held_ns: int) -> None:
        """The probe's own clock."""
        self.started_ns, self.ended_ns, self.held_ns = start_ns, end_ns, held_ns
        self.done = True

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
            probe=self.plan.probe,
            settings=self.plan.settings,
            status=status,
            error=self.error,
            reason=self._length_reason(status, elapsed_ns),
            ops=self.ops,
            syncs=self.syncs,
            bytes=self.bytes,
            writers=self.plan.settings.get("writers") or self.plan.settings.get("threads", 1),
            prepare_s=round(prepare_s, 3),
            elapsed_s=elapsed_ns / 1e9,
            held_ns=self.held_ns,
            rate_per_s=self.ops / (elapsed_ns / 1e9) if elapsed_ns else 0.0,
            latency_ns=self.whole.latency() or self.reported.latency(),
            write_ns=self.writes.latency(),
            sync_ns=self.sync_parts.latency(),
            histogram=self.whole.table() or tuple(self.reported.histogram),
            stalls=self.whole.stalls() if self._alike else Stalls(),
            timeline=self.timeline.points(),
            counters=self.moved(),
            figures=self.reported.figures,
        )

    def _every_op_syncs(self) -> bool:
        """Every operation is durable when it returns, without a sync part of its own."""
        if promises.is_database(self.plan.probe):
            return promises.promised(self.plan.probe, self.plan.settings, self.reported.figures)
        return bool({"dsync", "sync"} & set(self.plan.settings.get("open_flags", ())))

    def _length_reason(self, status: StepStatus, elapsed_ns: int) -> str | None:
        if status not in ("finished", "disturbed") or not self.length_s or not self._alike or not self.syncs:
            return None  # a step that never leaves memory is short, and nothing rests on its length
        elapsed_s = elapsed_ns / 1e9
        if elapsed_s < 0.9 * self.length_s:
            return f"ended after {elapsed_s:.2f} s: it had written as much as the plan allows"
        if elapsed_s > 1.1 * self.length_s and self.ops <= 50 + self.plan.settings.get("writers", 1):
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
