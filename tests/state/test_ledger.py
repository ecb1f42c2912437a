import asyncio
import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fstui.state import files, ledger, paths
from tests.real.processes import eventually

ENTER = "import sys; from fstui.state import ledger; ledger.write_entry('run1', 'directory', '/srv/.fstui-run1'); "


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
    entry = ledger.write_entry("run1", "directory", "/srv/.fstui-run1")
    assert ledger.entries() == [entry]
    assert (entry.run, entry.kind, entry.what, entry.pid) == ("run1", "directory", "/srv/.fstui-run1", os.getpid())
    ledger.delete_entry(entry)
    assert ledger.entries() == []
    ledger.delete_entry(entry)


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


@pytest.mark.parametrize(
    ("changed", "stale"),
    [
        ({}, False),
        ({"started": 1}, True),  # another process has got its id
        ({"boot": "another"}, True),
        ({"host": "other", "boot": "another", "machine": ""}, False),
        ({"boot": "another", "machine": "1" * 32}, False),
        ({"time_namespace": "time:[1]", "started": 1}, False),
    ],
)
def test_entries_are_stale_if_their_process_has_ended_here(changed: dict[str, object], stale: bool) -> None:
    ledger.write_entry("run1", "directory", "/srv/x")
    rewrite(**changed)
    assert len(ledger.stale_entries()) == stale


@pytest.mark.parametrize(
    "changed", [{"host": "renamed"}, {"host": "renamed", "boot": "another"}, {"time_namespace": "time:[1]"}]
)
def test_entries_of_a_dead_process_are_stale_after_changes(changed: dict[str, object]) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    ledger.write_entry("run1", "directory", "/srv/x", pid=gone.pid)
    rewrite(**changed)
    if "boot" in changed and not ledger._machine_id():
        pytest.skip("this host has no machine id")
    assert len(ledger.stale_entries()) == 1
    assert ledger.entries_of("on another host") == []


def test_entries_of_other_hosts_are_listed() -> None:
    ledger.write_entry("run1", "directory", "/srv/x")
    rewrite(host="db8", boot="another", machine="1" * 32)
    ledger.write_entry("run2", "directory", "/srv/y")
    assert [entry.host for entry in ledger.entries_of("on another host")] == ["db8"]


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
    ledger.write_entry("run1", "directory", name)
    assert [entry.what for entry in ledger.entries()] == [name]


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b'{"run": 1}', b"[" * 100_000])
def test_a_foreign_file_is_ignored(content: bytes) -> None:
    entry = ledger.write_entry("run1", "directory", "/srv/x")
    (paths.ledger_dir() / "foreign.json").write_bytes(content)
    assert ledger.entries() == [entry]


def test_reading_creates_nothing() -> None:
    assert ledger.stale_entries() == []
    assert not paths.state_dir().exists()


def in_its_place(make: Callable[[Path], None]) -> Callable[[Path], None]:
    """Return a function that removes the file and makes something else in its place."""

    def replace(path: Path) -> None:
        path.unlink()
        make(path)

    return replace


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda path: path.chmod(0o666), id="others may write to it"),
        pytest.param(lambda path: os.chown(path, 65534, 65534), id="of another user", marks=pytest.mark.root),
        pytest.param(lambda path: path.rename(path.with_name("copy.json")), id="cannot be struck out"),
        pytest.param(lambda path: os.truncate(path, 1 << 42), id="larger than memory"),
        pytest.param(in_its_place(lambda path: os.mkfifo(path, 0o600)), id="pipe"),
        pytest.param(in_its_place(lambda path: path.mkdir(0o700)), id="directory"),
        pytest.param(lambda path: path.symlink_to(path.rename(path.with_name("other"))), id="link"),
    ],
)
def test_a_file_that_is_no_entry_is_ignored_without_blocking(spoil: Callable[[Path], None]) -> None:
    """``clean`` removes what an entry names, and the state directory may be another user's (sudo -E)."""
    ledger.write_entry("run1", "directory", "/srv/.fstui-run1")
    (path,) = paths.ledger_dir().iterdir()
    spoil(path)
    assert ledger.entries() == []
    other = ledger.write_entry("run2", "directory", "/srv/.fstui-run2")
    assert ledger.entries() == [other]


def test_temporary_files_of_killed_writers_are_swept() -> None:
    ledger.write_entry("run1", "directory", "/srv/.fstui-run1")
    index, entry = paths.state_dir() / ".runs.index.x.tmp", paths.ledger_dir() / ".run1-directory.json.x.tmp"
    for path in (index, entry):
        path.touch()
    ledger.stale_entries()
    assert (index.exists(), entry.exists()) == (False, False)


def test_temporary_file_of_a_writer_at_work_is_not_swept() -> None:
    ledger.write_entry("run1", "directory", "/srv/.fstui-run1")
    temporary = paths.ledger_dir() / ".run1-directory.json.x.tmp"
    temporary.touch()
    with files.locked(paths.ledger_dir(), fcntl.LOCK_SH):
        ledger.stale_entries()
        assert temporary.exists()
        os.utime(temporary, (0, 0))
        ledger.stale_entries()
        assert not temporary.exists()


async def test_a_cancelled_record_leaves_no_entry() -> None:
    recording = asyncio.ensure_future(ledger.write_entry_in_child("1", "server", "/srv/.fstui-1/server-1"))
    for _ in iter(lambda: bool(ledger.entries()), True):  # the entry exists, and the child has not answered yet
        await asyncio.sleep(0)
    assert recording.cancel()
    with pytest.raises(asyncio.CancelledError):
        await recording
    assert ledger.entries() == []
