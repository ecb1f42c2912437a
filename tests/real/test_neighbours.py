from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.bench import exactness
from tests.real import disks, headless
from tests.real.neighbours import neighbours


def test_noisy_neighbour_without_trace_gives_cannot_tell(workshop: Path) -> None:
    with disks.on_loop(workshop) as storage, neighbours(storage.directory, 1):
        run = headless.measure(headless.scenario_file(workshop), storage, "--trace", "off")
        assert storage.device
        assert headless.flushes_per_sync(run, storage.device) >= 1.1
        assert headless.rules_against(run) == set()
        assert run.verdict == "cannot-tell", run.sentence
        assert {"flushes-arrive", "other-writers"} <= {finding.rule for finding in run.findings}
        assert run.idle and any("python" in writer.name for writer in run.idle.writers)
        assert headless.judge_again(run) == run


@pytest.mark.parametrize("name", ["ext4 on a partition", "ext4 barrier=0", "a filter that swallows fdatasync"])
def test_trace_separates_own_flushes_from_four_neighbours(workshop: Path, name: str) -> None:
    case = exactness.cases()[name]
    run = exactness.measured(case, str(workshop))
    assert exactness.ours_per_sync(run) == case.honest, run.sentence
    assert exactness.as_it_must_be(run, case), run.sentence
    assert exactness.as_it_must_be(exactness.judged_blind(run), case)


def test_busy_neighbour_does_not_hide_missing_flushes(workshop: Path) -> None:
    """An ext4 without barriers on a buffered loop device, next to a file that is synced on the disk below."""
    with disks.on_loop(workshop, options="barrier=0", direct_io=False) as storage, neighbours(workshop, 1):
        run = headless.measure("check", storage)
        assert run.verdict == "not-durable", run.sentence
        assert headless.rules_against(run) == {"barriers-off"}


def test_slow_durable_disk_is_only_slow(workshop: Path) -> None:
    with disks.on_loop(workshop) as storage:
        assert storage.device
        with disks.write_limit(storage.device, per_s=100) as within:
            run = headless.measure(headless.scenario_file(workshop), storage, within=within)
        assert headless.step_named(run, "fdatasync").rate_per_s < 100, "the limit does not bite"
        assert 0.9 <= headless.flushes_per_sync(run, storage.device) <= 1.3, "the journal adds a few to 50 syncs"
        assert headless.step_named(run, "fdatasync").ops >= 50, "a slow step goes on to 50 operations"
        assert headless.rules_against(run) == set()
        assert run.verdict == "consistent", run.sentence


def test_two_runs_at_once_do_not_disturb_each_other(workshop: Path) -> None:
    with disks.on_loop(workshop) as storage, ExitStack() as both:
        words = (headless.scenario_file(workshop, "first", "second"), storage.directory, "--set", "seconds=3")
        first, second = (both.enter_context(headless.started_run(*words)) for _ in range(2))
        assert len(list(storage.directory.glob(".fstui-*"))) == 2
        runs = [headless.finish(process) for process in (first, second)]
        (said,) = (line for line in runs[1][2].splitlines() if "fstui is already running there" in line)
        assert f"{storage.directory}/.fstui-{runs[0][1].id}, process {first.pid}" in said
        assert [code for code, _, _ in runs] == [0, 0]
        for _, run, _ in runs:
            assert {step.status for step in run.steps} <= {"finished", "disturbed"}
            assert headless.rules_against(run) == set()
        assert list(storage.directory.glob(".fstui-*")) == []
