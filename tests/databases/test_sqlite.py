"""Commits of SQLite on a disk with counters."""

from pathlib import Path

from fstui.measure.kinds.sqlite_commits import SqliteCommits
from tests.databases.servers import left_in
from tests.real import disks, headless


def test_only_durable_commits_reach_the_disk(workshop: Path) -> None:
    with disks.on_loop(workshop) as storage:
        run = headless.measure("sqlite-commit", storage, "--set", "journal=DELETE,TRUNCATE,WAL")
        assert storage.device
        per_commit = {
            step.name: flushes.flushes / step.ops
            for step in run.steps
            if (flushes := step.device(storage.device)) and flushes.flushes is not None
        }
        for name in ("WAL FULL", "WAL EXTRA"):  # two while its log grows, one once it is used again
            assert 0.95 <= per_commit[name] <= 2.2
        assert per_commit["DELETE EXTRA"] > per_commit["DELETE FULL"] >= 2
        for name in ("DELETE OFF", "WAL OFF", "WAL NORMAL"):
            assert per_commit[name] < 0.1
        assert left_in(storage.directory) == []
    syncs = {step.name: step.syncs for step in run.steps if isinstance(step.settings, SqliteCommits)}
    assert syncs["TRUNCATE OFF"] == syncs["TRUNCATE NORMAL"] == 0 < syncs["TRUNCATE EXTRA"]
    assert syncs["TRUNCATE FULL"] == headless.step_named(run, "TRUNCATE FULL").ops > 0
    assert headless.rules_against(run) == set()
    (found,) = (finding for finding in run.findings if finding.rule == "commits-without-flushes")
    assert found.scope == "step" and "DELETE OFF" in found.title
    assert {"WAL OFF", "WAL NORMAL"} <= set(found.steps)
    assert headless.judge_again(run).findings == run.findings


def test_filesystem_without_barriers_is_reported(workshop: Path) -> None:
    with disks.on_loop(workshop, options="barrier=0") as storage:
        run = headless.measure("sqlite-commit", storage, "--set", "journal=WAL", "--set", "synchronous=FULL")
        assert run.verdict == "not-durable"
        assert "barriers-off" in headless.rules_against(run)


def test_stop_keeps_the_measurement_and_removes_the_database(workshop: Path) -> None:
    with disks.on_loop(workshop) as storage:
        words = ("sqlite-commit", storage.directory, "--set", "seconds=30", "--set", "journal=WAL")
        with headless.started_run(*words, step=1) as process:
            process.terminate()
            code, run, _ = headless.finish(process)
        assert code == 143 and run.status == "stopped"
        assert [step.status for step in run.steps] == ["finished", "stopped"]
        assert left_in(storage.directory) == []
