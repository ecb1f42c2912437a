"""Run one step: start its probe, read the counters before and after the measurement, and wait for the probe's end.

The probe reports ``ready`` when it has prepared its file. The counters are then read, and ``go`` starts the
measurement. The counters are read again when the probe reports ``done``. A probe that is stuck in the kernel is
abandoned, and the step keeps the results so far.
"""

import asyncio
import errno
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from fstui import proc
from fstui.measure.children import NotStarted
from fstui.measure.wire.frames import BadFrame, Frame, Samples
from fstui.model.base import Amount, Base, Count
from fstui.model.events import Event, StepPreparing, StepProgressed, StepStarted
from fstui.model.host import Process
from fstui.model.plan import PlannedStep
from fstui.model.steps import Failure, PendingOperation, Step, StepStatus
from fstui.model.storage import Node
from fstui.runs.machine.base import Machine, NoTrace, ProbeRequest, RunningProbe, StepServer, StepTracing
from fstui.runs.recorder import OperationInFlight, ProbeTimes, StepRecorder
from fstui.state.workspace import HeldDirectory

if TYPE_CHECKING:
    from fstui.runs.cpu_meter import CpuMeter

COUNTERS_INTERVAL_S = 0.22
"""Read the counters when samples arrive, because this process is awake then, but not more often than this."""
MAX_COUNTERS_INTERVAL_S = 0.4
"""If no samples arrive, read the counters after this time."""
SNAPSHOT_INTERVAL_S = 0.5
"""How often a snapshot is sent. Each wake-up of this process can delay the operation that the probe measures."""
STOP_TIMEOUT_S = 1.0
"""How long the operation in flight may take after a stop before the probe is abandoned."""
PROGRESS_TIMEOUT_S = 1.0
"""A probe that prepares its file reports progress at least this often."""
MIN_BYTES_PER_S = 10_000_000
"""A disk may need as long as at this rate to sync the file that a probe prepared."""
NO_DIRECT = "the filesystem refuses O_DIRECT with these settings"
NO_MAPPING = "the filesystem refuses shared mappings"


