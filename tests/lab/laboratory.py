"""Run a machine of the laboratory: its disks, its stack, and a directory for its files."""

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
from tests.lab.vm import AGENT, GuestError, Vm

RUN_S = 300.0
BEGUN = f"until compgen -G '{MOUNT}/.fstui-*'; do sleep 0.5; done"
DURING, FAILED = "/run/during.log", "/run/during.failed"
ROOM_BYTES = 4 * 2**30


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a finding that the laboratory uses."""

    rule: str
    verdict: Verdict | None
    confidence: Confidence


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """The part of the run document that the laboratory uses."""

    verdict: Verdict
    confidence: Confidence
    sentence: str
    findings: list[Finding]


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What fstui reported about a machine after a measurement without a power cut."""

    verdict: Verdict
    confidence: Confidence
    sentence: str
    rules: list[str]
    """One line per finding: "rule verdict confidence"."""
    elapsed_s: float


class Laboratory:
    """Images with one kernel, a wheel of this checkout, and a directory for the disks."""

    def __init__(
        self, directory: Path, kernel: Kernel, say: Callable[[str], None], patience: float, shared: Path | None
    ) -> None:
        self.directory = directory
        self._patience = patience
        self.kernel: Kernel = kernel
        self._say = say
        self._payload = payload(directory, cached(RECIPES[kernel]["base"]), AGENT, shared=shared)
        self._images: dict[Kind, Image] = {}

    def image(self, kind: Kind) -> Image:
        if kind not in self._images:
            self._images[kind] = build(RECIPES[self.kernel][kind])
        return self._images[kind]

    @contextmanager
    def backing(self, name: str, machine: LabMachine) -> Iterator[Backing]:
        """Create the machine's empty disks, and remove them at the end of the context."""
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
        """Boot the machine, and kill it at the end of the context. Raises GuestError."""
        began = time.monotonic()
        image, directory = self.image(machine.image), self.directory / name
        with Vm(image, self._payload, directory, machine, state, patience=self._patience) as vm:
            self._say(f"{name}: up after {time.monotonic() - began:.0f} s")
            yield vm

    def measure(self, name: str, machine: LabMachine) -> tuple[Measured, bytes]:
        """Make the machine's stack and run ``fstui run`` on it. Return result and document. Raises GuestError."""
        began = time.monotonic()
        with self.backing(name, machine) as backing:
            backing.start()
            with self.running(name, machine, backing) as vm:
                make(vm, machine)
                attach(vm, machine)
                document = run_scenario(vm, machine)
        return measured(judged(document), time.monotonic() - began), document


def judge_again(document: bytes, elapsed_s: float) -> Measured:
    """Judge a saved document with the rules of this checkout."""
    judgement = judge(decode_run(document))
    return measured(msgspec.convert(judgement, Judged, from_attributes=True), elapsed_s)


def measured(run: Judged, elapsed_s: float) -> Measured:
    """Return the part of a judged run that is compared with the truth."""
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
    """Decode a run document. Raises GuestError if it is none."""
    try:
        return msgspec.json.decode(document, type=Judged)
    except msgspec.MsgspecError as error:
        raise GuestError(f"no run document: {error}\n{document!r:.2000}") from error


def run_scenario(vm: Vm, machine: LabMachine) -> bytes:
    """Run ``fstui run`` in the guest and return its document. Raises GuestError."""
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
def laboratory(
    kernel: Kernel, say: Callable[[str], None], patience: float = 1.0, shared: Path | None = None
) -> Iterator[Laboratory]:
    """Make a laboratory, in memory if there is room. Raises LabUnavailable.

    ``patience`` multiplies the time limits. ``shared``: where several laboratories keep the code of their guests.
    """
    memory = Path("/dev/shm")
    room = memory.is_dir() and os.statvfs(memory).f_bavail * os.statvfs(memory).f_frsize > ROOM_BYTES
    with tempfile.TemporaryDirectory(prefix="fstui-lab-", dir=memory if room else None) as directory:
        yield Laboratory(Path(directory), kernel, say, patience, shared)
