"""Probe: drives sysbench's own OLTP scripts against a database server, and passes on what it prints.

Settings: ``fstui.model.Sysbench`` plus ``sysbench`` (its path), ``connection`` (its options, no password), ``secrets``
(lines of a configuration file, given to it on a pipe), ``environment``, ``fill`` (make the tables first), ``drop``
(drop them first), ``server_pid`` (0 where it is not on this box), ``path`` and ``facts``.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any, NoReturn

from fstui.probes import sync_path, sysbench_text
from fstui.probes.talk import CommandLines, clock, interrupted, read_settings, send

ROW_BYTES = 240  # of sysbench's table, its index included
LATE_S = 20
FULL_INTERVALS = 2
FULL_BYTES = 1 << 20
PR_SET_PDEATHSIG = 1
HISTOGRAM_ROWS = 100
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Trouble(Exception):  # noqa: N818  becomes the ``error`` frame
    """What sysbench said, or did not say."""


class Sysbench:
    """One run of the program: its lines are heard in a thread, while the first one listens to the engine."""

    def __init__(self, settings: dict[str, Any], command: str, *words: str, hear: Callable[[str], None]) -> None:
        self.hear = hear
        self.text: list[str] = []
        self.watched, self._finished = os.pipe()
        config, writer = os.pipe()
        os.write(writer, settings["secrets"].encode())
        os.close(writer)
        script = "oltp_read_write" if command != "run" else settings["workload"]
        argv = [settings["sysbench"], script, *settings["connection"], f"--config-file=/dev/fd/{config}"]
        argv += [f"--tables={settings['tables']}", f"--table-size={settings['rows']}", *words, command]
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(config,),
            env={**os.environ, **settings["environment"], "LC_ALL": "C"},
            preexec_fn=die_with_us,  # noqa: PLW1509  no thread of ours runs yet
        )
        os.close(config)
        self.thread = threading.Thread(target=self._listen, daemon=True)
        self.thread.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        try:
            for line in self.process.stdout:
                text = line.decode(errors="replace").rstrip("\n")
                self.text.append(text)
                with contextlib.suppress(BrokenPipeError):
                    self.hear(text)
        finally:
            os.close(self._finished)

    def end(self) -> int:
        """Its status, once it has closed its output."""
        self.thread.join()
        return self.process.wait()

    def cpu_s(self) -> float:
        """Processor time of children that have ended: of sysbench, after ``end``."""
        times = os.times()
        return times.children_user + times.children_system


def die_with_us() -> None:
    """prctl(2): a probe that is killed leaves no client behind that goes on writing."""
    import ctypes  # noqa: PLC0415  late: only a starting child needs it

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def reason(text: list[str]) -> str:
    """What sysbench gave as its reason: its first FATAL line, which names the server's error, and what went with it."""
    fatal = [line.partition(": ")[2] for line in text if line.startswith(("FATAL: ", "ALERT: "))]
    told = [line for line in fatal if not line.startswith("`")] or fatal
    return told[-1] if told else (text[-1] if text else "it said nothing")


