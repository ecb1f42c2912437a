"""The functions and programs for a directory whose storage may hang."""

import ctypes
import errno
import json
import os
import shlex
import stat
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fstui.measure.children import command
from fstui.measure.helpers import directory
from fstui.measure.helpers.directory import statx
from fstui.measure.wire import own_directory
from fstui.measure.wire.own_directory import MARK, NotOwn, create
from tests.real.disks import tool, unmount


def answers(action: str, *questions: str) -> list[dict[str, Any]]:
    """Send these lines to a program and return its output."""
    lines = "".join(json.dumps(question) + "\n" for question in questions)
    done = subprocess.run(
        command("measure.helpers.directory", action), input=lines.encode(), capture_output=True, check=True
    )
    assert done.stderr == b""
    return [json.loads(line) for line in done.stdout.splitlines()]


CHECKOUT = Path(__file__).parents[3]
UNSHARE = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c"]
INSPECT = """
import json, sys
from fstui.measure.helpers import directory
try:
    print(json.dumps(directory.inspect(sys.argv[1])))
except OSError as error:
    print(json.dumps({"error": error.strerror}))
"""


def test_space_answers_for_each_mount_point(tmp_path: Path) -> None:
    begun, *said = answers("space", str(tmp_path), "/nowhere", "/")
    assert begun == {}
    found = {one["mount_point"]: one for one in said}
    assert found["/nowhere"]["error"] == "No such file or directory"
    there = os.statvfs(tmp_path)
    assert found[str(tmp_path)]["total_bytes"] == there.f_blocks * there.f_frsize
    assert 0 <= found["/"]["free_bytes"] <= found["/"]["total_bytes"]


def test_dead_servers_do_not_delay_the_space_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    alive, released, answered = threading.Event(), threading.Event(), []

    def statvfs(mount_point: str) -> None:
        if mount_point.startswith("/dead"):
            released.wait()
        raise OSError(errno.EIO, "made up")

    def say(mount_point: str, **_: object) -> None:
        answered.append(mount_point)
        if len(answered) == 300:
            alive.set()

    monkeypatch.setattr(os, "statvfs", statvfs)
    monkeypatch.setattr(directory, "say", say)
    wanted = [f"/dead{number}" for number in range(30)] + [f"/alive{number}" for number in range(300)]
    asking = threading.Thread(target=directory.space, args=(wanted,))
    asking.start()
    alive.wait()
    assert not any(one.startswith("/dead") for one in answered)
    released.set()
    asking.join()
    assert sorted(answered) == sorted(wanted)


