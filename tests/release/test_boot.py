"""The first lines of the file: where it unpacks, and what it runs from there."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.real import disks
from tests.release.build import BOOT, CHECKOUT, HAND_OVER, MAIN, pins, prepend
from tests.release.platforms import every

NOBODY = 65534
RUN_MODULE = "from runpy import run_module; run_module('tests.release', run_name='__main__')"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The lines of boot.sh, then, instead of pex, a line that prints where pex would unpack."""
    made = tmp_path / "fstui.pyz"
    made.write_text("#!/bin/sh\n" + BOOT.read_text().replace("@VENVS@", "venvs/4/abc") + 'echo "slow: $PEX_ROOT"\n')
    made.chmod(0o755)
    return made


def start(file: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {"PATH": os.environ["PATH"], **environment}
    return subprocess.run([file, "a b"], env=clean, capture_output=True, text=True, check=False)


def unpacked_in(place: Path, name: str) -> None:
    """Create what pex would unpack there."""
    programs = place / os.uname().machine / "venvs/4/abc" / name / "bin"
    programs.mkdir(parents=True)
    for program in ("fstui", "python"):
        (programs / program).write_text(f'#!/bin/sh\necho "{name}: $1"\n')
        (programs / program).chmod(0o755)


def test_the_place_of_the_unpacked_file_is_printed_once(file: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    first, second = (start(file, FSTUI_UNPACK=str(place)) for _ in range(2))
    assert first.stdout == second.stdout == f"slow: {place}/{os.uname().machine}\n"
    assert f"unpacking into {place}" in first.stderr and second.stderr == ""
    assert place.stat().st_mode & 0o077 == 0


def test_the_file_is_unpacked_into_the_users_home(file: Path, tmp_path: Path) -> None:
    assert start(file, HOME=str(tmp_path)).stdout.startswith(f"slow: {tmp_path}/.cache/fstui/")


def test_a_half_unpacked_file_is_not_run(file: Path, tmp_path: Path) -> None:
    unpacked_in(tmp_path / "place", "aaa.lck.work")
    unpacked_in(tmp_path / "place", "bbb")
    assert start(file, FSTUI_UNPACK=str(tmp_path / "place")).stdout == "bbb: a b\n"


def test_a_new_python_unpacks_again(file: Path, tmp_path: Path) -> None:
    unpacked_in(tmp_path, "bbb")
    next(tmp_path.glob("*/venvs/4/abc/bbb/bin/python")).unlink()
    assert start(file, FSTUI_UNPACK=str(tmp_path)).stdout.startswith("slow: ")


@pytest.mark.parametrize("unpacked", [False, True])
def test_a_host_without_python_gets_one_sentence(file: Path, tmp_path: Path, unpacked: bool) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("chmod", "id", "ls", "mkdir", "sh", "uname"):
        (programs / name).symlink_to(str(shutil.which(name)))
    (programs / "python3").write_text("#!/bin/sh\nexit 1\n")  # an older one
    (programs / "python3").chmod(0o755)
    place = tmp_path / "place"
    if unpacked:
        start(file, FSTUI_UNPACK=str(place))
    done = start(file, PATH=str(programs), FSTUI_UNPACK=str(place))
    assert (done.returncode, done.stdout) == (2, "")
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith("fstui: this file needs CPython 3.11, 3.12, 3.13 or 3.14")
    assert place.exists() == unpacked


@pytest.mark.parametrize("newest", ["3, 11", "4, 0"])
def test_an_old_python_starts_the_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, newest: str) -> None:
    """This Python is an old one if 4.0 is needed."""
    file = tmp_path / "fstui.pyz"
    file.write_text('#!/bin/sh\nINSTALLED_PEX="${PEX_ROOT}/venvs/4/abc/def"\necho "shell: $1"; exit\n')
    with zipfile.ZipFile(file, "a") as zipped:
        zipped.writestr(MAIN, "print('python:', sys.argv[1])\n")
    monkeypatch.setattr("tests.release.build.HAND_OVER", HAND_OVER.replace(b"3, 11", newest.encode()))
    prepend(file)
    call = [sys.executable, str(file), "a b"]
    clean = {"PATH": os.environ["PATH"], "FSTUI_UNPACK": str(tmp_path / "place")}
    done = subprocess.run(call, env=clean, capture_output=True, text=True, check=False)
    assert done.stdout == ("shell: a b\n" if newest == "4, 0" else "python: a b\n"), done.stderr


def test_a_build_without_its_tools_says_what_to_install(tmp_path: Path) -> None:
    """An interpreter that sees only the standard library."""
    call = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(CHECKOUT)!r})\n{RUN_MODULE}"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    (sentence,) = done.stderr.splitlines()
    assert done.returncode == 2 and "pip install '.[release]'" in sentence


def test_an_unusable_place_is_refused(file: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    done = start(file, FSTUI_UNPACK=str(tmp_path / "taken"))
    assert done.returncode == 2
    assert done.stderr.startswith(f"fstui: FSTUI_UNPACK={tmp_path}/taken is not writable")


@pytest.mark.root
@pytest.mark.parametrize("link", [False, True])
def test_a_place_of_another_user_is_not_used(file: Path, tmp_path: Path, link: bool) -> None:
    """Its owner has put a program there, and a link that makes it look like the user's own."""
    theirs, place = tmp_path / "theirs", tmp_path / "place"
    unpacked_in(theirs, "bbb")
    (theirs / ".runs").symlink_to(str(shutil.which("true")))
    os.chown(theirs, NOBODY, NOBODY)
    place.symlink_to(theirs) if link else theirs.rename(place)
    done = start(file, FSTUI_UNPACK=str(place))
    assert (done.returncode, done.stdout) == (2, "") and "belongs to another user" in done.stderr


@pytest.mark.root
def test_a_noexec_place_is_not_used(file: Path, tmp_path: Path) -> None:
    with disks.mounted("fstui-tests", tmp_path / "noexec", "tmpfs", "noexec,size=1M") as place:
        done = start(file, FSTUI_UNPACK=str(place / "fstui"))
        assert done.returncode == 2 and "noexec" in done.stderr
        kept_elsewhere = start(file, HOME=str(place), XDG_CACHE_HOME=str(tmp_path / "cache"))
        assert kept_elsewhere.stdout.startswith(f"slow: {tmp_path}/cache/fstui/")


def test_every_dependency_is_pinned_for_every_platform() -> None:
    names = {pin.partition("==")[0] for pin in pins()}
    assert {"msgspec", "psutil", "textual", "linkify-it-py", "typing-extensions"} <= names
    assert len({platform.name for platform in every()}) == 16
    assert all("cp311-cp311-musllinux_1_2_aarch64" in one.tags for one in every() if one.name == "cp311-musl-aarch64")
