import fcntl
import os
import subprocess
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import psutil
import pytest

from fstui.model.rate_limit import RateLimit
from fstui.runs import caution
from tests.real import disks, headless, processes

MIB = 1 << 20


@contextmanager
def nearly_full(workshop: Path) -> Iterator[tuple[Path, dict[str, str]]]:
    """Make a directory with little space, and an environment without settings."""
    with disks.tmpfs(workshop) as storage:
        room = os.statvfs(storage.directory)
        with (storage.directory / "others").open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, int(0.92 * room.f_blocks * room.f_frsize))
        yield storage.directory, {name: value for name, value in os.environ.items() if name != caution.YES_VARIABLE}


def test_rate_limit_is_kept_and_the_result_is_never_slow(workshop: Path) -> None:
    with disks.on_loop(workshop) as storage:
        words = ("--set", "seconds=1", "--max-rate", "512K", "--idle", "--medium", "ssd")
        with headless.started_run(headless.scenario_file(workshop), storage.directory, *words) as process:
            for probe in processes.children_running(process.pid, "sync_writes"):
                assert (probe.nice(), probe.ionice().ioclass) == (19, psutil.IOPRIO_CLASS_IDLE)
            exit_code, run, told = headless.finish(process)
    (step,) = run.steps
    assert exit_code == 0 and step.status in {"finished", "disturbed"}
    assert step.ops > 1 and step.bytes <= step.elapsed_s * MIB / 2 + step.settings.as_dict()["block_bytes"]
    assert step.prepare_s > 1.0, "its file of 1 MiB took two seconds at that rate"
    assert run.rate_limit == RateLimit(bytes_per_s=MIB // 2, idle=True)
    assert run.speed.answer == "unknown" and "--max-rate" in run.speed.sentence
    assert "at most 512 KiB/s" in told and "idle I/O class" in told


def test_bytes_at_the_lowest_device_are_in_the_document(workshop: Path) -> None:
    with disks.on_loop(workshop) as storage:
        run = headless.measure(headless.scenario_file(workshop), storage)
    assert run.target
    (lowest,) = run.target.lowest
    assert run.wear_bytes[lowest.id] >= run.steps[0].bytes > 0
    shown = headless.call("show", run.id).stdout.decode()
    assert f"The devices received from all processes: {lowest.id} " in " ".join(shown.split())


COMMANDS = {
    "run": (("run", "{scenario}", "{directory}", "--set", "seconds=0.1"), b"Run it anyway?", b""),
    "powercut write": (
        ("powercut", "write", "{directory}", "--set", "file=131072", "--set", "seconds=0.1"), b"Write anyway?", b"ack ",
    ),
}  # fmt: skip
"""The words of each command that writes, its question, and what it prints."""


def words_of(command: str, workshop: Path, directory: Path) -> list[str]:
    scenario = headless.scenario_file(workshop)
    return [word.format(scenario=scenario, directory=directory) for word in COMMANDS[command][0]]


@pytest.mark.parametrize("command", COMMANDS)
def test_low_space_is_refused_until_confirmed(workshop: Path, command: str) -> None:
    with nearly_full(workshop) as (directory, environment):
        words = words_of(command, workshop, directory)
        refused = headless.call(*words, environment=environment)
        assert refused.returncode == 2
        assert b"will remain free during the run" in refused.stderr and b"--yes" in refused.stderr
        assert [path.name for path in directory.iterdir()] == ["others"]
        confirmed = headless.call(*words, "--yes", environment=environment)
        assert confirmed.returncode == 0 and COMMANDS[command][2] in confirmed.stdout


def _interrupted(process: subprocess.Popen[bytes], hands: IO[bytes]) -> int:
    """Answer a question with Ctrl-C, and repeat it if the first came before the question waited for a key."""
    for _ in range(5):
        hands.write(b"\x03")
        with suppress(subprocess.TimeoutExpired):
            return process.wait(10)
    process.kill()
    return process.wait()


@contextmanager
def asking(words: list[str], question: bytes, environment: dict[str, str]) -> Iterator[IO[bytes]]:
    """Start fstui on a terminal, up to its question. It is ended with Ctrl-C."""
    master, terminal = os.openpty()
    with os.fdopen(master, "r+b", buffering=0) as hands:
        process = subprocess.Popen(
            [headless.FSTUI, *words], stdin=terminal, stdout=subprocess.DEVNULL, stderr=terminal, env=environment,
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509  no threads here
        )  # fmt: skip
        os.close(terminal)
        seen = b""
        while question not in seen:
            seen += hands.read(4096)
        yield hands
        assert _interrupted(process, hands) == 130


@pytest.mark.parametrize("command", COMMANDS)
def test_ctrl_c_leaves_a_question(workshop: Path, command: str) -> None:
    with nearly_full(workshop) as (directory, environment):
        with asking(words_of(command, workshop, directory), COMMANDS[command][1], environment):
            pass
        assert [path.name for path in directory.iterdir()] == ["others"]


def test_ctrl_c_leaves_the_question_for_the_host_name(workshop: Path) -> None:
    if workshop.stat().st_dev != Path("/").stat().st_dev:
        pytest.skip("the temporary directory is on another filesystem than /")
    here = workshop / "here"
    here.mkdir()
    with asking(["powercut", "write", str(here), "--yes"], b"Type the name of this host", dict(os.environ)) as hands:
        hands.write(b"anoth")
    assert not any(here.iterdir())
