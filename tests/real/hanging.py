"""A filesystem that hangs on request, and how each command of fstui behaves next to it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from fstui.model.documents import encode
from tests.factories.samples import RUN
from tests.real import disks, hanging_fuse
from tests.real.headless import FSTUI
from tests.real.processes import eventually

CALLS = hanging_fuse.CALLS
PLACES = ("home", "state", "target", "another")
COMMANDS: dict[str, tuple[str, ...]] = {
    "list": ("list",),
    "scenarios": ("scenarios",),
    "history": ("history",),
    "show": ("show", "last"),
    "judge": ("judge", "last"),
    "compare": ("compare", "last", "last"),
    "explain": ("explain", "flushes-arrive"),
    "references": ("references",),
    "schema": ("schema",),
    "clean": ("clean",),
    "watch": ("watch", "--seconds", "1", "--mount", "{target}"),
    "check": ("check", "{target}", "--yes"),
    "run": ("run", "fsync-rate", "{target}", "--set", "seconds=0.3"),
    "run --output": ("run", "fsync-rate", "{plain}", "--set", "seconds=0.3", "--output", "{target}/run.json"),
}
STATE = ".local/state"
BY_ITSELF_S, AFTER_SIGNAL_S = 40.0, 20.0
"""Seconds that a command has to end, and then after each of two SIGTERM."""


class Mount(NamedTuple):
    """A filesystem that hangs on request. ``behind`` is the directory that it passes calls to."""

    point: Path
    behind: Path
    command_file: Path
    within: tuple[str, ...]

    def hang(self, call: str = "") -> None:
        """Hang at this kind of call from now on; with an empty string, at none."""
        self.command_file.write_text(call)


@contextmanager
def hanging_mount(workshop: Path, server_program: str = hanging_fuse.__file__) -> Iterator[Mount]:
    disks.require_kernel("fuse")
    point, behind, command_file = (workshop / name for name in ("mount", "behind", "command"))
    point.mkdir()
    behind.mkdir()
    command_file.touch()
    made = map(str, (point, behind, command_file))
    words = [disks.tool("unshare"), "--mount", sys.executable, server_program, *made]
    environment = {**os.environ, "FUSE_LIBRARY_NAME": "fuse3"}  # mfusepy would otherwise prefer libfuse 2
    server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    try:
        assert server.stdout and server.stdout.readline() == "mounted\n"
        yield Mount(point, behind, command_file, (disks.tool("nsenter"), f"--target={server.pid}", "--mount"))
    finally:
        server.kill()  # closing the connection ends every call that still waits in it
        server.communicate()


@contextmanager
def unresponsive_mount(workshop: Path) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Make a mount that never responds. Yield it, and the prefix of a command that sees it."""
    with hanging_mount(workshop) as mount:
        mount.hang("all")
        yield mount.point, mount.within


class Row(NamedTuple):
    """How a command ended."""

    command: str
    status: int | None
    """Its exit status; None if it did not end at all."""
    signals: int
    """The number of SIGTERM that were needed."""
    took_s: float
    """Time since the start of the command, or since the last signal."""
    said: str

    @property
    def well(self) -> bool:
        """Whether it ended by itself or after at most two signals, and printed a sentence."""
        return self.status is not None and "Traceback" not in self.said and "unexpected" not in self.said

    @property
    def line(self) -> str:
        how = "never" if self.status is None else ("by itself", "after SIGTERM", "after the second one")[self.signals]
        words = [word for word in self.said.splitlines() if "fstui:" in word or "not answer" in word]
        return f"{self.command:14}{how:22}{self.took_s:6.1f} s  {self.status!s:5}{'; '.join(words)[:160]}"


def run_all(mount: Mount, place: str, call: str, commands: Sequence[str] = tuple(COMMANDS)) -> list[Row]:
    """Run these commands at the same time while the filesystem hangs at that call."""
    plain = mount.behind.parent / "plain"
    target, environment = _settled(mount, place)
    words = {name: [word.format(target=target, plain=plain / "target") for word in COMMANDS[name]] for name in commands}
    mount.hang(call)
    try:
        begun = {name: _start(mount, arguments, environment) for name, arguments in words.items()}
        with ThreadPoolExecutor(max(1, len(begun))) as waiting:
            return list(waiting.map(_ended, begun.keys(), begun.values()))
    finally:
        mount.hang()


