import errno
import json
import os
import signal
from pathlib import Path

import pytest

from fstui.model.quantities import duration_ns
from fstui.state import ledger
from tests.factories import saved_runs
from tests.real import disks, headless
from tests.real.hanging import unresponsive_mount

APPEND = 'offsets = "append"\nprefill = "none"\nmax_bytes_per_s = 4194304\nops_per_s = 20'


def take_all_room(file: Path) -> None:
    with file.open("xb") as grabbed:
        piece, end = 64 << 20, 0
        while piece >= 4096:
            try:
                os.posix_fallocate(grabbed.fileno(), end, piece)
                end += piece
            except OSError as full:
                assert full.errno == errno.ENOSPC
                piece //= 2


def test_full_disk_fails_the_step_with_its_call(workshop: Path) -> None:
    scenario = headless.scenario_file(workshop, more=APPEND)
    with disks.on_loop(workshop) as storage:
        with headless.started_run(scenario, storage.directory, "--set", "seconds=20") as process:
            take_all_room(storage.directory / "others")
            exit_code, run, story = headless.finish(process)
        assert list(storage.directory.glob(".fstui-*")) == [] and ledger.entries() == []
    assert exit_code == 1
    (step,) = run.steps
    assert (run.status, step.status) == ("failed", "failed")
    assert step.error and (step.error.call, step.error.errno) == ("pwrite", errno.ENOSPC)
    assert step.ops == step.syncs and headless.rules_against(run) == set()
    assert saved_runs.load(run.id) == run
    assert "No space left on device" in story and "Traceback" not in story


def shrink(device: str, backing: Path) -> None:
    """Remove the medium below the loop device: every access beyond its first sector is an error."""
    os.truncate(backing, 512)
    disks.sh("losetup", "--set-capacity", f"/dev/{device}")


def test_filesystem_without_its_medium_is_flagged(workshop: Path) -> None:
    with disks.on_loop(workshop) as storage:
        os.truncate(workshop / "disk.img", 0)
        disks.sh("losetup", "--set-capacity", f"/dev/{storage.device}")
        listed = json.loads(headless.call("list", "--format", "json").stdout)["filesystems"]
    (row,) = (one for one in listed if one["mount_point"] == str(storage.directory))
    (found,) = (finding for finding in row["findings"] if finding["rule"] == "stack-state")
    # the filesystem may have found the error already, and then names its own errors first
    assert f"{storage.device} size: 0" in "\n".join([found["title"], *found["because"]])


@pytest.mark.parametrize("fstype", ["ext4", "xfs"])
def test_removed_device_fails_the_step_and_ends_the_run(workshop: Path, fstype: str) -> None:
    with disks.on_loop(workshop, fstype) as storage:
        assert storage.device
        with headless.started_run("fsync-rate", storage.directory, "--set", "seconds=1", step=1) as process:
            shrink(storage.device, workshop / "disk.img")
            exit_code, run, story = headless.finish(process)
    assert exit_code == 1
    before, failed = run.steps
    assert before.status == "finished" and before.ops > 0
    assert (run.status, failed.status) == ("failed", "failed")
    assert failed.error and failed.error.errno in {errno.EIO, errno.EROFS}
    assert failed.error.call in {"pwrite", "fsync"}
    assert "sync-error" in {finding.rule for finding in run.findings}
    assert run.verdict in {"not-durable", "cannot-tell"}
    assert saved_runs.load(run.id) == run
    assert "Traceback" not in story


def test_leftovers_on_a_dead_filesystem_are_removed_later(workshop: Path) -> None:
    xfs_io, point = disks.tool("xfs_io"), workshop / "mnt"
    with disks.loop(workshop / "disk.img") as device:
        disks.sh(disks.tool("mkfs.xfs"), "-q", f"/dev/{device}")
        with disks.mounted(f"/dev/{device}", point, "xfs"):
            with headless.started_run("odirect-truth", point, "--set", "seconds=5") as process:
                disks.sh(xfs_io, "-x", "-c", "shutdown -f", point)
                exit_code, run, story = headless.finish(process)
            cleaned = headless.call("clean")
        assert exit_code == 1 and any(step.error for step in run.steps)
        (left,) = run.left_behind
        assert ".fstui-" in left and "fstui clean" in left and left in story
        assert (cleaned.returncode, cleaned.stdout) == (1, b"")
        assert "not removed: Input/output error" in cleaned.stderr.decode()
        assert len(ledger.entries()) == 1
        with disks.mounted(f"/dev/{device}", point, "xfs"):
            assert list(point.glob(".fstui-*"))
            assert headless.call("clean").returncode == 0
            assert list(point.glob(".fstui-*")) == [] and ledger.entries() == []


