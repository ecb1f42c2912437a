"""Probe: drives sysbench's own OLTP scripts against a database server, and passes on what it prints.

Settings: ``fstui.model.Sysbench`` plus ``sysbench`` (its path), ``connection`` (its options, no password), ``secrets``
(lines of a configuration file, given to it on a pipe), ``environment``, ``tls`` (files that it looks for by their name
where it runs), ``scripts`` (of ours, for sysbench: their text by their names), ``fill`` (make the tables first),
``drop`` (drop them first), ``waits`` (a statement a line: each row is a name and numbers that only grow), ``directory``
and its ``identity`` (the run's own, which it enters) and ``facts``.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

from fstui.measure.probes import sync_path, sysbench_text
from fstui.measure.probes.sysbench_program import Sysbench, Trouble, reason, telling_trouble
from fstui.measure.wire.held import enter
from fstui.measure.wire.talk import CommandLines, clock, probe_settings, send

ROW_BYTES = 240  # of sysbench's table, its index included
LATE_S = 20
FULL_INTERVALS = 2
FULL_BYTES = 1 << 20
HISTOGRAM_ROWS = 100
TELL_NS = 250_000_000
ANSWER_S = 10.0
FULL = "no space left on the filesystem of the run's directory"
ASKING = "./sql.lua"
WAITS = ("writes", "bytes", "syncs", "write_ns", "sync_ns")


def tables_of(settings: dict[str, Any]) -> tuple[str, str]:
    return f"--tables={settings['tables']}", f"--table-size={settings['rows']}"


def bytes_of(settings: dict[str, Any]) -> int:
    """Of all tables."""
    return int(settings["schemas"] * settings["tables"] * settings["rows"] * ROW_BYTES)


def fill(settings: dict[str, Any]) -> None:
    """Make and fill the tables. Raises Trouble; SystemExit where the engine hangs up meanwhile."""
    schemas, total = settings["schemas"], bytes_of(settings)
    wanted = schemas * settings["tables"]
    tables = 0

    def hear(line: str) -> None:
        nonlocal tables
        tables += line.startswith("Creating a secondary index")
        send("preparing", done=total * tables // wanted, total=total)

    words = (f"--threads={min(settings['tables'], 8)}", *tables_of(settings))
    for command in (["cleanup"] if settings["drop"] else []) + ["prepare"]:
        for schema in range(1, schemas + 1):
            place = {"FSTUI_SCHEMA": str(schema)}
            Sysbench(settings, command, *words, hear=hear, environment=place).end_before_the_clock()


def warm_up(settings: dict[str, Any]) -> None:
    """The same work, before the clock starts. Raises Trouble; SystemExit where the engine hangs up meanwhile."""
    told_ns = 0
    filled = bytes_of(settings) if settings["fill"] else 0

    def tell() -> None:
        nonlocal told_ns
        if clock() - told_ns > TELL_NS:
            told_ns = clock()
            send("preparing", done=filled, total=filled)

    words = (f"--threads={settings['threads']}", f"--time={max(1, round(settings['warmup_s']))}")
    run = Sysbench(settings, "run", *words, *tables_of(settings), hear=lambda line: None)
    run.end_before_the_clock(tell)


class Waits:
    """What the server counts of its own files while a step runs."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.before = self.ask()

    def ask(self) -> dict[str, list[int | None]]:
        """By name; empty where it does not tell us."""
        if not self.settings["waits"]:
            return {}
        statements = {"FSTUI_SQL": self.settings["waits"]}
        run = Sysbench(self.settings, "ask", hear=lambda line: None, script=ASKING, environment=statements)
        run.thread.join(ANSWER_S)
        if run.thread.is_alive():  # one that has said all may be about to end by itself
            run.process.kill()
        if run.end():
            return {}
        return sysbench_text.counted(run.text, len(WAITS))

    def told(self) -> list[dict[str, int | str | None]]:
        """Since the beginning."""
        return [
            {"file": name, **dict(zip(WAITS, map(grown, numbers, self.before[name]), strict=True))}
            for name, numbers in self.ask().items()
            if name in self.before
        ]


def grown(after: int | None, before: int | None) -> int | None:
    return None if after is None or before is None else max(0, after - before)


class Measurement:
    """One ``run`` and what it printed."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.waits = Waits(settings)
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
        words = (f"--threads={self.settings['threads']}", f"--time={max(1, round(seconds))}", *tables_of(self.settings))
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
            raise Trouble(reason(run.text, status))
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
        send("figures", waits=self.waits.told())
        if totals["tps"]:
            self.ended_ns = self.started_ns + round(totals["transactions"] / totals["tps"] * 1e9)


@contextlib.contextmanager
def told_of_a_full_disk() -> Iterator[None]:
    """PostgreSQL ends without a word where its log has no room, and sysbench 1.0 crashes with it."""
    try:
        yield
    except Trouble as trouble:
        raise Trouble(f"{trouble}; {FULL}" if errno_in(str(trouble)) is None and is_full() else str(trouble)) from None


def is_full() -> bool:
    """Fewer blocks are left than a log grows by."""
    found = os.statvfs(".")
    return found.f_bavail * found.f_frsize < FULL_BYTES


def lay_out(settings: dict[str, Any]) -> None:
    """Links and scripts by those names; the step before may have left them here."""
    for name, path in settings["tls"].items():
        with contextlib.suppress(FileExistsError):
            os.symlink(path, name)
    for name, text in settings["scripts"].items():
        with contextlib.suppress(FileExistsError), open(name, "x", encoding="utf-8") as file:
            file.write(text)


def measure(settings: dict[str, Any]) -> None:
    measurement = Measurement(settings)
    commands = CommandLines()
    send("ready")
    if commands.wait_for("go"):
        measurement.run(commands)
        commands.wait_for_end()


def main() -> NoReturn:
    settings = probe_settings()
    with telling_trouble("sysbench", "start sysbench", errno_in):
        enter(settings["directory"], settings["identity"])
        lay_out(settings)
        with told_of_a_full_disk():
            if settings["fill"]:
                fill(settings)
            if settings["warmup_s"]:
                warm_up(settings)
            if stubs := settings.get("facts"):
                send("facts", **sync_path.facts(".", stubs))
            measure(settings)
    sys.exit(0)


def errno_in(message: str) -> int | None:
    """The kernel's error, where a server passed it on."""
    words = message.lower()
    if "no space left" in words or "errcode: 28" in words or "is full" in words:
        return errno.ENOSPC
    return errno.EIO if "input/output error" in words or "errcode: 5 " in words else None


if __name__ == "__main__":
    main()
