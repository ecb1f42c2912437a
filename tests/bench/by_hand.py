"""A database server made, started and filled by a shell script, and sysbench by hand, without fstui.

The options of the server are those that fstui uses.
"""

import os
import pwd
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from msgspec.structs import replace

from fstui.databases.connections import Connection
from fstui.databases.programs import ServerProgram
from fstui.databases.sql import FAMILIES
from fstui.measure.kinds.servers import KINDS
from fstui.measure.kinds.sysbench import Sysbench
from fstui.measure.probes import sysbench_program

SCRIPT = """set -e
mkdir -m 700 {data}
{own}
{prepare}
{server} >{log} 2>&1 &
echo $! >{pid}
until {ready}; do sleep 0.05; done
{create}
{fill}
"""
SQL = Path(__file__).parents[2] / "fstui/databases/sql.lua"
END_S = 30


class Run(NamedTuple):
    """The final report of sysbench."""

    transactions: int
    tps: float


class ByHand:
    """A server in a directory that its user may enter."""

    def __init__(self, program: ServerProgram, sysbench: str, settings: Sysbench, directory: Path) -> None:
        self._program, self._sysbench, self._settings = program, sysbench, settings
        self._family = FAMILIES[KINDS[program.kind].driver]
        self._data, self._log, self._pid = directory / "data", directory / "log", directory / "pid"
        self._connection: Connection = self._family.connection(str(self._data / self._family.socket))

    def start(self) -> None:
        """Fill its tables."""
        done = subprocess.run(["sh", "-c", self._script()], cwd="/", capture_output=True, text=True, check=False)
        if done.returncode:
            told = self._log.read_text()[-1000:] if self._log.exists() else ""
            sys.exit(f"{self._program.title} by hand: {done.stdout[-500:]}{done.stderr[-500:]}{told}")

    def run(self, seconds: float) -> Run:
        """Run sysbench."""
        words = ["--threads=1", f"--time={round(seconds)}", *self._tables(), "run"]
        command = [self._sysbench, self._settings.workload, *self._family.sysbench_options(self._connection), *words]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        totals: dict[str, Any] | None = sysbench_program.totals(text.splitlines())
        assert totals, text
        return Run(totals["transactions"], totals["tps"])

    def stop(self) -> None:
        """Remove everything."""
        if self._pid.exists():
            try:
                server = psutil.Process(int(self._pid.read_text()))
                server.send_signal(signal.Signals[self._family.end_signal])
                server.wait(END_S)
            except psutil.NoSuchProcess:
                pass
        shutil.rmtree(self._data, ignore_errors=True)
        self._log.unlink(missing_ok=True)
        self._pid.unlink(missing_ok=True)

    def _script(self) -> str:
        data, family = str(self._data), self._family
        user = next((name for name in family.users if os.geteuid() == 0 and _is_known(name)), "")
        group = pwd.getpwnam(user).pw_gid if user else 0
        become = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups"] if user else []
        socket = f"{data}/{family.socket}"
        prepared = [_piped(become + step["argv"], step) for step in family.preparation(self._program, data)]
        ready = f"[ -S {shlex.quote(socket)} ]"
        if family.ready:
            name, word = family.ready
            ready = f"grep -q ^{word} {shlex.quote(f'{data}/{name}')} 2>/dev/null"
        to_any = replace(self._connection, database=family.maintenance)
        asked = f"CREATE DATABASE {self._connection.database}"
        create = ["env", f"FSTUI_SQL={asked}", self._sysbench, str(SQL), *family.sysbench_options(to_any), "query"]
        fill = [
            self._sysbench,
            "oltp_read_write",
            *family.sysbench_options(self._connection),
            *self._tables(),
            "prepare",
        ]
        return SCRIPT.format(
            data=shlex.quote(data),
            own=f"chown {user}: {shlex.quote(data)}" if user else "",
            prepare="\n".join(prepared),
            server=shlex.join(become + family.command_line(self._program, data, socket, self._settings)),
            log=shlex.quote(str(self._log)),
            pid=shlex.quote(str(self._pid)),
            ready=ready,
            create=f"{shlex.join(create)} >/dev/null" if family.create_statements else "",
            fill=f"{shlex.join(fill)} >/dev/null",
        )

    def _tables(self) -> tuple[str, str]:
        return f"--tables={self._settings.tables}", f"--table-size={self._settings.rows}"


def _piped(argv: list[str], step: dict[str, Any]) -> str:
    words = f"{shlex.join(argv)} >/dev/null 2>&1"
    text, files = step.get("text", ""), step.get("files", ())
    return f"{{ printf %s {shlex.quote(text)}; cat {shlex.join(files)}; }} | {words}" if files else words


def _is_known(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True
