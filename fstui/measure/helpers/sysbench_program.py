"""Run sysbench 1.x as a child of a program of fstui, and parse what it prints (src/sysbench.c).

``query_in`` is called by ``fstui.measure.children.call_helper``.
"""

import contextlib
import math
import os
import re
import select
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fstui.measure.wire.own_directory import enter
from fstui.measure.wire.stdio import ProgramError, die_with_parent

END_LIMIT_S, QUERY_TIMEOUT_S = 20, 15.0
"""How much longer than its measured time sysbench may run, and the time limit of a query."""
SCHEMAS, SQL = "./schemas.lua", "./sql.lua"
_NO_REASON = ("`", "failed query was: ")
"""The start of messages that contain only the name of a script's function, or the statement."""
_PREFIX = re.compile(r"^(?:error |PQ\w+\(\) failed: \d+ |Connection to database failed: (?:.*FATAL:  )?)")
"""Text that sysbench and libpq print before the server's own message."""
_QUERY_SUFFIX = re.compile(r" for query '.*")
_NUMBER, _COUNT = r"(\d{1,15}(?:\.\d{1,15})?)(?![\d.])", r"(\d{1,15})(?![\d.])"
"""Longer numbers and numbers with two points do not match, because sysbench does not print such numbers."""
_INTERVAL_LINE = re.compile(
    rf"\[ {_COUNT}s \] thds: \d+ tps: {_NUMBER} qps: {_NUMBER} \(r/w/o: {_NUMBER}/{_NUMBER}/{_NUMBER}\) "
    rf"lat \(ms,95%\): {_NUMBER} err/s:? {_NUMBER}"
)
_SIGNED_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{1,15})?")
_HISTOGRAM_LINE = re.compile(rf"\s+{_NUMBER} \|[* ]*\s{_COUNT}$")
_REPORT_LINE = re.compile(rf"\s+([\w/ ]+):\s+{_NUMBER}(?:\s+\({_NUMBER} per sec\.\))?")
_LATENCY_MS = {"min": "min", "avg": "avg", "max": "max", "p95": "95th percentile"}


class RunningProgram:
    """A program whose output is read line by line. It ends when the probe ends."""

    def __init__(
        self,
        argv: Sequence[str],
        on_line: Callable[[str], object] = lambda line: None,
        *,
        environment: dict[str, str] | None = None,
        directory: str | None = None,
        fds: Sequence[int] = (),
    ) -> None:
        """``on_line`` is called with each line as it arrives. If it returns True, the line is not added to ``text``."""
        self.on_line = on_line
        self.text: list[str] = []
        self._incomplete = b""
        self.process = subprocess.Popen(
            argv,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=fds,
            env={**os.environ, **(environment or {}), "LC_ALL": "C"},
            preexec_fn=die_with_parent,  # noqa: PLW1509  a probe has no threads
        )
        assert self.process.stdout is not None
        self.fd = self.process.stdout.fileno()

    def read(self) -> bool:
        """Read what the program has printed. If there is nothing, wait. Return False at the end of the output."""
        data = os.read(self.fd, 65536)
        *lines, self._incomplete = (self._incomplete + data).split(b"\n")
        if not data and self._incomplete:
            lines, self._incomplete = [self._incomplete], b""
        for line in lines:
            text = line.decode(errors="replace")
            if self.on_line(text) is not True:
                self.text.append(text)
        return bool(data)

    def kill(self) -> None:
        self.process.kill()

    def finish(self, limit_s: float = math.inf, check: Callable[[], object] = lambda: None) -> int:
        """Read the output to the end, and return the exit status. Call ``check`` every 50 ms. Kill the program if
        ``check`` raises an exception, and after ``limit_s``. Raises ProgramError in the second case."""
        deadline_s = time.monotonic() + limit_s
        try:
            while True:
                if select.select([self.fd], [], [], 0.05)[0] and not self.read():
                    break  # the end of the output
                check()
                if time.monotonic() > deadline_s:
                    raise ProgramError(f"no answer for {limit_s:.0f} s")
        except BaseException:
            self.kill()
            raise
        return self.process.wait()


def sysbench(
    settings: dict[str, Any],
    command: str,
    *options: str,
    on_line: Callable[[str], object] = lambda line: None,
    script: str = "",
    environment: dict[str, str] | None = None,
) -> RunningProgram:
    """Start sysbench. ``script``: one of fstui's scripts, instead of the script of the workload.

    Uses the settings ``sysbench`` (the program's path), ``connection`` (options), ``secrets`` (lines of a configuration
    file, which sysbench reads from a pipe), ``environment``, ``schemas`` and ``workload``.
    """
    config, write_fd = os.pipe()
    os.write(write_fd, settings["secrets"].encode())
    os.close(write_fd)
    # all OLTP scripts create the same tables
    workload = settings.get("workload", "") if command == "run" else "oltp_read_write"
    schemas = settings.get("schemas", 1)
    variables = {"FSTUI_WORKLOAD": workload, "FSTUI_SCHEMAS": str(schemas), **(environment or {})}
    script = script or (SCHEMAS if schemas > 1 else workload)
    argv = [settings["sysbench"], script, *settings["connection"], f"--config-file=/dev/fd/{config}", *options, command]
    try:
        return RunningProgram(argv, on_line, environment={**settings["environment"], **variables}, fds=(config,))
    finally:
        os.close(config)


