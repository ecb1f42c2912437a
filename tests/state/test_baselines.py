from typing import Any

import pytest
from msgspec.structs import replace

from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.host import Host, Process
from fstui.model.rate_limit import RateLimit
from fstui.model.run import EarlierRun, Run, ScenarioRef
from fstui.model.steps import Step
from fstui.model.storage import Reading, Target
from fstui.state import files, paths
from fstui.state.runs import MAX_BASELINES, earlier_runs
from tests.factories import saved_runs
from tests.factories.steps import latency

HERE = Target(path="/srv/x", mount_point="/srv", fstype="ext4", source="/dev/sda1", identity="aa")
NEW_RUN = Run(
    id="now",
    started_at="2026-11-21T03:12:00+01:00",
    host=Host(hostname="db7"),
    target=HERE,
    scenario=ScenarioRef(name="check", title="Quick check", settings={"seconds": 1.4, "syncs": [1, 2]}),
)


def saved(at: int, **changes: Any) -> Run:
    step = Step(name="fdatasync", settings=SyncWrites(), latency_ns=latency(1_000_000 + at))
    run = replace(NEW_RUN, id=f"{at:06x}", started_at=f"2026-11-20T03:12:{at:02d}+01:00", steps=(step,))
    run = replace(run, **changes)
    saved_runs.save(run)
    return run


def test_the_same_scenario_on_the_same_storage_newest_first() -> None:
    for at in (1, 2):
        saved(at)
    assert earlier_runs(NEW_RUN) == tuple(
        EarlierRun(
            run=f"{at:06x}", started_at=f"2026-11-20T03:12:{at:02d}+01:00", mean_ns={"fdatasync": 1_000_000 + at}
        )
        for at in (2, 1)
    )


LIMIT = Reading(what="8:0 wiops", value="100", path="/sys/fs/cgroup/io.max")


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "stopped"},
        {"simulated": "a disk"},
        {"host": Host(hostname="db8")},
        {"target": replace(HERE, identity="bb")},
        {"target": replace(HERE, mount_point="/srv2")},
        {"target": None},
        {"scenario": replace(NEW_RUN.scenario, settings={"seconds": 1.0})},  # type: ignore[type-var]
        {"scenario": None},
        {"cgroup_process": Process(pid=7)},
        {"rate_limit": RateLimit(bytes_per_s=1 << 20)},
        {"process": Process(io_limits=(LIMIT,))},
        {"digest": "sha256:of another document"},
    ],
    ids=" ".join,
)
def test_a_run_that_differs_is_not_compared(changes: dict[str, Any]) -> None:
    saved(1, **changes)
    assert earlier_runs(NEW_RUN) == ()


def test_a_cgroup_or_no_identity_rules_out_comparison() -> None:
    saved(1)
    assert earlier_runs(replace(NEW_RUN, cgroup_process=Process(pid=7))) == ()
    assert earlier_runs(replace(NEW_RUN, target=replace(HERE, identity=""))) == ()


def test_only_the_newest_are_compared_and_broken_files_ignored() -> None:
    for at in range(MAX_BASELINES + 5):
        saved(at)
    files.create_private_directory(paths.runs_dir())
    (paths.runs_dir() / "20261120-031259-broken.json").write_text("{")
    assert [one.run for one in earlier_runs(NEW_RUN)] == [f"{at:06x}" for at in range(MAX_BASELINES + 4, 4, -1)]


def test_a_step_that_waited_for_a_cpu_is_not_compared() -> None:
    step = Step(name="fdatasync", settings=SyncWrites(), latency_ns=latency(9), elapsed_s=1.0)
    for at, waited_ns in ((1, 90_000_000), (2, 110_000_000)):
        saved(at, steps=(replace(step, cpu_wait_ns=waited_ns),))
    assert [one.run for one in earlier_runs(NEW_RUN)] == ["000001"]
