import signal
from pathlib import Path

import psutil
import pytest

from fstui.state import ledger
from tests.factories import saved_runs
from tests.real import disks, headless, processes


def left_in(directory: Path) -> list[Path]:
    return list(directory.glob(".fstui-*"))


def settled(directory: Path) -> bool:
    """Check that nothing is left, and that the ledger is empty."""
    return not left_in(directory) and ledger.entries() == []


@pytest.mark.parametrize(("step", "number", "code"), [(0, signal.SIGTERM, 143), (1, signal.SIGINT, 130)])
def test_signal_ends_the_step_and_the_run_is_judged_and_saved(
    workshop: Path, step: int, number: signal.Signals, code: int
) -> None:
    seconds = "60" if step == 0 else "0.2"
    with disks.on_loop(workshop) as storage:
        words = ("odirect-truth", storage.directory, "--set", f"seconds={seconds}")
        with headless.started_run(*words, step=step) as process:
            process.send_signal(number)
            exit_code, run, story = headless.finish(process)
        assert settled(storage.directory)
    assert exit_code == code
    assert run.status == "stopped" and run.steps[-1].status == "stopped"
    assert [done.status for done in run.steps[:-1]] == ["finished"] * step
    assert run.verdict == "cannot-tell", "no step that syncs has finished"
    assert saved_runs.load(run.id) == run
    assert headless.judge_again(run) == run
    assert "Traceback" not in story


@pytest.mark.parametrize("moment", ["RunStarted", "StepPreparing", "StepProgressed"])
def test_signal_at_any_other_moment_leaves_nothing(workshop: Path, moment: str) -> None:
    with disks.on_loop(workshop) as storage:
        words = ("odirect-truth", storage.directory, "--set", "seconds=60", "--set", "file=67108864")
        with headless.started_run(*words, event=moment) as process:
            process.terminate()
            exit_code, run, _ = headless.finish(process)
        assert settled(storage.directory)
    assert (exit_code, run.status) == (143, "stopped")
    assert len(run.steps) <= 1 and saved_runs.load(run.id) == run


@pytest.mark.parametrize("moment", ["RunStarted", "StepPreparing", "StepStarted"])
def test_directory_is_removed_after_kill_9_of_fstui(workshop: Path, moment: str) -> None:
    with disks.on_loop(workshop) as storage:
        words = ("odirect-truth", storage.directory, "--set", "seconds=60", "--set", "file=67108864")
        with headless.started_run(*words, event=moment) as process:
            family = processes.descendants(process.pid)
            process.kill()
            process.wait()
            assert processes.eventually(lambda: not left_in(storage.directory))
            assert processes.all_end(family)
        cleaned = headless.call("clean")
        assert cleaned.returncode == 0, cleaned.stderr
        assert settled(storage.directory)


def test_clean_removes_everything_after_kill_9_of_all_processes(workshop: Path) -> None:
    with disks.on_loop(workshop) as storage:
        with headless.started_run("odirect-truth", storage.directory, "--set", "seconds=60") as process:
            (keeper,) = processes.children_running(process.pid, "directory")
            probe = processes.children_running(process.pid, "sync_writes")
            assert len(probe) == 2, "a coordinator and one writer"
            (tracer,) = processes.children_running(process.pid, "reader.flush_counter")
            processes.kill([keeper, tracer, psutil.Process(process.pid), *probe])
            process.wait()
        assert processes.all_end([tracer])
        (instance,) = (entry.what for entry in ledger.stale_entries() if entry.kind == "trace")
        (left,) = left_in(storage.directory)
        assert list(left.iterdir()) and left.stat().st_mode & 0o777 == 0o700
        cleaned = headless.call("clean")
        assert cleaned.returncode == 0, cleaned.stderr
        assert {f"removed {left}", f"removed {instance}"} == set(cleaned.stdout.decode().splitlines())
        assert settled(storage.directory)


def test_clean_ignores_a_running_run(workshop: Path) -> None:
    with disks.on_loop(workshop) as storage:
        with headless.started_run("odirect-truth", storage.directory, "--set", "seconds=60") as process:
            cleaned = headless.call("clean")
            assert (cleaned.returncode, cleaned.stdout) == (0, b"")
            assert len(left_in(storage.directory)) == 1
            process.terminate()
            _, run, _ = headless.finish(process)
        assert run.steps[0].status == "stopped" and run.steps[0].error is None
        assert settled(storage.directory)


@pytest.mark.parametrize("which", ["coordinator", "writer"])
def test_kill_9_of_the_probe_fails_only_its_step(workshop: Path, which: str) -> None:
    with disks.on_loop(workshop) as storage:
        scenario = headless.scenario_file(workshop, "first", "second")
        with headless.started_run(scenario, storage.directory, "--set", "seconds=1.5") as process:
            coordinator, writer = processes.children_running(process.pid, "sync_writes")
            processes.kill([coordinator if which == "coordinator" else writer])
            exit_code, run, _ = headless.finish(process)
        assert settled(storage.directory)
    assert exit_code == 1
    assert run.status == "failed"
    killed, other = run.steps
    assert killed.status == "failed" and killed.error
    assert killed.error.call == "probe" and "signal 9" in killed.error.message
    assert other.status in {"finished", "disturbed"} and other.ops > 0
    assert headless.rules_against(run) == set()
    assert saved_runs.load(run.id) == run


def test_kill_9_of_the_keeper_leaves_nothing_behind(workshop: Path) -> None:
    with disks.on_loop(workshop) as storage:
        scenario = headless.scenario_file(workshop)
        with headless.started_run(scenario, storage.directory) as process:
            processes.kill(processes.children_running(process.pid, "directory"))
            exit_code, run, story = headless.finish(process)
        assert settled(storage.directory), story
    assert (exit_code, run.left_behind) == (0, ())