def test_hanging_operation_is_displayed_and_the_run_can_be_quit(workshop: Path) -> None:
    with disks.on_loop(workshop) as storage:
        with headless.started_run("latency-watch", storage.directory, "--set", "seconds=60") as process:
            assert process.stdout
            snapshots = (seen for line in process.stdout if (seen := json.loads(line).get("snapshot")))
            assert next(snapshot for snapshot in snapshots if snapshot["ops"])
            with disks.frozen(storage.directory):
                stalled = next(snapshot for snapshot in snapshots if snapshot["stall"])
                process.send_signal(signal.SIGINT)
                exit_code, run, story = headless.finish(process)
            call = "pwrite64 (frozen filesystem)"
            assert (stalled["stall"]["call"], exit_code, run.status) == (call, 130, "stopped")
        (step,) = run.steps
        assert step.status == "stopped" and step.ops == step.syncs > 0
        assert step.unanswered and step.latency_ns and step.stalls.count == 1
        assert step.unanswered.elapsed_s > 1 and step.latency_ns.max >= 0.99e9 * step.unanswered.elapsed_s
        assert run.verdict == "cannot-tell" and "All I/O of " in run.sentence
        assert f"at worst {duration_ns(step.latency_ns.max)}" in run.sentence
        assert "had not finished after" in run.speed.title
        assert run.speed.title.endswith(": the filesystem, or a lower one, was frozen")
        (left,) = run.left_behind
        assert "did not answer" in left and left in story and saved_runs.load(run.id) == run
        # the disk works again, so hanging calls return and files can be removed
        assert headless.call("clean").returncode == 0
        assert list(storage.directory.glob(".fstui-*")) == [] and ledger.entries() == []


@pytest.mark.parametrize("below", [False, True], ids=["the filesystem", "the one below its image"])
def test_freeze_is_named_as_the_cause_of_a_stall(workshop: Path, below: bool) -> None:
    with (
        disks.on_loop(workshop, size_bytes=disks.SIZE_BYTES * 3) as outer,
        disks.on_loop(outer.directory) as storage,
        headless.started_run("latency-watch", storage.directory, "--set", "seconds=5") as process,
    ):
        assert process.stdout
        snapshots = (seen for line in process.stdout if (seen := json.loads(line).get("snapshot")))
        assert next(snapshot for snapshot in snapshots if snapshot["ops"])
        with disks.frozen(outer.directory if below else storage.directory):
            assert next(seen for seen in snapshots if seen["stall"] and seen["stall"]["elapsed_s"] >= 1)
        _, run, _ = headless.finish(process)
    (step,) = run.steps
    assert step.latency_ns and step.frozen_ns and step.frozen_ns > step.latency_ns.max / 2
    assert run.speed.answer == "stalls" and run.speed.title.endswith(": the filesystem, or a lower one, was frozen")
    assert "other processes" not in run.speed.sentence.lower()


def test_silent_mount_is_a_row_with_a_note(workshop: Path) -> None:
    with unresponsive_mount(workshop) as (point, within):
        listed = headless.call("list", within=within)
        described = headless.call("list", "--format", "json", within=within)
    assert (listed.returncode, described.returncode) == (0, 0)
    row, *_ = (line for line in listed.stdout.decode().splitlines() if str(point) in line)
    assert "no answer for" in row
    rows = {row["mount_point"]: row for row in json.loads(described.stdout)["filesystems"]}
    assert rows[str(point)]["silent_s"] >= 1 and rows[str(point)]["space"] is None
    assert rows["/"]["silent_s"] is None and rows["/"]["space"]


def test_run_on_a_silent_mount_is_refused(workshop: Path, own_user: Path) -> None:
    with unresponsive_mount(workshop) as (point, within):
        refused = headless.call("run", "fsync-rate", point, within=within)
    assert (refused.returncode, refused.stdout) == (2, b"")
    (sentence,) = refused.stderr.decode().splitlines()
    assert str(point) in sentence and "did not answer" in sentence and "Nothing was written" in sentence
    assert list(own_user.rglob("*.json")) == []