class StepRunner:
    def __init__(
        self,
        index: int,
        planned_step: PlannedStep,
        machine: Machine,
        stack: tuple[Node, ...],
        emit: Callable[[Event], None],
        *,
        trace: StepTracing | None = None,
        other_flushes_per_s: float = 0.0,
    ) -> None:
        self._index = index
        self._planned_step = planned_step
        self._machine = machine
        self._stack = stack
        self._emit = emit
        self._trace = trace or NoTrace()
        self._server_pids: tuple[int, ...] | None = ()
        self._recorder = StepRecorder(index, planned_step, stack, other_flushes_per_s=other_flushes_per_s)
        self._probe: RunningProbe | None = None
        self._server: StepServer | None = None
        self._cpu_meter: CpuMeter | None = None
        self._stop_time_s: float | None = None
        self._start_time_s = time.monotonic()
        self._ready_time_s: float | None = None
        self._counters_time_s = self._snapshot_time_s = self._start_time_s
        self._preparation = StepPreparing(index=index, name=planned_step.name, done=0, total=0)
        self._frame_time_s = self._start_time_s
        self.facts: Process | None = None
        self.prepared_bytes = 0
        self.is_abandoned = False
        """Whether the probe is in a system call that does not return."""

    def stop(self) -> None:
        """End the step after the operation in flight. The step counts as stopped."""
        if self._stop_time_s is None:
            self._stop_time_s = time.monotonic()
            if self._probe:
                self._probe.stop()

    async def run(self, directory: HeldDirectory, report_facts: bool, server: StepServer | None = None) -> Step:
        """Measure until the step ends or is stopped. Errors of the storage are not raised but recorded in the step."""
        self._emit(self._preparation)
        self._server = server
        if server:
            self._recorder.reported_figures.merge(server.figures)
            self._server_pids = server.processes
        probe_settings = server.probe_settings if server else {}
        try:
            request = ProbeRequest(self._planned_step, directory, self._stack, report_facts, probe_settings)
            self._probe = await self._machine.start(request)
        except OSError as error:
            self._recorder.error = Failure(call="start the probe", errno=error.errno, message=str(error.strerror))
            return self._step()
        except NotStarted as problem:
            self._recorder.error = Failure(call="start the probe", errno=None, message=str(problem))
            return self._step()
        if self._stop_time_s is not None:
            self._probe.stop()
        listener = asyncio.ensure_future(self._listen(self._probe))
        try:
            while not listener.done() and not self._is_stuck():
                await asyncio.wait({listener}, timeout=MAX_COUNTERS_INTERVAL_S)
                self._read_counters(MAX_COUNTERS_INTERVAL_S)
        finally:
            listener.cancel()
            await asyncio.wait({listener})
            status = await self._probe.finish(timeout_s=0.1 if self._is_stuck() else STOP_TIMEOUT_S)
        self.is_abandoned = status is None
        if self.is_abandoned and self._stop_time_s is not None:
            self._recorder.abandoned_operation = self._abandoned_operation(self._probe.pid, self._stop_time_s)
        self._record_end(listener, status)
        await self._read_trace()
        return self._step()

    async def _listen(self, probe: RunningProbe) -> None:
        async for frame in probe.frames():
            if isinstance(frame, Samples):
                self._recorder.add_samples(frame)
                if self._recorder.is_slowed_by_trace and self._trace.pause():
                    self._recorder.end_traced_part()
                self._read_counters(COUNTERS_INTERVAL_S)
            else:
                self._on_frame(probe, frame)
            if self._recorder.has_ended:
                return

    def _on_frame(self, probe: RunningProbe, frame: Frame) -> None:
        content = content_of(frame)
        self._frame_time_s = time.monotonic()
        match content:
            case Process():
                self.facts = content
            case _PreparationProgress(done=done, total=total):
                self.prepared_bytes = done
                self._preparation = StepPreparing(
                    index=self._index, name=self._planned_step.name, done=done, total=total
                )
                self._emit(self._preparation)
            case OperationInFlight():
                self._recorder.record_in_flight(content)
            case Failure():
                self._recorder.error = self._recorder.error or content
            case ProbeTimes():
                self._recorder.add_counters(self._machine.counters(self._stack), is_last=True)
                self._recorder.end(content)
                self._record_cpu_use()
            case _ if frame.kind == "figures":
                self._recorder.reported_figures.merge(content)
            case _ if frame.kind == "ready":
                self._ready_time_s = time.monotonic()
                self._start_cpu_meter(probe)
                counters = self._machine.counters(self._stack)
                self._recorder.begin(counters)
                self._trace.begin(counters.monotonic_ns, self._server_pids or ())
                probe.go()
                self._emit(StepStarted(index=self._index, name=self._planned_step.name))

    def _start_cpu_meter(self, probe: RunningProbe) -> None:
        if self._server:
            from fstui.runs.cpu_meter import CpuMeter  # noqa: PLC0415  needs psutil

            self._cpu_meter = CpuMeter(next(iter(self._server_pids or ()), None), probe.pid)

    def _record_cpu_use(self) -> None:
        recorder = self._recorder
        if self._cpu_meter:
            elapsed_s = (recorder.times.end_ns - recorder.started_ns) / 1e9
            recorder.reported_figures.merge(self._cpu_meter.figures(elapsed_s, recorder.settings.writers))

    def _read_counters(self, interval_s: float) -> None:
        """Read the counters, and send a snapshot when one is due, unless they were read less than this time ago."""
        now = time.monotonic()
        if now - self._counters_time_s < interval_s:
            return
        self._counters_time_s = now
        if self._ready_time_s is not None and not self._recorder.has_ended:
            self._recorder.add_counters(self._machine.counters(self._stack))
        if now - self._snapshot_time_s >= 0.9 * SNAPSHOT_INTERVAL_S:  # the event loop may wake up slightly early
            self._snapshot_time_s = now
            self._send_snapshot()

    def _send_snapshot(self) -> None:
        newest_counters = self._recorder.newest_counters
        if newest_counters is not None and not self._recorder.has_ended:
            self._emit(StepProgressed(snapshot=self._recorder.snapshot(newest_counters.monotonic_ns)))
        elif self._ready_time_s is None and (silent_s := time.monotonic() - self._frame_time_s) > PROGRESS_TIMEOUT_S:
            self._emit(msgspec.structs.replace(self._preparation, silent_s=silent_s))

    def _is_stuck(self) -> bool:
        """Return whether the probe was stopped and its operation does not return."""
        return self._stop_time_s is not None and time.monotonic() - self._stop_time_s > STOP_TIMEOUT_S

    def _abandoned_operation(self, pid: int | None, stop_time_s: float) -> PendingOperation | None:
        """Return what did not return; None if the probe may still be syncing the file that it prepared."""
        settings, now_s = self._planned_step.settings, time.monotonic()
        if self._ready_time_s is not None:
            return PendingOperation(call=settings.program or "the probe", elapsed_s=now_s - stop_time_s)
        silent_s = now_s - self._frame_time_s
        is_frozen = proc.waits_for_thaw(proc.read_text(f"/proc/{pid}/wchan"))
        may_sync = not settings.uniform or silent_s < PROGRESS_TIMEOUT_S + self.prepared_bytes / MIN_BYTES_PER_S
        if may_sync and not is_frozen:
            return None
        return PendingOperation(
            call=f"the preparation of the file{proc.ON_FROZEN if is_frozen else ''}", elapsed_s=silent_s
        )

    def _record_end(self, listener: asyncio.Future[None], status: int | None) -> None:
        recorder = self._recorder
        if self._ready_time_s is not None and not recorder.has_ended:
            recorder.add_counters(self._machine.counters(self._stack), is_last=True)
            recorder.add_unfinished()
        if listener.cancelled() or recorder.has_ended or recorder.error:
            return
        error = listener.exception()
        if error is not None:
            recorder.error = Failure(call="probe", errno=None, message=str(error))
        elif self._stop_time_s is None:
            recorder.error = Failure(call="probe", errno=None, message=_early_end_message(status))

    async def _read_trace(self) -> None:
        """Read the trace of the step or of its traced part. Drop it if the server's processes are unknown."""
        until_ns = self._recorder.traced_until_ns
        if until_ns is not None:
            trace = await self._trace.end(until_ns)
            self._recorder.trace = trace if self._server_pids is not None else None

    def _step(self) -> Step:
        prepare_s = (self._ready_time_s or time.monotonic()) - self._start_time_s
        step = self._recorder.step(self._status(), prepare_s)
        return msgspec.structs.replace(step, reason=self._refusal()) if step.status == "skipped" else step

    def _status(self) -> StepStatus:
        error = self._recorder.error
        if error is None:
            return "finished" if self._stop_time_s is None else "stopped"
        return "skipped" if self._refusal() else "failed"

    def _refusal(self) -> str:
        """Return what the filesystem refuses: O_DIRECT (UBIFS, JFFS2, ramfs), blocks of this size (open(2)), or shared
        mappings (mmap(2): ENODEV, FUSE with direct_io). Empty if the step failed for another reason."""
        error = self._recorder.error
        if error is None or self._recorder.ops:
            return ""
        if error.errno == errno.EINVAL and error.call in {"open", "pwrite"} and self._planned_step.settings.direct:
            return NO_DIRECT
        return NO_MAPPING if (error.call, error.errno) == ("mmap", errno.ENODEV) else ""


