"""Commits of SQLite as a probe."""

from pathlib import Path

import pytest

from fstui.measure.kinds.sqlite_commits import SqliteCommits
from fstui.model.events import Event, StepStarted
from tests.measure.probes.driving import measure_step


@pytest.mark.root
@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
def test_database_stays_in_its_directory_if_that_is_replaced(tmp_path: Path, journal: str) -> None:
    run, precious = tmp_path / "run", tmp_path / "precious"
    run.mkdir()
    precious.mkdir()

    def swap(event: Event) -> None:
        if isinstance(event, StepStarted):
            run.rename(tmp_path / "moved")
            run.symlink_to("precious")
            precious.chmod(0o500)

    settings = SqliteCommits(seconds=0.1, rows=100, journal_mode=journal)  # type: ignore[arg-type]
    step = measure_step(run, settings, swap, facts=True)
    assert (step.status, step.error) == ("finished", None)
    assert step.ops > 0
    assert [list(path.iterdir()) for path in (precious, tmp_path / "moved")] == [[], []]
