"""The power cut: QEMU and nbdkit end with SIGKILL while records are acknowledged; then the disks are read back.

What a disk had only in its cache is gone with nbdkit; QEMU keeps nothing of its own. Acknowledgements leave the guest
over a virtio-serial port and are kept by ``fstui powercut witness`` on the host.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from fstui.model.judgement import Verdict
from tests.lab.backing import Backing, copy
from tests.lab.laboratory import Laboratory, attach, judged, make
from tests.lab.machine import MOUNT, LabMachine
from tests.lab.vm import GuestError, Vm

WRITE_S = 120.0
VERIFY_S = 180.0
ACKNOWLEDGED = 200
"""So many lines from the writer before its power goes …"""
WRITING_S = 3.0
"""… and so long after the first of them."""
STATE = {"XDG_STATE_HOME": "/var/lib/lab"}
FSTUI = "import sys; sys.argv[0] = 'fstui'; from fstui.cli import main; main()"


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """One cut and what ``fstui powercut verify`` made of it."""

    verdict: Verdict
    sentence: str
    mounted: bool
    acknowledged: int


def cut_power(lab: Laboratory, name: str, machine: LabMachine, cuts: int) -> Iterator[Cut]:
    """So many cuts of one machine, each read back. Raises GuestError where a guest does not do what it is told.

    Each boot after a cut reads that cut back, then writes towards the next. What a lost cut left is not built on: the
    disks are laid out anew.
    """
    with lab.backing(name, machine) as backing:
        state = _state_disk(lab.directory / name)
        _prepare(lab, name, machine, backing)
        log = _written(lab, name, machine, backing, state)
        for number in range(1, cuts + 1):
            again = number < cuts
            with _served(backing), lab.running(name, machine, backing, state) as vm:
                vm.must("mount $state /var/lib/lab")
                cut = _verify(vm, machine, log)
                vm.must("sync")
                yield cut
                intact = cut.mounted and cut.verdict == "kept"
                if again and intact:
                    log = _write(vm, machine, lab.directory / name)
            if again and not intact:
                _restore(lab.directory / name, machine)
                log = _written(lab, name, machine, backing, state)


@contextmanager
def _served(backing: Backing, *, honest: bool = False) -> Iterator[None]:
    """The disks, until their power goes. The machine inside has been killed by then."""
    backing.start(honest=honest)
    try:
        yield
    finally:
        backing.kill()


def _prepare(lab: Laboratory, name: str, machine: LabMachine, backing: Backing) -> None:
    """Lay out the disks, all of it durable whatever they are, and keep a copy."""
    with _served(backing, honest=True), lab.running(name, machine, backing) as vm:
        make(vm, machine)
        vm.power_off()
    for disk in machine.disks:
        copy(backing.file(disk), backing.file(disk).with_suffix(".made"))


def _restore(directory: Path, machine: LabMachine) -> None:
    for disk in machine.disks:
        copy(directory / f"{disk}.made", directory / f"{disk}.img")


def _state_disk(directory: Path) -> Path:
    """Where the guest keeps its history of cuts: a plain disk that is no part of what is cut."""
    file = directory / "state.raw"
    subprocess.run(["mke2fs", "-q", "-F", "-t", "ext4", file, "32M"], check=True, capture_output=True)
    return file


def _written(lab: Laboratory, name: str, machine: LabMachine, backing: Backing, state: Path) -> bytes:
    with _served(backing), lab.running(name, machine, backing, state) as vm:
        vm.must("mount $state /var/lib/lab")
        attach(vm, machine)
        return _write(vm, machine, lab.directory / name)


def _write(vm: Vm, machine: LabMachine, directory: Path) -> bytes:
    """Acknowledgements of records written until the machine is killed; the machine is dead when this returns."""
    file = directory / "acks.log"
    file.unlink(missing_ok=True)
    witness = subprocess.Popen(
        [sys.executable, "-c", FSTUI, "powercut", "witness", str(file)],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert witness.stdin is not None and witness.stderr is not None
    lines, first_s = 0, 0.0

    def heard(text: str) -> bool:
        nonlocal lines, first_s
        assert witness.stdin is not None
        witness.stdin.write(text)
        witness.stdin.flush()
        lines += text.count("\n")
        first_s = first_s or time.monotonic()
        return lines >= ACKNOWLEDGED and time.monotonic() - first_s >= WRITING_S

    command = ["fstui", "powercut", "write", MOUNT, "--trust-dir", "--yes"]
    for setting in machine.write:
        command += ["--set", setting]
    try:
        answer = vm.stream(
            f"{shlex.join(command)} 2>/run/write.err",
            heard,
            timeout_s=WRITE_S,
            environment={**STATE, **machine.environment},
        )
        if answer is not None:
            raise GuestError(f"{shlex.join(command)}: exit {answer.status}\n{vm.run('cat /run/write.err').stdout}")
        vm.kill()
        witness.communicate(timeout=30)
    finally:
        witness.kill()
        witness.wait()
    log = file.read_bytes()
    shutil.copy(file, directory.parent / f"{directory.name}.acks.log")
    return log


def _verify(vm: Vm, machine: LabMachine, log: bytes) -> Cut:
    """Whatever hinders mounting the stack after the cut makes it unmountable: on these machines it was well before."""
    command = ["fstui", "powercut", "verify", MOUNT, "--format", "json"]
    try:
        attach(vm, machine)
        mounted = True
    except GuestError:
        mounted = False
        command.append("--unmountable")
    answer = vm.run(shlex.join(command), timeout_s=VERIFY_S, environment=STATE, stdin=log.decode())
    if not answer.stdout:
        raise GuestError(f"powercut verify: exit {answer.status}\n{answer.stderr}".rstrip())
    run = judged(answer.stdout)
    return Cut(verdict=run.verdict, sentence=run.sentence, mounted=mounted, acknowledged=log.count(b"\n"))
