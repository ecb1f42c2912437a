"""``fstui lab``: each of its storages is what its envelope says, and nothing of it is left, whoever ends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fstui.simulate.lab import record
from fstui.simulate.lab.kinds import KINDS
from fstui.simulate.lab.record import Lab
from fstui.state.ledger import Entry
from tests.real import headless
from tests.real.disks import Storage, kernel_has, tool

FSTUI = headless.FSTUI


@pytest.fixture
def lab(workshop: Path) -> Iterator[Lab]:
    """One that stands, and is taken away by its own command."""
    kernel_has("overlay")
    tool("mke2fs")
    done = headless.call("lab", "make", workshop / "class")
    assert done.returncode == 0, done.stderr.decode()
    assert b"not made" not in done.stderr
    yield record.standing()
    done = headless.call("lab", "remove")
    assert done.returncode == 0, done.stderr.decode()
    assert remains(workshop) == []


def remains(workshop: Path) -> list[str]:
    """Mounts, loop devices, processes, files and entries that are there of it."""
    held = [line for line in Path("/proc/self/mounts").read_text().splitlines() if str(workshop) in line]
    for file in [*Path("/sys/block").glob("loop*/loop/backing_file"), *Path("/proc").glob("[0-9]*/cmdline")]:
        try:
            told = file.read_text()
        except OSError:
            continue
        held += [told] if f"{workshop}/class" in told else []
    return held + [str(file) for file in workshop.iterdir()] + [entry.what for entry in record.entries()]


def test_each_is_what_its_envelope_says(lab: Lab, tmp_path: Path) -> None:
    assert {storage.kind for storage in lab.storages} == set(KINDS)
    sealed = headless.call("lab", "list").stdout.decode()
    assert "sealed" in sealed and not any(storage.truth.title in sealed for storage in lab.storages)
    flagged = {row["mount_point"]: row["findings"] for row in listed()}
    for storage in lab.storages:
        found = {(each["rule"], each["verdict"]) for each in flagged[lab.place(storage)] if each["verdict"]}
        if storage.kind == "honest":
            assert found == set()
            honest = headless.measure(a_step(tmp_path), Storage(Path(lab.place(storage)), None))
            assert honest.verdict == storage.truth.verdict
            assert storage.truth.rule in headless.rules(honest, "consistent")
        else:
            assert found == {(storage.truth.rule, storage.truth.verdict)}, storage.kind
    opened = headless.call("lab", "open", storage.name).stdout.decode()
    assert storage.truth.title in opened and storage.truth.title in headless.call("lab", "list").stdout.decode()


def listed() -> list[dict[str, Any]]:
    """What ``fstui list`` says of every filesystem before a byte is written."""
    rows: list[dict[str, Any]] = json.loads(headless.call("list", "--format", "json").stdout)["filesystems"]
    return rows


def a_step(directory: Path) -> Path:
    """A scenario of one short step."""
    scenario = directory / "one.toml"
    scenario.write_text(headless.HEAD + headless.STEP.format(name="fdatasync", more=""))
    return scenario


def test_the_disk_that_forgets_loses_what_it_had_acknowledged_and_comes_back(lab: Lab, tmp_path: Path) -> None:
    (storage,) = (each for each in lab.storages if each.kind == "forgetful")
    log = tmp_path / "acks.log"
    words = [FSTUI, "powercut", "write", lab.place(storage)]
    with log.open("wb") as out, subprocess.Popen(words, stdin=subprocess.PIPE, stdout=out) as writer:
        while log.read_bytes().count(b"\n") < 100:
            assert writer.poll() is None
        cut = headless.call("lab", "cut", storage.name)
        assert cut.returncode == 0, cut.stderr.decode()
    verify = [FSTUI, "powercut", "verify", lab.place(storage), "--storage-was-cut", "--format", "json"]
    done = subprocess.run(verify, input=log.read_bytes(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout)["verdict"] == "lost"


@pytest.mark.parametrize("after", [1, 7])
def test_what_a_killed_maker_left_is_cleaned(workshop: Path, after: int) -> None:
    """Killed when that many storages were noted; and a lab that stands when its disks' processes are killed."""
    with subprocess.Popen([FSTUI, "lab", "make", workshop / "class"], stderr=subprocess.DEVNULL) as maker:
        while not (found := record.entries()) or len(noted(found[0])) < after:
            assert maker.poll() is None
        if after < 7:
            os.kill(found[0].pid, signal.SIGKILL)
            maker.kill()
    for storage in noted(found[0]):
        if storage.pid:
            os.kill(storage.pid, signal.SIGKILL)
    assert headless.call("clean").returncode == 0
    assert remains(workshop) == []


def noted(entry: Entry) -> tuple[record.Storage, ...]:
    """Of a lab that is being made."""
    found = record.read(entry)
    return found.storages if found else ()


def test_it_is_refused_where_it_would_touch_what_is_there(workshop: Path) -> None:
    (workshop / "mine").write_text("mine")
    for place, reason in ((workshop / "mine", b"is there already"), (Path("/dev/shm/class"), b"would be in memory")):
        done = headless.call("lab", "make", place)
        assert (done.returncode, reason in done.stderr) == (2, True), done.stderr.decode()
    assert headless.call("lab", "remove").returncode == 2
    assert (remains(workshop), (workshop / "mine").read_text()) == ([str(workshop / "mine")], "mine")
