"""A virtual machine under QEMU's software emulation, and the agent in it. Every operation has a time limit."""

import json
import select
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from tests.lab.devices import controllers, device_words, memory, serial_numbers
from tests.lab.image import Image
from tests.lab.machine import LabMachine

BOOT_S = 180.0
COMMAND_S = 120.0
MEMORY_MIB = 1024
BARE = ("-smbios", "type=0,vendor=Example", "-smbios", "type=1,manufacturer=Example,product=Server")
PROCESSOR = "qemu64,+rdrand"
"""A guest with all that QEMU can emulate takes a third longer to boot."""
AGENT = """/lib/systemd/systemd-udevd --daemon
modprobe -qab $(cat /sys/bus/*/devices/*/modalias | sort -u)
udevadm trigger --action=add --subsystem-match=block
exec python3 /run/lab/agent.py
"""
"""Of the devices that exist before udev starts, it processes only the disks: the others would take 10 s."""
KERNEL_LINE = "console=ttyS0 quiet panic=-1 mitigations=off nokaslr random.trust_cpu=on no_timer_check clocksource=hpet"
"""On a busy host, the check of the timer panics, and the calibrated TSC can be several times too fast."""


class GuestError(Exception):
    """The guest did not start, a command in it failed, or took too long. The message says which."""


class Answer(NamedTuple):
    status: int
    stdout: str
    stderr: str