def fill(settings: dict[str, Any]) -> None:
    """Make and fill the tables. Raises Trouble; SystemExit where the engine hangs up meanwhile."""
    total = settings["tables"] * settings["rows"] * ROW_BYTES
    tables = 0

    def hear(line: str) -> None:
        nonlocal tables
        tables += line.startswith("Creating a secondary index")
        send("preparing", done=total * tables // settings["tables"], total=total)

    for command in (["cleanup"] if settings["drop"] else []) + ["prepare"]:
        threads = f"--threads={min(settings['tables'], 8)}"
        run = Sysbench(settings, command, threads, hear=hear)
        while run.thread.is_alive():
            run.thread.join(0.05)
            if interrupted():
                run.process.kill()
                raise SystemExit(1)
        if run.end():
            raise Trouble(reason(run.text))


class Measurement:
    """One ``run`` and what it printed."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.started_ns = self.ended_ns = 0
        self.transactions = 0.0
        self.silent_intervals = 0

    def hear(self, line: str) -> None:
        if line.startswith("Threads started!"):
            self.started_ns = clock()
        elif interval := sysbench_text.interval(line):
            self.transactions += interval["tps"] * interval.pop("length_s")
            self.silent_intervals = 0 if interval["tps"] else self.silent_intervals + 1
            send("figures", intervals=[interval], transactions=round(self.transactions))

    def run(self, commands: CommandLines) -> None:
        """Until it ends by itself or is told to. Raises Trouble."""
        before, box_before = server_cpu_s(self.settings["server_pid"]), box_ticks()
        seconds = self.settings["seconds"]
        words = (f"--threads={self.settings['threads']}", f"--time={max(1, round(seconds))}")
        run = Sysbench(self.settings, "run", *words, "--report-interval=1", "--histogram=on", hear=self.hear)
        began = clock()
        while not commands.ended_meanwhile(run.watched, timeout_s=0.25):
            if commands.stop_wanted:
                run.process.kill()
            elif self.silent_intervals >= FULL_INTERVALS and is_full(self.settings["path"]):
                run.process.kill()
                raise Trouble("the disk is full, and the server waits for room instead of answering")
            elif clock() - began > (seconds + LATE_S) * 1e9:
                run.process.kill()
                raise Trouble(f"sysbench had not ended {LATE_S} s after its time: the server does not answer")
        status = run.end()
        if status and not commands.stop_wanted:
            raise Trouble(reason(run.text))
        server = server_cpu_s(self.settings["server_pid"])
        if self.started_ns:
            self.conclude(run.text)
            send("figures", box_cpu_share=busy_share(box_before, box_ticks()))
            if before is not None and server is not None:
                self.send_cpu(server - before + run.cpu_s())
            send("done", start_ns=self.started_ns, end_ns=self.ended_ns, held_ns=0)

    def conclude(self, text: list[str]) -> None:
        """What it printed at its end; its clock is the step's, so that its rate and ours are one."""
        self.ended_ns = clock()
        totals = sysbench_text.totals(text)
        if totals is None:
            return
        send("figures", **totals)
        histogram = sysbench_text.histogram(text)
        for first in range(0, len(histogram), HISTOGRAM_ROWS):
            send("figures", histogram=histogram[first : first + HISTOGRAM_ROWS])
        if totals["tps"]:
            self.ended_ns = self.started_ns + round(totals["transactions"] / totals["tps"] * 1e9)

    def send_cpu(self, cpu_s: float) -> None:
        """Of the server and its clients, against what so many clients can use: one processor each."""
        elapsed_s = (self.ended_ns - self.started_ns) / 1e9
        usable = min(self.settings["threads"], os.cpu_count() or 1)
        send("figures", cpu_s=round(cpu_s, 3), cpu_share=round(cpu_s / elapsed_s / usable, 3))


def is_full(path: str) -> bool:
    """Fewer blocks are left than a log grows by."""
    found = os.statvfs(os.path.dirname(path))
    return found.f_bavail * found.f_frsize < FULL_BYTES


def server_cpu_s(pid: int) -> float | None:
    """Processor time of the server, its living and its reaped children included; None where it is not on this box."""
    own = stat_fields(pid) if pid else None
    if own is None:
        return None
    ticks = sum(map(int, own[11:15]))
    for name in os.listdir("/proc"):
        if name.isdigit() and (fields := stat_fields(int(name))) and fields[1] == str(pid):
            ticks += sum(map(int, fields[11:13]))
    return ticks / TICKS_PER_S


def box_ticks() -> tuple[int, int]:
    """Ticks of all processors: not idle, and all (proc_stat(5); waiting for storage is idle)."""
    fields = list(map(int, sync_path.read_text("/proc/stat").partition("\n")[0].split()[1:9]))
    return sum(fields) - fields[3] - fields[4], sum(fields)


def busy_share(before: tuple[int, int], after: tuple[int, int]) -> float:
    busy, total = after[0] - before[0], after[1] - before[1]
    return round(busy / total, 3) if total else 0.0


def stat_fields(pid: int) -> list[str] | None:
    """/proc/PID/stat from its third field, the state, on (proc_pid_stat(5))."""
    text = sync_path.read_text(f"/proc/{pid}/stat")
    return text.rpartition(")")[2].split() or None


def measure(settings: dict[str, Any]) -> None:
    commands = CommandLines()
    send("ready")
    if commands.wait_for("go"):
        Measurement(settings).run(commands)
        commands.wait_for_end()


def main() -> NoReturn:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    settings = read_settings()
    os.set_blocking(1, False)
    try:
        if settings["fill"]:
            fill(settings)
        if settings.get("facts"):
            send("facts", **sync_path.facts(os.path.dirname(settings["path"])))
        measure(settings)
    except BrokenPipeError:
        pass  # the engine is gone
    except Trouble as trouble:
        send("error", call="sysbench", errno=errno_in(str(trouble)), message=str(trouble)[:1000], writer=0)
    except OSError as error:
        send("error", call="start sysbench", errno=error.errno, message=str(error), writer=0)
    sys.exit(0)


def errno_in(message: str) -> int | None:
    """The kernel's error, where a server passed it on."""
    words = message.lower()
    if "no space left" in words or "errcode: 28" in words or "is full" in words:
        return errno.ENOSPC
    return errno.EIO if "input/output error" in words or "errcode: 5 " in words else None


if __name__ == "__main__":
    main()
