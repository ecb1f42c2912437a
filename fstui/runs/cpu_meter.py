"""The CPU time that a database server and its clients use during a step."""

from pathlib import Path

import psutil


class CpuMeter:
    """Measures the CPU time since its creation. There are no figures for a server that has ended."""

    def __init__(self, server: int | None, probe: int | None) -> None:
        """The pids of the server (None if it is on another host) and of the probe, which starts the clients."""
        self._server = server
        self._probe = probe
        self._initial_cpu_s = self._cpu_s()
        psutil.cpu_percent()  # the next call returns the share since this call

    def figures(self, elapsed_s: float, clients: int) -> dict[str, float]:
        """Return the CPU use as shares of the CPUs that the clients can use (one per client), and of all CPUs."""
        busy_share, cpus = psutil.cpu_percent() / 100, psutil.cpu_count() or 1  # waiting for storage counts as idle
        figures = {"box_cpu_share": round(busy_share, 3), **_autogroup()}
        cpu_s = self._cpu_s()
        if cpu_s is not None and self._initial_cpu_s is not None and elapsed_s > 0:
            used_s = cpu_s - self._initial_cpu_s
            figures |= {"cpu_s": round(used_s, 3), "cpu_share": round(used_s / elapsed_s / min(clients, cpus), 3)}
            figures["others_cpu_share"] = round(max(0.0, busy_share - used_s / elapsed_s / cpus), 3)
        return figures

    def _cpu_s(self) -> float | None:
        """Return the CPU seconds of the server, its descendants, and the clients, which the probe has reaped."""
        if not self._server:
            return None
        try:
            server, probe = psutil.Process(self._server), psutil.Process(self._probe).cpu_times()
            server_s = sum(map(_process_cpu_s, (server, *server.children(recursive=True))))
            return server_s + probe.children_user + probe.children_system
        except psutil.Error:
            return None


def _autogroup() -> dict[str, bool]:
    """Return whether the kernel divides CPUs among sessions first (sched(7)); empty if it has no such feature."""
    try:
        return {"autogroup": Path("/proc/sys/kernel/sched_autogroup_enabled").read_text().strip() == "1"}
    except OSError:
        return {}


def _process_cpu_s(process: psutil.Process) -> float:
    """Return the CPU seconds of a process and of the children that it has reaped (proc_pid_stat(5), cutime)."""
    try:
        return sum(process.cpu_times()[:4])
    except psutil.NoSuchProcess:  # its parent has reaped it and counts its time
        return 0.0
