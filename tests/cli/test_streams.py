import fcntl
import json
import os
import pty
import signal
import stat
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from fstui.cli.delivery import EventLines
from fstui.cli.output import colour_verdicts, uses_colours
from fstui.model.events import RunFinished, StepProgressed
from fstui.model.steps import Snapshot
from fstui.runs.files import write_output_file
from fstui.state import recording, runs
from tests import prefork
from tests.cli.conftest import command
from tests.factories import saved_runs
from tests.factories.samples import RUN
from tests.prefork import Forked
from tests.real.processes import eventually

PROGRESS = StepProgressed(
    snapshot=Snapshot(index=0, name="x", elapsed_s=1, length_s=2, ops=1, syncs=1, bytes=1, rate_per_s=1)
)


def on_a_terminal(*words: str | Path, stream: str = "stderr", columns: int = 80) -> tuple[int, bytes]:
    """Run with a stream on a terminal. Return the exit status and the output."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, columns))
    out, err = (slave if name == stream else subprocess.DEVNULL for name in ("stdout", "stderr"))
    process = Forked(words, stdin=slave, stdout=out, stderr=err)
    os.close(slave)
    seen = b""
    with suppress(OSError):  # EIO: the other side is closed
        while data := os.read(master, 65536):
            seen += data
    os.close(master)
    return process.wait(), seen


@pytest.mark.parametrize("columns", [50, 80])
def test_a_table_fits_the_terminal(columns: int) -> None:
    code, seen = on_a_terminal("scenarios", stream="stdout", columns=columns)
    assert code == 0
    table = seen.decode().split("\r\n\r\n")[0].split("\r\n")
    assert table[0].startswith("SCENARIO") and max(map(len, table)) <= columns


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_a_terminal_without_utf8_gets_ascii(monkeypatch: pytest.MonkeyPatch, locale: str) -> None:
    monkeypatch.setenv("LC_ALL", locale)
    for words, stream in ((("scenarios",), "stdout"), (("show", "…"), "stderr")):
        _, seen = on_a_terminal(*words, stream=stream)
        assert seen.isascii() is (locale == "C")


@pytest.mark.slow
def test_a_progress_bar_is_drawn_and_removed(scenario: str, target: Path) -> None:
    code, seen = on_a_terminal("run", scenario, target, "--set", "seconds=1.5")
    assert code == 0
    drawn, _, last = seen.rpartition(b"\r\x1b[K")
    assert "█".encode() in drawn and "█".encode() not in last


@pytest.mark.slow
def test_a_terminal_that_cannot_redraw_gets_lines(scenario: str, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    code, seen = on_a_terminal("run", scenario, target)
    assert code == 0
    assert b"\x1b" not in seen and b"fdatasync" in seen


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Make a pipe for 4096 bytes; close the ends that the test leaves open."""
    ends = os.pipe()
    fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, 4096)
    yield ends
    for end in ends:
        with suppress(OSError):
            os.close(end)


def test_a_slow_reader_misses_only_progress(pipe: tuple[int, int]) -> None:
    read_end, write_end = pipe
    os.write(write_end, b" " * 4096)
    lines = EventLines(Path(f"/proc/self/fd/{write_end}"))
    lines.write(PROGRESS)  # would wait for ever
    assert os.read(read_end, 8192) == b" " * 4096
    lines.write(PROGRESS)
    assert json.loads(os.read(read_end, 8192))["event"] == "StepProgressed"
    lines.close()


def test_events_for_a_closed_stdout_have_no_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", None)  # as the interpreter leaves it
    lines = EventLines(None)
    lines.write(PROGRESS)
    lines.close()
    assert lines.reader_gone


def test_events_for_a_full_pipe_are_written_at_the_end(pipe: tuple[int, int]) -> None:
    read_end, write_end = pipe
    lines = EventLines(Path(f"/proc/self/fd/{write_end}"))
    for _ in range(9):
        lines.write(RunFinished(run=RUN))
    with Path(f"/proc/self/fd/{read_end}").open("rb") as reader:
        threading.Thread(target=lines.close).start()
        assert {json.loads(reader.readline())["event"] for _ in range(9)} == {"RunFinished"}


