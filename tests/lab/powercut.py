"""The power cut: kill QEMU and nbdkit while records are acknowledged, then read the disks back.

Data that was only in a disk's cache is lost with nbdkit; QEMU caches nothing. Acknowledgements leave the guest over a
virtio-serial port, and ``fstui powercut witness`` stores them on the host.
"""

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
from tests.lab.laboratory import Laboratory, Measured, attach, judged, make, measured, run_scenario
from tests.lab.machine import MOUNT, LabMachine
from tests.lab.vm import GuestError, Vm

WRITE_S = 120.0
VERIFY_S = 180.0
ACKNOWLEDGED = 200
WRITING_S = 3.0
"""The power is cut after this many acknowledgements, at the earliest this long after the first."""
STATE = {"XDG_STATE_HOME": "/var/lib/lab"}
FSTUI = "import sys; sys.argv[0] = 'fstui'; from fstui.cli import main; main()"


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """One cut and the result of ``fstui powercut verify``."""

    verdict: Verdict
    sentence: str
    mounted: bool
    acknowledged: int


def cut_power(lab: Laboratory, name: str, machine: LabMachine, cuts: int) -> Iterator[Cut]:
    """Cut the power of one machine ``cuts`` times and yield each result. Raises GuestError if a command fails.

    Each boot after a cut reads the records back, then writes until the next cut. After a cut that lost something, the
    disks are created again.
    """
    with lab.backing(name, machine) as backing:
        state = _state_disk(lab.directory / name)
        _prepare(lab, name, machine, backing)
        log = _boot_and_write(lab, name, machine, backing, state)
        for number in range(1, cuts + 1):
            again = number < cuts
            with _serving(backing), lab.running(name, machine, backing, state) as vm:
                vm.must("mount $state /var/lib/lab")
                cut = _verify(vm, machine, log)
                vm.must("sync")
                yield cut
                intact = cut.mounted and cut.verdict == "kept"
                if again and intact:
                    log = _write(vm, machine, lab.directory / name)
            if again and not intact:
                _restore(lab.directory / name, machine)
                log = _boot_and_write(lab, name, machine, backing, state)


def measure_and_cut(lab: Laboratory, name: str, machine: LabMachine) -> tuple[Measured, Cut]:
    """Measure an honest machine, then cut its power once. Raises GuestError if a command fails.

    This needs two boots, and ``measure`` and ``cut_power`` need four: an honest machine keeps a stack that was made
    just before the cut, and the measurement does not change it.
    """
    began = time.monotonic()
    with lab.backing(name, machine) as backing:
        state = _state_disk(lab.directory / name)
        with _serving(backing), lab.running(name, machine, backing, state) as vm:
            vm.must("mount $state /var/lib/lab")
            make(vm, machine)
            attach(vm, machine)
            found = measured(judged(run_scenario(vm, machine)), time.monotonic() - began)
            vm.must(f"sync && sync {' '.join(vm.devices.values())}")  # the filesystems, then the caches of the disks
            log = _write(vm, machine, lab.directory / name)
        with _serving(backing), lab.running(name, machine, backing, state) as vm:
            vm.must("mount $state /var/lib/lab")
            return found, _verify(vm, machine, log)


@contextmanager
def _serving(backing: Backing, *, honest: bool = False) -> Iterator[None]:
    """Serve the disks in the context, and cut their power at its end. The machine must have been killed before."""
    backing.start(honest=honest)
    try:
        yield
    finally:
        backing.kill()


def _prepare(lab: Laboratory, name: str, machine: LabMachine, backing: Backing) -> None:
    """Make the stack on honest disks, and keep a copy of them."""
    with _serving(backing, honest=True), lab.running(name, machine, backing) as vm:
        make(vm, machine)
        vm.power_off()
    for disk in machine.disks:
        copy(backing.file(disk), backing.file(disk).with_suffix(".made"))


def _restore(directory: Path, machine: LabMachine) -> None:
    for disk in machine.disks:
        copy(directory / f"{disk}.made", directory / f"{disk}.img")


def _state_disk(directory: Path) -> Path:
    """Make a disk for the guest's history of cuts. The power of this disk is not cut."""
    file = directory / "state.raw"
    subprocess.run(["mke2fs", "-q", "-F", "-t", "ext4", file, "32M"], check=True, capture_output=True)
    return file


def _boot_and_write(lab: Laboratory, name: str, machine: LabMachine, backing: Backing, state: Path) -> bytes:
    with _serving(backing), lab.running(name, machine, backing, state) as vm:
        vm.must("mount $state /var/lib/lab")
        attach(vm, machine)
        return _write(vm, machine, lab.directory / name)


def _write(vm: Vm, machine: LabMachine, directory: Path) -> bytes:
    """Write records, kill the machine while they are written, and return the acknowledgements."""
    file = directory / "acks.log"
    file.unlink(missing_ok=True)
    witness = subprocess.Popen(
        [sys.executable, "-c", FSTUI, "powercut", "witness", str(file)],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert witness.stdin is not None and witness.stderr is not None
    lines, first_s = 0, 0.0

    def forward(text: str) -> bool:
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
            forward,
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
    """Read the records back. If the stack cannot be attached, the cut has made it unmountable."""
    command = ["fstui", "powercut", "verify", MOUNT, "--format", "json"]
    try:
        attach(vm, machine)
        mounted = True
    except GuestError:
        mounted = False
        command.append("--mount-fails")
    answer = vm.run(shlex.join(command), timeout_s=VERIFY_S, environment=STATE, stdin=log.decode())
    if not answer.stdout:
        raise GuestError(f"powercut verify: exit {answer.status}\n{answer.stderr}".rstrip())
    run = judged(answer.stdout)
    return Cut(verdict=run.verdict, sentence=run.sentence, mounted=mounted, acknowledged=log.count(b"\n"))
