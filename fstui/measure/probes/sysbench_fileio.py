"""Probe: the real ``sysbench fileio``, random writes to one file, as the field has always run it.

Settings: those of its kind of step, plus ``directory`` and its ``identity`` (the run's own, which it enters), ``path``
(a directory to make there for the test file, which sysbench names relative to it) and ``facts``.
Its figures are its own words read back; ``times`` says what its latency is the latency of.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import Any, NoReturn

from fstui.measure.probes import sync_path
from fstui.measure.probes.files import try_direct
from fstui.measure.probes.sysbench_program import Trouble, die_with_us, reason, telling_trouble
from fstui.measure.probes.sysbench_text import COUNT, NUMBER
from fstui.measure.wire.held import enter
from fstui.measure.wire.talk import CommandLines, clock, probe_settings, send

LATE_S = 20
TIMES = "each write and each fsync is an event of its own in one histogram"
_PATTERNS = {
    "writes_per_s": rf"\s+writes/s:\s+{NUMBER}",
    "fsyncs_per_s": rf"\s+fsyncs/s:\s+{NUMBER}",
    "total_time_s": rf"\s+total time:\s+{NUMBER}s",
    "events": rf"\s+total number of events:\s+{COUNT}",
    "min": rf"\s+min:\s+{NUMBER}",
    "avg": rf"\s+avg:\s+{NUMBER}",
    "max": rf"\s+max:\s+{NUMBER}",
    "p95": rf"\s+95th percentile:\s+{NUMBER}",
}


def totals(text: str) -> dict[str, Any] | None:
    """The report of sysbench 1.x at its end; None where it is not there."""
    found = {name: re.search(pattern, text) for name, pattern in _PATTERNS.items()}
    numbers = {name: float(match[1]) for name, match in found.items() if match}
    if not {"writes_per_s", "fsyncs_per_s", "total_time_s"} <= numbers.keys():
        return None
    latency = {name: numbers.pop(name) for name in ("min", "avg", "max", "p95") if name in numbers}
    return {**numbers, "events": int(numbers.get("events", 0)), "latency_ms": latency, "times": TIMES}


def command_line(settings: dict[str, Any], action: str) -> list[str]:
    """The commands of the 2011 report, in the words of sysbench 1.x."""
    words = [
        "sysbench",
        "fileio",
        "--file-num=1",
        f"--file-total-size={settings['file_bytes']}",
        "--file-test-mode=rndwr",
        f"--file-block-size={settings['block_bytes']}",
        f"--file-fsync-freq={settings['fsync_every']}",
        f"--time={max(1, round(settings['seconds']))}",
        "--threads=1",
    ]
    return [*words, *(["--file-extra-flags=direct"] if settings["direct"] else []), action]


def start(settings: dict[str, Any], action: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command_line(settings, action),
        cwd=settings["path"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "LC_ALL": "C"},
        preexec_fn=die_with_us,  # noqa: PLW1509  no thread runs yet
    )


def prepare(settings: dict[str, Any]) -> None:
    """Its file, written and synced. Raises Trouble."""
    process = start(settings, "prepare")
    output = process.communicate()[0].decode(errors="replace")
    if process.returncode:
        raise Trouble(reason(output.splitlines()))
    fd = os.open(os.path.join(settings["path"], "test_file.0"), os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


def measure(settings: dict[str, Any], commands: CommandLines) -> None:
    """Until it ends by itself or is told to. Raises Trouble."""
    started_ns = clock()
    process = start(settings, "run")
    assert process.stdout is not None
    output = b""
    watched = process.stdout.fileno()
    while True:
        if commands.readable_meanwhile(watched, timeout_s=0.25):
            data = os.read(watched, 65536)
            if not data:
                break
            output += data
        if commands.stop_wanted or clock() - started_ns > (settings["seconds"] + LATE_S) * 1e9:
            process.kill()
    text = output.decode(errors="replace")
    if process.wait() and not commands.stop_wanted:
        raise Trouble(reason(text.splitlines()))
    found = totals(text)
    if found is None:
        if not commands.stop_wanted:
            raise Trouble("its report at the end is not there")
        return
    writes = round(found["writes_per_s"] * found["total_time_s"])
    send("figures", transactions=writes, written_bytes=writes * settings["block_bytes"], **found)
    send("done", start_ns=started_ns, end_ns=started_ns + round(found["total_time_s"] * 1e9), held_ns=0)


def main() -> NoReturn:
    settings = probe_settings()
    with telling_trouble("sysbench", "start sysbench"):
        enter(settings["directory"], settings["identity"])
        os.mkdir(settings["path"], 0o700)
        try:
            if settings["direct"]:
                try_direct(settings["path"])
            prepare(settings)
            if stubs := settings.get("facts"):
                send("facts", **sync_path.facts(settings["path"], stubs))
            commands = CommandLines()
            send("ready")
            if commands.wait_for("go"):
                measure(settings, commands)
                commands.wait_for_end()
        finally:
            shutil.rmtree(settings["path"], ignore_errors=True)  # the keeper of the directory removes the rest
    sys.exit(0)


if __name__ == "__main__":
    main()