@pytest.mark.slow
@pytest.mark.parametrize("how", ["events to a pipe", "events to a fifo", "json to a fifo", "a stopped terminal"])
def test_a_reader_that_does_not_read_blocks_no_signal(
    scenario: str, target: Path, tmp_path: Path, pipe: tuple[int, int], how: str
) -> None:
    _, write_end = pipe
    master, slave = pty.openpty()
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    words = ["--format", "json" if how == "json to a fifo" else "events", "--set", "seconds=600"]
    words += ["--output", str(fifo)] if "fifo" in how else []
    stopped = how == "a stopped terminal"
    process = Forked(
        ["run", scenario, target, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL if stopped else write_end,
        stderr=slave if stopped else subprocess.DEVNULL,
    )
    if stopped:
        termios.tcflow(slave, termios.TCOOFF)
    os.close(write_end)
    assert eventually(lambda: bool(list(target.glob(".fstui-*/data-*"))), patience_s=100)
    process.send_signal(signal.SIGTERM)
    assert process.wait(100) == 143
    assert saved_runs.load("last").status == "stopped"
    assert eventually(lambda: not list(target.glob(".fstui-*")))
    os.close(master)
    os.close(slave)


@pytest.mark.slow
def test_a_signal_ends_waiting_for_a_reader(scenario: str, target: Path, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    process = Forked(["run", scenario, target, "--format", "json", "--output", fifo])
    assert eventually(lambda: bool(runs.history()) and runs.history()[0].status == "finished", patience_s=100)
    process.send_signal(signal.SIGTERM)
    assert process.wait(100) in (143, -signal.SIGTERM)


@pytest.mark.slow
@pytest.mark.parametrize("command_name", ["check", "run"])
def test_a_signal_decides_the_status_if_the_pipe_has_no_reader(
    scenario: str, target: Path, tmp_path: Path, command_name: str
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    words = ["check"] if command_name == "check" else ["run", scenario, "--set", "seconds=600", "--rounds", "2"]
    process: Forked[bytes] = Forked([*words, target, "--output", fifo], stderr=subprocess.PIPE)
    assert eventually(lambda: bool(list(target.glob(".fstui-*/data-*"))), patience_s=100)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=100)
    assert (process.returncode, errors.splitlines()[-1]) == (143, f"fstui: {fifo}: No such device or address".encode())


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("option", ["--version", "--help", "schema"])
def test_output_on_a_full_disk_is_one_sentence(option: str, unbuffered: str) -> None:
    place = "" if option == "--help" else "standard output: "  # click writes the help
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command(option), stdout=full, stderr=subprocess.PIPE, check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, f"fstui: {place}No space left on device\n".encode())


@pytest.mark.parametrize("option", ["--version", "--help", "schema"])
def test_output_without_a_reader_has_the_status_of_sigpipe(option: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command(option), stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_sentences_are_wrapped_on_a_terminal_only() -> None:
    code, seen = on_a_terminal("explain", "flushh", columns=40)
    assert code == 2
    lines = seen.decode().splitlines()
    whole = prefork.run("explain", "flushh").stderr.decode()
    assert len(lines) > 1 and max(map(len, lines)) <= 40 and " ".join(lines) == whole.rstrip("\n")


def test_a_comparison_goes_into_a_file_too(tmp_path: Path) -> None:
    done = prefork.run("compare", "last", "last", "--output", tmp_path)
    assert done.returncode == 2 and b"is a directory: name a file in it" in done.stderr


def test_an_output_file_is_replaced_atomically(tmp_path: Path) -> None:
    file, link = tmp_path / "run.json", tmp_path / "link.json"
    write_output_file(file, b"one")
    file.chmod(0o640)
    link.symlink_to(file)
    write_output_file(link, b"two")
    assert (file.read_text(), link.is_symlink()) == ("two", True)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert not list(tmp_path.glob(".*"))


def test_an_output_path_that_is_too_long_is_refused(tmp_path: Path) -> None:
    done = prefork.run("history", "--output", tmp_path / ("x" * 300))
    assert done.returncode == 2 and b"File name too long" in done.stderr


def test_a_recording_without_stderr_is_complete() -> None:
    words = ["sh", "-c", 'exec "$@" 2>&-', "sh", *command("record", "--seconds", "0.1")]
    assert subprocess.run(words, check=False).returncode == 0
    assert recording.read().records


def test_a_parent_that_ignores_sigchld_changes_nothing() -> None:
    ignoring = (
        "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    )
    words = [sys.executable, "-c", ignoring, *command("record", "--seconds", "0.1")]
    done = subprocess.run(words, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)


def test_output_into_a_pipe_is_written_to_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        write_output_file(pipe, b"document")
        assert reader.communicate()[0] == b"document"
    assert pipe.is_fifo()


def test_only_verdicts_are_coloured() -> None:
    assert colour_verdicts("A  ✗ not-durable  x") == "A  \x1b[1;31m✗ not-durable\x1b[0m  x"
    assert colour_verdicts("✗ NOT DURABLE: x") == "\x1b[1;31m✗ NOT DURABLE\x1b[0m: x"
    assert colour_verdicts("! SUSPICIOUS  high") == "\x1b[1;33m! SUSPICIOUS\x1b[0m  high"
    assert colour_verdicts("✓ not slow  x") == "\x1b[1;32m✓ not slow\x1b[0m  x"
    assert colour_verdicts("✓  k3f9a1  fsync") == "\x1b[1;32m✓\x1b[0m  k3f9a1  fsync"
    assert colour_verdicts("it is slow, and not lost!") == "it is slow, and not lost!"


def test_no_color_is_respected() -> None:
    assert uses_colours({"TERM": "xterm"})
    assert not any(map(uses_colours, ({"TERM": "xterm", "NO_COLOR": "1"}, {"TERM": "dumb"}, {})))


@pytest.mark.parametrize(("no_colour", "coloured"), [("", True), ("1", False)])
def test_the_history_is_coloured_on_a_terminal(monkeypatch: pytest.MonkeyPatch, no_colour: str, coloured: bool) -> None:
    saved_runs.save(RUN)
    monkeypatch.setenv("NO_COLOR", no_colour)
    code, seen = on_a_terminal("history", stream="stdout")
    assert (code, b"\x1b[1;33m" in seen) == (0, coloured)
