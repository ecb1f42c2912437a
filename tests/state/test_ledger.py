import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fstui.state import files, ledger, paths
from tests.real.processes import eventually

ENTER = "import sys; from fstui.state import ledger; ledger.enter('run1', 'directory', '/srv/.fstui-run1'); "


def enter_in_another_process(then: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", ENTER + "print('entered', flush=True); " + then],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout and process.stdout.readline() == "entered\n"
    return process


def rewrite(**changed: object) -> None:
    (path,) = paths.ledger_dir().iterdir()
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))


def test_an_entry_is_there_until_it_is_settled() -> None:
    entry = ledger.enter("run1", "directory", "/srv/.fstui-run1")
    assert ledger.entries() == [entry]
    assert (entry.run, entry.kind, entry.what, entry.pid) == ("run1", "directory", "/srv/.fstui-run1", os.getpid())
    ledger.settled(entry)
    assert ledger.entries() == []
    ledger.settled(entry)


def test_one_run_may_make_several_things() -> None:
    for kind in ("directory", "server", "mount", "database"):
        ledger.enter("run1", kind, "/srv/x")
    ledger.enter("run1", "directory", "/srv/y")
    assert len(ledger.entries()) == 5


def test_what_lives_is_never_stale_for_another_fstui() -> None:
    with enter_in_another_process("sys.stdin.read()") as other:
        assert [entry.pid for entry in ledger.entries()] == [other.pid]
        assert ledger.stale() == []


def test_what_a_killed_process_left_is_stale() -> None:
    with enter_in_another_process("sys.stdin.read()") as other:
        other.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
        zombie = ledger.stale()
    assert [entry.what for entry in zombie] == ["/srv/.fstui-run1"]
    assert ledger.stale() == zombie


def test_a_reused_pid_is_another_process() -> None:
    entry = ledger.enter("run1", "directory", "/srv/x")
    assert ledger.stale() == []
    rewrite(started=entry.started + 1)
    assert len(ledger.stale()) == 1


def test_another_boot_killed_everything() -> None:
    ledger.enter("run1", "directory", "/srv/x")
    rewrite(boot="another")
    assert len(ledger.stale()) == 1


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"host": "other", "boot": "another"},
        {"host": "other", "pid": 0},
        {"time_namespace": "time:[1]", "started": 1},
    ],
)
def test_what_another_box_or_container_does_is_not_ours_to_judge(elsewhere: dict[str, object]) -> None:
    ledger.enter("run1", "directory", "/srv/x")
    rewrite(**elsewhere)
    assert ledger.stale() == []


def test_in_another_time_namespace_it_is_dead_once_nobody_has_its_number() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    ledger.enter("run1", "directory", "/srv/x", pid=gone.pid)
    rewrite(time_namespace="time:[1]")
    assert len(ledger.stale()) == 1


@pytest.mark.root
def test_a_container_is_dead_when_nobody_is_left_in_it_whatever_its_host_name() -> None:
    if os.readlink("/proc/self/ns/pid") != "pid:[4026531836]":
        pytest.skip("a container does not see every process")
    words = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--uts", "sh", "-c"]
    program = 'hostname container; exec "$0" -c "$1"'
    code = ENTER + "print('entered', flush=True); input()"
    with subprocess.Popen(
        [*words, program, sys.executable, code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as container:
        assert container.stdout and container.stdout.readline() == "entered\n"
        (entry,) = ledger.entries()
        assert entry.host == "container" and ledger.stale() == ledger.living() == []
        container.kill()
        container.communicate()
    eventually(lambda: ledger.stale() == [entry])
    assert ledger.stale() == [entry]


@pytest.mark.parametrize("name", ["/srv/a\nb", "/srv/\x1b[31m", os.fsdecode(b"/srv/\xff"), "/srv/[bold]"])
def test_a_path_is_kept_to_the_byte(name: str) -> None:
    ledger.enter("run1", "directory", name)
    assert [entry.what for entry in ledger.entries()] == [name]


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b'{"run": 1}', b"[" * 100_000])
def test_a_foreign_file_is_passed_over(content: bytes) -> None:
    entry = ledger.enter("run1", "directory", "/srv/x")
    (paths.ledger_dir() / "foreign.json").write_bytes(content)
    assert ledger.entries() == [entry]