def test_inspect_follows_links(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    found = directory.inspect(str(tmp_path / "link"))
    assert found["path"] == str(tmp_path / "real")
    assert (found["directory"], found["writable"], found["read_only"]) == (True, True, False)


def test_directory_in_another_mount_namespace_is_refused(tmp_path: Path) -> None:
    """Its path in /proc resolves to another directory of this namespace."""
    script = f"mount -t tmpfs other {tmp_path} && echo there && exec cat"
    with subprocess.Popen(
        [*UNSHARE, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as other:
        assert other.stdin and other.stdout
        if not other.stdout.readline():
            pytest.skip("no mount namespace of one's own can be made here: root, or user namespaces")
        with pytest.raises(OSError, match="another mount namespace"):
            directory.inspect(f"/proc/{other.pid}/root{tmp_path}")
        other.stdin.close()


@pytest.mark.parametrize(
    ("then", "path", "said"), [("true", ".", "mounted over it"), ("umount -l .", "/proc/$$/cwd", "it was unmounted")]
)
def test_directory_below_another_mount_is_refused(tmp_path: Path, then: str, path: str, said: str) -> None:
    """The working directory is covered: its path leads to the mount above it."""
    inspect = f"PYTHONPATH={CHECKOUT} {shlex.join([sys.executable, '-c', INSPECT])} {path}"
    steps = [f"mount -t tmpfs one {tmp_path}", f"cd {tmp_path}", then, f"mount -t tmpfs two {tmp_path}"]
    script = " && ".join([*steps, inspect])
    done = subprocess.run([*UNSHARE, script], check=False, capture_output=True, text=True)
    if "permitted" in done.stderr:
        pytest.skip("no mount namespace of one's own can be made here: root, or user namespaces")
    assert said in json.loads(done.stdout)["error"]


@pytest.mark.parametrize("name", [b"caf\xe9", b"a\nb", b"[bold]\x1b[2J"])
def test_name_of_any_bytes_is_kept(tmp_path: Path, name: bytes) -> None:
    path = os.fsencode(tmp_path) + b"/" + name
    os.mkdir(path)
    assert directory.inspect(os.fsdecode(path))["path"] == os.fsdecode(path)
    kept = os.fsdecode(path + b"/.fstui-1")
    answer = ["dio_alignment", "file_flags", "identity", "ready", "untorn_bytes"]
    assert [sorted(one) for one in answers("keep", kept)] == [answer, ["removed"]]


def test_inspect_distinguishes_files_and_missing_paths(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    assert directory.inspect(str(tmp_path / "file"))["directory"] is False
    for name in ("gone", "loop"):
        with pytest.raises(OSError):
            directory.inspect(str(tmp_path / name))


@pytest.mark.root
def test_inspect_reports_a_directory_that_is_not_writable() -> None:
    program = f"import os; os.setuid(65534)\n{INSPECT}"
    done = subprocess.run([sys.executable, "-c", program, "/usr"], capture_output=True, check=True)
    found = json.loads(done.stdout)
    assert (found["directory"], found["writable"]) == (True, False)


def test_keep_removes_its_private_directory_when_stdin_closes(tmp_path: Path) -> None:
    path = tmp_path / ".fstui-1"
    with kept(path) as keeper:
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        assert [left.name for left in path.iterdir()] == [MARK]
        (path / "data-1").write_bytes(b"x" * 4096)
        (path / "deep" / "er").mkdir(parents=True)
        (path / "link").symlink_to(tmp_path)
        assert hung_up(keeper) == {"removed": True}
    assert list(tmp_path.iterdir()) == []


@contextmanager
def kept(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a keeper that has made its directory."""
    with subprocess.Popen(
        command("measure.helpers.directory", "keep"), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as keeper:
        assert keeper.stdin and keeper.stdout
        keeper.stdin.write(json.dumps(str(path)).encode() + b"\n")
        keeper.stdin.flush()
        assert json.loads(keeper.stdout.readline())["ready"]
        yield keeper


def hung_up(keeper: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Close its stdin and return its last line."""
    assert keeper.stdin and keeper.stdout
    keeper.stdin.close()
    answer: dict[str, Any] = json.loads(keeper.stdout.readline())
    return answer


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up its capabilities")
@pytest.mark.parametrize("umask", [0o777, 0o400, 0o200, 0o100])
def test_keep_removes_a_directory_that_it_may_not_use(tmp_path: Path, umask: int) -> None:
    """A default ACL may deny the owner rights, as these umasks do."""
    path = tmp_path / ".fstui-closed"
    words = [tool("setpriv"), "--bounding-set=-all", *command("measure.helpers.directory", "keep")]
    line = json.dumps(str(path)).encode() + b"\n"
    done = subprocess.run(words, input=line, stdout=subprocess.PIPE, umask=umask, check=True)
    assert json.loads(done.stdout)["errno"] == errno.EACCES
    assert not path.exists()


def test_keep_leaves_an_existing_directory(tmp_path: Path) -> None:
    path = tmp_path / ".fstui-1"
    path.mkdir()
    (path / "precious").write_text("")
    (answer,) = answers("keep", str(path))
    assert answer["error"] == "File exists"
    assert [entry.name for entry in path.iterdir()] == ["precious"]


def test_remove_removes_what_an_earlier_run_left(tmp_path: Path) -> None:
    path = tmp_path / ".fstui-1"
    (path / "deep").mkdir(parents=True)
    (path / "deep" / "data-1").write_text("")
    (path / MARK).write_text("")
    assert directory.remove(str(path)) == {}
    found = directory.remove(str(path))  # it is gone already
    assert (found["absent"], found["above"]) == (True, tmp_path.stat().st_ino)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("attached", [False, True])
def test_shared_memory_of_a_killed_server_is_removed(tmp_path: Path, attached: bool) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    number = libc.shmget(0x6673, 56, 0o1600)  # IPC_CREAT
    address = libc.shmat(number, None, 0) if attached else None
    (path := tmp_path / ".fstui-1").mkdir()
    (path / MARK).touch()
    (path / "server-1").mkdir()
    (path / "server-1/postmaster.pid").write_text(f"1\n/data\n1\n5432\n/data\n\n{0x6673:9} {number:9}\nready   \n")
    try:
        assert directory.remove(str(path)) == {}
        assert (libc.shmget(0x6673, 56, 0) == number) is attached
    finally:
        if attached:
            libc.shmdt(ctypes.c_void_p(address))
        libc.shmctl(number, 0, None)


@pytest.mark.parametrize("name", ["home", "fstui-1", "..", ".fstui"])
def test_remove_refuses_another_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "below").mkdir()
    path = tmp_path / "below" / name
    path.mkdir(exist_ok=True)
    with pytest.raises(OSError, match=r"its name does not begin with \.fstui-"):
        directory.remove(f"{tmp_path}/below/{name}")
    assert path.is_dir()


def test_remove_refuses_a_file_and_a_link(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / ".fstui-file").write_text("")
    (tmp_path / ".fstui-link").symlink_to("precious")
    for name in (".fstui-file", ".fstui-link"):
        with pytest.raises(NotOwn, match="it is not a directory, or does not belong to this user"):
            directory.remove(str(tmp_path / name))
    assert sorted(os.listdir(tmp_path)) == [".fstui-file", ".fstui-link", "precious"]


@pytest.mark.root
def test_remove_refuses_another_users_directory(tmp_path: Path) -> None:
    path = tmp_path / ".fstui-1"
    path.mkdir()
    os.chown(path, 65534, 65534)
    with pytest.raises(NotOwn, match="it is not a directory, or does not belong to this user"):
        directory.remove(str(path))
    assert path.is_dir()


def test_keep_does_not_follow_a_link_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / ".fstui-1"
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "precious").write_text("")
    with kept(path) as keeper:
        path.rename(tmp_path / "moved")
        path.symlink_to("elsewhere")
        assert hung_up(keeper) == {"removed": True}
    assert (tmp_path / "elsewhere" / "precious").exists()
    assert sorted(os.listdir(tmp_path)) == [".fstui-1", "elsewhere"]


def test_keep_does_not_remove_a_directory_in_its_place(tmp_path: Path) -> None:
    """The owner of DIR can rename root's directories in it."""
    path = tmp_path / ".fstui-1"
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "data").write_text("")
    with kept(path) as keeper:
        (path / "data-1").write_text("")
        path.rename(tmp_path / "moved")
        (tmp_path / "precious").rename(path)
        assert hung_up(keeper) == {"removed": True}
    assert [left.name for left in tmp_path.iterdir()] == [".fstui-1"]
    assert [left.name for left in path.iterdir()] == ["data"]


def test_keep_finds_its_directory_after_a_rename_above(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    with kept(tmp_path / "dir" / ".fstui-1") as keeper:
        (tmp_path / "dir").rename(tmp_path / "elsewhere")
        assert hung_up(keeper) == {"removed": True}
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.root
def test_keep_removes_its_directory_after_a_lazy_unmount(tmp_path: Path) -> None:
    behind, point = tmp_path / "behind", tmp_path / "point"
    behind.mkdir()
    point.mkdir()
    subprocess.run(["mount", "--bind", behind, point], check=True)
    with kept(point / ".fstui-1") as keeper:
        (behind / ".fstui-1" / "data-1").write_text("")
        subprocess.run(["umount", "--lazy", point], check=True)
        assert hung_up(keeper) == {"removed": True}
    assert list(behind.iterdir()) == []


@pytest.mark.root
def test_keep_stops_at_a_mount_in_its_directory(tmp_path: Path) -> None:
    path, precious = tmp_path / ".fstui-1", tmp_path / "precious"
    precious.mkdir()
    (precious / "data").write_text("")
    with kept(path) as keeper:
        (path / "below").mkdir()
        subprocess.run(["mount", "--bind", precious, path / "below"], check=True)
        try:
            assert "a filesystem is mounted on its subdirectory 'below'" in hung_up(keeper)["error"]
        finally:
            unmount(path / "below")
    assert [left.name for left in precious.iterdir()] == ["data"]


def test_directory_without_the_mark_is_not_emptied(tmp_path: Path) -> None:
    path = tmp_path / ".fstui-1"
    path.mkdir()
    (path / "precious").write_text("")
    with pytest.raises(NotOwn, match="contains no file"):
        directory.remove(str(path))
    assert [left.name for left in path.iterdir()] == ["precious"]


@pytest.mark.root
@pytest.mark.parametrize(
    ("mode", "owner", "said"),
    [
        (0o755, 0, None),
        (0o1777, 0, None),
        (0o777, 0, "any user, as all may write to"),
        (0o775, 0, None),
        (0o755, 65534, "user nobody, who owns"),
        (0o1777, 65534, "user nobody, who owns"),
    ],
)
@pytest.mark.parametrize("below", ["", "deeper"])
def test_inspect_reports_who_could_rename_roots_files(
    tmp_path: Path, mode: int, owner: int, said: str | None, below: str
) -> None:
    here = tmp_path / "dir"
    (here / below).mkdir(parents=True)
    os.chown(here, owner, 0)
    here.chmod(mode)
    renamers = directory.inspect(str(here / below))["renamers"]
    assert renamers == (f"{said} {here}," if said else None)


@pytest.mark.root
def test_inspect_reports_an_acl_that_lets_others_write(tmp_path: Path) -> None:
    here = tmp_path / "dir"
    here.mkdir(0o755)
    nobody = 0xFFFFFFFF
    # acl_ea_entry of the kernel's linux/posix_acl_xattr.h: tag, permissions, whose; user 1234 may write
    entries = ((0x1, 7, nobody), (0x2, 7, 1234), (0x4, 5, nobody), (0x10, 7, nobody), (0x20, 5, nobody))
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    os.setxattr(here, "system.posix_acl_access", acl)
    assert f"any user in the access control list of {here}" in directory.inspect(str(here))["renamers"]


def test_statx_examines_the_file_itself(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    held = os.open(tmp_path, os.O_RDONLY)
    answer = statx(held, "file")
    os.close(held)
    assert int.from_bytes(answer[0x28:0x30], sys.byteorder) in (0, 5)  # stx_size


def test_remove_lists_a_directory_through_a_new_descriptor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on CIFS under Linux 6.12, where nothing was removed and the mark stayed behind."""
    path = tmp_path / "directory"
    held = create(str(path))
    (path / "data").write_bytes(b"x")
    anew = os.listdir
    monkeypatch.setattr(os, "listdir", lambda where: [] if where == held else anew(where))
    try:
        assert sorted(own_directory.names_in(held)) == ["data", MARK]
        own_directory.remove(held)
    finally:
        os.close(held)
    assert not path.exists()


@pytest.mark.parametrize("code", [errno.EIO, errno.EROFS, errno.ENOTCONN])
def test_removal_from_a_stopped_filesystem_fails_at_once(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    tries: list[int] = []

    def remove(held: int) -> None:
        tries.append(held)
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(own_directory, "remove", remove)
    with pytest.raises(OSError, match=os.strerror(code)):
        directory.remove_directory(7)
    assert tries == [7]


def test_removal_is_tried_again_while_a_program_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [OSError(errno.ENOTEMPTY, "Directory not empty"), None]

    def remove(held: int) -> None:
        if trouble := answers.pop(0):
            raise trouble

    monkeypatch.setattr(own_directory, "remove", remove)
    directory.remove_directory(7)
    assert answers == []


def test_file_that_a_killed_probe_creates_late_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The open(2) of a killed process may return when the disk answers, while its directory is being removed."""
    path = tmp_path / f"{own_directory.PREFIX}late"
    fd, rmdir = create(str(path)), os.rmdir

    def rmdir_after_the_probe(name: str, *, dir_fd: int) -> None:
        monkeypatch.setattr(os, "rmdir", rmdir)
        (path / "data-1").touch()
        rmdir(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "rmdir", rmdir_after_the_probe)
    with pytest.raises(OSError, match="not empty"):
        own_directory.remove(fd)
    own_directory.remove(fd)
    os.close(fd)
    assert not path.exists()


@pytest.mark.parametrize("fails", [False, True], ids=["another's", "unknown owner"])
def test_a_directory_that_is_not_own_leaves_no_descriptor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    def is_own(_: int) -> bool:
        if fails:
            raise OSError(errno.EIO, "Input/output error")
        return False

    monkeypatch.setattr(own_directory, "is_own", is_own)
    before = os.listdir("/proc/self/fd")
    for open_directory in (create, own_directory.open_left_behind):
        with pytest.raises(OSError if fails else NotOwn):
            open_directory(str(tmp_path / "new"))
    assert os.listdir("/proc/self/fd") == before
