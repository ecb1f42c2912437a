import errno
import json
import os
from pathlib import Path

import pytest

from fstui.cli.delivery import EventLines, deliver
from fstui.fleet import results
from fstui.model.errors import Refused
from fstui.model.events import StepStarted
from fstui.powercut.witness import _create
from fstui.runs.files import check_output_file, write_output_file
from fstui.state.files import create_private_directory, open_parent, open_user_file

OTHER = 65534
"""The user nobody."""
EVENT = StepStarted(index=0, name="x")


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A directory like /tmp, next to a file of this user."""
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "private").mkdir()
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o1777)
    return tmp_path / "shared"


def trap(shared: Path, target: str, name: str = "out.json") -> Path:
    os.symlink(target, shared / name)
    os.lchown(shared / name, OTHER, OTHER)
    return shared / name


def write_events(path: Path) -> None:
    lines = EventLines(path)
    lines.write(EVENT)
    lines.close()


@pytest.mark.root
@pytest.mark.parametrize("write", [lambda path: write_output_file(path, b"{}"), write_events, _create])
@pytest.mark.parametrize("target", ["../victim", "../private/new"])
@pytest.mark.parametrize("owner", [0, OTHER])
def test_root_writes_through_no_link_of_another_user(shared: Path, write: object, target: str, owner: int) -> None:
    assert callable(write)
    os.chown(shared, owner, owner)
    with pytest.raises((OSError, Refused), match="a link of another user"):
        write(trap(shared, target))
    assert (shared / "../victim").read_text() == "precious" and not list((shared / "../private").iterdir())


@pytest.mark.root
async def test_root_follows_no_link_of_another_user_to_a_device(shared: Path) -> None:
    with pytest.raises(OSError, match="a link of another user"):
        await deliver(trap(shared, "/dev/null"), "{}")


@pytest.mark.root
@pytest.mark.parametrize("write", [lambda path: write_output_file(path, b"{}"), write_events])
def test_link_of_another_user_to_a_directory_is_not_followed(shared: Path, write: object) -> None:
    assert callable(write)
    trap(shared, "../private", "d")
    with pytest.raises(OSError, match="a link of another user"):
        write(shared / "d/out.json")
    with pytest.raises(Refused, match="a link of another user"):
        check_output_file(shared / "d/out.json")
    with pytest.raises(Refused, match="a link of another user"):
        results.create_directory(shared / "d")
    assert not list((shared / "../private").iterdir())


@pytest.mark.root
def test_documents_of_a_fleet_do_not_go_to_another_user(shared: Path) -> None:
    (shared / "into").mkdir()
    os.chown(shared / "into", OTHER, OTHER)
    with pytest.raises(Refused, match="another user"):
        results.create_directory(shared / "into")


@pytest.mark.root
def test_others_follow_what_the_kernel_follows(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another user's link is a trap for a user only in a shared directory of a third one."""
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    path = trap(shared, "../private/new")
    with pytest.raises(OSError, match="a link of another user"):
        open_parent(path)
    shared.chmod(0o755)
    directory, name = open_parent(path)
    assert (Path(f"/proc/self/fd/{directory}").resolve(), name) == ((shared / "../private").resolve(), "new")
    os.close(directory)


@pytest.mark.root
def test_permissions_of_another_users_file_are_not_kept(shared: Path) -> None:
    """Whoever may write to a setuid file of root's is root."""
    trap = shared / "out.html"
    trap.touch()
    os.chown(trap, OTHER, OTHER)
    trap.chmod(0o4777)
    write_output_file(trap, b"<html>")
    found = trap.stat()
    assert (found.st_uid, found.st_mode & 0o7022) == (0, 0)


def test_own_links_are_followed(shared: Path) -> None:
    (shared / "a").symlink_to("b")
    (shared / "b").symlink_to(shared.parent / "victim")
    write_output_file(shared / "a", b"new")
    assert (shared / "../victim").read_text() == "new" and (shared / "a").is_symlink()
    write_events(shared / "a")
    assert json.loads((shared / "../victim").read_text())["event"] == "StepStarted"


def test_links_in_a_circle_are_an_error(shared: Path) -> None:
    (shared / "a").symlink_to("a")
    with pytest.raises(OSError) as found:
        write_output_file(shared / "a", b"new")
    assert (found.value.errno, found.value.filename) == (errno.ELOOP, str(shared / "a"))


def test_hard_linked_file_in_a_shared_directory_is_kept(shared: Path) -> None:
    (shared / "out.json").hardlink_to(shared / "../victim")
    with pytest.raises(OSError, match="several hard links"):
        write_events(shared / "out.json")
    write_output_file(shared / "out.json", b"{}")  # this replaces the name
    assert (shared / "../victim").read_text() == "precious"


def test_hard_linked_file_is_not_written_to_in_place(shared: Path) -> None:
    (shared / "out.json").hardlink_to(shared / "../victim")
    with pytest.raises(OSError, match="several hard links"):
        open_user_file(shared / "out.json", os.O_WRONLY)


def test_output_to_a_descriptor_is_written() -> None:
    reading, writing = os.pipe()
    fd = open_user_file(Path(f"/dev/fd/{writing}"), os.O_WRONLY)
    os.write(fd, b"x")
    assert os.read(reading, 9) == b"x"
    for one in (fd, reading, writing):
        os.close(one)


def test_a_deep_directory_is_created_with_its_parents(tmp_path: Path) -> None:
    directory = tmp_path.joinpath(*["d"] * 1500)
    assert create_private_directory(directory).is_dir()
    assert (tmp_path / "d").stat().st_mode & 0o777 == 0o700
    for path in (directory, *directory.parents[:1499]):  # rmtree of pytest has a limit
        path.rmdir()
