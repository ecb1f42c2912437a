import asyncio
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


def test_an_entry_exists_until_it_is_struck_out() -> None:
    entry = ledger.enter("run1", "directory", "/srv/.fstui-run1")
    assert ledger.entries() == [entry]
    assert (entry.run, entry.kind, entry.what, entry.pid) == ("run1", "directory", "/srv/.fstui-run1", os.getpid())
    ledger.strike_out(entry)
    assert ledger.entries() == []
    ledger.strike_out(entry)


def test_entries_of_a_running_process_are_not_stale() -> None:
    with enter_in_another_process("sys.stdin.read()") as other:
        assert [entry.pid for entry in ledger.entries()] == [other.pid]
        assert ledger.stale_entries() == []


def test_entries_of_a_killed_process_are_stale() -> None:
    with enter_in_another_process("sys.stdin.read()") as other:
        other.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
        zombie = ledger.stale_entries()
    assert [entry.what for entry in zombie] == ["/srv/.fstui-run1"]
    assert ledger.stale_entries() == zombie


def test_a_reused_pid_is_another_process() -> None:
    entry = ledger.enter("run1", "directory", "/srv/x")
    assert ledger.stale_entries() == []
    rewrite(started=entry.started + 1)
    assert len(ledger.stale_entries()) == 1


def test_entries_of_another_boot_are_stale() -> None:
    ledger.enter("run1", "directory", "/srv/x")
    rewrite(boot="another")
    assert len(ledger.stale_entries()) == 1


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"host": "other", "boot": "another", "machine": ""},
        {"boot": "another", "machine": "1" * 32},
        {"time_namespace": "time:[1]", "started": 1},
    ],
)
def test_entries_of_other_hosts_and_containers_are_not_stale(elsewhere: dict[str, object]) -> None:
    ledger.enter("run1", "directory", "/srv/x")
    rewrite(**elsewhere)
    assert ledger.stale_entries() == []


@pytest.mark.parametrize("changed", [{}, {"boot": "another"}])
def test_entries_are_stale_after_the_host_was_renamed(changed: dict[str, object]) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    ledger.enter("run1", "directory", "/srv/x", pid=gone.pid)
    rewrite(host="renamed", **changed)
    if changed and not ledger._machine_id():
        pytest.skip("this host has no machine id")
    assert len(ledger.stale_entries()) == 1
    assert ledger.entries_of_other_hosts() == []


def test_entries_of_other_hosts_are_listed() -> None:
    ledger.enter("run1", "directory", "/srv/x")
    rewrite(host="db8", boot="another", machine="1" * 32)
    ledger.enter("run2", "directory", "/srv/y")
    assert [entry.host for entry in ledger.entries_of_other_hosts()] == ["db8"]


def test_in_another_time_namespace_an_unused_pid_is_dead() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    ledger.enter("run1", "directory", "/srv/x", pid=gone.pid)
    rewrite(time_namespace="time:[1]")
    assert len(ledger.stale_entries()) == 1


@pytest.mark.root
def test_entries_of_a_container_are_stale_when_it_is_empty() -> None:
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
        assert entry.host == "container" and ledger.stale_entries() == ledger.live_entries() == []
        container.kill()
        container.communicate()
    eventually(lambda: ledger.stale_entries() == [entry])
    assert ledger.stale_entries() == [entry]


@pytest.mark.parametrize("name", ["/srv/a\nb", "/srv/\x1b[31m", os.fsdecode(b"/srv/\xff"), "/srv/[bold]"])
def test_a_path_is_kept_byte_for_byte(name: str) -> None:
    ledger.enter("run1", "directory", name)
    assert [entry.what for entry in ledger.entries()] == [name]


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b'{"run": 1}', b"[" * 100_000])
def test_a_foreign_file_is_ignored(content: bytes) -> None:
    entry = ledger.enter("run1", "directory", "/srv/x")
    (paths.ledger_dir() / "foreign.json").write_bytes(content)
    assert ledger.entries() == [entry]


def test_an_entry_with_another_file_name_is_ignored() -> None:
    """It could be listed, but never struck out."""
    ledger.enter("run1", "directory", "/srv/x")
    (path,) = paths.ledger_dir().iterdir()
    path.rename(path.with_name("copy.json"))
    assert ledger.entries() == []


def test_reading_creates_nothing() -> None:
    assert ledger.stale_entries() == []
    assert not paths.state_dir().exists()


def test_an_entry_that_others_may_write_is_ignored() -> None:
    """``clean`` removes what an entry names, and the state directory may be another user's (sudo -E)."""
    ledger.enter("run1", "directory", "/srv/.fstui-run1")
    (path,) = paths.ledger_dir().iterdir()
    path.chmod(0o666)
    assert ledger.entries() == []


@pytest.mark.root
def test_an_entry_of_another_user_is_ignored() -> None:
    ledger.enter("run1", "directory", "/srv/.fstui-run1")
    (path,) = paths.ledger_dir().iterdir()
    os.chown(path, 65534, 65534)
    assert ledger.entries() == []


def test_a_file_larger_than_memory_is_ignored() -> None:
    ledger.enter("run1", "directory", "/srv/.fstui-run1")
    (path,) = paths.ledger_dir().iterdir()
    os.truncate(path, 1 << 42)
    assert ledger.entries() == []


@pytest.mark.parametrize("kind", ["pipe", "link", "directory"])
def test_other_kinds_of_file_are_ignored_without_blocking(kind: str, tmp_path: Path) -> None:
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


def test_index_of_a_killed_writer_is_swept() -> None:
    files.make_private(paths.runs_dir())
    left = paths.state_dir() / ".runs.index.x.tmp"
    left.write_text("half")
    ledger.stale_entries()
    assert not left.exists()


def test_only_temporary_files_of_dead_writers_are_swept() -> None:
    ledger.enter("run1", "directory", "/srv/.fstui-run1")
    left, written = (paths.ledger_dir() / f".run1-directory.json.{name}.tmp" for name in ("left", "written"))
    left.touch()
    with written.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        ledger.stale_entries()
        assert (left.exists(), written.exists()) == (False, True)
    ledger.stale_entries()
    assert not written.exists()


def test_a_temporary_file_swept_before_its_lock_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


async def test_a_cancelled_record_leaves_no_entry() -> None:
    recording = asyncio.ensure_future(ledger.record_in_child("1", "server", "/srv/.fstui-1/server-1"))
    for _ in iter(lambda: bool(ledger.entries()), True):  # the entry exists, and the child has not answered yet
        await asyncio.sleep(0)
    assert recording.cancel()
    with pytest.raises(asyncio.CancelledError):
        await recording
    assert ledger.entries() == []
