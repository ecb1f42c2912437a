"""A server for one run: made in the run's own directory, reached by a socket among its data, gone with the run."""

from __future__ import annotations

import asyncio
import json
import os
import pwd
from collections.abc import Callable
from types import ModuleType
from typing import Any

import msgspec

from fstui.children import Child, command
from fstui.databases import mysql, postgresql
from fstui.databases.connection import Connection
from fstui.databases.facts import described
from fstui.databases.programs import Program
from fstui.databases.sql import DatabaseError
from fstui.measures.servers import Server
from fstui.measures.sysbench import Sysbench
from fstui.noting import note, strike_out_gone
from fstui.state import ledger
from fstui.workspace import Held

START_S = 90.0
START_SYNCS = 2000
"""More than any makes from an empty directory to its first connection: MySQL 9.7 makes 752, one after the other."""
END_S = 15.0
DATA_FD = 64
"""Under this number the server, and all that it starts, has its data directory open: higher than any of its own."""
DATA = f"/proc/self/fd/{DATA_FD}"
"""Its name for it, short enough for a socket's path (unix(7): 107 bytes), and led elsewhere by nobody."""
CWD = "/proc/self/cwd"
"""The run's directory, for the clients that entered it."""
FAMILIES: dict[str, ModuleType] = {"mariadb": mysql, "mysql": mysql, "postgresql": postgresql}


def start_limit_s(sync_s: float) -> float:
    """How long a server may take to start, where a sync takes that long."""
    return START_S + START_SYNCS * sync_s


class Throwaway:
    """A running server."""

    def __init__(self, program: Program, sysbench: str, workspace: Held, name: str, keeper: Child) -> None:
        """``name``: of its data directory in the run's own."""
        self._family = FAMILIES[program.kind]
        self.sysbench = sysbench
        self.connection: Connection = self._family.connection(f"{CWD}/{name}/{self._family.SOCKET}")
        self.pid: int | None = None
        self.described = Server()
        self._program, self._workspace, self._name = program, workspace, name
        self._keeper = keeper
        self._entries: list[ledger.Entry] = []

    @classmethod
    async def start(
        cls,
        program: Program,
        sysbench: str,
        settings: Sysbench,
        *,
        workspace: Held,
        run_id: str,
        number: int,
        limit_s: float = START_S,
        begun: Callable[[int], None] = lambda pid: None,
    ) -> Throwaway:
        """Make it and wait until it answers, so long. Raises DatabaseError with what it said, OSError.

        ``begun`` is told of the process that is to start it, before it does.
        """
        family, name = FAMILIES[program.kind], f"server-{number}"
        told = {
            **workspace.told,
            "name": name,
            "data": DATA,
            "data_fd": DATA_FD,
            "socket": family.SOCKET,
            "user": _user(family.USERS),
            "prepare": family.preparation(program, DATA),
            "program": program.path,
            "ready": family.ready(),
            "signal": family.END_SIGNAL,
            "restart_signal": family.RESTART_SIGNAL,
        }
        own_session = settings.session == "own"
        keeper = await Child.start("helpers.serve", own_session=own_session)
        server = cls(program, sysbench, workspace, name, keeper)
        try:
            begun(keeper.pid)
            server._entries.append(await note(run_id, "server", f"{workspace.path}/{name}"))
            await server._go(settings, limit_s, told)
        except BaseException:
            await server.stop()
            raise
        return server

    async def restart(self, settings: Sysbench, limit_s: float) -> None:
        """With these options, on the data that it has. Raises DatabaseError with what it said: it is of no use then."""
        await self._go(settings, limit_s, {})

    async def _go(self, settings: Sysbench, limit_s: float, told: dict[str, Any]) -> None:
        words = self._family.words(self._program, DATA, f"{DATA}/{self._family.SOCKET}", settings)
        self._keeper.send(json.dumps({**told, "argv": words}))
        self.pid, inside = await self._started(limit_s)
        self.described = await self._described(settings, inside)

    async def _described(self, settings: Sysbench, inside: str) -> Server:
        """With the database that the run works in, made where the server brings none.

        ``inside``: the server's own name for its data, which nobody else would understand.
        """
        workspace = self._workspace
        within = command("helpers.within", workspace.path, str(workspace.device), str(workspace.inode))
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
            within=within,
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
            answer: dict[str, Any] = json.loads(await self._keeper.read_line() or b'{"error": "its keeper ended"}')
            if "ended" not in answer:
                return answer

    async def ended(self) -> str | None:
        """Why it is gone, if it is."""
        try:
            line = await asyncio.wait_for(self._keeper.read_line(), 0.3)  # a word of it may be on its way
        except TimeoutError:
            return None
        answer = json.loads(line or b"{}")
        status = answer.get("ended", 0)
        how = f"signal {-status}" if status < 0 else f"status {status}"
        complaint = f": {answer['complaint']}" if answer.get("complaint") else ""
        return f"{self._program.title} ended by itself ({how}){complaint}"

    async def stop(self) -> str | None:
        """End it and remove what it had. Returns None, or the sentence that says what is still there."""
        status = await self._keeper.reap(END_S)
        if status is None:
            self._keeper.abandon()
            return f"{self._program.title} (process {self.pid}) did not end within {END_S:.0f} s"
        await strike_out_gone(*self._entries)  # what is not gone stays in the ledger
        return None


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
