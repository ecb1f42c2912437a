"""The directory that the file is carried to: no other user can replace it, and an existing one keeps its mode."""

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fstui.fleet.remote import TEMPORARY, Request, clean_script, receive_script
from tests.fleet.conftest import Fleet

NOBODY = 65534
_SWAPPER = """
import os, sys, time
place, end = sys.argv[1], time.monotonic() + 20
while time.monotonic() < end:
    os.mkdir(place)
    os.rename(place, place + '-aside')
    os.symlink('/', place)
    os.unlink(place)
    os.rmdir(place + '-aside')
"""
CONTENT = b"carried"
Receive = Callable[..., str]


@pytest.fixture
def received(tmp_path: Path) -> Iterator[Receive]:
    """Carry a file and return its directory, or an empty string. Remove temporary directories."""
    import hashlib  # noqa: PLC0415

    digest = hashlib.sha256(CONTENT).hexdigest()
    found: list[Path] = []

    def call(home: Path | None = None, place: str = "", before: str = "") -> str:
        script = receive_script(Request(command="list", place=place), "mark", digest)
        env = {"PATH": os.environ["PATH"], **({"HOME": str(home)} if home else {})}
        words = ["unshare", "-m", "sh", "-c", f"{before}; {script}"] if before else ["sh", "-c", script]
        done = subprocess.run(words, input=CONTENT, capture_output=True, env=env, cwd=tmp_path, check=True)
        ready = [line for line in done.stdout.decode().splitlines() if line.startswith("mark ready ")]
        if not ready:
            return ""
        path = ready[0].removeprefix("mark ready ")
        if TEMPORARY in path:
            found.append(Path(path))
        return path

    yield call
    for path in found:
        for file in path.iterdir():
            file.unlink()
        path.rmdir()


def is_new(path: str) -> bool:
    found = os.lstat(path)
    return path.startswith(("/var/tmp/fstui-fleet.", "/tmp/fstui-fleet.")) and found.st_mode & 0o7777 == 0o700


def test_the_cache_directory_is_used(received: Receive, tmp_path: Path) -> None:
    path = received(tmp_path)
    assert path == str(tmp_path / ".cache/fstui-fleet")
    assert os.stat(path).st_mode & 0o7777 == 0o700


def test_without_a_home_a_new_directory_is_used(received: Receive) -> None:
    assert is_new(received())
    assert not Path("/nonexistent").exists()


@pytest.mark.root
@pytest.mark.parametrize("options", ["ro", "noexec", "size=4k,nr_inodes=1"])
def test_a_noexec_cache_is_not_used(received: Receive, tmp_path: Path, options: str) -> None:
    mount = f"mount -t tmpfs -o {options} tmpfs {shlex.quote(str(tmp_path))}"
    assert is_new(received(tmp_path, before=mount))


@pytest.mark.parametrize("mode", [0o755, 0o777, 0o1777])
def test_a_directory_that_exists_keeps_its_mode(received: Receive, tmp_path: Path, mode: int) -> None:
    place = tmp_path / "place"
    place.mkdir()
    place.chmod(mode)
    assert received(place=str(place)) == (str(place) if mode == 0o755 else "")
    assert place.stat().st_mode & 0o7777 == mode
    assert len(list(place.iterdir())) == (mode == 0o755)


@pytest.mark.root
def test_another_user_who_swaps_directories_gets_nothing(received: Receive, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".cache").mkdir(parents=True)
    os.chown(home / ".cache", NOBODY, NOBODY)
    for above in (tmp_path, *list(tmp_path.parents)[:3]):
        os.chmod(above, above.stat().st_mode | 0o011)
    root_mode, entries = os.stat("/").st_mode, sorted(os.listdir("/"))
    swapper = subprocess.Popen(
        [sys.executable, "-c", _SWAPPER, str(home / ".cache/fstui-fleet")], user=NOBODY, group=NOBODY, extra_groups=[]
    )
    try:
        time.sleep(0.2)
        for _ in range(20):
            assert is_new(received(home))
            assert swapper.poll() is None
    finally:
        swapper.kill()
        swapper.wait()
    assert (os.stat("/").st_mode, sorted(os.listdir("/"))) == (root_mode, entries)


@pytest.mark.root
@pytest.mark.parametrize("link", ["home/.cache", "home/.cache/fstui-fleet"])
def test_a_link_of_another_user_is_not_followed(received: Receive, tmp_path: Path, link: str) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (tmp_path / link).parent.mkdir(parents=True)
    (tmp_path / link).parent.chmod(0o1777)
    (tmp_path / link).symlink_to(target)
    os.chown(tmp_path / link, NOBODY, NOBODY, follow_symlinks=False)
    assert is_new(received(tmp_path / "home"))
    assert list(target.iterdir()) == []


@pytest.mark.root
@pytest.mark.parametrize(("option", "cleaned"), [("size=64k", True), ("ro", False)])
def test_clean_needs_no_free_space(tmp_path: Path, option: str, cleaned: bool) -> None:
    place = tmp_path / "place"
    place.mkdir()
    script = clean_script(Request(command="clean", place=str(place / "fstui-fleet")), "mark", ())
    mount = f"""mount -t tmpfs -o mode=700,size=64k tmpfs {place} && mkdir -m 700 {place}/fstui-fleet &&
        ! head -c 1M /dev/zero 2>/dev/null >{place}/fstui-fleet/fstui-1.pyz && mount -o remount,{option} {place}"""
    after = f"ls {place}/fstui-fleet 2>/dev/null"
    words = ["unshare", "-m", "sh", "-c", f"{mount} || exit 1; ({script}); {after}; exit 0"]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert ("mark end 0" in said, "fstui-1.pyz" in said) == (cleaned, not cleaned)


def test_a_temporary_directory_is_removed_at_the_end(
    fleet: Fleet, installed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "carried.pyz"
    file.write_text(f'#!/bin/sh\necho "$0" >{tmp_path}/ran\nexec {installed} "$@"\n')
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    done = fleet("run", "fsync-rate", "/srv", "--into", "out", "--nodes", "db1", "--pyz", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    ran = Path((tmp_path / "ran").read_text().strip())
    assert TEMPORARY in str(ran) and not ran.parent.exists()
