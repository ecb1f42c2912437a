"""One step: start its probe, read the counters between ``ready`` and ``go`` and after ``done``, see it end.

DESIGN section 5: what prepares a step never counts. A stall shows while it lasts; a probe that is stuck in the kernel
is abandoned, and what it had measured is kept.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import msgspec

from fstui.engine.machine import Machine, RunningProbe
from fstui.engine.recorder import Recorder
from fstui.engine.serving import Served
from fstui.model import (
    Event,
    Failure,
    Node,
    PlannedStep,
    Step,
    StepPreparing,
    StepProgressed,
    StepStarted,
    StepStatus,
)
from fstui.probes.frames import Frame, Samples
from fstui.quantities import plain

DRAW_S = 0.25
STUCK_S = 3.0
"""So long after a stop the probe is given for its operation in flight."""
EINVAL = 22


class StepRunner:
    """One step of a run."""

    def __init__(
        self,
        index: int,
        planned: PlannedStep,
        machine: Machine,
        stack: tuple[Node, ...],
        tell: Callable[[Event], None],
    ) -> None:
        self._index = index
        self._planned = planned
        self._machine = machine
        self._stack = stack
        self._tell = tell
        self._recorder = Recorder(index, planned, stack)
        self._probe: RunningProbe | None = None
        self._stopped_at: float | None = None
        self._began = time.monotonic()
        self._ready_at: float | None = None
        self.facts: dict[str, Any] | None = None
        self.prepared_bytes = 0

    def stop(self) -> None:
        """End after the operation in flight; the step counts as stopped."""
        if self._stopped_at is None:
            self._stopped_at = time.monotonic()
            if self._probe:
                self._probe.stop()

    async def run(self, directory: str, facts: bool, served: Served | None = None) -> Step:
        """Measure, to the end or the stop. Never raises for what storage does: that is in the step's error."""
        self._tell(StepPreparing(index=self._index, name=self._planned.name, done=0, total=0))
        told = self._planned
        if served:
            self._recorder.reported.note(served.figures)
            told = msgspec.structs.replace(told, settings={**told.settings, **served.told})
        try:
            self._probe = await self._machine.start(told, directory, self._stack, facts)
        except OSError as error:
            self._recorder.error = Failure(call="start the probe", errno=error.errno, message=str(error.strerror))
            return self._step()
        if self._stopped_at is not None:
            self._probe.stop()
        listening = asyncio.ensure_future(self._listen(self._probe))
        try:
            while not listening.done() and not self._stuck():
                await asyncio.wait({listening}, timeout=DRAW_S)
                self._draw()
        finally:
            listening.cancel()
            await asyncio.wait({listening})
            status = await self._probe.finish(timeout_s=0.1 if self._stuck() else STUCK_S)
        self._note_end(listening, status)
        return self._step()

    async def _listen(self, probe: RunningProbe) -> None:
        async for frame in probe.frames():
            if isinstance(frame, Samples):
                self._recorder.add(frame)
            else:
                self._hear(probe, frame)
            if self._recorder.done:
                return

    def _hear(self, probe: RunningProbe, frame: Frame) -> None:
        fields = frame.fields
        match frame.kind:
            case "facts":
                self.facts = fields
            case "preparing":
                self.prepared_bytes = fields["done"]
                self._tell(StepPreparing(index=self._index, name=self._planned.name, **fields))
            case "ready":
                self._ready_at = time.monotonic()
                self._recorder.begin(self._machine.counters(self._stack))
                probe.go()
                self._tell(StepStarted(index=self._index, name=self._planned.name))
            case "inflight":
                self._recorder.in_flight(fields["writer"], fields["since_ns"], fields["call"])
            case "figures":
                self._recorder.reported.note(fields)
            case "error":
                self._recorder.error = self._recorder.error or Failure(
                    call=fields["call"], errno=fields["errno"], message=plain(fields["message"])
                )
            case "done":
                self._recorder.count(self._machine.counters(self._stack))
                self._recorder.end(**fields)

    def _draw(self) -> None:
        if self._ready_at is not None and not self._recorder.done:
            counters = self._machine.counters(self._stack)
            self._recorder.count(counters)
            self._tell(StepProgressed(snapshot=self._recorder.snapshot(counters.monotonic_ns)))

    def _stuck(self) -> bool:
        """It was told to stop, and its operation does not return."""
        return self._stopped_at is not None and time.monotonic() - self._stopped_at > STUCK_S

    def _note_end(self, listening: asyncio.Future[None], status: int | None) -> None:
        recorder = self._recorder
        if listening.cancelled() or recorder.done or recorder.error:
            if self._ready_at is not None and not recorder.done:
                recorder.count(self._machine.counters(self._stack))
            return
        error = listening.exception()
        if error is not None:
            recorder.error = Failure(call="probe", errno=None, message=plain(str(error)))
        elif self._stopped_at is None:
            recorder.error = Failure(call="probe", errno=None, message=_early_end(status))

    def _step(self) -> Step:
        prepare_s = (self._ready_at or time.monotonic()) - self._began
        return self._recorder.step(self._status(), prepare_s)

    def _status(self) -> StepStatus:
        error = self._recorder.error
        if error is None:
            return "finished" if self._stopped_at is None else "stopped"
        if error.call == "open" and error.errno == EINVAL and "direct" in self._planned.settings.get("open_flags", ()):
            return "skipped"
        return "failed"


def _early_end(status: int | None) -> str:
    if status is not None and status < 0:
        return f"the probe was ended by signal {-status} before its time was over"
    return f"the probe ended before its time was over (status {status})"
