"""Probe: drives sysbench's own OLTP scripts against a database server, and passes on what it prints.

Settings: ``fstui.model.Sysbench`` plus ``sysbench`` (its path), ``connection`` (its options, no password), ``secrets``
(lines of a configuration file, given to it on a pipe), ``environment``, ``tls`` (files that it looks for by their name
where it runs), ``fill`` (make the tables first), ``drop`` (drop them first), ``directory`` and its ``identity`` (the
run's own, which it enters) and ``facts``.
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
from fstui.wire.held import enter
from fstui.wire.talk import CommandLines, clock, interrupted, read_settings, send

ROW_BYTES = 240  # of sysbench's table, its index included
LATE_S = 20
FULL_INTERVALS = 2
FULL_BYTES = 1 << 20
PR_SET_PDEATHSIG = 1
HISTOGRAM_ROWS = 100


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


def die_with_us() -> None:
    """prctl(2): a probe that is killed leaves no client behind that goes on writing."""
    import ctypes  # noqa: PLC0415  late: only a starting child needs it

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def reason(text: list[str]) -> str:
    """What sysbench gave as its reason: its first FATAL line, which names the server's error, and what went with it."""
    fatal = [line.partition(": ")[2] for line in text if line.startswith(("FATAL: ", "ALERT: "))]
    told = [line for line in fatal if not line.startswith(("`", "failed query was: "))] or fatal
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
        seconds = self.settings["seconds"]
        words = (f"--threads={self.settings['threads']}", f"--time={max(1, round(seconds))}")
        run = Sysbench(self.settings, "run", *words, "--report-interval=1", "--histogram=on", hear=self.hear)
        began = clock()
        while not commands.ended_meanwhile(run.watched, timeout_s=0.25):
            if commands.stop_wanted:
                run.process.kill()
            elif self.silent_intervals >= FULL_INTERVALS and is_full():
                run.process.kill()
                raise Trouble("the disk is full, and the server waits for room instead of answering")
            elif clock() - began > (seconds + LATE_S) * 1e9:
                run.process.kill()
                raise Trouble(f"sysbench had not ended {LATE_S} s after its time: the server does not answer")
        status = run.end()
        if status and not commands.stop_wanted:
            raise Trouble(reason(run.text))
        if self.started_ns:
            self.conclude(run.text)
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


def is_full() -> bool:
    """Fewer blocks are left than a log grows by."""
    found = os.statvfs(".")
    return found.f_bavail * found.f_frsize < FULL_BYTES


def lay_out(files: dict[str, str]) -> None:
    """Links by those names; the step before may have left them here."""
    for name, path in files.items():
        with contextlib.suppress(FileExistsError):
            os.symlink(path, name)


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
        enter(settings["directory"], settings["identity"])
        lay_out(settings["tls"])
        if settings["fill"]:
            fill(settings)
        if stubs := settings.get("facts"):
            send("facts", **sync_path.facts(".", stubs))
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