def _early_end_message(status: int | None) -> str:
    if status is not None and status < 0:
        return f"signal {-status} killed the probe before the step ended"
    return f"the probe ended before the step (status {status})"


class _PreparationProgress(Base, frozen=True, kw_only=True, forbid_unknown_fields=True):
    done: Count
    total: Count


class _Figures(Base, frozen=True, kw_only=True):
    """The fields that every kind of step may report."""

    histogram: tuple[tuple[Amount, Count], ...] = ()
    """Rows of (ms, count)."""
    intervals: tuple[dict[str, Any], ...] = ()


_CONTENT_TYPES: dict[str, type] = {
    "facts": Process,
    "preparing": _PreparationProgress,
    "inflight": OperationInFlight,
    "figures": _Figures,
    "error": Failure,
    "done": ProbeTimes,
}


def content_of(frame: Frame) -> Any:
    """Return the decoded content of a frame, or the fields of ``figures`` as they are. Raises BadFrame if not valid."""
    try:
        content: Any = msgspec.convert(frame.fields, _CONTENT_TYPES.get(frame.kind, dict[str, Any]))
    except msgspec.ValidationError as error:
        raise BadFrame(f"the probe's {frame.kind!r} frame is not valid: {error}") from None
    return frame.fields if frame.kind == "figures" else content