class Vm:
    """One running machine. ``kill`` ends QEMU with SIGKILL."""

    def __init__(
        self,
        image: Image,
        payload: Path,
        directory: Path,
        machine: LabMachine,
        state: Path | None = None,
        *,
        patience: float = 1.0,
    ) -> None:
        """Start the machine. ``patience`` multiplies every time limit, for a busy host."""
        self._directory = directory
        self._patience = patience
        self._console = directory / "console.log"
        self._port = directory / "agent.sock"
        self._port.unlink(missing_ok=True)
        self._pending = b""
        self._next_id = 0
        self.devices: dict[str, str] = {}
        expected = [path for name, disk in machine.disks.items() for path in serial_numbers(name, disk)]
        expected += ["state"] if state is not None else []
        options = f"lab.disks={','.join(expected)} lab.patience={patience}"
        line = f"{KERNEL_LINE} {options} {machine.kernel_line}".rstrip()
        processor = PROCESSOR if machine.hypervisor else f"{PROCESSOR},hypervisor=off"
        ram = memory(machine.disks, MEMORY_MIB)
        command = qemu(image, payload, line, self._console, memory=ram, processor=processor)
        command += () if machine.hypervisor else BARE
        command += [
            "-device", "virtio-serial-pci", "-chardev", f"socket,id=lab,path={self._port},server=on,wait=off",
            "-device", "virtserialport,chardev=lab,name=org.fstui.lab",
        ]  # fmt: skip
        if state is not None:
            command += plain("state", state, writable=True)
        command += controllers(machine.disks)
        for name, disk in machine.disks.items():
            command += device_words(name, disk, directory / f"{name}.sock")
        self._qemu = subprocess.Popen(
            ["nice", "-n", "10", *command],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=(directory / "qemu.log").open("ab"),
        )  # fmt: skip
        try:
            self._socket = self._connect()
            ready = self._message(time.monotonic() + BOOT_S * patience)
            self.devices = {name: device for name, device in ready["disks"].items() if name in expected}
            if missing := [name for name in expected if name not in self.devices]:
                raise GuestError(f"disks that did not appear: {', '.join(missing)}\n{_tail(self._console)}")
        except BaseException:
            self.kill()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def run(
        self, shell: str, *, timeout_s: float = COMMAND_S, environment: Mapping[str, str] | None = None, stdin: str = ""
    ) -> Answer:
        """Run a command in the guest and return its result. Raises GuestError if the guest does not answer."""
        id_ = self._ask(shell, timeout_s, environment, stdin=stdin)
        message = self._message(time.monotonic() + timeout_s * self._patience + 30)
        if message["id"] != id_:
            raise GuestError(f"the guest answered {message['id']}, not {id_}")
        return Answer(message["status"], message["stdout"], message["stderr"])

    def must(self, shell: str, *, timeout_s: float = COMMAND_S) -> str:
        """Run a command that must succeed and return its stdout. Raises GuestError."""
        answer = self.run(shell, timeout_s=timeout_s)
        if answer.status:
            raise GuestError(f"{shell}: exit {answer.status}\n{answer.stdout}{answer.stderr}".rstrip())
        return answer.stdout

    def stream(
        self,
        shell: str,
        heard: Callable[[str], bool],
        *,
        timeout_s: float,
        environment: Mapping[str, str] | None = None,
    ) -> Answer | None:
        """Pass the output of a command to ``heard`` until that returns True or the command ends.

        Return the answer of a command that ended, or None.
        """
        self._ask(shell, timeout_s, environment, stream=True)
        deadline = time.monotonic() + timeout_s * self._patience
        while True:
            message = self._message(deadline)
            if "status" in message:
                return Answer(message["status"], "", "")
            if heard(message["text"]):
                return None

    def power_off(self) -> None:
        """Sync the mounted filesystems of the guest, then power it off."""
        self.must("sync")
        self._ask("echo o > /proc/sysrq-trigger", COMMAND_S, None)
        try:
            self._qemu.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        self._qemu.kill()
        self._qemu.wait()
        if hasattr(self, "_socket"):
            self._socket.close()

    def _ask(
        self,
        shell: str,
        timeout_s: float,
        environment: Mapping[str, str] | None,
        *,
        stdin: str = "",
        stream: bool = False,
    ) -> int:
        self._next_id += 1
        timeout_s *= self._patience
        request = {
            "id": self._next_id, "shell": shell, "timeout": timeout_s, "stdin": stdin, "stream": stream,
            "environment": {**self.devices, **(environment or {})},
        }  # fmt: skip
        self._socket.sendall(json.dumps(request).encode() + b"\n")
        return self._next_id

    def _connect(self) -> socket.socket:
        deadline = time.monotonic() + 10
        while True:
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(str(self._port))
            except OSError:
                connection.close()
                if self._qemu.poll() is not None or time.monotonic() > deadline:
                    raise GuestError(f"QEMU did not start:\n{_tail(self._directory / 'qemu.log')}") from None
                time.sleep(0.02)
                continue
            return connection

    def _message(self, deadline: float) -> dict[str, Any]:
        while b"\n" not in self._pending:
            readable, _, _ = select.select([self._socket], [], [], max(0.0, deadline - time.monotonic()))
            if not readable:
                raise GuestError(f"no answer in time; its console ends:\n{_tail(self._console)}")
            received = self._socket.recv(1 << 20)
            if not received:
                raise GuestError(f"the machine ended; its console ends:\n{_tail(self._console)}")
            self._pending += received
        line, _, self._pending = self._pending.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message


def qemu(
    image: Image,
    payload: Path,
    line: str,
    console: Path,
    *,
    memory: Sequence[str] = ("-m", str(MEMORY_MIB)),
    processor: str = PROCESSOR,
) -> list[str]:
    """Return QEMU with the arguments of a guest without its own disks and connections."""
    return [
        "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
        "-machine", "q35,accel=tcg", "-cpu", processor, "-smp", "1", *memory,
        "-kernel", str(image.kernel), "-initrd", str(image.initrd), "-append", line,
        "-serial", f"file:{console}", "-device", "virtio-rng-pci",
        *plain("root", image.root), *plain("payload", payload),
    ]  # fmt: skip


def plain(name: str, file: Path, *, writable: bool = False) -> list[str]:
    """Return the arguments of a disk that is neither measured nor cut."""
    only = "" if writable else ",readonly=on"
    return [
        "-drive", f"if=none,id={name},file={file},format=raw{only}",
        "-device", f"virtio-blk-pci,drive={name},serial={name}",
    ]  # fmt: skip


def _tail(file: Path) -> str:
    try:
        return "\n".join(file.read_text(errors="replace").splitlines()[-15:])
    except OSError:
        return ""
