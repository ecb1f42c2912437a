"""Run one step: start its probe, read the counters before and after it measures, and see it end.

The probe reports ``ready`` when it has prepared its file. The counters are then read, and ``go`` starts the
measurement. They are read again when the probe reports ``done``. A probe that is stuck in the kernel is abandoned, and
what it has measured is kept.
"""

from __future__ import annotations

import asyncio
import errno
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from fstui.measure.wire.frames import BadFrame, Frame, Samples
from fstui.model.base import Amount, Base, Count
from fstui.model.events import Event, StepPreparing, StepProgressed, StepStarted
from fstui.model.host import Process
from fstui.model.plan import PlannedStep
from fstui.model.steps import Failure, PendingOperation, Step, StepStatus
from fstui.model.storage import Node
from fstui.runs.machine.base import Machine, NoTrace, ProbeRequest, RunningProbe, Served, StepTracing
from fstui.runs.recorder import InFlight, ProbeTimes, StepRecorder
from fstui.state.workspace import HeldDirectory

if TYPE_CHECKING:
    from fstui.runs.serving import Processors

LOOK_S = 0.25
"""How often the counters are read."""
DRAW_S = 0.5
"""How often a snapshot is sent. Each wake-up of this process can delay the operation that the probe measures."""
STUCK_S = 1.0
"""How long the operation in flight may take after a stop."""
SILENT_S = 1.0
"""A probe that prepares reports its progress at least this often."""
NO_DIRECT = "the filesystem refuses O_DIRECT of this kind"


