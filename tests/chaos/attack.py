"""One attack: start fstui, send it a signal or cause a fault, and check what is left before and after ``clean``."""

import random
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

import psutil

from tests.chaos.place import Left, Place
from tests.real.headless import FSTUI

SIGNALS = tuple(
    getattr(signal, f"SIG{name}")
    for name in ("KILL", "TERM", "INT", "HUP", "QUIT", "SEGV", "ABRT", "USR1", "PIPE", "ALRM", "BUS")
)
VICTIMS = ("the app", "a child", "all at once")
SHORT = {
    "sustained": ("file=8388608",),
    "sysbench-oltp": ("rows=1000", "workload=oltp_update_index", "durability=high"),
    "latency-watch": (),
}
_COMMANDS = ("check", "watch", "fleet")
_SSH = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
exec sh -c "$3"
"""
"""All hosts of the fleet are this host."""
GOES_ON_S = 1.5
"""How long after the attack a user waits before ending the run."""
ORPHANS_S = 20.0
ANSWER_S = 0.05


class Attacked(NamedTuple):
    left: Left
    """What is left after the patience of the attack."""
    after_clean: Left
    code: int | None
    said: str
    """The last line of its output."""
    cleaned: str
    """The errors that ``fstui clean`` printed."""


class Kill(NamedTuple):
    """Which signal is sent to which process, and when."""

    number: int
    command: tuple[str, ...]
    after_s: float
    victim: str
    signal: signal.Signals
    chance: random.Random

    def __str__(self) -> str:
        what = " ".join(self.command[:2])
        return f"{self.number:>4}  {what:<22} {self.after_s:>5.2f} s  {self.signal.name:<8} {self.victim}"


def kills(seed: int, how_many: int, scenarios: tuple[str, ...]) -> Iterator[Kill]:
    """Yield random attacks, which are the same for the same seed."""
    for number in range(how_many):
        chance = random.Random(f"{seed} {number}")
        what = chance.choice((*scenarios, *scenarios, *_COMMANDS))
        command = (what,) if what in _COMMANDS else ("run", what)
        seconds = 12.0 if what == "sysbench-oltp" else 4.0
        yield Kill(
            number, command, chance.uniform(0.05, seconds), chance.choice(VICTIMS), chance.choice(SIGNALS), chance
        )


def words_of(place: Place, kill: Kill) -> list[str]:
    match kill.command:
        case ("run", scenario):
            server = (f"server={kill.chance.choice(('mariadb', 'postgresql'))}",) if "oltp" in scenario else ()
            settings = ("seconds=1", *SHORT.get(scenario, ()), *server)
            pairs = [word for setting in settings for word in ("--set", setting)]
            return ["run", scenario, str(place.directory), *pairs, "--format", "json"]
        case ("check",):
            return ["check", str(place.directory)]
        case ("fleet",):
            ssh = place.workshop / "ssh"
            ssh.write_text(_SSH)
            ssh.chmod(0o755)
            asked = ["fleet", "run", "fsync-rate", str(place.directory), "--set", "seconds=1", "--nodes", "box[1-2]"]
            return [*asked, "--installed", FSTUI, "--ssh", str(ssh), "--into", f"{place.workshop}/fleet-{kill.number}"]
        case _:
            return ["watch", "--format", "events"]


def carry_out(place: Place, kill: Kill, patience_s: float) -> Attacked:
    """Start fstui, wait, and send the signal."""

    def strike(process: subprocess.Popen[bytes]) -> None:
        wait(place, process, kill.after_s)
        family = place.family()
        victims = {
            "the app": [one for one in family if one.pid == process.pid],
            "a child": [kill.chance.choice(others)] if (others := [f for f in family if f.pid != process.pid]) else [],
            "all at once": family,
        }[kill.victim]
        for one in victims:
            with suppress(psutil.Error):
                one.send_signal(kill.signal)
        wait(place, process, GOES_ON_S)  # after the death of a child, or a signal that it ignores
        with suppress(ProcessLookupError):
            process.terminate()

    return attack(place, words_of(place, kill), strike, patience_s)


def attack(
    place: Place,
    words: list[str],
    strike: Callable[[subprocess.Popen[bytes]], None],
    patience_s: float,
    *,
    heal: Callable[[], object] = lambda: None,
    again: Callable[[], object] = lambda: None,
    within: tuple[str, ...] = (),
    environment: dict[str, str] | None = None,
) -> Attacked:
    """Start fstui, attack it, wait, repair the host, clean, and check.

    ``heal`` repairs the host before fstui has ended, ``again`` what can be repaired only afterwards.
    """
    story = place.workshop / "story"
    with story.open("wb") as stderr:
        process = subprocess.Popen(
            [*within, FSTUI, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr,
            env={**place.environment, **(environment or {})}, start_new_session=True, preexec_fn=_no_core,  # noqa: PLW1509
        )  # fmt: skip
    try:
        strike(process)
        left = _soon(place, process, patience_s)
    finally:
        heal()
        code = _ended(place, process)
        again()
    cleaned = subprocess.run(
        [FSTUI, "clean"], env={**place.environment, "FSTUI_CHAOS": "clean"}, capture_output=True, text=True, check=False
    )
    said = story.read_text(errors="replace").strip().splitlines()
    return Attacked(
        left, place.left(), code, said[-1] if said else "", "" if cleaned.returncode == 0 else cleaned.stderr.strip()
    )


def wait(place: Place, process: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait this long, or until fstui ends, and record the processes it starts."""
    until = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < until:
        place.watch(process.pid)
        time.sleep(ANSWER_S)


def _soon(place: Place, process: subprocess.Popen[bytes], patience_s: float) -> Left:
    """Return what is left at the end of the time, or nothing as soon as nothing is left."""
    until = time.monotonic() + patience_s
    while True:
        process.poll()
        if not (left := place.left()) or time.monotonic() > until:
            return left
        time.sleep(ANSWER_S)


def _ended(place: Place, process: subprocess.Popen[bytes]) -> int | None:
    """Return its exit status. Kill it after a while, because ``clean`` ignores running runs."""
    until = time.monotonic() + ORPHANS_S
    while place.family() and time.monotonic() < until:
        process.poll()
        time.sleep(ANSWER_S)
    for one in place.family():
        with suppress(psutil.Error):
            one.kill()
    return process.poll()


def _no_core() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
