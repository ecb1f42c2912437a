"""The nbdkit server of each disk. Killing it is the power cut: data that was not flushed was only in its cache.

A shared directory is served as ``NAME.held``: a link to the directory, or a copy that the cut removes (a lying one).
"""

import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from tests.lab import LabUnavailable
from tests.lab.machine import Disk

START_S = 10.0
VIRTIOFSD = ("/usr/lib/qemu/virtiofsd", "/usr/libexec/virtiofsd")
"""Its place in Debian 12 (qemu-system-common) and 13 (virtiofsd)."""


class Backing:
    """The files of a machine's disks, and their servers while the machine runs."""

    def __init__(self, directory: Path, disks: Mapping[str, Disk]) -> None:
        self._directory = directory
        self._disks = disks
        self._servers: list[subprocess.Popen[bytes]] = []
        for name, disk in disks.items():
            if disk.shared:
                self.file(name).mkdir()
                continue
            with self.file(name).open("wb") as file:
                file.truncate(disk.size_mib * 2**20)

    def file(self, name: str) -> Path:
        return self._directory / f"{name}.img"

    def held(self, name: str) -> Path:
        return self._directory / f"{name}.held"

    def socket(self, name: str) -> Path:
        return self._directory / f"{name}.sock"

    def start(self, *, honest: bool = False) -> None:
        """Serve every disk. With ``honest``, even a lying disk is durable."""
        for name, disk in self._disks.items():
            self.socket(name).unlink(missing_ok=True)
            if disk.shared:
                self._hold(name, alone=disk.cache == "unsafe" and not honest)
                self._servers.append(self._share(name))
            else:
                self._servers.append(self._serve(name, disk, honest=honest))
        deadline = time.monotonic() + START_S
        while not all(self.socket(name).exists() for name in self._disks):
            if time.monotonic() > deadline:
                self.kill()
                raise LabUnavailable(f"a server did not start: {(self._directory / 'server.log').read_text()[-500:]}")
            time.sleep(0.02)

    def _hold(self, name: str, *, alone: bool) -> None:
        held = self.held(name)
        if held.is_dir() and not held.is_symlink():
            shutil.rmtree(held)
        held.unlink(missing_ok=True)
        if alone:
            copy(self.file(name), held)
        else:
            held.symlink_to(self.file(name))

    def _share(self, name: str) -> subprocess.Popen[bytes]:
        program = next((path for path in VIRTIOFSD if Path(path).exists()), None)
        if program is None:
            raise LabUnavailable("not installed: virtiofsd (apt-get install qemu-system-common or virtiofsd)")
        return self._started(
            [program, f"--socket-path={self.socket(name)}", "-o", f"source={self.held(name).resolve()},cache=none"]
        )

    def _serve(self, name: str, disk: Disk, *, honest: bool) -> subprocess.Popen[bytes]:
        filters, settings = [], [f"file={self.file(name)}"]
        if disk.cache != "none":
            filters.append("--filter=cache")
            settings.append(f"cache={'writethrough' if honest else disk.cache}")
        if (disk.write_ms or disk.read_ms) and not honest:
            filters.append("--filter=delay")
            settings += [f"delay-write={disk.write_ms}ms", f"delay-read={disk.read_ms}ms"]
        if disk.forgetful_host and not honest:
            filters.append("--filter=cow")  # Its overlay ends with the server, and no flush writes it to the file.
        command = ["nbdkit", "--foreground", "--exit-with-parent", "--threads=4"]
        return self._started([*command, "--unix", str(self.socket(name)), *filters, "file", *settings])

    def _started(self, command: list[str]) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "TMPDIR": str(self._directory)}  # nbdkit puts its cache there.
        with (self._directory / "server.log").open("ab") as log:
            return subprocess.Popen(
                ["nice", "-n", "10", *command],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, env=environment,
            )  # fmt: skip

    def kill(self) -> None:
        """Cut the power: the caches are lost."""
        for server in self._servers:
            server.kill()
            server.wait()
        self._servers.clear()


def copy(source: Path, target: Path) -> None:
    """Replace the target by a copy of a disk's file or of a shared directory."""
    if target.is_dir():
        shutil.rmtree(target)
    subprocess.run(["cp", "-a", "-T", "--sparse=always", source, target], check=True)
