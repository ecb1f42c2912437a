"""Commits of a database as syncs."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from fstui.judge import Case
from fstui.judge.facts.commits import CommitStep, DatabaseCommits
from fstui.model.settings import Commits
from fstui.model.steps import Step
from tests.factories.evidence import evidence
from tests.factories.steps import step, traced
from tests.factories.storage import disk, filesystem, on_disk
from tests.judge.rules.database.test_commits_without_flushes import commits, sqlite


def database(*steps: Step) -> DatabaseCommits:
    return Case(evidence(on_disk(filesystem(), disk()), *steps)).commits


def test_a_commit_is_one_sync_of_a_log_that_grows() -> None:
    as_syncs = CommitStep(commits(), Commits(database="x")).as_syncs
    assert (as_syncs.call, as_syncs.syncs, as_syncs.sync and as_syncs.sync.overwrites) == ("fdatasync", 5000, False)
    by_flag = CommitStep(commits(), Commits(database="x", log_flags=("direct", "dsync"))).as_syncs
    assert (by_flag.call, by_flag.forced, by_flag.syncs) == ("O_DSYNC", True, 5000)


@pytest.mark.parametrize(
    "changes", [{"threads": 2}, {"ops": 19}, {"workload": "oltp_read_only"}, {"on_target": False, "where": "existing"}]
)
def test_what_is_not_of_one_client_that_writes_here_is_not_counted(changes: dict[str, Any]) -> None:
    assert database(step(), commits(**changes)).counted == ()
    assert len(database(step(), commits(**changes)).all) == 1


def test_they_are_compared_with_a_sync_of_the_same_kind_that_arrived() -> None:
    (found,) = database(step(), commits(0.5)).counted
    assert (found.expected, found.lacking, round(found.flushes)) == (1, True, 2500)
    assert database(step(), commits(0.5)).comparison(found) == (
        "fdatasync by fstui: 1.00 flushes each, on the same filesystem",
    )
    assert database(commits(0.5)).counted == ()
    assert database(step(flushes=0.0), commits(0.5)).counted == ()


def by_trace(*steps: Step, top: str = "ext4", **changes: Any) -> list[bool]:
    """Whether commits of which the trace saw no flush lack them, on a disk that counts none."""
    unseen = replace(commits(None, **changes), trace=(traced(us=0),))
    where = on_disk(filesystem(top), disk(counted=False))
    return [each.lacking for each in Case(evidence(where, *steps, unseen)).commits.counted]


def test_the_trace_accuses_only_beside_a_sync_that_it_saw_arrive_or_a_library() -> None:
    blind: dict[str, Any] = {"flushes": None, "share": None}
    seen, dropped = (step(**blind, changes={"trace": (traced(us=us),)}) for us in (2000, 0))
    assert by_trace(seen) == [True]
    assert by_trace() == by_trace(dropped) == by_trace(step(**blind)) == []
    assert by_trace(preloads=["/usr/lib/libeatmydata.so"]) == [True]


def test_where_nobody_knows_how_many_are_owed_the_trace_accuses_nobody() -> None:
    assert by_trace(preloads=["/usr/lib/libeatmydata.so"], top="f2fs") == []


def test_of_two_witnesses_the_one_that_misses_some_is_believed() -> None:
    ours = step(changes={"trace": (traced(us=2000),)})
    unseen, uncounted = (replace(commits(flushes), trace=(traced(us=us),)) for flushes, us in ((1.0, 0), (0.5, 5000)))
    for lacking, by_the_trace in ((unseen, True), (uncounted, False)):
        (found,) = database(ours, lacking).counted
        assert (found.lacking, found.traced is not None) == (True, by_the_trace)


def test_steps_without_a_database_are_none() -> None:
    assert database(step()).all == ()
    assert [each.promised.durable for each in database(sqlite(1.0), sqlite(1.0, "OFF")).all] == [True, False]
