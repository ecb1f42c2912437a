"""Syncs that never reach the kernel's filesystems."""

import pytest

from fstui.model.host import Process
from fstui.model.storage import Reading
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import readings

EATMYDATA = Reading(what="preload", value="/usr/lib/libeatmydata.so", path="/proc/self/maps")


@pytest.mark.parametrize(
    "process",
    [
        Process(pipe_fsync_fails=False),
        Process(dsync_flag_kept=False),
        Process(preloads=(EATMYDATA,)),
    ],
)
def test_each_sign_is_enough(process: Process) -> None:
    judgement = verdict(process=process)
    found = finding(judgement, "sync-stubbed")
    assert (found.verdict, found.confidence, found.scope) == ("not-durable", "high", "process")
    assert judgement.verdict == "not-durable"
    assert "The disk was not judged" in judgement.sentence
    assert found.evidence


def test_another_stubbed_process_leaves_the_measurement_valid() -> None:
    stub = Process(pid=812, name="mysqld", preloads=readings(sync_stub="/usr/lib/libeatmydata.so"))
    judgement = verdict(None, step(), cgroup_process=stub)
    assert judgement.verdict == "not-durable"
    assert {"sync-stubbed", "flushes-arrive"} <= rules(judgement)


def test_stubbed_process_says_nothing_about_the_disk() -> None:
    unsynced = step(flushes=0, share=0)
    judgement = verdict(None, unsynced, process=Process(pipe_fsync_fails=False))
    assert rules(judgement) == {"sync-stubbed"}
