import asyncio
import errno
import os
import time
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.measure.kinds.sysbench_fileio import SysbenchFileio
from fstui.measure.wire.frames import BadFrame, Frame, Samples
from fstui.model.counters import Counters
from fstui.model.events import Event, StepPreparing, StepStarted
from fstui.model.plan import PlannedStep
from fstui.model.settings import OpenFlag
from fstui.runs import stepping
from fstui.runs.machine.replay import ReplayMachine
from fstui.runs.recorder import ReportedFigures
from fstui.runs.stepping import StepRunner, content_of
from fstui.state.workspace import HeldDirectory
from tests.factories.runs import plan_of, saved


class SilentProbe:
    """A probe whose write hangs after it has reported progress once. It ends when it is stopped."""

    pid = None

    def __init__(self) -> None:
        self.told_to_stop = asyncio.Event()

    async def frames(self) -> AsyncIterator[Frame | Samples]:
        yield Frame("preparing", {"done": 1 << 20, "total": 4 << 20})
        await self.told_to_stop.wait()

    def go(self) -> None:
        raise AssertionError("it was never ready")

    def stop(self) -> None:
        self.told_to_stop.set()

    async def finish(self, timeout_s: float) -> int | None:
        return 0


class SilentMachine(ReplayMachine):
    async def start(self, *_: object) -> SilentProbe:  # type: ignore[override]
        return SilentProbe()


async def test_a_probe_that_hangs_while_preparing_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stepping, "PROGRESS_TIMEOUT_S", 0.0)
    monkeypatch.setattr(stepping, "SNAPSHOT_INTERVAL_S", 0.001)
    run = saved()
    events: list[StepPreparing] = []

    def hear(event: Event) -> None:
        assert isinstance(event, StepPreparing)
        events.append(event)
        if len(events) == 5:
            runner.stop()

    runner = StepRunner(0, plan_of(run).steps[0], SilentMachine(run), (), hear)
    step = await runner.run(HeldDirectory("/data", 0, 0), facts=False)
    ages_s = [event.silent_s for event in events if event.silent_s]
    assert len(ages_s) >= 3
    assert ages_s == sorted(ages_s)
    assert {(event.done, event.total) for event in events if event.silent_s} == {(1 << 20, 4 << 20)}
    assert step.status == "stopped"


class StuckProbe(SilentProbe):
    """A probe whose external program never ends."""

    async def frames(self) -> AsyncIterator[Frame | Samples]:
        yield Frame("ready", {})
        await asyncio.Event().wait()

    def go(self) -> None:
        pass

    async def finish(self, timeout_s: float) -> int | None:
        return None


async def test_a_program_that_never_ends_is_unanswered(monkeypatch: pytest.MonkeyPatch) -> None:
    class Machine(ReplayMachine):
        async def start(self, *_: object) -> StuckProbe:  # type: ignore[override]
            return StuckProbe()

        def counters(self, *_: object) -> Counters:
            return Counters(monotonic_ns=time.monotonic_ns(), devices=())

    def hear(event: Event) -> None:
        if isinstance(event, StepStarted):
            runner.stop()

    monkeypatch.setattr(stepping, "STOP_TIMEOUT_S", 0.0)
    planned = PlannedStep(name="sysbench", settings=SysbenchFileio())
    runner = StepRunner(0, planned, Machine(saved()), (), hear)
    step = await runner.run(HeldDirectory("/data", 0, 0), facts=False)
    assert step.status == "stopped" and step.stalls.count == 1
    assert step.unanswered and step.unanswered.call == "sysbench"


class RefusedProbe(SilentProbe):
    """A probe on a filesystem that refuses O_DIRECT, as UBIFS and JFFS2 do."""

    def __init__(self, call: str, code: int) -> None:
        super().__init__()
        self._said = {"call": call, "errno": code, "message": os.strerror(code)}

    async def frames(self) -> AsyncIterator[Frame | Samples]:
        yield Frame("error", self._said)


@pytest.mark.parametrize(("call", "code", "flags", "status"), [
    ("open", errno.EINVAL, ("direct",), "skipped"), ("pwrite", errno.EINVAL, ("direct",), "skipped"),
    ("open", errno.EINVAL, (), "failed"), ("open", errno.EIO, ("direct",), "failed"),
    ("fsync", errno.EINVAL, ("direct",), "failed"),
])  # fmt: skip
async def test_refused_o_direct_skips_the_step(call: str, code: int, flags: tuple[OpenFlag, ...], status: str) -> None:
    class Machine(ReplayMachine):
        async def start(self, *_: object) -> RefusedProbe:  # type: ignore[override]
            return RefusedProbe(call, code)

    run = saved()
    planned = plan_of(run).steps[0]
    settings = SyncWrites(file_bytes=1 << 20, block_bytes=4096, open_flags=flags)
    runner = StepRunner(0, msgspec.structs.replace(planned, settings=settings), Machine(run), (), lambda _: None)
    step = await runner.run(HeldDirectory("/data", 0, 0), facts=False)
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
        ReportedFigures("sysbench").note({"transactions": "many"})