def test_an_entry_under_another_name_is_foreign() -> None:
    """Else it could be listed, and removed, but never struck out."""
    ledger.enter("run1", "directory", "/srv/x")
    (path,) = paths.ledger_dir().iterdir()
    path.rename(path.with_name("copy.json"))
    assert ledger.entries() == []


def test_looking_creates_nothing(state_home: Path) -> None:
    assert ledger.stale() == []
    assert not state_home.exists()


def test_a_process_name_with_brackets_and_spaces_does_not_confuse_the_start_time() -> None:
    rename = "open('/proc/self/comm', 'w').write('a) R 1 (b'); "
    with enter_in_another_process(rename + "print('renamed', flush=True); sys.stdin.read()") as other:
        assert other.stdout and other.stdout.readline() == "renamed\n"
        assert ledger.stale() == []


def test_an_entry_that_others_could_have_written_does_not_count() -> None:
    """``clean`` removes what an entry names, and the state directory may be another user's (sudo -E)."""
    ledger.enter("run1", "directory", "/srv/.fstui-run1")
    (path,) = paths.ledger_dir().iterdir()
    path.chmod(0o666)
    assert ledger.entries() == []


@pytest.mark.root
def test_another_user_s_entry_does_not_count() -> None:
    ledger.enter("run1", "directory", "/srv/.fstui-run1")
    (path,) = paths.ledger_dir().iterdir()
    os.chown(path, 65534, 65534)
    assert ledger.entries() == []


def test_a_file_larger_than_the_memory_is_passed_over_unread() -> None:
    ledger.enter("run1", "directory", "/srv/.fstui-run1")
    (path,) = paths.ledger_dir().iterdir()
    os.truncate(path, 1 << 42)
    assert ledger.entries() == []


@pytest.mark.parametrize("kind", ["pipe", "link", "directory"])
def test_what_is_no_file_is_passed_over_and_not_waited_for(kind: str, tmp_path: Path) -> None:
    entry = ledger.enter("run1", "directory", "/srv/.fstui-run1")
    (path,) = paths.ledger_dir().iterdir()
    path.rename(tmp_path / path.name)
    if kind == "pipe":
        os.mkfifo(path, 0o600)
    elif kind == "link":
        path.symlink_to(tmp_path / path.name)
    else:
        path.mkdir(0o700)
    assert ledger.entries() == []
    assert ledger.enter("run2", "directory", "/srv/.fstui-run2") in ledger.entries()
    assert entry not in ledger.entries()


def test_what_a_killed_writer_left_half_written_goes_and_what_a_living_one_writes_stays() -> None:
    ledger.enter("run1", "directory", "/srv/.fstui-run1")
    left, written = (paths.ledger_dir() / f".run1-directory.json.{name}.tmp" for name in ("left", "written"))
    left.touch()
    with written.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        ledger.stale()
        assert (left.exists(), written.exists()) == (False, True)
    ledger.stale()
    assert not written.exists()


def test_a_file_that_was_swept_before_its_writer_had_locked_it_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, lock, made = tmp_path / "entry.json", fcntl.flock, []

    def lock_late(fd: int, how: int) -> None:
        made.append(fd)
        if len(made) == 1:
            files.sweep(tmp_path)
        lock(fd, how)

    monkeypatch.setattr(fcntl, "flock", lock_late)
    files.write_atomically(path, b"whole")
    assert path.read_bytes() == b"whole"
    assert list(tmp_path.iterdir()) == [path]
    assert len(made) == 3  # the file, the sweeper's own, and the file again
