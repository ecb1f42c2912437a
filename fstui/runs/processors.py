"""Processor time of a database server and its clients while a step runs, and of the box: was storage the limit?"""

from __future__ import annotations

from pathlib import Path

import psutil


class Processors:
    """Counts from its making on. Raises nothing: a server that is gone has no figures."""

    def __init__(self, server: int | None, probe: int | None) -> None:
        """Pids: of the server, None where it is not on this box; of the probe, which starts the clients."""
        self._server = server
        self._probe = probe
        self._own_s = self._own()
        psutil.cpu_percent()  # from now on

    def figures(self, elapsed_s: float, clients: int) -> dict[str, float]:
        """Of server and clients against what so many clients can use, a processor each; and of all processors."""
        box, cpus = psutil.cpu_percent() / 100, psutil.cpu_count() or 1  # waiting for storage is idle
        found = {"box_cpu_share": round(box, 3), **_autogroup()}
        own_s = self._own()
        if own_s is not None and self._own_s is not None and elapsed_s > 0:
            grown_s = own_s - self._own_s
            found |= {"cpu_s": round(grown_s, 3), "cpu_share": round(grown_s / elapsed_s / min(clients, cpus), 3)}
            found["others_cpu_share"] = round(max(0.0, box - grown_s / elapsed_s / cpus), 3)
        return found

    def _own(self) -> float | None:
        """Of the server with all that descends from it, and of the clients, which the probe has waited for."""
        if not self._server:
            return None
        try:
            server, probe = psutil.Process(self._server), psutil.Process(self._probe).cpu_times()
            family_s = sum(map(_used, (server, *server.children(recursive=True))))
            return family_s + probe.children_user + probe.children_system
        except psutil.Error:
            return None


def _autogroup() -> dict[str, bool]:
    """Whether processors are shared out among sessions first (sched(7)); empty where the kernel has no such thing."""
    try:
        return {"autogroup": Path("/proc/sys/kernel/sched_autogroup_enabled").read_text().strip() == "1"}
    except OSError:
        return {}


def _used(process: psutil.Process) -> float:
    """In seconds; that of the children that it has waited for stands there too (proc_pid_stat(5), cutime)."""
    try:
        return sum(process.cpu_times()[:4])
    except psutil.NoSuchProcess:  # its parent's from now on
        return 0.0
