"""A machine of the laboratory at work: its backing, its stack, and a place for its files."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from fstui.judge import judge
from fstui.measure.kinds.documents import decode_run
from fstui.model.judgement import Confidence, Verdict
from tests.lab.backing import Backing
from tests.lab.image import Image, build, cached
from tests.lab.machine import MOUNT, LabMachine
from tests.lab.payload import payload
from tests.lab.recipe import RECIPES, Kernel, Kind
from tests.lab.vm import GuestError, Vm

RUN_S = 300.0
BEGUN = f"until compgen -G '{MOUNT}/.fstui-*'; do sleep 0.5; done"
DURING, FAILED = "/run/during.log", "/run/during.failed"
ROOM_BYTES = 4 * 2**30


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A finding of the run document, as far as the laboratory asks."""

    rule: str
    verdict: Verdict | None
    confidence: Confidence


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """The run document that the command line prints, as far as the laboratory asks."""

    verdict: Verdict
    confidence: Confidence
    sentence: str
    findings: list[Finding]


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What fstui said of a machine from measurement alone."""

    verdict: Verdict
    confidence: Confidence
    sentence: str
    rules: list[str]
    """Each finding as "rule verdict confidence"."""
    elapsed_s: float


class Laboratory:
    """Images with one kernel, fstui's wheel of now, and a directory for the disks."""

    def __init__(self, directory: Path, kernel: Kernel, say: Callable[[str], None], patience: float) -> None:
        self.directory = directory
        self._patience = patience
        self.kernel: Kernel = kernel
        self._say = say
        self._payload = payload(directory, cached(RECIPES[kernel]["base"]))
        self._images: dict[Kind, Image] = {}

    def image(self, kind: Kind) -> Image:
        if kind not in self._images:
            self._images[kind] = build(RECIPES[self.kernel][kind])
        return self._images[kind]

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
            shutil.rmtree(directory)

    @contextmanager
    def running(self, name: str, machine: LabMachine, backing: Backing, state: Path | None = None) -> Iterator[Vm]:
        """The machine, booted; killed when the context ends. Raises GuestError."""
        began = time.monotonic()
        image, directory = self.image(machine.image), self.directory / name
        with Vm(image, self._payload, directory, machine, state, patience=self._patience) as vm:
            self._say(f"{name}: up after {time.monotonic() - began:.0f} s")
            yield vm

    def measure(self, name: str, machine: LabMachine) -> tuple[Measured, bytes]:
        """``fstui run`` on the machine's stack, freshly made, and the document it printed. Raises GuestError."""
        began = time.monotonic()
        with self.backing(name, machine) as backing:
            backing.start()
            with self.running(name, machine, backing) as vm:
                make(vm, machine)
                attach(vm, machine)
                document = _run(vm, machine)
        return _measured(judged(document), time.monotonic() - began), document


def judged_again(document: bytes, elapsed_s: float) -> Measured:
    """What this checkout's rules make of a saved document; what was seen stays as it was."""
    judgement = judge(decode_run(document))
    return _measured(msgspec.convert(judgement, Judged, from_attributes=True), elapsed_s)


def _measured(run: Judged, elapsed_s: float) -> Measured:
    rules = [f"{found.rule} {found.verdict or 'note'} {found.confidence}" for found in run.findings]
    return Measured(
        verdict=run.verdict, confidence=run.confidence, sentence=run.sentence, rules=rules, elapsed_s=elapsed_s
    )


def make(vm: Vm, machine: LabMachine) -> None:
    for command in machine.stack.make:
        vm.must(f"data={MOUNT}; {command}")


def attach(vm: Vm, machine: LabMachine) -> None:
    vm.must(f"mkdir -p {MOUNT}")
    for command in machine.stack.attach:
        vm.must(f"data={MOUNT}; {command}")


def judged(document: bytes | str) -> Judged:
    """Raises GuestError for what is no run document."""
    try:
        return msgspec.json.decode(document, type=Judged)
    except msgspec.MsgspecError as error:
        raise GuestError(f"no run document: {error}\n{document!r:.2000}") from error


def _run(vm: Vm, machine: LabMachine) -> bytes:
    command = ["fstui", "run", machine.scenario, MOUNT, "--trust-dir", "--yes", *machine.declare, "--format", "json"]
    for setting in machine.settings:
        command += ["--set", setting]
    for background in machine.stack.during:
        vm.must(f"({BEGUN}; data={MOUNT}; {background} || touch {FAILED}) </dev/null >{DURING} 2>&1 &")
    answer = vm.run(shlex.join(command), timeout_s=RUN_S, environment=machine.environment)
    vm.must(f"! [ -e {FAILED} ] || {{ cat {DURING}; false; }}")
    if not answer.stdout:
        raise GuestError(f"fstui run: exit {answer.status}\n{answer.stderr}".rstrip())
    return answer.stdout.encode()


@contextmanager
def laboratory(kernel: Kernel, say: Callable[[str], None], patience: float = 1.0) -> Iterator[Laboratory]:
    """``patience``: everything may take so many times as long. Its directory is in memory if there is room; files on a
    disk are as good. Raises LabUnavailable."""
    shared = Path("/dev/shm")
    room = shared.is_dir() and os.statvfs(shared).f_bavail * os.statvfs(shared).f_frsize > ROOM_BYTES
    with tempfile.TemporaryDirectory(prefix="fstui-lab-", dir=shared if room else None) as directory:
        yield Laboratory(Path(directory), kernel, say, patience)