def stop_midway(mount: Mount, place: str, call: str) -> Row:
    """Start a run, let its filesystem hang once the first step writes, and stop it at its next event."""
    directory, environment = _settled(mount, place)
    words = [FSTUI, "run", "fsync-rate", str(directory), "--set", "seconds=0.5", "--format", "events"]
    story = mount.behind.parent / f"story-{time.monotonic_ns()}"
    with story.open("wb") as errors:
        process = subprocess.Popen(
            [*mount.within, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, env=environment
        )
    try:
        _heard(process, "StepStarted")
        mount.hang(call)
        _heard(process, "StepFinished" if place != "target" else "")
        process.send_signal(signal.SIGTERM)
        row = _ended("run", _Begun(process, story, time.monotonic()), AFTER_SIGNAL_S)
        return row._replace(signals=row.signals + 1)
    finally:
        mount.hang()
        process.kill()
        process.communicate()


def _heard(process: subprocess.Popen[bytes], event: str) -> None:
    """Read up to an event of that name, or up to the end."""
    assert process.stdout
    for line in process.stdout:
        if event in ("", json.loads(line)["event"]):
            return
    raise AssertionError(f"it ended without {event or 'a word'}")


def leftovers_after_clean(mount: Mount) -> list[Path]:
    """Run ``fstui clean`` for every home after the mount works again. Return what is left in both targets."""
    plain = mount.behind.parent / "plain"
    for state in (plain / STATE, mount.point / STATE):
        words = [*mount.within, "env", f"HOME={plain}", f"XDG_STATE_HOME={state}", FSTUI, "clean"]
        subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)

    def left() -> list[Path]:
        return [*mount.behind.glob("target/.fstui-*"), *plain.glob("target/.fstui-*")]

    eventually(lambda: not left())
    return left()


def _settled(mount: Mount, place: str) -> tuple[Path, dict[str, str]]:
    """Return the target, and an environment with the home in the right place."""
    plain = mount.behind.parent / "plain"
    for home in (_home(where) for where in (mount.behind, plain)):
        (home / "target").mkdir(exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    environment["HOME"] = str(mount.point if place == "home" else plain)
    if place == "state":
        environment["XDG_STATE_HOME"] = str(mount.point / STATE)
    return (mount.point if place == "target" else plain) / "target", environment


def _home(directory: Path) -> Path:
    runs = directory / STATE / "fstui" / "runs"
    shutil.rmtree(runs, ignore_errors=True)
    runs.mkdir(parents=True, mode=0o700)
    (runs / f"20261120-031244-{RUN.id}.json").write_bytes(encode(RUN))
    return directory


class _Begun(NamedTuple):
    process: subprocess.Popen[bytes]
    said: Path
    """The file with its output. Hanging children would keep a pipe open."""
    since: float


def _start(mount: Mount, arguments: Sequence[str], environment: dict[str, str]) -> _Begun:
    said = mount.behind.parent / f"said-{time.monotonic_ns()}"
    with said.open("wb") as output:
        process = subprocess.Popen(
            [*mount.within, FSTUI, *arguments], stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment
        )
    return _Begun(process, said, time.monotonic())


def _ended(name: str, begun: _Begun, by_itself_s: float = BY_ITSELF_S) -> Row:
    since, signals = begun.since, 0
    patience_s = by_itself_s - (time.monotonic() - since)
    while begun.process.poll() is None:
        try:
            begun.process.wait(max(0.1, patience_s))
        except subprocess.TimeoutExpired:
            if signals == 2:
                begun.process.kill()
                return Row(name, None, signals, time.monotonic() - since, begun.said.read_text())
            begun.process.send_signal(signal.SIGTERM)
            signals, since, patience_s = signals + 1, time.monotonic(), AFTER_SIGNAL_S
    return Row(name, begun.process.returncode, signals, time.monotonic() - since, begun.said.read_text())
