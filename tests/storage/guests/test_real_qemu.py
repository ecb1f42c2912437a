"""QEMU itself: what each setting makes of a guest's flush, counted with strace, and what fstui says of it."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fstui.model.guests import Guest
from fstui.runs.machine.local import LocalMachine
from fstui.storage.guests import find_pids, read_guests

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("qemu-system-x86_64"), reason="needs qemu-system-x86_64"),
    pytest.mark.skipif(not shutil.which("strace"), reason="needs strace"),
]
FDATASYNC = re.compile(r"\bf(?:data)?sync\(")


class Qemu:
    """A machine that is never started: its block layer is asked to write and to flush, as its disk would."""

    def __init__(self, place: Path, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._calls = place / "calls"
        self.pid = 0
        self._line()  # the greeting
        self.command("qmp_capabilities")
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        self.pid = int(children[0])

    def command(self, name: str, **arguments: object) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"execute": name, "arguments": arguments}) + "\n")
        self._process.stdin.flush()
        while "event" in (answer := self._line()):
            pass
        return answer["return"]

    def syncs_of(self, command: str) -> int:
        """Return how often QEMU synced a file while its block layer ran a command of qemu-io."""
        (qdev,) = (one["qdev"] for one in self.command("query-block") if "inserted" in one)
        before = len(FDATASYNC.findall(self._calls.read_text()))
        self.command("human-monitor-command", **{"command-line": f'qemu-io -d {qdev} "{command}"'})
        return len(FDATASYNC.findall(self._calls.read_text())) - before

    def seen(self) -> Guest:
        assert self.pid in find_pids()
        (guest,) = read_guests((self.pid,))
        return guest

    def _line(self) -> Any:
        assert self._process.stdout is not None
        line = next((line for line in self._process.stdout if line.startswith("{")), None)  # qemu-io prints there, too
        assert line, "QEMU did not start"
        return json.loads(line)


@contextmanager
def qemu(place: Path, *arguments: str) -> Iterator[Qemu]:
    image = place / "a.raw"
    image.write_bytes(bytes(1 << 20))
    words = [word.replace("IMAGE", str(image)) for word in arguments]
    machine = "-machine pc -accel tcg -S -display none -nodefaults -name a[red]b -qmp stdio"
    strace = f"strace -f -qq -e trace=fsync,fdatasync -o {place}/calls qemu-system-x86_64 {machine}"
    process = subprocess.Popen(
        [*strace.split(" "), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Qemu(place, process)
    finally:
        for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)
        process.communicate(timeout=60)


FLAGS = "node-name=d,cache.no-flush=on"
DEVICE = ("-device", "virtio-blk-pci,drive=d,id=disk")


def drive(options: str) -> tuple[str, ...]:
    return ("-drive", f"file=IMAGE,format=raw,if=none,id=d{options}", *DEVICE)


@pytest.mark.parametrize(("arguments", "flush", "syncs"), [
    (drive(",cache=writeback"), "passed", (0, 1)),
    (drive(",cache=none"), "passed", (0, 1)),
    (drive(",cache=writethrough"), "each write", (1, 0)),
    (drive(",cache=directsync"), "each write", (1, 0)),
    (drive(",cache=unsafe"), "ignored", (0, 0)),
    (("-snapshot", *drive("")), "discarded", (0, 0)),
    (("-blockdev", f"raw,{FLAGS},file.driver=file,file.filename=IMAGE", *DEVICE), "ignored", (0, 0)),
    (("-blockdev", "file,node-name=s,filename=IMAGE", "-blockdev", f"raw,{FLAGS},file=s", *DEVICE), "passed", (0, 1)),
], ids=lambda value: value if isinstance(value, str) else "")  # fmt: skip
def test_each_mode_does_what_fstui_says(
    tmp_path: Path, arguments: tuple[str, ...], flush: str, syncs: tuple[int, int]
) -> None:
    with qemu(tmp_path, *arguments) as machine:
        (disk,) = machine.seen().disks
        assert (disk.name, disk.flush, disk.image) == ("disk", flush, str(tmp_path / "a.raw"))
        assert (machine.syncs_of("write 0 4k"), machine.syncs_of("flush")) == syncs


def test_a_disk_that_was_plugged_in_is_seen_by_qmp(tmp_path: Path) -> None:
    path = tmp_path / "qmp"
    with qemu(tmp_path, "-qmp", f"unix:{path},server=on,wait=off") as machine:
        assert machine.seen().disks == ()
        node = {"driver": "file", "filename": str(tmp_path / "a.raw"), "cache": {"no-flush": True}}
        machine.command("blockdev-add", **{"driver": "raw", "node-name": "late", "file": node})
        machine.command("device_add", driver="virtio-blk-pci", drive="late", id="late0")
        guest = machine.seen()
        assert [(disk.name, disk.flush) for disk in guest.disks] == [("late0", "ignored")]
        assert guest.read_from == f"its arguments and {path}"


def test_a_monitor_in_use_is_left_alone(tmp_path: Path) -> None:
    path = str(tmp_path / "qmp")
    with qemu(tmp_path, *drive(""), "-qmp", f"unix:{path},server=on,wait=off") as machine:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            client.recv(4096)
            assert "is or may be in use" in machine.seen().read_from
        assert machine.command("query-status")["status"] == "prelaunch"


def test_a_stopped_qemu_delays_nothing_but_its_monitor(tmp_path: Path) -> None:
    path = str(tmp_path / "qmp")
    with qemu(tmp_path, *drive(",cache=unsafe"), "-qmp", f"unix:{path},server=on,wait=off") as machine:
        os.kill(machine.pid, signal.SIGSTOP)
        try:
            guest = machine.seen()
        finally:
            os.kill(machine.pid, signal.SIGCONT)
        assert "gave no answer" in guest.read_from and guest.lossy_disks


def test_the_filesystem_of_the_image_is_found(tmp_path: Path) -> None:
    with qemu(tmp_path, *drive("")) as machine:
        (disk,) = machine.seen().disks
    assert disk.mount_point == subprocess.check_output(["stat", "-c", "%m", tmp_path], text=True).strip()


async def test_a_guest_that_ends_leaves_the_list(tmp_path: Path) -> None:
    host = LocalMachine()
    with qemu(tmp_path, *drive("")) as machine:
        seen = await host.with_space(host.survey())
        assert machine.pid in {guest.pid for guest in seen.guests}
        assert host.survey().guests == seen.guests, "a survey keeps what is known"
    seen = await host.with_space(host.survey())
    assert machine.pid not in {guest.pid for guest in seen.guests}
