"""A server for one run: made in the run's own directory, reached by a socket among its data, gone with the run."""

from __future__ import annotations

import asyncio
import os
import pwd
from collections.abc import Callable
from typing import Any

import msgspec

from fstui.databases import programs
from fstui.databases.connection import Connection
from fstui.databases.facts import described
from fstui.databases.families import FAMILIES
from fstui.databases.keeper import END_S, Keeper
from fstui.databases.programs import Program
from fstui.databases.sql import DatabaseError
from fstui.measure.kinds.servers import Server
from fstui.measure.kinds.sysbench import Sysbench
from fstui.state.workspace import Held

START_S = 90.0
START_SYNCS = 2000
"""More than any makes from an empty directory to its first connection: MySQL 9.7 makes 752, one after the other."""
DATA_FD = 64
"""Under this number the server, and all that it starts, has its data directory open: higher than any of its own."""
DATA = f"/proc/self/fd/{DATA_FD}"
"""Its name for it, short enough for a socket's path (unix(7): 107 bytes), and led elsewhere by nobody."""
CWD = "/proc/self/cwd"
"""The run's directory, for the clients that entered it."""
_ENTER = """cd -P -- "$1" && [ "$(stat -c %d:%i .)" = "$2" ] || {
  echo "FATAL: $1: another directory has taken its place"; exit 1; }
shift 2; exec "$@"
"""


def start_limit_s(sync_s: float) -> float:
    """How long a server may take to start, where a sync takes that long."""
    return START_S + START_SYNCS * sync_s


class Throwaway:
    """A running server."""

    def __init__(self, program: Program, sysbench: str, workspace: Held, name: str, keeper: Keeper) -> None:
        """``name``: of its data directory in the run's own."""
        self._family = FAMILIES[program.kind]
        self.sysbench = sysbench
        self.connection: Connection = self._family.connection(f"{CWD}/{name}/{self._family.SOCKET}")
        self.pid: int | None = None
        self.described = Server()
        self._program, self._workspace, self._name = program, workspace, name
        self._keeper = keeper

    @classmethod
    async def expected(
        cls,
        settings: Sysbench,
        *,
        workspace: Held,
        run_id: str,
        number: int,
        begun: Callable[[int], None] = lambda pid: None,
    ) -> Throwaway:
        """One that is not made yet: its keeper waits, and its programs are found.

        ``begun`` is told of the process that is to start it, before it does. Raises DatabaseError, Refused, OSError.
        """
        name = f"server-{number}"
        keeper = await Keeper.start(run_id, f"{workspace.path}/{name}", own_session=settings.own_session)
        try:
            begun(keeper.pid)
            program, sysbench = await _programs(settings.server)
        except BaseException:
            await keeper.end()
            raise
        return cls(program, sysbench, workspace, name, keeper)

    async def noted(self) -> None:
        """The ledger has its entry, or could not take it: it is not made then."""
        await self._keeper.noted()

    async def make(self, settings: Sysbench, limit_s: float = START_S) -> None:
        """And wait until it answers, so long. Raises DatabaseError with what it said, Refused, OSError."""
        try:
            await self._go(settings, limit_s, self._to_make())
        except BaseException:
            await self._keeper.end()
            raise

    def _to_make(self) -> dict[str, Any]:
        """What its keeper is told of it once."""
        family = self._family
        return {
            **self._workspace.told,
            "name": self._name,
            "data": DATA,
            "data_fd": DATA_FD,
            "socket": family.SOCKET,
            "user": _user(family.USERS),
            "prepare": family.preparation(self._program, DATA),
            "program": self._program.path,
            "ready": family.ready(),
            "signal": family.END_SIGNAL,
            "restart_signal": family.RESTART_SIGNAL,
        }

    async def restart(self, settings: Sysbench, limit_s: float) -> None:
        """With these options, on the data that it has. Raises DatabaseError with what it said: it is of no use then."""
        await self._go(settings, limit_s, {})

    async def _go(self, settings: Sysbench, limit_s: float, told: dict[str, Any]) -> None:
        words = self._family.words(self._program, DATA, f"{DATA}/{self._family.SOCKET}", settings)
        await self._keeper.tell({**told, "argv": words})
        self.pid, inside = await self._started(limit_s)
        self.described = await self._described(settings, inside)

    async def _described(self, settings: Sysbench, inside: str) -> Server:
        """With the database that the run works in, made where the server brings none.

        ``inside``: the server's own name for its data, which nobody else would understand.
        """
        workspace = self._workspace
        connection, making = self.connection, []
        if self._family.TO_MAKE:
            making = [f"CREATE DATABASE IF NOT EXISTS {connection.database}"]
            connection = msgspec.structs.replace(connection, database=self._family.MAINTENANCE)
        found = await described(
            self.sysbench,
            self._program.kind,
            connection,
            self.pid,
            where="throwaway",
            workspace=workspace.path,
            title=self._program.title,
            asked=settings.options,
            within=within(workspace),
            making=making,
        )
        data = f"{workspace.path}/{self._name}"
        variables = {
            name: f"{data}{value.removeprefix(inside)}" if value.startswith(inside) else value
            for name, value in found.variables.items()
        }
        reached = f"socket {data}/{self._family.SOCKET}"
        return msgspec.structs.replace(found, reached=reached, data_directory=data, variables=variables)

    async def _started(self, limit_s: float) -> tuple[int, str]:
        """Its process id, and its own name for its data."""
        try:
            answer = await asyncio.wait_for(self._answer(), limit_s)
        except TimeoutError:
            raise DatabaseError(f"{self._program.title} did not start within {limit_s:.0f} s") from None
        if "error" in answer:
            raise DatabaseError(f"{self._program.title} did not start: {answer['error']}")
        return int(answer["started"]), str(answer["data"])

    async def _answer(self) -> dict[str, Any]:
        """Of its keeper, to the last word; that the server before has ended is none."""
        while True:
            answer = await self._keeper.answer()
            if "ended" not in answer:
                return answer

    async def ended(self) -> str | None:
        """Why it is gone, if it is."""
        try:
            answer = await asyncio.wait_for(self._keeper.answer(), 0.3)  # a word of it may be on its way
        except TimeoutError:
            return None
        status = answer.get("ended", 0)
        how = f"signal {-status}" if status < 0 else f"status {status}"
        complaint = f": {answer['complaint']}" if answer.get("complaint") else ""
        return f"{self._program.title} ended by itself ({how}){complaint}"

    async def stop(self) -> str | None:
        """End it and remove what it had. Returns None, or the sentence that says what is still there."""
        if await self._keeper.end():
            return None
        return f"{self._program.title} (process {self.pid}) did not end within {END_S:.0f} s"


def within(workspace: Held) -> list[str]:
    """The words before those of a program that is to run in the run's directory, and in no other."""
    return ["sh", "-c", _ENTER, "sh", workspace.path, f"{workspace.device}:{workspace.inode}"]


async def _programs(kind: str) -> tuple[Program, str]:
    """The server and sysbench. Raises DatabaseError, Refused: they were there when the run was planned."""
    sysbench, program = await asyncio.gather(programs.find_sysbench(), programs.find_server(kind))
    if program is None:
        raise DatabaseError(programs.missing(kind))
    return program, sysbench


def _user(wanted: tuple[str, ...]) -> str | None:
    """Whom the server runs as where we are root; otherwise as ourselves."""
    if os.geteuid() != 0:
        return None
    for name in wanted:
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        return name
    raise DatabaseError(f"a server does not run as root, and there is no user {' or '.join(wanted)} here")
