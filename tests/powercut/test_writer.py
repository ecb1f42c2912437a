"""The real writer, read like a witness does."""

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import psutil
import pytest

from fstui.cli import powercut
from fstui.measure.wire.own_directory import POWER_CUT_PREFIX
from fstui.model.errors import Refused
from fstui.powercut import log as lines
from fstui.powercut import power_cuts
from fstui.powercut.log import Log
from fstui.powercut.records import END_REASON_FILE, Stream, unpack
from fstui.report import formats
from fstui.report.characters import escape_controls
from fstui.state import ledger
from tests import prefork
from tests.factories import saved_runs

HOST = os.uname().nodename.strip()
Write = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "target").mkdir()
    return tmp_path / "target"


@pytest.fixture
def write(target: Path) -> Iterator[Write]:
    """Start a writer; whatever is left of it at the end is killed.

    Unbuffered: communicate() reads past what a buffer holds.
    """
    started: list[subprocess.Popen[bytes]] = []

    def begin(*options: str) -> subprocess.Popen[bytes]:
        small = ("--set", "file=131072", "--root-of", HOST)
        words = ["powercut", "write", str(target), *small, *options]
        process: subprocess.Popen[bytes] = prefork.Forked(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess, ValueError):
            cut(process)
        process.kill()
        process.communicate()


def lines_until(process: subprocess.Popen[bytes], enough: Callable[[Log], bool]) -> tuple[Log, bytes]:
    """Read lines until the condition is true."""
    assert process.stdout
    header = process.stdout.readline()
    if not header:
        assert process.stderr
        raise AssertionError(process.stderr.read().decode())
    data, log = header, Log(lines.parse_header(header))
    while not enough(log):
        line = process.stdout.readline()
        assert line, "the writer ended early"
        log.add(line[:-1])
        data += line
    return log, data


def stopped(writer: subprocess.Popen[bytes], enough: Callable[[Log], bool]) -> Log:
    """Stop the writer once the condition is true, and return all that it has printed."""
    log, _ = lines_until(writer, enough)
    writer.send_signal(signal.SIGTERM)
    for line in writer.communicate()[0].splitlines():
        log.add(line)
    return log


def probe_of(writer: subprocess.Popen[bytes]) -> int:
    """Return the first process of the writer, the leader of its session."""
    (probe,) = psutil.Process(writer.pid).children()
    return probe.pid


def cut(writer: subprocess.Popen[bytes]) -> bytes:
    """Kill all processes at once, like a power cut. Return the output that was not yet read."""
    os.killpg(probe_of(writer), signal.SIGKILL)
    return writer.communicate()[0]


def rest_of(stream: IO[bytes] | None) -> bytes:
    assert stream
    return stream.read()


def each_writer(records: int) -> Callable[[Log], bool]:
    return lambda log: (
        len(log.writers) == len(log.header["streams"])
        and all(len(writer.at_ms) >= records for writer in log.writers.values())
    )


EVERY_WAY = ("--set", "sync=fsync,fdatasync,O_DSYNC,O_DIRECT+O_DSYNC", "--set")


@pytest.mark.parametrize("writes", ["overwrite", "append", "create", "create-no-dirsync", "rename"])
def test_acknowledged_records_exist_for_every_method(write: Write, writes: str) -> None:
    log = stopped(write(*EVERY_WAY, f"writes={writes}"), each_writer(40))
    directory = Path(log.header["directory"])
    assert {stream[1] for stream in log.header["streams"]} == {"fsync", "fdatasync", "O_DSYNC", "O_DIRECT+O_DSYNC"}
    for fields in log.header["streams"]:
        of = Stream(*fields)
        acknowledged = log.writers[of.writer]
        assert acknowledged.first_sequence == of.first_sequence
        number, offset = of.position(acknowledged.last_sequence)
        block = (directory / f"w{of.writer}" / str(number)).read_bytes()[offset : offset + of.block_bytes]
        found = unpack(block)
        assert found.kind == "intact" and found.sequence >= acknowledged.last_sequence


