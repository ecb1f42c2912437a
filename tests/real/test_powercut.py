"""Power cuts on real filesystems. Instead of cutting the power, the filesystem is shut down at once without writing
anything more. Then it is mounted again, and its journal is replayed as after a
power cut. The disk below keeps its power, so a lie of the disk shows only in the laboratory."""

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fstui.measure.probes import own_filesystem
from fstui.model.run import Run
from tests import prefork
from tests.powercut.test_writer import each_writer, lines_until, probe_of
from tests.real import headless
from tests.real.disks import Storage, eatmydata, frozen, on_loop, require_kernel, sh
from tests.real.headless import FSTUI


class Writing:
    """A writer on real storage and the lines that its witness received."""

    def __init__(self, storage: Storage, *settings: str, environment: Mapping[str, str] | None = None) -> None:
        self.storage = storage
        words = headless.set_options("file=131072", *settings)
        self.process = headless.start(
            "powercut", "write", storage.directory, *words, environment=environment, stderr=subprocess.DEVNULL
        )
        self.heard = b""

    def until(self, records: int) -> None:
        _, self.heard = lines_until(self.process, each_writer(records))

    def cut(self) -> bytes:
        """Stop everything at once and mount the filesystem again. Return the witness's log."""
        probe = probe_of(self.process)
        os.killpg(probe, signal.SIGSTOP)
        own_filesystem.cut_power(str(self.storage.directory))
        os.killpg(probe, signal.SIGKILL)
        rest, _ = self.process.communicate()
        remount(self.storage)
        return self.heard + rest


@contextlib.contextmanager
def writing(storage: Storage, *settings: str, **how: Any) -> Iterator[Writing]:
    begun = Writing(storage, *settings, **how)
    try:
        yield begun
    finally:
        if begun.process.poll() is None:
            with contextlib.suppress(ProcessLookupError, ValueError):
                os.killpg(probe_of(begun.process), signal.SIGKILL)
            begun.process.kill()
            begun.process.communicate()


def remount(storage: Storage, options: str = "rw") -> None:
    sh("umount", storage.directory)
    sh("mount", "-o", options, f"/dev/{storage.device}", storage.directory)


