"""Commits of a database as syncs."""

from typing import Any

from msgspec.structs import replace

from fstui.judge import Case
from fstui.judge.facts.commits import CommitStep, DatabaseCommits
from fstui.model.settings import CommitSettings
from fstui.model.steps import Step
from tests.factories.evidence import evidence
from tests.factories.steps import step, traced
from tests.factories.storage import disk, filesystem, on_disk
from tests.judge.rules.database.test_commits_without_flushes import commits


def database(*steps: Step) -> DatabaseCommits:
    return Case(evidence(on_disk(filesystem(), disk()), *steps)).commits


def test_commit_is_one_sync_of_a_growing_log() -> None:
    as_syncs = CommitStep(commits(), CommitSettings(database="x")).as_syncs
    assert (as_syncs.sync_method, as_syncs.syncs, as_syncs.sync and as_syncs.sync.overwrites) == (
        "fdatasync",
        5000,
        False,
    )
    by_flag = CommitStep(commits(), CommitSettings(database="x", log_flags=("direct", "dsync"))).as_syncs
    assert (by_flag.sync_method, by_flag.writes_fua, by_flag.syncs) == ("O_DSYNC", True, 5000)


def lacking_by_trace(*steps: Step, top: str = "ext4", **changes: Any) -> list[bool]:
    """Return whether commits lack flushes if the trace saw none and the disk counts none."""
    unseen = replace(commits(None, **changes), trace=(traced(us=0),))
    where = on_disk(filesystem(top), disk(counted=False))
    return [each.lacks_flushes for each in Case(evidence(where, *steps, unseen)).commits.counted]


def test_trace_needs_a_sync_that_arrived_or_a_library() -> None:
    blind: dict[str, Any] = {"flushes": None, "share": None}
    seen, dropped = (step(**blind, changes={"trace": (traced(us=us),)}) for us in (2000, 0))
    assert lacking_by_trace(seen) == [True]
    assert lacking_by_trace() == lacking_by_trace(dropped) == lacking_by_trace(step(**blind)) == []
    assert lacking_by_trace(preloads=["/usr/lib/libeatmydata.so"]) == [True]


def test_trace_shows_nothing_without_a_maximum() -> None:
    assert lacking_by_trace(preloads=["/usr/lib/libeatmydata.so"], top="f2fs") == []


def test_counters_or_trace_whichever_misses_flushes() -> None:
    own = step(changes={"trace": (traced(us=2000),)})
    unseen, uncounted = (replace(commits(flushes), trace=(traced(us=us),)) for flushes, us in ((1.0, 0), (0.5, 5000)))
    for lacking, by_trace in ((unseen, True), (uncounted, False)):
        (found,) = database(own, lacking).counted
        assert (found.lacks_flushes, found.arrival.trace is not None) == (True, by_trace)
