import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.factories import saved_runs
from tests.real import disks, headless

MIB = 1 << 20
HOSTILE = b"\xff\xfe two\nlines \x1b[31mred\x07 [bold]name[b] a\\040b c" + "äö\u202e".encode()


def refusal(done: subprocess.CompletedProcess[bytes]) -> str:
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert done.stdout == b""
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("fstui: ") and line.isprintable(), line
    return line


@contextmanager
def nothing_written(directory: Path, home: Path) -> Iterator[None]:
    """Check that nothing was written, neither to the target nor to the state directory."""
    before = sorted(directory.rglob("*"))
    yield
    assert sorted(directory.rglob("*")) == before
    assert list(home.rglob("*.json")) == []


def test_block_device(workshop: Path, own_user: Path) -> None:
    with disks.loop(workshop / "disk.img", size_bytes=MIB) as device, nothing_written(workshop, own_user):
        assert "not a directory" in refusal(headless.call("run", "fsync-rate", f"/dev/{device}"))
        assert (workshop / "disk.img").read_bytes() == bytes(MIB)


def test_read_only_filesystem(workshop: Path, own_user: Path) -> None:
    with disks.on_loop(workshop, options="ro") as storage, nothing_written(storage.directory, own_user):
        sentence = refusal(headless.call("run", "fsync-rate", storage.directory))
    assert str(storage.directory) in sentence and "read-only" in sentence and "Remount it read-write" in sentence


@contextmanager
def ordinary_user(workshop: Path) -> Iterator[tuple[tuple[str, ...], dict[str, str]]]:
    """Return the words that start a command as user nobody, and an environment with a home that it may write to.

    It may read every file, because the interpreter may be in root's home.
    """
    home = workshop / "home"
    home.mkdir()
    os.chown(home, 65534, 65534)
    readable = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
    words = (disks.tool("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups", *readable)
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    if headless.call("--version", within=words, environment=environment).returncode:
        pytest.skip("setpriv cannot become an ordinary user who may read everything: run with CAP_DAC_READ_SEARCH")
    yield words, environment


def test_directory_that_the_user_may_not_write_to(workshop: Path) -> None:
    with (
        ordinary_user(workshop) as (words, environment),
        disks.on_loop(workshop) as storage,
        nothing_written(storage.directory, Path(environment["HOME"])),
    ):
        call = headless.call("run", "fsync-rate", storage.directory, within=words, environment=environment)
        sentence = refusal(call)
    assert str(storage.directory) in sentence and "not writable" in sentence and "sudo" in sentence


@pytest.mark.parametrize(
    ("flag", "reason"), [("i", "not writable by root: it is immutable"), ("a", "could not remove what it writes")]
)
def test_directory_that_is_closed_to_root(workshop: Path, own_user: Path, flag: str, reason: str) -> None:
    chattr = disks.tool("chattr")
    with disks.on_loop(workshop) as storage, nothing_written(storage.directory, own_user):
        fixed = storage.directory / "fixed"
        fixed.mkdir()
        subprocess.run([chattr, f"+{flag}", fixed], check=True)
        sentence = refusal(headless.call("run", "fsync-rate", fixed))
        subprocess.run([chattr, f"-{flag}", fixed], check=True)
        fixed.rmdir()
    assert reason in sentence and "lsattr -d" in sentence and "sudo" not in sentence


def test_directory_that_the_user_may_not_enter(workshop: Path) -> None:
    (workshop / "closed").mkdir(mode=0o700)
    with ordinary_user(workshop) as (words, environment):
        call = headless.call("run", "fsync-rate", workshop / "closed", within=words, environment=environment)
    assert "closed" in refusal(call)


def test_ordinary_user_can_measure_in_an_own_directory(workshop: Path) -> None:
    with ordinary_user(workshop) as (words, environment), disks.on_loop(workshop) as storage:
        os.chown(storage.directory, 65534, 65534)
        run = headless.measure(headless.scenario_file(workshop), storage, within=words, environment=environment)
        assert storage.device
        assert 0.9 <= headless.flushes_per_sync(run, storage.device) <= 1.1
        assert headless.rules_against(run) == set()


def test_ordinary_user_can_measure_with_any_umask(workshop: Path) -> None:
    with ordinary_user(workshop) as (words, environment), disks.on_loop(workshop) as storage:
        os.chown(storage.directory, 65534, 65534)
        within = (*words, "sh", "-c", 'umask 0777 && exec "$@"', "sh")
        headless.measure(headless.scenario_file(workshop), storage, within=within, environment=environment)


def test_filesystem_that_is_too_full(workshop: Path, own_user: Path) -> None:
    with disks.on_loop(workshop) as storage:
        disks.fill(storage.directory, 60 * MIB)
        with nothing_written(storage.directory, own_user):
            sentence = refusal(headless.call("run", "fsync-rate", storage.directory))
    assert str(storage.directory) in sentence and "too full" in sentence and "MiB is free" in sentence
    assert "Free some space" in sentence


def test_mount_with_a_hostile_name_is_handled_safely(workshop: Path) -> None:
    point = workshop / os.fsdecode(HOSTILE)
    scenario = headless.scenario_file(workshop)
    with disks.loop(workshop / "disk.img") as device:
        disks.sh(*disks.MKFS["ext4"], f"/dev/{device}")
        with disks.mounted(f"/dev/{device}", point, "ext4"):
            listed = headless.call("list")
            assert listed.returncode == 0, listed.stderr
            measured = headless.call("run", scenario, point)
            assert measured.returncode == 0, measured.stderr
            assert list(point.glob(".fstui-*")) == []
    assert 0.9 <= headless.flushes_per_sync(saved_runs.load("last"), device) <= 1.1
    for text in (listed.stdout, measured.stdout, measured.stderr):
        assert all(line.replace("\xa0", " ").isprintable() for line in text.decode().splitlines())
