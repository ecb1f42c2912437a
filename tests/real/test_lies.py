import json
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.factories import dropping
from tests.real import disks, headless, without_calls
from tests.real.disks import Storage
from tests.real.processes import eventually

Make = Callable[[Path], AbstractContextManager[Storage]]

CONFIGURED: dict[str, tuple[Make, str]] = {
    "tmpfs": (disks.tmpfs, "in-memory"),
    "a loop in tmpfs": (disks.loop_in_tmpfs, "in-memory"),
    "zram": (disks.zram, "in-memory"),
    "ext4 barrier=0": (partial(disks.on_loop, options="barrier=0"), "barriers-off"),
    "btrfs nobarrier": (partial(disks.on_loop, fstype="btrfs", options="nobarrier"), "barriers-off"),
    "overlay volatile": (partial(disks.overlay, options=",volatile"), "overlay-volatile"),
    "write through set by hand": (disks.write_through, "write-through-override"),
}
ARRIVING = {"a loop in tmpfs"}
"""Flushes arrive at the loop device, but the storage below it forgets."""


@pytest.mark.parametrize("name", CONFIGURED)
def test_configuration_shows_the_lie(workshop: Path, name: str) -> None:
    make, rule = CONFIGURED[name]
    with make(workshop) as storage:
        assert flags(storage) == [rule]
        run = headless.measure("check", storage)
        assert (run.verdict, run.confidence) == ("not-durable", "high"), run.sentence
        assert rule in headless.rules(run, "not-durable")
        assert headless.rules_against(run) == {rule}
        if storage.device and name not in ARRIVING and not storage.device.startswith("zram"):
            assert headless.flushes_per_sync(run, storage.device) < 0.05
        assert headless.judge_again(run) == run


def flags(storage: Storage, **how: Any) -> list[str]:
    """Return the rules by which ``fstui list`` reports this filesystem as not durable, before anything is written."""
    listed = headless.call("list", "--format", "json", **how)
    assert listed.returncode == 0, listed.stderr
    (found,) = (row for row in json.loads(listed.stdout)["filesystems"] if row["mount_point"] == str(storage.directory))
    return [finding["rule"] for finding in found["findings"] if finding["verdict"] == "not-durable"]


def test_libeatmydata_is_found_and_the_disk_is_not_judged(workshop: Path) -> None:
    preloaded = {**os.environ, "LD_PRELOAD": disks.eatmydata()}
    with disks.on_loop(workshop) as storage:
        assert flags(storage, environment=preloaded) == ["sync-stubbed"]
        run = headless.measure("check", storage, environment=preloaded)
        assert storage.device
        assert (run.verdict, run.confidence) == ("not-durable", "high"), run.sentence
        assert headless.rules_against(run) == {"sync-stubbed"}
        (finding,) = (finding for finding in run.findings if finding.rule == "sync-stubbed")
        assert finding.scope == "process"
        assert any("libeatmydata" in line for line in finding.evidence)
        assert run.process.pipe_fsync_fails is False and run.process.dsync_flag_kept is False
        assert headless.flushes_per_sync(run, storage.device) < 0.05
        assert headless.judge_again(run) == run


@pytest.mark.parametrize("way", dropping.DROPPING)
def test_library_that_skips_syncs_is_found(workshop: Path, tmp_path: Path, way: str) -> None:
    scenario = headless.scenario_file(tmp_path, "fdatasync", more='sync = "fdatasync"')
    with disks.on_loop(workshop) as storage:
        run = headless.measure(scenario, storage, environment=dropping.environment(tmp_path, way))
    assert run.verdict == "not-durable", run.sentence
    assert headless.rules_against(run) <= {"sync-stubbed", "flushes-missing"}


@pytest.mark.parametrize("way", dropping.NOT_DROPPING)
def test_library_that_adds_syncs_is_not_reported(workshop: Path, tmp_path: Path, way: str) -> None:
    with disks.on_loop(workshop) as storage:
        run = headless.measure("check", storage, environment=dropping.environment(tmp_path, way))
    assert headless.rules_against(run) == set(), run.sentence


def swallowing(calls: str) -> tuple[str, ...]:
    """Return the words that start a command whose system calls succeed without doing anything."""
    if os.uname().machine not in without_calls.NUMBERS:
        pytest.skip(f"the numbers of the sync calls on {os.uname().machine} are not known to the test's seccomp filter")
    return sys.executable, without_calls.__file__, calls


@pytest.mark.parametrize("calls", ["fsync,fdatasync", "fdatasync"])
def test_seccomp_filter_that_swallows_syncs_is_found(workshop: Path, calls: str) -> None:
    with disks.on_loop(workshop) as storage:
        run = headless.measure("fsync-rate", storage, within=swallowing(calls))
        assert storage.device
        assert headless.flushes_per_sync(run, storage.device) < 0.05
        assert (headless.flushes_per_sync(run, storage.device, "fsync") >= 0.9) is ("fsync" not in calls.split(","))
        assert (run.verdict, run.confidence) == ("not-durable", "high"), run.sentence
        assert headless.rules_against(run) == {"sync-stubbed"}
        assert headless.judge_again(run) == run


def test_hidden_memory_is_not_reported_as_durable(workshop: Path, tmp_path: Path) -> None:
    with disks.overlay_on_hidden_memory(workshop) as storage:
        run = headless.measure(headless.scenario_file(tmp_path), storage)
        assert run.target and [node.kind for node in run.target.stack] == ["overlay"]
        assert (run.verdict, headless.rules_against(run)) == ("cannot-tell", set()), run.sentence


def counted(storage: Storage) -> int:
    """Return the number of writes at the device so far, including flushes."""
    return int(Path(f"/sys/block/{storage.device}/stat").read_text().split()[4])


def wait_for_writes(storage: Storage, more: int) -> None:
    enough = counted(storage) + more
    assert eventually(lambda: counted(storage) >= enough)


def test_flushes_dropped_for_a_while_are_found(workshop: Path, tmp_path: Path) -> None:
    """An fsync needs one flush or two, so the whole step may have enough. A remount in another mount namespace is not
    noticed."""
    scenario = headless.scenario_file(tmp_path, "fsync", more='sync = "fsync"')
    with (
        disks.on_loop(workshop) as storage,
        headless.started_run(scenario, storage.directory, "--set", "seconds=2") as run,
    ):
        for barriers, writes in (("barrier=0", 60), ("barrier=1", 300)):
            wait_for_writes(storage, writes)
            disks.sh("unshare", "--mount", "mount", "-o", f"remount,{barriers}", storage.directory)
        status, document, _ = headless.finish(run)
    assert status in (0, 1) and document.steps[0].status == "finished", document.steps[0].changed
    assert headless.rules_against(document) == {"flushes-missing"}
    assert "for a time" in document.sentence


def test_no_file_is_left_on_lying_storage(workshop: Path) -> None:
    with disks.tmpfs(workshop) as storage:
        headless.measure("odirect-truth", storage)
        assert list(storage.directory.iterdir()) == []
        assert shutil.disk_usage(storage.directory).used == 0
