import asyncio
import errno
import os
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.measure.kinds.sysbench_fileio import SysbenchFileio
from fstui.measure.wire.frames import BadFrame, Frame, Samples
from fstui.model.counters import Counters
from fstui.model.events import Event, StepPreparing, StepStarted
from fstui.model.plan import PlannedStep
from fstui.model.settings import OpenFlag, Settings
from fstui.model.steps import Step
from fstui.runs import stepping
from fstui.runs.machine.replay import ReplayMachine
from fstui.runs.recorder import ReportedFigures
from fstui.runs.stepping import StepRunner, content_of
from fstui.state.workspace import HeldDirectory
from tests.factories.runs import saved


class Probe:
    """A probe that sends one frame and then, unless that is an error, hangs until it is stopped, or for ever."""

    pid = None

    def __init__(self, frame: Frame, *, for_ever: bool = False) -> None:
        self._frame, self._for_ever, self._told_to_stop = frame, for_ever, asyncio.Event()

    async def frames(self) -> AsyncIterator[Frame | Samples]:
        yield self._frame
        if self._frame.kind != "error":
            await self._told_to_stop.wait()

    def go(self) -> None:
        assert self._frame.kind == "ready"

    def stop(self) -> None:
        if not self._for_ever:
            self._told_to_stop.set()

    async def finish(self, timeout_s: float) -> int | None:
        return None if self._for_ever else 0


class Machine(ReplayMachine):
    """A machine whose programs are that probe."""

    def __init__(self, probe: Probe) -> None:
        super().__init__(saved())
        self._probe = probe

    async def start(self, *_: object) -> Probe:  # type: ignore[override]
        return self._probe

    def counters(self, *_: object) -> Counters:
        return Counters(monotonic_ns=time.monotonic_ns(), devices=())


async def run_step(probe: Probe, settings: Settings, hear: Callable[[StepRunner, Event], None]) -> Step:
    planned = PlannedStep(name="sysbench", settings=settings)
    runner = StepRunner(0, planned, Machine(probe), (), lambda event: hear(runner, event))
    return await runner.run(HeldDirectory("/data", 0, 0), report_facts=False)


async def test_a_probe_that_hangs_while_preparing_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stepping, "PROGRESS_TIMEOUT_S", 0.0)
    monkeypatch.setattr(stepping, "SNAPSHOT_INTERVAL_S", 0.001)
    events: list[StepPreparing] = []

    def hear(runner: StepRunner, event: Event) -> None:
        assert isinstance(event, StepPreparing)
        events.append(event)
        if len(events) == 5:
            runner.stop()

    step = await run_step(Probe(Frame("preparing", {"done": 1 << 20, "total": 4 << 20})), SyncWrites(), hear)
    ages_s = [event.silent_s for event in events if event.silent_s]
    assert len(ages_s) >= 3
    assert ages_s == sorted(ages_s)
    assert {(event.done, event.total) for event in events if event.silent_s} == {(1 << 20, 4 << 20)}
    assert step.status == "stopped"


async def test_a_program_that_never_ends_is_unanswered(monkeypatch: pytest.MonkeyPatch) -> None:
    def hear(runner: StepRunner, event: Event) -> None:
        if isinstance(event, StepStarted):
            runner.stop()

    monkeypatch.setattr(stepping, "STOP_TIMEOUT_S", 0.0)
    step = await run_step(Probe(Frame("ready", {}), for_ever=True), SysbenchFileio(), hear)
    assert step.status == "stopped" and step.stalls.count == 1
    assert step.unanswered and step.unanswered.call == "sysbench"


@pytest.mark.parametrize(("done", "unanswered"), [(0, True), (1 << 40, False)])
async def test_a_preparation_that_never_ends_is_unanswered(
    monkeypatch: pytest.MonkeyPatch, done: int, unanswered: bool
) -> None:
    """A disk may still be syncing a large file."""

    def stop_after_progress(runner: StepRunner, event: Event) -> None:
        if isinstance(event, StepPreparing) and event.total:
            runner.stop()

    monkeypatch.setattr(stepping, "STOP_TIMEOUT_S", 0.0)
    monkeypatch.setattr(stepping, "PROGRESS_TIMEOUT_S", 0.0)
    probe = Probe(Frame("preparing", {"done": done, "total": 1 << 40}), for_ever=True)
    step = await run_step(probe, SyncWrites(), stop_after_progress)
    assert (step.status, step.ops, bool(step.unanswered)) == ("stopped", 0, unanswered)


@pytest.mark.parametrize(("call", "code", "flags", "status"), [
    ("open", errno.EINVAL, ("direct",), "skipped"), ("pwrite", errno.EINVAL, ("direct",), "skipped"),
    ("open", errno.EINVAL, (), "failed"), ("open", errno.EIO, ("direct",), "failed"),
    ("fsync", errno.EINVAL, ("direct",), "failed"),
])  # fmt: skip
async def test_refused_o_direct_skips_the_step(call: str, code: int, flags: tuple[OpenFlag, ...], status: str) -> None:
    """UBIFS and JFFS2 refuse O_DIRECT."""
    error = Frame("error", {"call": call, "errno": code, "message": os.strerror(code)})
    step = await run_step(Probe(error), SyncWrites(open_flags=flags), lambda *_: None)
    assert step.status == status
    assert (step.reason == stepping.NO_DIRECT) is (status == "skipped")


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("facts", {"pipe_fsync_fails": "x"}),
        ("preparing", {"done": -1, "total": 2}),
        ("preparing", {"done": 1, "total": 2, "more": 3}),
        ("inflight", {}),
        ("inflight", {"writer": 0, "since_ns": "long", "call": "fsync"}),
        ("figures", {"histogram": [[1]]}),
        ("figures", {"intervals": 3}),
        ("error", {"call": "open"}),
        ("done", {"start_ns": 0, "end_ns": 1, "delayed_ns": -1}),
        ("done", {"start_ns": 0, "end_ns": 1, "delayed_ns": 0, "surprise": 1}),
    ],
)
def test_an_invalid_frame_is_refused(kind: str, fields: dict[str, Any]) -> None:
    with pytest.raises(BadFrame, match=f"the probe's '{kind}' frame is not valid: "):
        content_of(Frame(kind, fields))


def test_figures_of_another_kind_are_refused() -> None:
    with pytest.raises(BadFrame, match="the probe's figures are not valid: "):
        ReportedFigures("sysbench").merge({"transactions": "many"})