def test_header_is_the_first_line_and_complete(write: Write, target: Path) -> None:
    log, _ = lines_until(write("--set", "writes=append", "--set", "writers=3"), lambda log: log.ack_count > 0)
    header = log.header
    assert header["directory"] == str(target / f"{POWER_CUT_PREFIX}{header['run']}")
    assert header["boot"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert header["host"]["hostname"] == HOST
    assert header["target"]["identity"] and header["target"]["stack"]
    assert [stream[0] for stream in header["streams"]] == [0, 1, 2]
    assert header["scenario"]["settings"]["writes"] == ["append"]


def test_old_files_are_removed_after_newer_acknowledgements(write: Write) -> None:
    log = stopped(write("--set", "writes=create"), each_writer(100))
    there = sorted(int(path.name) for path in Path(log.header["directory"], "w0").iterdir())
    kept = Stream(*log.header["streams"][0]).kept_files
    assert there == list(range(there[0], there[-1] + 1))
    assert there[-1] >= log.writers[0].last_sequence
    assert kept <= len(there) <= kept + 1


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_stop_is_reported_and_marked_on_disk(write: Write, number: signal.Signals, code: int) -> None:
    writer = write()
    log, _ = lines_until(writer, lambda log: log.ack_count > 3)
    writer.send_signal(number)
    out, story = writer.communicate()
    reason = f"stopped by {number.name}"
    assert writer.returncode == code
    assert out.endswith(f" {reason}\n".encode())
    assert (Path(log.header["directory"]) / END_REASON_FILE).read_text() == reason
    assert reason in story.decode() and "--pending" in story.decode()


def test_writer_ends_after_its_seconds(write: Write) -> None:
    writer = write("--set", "seconds=0.2")
    out, _ = writer.communicate()
    assert writer.returncode == 0
    assert lines.parse(out).end_reason == "its time limit expired"


def test_writer_ends_when_its_reader_goes_away(write: Write) -> None:
    writer = write()
    log, _ = lines_until(writer, lambda log: log.ack_count > 3)
    assert writer.stdout
    writer.stdout.close()
    assert writer.wait() == 141
    assert "gone" in (Path(log.header["directory"]) / END_REASON_FILE).read_text()


def test_signs_of_life_continue_without_acknowledgements(write: Write) -> None:
    writer = write("--set", "pace=1", "--set", "writes=append")
    assert writer.stdout
    lines = [writer.stdout.readline() for _ in range(6)]
    assert sum(line.startswith(b"alive ") for line in lines) >= 2


def test_clean_keeps_an_unverified_directory(write: Write) -> None:
    writer = write()
    log, data = lines_until(writer, lambda log: log.ack_count > 10)
    directory = Path(log.header["directory"])
    assert [entry.what for entry in ledger.entries()] == [str(directory)]
    cut(writer)
    assert [entry.what for entry in power_cuts.leftovers().unverified_cuts] == [str(directory)]
    assert power_cuts.leftovers().removable == []

    cleaned = prefork.run("clean")
    assert cleaned.returncode == 0
    assert b"was not verified" in cleaned.stderr and directory.is_dir()

    words = ("powercut", "verify", directory.parent, "--storage-was-cut", "--format", "json")
    verified = prefork.run(*words, data=data)
    assert json.loads(verified.stdout)["verdict"] == "kept"
    assert power_cuts.leftovers().unverified_cuts == []
    assert prefork.run("clean").returncode == 0
    assert not directory.exists() and ledger.entries() == []


def test_clean_pending_removes_unverified_directories(write: Write, target: Path) -> None:
    write("--set", "seconds=0.1").communicate()
    assert len(list(target.iterdir())) == 1
    assert prefork.run("clean", "--pending").returncode == 0
    assert list(target.iterdir()) == []


def test_killing_the_writer_ends_all_its_processes(write: Write) -> None:
    """No process continues to write after the first one has died."""
    writer = write()
    lines_until(writer, lambda log: log.ack_count > 3)
    os.kill(probe_of(writer), signal.SIGKILL)
    rest_of(writer.stdout)  # ends when the last process has closed it
    assert writer.wait() == 1
    assert b"killed" in rest_of(writer.stderr)


def refused(*words: str) -> str:
    done = prefork.run("powercut", *words)
    assert done.returncode == 2, done.stderr
    assert done.stdout == b""
    return done.stderr.decode()


def test_unwritable_directory_is_refused(target: Path) -> None:
    root = ("--root-of", HOST)
    assert "No such file" in refused("write", str(target / "none"), *root)
    assert "sync must be one of" in refused("write", str(target), "--set", "sync=none", *root)
    assert list(target.iterdir()) == [] and ledger.entries() == []


@pytest.mark.root
def test_root_filesystem_requires_the_host_name() -> None:
    for words in ((), ("--root-of", "another"), ("--root-of", "")):
        assert f"--root-of {escape_controls(HOST)}" in refused("write", "/", *words)
    assert not [name for name in os.listdir("/") if name.startswith(POWER_CUT_PREFIX)]


@pytest.mark.parametrize("typed", ["a\x1b[31m", r"a\x1b[31m"])
def test_host_name_is_accepted_as_it_is_printed(typed: str) -> None:
    header: Any = SimpleNamespace(host=SimpleNamespace(hostname="a\x1b[31m"), target=SimpleNamespace(path="/"))
    powercut._confirm_root(SimpleNamespace(header=header), "", typed)  # type: ignore[arg-type]
    with pytest.raises(Refused):
        powercut._confirm_root(SimpleNamespace(header=header), "", "a")  # type: ignore[arg-type]


def test_run_refuses_the_power_cut_test(target: Path) -> None:
    done = prefork.run("run", "power-cut", target)
    assert done.returncode == 2
    assert b"witness" in done.stderr
    assert list(target.iterdir()) == []


def test_verify_exit_statuses(write: Write, target: Path) -> None:
    writer = write()
    _, data = lines_until(writer, lambda log: log.ack_count > 10)
    cut(writer)
    for option, code in (("lost", 0), ("kept", 3)):
        done = prefork.run("powercut", "verify", target, "--storage-was-cut", "--fail-on", option, data=data)
        assert done.returncode == code
        assert b"KEPT" in done.stdout


def test_every_format_shows_a_loss(write: Write, target: Path) -> None:
    writer = write()
    log, data = lines_until(writer, each_writer(3))
    rest = cut(writer)  # old files are removed by then
    data += rest
    for line in rest.splitlines():
        log.add(line)
    (Path(log.header["directory"]) / "w2" / str(log.writers[2].last_sequence)).unlink()
    done = prefork.run("powercut", "verify", target, "--storage-was-cut", data=data)
    assert b"LOST" in done.stdout
    verified = saved_runs.load("last")
    silent = [name for name in formats.names() if "lost" not in str(formats.render(name, verified)).lower()]
    assert silent == ["seconds"]