def verify(storage: Storage, log: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    return prefork.run("powercut", "verify", storage.directory, "--format", "json", *options, data=log)


def verified(storage: Storage, log: bytes, *options: str) -> dict[str, Any]:
    done = verify(storage, log, "--storage-was-cut", *options)
    assert done.returncode == 0, done.stderr.decode()
    run: dict[str, Any] = json.loads(done.stdout)
    assert set(run) >= set(Run.__struct_encode_fields__) - {"left_behind"}
    return run


def figures(run: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = run["steps"][0]["figures"]
    return found


def libeatmydata() -> dict[str, str]:
    return {**os.environ, "LD_PRELOAD": eatmydata()}


SELDOM = "commit=300"
"""On a busy host, five seconds pass before the cut, and the journal would commit what no sync has written."""
ALL_WAYS = ("sync=fsync,fdatasync,O_DSYNC,O_DIRECT+O_DSYNC", "writes=overwrite,append,create")


@pytest.mark.parametrize("fstype", ["ext4", "xfs"])
def test_synced_records_survive_a_shutdown_of_the_filesystem(workshop: Path, fstype: str) -> None:
    require_kernel(fstype)
    with on_loop(workshop, fstype) as storage, writing(storage, *ALL_WAYS) as writer:
        writer.until(40)
        run = verified(storage, writer.cut())
    assert run["verdict"] == "kept"
    assert figures(run)["checked"] > 12 * 8
    assert figures(run)["cuts_before"] == 0


def test_cuts_add_up_until_a_setting_changes(workshop: Path) -> None:
    with on_loop(workshop) as storage:
        titles = []
        for options in ("rw", "rw", "rw,noatime"):
            remount(storage, options)
            with writing(storage) as writer:
                writer.until(20)
                log = writer.cut()
                titles += [verified(storage, log)["findings"][0]["title"] for _ in range(2)]
    assert titles == ["survived 1 cut"] * 2 + ["survived 2 cuts"] * 2 + ["survived 1 cut"] * 2


def test_stubbed_syncs_lose_everything_even_the_directory(workshop: Path) -> None:
    with (
        on_loop(workshop, options=SELDOM) as storage,
        writing(storage, environment=libeatmydata()) as writer,
    ):
        writer.until(20)
        run = verified(storage, writer.cut())
    assert run["verdict"] == "lost"
    assert figures(run)["gone"]


def test_unsynced_records_are_counted_one_by_one(workshop: Path) -> None:
    with (
        on_loop(workshop, options=SELDOM) as storage,
        writing(storage, environment=libeatmydata()) as writer,
    ):
        writer.until(40)
        sh("sync", "-f", storage.directory)  # other processes may sync the records by then
        assert writer.process.stdout
        writer.heard += b"".join(writer.process.stdout.readline() for _ in range(300))
        run = verified(storage, writer.cut())
    found = figures(run)
    assert run["verdict"] == "lost"
    assert found["stale"] > 0 and found["missing"] > 0 and not found["gone"]
    assert found["oldest_lost_s"] > 0
    assert found["checked"] == found["present"] + sum(
        found[kind] for kind in ("missing", "stale", "torn", "misplaced", "unreadable")
    )


def test_end_of_a_process_is_no_power_cut(workshop: Path) -> None:
    with on_loop(workshop) as storage, writing(storage, environment=libeatmydata()) as writer:
        writer.until(20)
        os.killpg(probe_of(writer.process), signal.SIGKILL)
        rest, _ = writer.process.communicate()
        done = verify(storage, writer.heard + rest)
    run = json.loads(done.stdout)
    assert run["verdict"] == "cannot-tell"
    assert "the end of a process" in run["sentence"].lower()


def test_read_only_filesystem_can_be_verified(workshop: Path) -> None:
    with on_loop(workshop) as storage, writing(storage) as writer:
        writer.until(20)
        log = writer.cut()
        remount(storage, "ro")
        run = verified(storage, log)
        remount(storage)
    assert run["verdict"] == "kept"
    assert figures(run)["read_only"]
    assert "now: the filesystem is mounted read-only" in run["findings"][0]["because"]


def test_unmounted_filesystem_is_not_taken_for_an_empty_one(workshop: Path) -> None:
    with on_loop(workshop) as storage, writing(storage) as writer:
        writer.until(20)
        log = writer.cut()
        sh("umount", storage.directory)
        done = verify(storage, log, "--storage-was-cut")
        beyond = verify(storage, log, "--mount-fails")
        sh("mount", f"/dev/{storage.device}", storage.directory)
    assert done.returncode == 2
    assert b"Mount the filesystem of the log" in done.stderr and b"--mount-fails" in done.stderr
    run = json.loads(beyond.stdout)
    assert run["verdict"] == "lost"


def test_records_on_an_unmounted_filesystem_are_not_forgotten(workshop: Path) -> None:
    def clean() -> subprocess.CompletedProcess[bytes]:
        return prefork.run("clean", "--pending")

    with on_loop(workshop) as storage, writing(storage) as writer:
        writer.until(20)
        writer.cut()
        sh("umount", storage.directory)
        out_of_sight = clean()
        sh("mount", f"/dev/{storage.device}", storage.directory)
        assert len(list(storage.directory.glob(".fstui-powercut-*"))) == 1
        in_sight = clean()
        assert list(storage.directory.glob(".fstui-powercut-*")) == []
    assert (out_of_sight.returncode, in_sight.returncode) == (1, 0)
    assert b"nothing is mounted on" in out_of_sight.stderr


def test_empty_filesystem_after_a_cut_has_lost_everything(workshop: Path) -> None:
    with on_loop(workshop) as storage, writing(storage) as writer:
        writer.until(20)
        log = writer.cut()
        for path in storage.directory.iterdir():
            sh("rm", "-r", path)
        assert verified(storage, log)["verdict"] == "lost"


def test_ctrl_c_ends_the_writer_on_a_frozen_filesystem(workshop: Path) -> None:
    with on_loop(workshop) as storage, (workshop / "stderr").open("wb") as stderr:
        words = [FSTUI, "powercut", "write", str(storage.directory)]
        writer = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr)
        lines_until(writer, each_writer(10))
        with frozen(storage.directory):
            writer.send_signal(signal.SIGINT)
            assert writer.wait() == 130  # stdout stays open: a stuck process holds it until the filesystem thaws
            text = (workshop / "stderr").read_text()
        writer.communicate()
    assert "stopped by SIGINT" in text and "Traceback" not in text
