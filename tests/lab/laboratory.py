"""A machine of the laboratory at work: its backing, its stack, and a place for its files."""

from __future__ import annotations

import os
import shlex
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from fstui.model import Confidence, Run, Verdict
from tests.lab.backing import Backing
from tests.lab.image import Image, build
from tests.lab.machine import MOUNT, LabMachine
from tests.lab.payload import payload
from tests.lab.recipe import RECIPES
from tests.lab.vm import GuestError, Vm

RUN_S = 300.0
ROOM_BYTES = 4 * 2**30


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What fstui said of a machine from measurement alone."""

    verdict: Verdict
    confidence: Confidence
    sentence: str
    rules: list[str]
    """Each finding as "rule verdict confidence"."""
    elapsed_s: float


class Laboratory:
    """Images, fstui's wheel of now, and a directory in memory if there is room (disks in files are as good)."""

    def __init__(self, directory: Path, say: Callable[[str], None]) -> None:
        self.directory = directory
        self._say = say
        self._payload = payload(directory)
        self._images: dict[str, Image] = {}

    def image(self, name: str) -> Image:
        if name not in self._images:
            self._images[name] = build(RECIPES[name])
        return self._images[name]

    @contextmanager
    def backing(self, name: str, machine: LabMachine) -> Iterator[Backing]:
        """The machine's empty disks, for as long as the context lasts."""
        directory = self.directory / name
        directory.mkdir()
        backing = Backing(directory, machine.disks)
        try:
            yield backing
        finally:
            backing.kill()
            remove(directory)

    @contextmanager
    def running(self, name: str, machine: LabMachine, backing: Backing, state: Path | None = None) -> Iterator[Vm]:
        """The machine, booted; killed when the context ends. Raises GuestError."""
        began = time.monotonic()
        with Vm(self.image(machine.image), self._payload, self.directory / name, machine.disks, state) as vm:
            self._say(f"{name}: up after {time.monotonic() - began:.0f} s")
            yield vm

    def measure(self, name: str, machine: LabMachine) -> Measured:
        """``fstui run`` on the machine's stack, freshly made. Raises GuestError."""
        began = time.monotonic()
        with self.backing(name, machine) as backing:
            backing.start()
            with self.running(name, machine, backing) as vm:
                make(vm, machine)
                attach(vm, machine)
                run = _run(vm, machine)
        (self.directory / f"{name}.json").write_bytes(msgspec.json.encode(run))
        return Measured(
            verdict=run.verdict, confidence=run.confidence, sentence=run.sentence, elapsed_s=time.monotonic() - began,
            rules=[f"{found.rule} {found.verdict or 'note'} {found.confidence}" for found in run.findings],
        )  # fmt: skip


def make(vm: Vm, machine: LabMachine) -> None:
    for command in machine.stack.make:
        vm.must(f"data={MOUNT}; {command}")


def attach(vm: Vm, machine: LabMachine) -> None:
    vm.must(f"mkdir -p {MOUNT}")
    for command in machine.stack.attach:
        vm.must(f"data={MOUNT}; {command}")


def _run(vm: Vm, machine: LabMachine) -> Run:
    command = ["fstui", "run", machine.scenario, MOUNT, *machine.declare, "--format", "json"]
    for setting in machine.settings:
        command += ["--set", setting]
    answer = vm.run(shlex.join(command), timeout_s=RUN_S, environment=machine.environment)
    try:
        return msgspec.json.decode(answer.stdout, type=Run)
    except msgspec.MsgspecError:
        raise GuestError(f"fstui run: exit {answer.status}\n{answer.stdout}{answer.stderr}".rstrip()) from None


@contextmanager
def laboratory(say: Callable[[str], None]) -> Iterator[Laboratory]:
    """Raises LabUnavailable where it cannot run here."""
    shared = Path("/dev/shm")
    room = shared.is_dir() and os.statvfs(shared).f_bavail * os.statvfs(shared).f_frsize > ROOM_BYTES
    with tempfile.TemporaryDirectory(prefix="fstui-lab-", dir=shared if room else None) as directory:
        yield Laboratory(Path(directory), say)


def remove(directory: Path) -> None:
    for file in directory.iterdir():
        file.unlink()
    directory.rmdir()
