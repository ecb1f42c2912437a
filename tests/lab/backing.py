"""nbdkit behind each disk of a machine. Killing it is the power cut: what was not flushed was only in its cache."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from tests.lab import LabUnavailable
from tests.lab.machine import Disk

START_S = 10.0


class Backing:
    """The files of a machine's disks, and the servers in front of them while it runs."""

    def __init__(self, directory: Path, disks: Mapping[str, Disk]) -> None:
        self._directory = directory
        self._disks = disks
        self._servers: list[subprocess.Popen[bytes]] = []
        for name, disk in disks.items():
            with self.file(name).open("wb") as file:
                file.truncate(disk.size_mib * 2**20)

    def file(self, name: str) -> Path:
        return self._directory / f"{name}.img"

    def socket(self, name: str) -> Path:
        return self._directory / f"{name}.sock"

    def start(self, *, honest: bool = False) -> None:
        """Serve every disk; ``honest``: whatever they are, this time they keep what they are given."""
        for name, disk in self._disks.items():
            self.socket(name).unlink(missing_ok=True)
            self._servers.append(self._serve(name, disk, honest=honest))
        deadline = time.monotonic() + START_S
        while not all(self.socket(name).exists() for name in self._disks):
            if time.monotonic() > deadline:
                self.kill()
                raise LabUnavailable(f"nbdkit did not start: {(self._directory / 'nbdkit.log').read_text()[-500:]}")
            time.sleep(0.02)

    def _serve(self, name: str, disk: Disk, *, honest: bool) -> subprocess.Popen[bytes]:
        filters, settings = [], [f"file={self.file(name)}"]
        if disk.cache != "none":
            filters.append("--filter=cache")
            settings.append(f"cache={'writethrough' if honest else disk.cache}")
        if (disk.write_ms or disk.read_ms) and not honest:
            filters.append("--filter=delay")
            settings += [f"delay-write={disk.write_ms}ms", f"delay-read={disk.read_ms}ms"]
        if disk.forgetful_host and not honest:
            filters.append("--filter=cow")  # its overlay ends with it, and no flush writes it into the file
        command = ["nice", "-n", "10", "nbdkit", "--foreground", "--exit-with-parent", "--threads=4"]
        command += ["--unix", str(self.socket(name)), *filters, "file", *settings]
        environment = {**os.environ, "TMPDIR": str(self._directory)}  # where its cache is
        with (self._directory / "nbdkit.log").open("ab") as log:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, env=environment
            )

    def kill(self) -> None:
        """The power cut: the caches are gone."""
        for server in self._servers:
            server.kill()
        self._end()

    def stop(self) -> None:
        """In good order."""
        for server in self._servers:
            server.terminate()
        self._end()

    def _end(self) -> None:
        for server in self._servers:
            try:
                server.wait(START_S)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
        self._servers.clear()