class StepRunner:
    def __init__(
        self,
        index: int,
        planned: PlannedStep,
        machine: Machine,
        stack: tuple[Node, ...],
        emit: Callable[[Event], None],
        *,
        trace: StepTracing | None = None,
    ) -> None:
        self._index = index
        self._planned = planned
        self._machine = machine
        self._stack = stack
        self._emit = emit
        self._trace = trace or NoTrace()
        self._own: tuple[int, ...] | None = ()
        """Processes that work for the step and that fstui did not start; None if unknown."""
        self._recorder = StepRecorder(index, planned, stack)
        self._probe: RunningProbe | None = None
        self._served: Served | None = None
        self._processors: Processors | None = None
        self._stopped_at: float | None = None
        self._began = time.monotonic()
        self._ready_at: float | None = None
        self._drawn_at = self._began
        self._preparing = StepPreparing(index=index, name=planned.name, done=0, total=0)
        self._last_frame_at = self._began
        self.facts: Process | None = None
        self.prepared_bytes = 0
        self.abandoned = False
        """Its probe is in a system call that does not return."""

    def stop(self) -> None:
        """End after the operation in flight; the step counts as stopped."""
        if self._stopped_at is None:
            self._stopped_at = time.monotonic()
            if self._probe:
                self._probe.stop()

    async def run(self, directory: HeldDirectory, facts: bool, served: Served | None = None) -> Step:
        """Measure until the end or the stop. Errors of the storage are in the step and are not raised."""
        self._emit(self._preparing)
        self._served = served
        if served:
            self._recorder.reported.note(served.figures)
            self._own = served.processes
        extra = served.probe_settings if served else {}
        try:
            self._probe = await self._machine.start(ProbeRequest(self._planned, directory, self._stack, facts, extra))
        except OSError as error:
            self._recorder.error = Failure(call="start the probe", errno=error.errno, message=str(error.strerror))
            return self._step()
        if self._stopped_at is not None:
            self._probe.stop()
        listening = asyncio.ensure_future(self._listen(self._probe))
        try:
            while not listening.done() and not self._stuck():
                await asyncio.wait({listening}, timeout=LOOK_S)
                self._look()
        finally:
            listening.cancel()
            await asyncio.wait({listening})
            status = await self._probe.finish(timeout_s=0.1 if self._stuck() else STUCK_S)
        self.abandoned = status is None
        if self.abandoned and self._ready_at is not None and self._stopped_at is not None:
            program = self._planned.settings.program or "the probe"
            self._recorder.never_ended = PendingOperation(call=program, elapsed_s=time.monotonic() - self._stopped_at)
        self._note_end(listening, status)
        await self._read_trace()
        return self._step()

    async def _listen(self, probe: RunningProbe) -> None:
        async for frame in probe.frames():
            if isinstance(frame, Samples):
                self._recorder.add(frame)
            else:
                self._on_frame(probe, frame)
            if self._recorder.done:
                return

    def _on_frame(self, probe: RunningProbe, frame: Frame) -> None:
        content = content_of(frame)
        self._last_frame_at = time.monotonic()
        match content:
            case Process():
                self.facts = content
            case _Preparing(done=done, total=total):
                self.prepared_bytes = done
                self._preparing = StepPreparing(index=self._index, name=self._planned.name, done=done, total=total)
                self._emit(self._preparing)
            case InFlight():
                self._recorder.in_flight(content)
            case Failure():
                self._recorder.error = self._recorder.error or content
            case ProbeTimes():
                self._recorder.count(self._machine.counters(self._stack), last=True)
                self._recorder.end(content)
                self._note_processors()
            case _ if frame.kind == "figures":
                self._recorder.reported.note(content)
            case _ if frame.kind == "ready":
                self._ready_at = time.monotonic()
                self._watch_processors(probe)
                before = self._machine.counters(self._stack)
                self._recorder.begin(before)
                self._trace.begin(before.monotonic_ns, self._own or ())
                probe.go()
                self._emit(StepStarted(index=self._index, name=self._planned.name))

    def _watch_processors(self, probe: RunningProbe) -> None:
        if self._served:
            from fstui.runs.serving import Processors  # noqa: PLC0415  needs psutil

            self._processors = Processors(next(iter(self._own or ()), None), probe.pid)

    def _note_processors(self) -> None:
        recorder = self._recorder
        if self._processors:
            elapsed_s = (recorder.times.end_ns - recorder.started_ns) / 1e9
            recorder.reported.note(self._processors.figures(elapsed_s, recorder.settings.writers))

    def _look(self) -> None:
        now = time.monotonic()
        if self._ready_at is not None and not self._recorder.done:
            self._recorder.count(self._machine.counters(self._stack))
        if now - self._drawn_at >= 0.9 * DRAW_S:  # a wake-up may come slightly early
            self._drawn_at = now
            self._draw()

    def _draw(self) -> None:
        newest = self._recorder.newest
        if newest is not None and not self._recorder.done:
            self._emit(StepProgressed(snapshot=self._recorder.snapshot(newest.monotonic_ns)))
        elif self._ready_at is None and (silent_s := time.monotonic() - self._last_frame_at) > SILENT_S:
            self._emit(msgspec.structs.replace(self._preparing, silent_s=silent_s))

    def _stuck(self) -> bool:
        """Return whether the probe was stopped and its operation does not return."""
        return self._stopped_at is not None and time.monotonic() - self._stopped_at > STUCK_S

    def _note_end(self, listening: asyncio.Future[None], status: int | None) -> None:
        recorder = self._recorder
        if self._ready_at is not None and not recorder.done:
            recorder.count(self._machine.counters(self._stack), last=True)
            recorder.cut_off()
        if listening.cancelled() or recorder.done or recorder.error:
            return
        error = listening.exception()
        if error is not None:
            recorder.error = Failure(call="probe", errno=None, message=str(error))
        elif self._stopped_at is None:
            recorder.error = Failure(call="probe", errno=None, message=_early_end(status))

    async def _read_trace(self) -> None:
        """Read the trace up to the time of the counters, and drop it if the processes of a server are unknown."""
        if self._recorder.newest is not None:
            traced = await self._trace.end(self._recorder.newest.monotonic_ns)
            self._recorder.trace = traced if self._own is not None else None

    def _step(self) -> Step:
        prepare_s = (self._ready_at or time.monotonic()) - self._began
        step = self._recorder.step(self._status(), prepare_s)
        return msgspec.structs.replace(step, reason=NO_DIRECT) if step.status == "skipped" else step

    def _status(self) -> StepStatus:
        error = self._recorder.error
        if error is None:
            return "finished" if self._stopped_at is None else "stopped"
        return "skipped" if self._no_direct(error) else "failed"

    def _no_direct(self, error: Failure) -> bool:
        """Return whether the filesystem refuses O_DIRECT (UBIFS, JFFS2, ramfs), or blocks of this size (open(2))."""
        refused = error.errno == errno.EINVAL and error.call in {"open", "pwrite"} and not self._recorder.ops
        return refused and self._planned.settings.direct


def _early_end(status: int | None) -> str:
    if status is not None and status < 0:
        return f"the probe was ended by signal {-status} before its time was over"
    return f"the probe ended before its time was over (status {status})"


class _Preparing(Base, frozen=True, kw_only=True, forbid_unknown_fields=True):
    done: Count
    total: Count


class _Figures(Base, frozen=True, kw_only=True):
    """The fields that every kind of step may report."""

    histogram: tuple[tuple[Amount, Count], ...] = ()
    """Rows of (ms, count)."""
    intervals: tuple[dict[str, Any], ...] = ()


_KINDS: dict[str, type] = {
    "facts": Process,
    "preparing": _Preparing,
    "inflight": InFlight,
    "figures": _Figures,
    "error": Failure,
    "done": ProbeTimes,
}


def content_of(frame: Frame) -> Any:
    """Return the content of a frame; for figures, its fields. Raises BadFrame: a library may have printed it."""
    try:
        content: Any = msgspec.convert(frame.fields, _KINDS.get(frame.kind, dict[str, Any]))
    except msgspec.ValidationError as error:
        raise BadFrame(f"the probe's {frame.kind!r} frame is not valid: {error}") from None
    return frame.fields if frame.kind == "figures" else content
