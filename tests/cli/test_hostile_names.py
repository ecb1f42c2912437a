"""The real commands, with hostile names from the system and from users: the output is plain text."""

import os
import subprocess
from pathlib import Path

import pytest

from fstui.model.documents import encode
from fstui.model.run import Run
from fstui.report import formats
from fstui.state import runs
from tests.cli.conftest import SCENARIO, Fstui, command
from tests.factories import saved_runs, screens
from tests.hostile import NAME, assert_safe, everywhere

GIVEN = NAME.replace("\0", "")
"""Text that is possible on a command line."""
IN_A_FILE = NAME.replace("\udcff", "")
"""What a file in UTF-8 can hold."""


def assert_text(done: subprocess.CompletedProcess[bytes]) -> None:
    assert_safe(done.stdout.decode())
    assert_safe(done.stderr.decode())
    assert b"unexpected" not in done.stderr


@pytest.fixture
def hostile_run(own_home: Path) -> Run:
    """A saved run, and a second file that cannot be read."""
    run = everywhere(screens.RUN)
    directory = runs.path_of(screens.RUN).parent
    directory.mkdir(parents=True)
    (directory / "20261120-031244-k3f9a1.json").write_bytes(encode(run))
    (directory / f"20261120-{IN_A_FILE.replace(chr(0), '')[:40]}.json").write_text("{")
    return run


@pytest.mark.parametrize(
    "words",
    [
        *(f"show k3f9a1 --format {name}" for name in formats.names()),
        *("show k3f9a1 --again", "compare k3f9a1 k3f9a1", "history", "history --format json"),
    ],
)
def test_saved_runs(fstui: Fstui, hostile_run: Run, words: str) -> None:
    done = fstui(*words.split())
    assert done.returncode == 0, done.stderr
    assert_text(done)
    # of seconds a run without a database has only the heading
    seconds = words.endswith(" seconds")
    assert (b"errors_per_s" if seconds else b"/srv/data") in done.stdout
    assert (b"has no database step" in done.stderr) == seconds


@pytest.mark.parametrize(
    "arguments",
    [
        (GIVEN,),
        (f"--{GIVEN}",),
        ("show", GIVEN),
        ("show", f"/{GIVEN}"),
        ("judge", GIVEN),
        ("compare", GIVEN, GIVEN),
        ("explain", GIVEN),
        ("scenarios", GIVEN),
        ("references", "--medium", GIVEN),
        ("run", GIVEN, "/tmp"),
        ("run", "fsync-rate", GIVEN),
        ("run", "fsync-rate", "/tmp", "--set", GIVEN),
        ("run", "fsync-rate", "/tmp", "--set", f"{GIVEN}={GIVEN}"),
        ("run", "fsync-rate", "/tmp", "--set", f"seconds={GIVEN}"),
        ("run", "fsync-rate", "/tmp", "--output", f"/{GIVEN}/x"),
        ("run", "fsync-rate", "/tmp", "--fail-on", GIVEN),
        ("show", "last", "--format", GIVEN),
        ("powercut", "verify", GIVEN),
    ],
    ids=lambda arguments: " ".join(arguments).replace(GIVEN, "NAME"),
)
def test_a_mistake(fstui: Fstui, arguments: tuple[str, ...]) -> None:
    done = fstui(*map(os.fsencode, arguments))
    assert done.returncode == 2
    assert_text(done)
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_a_run(fstui: Fstui, target: Path, tmp_path: Path, own_home: Path) -> None:
    """Run a scenario with hostile texts, in a directory and to a file with hostile names."""
    words = '"' + "".join(f"\\U{ord(letter):08x}" for letter in IN_A_FILE) + '"'  # as TOML has it
    mine = SCENARIO.replace('"One short step"', words).replace('"Does it run?"', words)
    mine = mine.replace('"measured time per step"', words).replace('name = "fdatasync"', f"name = {words}")
    (tmp_path / f"{GIVEN[:40]}.toml").write_text(mine)
    directory = target / GIVEN
    directory.mkdir()
    scenario = str(tmp_path / f"{GIVEN[:40]}.toml")
    for arguments in (("scenarios", scenario), ("run", scenario, str(directory))):
        done = fstui(*map(os.fsencode, arguments))
        assert done.returncode == 0, done.stderr
        assert_text(done)
    output = tmp_path / GIVEN[:40]
    done = fstui(*map(os.fsencode, (*arguments, "--format", "events", "--output", str(output))))
    assert done.returncode == 0, done.stderr
    assert_safe(output.read_bytes().decode())
    saved = saved_runs.load("last")
    assert saved.steps[0].name == IN_A_FILE


@pytest.mark.root
def test_a_mount_point(tmp_path: Path) -> None:
    """A real mount, in a mount namespace that ends with the command."""
    place = tmp_path / GIVEN
    place.mkdir()
    script = 'mount -t tmpfs "$0" "$1" && shift && exec "$@"'
    for format_ in ("plain", "json"):
        listing = command("list", "--format", format_)
        call = ["unshare", "--mount", "sh", "-c", script, os.fsencode(GIVEN), os.fsencode(place), *listing]
        done = subprocess.run(call, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        assert_text(done)
        assert b"[red]" in done.stdout
