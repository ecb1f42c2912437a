"""``fstui lab``: each storage is what its envelope says, and nothing is left of it however it ends."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from fstui.model.errors import Refused
from fstui.simulate.lab import kernel, laboratory
from fstui.simulate.lab.laboratory import KINDS, Lab, LabVolume
from fstui.state import ledger
from tests.real import headless, processes
from tests.real.disks import require_kernel, tool

FSTUI = headless.FSTUI


@pytest.fixture
def lab(workshop: Path) -> Iterator[Lab]:
    require_kernel("overlay")
    tool("mke2fs")
    done = headless.call("lab", "make", workshop / "class")
    assert done.returncode == 0, done.stderr.decode()
    assert b"not created" not in done.stderr
    made = laboratory.current()
    yield made
    if laboratory.entries():
        done = headless.call("lab", "remove")
        assert done.returncode == 0, done.stderr.decode()
    assert remains(workshop, made.run) == []


def remains(workshop: Path, run: str) -> list[str]:
    """Return mounts, loop devices, cgroups, files and ledger entries that are left of a laboratory."""
    held = [line for line in Path("/proc/self/mounts").read_text().splitlines() if str(workshop) in line]
    for file in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            told = file.read_text()
        except OSError:
            continue
        held += [told] if f"{workshop}/" in told else []
    for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/blkio"):
        held += [str(group) for group in Path(root).glob(kernel.mark(run))]
    return held + [str(file) for file in workshop.iterdir()] + [entry.what for entry in laboratory.entries()]


def of_kind(lab: Lab, kind: str) -> LabVolume:
    (found,) = (storage for storage in lab.volumes if storage.kind == kind)
    return found


def test_each_storage_is_what_its_envelope_says(lab: Lab, tmp_path: Path) -> None:
    assert {storage.kind for storage in lab.volumes} == set(KINDS)
    sealed = headless.call("lab", "list").stdout.decode()
    assert "sealed" in sealed and not any(storage.truth.title in sealed for storage in lab.volumes)
    scenario = tmp_path / "one.toml"
    scenario.write_text(headless.HEAD + headless.STEP.format(name="fdatasync", more=""))
    for storage in lab.volumes:
        words = (FSTUI, "run", str(scenario), lab.mount_point(storage), "--format", "json")
        judged = json.loads(headless.call("lab", "run", storage.name, *words).stdout)
        assert judged["verdict"] == storage.truth.verdict, storage.kind
        assert storage.truth.rule in {finding["rule"] for finding in judged["findings"] if finding["verdict"]}
    opened = headless.call("lab", "open", storage.name).stdout.decode()
    assert storage.truth.title in opened and storage.truth.title in headless.call("lab", "list").stdout.decode()


def test_programs_start_with_the_fault_of_their_storage(lab: Lab) -> None:
    def started(kind: str, *words: str) -> str:
        return headless.call("lab", "run", of_kind(lab, kind).name, *words).stdout.decode()

    assert "libeatmydata" in started("preload", "cat", "/proc/self/maps")
    assert kernel.mark(lab.run) in started("limited", "cat", "/proc/self/cgroup")
    assert kernel.mark(lab.run) not in started("barriers", "cat", "/proc/self/cgroup")
    assert headless.call("lab", "run", "nobody", "true").returncode == 2


def test_storage_in_use_is_named_and_removed_later(lab: Lab, workshop: Path) -> None:
    place = lab.mount_point(of_kind(lab, "memory"))
    with subprocess.Popen(["cat"], cwd=place, stdin=subprocess.PIPE) as user:
        done = headless.call("lab", "remove")
        assert done.returncode == 2 and f"{place} is in use" in done.stderr.decode()
        assert user.stdin
        user.stdin.close()
    assert headless.call("lab", "remove").returncode == 0
    assert remains(workshop, lab.run) == []


def test_clean_removes_what_rm_left(lab: Lab, workshop: Path) -> None:
    assert b"Nothing was left behind" in headless.call("clean").stderr
    assert subprocess.run(["rm", "-rf", lab.directory], capture_output=True, check=False).returncode != 0
    assert headless.call("clean").returncode == 0
    assert remains(workshop, lab.run) == []


def test_renamed_laboratory_is_found_by_its_mounts(lab: Lab, workshop: Path) -> None:
    Path(lab.directory).rename(workshop / "renamed")
    assert headless.call("lab", "remove").returncode == 0
    assert remains(workshop, lab.run) == []


@pytest.mark.parametrize("after", [0, 1, 4])
def test_clean_removes_what_a_killed_maker_left(workshop: Path, after: int) -> None:
    with subprocess.Popen([FSTUI, "lab", "make", workshop / "class"], stderr=subprocess.DEVNULL) as maker:
        while not (found := laboratory.entries()) or not (recorded := storages_of(found[0].run)) >= after:
            assert maker.poll() is None
        assert recorded >= after
        family = processes.descendants(maker.pid)
        os.kill(found[0].pid, signal.SIGKILL)
        maker.kill()
    assert processes.all_end(family)
    assert headless.call("clean").returncode == 0
    assert remains(workshop, found[0].run) == []


def storages_of(run: str) -> int:
    """Return how many storages of a laboratory are recorded so far; -1 before the first record."""
    try:
        lab = laboratory.current()
    except Refused:
        return -1
    return len(lab.volumes) if lab.run == run else -1


SWAPPER = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
os.chdir(sys.argv[1])
os.setgid(65534), os.setuid(65534)
while True:
    for name in sys.argv[3:]:
        libc.renameat2(-100, os.fsencode(name), -100, os.fsencode(sys.argv[2]), 2)
"""


