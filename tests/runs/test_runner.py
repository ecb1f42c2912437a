import asyncio
import errno
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from fstui.databases.throwaway import START_TIMEOUT_S, start_limit_s
from fstui.measure.children import NotStarted
from fstui.measure.kinds.documents import decode_run
from fstui.model.counters import DeviceTimes
from fstui.model.documents import encode
from fstui.model.errors import Refused
from fstui.model.events import (
    Event,
    FindingsChanged,
    RunFinished,
    RunStarted,
    StepFinished,
    StepPreparing,
    StepProgressed,
    StepStarted,
)
from fstui.model.judgement import Finding
from fstui.model.run import Run
from fstui.model.steps import Failure, Snapshot, TracedPart
from fstui.model.storage import Medium, Space
from fstui.runs import runner, stepping
from fstui.runs.machine.base import ProbeRequest, SaveResult
from fstui.runs.machine.replay import ReplayMachine, ReplayProbe
from fstui.runs.runner import Mailbox, RunInProgress, slowest_sync_s, with_progress
from fstui.runs.session import Session
from fstui.runs.site import Site
from fstui.state import ledger, paths
from fstui.state.workspace import TargetDirectory
from tests.factories import saved_runs
from tests.factories.runs import DIRECT, FDATASYNC, HDD, STEPS, plan_of, recorded, saved
from tests.factories.samples import LATENCY, SYNCED, UNSYNCED
from tests.factories.steps import traced
from tests.real import headless


def site_of(run: Run) -> Site:
    assert run.target
    return Site(directory=TargetDirectory(run.target.path, Space(total_bytes=0, free_bytes=0)), raw_target=run.target)


def replaying(run: Run, pace: float = 0.0) -> RunInProgress:
    return RunInProgress(plan_of(run), site_of(run), ReplayMachine(run, pace))


async def finished(
    running: RunInProgress, react: Callable[[Event], object] = lambda event: None
) -> tuple[Run, list[Event]]:
    events = []
    async for event in running.events():
        events.append(event)
        react(event)
    assert isinstance(event, RunFinished)
    return event.run, events


def gist(findings: tuple[Finding, ...]) -> list[tuple[object, ...]]:
    """Return findings without numbers, because the percentiles of a replay differ by up to one percent."""
    return [
        (finding.rule, finding.verdict, finding.confidence, finding.scope, finding.steps, len(finding.evidence))
        for finding in findings
    ]


@pytest.mark.parametrize("medium", [None, HDD])
async def test_a_replay_has_the_same_findings(medium: Medium | None) -> None:
    before = saved(medium=medium)
    run, _ = await finished(replaying(before))
    assert run.status == "finished"
    assert gist(run.findings) == gist(before.findings) != []
    assert (run.verdict, run.simulated) == (before.verdict, "replay of k3f9a1")
    for now, then in zip(run.steps, before.steps, strict=True):
        for field in ("name", "status", "ops", "syncs", "bytes"):
            assert getattr(now, field) == getattr(then, field)
        assert now.device("sda") == then.device("sda")
        assert now.rate_per_s == pytest.approx(then.rate_per_s)
        assert now.latency_ns and then.latency_ns
        assert now.latency_ns.p50 == pytest.approx(then.latency_ns.p50, rel=0.02)
        assert now.latency_ns.max == pytest.approx(then.latency_ns.max, rel=0.02)


async def test_the_results_of_the_trace_are_replayed() -> None:
    trace = traced(us=900, kernel=3, others=70, device_flush_ns=DeviceTimes(p50=40_000, p99=90_000, max=1_000_000))
    part = TracedPart(elapsed_s=0.1, ops=900, syncs=900)
    run, _ = await finished(replaying(saved(STEPS[0], replace(STEPS[1], trace=(trace,), traced_part=part))))
    assert [(step.trace, step.traced_part) for step in run.steps] == [(None, None), ((trace,), part)]
    assert decode_run(encode(run)) == run
    sentence = "only root may trace the kernel"
    run, events = await finished(replaying(replace(saved(), untraced=sentence)))
    assert isinstance(events[0], RunStarted)
    assert (run.untraced, events[0].untraced) == (sentence, sentence)


async def test_events_come_in_order() -> None:
    _, events = await finished(replaying(saved(*STEPS[:2])))
    names = [type(event).__name__ for event in events if not isinstance(event, StepProgressed)]
    step = ["StepPreparing", "StepStarted", "StepFinished", "FindingsChanged"]
    assert names == ["RunStarted", "FindingsChanged", "IdleMeasured", *step, "IdleMeasured", *step, "RunFinished"]