def query_in(
    place: dict[str, Any] | None, settings: dict[str, Any], statements: Sequence[str], script: str
) -> list[tuple[str, ...]]:
    """Run SQL statements in a directory: ``directory`` and its ``identity``. Raises ProgramError, OSError."""
    if place:
        enter(place["directory"], place["identity"])
    make_files(settings)
    return query(settings, *statements, script=script)


def make_files(settings: dict[str, Any]) -> None:
    """Create the links to the PEM files of TLS, and fstui's scripts, in the working directory."""
    for name, path in settings["tls"].items():
        with contextlib.suppress(FileExistsError):
            os.symlink(path, name)
    for name, text in settings.get("scripts", {}).items():
        with contextlib.suppress(FileExistsError), open(name, "x", encoding="utf-8") as file:
            file.write(text)


def query(
    settings: dict[str, Any],
    *statements: str,
    script: str = SQL,
    limit_s: float = QUERY_TIMEOUT_S,
    check: Callable[[], object] = lambda: None,
) -> list[tuple[str, ...]]:
    """Run SQL statements of one line each. Return the rows of all results. Raises ProgramError."""
    program = sysbench(settings, "query", script=script, environment={"FSTUI_SQL": "\n".join(statements)})
    status = program.finish(limit_s, check)
    if status:
        raise ProgramError(find_error(program.text, status))
    return [tuple(line.split("\t")[1:]) for line in program.text if line.startswith("row\t")]


def find_error(text: list[str], status: int = 1) -> str:
    """Return the server's error in sysbench's output, without the query. If there is none, return the last line."""
    fatal = [line.partition(": ")[2] for line in text if line.startswith(("FATAL: ", "ALERT: "))]
    errors = [line for line in fatal if not line.startswith(_NO_REASON)] or fatal
    if not errors and status < 0:
        return f"sysbench was ended by signal {-status}: its server may have ended"
    if not errors:
        return text[-1] if text else "it printed nothing"
    return _PREFIX.sub("", _QUERY_SUFFIX.sub("", errors[-1]))


def parse_interval(line: str) -> dict[str, float] | None:
    """Return the fields of a line of ``--report-interval=1``; None for any other line."""
    match = _INTERVAL_LINE.match(line)
    if match is None:
        return None
    t_s, tps, qps, _, _, _, p95_ms, errors_per_s = map(float, match.groups())
    return {"t_s": t_s, "tps": tps, "qps": qps, "p95_ms": p95_ms, "errors_per_s": errors_per_s, "length_s": 1.0}


def parse_totals(text: list[str]) -> dict[str, Any] | None:
    """Return the figures of the final report of an OLTP script; None if there is no report."""
    totals, per_s = parse_report(text)
    if "transactions" not in per_s or "queries" not in per_s:
        return None
    ignored = {name.replace(" ", "_"): int(totals[name]) for name in ("ignored errors", "reconnects") if name in totals}
    return {
        "queries": {name: int(totals[name]) for name in ("read", "write", "other", "total") if name in totals},
        "transactions": int(totals["transactions"]),
        "tps": per_s["transactions"],
        "qps": per_s["queries"],
        "latency_ms": latency_ms(totals),
        **ignored,
    }


def parse_report(text: list[str]) -> tuple[dict[str, float], dict[str, float]]:
    """Return the numbers in a final report by name, and the numbers per second: ``queries: 12 (3.40 per sec.)``."""
    lines = [match.groups() for line in reversed(text) if (match := _REPORT_LINE.match(line))]
    numbers = {name: float(number) for name, number, _ in lines}
    return numbers, {name: float(number) for name, _, number in lines if number}


def latency_ms(figures: Mapping[str, float]) -> dict[str, float]:
    return {name: figures[report_name] for name, report_name in _LATENCY_MS.items() if report_name in figures}


def parse_histogram(text: list[str]) -> list[tuple[float, int]]:
    return [(float(match[1]), int(match[2])) for line in text if (match := _HISTOGRAM_LINE.match(line))]


def parse_counters(rows: list[tuple[str, ...]], columns: int) -> dict[str, list[int | None]]:
    """Return the numbers in each complete row, by the name of the row. An empty field becomes None."""
    return {
        row[0]: [round(float(number)) if number else None for number in row[1:]]
        for row in rows
        if len(row) == columns + 1 and all(not number or _SIGNED_NUMBER.fullmatch(number) for number in row[1:])
    }
