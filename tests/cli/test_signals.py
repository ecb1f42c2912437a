"""Commands that a signal ends while no run is in progress."""

import asyncio
import fcntl
import os
import signal
import struct
import subprocess
import termios
from pathlib import Path
from typing import IO

import pytest

from fstui.cli.interruption import READER_S, Interruption
from tests.cli.conftest import command
from tests.prefork import Forked
from tests.real.processes import eventually

STATUSES = [(signal.SIGHUP, 129), (signal.SIGINT, 130), (signal.SIGTERM, 143)]
by_signal = pytest.mark.parametrize(("number", "status"), STATUSES, ids=[number.name for number, _ in STATUSES])


def unread_bytes(pipe: IO[bytes] | None) -> int:
    """Return the number of bytes in the pipe."""
    assert pipe
    (number,) = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))
    return int(number)


def until_read(process: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
    """Wait until a command has read the first byte of its input."""
    assert process.stdin
    process.stdin.write(b" ")
    process.stdin.flush()
    assert eventually(lambda: unread_bytes(process.stdin) == 0)
    return process


def reading(*words: str | Path) -> subprocess.Popen[bytes]:
    return until_read(Forked(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE))


@by_signal
def test_a_signal_ends_a_command_with_a_sentence(target: Path, number: signal.Signals, status: int) -> None:
    process = reading("powercut", "verify", target)
    process.send_signal(number)
    _, errors = process.communicate()
    assert (process.returncode, errors.strip()) == (status, b"fstui: stopped")


@by_signal
def test_a_signal_ends_a_report_that_is_not_read(number: signal.Signals, status: int) -> None:
    reader, writer = os.pipe()
    capacity = fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    with open(reader, "rb") as pipe:
        process: Forked[bytes] = Forked(["references"], stdout=writer, stderr=subprocess.PIPE)
        os.close(writer)
        assert eventually(lambda: unread_bytes(pipe) == capacity)
        process.send_signal(number)
        _, errors = process.communicate()
    assert (process.returncode, errors.strip()) == (status, b"fstui: stopped")


@pytest.mark.parametrize("words", [["references"], ["run", "fsync-rate", "--plan", "--simulate", "hdd-7200"]])
def test_a_signal_ends_output_to_a_pipe_without_a_reader(words: list[str], tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    process: Forked[bytes] = Forked([*words, "--output", str(fifo)], stderr=subprocess.PIPE)
    assert eventually(lambda: Path(f"/proc/{process.pid}/wchan").read_text() == "wait_for_partner")
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors.splitlines()[-1]) == (143, b"fstui: stopped")


@by_signal
def test_a_signal_ends_a_witness_with_a_sentence(tmp_path: Path, number: signal.Signals, status: int) -> None:
    process = reading("powercut", "witness", tmp_path / "acks.log")
    process.send_signal(number)
    _, errors = process.communicate()
    assert process.returncode == status
    assert errors.startswith(b"fstui: nothing was acknowledged")
    assert not (tmp_path / "acks.log").exists()


def test_a_signal_in_the_background_of_a_script_leaves_no_traceback(target: Path) -> None:
    """A shell starts these jobs with SIGINT ignored."""
    words = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *command("powercut", "verify", str(target))]
    process = until_read(subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate()
    assert (process.returncode, errors) == (-signal.SIGTERM, b"")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGHUP, 129), (signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_a_watch_without_a_limit_ends_with_its_status(number: signal.Signals, status: int) -> None:
    """Ctrl-C is the normal end of such a watch."""
    arguments = ["watch", "--simulate", "hdd-7200", "--format", "events"]
    process: Forked[bytes] = Forked(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert process.stdout and process.stdout.readline()
    process.send_signal(number)
    process.communicate()
    assert process.returncode == status


async def test_a_signal_after_the_last_turn_of_the_loop_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise, output would wait for ever for a process that reads nothing."""
    monkeypatch.setattr("fstui.cli.interruption.interrupt_on_signals", lambda: None)
    interruption = Interruption()
    stopped = asyncio.Event()
    interruption.listen(stopped.set)
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        interruption.release()
    assert (interruption.exit_code, interruption.timeout_s) == (143, READER_S)
    await asyncio.sleep(0)
    assert not stopped.is_set(), "the signal must not stop the work that follows"
    interruption.listen(stopped.set)
    assert stopped.is_set()
    interruption.release()


def test_a_signal_ends_a_watch_whose_report_is_not_read() -> None:
    reader, writer = os.pipe()
    os.write(writer, bytes(fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)))
    with open(reader, "rb"):
        arguments = ["watch", "--simulate", "hdd-7200", "--seconds", "1"]
        process: Forked[bytes] = Forked(arguments, stdout=writer, stderr=subprocess.PIPE)
        os.close(writer)
        assert process.stderr and process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        process.communicate()
    assert process.returncode == 143