@pytest.mark.parametrize(
    ("moment", "stop", "statuses"),
    [
        (RunStarted, RunInProgress.stop, []),
        (StepStarted, RunInProgress.stop, ["stopped"]),
        (StepFinished, RunInProgress.stop, ["finished"]),
        (StepStarted, RunInProgress.skip_step, ["stopped", "finished", "finished"]),
    ],
    ids=["before the first step", "within a step", "between steps", "only a step"],
)
async def test_a_stopped_run_is_judged_by_what_was_measured(
    moment: type[Event], stop: Callable[[RunInProgress], None], statuses: list[str]
) -> None:
    running = replaying(saved(), pace=0.01)

    def stop_once(event: Event) -> None:
        if isinstance(event, moment) and (not isinstance(event, StepStarted) or event.index == 0):
            stop(running)

    run, events = await finished(running, stop_once)
    assert (run.status, [step.status for step in run.steps]) == ("stopped", statuses)
    cut_short = [step.ops < whole.ops for step, whole in zip(run.steps, STEPS, strict=False)]
    assert cut_short == [status == "stopped" for status in statuses]
    assert sum(isinstance(event, FindingsChanged) for event in events) == 1 + len(statuses)
    assert run.verdict == "cannot-tell" or len(statuses) == 3


async def test_a_failing_disk_ends_the_run_and_a_full_one_the_step() -> None:
    full = recorded(DIRECT, 100, 10_000, 0, Failure(call="pwrite", errno=28, message="No space left on device"))
    broken = recorded(FDATASYNC, 50, 1_000_000, 50, Failure(call="fdatasync", errno=5, message="Input/output error"))
    run, _ = await finished(replaying(saved(full, broken, STEPS[2])))
    assert run.status == "failed"
    assert [(step.name, step.status, step.ops) for step in run.steps] == [
        ("O_DIRECT", "failed", 100),
        ("fdatasync", "failed", 50),
    ]
    assert run.steps[1].error == Failure(call="fdatasync", errno=5, message="Input/output error")
    assert "sync-error" in {finding.rule for finding in run.findings}


async def test_a_filesystem_without_mappings_skips_only_the_step() -> None:
    """mmap(2): ENODEV, for example FUSE with direct_io. The device is not gone."""
    refused = recorded(FDATASYNC, 0, 1, 0, Failure(call="mmap", errno=errno.ENODEV, message="No such device"))
    run, _ = await finished(replaying(saved(refused, STEPS[2])))
    assert [step.status for step in run.steps] == ["skipped", "finished"]
    assert run.steps[0].reason == stepping.NO_MAPPING


@pytest.mark.parametrize("number", [errno.ETIMEDOUT, errno.EROFS, errno.ENODEV])
async def test_storage_that_is_too_slow_or_gone_ends_the_run(number: int) -> None:
    failed = recorded(FDATASYNC, 0, 1, 0, Failure(call="pwrite", errno=number, message=""))
    running = replaying(saved(failed, STEPS[1]))

    def expire(event: Event) -> None:
        if isinstance(event, StepFinished):
            running.stop_at_limit(20.0)

    run, _ = await finished(running, expire)
    assert ([step.status for step in run.steps], run.time_limit_s) == (["failed"], None)


async def test_a_probe_that_cannot_start_fails_only_its_step() -> None:
    before, machine = saved(), ReplayMachine(saved(*STEPS[1:]), pace=0.0)
    run, _ = await finished(RunInProgress(plan_of(before), site_of(before), machine))
    assert [step.status for step in run.steps] == ["failed", "finished", "finished"]
    assert run.steps[0].error and run.steps[0].error.call == "start the probe"


class WithoutFiles(ReplayMachine):
    """No probe can be started, because too many files are open."""

    async def start(self, probe: ProbeRequest) -> ReplayProbe:
        raise NotStarted("measure.probes.sync_writes", OSError(errno.EMFILE, "Too many open files"))


async def test_probe_that_cannot_start_is_named() -> None:
    before = saved(STEPS[1])
    run, _ = await finished(RunInProgress(plan_of(before), site_of(before), WithoutFiles(before, pace=0.0)))
    assert run.steps[0].error and run.steps[0].error.text == (
        "start the probe: cannot start a helper process (fstui.measure.probes.sync_writes): too many files are open. "
        "See 'ulimit -n'"
    )


async def test_a_run_without_a_target_cannot_be_replayed() -> None:
    with pytest.raises(Refused, match="has no target"):
        ReplayMachine(Run(id="k3f9a1", started_at="2026-11-20T03:12:44+01:00"))


