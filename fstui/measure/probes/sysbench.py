"""Probe: run one of sysbench's OLTP scripts on a database server, and report what sysbench prints.

Settings: those of the step, those that ``sysbench_program.sysbench`` reads, and:
``directory``, ``identity``  the run's directory, which the probe enters
``tls``      files that sysbench expects under fixed names in its working directory: path by name
``scripts``  fstui's Lua scripts: text by name
``fill``     whether to create the tables; ``drop``: whether to drop them first
``waits``    queries for the server's counters, one per line; each row of a result is a name and counters
``facts``    whether to examine the sync path of this process
``server_pid``  the server's process; null if it is not on this host
"""

import contextlib
import errno
from collections.abc import Callable, Iterator
from typing import Any

from fstui import proc
from fstui.measure.helpers import sysbench_program
from fstui.measure.helpers.server_process import FULL_REASON, is_full
from fstui.measure.helpers.sysbench_program import END_LIMIT_S, RunningProgram, find_error, query, sysbench
from fstui.measure.probes import sync_path
from fstui.measure.wire.stdio import CommandLines, ProgramError, clock, exit_if_stopped, run_probe, send

ROW_BYTES = 240
"""Size of a row of sysbench's table with its index."""
MAX_IDLE_INTERVALS = 2
"""After this many intervals without a transaction, the probe checks whether the disk is full."""
DISK_FULL = "the disk is full, and the server waits for space instead of answering"
MAX_POLL_NS = 1_000_000_000
"""If waiting for the output takes longer than this, this probe did not run."""
HISTOGRAM_ROWS = 100
PROGRESS_NS = 250_000_000
WAIT_COLUMNS = ("writes", "bytes", "syncs", "write_ns", "sync_ns")


def size_flags(settings: dict[str, Any]) -> tuple[str, str]:
    return f"--tables={settings['tables']}", f"--table-size={settings['rows']}"


def table_bytes(settings: dict[str, Any]) -> int:
    return int(settings["schemas"] * settings["tables"] * settings["rows"] * ROW_BYTES)


def check_space() -> None:
    """Raise ProgramError if the disk is full: MariaDB would wait for space. Raise SystemExit if fstui closed stdin."""
    exit_if_stopped()
    if is_full():
        raise ProgramError(DISK_FULL)


def finish(program: RunningProgram, check: Callable[[], object] = check_space) -> None:
    """Wait for the end of sysbench. Raises ProgramError if sysbench fails, and what ``check`` raises."""
    if status := program.finish(check=check):
        raise ProgramError(find_error(program.text, status))


