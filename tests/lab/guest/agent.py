"""Process 1 of a running lab machine: run what the host requests over a virtio-serial port.

Standard library only. Requests and answers are JSON, one per line. The first line is ``ready`` with the disks found.
A request has ``id``, ``shell`` and ``timeout``; the answer has ``id``, ``status``, ``stdout``, ``stderr``. With
``stream``, each line of stdout is sent as ``line`` while the command runs.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

PORT = "org.fstui.lab"
DISKS_S = 60.0
"""Limit for a controller to find its disks, which may be long after its driver is loaded."""


def open_port() -> IO[bytes]:
    for name in Path("/sys/class/virtio-ports").glob("*/name"):
        if name.read_text().strip() == PORT:
            return open(f"/dev/{name.parent.name}", "r+b", buffering=0)
    sys.exit("no port to the host")


def disks() -> dict[str, str]:
    """Return the device of each serial number, from whichever file the driver shows it in."""
    found = {}
    for block in Path("/sys/block").iterdir():
        if (block / "hidden").exists() and (block / "hidden").read_text().strip() == "1":
            continue  # One path of an NVMe disk has no device node.
        for place in ("serial", "device/serial", "device/vpd_pg80"):
            try:
                data = (block / place).read_bytes()
            except OSError:
                continue
            text = data[4:] if place.endswith("vpd_pg80") else data
            found[text.strip(b"\0 \n").decode(errors="replace")] = f"/dev/{block.name}"
            break
        else:
            for parent in (block / "device").resolve().parents:  # That of a USB disk is shown by the USB device.
                if (parent / "idVendor").exists() and (parent / "serial").exists():
                    found[(parent / "serial").read_text().strip()] = f"/dev/{block.name}"
                    break
    return found


def expected(command_line: str) -> set[str]:
    """Return the serial numbers that the host has named on the kernel command line."""
    named = re.search(r"lab\.disks=(\S+)", command_line)
    return set(named[1].split(",")) if named else set()


def patience(command_line: str) -> float:
    """Return the factor by which the host multiplies its time limits."""
    named = re.search(r"lab\.patience=(\S+)", command_line)
    return float(named[1]) if named else 1.0


def expected_disks(
    wanted: set[str], look: Callable[[], dict[str, str]] = disks, within_s: float = DISKS_S
) -> dict[str, str]:
    """Return the disks found as soon as all wanted ones are there, or after the time limit."""
    deadline = time.monotonic() + within_s
    while not wanted <= (found := look()).keys() and time.monotonic() < deadline:
        time.sleep(0.2)
    return found


def text_of(data: bytes | None) -> str:
    return (data or b"").decode(errors="backslashreplace")


class Agent:
    def __init__(self, port: IO[bytes]) -> None:
        self._port = port

    def say(self, **fields: Any) -> None:
        data = json.dumps(fields).encode() + b"\n"
        while data:
            data = data[self._port.write(data) :]

    def serve(self) -> None:
        command_line = Path("/proc/cmdline").read_text()
        found = expected_disks(expected(command_line), within_s=DISKS_S * patience(command_line))
        subprocess.run(["udevadm", "settle"], check=False)
        self.say(ready=True, disks=found, uptime_s=time.clock_gettime(time.CLOCK_BOOTTIME))
        pending = b""
        while True:
            received = self._port.read(65536)
            if not received:  # The host is not connected yet.
                time.sleep(0.05)
                continue
            pending += received
            *lines, pending = pending.split(b"\n")
            for line in lines:
                self.answer(json.loads(line))

    def answer(self, request: dict[str, Any]) -> None:
        environment = {**os.environ, **request.get("environment", {})}
        command = ["/bin/bash", "-c", request["shell"]]
        stdin = request.get("stdin", "").encode()
        if request.get("stream"):
            self.stream(request["id"], command, environment)
            return
        try:
            done = subprocess.run(
                command, env=environment, input=stdin, capture_output=True, timeout=request["timeout"], check=False
            )
            status, out, err = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as late:
            status, out, err = 124, late.stdout, (late.stderr or b"") + b"\ntimed out in the guest"
        self.say(id=request["id"], status=status, stdout=text_of(out), stderr=text_of(err))

    def stream(self, id_: int, command: list[str], environment: dict[str, str]) -> None:
        with subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as process:
            assert process.stdout is not None
            while received := os.read(process.stdout.fileno(), 65536):
                self.say(id=id_, text=text_of(received))
        self.say(id=id_, status=process.returncode, stdout="", stderr="")


if __name__ == "__main__":
    Agent(open_port()).serve()
