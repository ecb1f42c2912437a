"""Probe: random writes to one file by the program ``sysbench fileio``.

Settings: those of the step, ``directory`` and its ``identity`` (the run's directory, which the probe enters), ``path``
(the directory to create for the test file) and ``facts`` (whether to examine the sync path of this process).
"""

import os
import shutil
from typing import Any

from fstui.measure.helpers.sysbench_program import END_LIMIT_S, RunningProgram, find_error, latency_ms, parse_report
from fstui.measure.probes import sync_path
from fstui.measure.probes.files import try_direct
from fstui.measure.wire.stdio import CommandLines, ProgramError, clock, exit_if_stopped, run_probe, send

LATENCY_NOTE = "each write and each fsync is an event of its own in one histogram"
_REPORT_NAMES = {"writes_per_s": "writes/s", "fsyncs_per_s": "fsyncs/s", "total_time_s": "total time"}


def parse_totals(text: list[str]) -> dict[str, Any] | None:
    figures, _ = parse_report(text)
    if not figures.keys() >= set(_REPORT_NAMES.values()):
        return None
    numbers = {name: figures[report_name] for name, report_name in _REPORT_NAMES.items()}
    events = int(figures.get("total number of events", 0))
    return {**numbers, "events": events, "latency_ms": latency_ms(figures), "times": LATENCY_NOTE}


def start(settings: dict[str, Any], action: str) -> RunningProgram:
    argv = [
        "sysbench",
        "fileio",
        "--file-num=1",
        f"--file-total-size={settings['file_bytes']}",
        "--file-test-mode=rndwr",
        f"--file-block-size={settings['block_bytes']}",
        f"--file-fsync-freq={settings['fsync_every']}",
        f"--time={max(1, round(settings['seconds']))}",
        "--threads=1",
        *(["--file-extra-flags=direct"] if settings["direct"] else []),
        action,
    ]
    return RunningProgram(argv, directory=settings["path"])


def prepare(settings: dict[str, Any]) -> None:
    program = start(settings, "prepare")
    if program.finish(check=exit_if_stopped):
        raise ProgramError(find_error(program.text))
    fd = os.open(os.path.join(settings["path"], "test_file.0"), os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


def run(settings: dict[str, Any], commands: CommandLines) -> None:
    started_ns = clock()
    program = start(settings, "run")
    while True:
        if commands.wait_until_readable(program.fd, timeout_s=0.25) and not program.read():
            break  # the end of the output
        if commands.stop_requested or clock() - started_ns > (settings["seconds"] + END_LIMIT_S) * 1e9:
            program.kill()
    if program.finish() and not commands.stop_requested:
        raise ProgramError(find_error(program.text))
    figures = parse_totals(program.text)
    if figures is None:
        if not commands.stop_requested:
            raise ProgramError("sysbench ended without printing a report")
        return
    writes = round(figures["writes_per_s"] * figures["total_time_s"])
    send("figures", transactions=writes, written_bytes=writes * settings["block_bytes"], **figures)
    send("done", start_ns=started_ns, end_ns=started_ns + round(figures["total_time_s"] * 1e9), delayed_ns=0)


def measure(settings: dict[str, Any]) -> None:
    os.mkdir(settings["path"], 0o700)
    try:
        if settings["direct"]:
            try_direct(settings["path"])
        prepare(settings)
        if settings["facts"]:
            send("facts", **sync_path.facts(settings["path"]))
        commands = CommandLines()
        send("ready")
        if commands.wait_for("go"):
            run(settings, commands)
            commands.wait_for_end()
    finally:
        # remaining files are removed with the run's directory
        shutil.rmtree(settings["path"], ignore_errors=True)


if __name__ == "__main__":
    run_probe(measure, "start sysbench", "sysbench")