def fill(settings: dict[str, Any]) -> None:
    schemas, total_bytes = settings["schemas"], table_bytes(settings)
    total_tables, done_tables = schemas * settings["tables"], 0

    def on_line(line: str) -> None:
        nonlocal done_tables
        if line.startswith("Creating a secondary index"):
            done_tables += 1
        send("preparing", done=total_bytes * done_tables // total_tables, total=total_bytes)

    flags = (f"--threads={min(settings['tables'], 8)}", *size_flags(settings))
    for command in (["cleanup"] if settings["drop"] else []) + ["prepare"]:
        for schema in range(1, schemas + 1):
            finish(sysbench(settings, command, *flags, on_line=on_line, environment={"FSTUI_SCHEMA": str(schema)}))


def warm_up(settings: dict[str, Any]) -> None:
    reported_ns = 0
    filled_bytes = table_bytes(settings) if settings["fill"] else 0

    def check() -> None:
        nonlocal reported_ns
        check_space()
        if clock() - reported_ns > PROGRESS_NS:
            reported_ns = clock()
            send("preparing", done=filled_bytes, total=filled_bytes)

    flags = (f"--threads={settings['threads']}", f"--time={max(1, round(settings['warmup_s']))}")
    finish(sysbench(settings, "run", *flags, *size_flags(settings)), check)


def read_file_waits(settings: dict[str, Any]) -> dict[str, list[int | None]]:
    """Return the server's counters by kind of file. If the server does not report them, return an empty dict."""
    if not settings["waits"]:
        return {}
    try:
        rows = query(settings, settings["waits"])
    except ProgramError:
        return {}
    return sysbench_program.parse_counters(rows, len(WAIT_COLUMNS))


def increase(after: int | None, before: int | None) -> int | None:
    return None if after is None or before is None else max(0, after - before)


def is_frozen(server_pid: int | None) -> bool:
    """Return whether a thread of the server, or of one of its processes, waits for the end of a freeze."""
    processes = [server_pid, *proc.children(server_pid)] if server_pid else []
    threads = (thread for process in processes for thread in proc.threads(process))
    return any(proc.waits_for_thaw(proc.read_text(f"/proc/{thread}/wchan")) for thread in threads)


class Measurement:
    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.waits_before = read_file_waits(settings)
        self.started_ns = self.ended_ns = 0
        self.transactions = 0.0
        self.idle_intervals = 0
        self.stopped_ns = 0
        """How long sysbench or this probe was stopped by a signal, or a freezer of their cgroup."""
        self.frozen_ns = 0
        """The intervals without a transaction at whose end the server waited for the end of a freeze, plus one second
        for the parts of each freeze before and after them."""

    def on_line(self, line: str) -> None:
        if line.startswith("Threads started!"):
            self.started_ns = clock()
        elif interval := sysbench_program.parse_interval(line):
            self.transactions += interval["tps"] * interval.pop("length_s")
            self.idle_intervals = 0 if interval["tps"] else self.idle_intervals + 1
            if self.idle_intervals and is_frozen(self.settings["server_pid"]):
                self.frozen_ns += 2_000_000_000 if self.idle_intervals == 1 else 1_000_000_000
            send("figures", intervals=[interval], transactions=round(self.transactions))

    def run(self, commands: CommandLines) -> None:
        """Run sysbench until it ends, or until the engine sends ``stop``. Raises ProgramError."""
        settings, seconds = self.settings, self.settings["seconds"]
        flags = (f"--threads={settings['threads']}", f"--time={max(1, round(seconds))}", *size_flags(settings))
        program = sysbench(settings, "run", *flags, "--report-interval=1", "--histogram=on", on_line=self.on_line)
        start_ns = clock()
        while True:
            polled_ns = clock()
            is_readable = commands.wait_until_readable(program.fd, timeout_s=0.25)
            if (waited_ns := clock() - polled_ns) > MAX_POLL_NS or sync_path.is_stopped(program.process.pid):
                self.stopped_ns += waited_ns
            if is_readable and not program.read():
                break  # the end of the output
            if commands.stop_requested:
                program.kill()
            elif self.idle_intervals >= MAX_IDLE_INTERVALS and is_full():
                program.kill()
                raise ProgramError(DISK_FULL)
            elif clock() - start_ns > (seconds + END_LIMIT_S) * 1e9:
                program.kill()
                raise ProgramError(f"sysbench ran {END_LIMIT_S} s longer than planned: the server does not answer")
        status = program.finish()
        if status and not commands.stop_requested:
            raise ProgramError(find_error(program.text, status))
        if self.started_ns:
            self.send_totals(program.text)
            waits = {"longest_cpu_wait_ns": self.stopped_ns, "frozen_ns": self.frozen_ns}
            measured = {name: ns for name, ns in waits.items() if ns}
            send("done", start_ns=self.started_ns, end_ns=self.ended_ns, delayed_ns=0, **measured)

    def send_totals(self, text: list[str]) -> None:
        """Send the final figures, and choose the end of the step so that its rate is the one that sysbench printed."""
        self.ended_ns = clock()
        totals = sysbench_program.parse_totals(text)
        if totals is None:
            return
        send("figures", **totals)
        histogram = sysbench_program.parse_histogram(text)
        for first in range(0, len(histogram), HISTOGRAM_ROWS):
            send("figures", histogram=histogram[first : first + HISTOGRAM_ROWS])
        waits = [
            {"file": name, **dict(zip(WAIT_COLUMNS, map(increase, numbers, self.waits_before[name]), strict=True))}
            for name, numbers in read_file_waits(self.settings).items()
            if name in self.waits_before
        ]
        send("figures", waits=waits)
        if totals["tps"]:
            self.ended_ns = self.started_ns + round(totals["transactions"] / totals["tps"] * 1e9)


@contextlib.contextmanager
def explain_full_disk() -> Iterator[None]:
    """If the disk is full, add FULL_REASON to a ProgramError whose message shows no errno.

    On a full disk, PostgreSQL ends without an error message, and sysbench 1.0 crashes.
    """
    try:
        yield
    except ProgramError as error:
        message = str(error)
        raise ProgramError(
            f"{message}; {FULL_REASON}" if errno_in(message) is None and is_full() else message
        ) from None


def measure(settings: dict[str, Any]) -> None:
    sysbench_program.make_files(settings)
    with explain_full_disk():
        if settings["fill"]:
            fill(settings)
        if settings["warmup_s"]:
            warm_up(settings)
        if settings["facts"]:
            send("facts", **sync_path.facts("."))
        measurement = Measurement(settings)
        commands = CommandLines()
        send("ready")
        if commands.wait_for("go"):
            measurement.run(commands)
            commands.wait_for_end()


def errno_in(message: str) -> int | None:
    text = message.lower()
    if "no space left" in text or "errcode: 28" in text or "is full" in text:
        return errno.ENOSPC
    return errno.EIO if "input/output error" in text or "errcode: 5 " in text else None


if __name__ == "__main__":
    run_probe(measure, "start sysbench", "sysbench", errno_in)