async def test_snapshots_use_the_clock_of_the_machine() -> None:
    running = replaying(saved(recorded(FDATASYNC, 900, 1_000_000, 900)), pace=1.0)
    _, events = await finished(running)
    snapshots = [event.snapshot for event in events if isinstance(event, StepProgressed)]
    assert snapshots
    assert all(0 <= snapshot.elapsed_s < 2 and snapshot.ops <= 900 for snapshot in snapshots)


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[RunInProgress]:
    """Return a real run of two short steps, in a directory that is empty before and after."""
    place = tmp_path / "target"
    place.mkdir()
    session, scenario = Session.local(), headless.scenario_file(tmp_path, "first", "second")
    site, plan = await session.plan_by_name(str(scenario), str(place), {"seconds": "0.05"})
    assert list(place.iterdir()) == []
    yield session.start(plan, site)
    assert list(place.iterdir()) == []
    assert ledger.entries() == []


async def test_a_real_run_is_saved_after_every_step(here: RunInProgress) -> None:
    seen: list[int] = []

    def look(event: Event) -> None:
        if isinstance(event, StepStarted) and event.index:
            seen.append(len(saved_runs.load(here.id).steps))

    run, events = await finished(here, look)
    assert seen == [1]
    assert run.status == "finished" and run.simulated is None
    assert isinstance(events[-1], RunFinished)
    assert encode(saved_runs.load(here.id)) == encode(run)
    assert events[-1].saved_to == str(next(paths.runs_dir().iterdir()))
    assert all(step.syncs == step.ops > 0 and step.prepare_s > 0 for step in run.steps)
    assert run.written_bytes == sum(step.bytes for step in run.steps) + (2 << 20)


async def test_a_caller_that_leaves_early_leaves_nothing_behind(here: RunInProgress) -> None:
    events = here.events()
    async for event in events:
        if isinstance(event, StepStarted):
            break
    await events.aclose()  # type: ignore[attr-defined]


async def test_after_a_save_error_saving_is_tried_once_more_at_the_end() -> None:
    saved_steps: list[int] = []

    class Homeless(ReplayMachine):
        async def save(self, run: Run) -> SaveResult:
            saved_steps.append(len(run.steps))
            return SaveResult(error="the disk of the home gave no answer")

    before = saved()
    run, events = await finished(RunInProgress(plan_of(before), site_of(before), Homeless(before, 0.0)))
    assert saved_steps == [1, len(run.steps)] and len(run.steps) > 2
    assert isinstance(events[-1], RunFinished) and events[-1].save_error


def progressed(ops: int) -> StepProgressed:
    return StepProgressed(
        snapshot=Snapshot(index=0, name="", elapsed_s=0, length_s=None, ops=ops, syncs=0, bytes=0, rate_per_s=0)
    )


async def test_a_slow_reader_gets_only_the_newest_snapshot() -> None:
    mailbox = Mailbox()
    started = StepStarted(index=0, name="")
    prepared = [StepPreparing(index=0, name="", done=done, total=2) for done in (1, 2)]
    for event in (*prepared, started, progressed(1), progressed(2), progressed(3), started, progressed(4)):
        mailbox.put(event)
    assert [await mailbox.get() for _ in range(5)] == [prepared[1], started, progressed(3), started, progressed(4)]


async def test_a_fast_reader_gets_every_snapshot() -> None:
    mailbox = Mailbox()
    for ops in (1, 2, 3):
        mailbox.put(progressed(ops))
        assert await mailbox.get() == progressed(ops)


async def test_the_wait_for_a_server_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_REPORT_INTERVAL_S", 0.001)
    waits: list[float] = []
    enough = asyncio.Event()

    async def work() -> str:
        await enough.wait()
        return "started"

    def tell(waited_s: float) -> None:
        waits.append(waited_s)
        if len(waits) == 3:
            enough.set()

    assert await with_progress(work(), tell) == "started"
    assert waits[0] == 0.0 and waits == sorted(waits)


async def test_cancelling_the_wait_ends_the_work() -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    task = asyncio.ensure_future(with_progress(work(), lambda waited_s: None))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    assert ended.is_set()


def test_a_server_on_a_slow_disk_gets_more_time() -> None:
    slow = replace(SYNCED, latency_ns=replace(LATENCY, mean=100_000_000))
    assert slowest_sync_s([SYNCED, slow, UNSYNCED]) == 0.1
    assert start_limit_s(slowest_sync_s([slow])) > START_TIMEOUT_S + 752 * 0.1
    assert start_limit_s(slowest_sync_s([])) == START_TIMEOUT_S
