"""What reaches a terminal, a pipe that nobody empties, a file."""

import fcntl
import json
import os
import pty
import signal
import stat
import subprocess
from pathlib import Path

import pytest

from fstui.cli.events import EventLines
from fstui.cli.output_file import put_file
from fstui.model import RunFinished, Snapshot, StepProgressed
from tests.unit.cli.conftest import command
from tests.unit.report.samples import RUN

PROGRESS = StepProgressed(
    snapshot=Snapshot(index=0, name="x", elapsed_s=1, length_s=2, ops=1, syncs=1, bytes=1, rate_per_s=1)
)


def on_a_terminal(call: list[str | bytes], until: bytes = b"", number: int = 0) -> tuple[int, bytes]:
    """Run with stderr on a terminal; send the signal once ``until`` was seen there. Exit code and what came there."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(call, stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    seen = b""
    try:
        while data := os.read(ours, 65536):
            seen += data
            if number and until in seen:
                process.send_signal(number)
                number = 0
    except OSError:  # EIO: the other side is closed
        pass
    os.close(ours)
    return process.wait(), seen


def test_on_a_terminal_a_bar_is_drawn_and_taken_away(scenario: str, target: Path) -> None:
    code, seen = on_a_terminal(command("run", scenario, str(target)))
    assert code == 0
    assert b"\x1b[?25l" in seen and seen.rindex(b"\x1b[?25h") > seen.rindex(b"\x1b[?25l")


def test_a_terminal_that_cannot_redraw_gets_lines_alone(
    scenario: str, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    code, seen = on_a_terminal(command("run", scenario, str(target)))
    assert code == 0
    assert b"\x1b" not in seen and b"fdatasync" in seen


def test_a_signal_leaves_the_terminal_with_its_cursor(scenario: str, target: Path) -> None:
    call = command("run", scenario, str(target), "--set", "seconds=60")
    code, seen = on_a_terminal(call, until=b"fdatasync", number=signal.SIGTERM)
    assert code == 143
    assert seen.rindex(b"\x1b[?25h") > seen.rindex(b"\x1b[?25l")


def test_a_reader_that_falls_behind_misses_progress_and_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    read_end, write_end = os.pipe()
    fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, 4096)
    os.write(write_end, b" " * 4096)
    lines = EventLines(Path(f"/proc/self/fd/{write_end}"))
    lines.write(PROGRESS)  # would wait for ever
    assert os.read(read_end, 8192) == b" " * 4096
    lines.write(PROGRESS)
    assert json.loads(os.read(read_end, 8192))["event"] == "StepProgressed"
    lines.close()
    os.close(read_end)
    os.close(write_end)


def test_a_reader_that_has_gone_is_noticed() -> None:
    read_end, write_end = os.pipe()
    lines = EventLines(Path(f"/proc/self/fd/{write_end}"))
    lines.write(PROGRESS)
    os.close(read_end)
    lines.write(RunFinished(run=RUN))
    lines.close()
    assert lines.reader_gone
    os.close(write_end)


def test_an_output_file_is_replaced_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    file, link = tmp_path / "run.json", tmp_path / "link.json"
    put_file(file, b"one")
    file.chmod(0o640)
    link.symlink_to(file)
    put_file(link, "two")
    assert (file.read_text(), link.is_symlink()) == ("two", True)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert not list(tmp_path.glob(".*"))


def test_output_into_a_pipe_is_written_to_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        put_file(pipe, b"document")
        assert reader.communicate()[0] == b"document"
    assert pipe.is_fifo()
