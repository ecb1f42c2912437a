import pytest

from fstui.measure.kinds.powercut import PowerCutFigures
from fstui.model.errors import Refused
from fstui.model.events import RunFinished, StepProgressed
from fstui.model.run import Run
from fstui.runs import history, simulation
from fstui.runs.session import Session

FAST = {"seconds": "0.3", "flush_seconds": "0.3"}


def session(disk: str, pace: float = 0.0) -> tuple[Session, str]:
    made = simulation.find(disk)
    return simulation.session(made, pace), simulation.mount_point(made)


async def run(disk: str, scenario: str = "odirect-truth", *, pull: bool = False, **settings: str) -> Run:
    """Return a whole run, as fast as possible; ``pull``: in real time until the power is cut in the first step."""
    here, place = session(disk, pace=float(pull))
    site, plan = await here.plan_by_name(scenario, place, settings or FAST)
    running = here.start(plan, site)
    async for event in running.events():
        if isinstance(event, RunFinished):
            assert (event.saved_to, event.save_error) == (None, None)
            return event.run
        if pull and isinstance(event, StepProgressed) and event.snapshot.ops > 50:
            running.pull_plug()
    raise AssertionError("a run ends with RunFinished")


@pytest.mark.parametrize(
    ("disk", "verdict", "rule"),
    [
        ("hdd-7200", "consistent", "same-block-rotation"),
        ("hdd-7200-lying", "suspicious", "same-block-rotation"),
        ("hdd-7200-nobarrier", "not-durable", "barriers-off"),
        ("hdd-7200-eatmydata", "not-durable", "sync-stubbed"),
        ("ssd-consumer", "consistent", "flushes-arrive"),
        ("ssd-plp", "plausible", "protected-cache"),
        ("usb-hdd-zfs-disabled", "not-durable", "zfs-sync-off"),
        ("virtualbox-2011", "suspicious", "odirect-no-cache"),
    ],
)
async def test_the_judge_finds_defects_of_simulated_disks(disk: str, verdict: str, rule: str) -> None:
    judged = await run(disk)
    assert (judged.verdict, judged.status) == (verdict, "finished")
    assert rule in {finding.rule for finding in judged.findings}


async def test_libeatmydata_also_ignores_o_dsync() -> None:
    judged = await run("hdd-7200-eatmydata")
    assert not any(device.flushes for step in judged.steps for device in step.counters)


async def test_a_simulated_run_is_marked_and_not_saved() -> None:
    judged = await run("hdd-7200", "check", seconds="0.3")
    assert judged.simulated == "hdd-7200" and judged.target and judged.target.path == "/simulated/hdd-7200"
    assert await history.summaries() == [] and judged.earlier_runs == ()
    here, place = session("hdd-7200,disk.platter.rpm=5400")
    _, plan = await here.plan_by_name("check", place)
    assert plan.command == "fstui run check --simulate hdd-7200,disk.platter.rpm=5400"
    with pytest.raises(Refused, match="not on the simulated disk"):
        await here.look_up("/tmp")


@pytest.mark.parametrize(("disk", "verdict"), [("hdd-7200", "kept"), ("hdd-7200-lying", "lost"), ("ssd-plp", "kept")])
async def test_the_power_of_a_simulated_disk_can_be_cut(disk: str, verdict: str) -> None:
    judged = await run(disk, "fsync-rate", pull=True, seconds="30")
    assert (judged.verdict, judged.status) == (verdict, "stopped")
    figures = judged.steps[-1].figures
    assert isinstance(figures, PowerCutFigures) and (figures.lost > 0) == (verdict == "lost")
    (finding,) = (finding for finding in judged.findings if finding.rule == "power-cut")
    assert "the power of the simulated disk was cut" in " ".join(finding.evidence)


async def test_without_an_acknowledged_sync_nothing_can_be_lost() -> None:
    here, place = session("hdd-7200")
    site, plan = await here.plan_by_name("fsync-rate", place)
    with pytest.raises(Refused, match="nothing can be lost"):
        here.start(plan, site).pull_plug()


async def test_a_real_disk_has_no_power_to_cut() -> None:
    from fstui.runs.machine.local import LocalMachine  # noqa: PLC0415

    with pytest.raises(Refused, match="fstui powercut"):
        LocalMachine().pull_plug()


async def test_a_simulated_host_runs_no_other_programs() -> None:
    judged = await run("ssd-plp", "fileio-classic", seconds="1")
    assert [step.status for step in judged.steps if step.settings.program] == ["skipped", "skipped"]
