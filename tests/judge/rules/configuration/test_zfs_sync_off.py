"""ZFS datasets that answer syncs at once."""

from __future__ import annotations

from typing import Any

import pytest

from fstui.model.counters import DeviceCounters
from fstui.model.host import Process
from fstui.model.steps import Step
from fstui.model.storage import Node, Target
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import disk, filesystem, readings, target


def pool(*below: str) -> Node:
    return Node(id="pool:tank", layer="pool", kind="zpool", name="tank", below=below or ("sda",))


def dataset(device: Node | None = None, **values: str) -> Target:
    top = filesystem("zfs", "/tank", below=("pool:tank",), **values)
    return target(top, pool(), device or disk())


def committed(commits: int | None, **changes: Any) -> Step:
    counters = (DeviceCounters(device="mount:/tank", commits=commits),)
    return step(changes={"counters": counters}, **changes)


def test_sync_disabled_is_known_before_a_byte_is_written() -> None:
    judgement = verdict(dataset(sync="disabled"))
    found = finding(judgement, "zfs-sync-off")
    assert (judgement.verdict, found.confidence, found.steps) == ("not-durable", "high", ())
    assert found.because == ("mount:/tank sync: disabled (/read/sync)",)


def test_a_log_that_then_stays_flat_is_not_told_again() -> None:
    assert finding(verdict(dataset(sync="disabled"), committed(0)), "zfs-sync-off").title == "sync=disabled"


@pytest.mark.parametrize(("value", "lies"), [("disabled", True), ("standard", False)])
def test_a_volume_beneath_another_filesystem_answers_its_flushes_alike(value: str, lies: bool) -> None:
    read = readings(volume="tank/data", sync=value)
    volume = Node(id="zd0", layer="block", kind="zvol", name="tank/data", lowest=True, readings=read)
    judgement = verdict(target(filesystem(below=("zd0",)), volume))
    assert (judgement.verdict == "not-durable") is lies
    assert ("The volume tank/data answers every sync at once" in judgement.sentence) is lies


@pytest.mark.parametrize("value", ["standard", "always"])
def test_the_other_settings_are_honest(value: str) -> None:
    assert "zfs-sync-off" not in rules(verdict(dataset(sync=value), committed(2000)))


def test_another_filesystems_sync_option_is_none_of_its() -> None:
    other = target(filesystem("ext4", sync="disabled"), disk())
    assert "zfs-sync-off" not in rules(verdict(other))


@pytest.mark.parametrize(("commits", "hit"), [(0, True), (100, True), (101, False), (2000, False), (None, False)])
def test_an_intent_log_that_stays_flat_over_2000_syncs(commits: int | None, hit: bool) -> None:
    judgement = verdict(dataset(sync="standard"), committed(commits))
    assert ("zfs-sync-off" in rules(judgement)) is hit
    if hit:
        assert judgement.verdict == "not-durable"
        assert finding(judgement, "zfs-sync-off").steps == ("fdatasync",)


def test_writes_without_a_sync_commit_nothing_and_need_not() -> None:
    judgement = verdict(dataset(), committed(0, sync="none"))
    assert "zfs-sync-off" not in rules(judgement)


def test_a_stubbed_process_never_asked_for_a_commit() -> None:
    judgement = verdict(dataset(), committed(0), process=Process(pipe_fsync_fails=False))
    assert "sync-stubbed" in rules(judgement)
    assert "zfs-sync-off" not in rules(judgement)


def test_an_overlay_that_swallows_the_syncs_is_named_instead() -> None:
    overlay = filesystem("overlay", "/merged", below=("mount:/tank",), volatile="volatile")
    stack = target(overlay, filesystem("zfs", "/tank", below=("pool:tank",)), pool(), disk())
    judgement = verdict(stack, committed(0))
    assert "overlay-volatile" in rules(judgement)
    assert "zfs-sync-off" not in rules(judgement)