def test_directory_that_another_user_may_rename_is_refused(workshop: Path) -> None:
    theirs = workshop / "theirs"
    theirs.mkdir()
    os.chown(theirs, 65534, 65534)
    for place in (theirs / "class", theirs / "deep" / "class"):
        place.parent.mkdir(exist_ok=True)
        done = headless.call("lab", "make", place)
        assert done.returncode == 2 and b"nobody" in done.stderr
        assert not place.exists()


@pytest.mark.parametrize("link", [True, False], ids=["a link", "a directory"])
def test_nothing_is_mounted_where_a_name_was_swapped(workshop: Path, link: bool) -> None:
    """Descriptors decide, not names. Here another user owns the directory after it was checked."""
    victim = workshop / "victim"
    victim.mkdir(0o700)
    theirs = workshop / "theirs"
    theirs.mkdir()
    decoy = theirs / "decoy"
    decoy.symlink_to(victim) if link else decoy.mkdir()
    os.chown(theirs, 65534, 65534)
    words = [sys.executable, "-c", SWAPPER, str(theirs), "decoy", "class"]
    with subprocess.Popen(words) as swapper:
        try:
            for _ in range(20):
                with suppress(Refused, OSError):
                    laboratory.make(str(theirs), "class")
                points = [Path(point) for entry in laboratory.entries() for point in kernel.mount_points(entry.run)]
                assert all(point.is_relative_to(theirs) for point in points)
                assert victim.stat().st_mode & 0o7777 == 0o700 and list(victim.iterdir()) == []
                clear(theirs)
        finally:
            swapper.kill()
            clear(theirs)


def clear(directory: Path) -> None:
    """Remove what was made there, complete or not, before the next try."""
    for entry in laboratory.entries():
        kernel.remove(entry.run)
        ledger.delete_entry(entry)
    for each in directory.iterdir():
        if each.is_dir() and not each.is_symlink() and any(each.iterdir()):
            shutil.rmtree(each, ignore_errors=True)


def test_existing_directory_is_refused(workshop: Path) -> None:
    (workshop / "mine").write_text("mine")
    done = headless.call("lab", "make", workshop / "mine")
    assert done.returncode == 2 and b"exists" in done.stderr
    assert (workshop / "mine").read_text() == "mine"
