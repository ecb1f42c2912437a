"""Storage and processes that break their word: always ``not-durable``, by the rule that names the reason."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest

from tests.storage import disks, headless
from tests.storage.disks import Storage

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
"""Flushes do arrive at the loop: it is what lies beneath that forgets."""


@pytest.mark.parametrize("name", CONFIGURED)
def test_the_configuration_gives_it_away(workshop: Path, name: str) -> None:
    make, rule = CONFIGURED[name]
    with make(workshop) as storage:
        run = headless.measure("fsync-rate", storage)
        assert (run.verdict, run.confidence) == ("not-durable", "high"), run.sentence
        assert rule in headless.rules(run, "not-durable")
        assert headless.accused_of(run) == {rule}
        if storage.device and name not in ARRIVING and not storage.device.startswith("zram"):
            assert headless.flushes_per_sync(run, storage.device) < 0.05
        assert headless.judged_again(run) == run


@pytest.mark.parametrize("name", CONFIGURED)
def test_the_list_says_so_before_a_byte_is_written(workshop: Path, name: str) -> None:
    make, rule = CONFIGURED[name]
    with make(workshop) as storage:
        listed = headless.call("list")
        assert listed.returncode == 0
        (row,) = (line for line in listed.stdout.decode().splitlines() if str(storage.directory) in line)
        assert "✗" in row, row
        assert rule


def eatmydata() -> str:
    """The library's path as Debian and Ubuntu install it; skipped where it is missing."""
    found = sorted(Path("/usr/lib").glob("*/libeatmydata.so*"))
    if not found:
        pytest.skip("libeatmydata is missing: apt-get install libeatmydata1")
    return str(found[0])


def test_libeatmydata_is_found_in_the_process_and_the_disk_is_not_judged(workshop: Path) -> None:
    preloaded = {**os.environ, "LD_PRELOAD": eatmydata()}
    with disks.on_loop(workshop) as storage:
        run = headless.measure("fsync-rate", storage, environment=preloaded)
        assert storage.device
        assert (run.verdict, run.confidence) == ("not-durable", "high"), run.sentence
        assert headless.accused_of(run) == {"sync-stubbed"}
        (finding,) = (finding for finding in run.findings if finding.rule == "sync-stubbed")
        assert finding.scope == "process"
        assert any("libeatmydata" in line for line in finding.because)
        assert run.process.pipe_fsync_fails is False and run.process.dsync_flag_kept is False
        assert headless.flushes_per_sync(run, storage.device) < 0.05
        assert headless.judged_again(run) == run


def test_a_filter_that_swallows_syncs_is_found_by_the_missing_flushes(workshop: Path) -> None:
    """What a container started with syncs suppressed does: even the raw system call succeeds, and nothing arrives."""
    with disks.on_loop(workshop) as storage:
        run = headless.measure("fsync-rate", storage, within=headless.without_syncs())
        assert storage.device
        assert headless.flushes_per_sync(run, storage.device) < 0.05
        assert run.verdict == "not-durable", run.sentence
        assert headless.accused_of(run) <= {"sync-stubbed", "flushes-missing", "bytes-missing"}
        assert headless.judged_again(run) == run


def test_no_file_of_a_liar_is_left(workshop: Path) -> None:
    with disks.tmpfs(workshop) as storage:
        headless.measure("odirect-truth", storage)
        assert list(storage.directory.iterdir()) == []
        assert shutil.disk_usage(storage.directory).used == 0
