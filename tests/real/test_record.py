"""``fstui record`` next to a program with known syncs, and what it does when it is killed or started twice."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fstui.model.recording import Header, RecordedWait, Window
from fstui.state import ledger, recording, ring
from tests.real import disks, headless
from tests.real.test_watch import SYNCS, sync, syncing
from tests.trace import instances


@contextmanager
def recorder(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    process = headless.start("record", *words, stdout=None)
    try:
        assert process.stderr
        first = process.stderr.readline()
        assert b"recording to" in first, first
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def waits() -> list[RecordedWait]:
    return [row for one in recording.read().records if isinstance(one, Window) for row in one.waits]


def test_who_waited_for_which_file_is_recorded(workshop: Path) -> None:
    with disks.on_loop(workshop) as storage, syncing("fdatasync", path := storage.directory / "[red]") as program:
        with recorder("--seconds", "12") as process:
            sync(program)
            assert process.wait(60) == 0
        rows = [row for row in waits() if row.pid == program.pid]  # in two windows if one ended between the syncs
    assert {(row.file, row.device) for row in rows} == {(str(path), storage.device)}
    assert sum(row.syncs for row in rows) == SYNCS
    assert all(storage.device in row.below and row.waited_ms >= row.longest_ms for row in rows)
    assert not ledger.entries()


def test_anonymous_recordings_contain_no_name_of_a_file(workshop: Path) -> None:
    with disks.on_loop(workshop) as storage, syncing("fsync", storage.directory / "secret") as program:
        with recorder("--anonymous", "--seconds", "12") as process:
            sync(program)
            assert process.wait(60) == 0
        written = b"".join(data for path in ring.files(recording.directory()) for data in ring.lines(path))
    assert any(row.pid == program.pid and row.inode for row in waits())
    assert b"secret" not in written and str(storage.directory).encode() not in written


def test_a_second_recorder_is_refused_in_one_sentence(workshop: Path) -> None:
    with recorder() as process:
        second = headless.call("record")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    assert second.returncode == 2
    assert second.stderr.startswith(b"fstui: another 'fstui record' is already writing to ")
    assert second.stderr.count(b"\n") == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_recorder_that_a_signal_ends_reports_the_signal(workshop: Path, number: signal.Signals) -> None:
    """systemd would report the exit status 143 of a stopped service as a failure."""
    with recorder() as process:
        process.send_signal(number)
        assert process.wait(30) == -number
    assert any(isinstance(one, Window) for one in recording.read().records)
    assert not ledger.entries()


def test_a_killed_recorder_leaves_a_readable_recording(workshop: Path) -> None:
    with recorder("--seconds", "3") as process:
        assert process.wait(30) == 0
    with recorder() as process:
        (entry,) = ledger.entries()
        process.kill()
        process.wait(30)
    with recorder("--seconds", "3") as process:
        assert process.wait(30) == 0
    found = recording.read()
    assert sum(isinstance(one, Header) for one in found.records) >= 2
    assert not ledger.entries() and not instances.is_there(entry.what)


def test_what_happened_answers_in_every_format(workshop: Path) -> None:
    with recorder("--seconds", "3") as process:
        assert process.wait(30) == 0
    for format_ in ("plain", "json", "markdown", "csv", "html"):
        done = headless.call("what-happened", "last", "1m", "--format", format_)
        assert done.returncode == 0 and done.stdout, done.stderr
        if format_ == "json":
            found: Any = json.loads(done.stdout)
            assert found["schema"] == "fstui.what-happened/1" and found["buckets"]


def test_without_a_recording_the_answer_says_what_to_do(workshop: Path) -> None:
    done = headless.call("what-happened")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"For later questions: 'fstui record'" in done.stderr
