"""A server for one run: made in the run's own directory, reached by a unix socket alone, gone with the run."""

from __future__ import annotations

import asyncio
import json
import os
import pwd
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from fstui.children import Child
from fstui.databases import mysql, postgresql
from fstui.databases.connection import Connection
from fstui.databases.facts import described
from fstui.databases.programs import Program
from fstui.databases.sql import DatabaseError, ask
from fstui.model import Sysbench
from fstui.quantities import plain
from fstui.state import ledger
from fstui.workspace import PREFIX

START_S = 90.0
END_S = 15.0
SOCKET_BYTES = 107
"""unix(7): sun_path holds 108 bytes, the last one zero."""
FAMILIES: dict[str, ModuleType] = {"mariadb": mysql, "mysql": mysql, "postgresql": postgresql}


class Throwaway:
    """A running server."""

    def __init__(self, title: str, sysbench: str, connection: Connection, keeper: Child) -> None:
        self.sysbench = sysbench
        self.connection = connection
        self.pid: int | None = None
        self.described: dict[str, Any] = {}
        self._title = title
        self._keeper = keeper
        self._entries: list[ledger.Entry] = []

    @classmethod
    async def start(
        cls, program: Program, sysbench: str, settings: Sysbench, *, workspace: str, run_id: str, number: int
    ) -> Throwaway:
        """Make it and wait until it answers. Raises DatabaseError with what it said, OSError."""
        family = FAMILIES[program.kind]
        directory = f"{workspace}/server-{number}"
        socket_directory, socket = _socket(directory, family.SOCKET, run_id, number)
        data = f"{directory}/data"
        told = {
            "directory": directory,
            "data": data,
            "socket": socket,
            "socket_directory": socket_directory,
            "user": _user(family.USERS),
            "log": f"{workspace}/server-{number}.log",
            "prepare": family.preparation(program, data),
            "program": program.path,
            "argv": family.words(program, data, socket, settings),
            "ready": family.ready(data),
            "signal": family.END_SIGNAL,
        }
        server = cls(program.title, sysbench, family.connection(socket), await Child.start("probes.serve"))
        try:
            server._entries.append(ledger.enter(run_id, kind="server", what=directory))
            if socket_directory:
                server._entries.append(ledger.enter(run_id, kind="directory", what=socket_directory))
            server._keeper.send(json.dumps(told))
            server.pid = await server._started()
            if family.TO_MAKE:
                to_any = msgspec.structs.replace(server.connection, database=family.MAINTENANCE)
                await ask(sysbench, to_any, [f"CREATE DATABASE {server.connection.database}"])
            server.described = await described(
                sysbench,
                program.kind,
                server.connection,
                server.pid,
                where="throwaway",
                workspace=workspace,
                title=program.title,
            )
        except BaseException:
            await server.stop()
            raise
        return server

    async def _started(self) -> int:
        try:
            line = await asyncio.wait_for(self._keeper.read_line(), START_S)
        except TimeoutError:
            raise DatabaseError(f"{self._title} did not start within {START_S:.0f} s") from None
        answer = json.loads(line or b'{"error": "its keeper ended"}')
        if "error" in answer:
            raise DatabaseError(f"{self._title} did not start: {plain(answer['error'])}")
        return int(answer["started"])

    async def ended(self) -> str | None:
        """Why it is gone, if it is."""
        try:
            line = await asyncio.wait_for(self._keeper.read_line(), 0.3)  # a word of it may be on its way
        except TimeoutError:
            return None
        answer = json.loads(line or b"{}")
        status = answer.get("ended", 0)
        how = f"signal {-status}" if status < 0 else f"status {status}"
        complaint = f": {plain(answer['complaint'])}" if answer.get("complaint") else ""
        return f"{self._title} ended by itself ({how}){complaint}"

    async def stop(self) -> str | None:
        """End it and remove what it had. Returns None, or the sentence that says what is still there."""
        status = await self._keeper.reap(END_S)
        if status is None:
            self._keeper.abandon()
            return f"{self._title} (process {self.pid}) did not end within {END_S:.0f} s"
        _strike_out(self._entries)
        return None


def _strike_out(entries: list[ledger.Entry]) -> None:
    """What is gone; what is not stays in the ledger."""
    for entry in entries:
        if not Path(entry.what).exists():
            ledger.settled(entry)


def _socket(directory: str, name: str, run_id: str, number: int) -> tuple[str | None, str]:
    """Where its socket goes: into its directory, or into a private one where that path would be too long."""
    path = f"{directory}/{name}"
    if len(os.fsencode(path)) <= SOCKET_BYTES:
        return None, path
    stated = os.environ.get("XDG_RUNTIME_DIR", "")
    for parent in (stated, "/tmp"):
        private = f"{parent}/{PREFIX}{run_id}-{number}"
        path = f"{private}/of/{name}"
        if parent.startswith("/") and os.access(parent, os.W_OK) and len(os.fsencode(path)) <= SOCKET_BYTES:
            return private, path
    raise DatabaseError(f"no directory for a unix socket: {plain(path)} is longer than {SOCKET_BYTES} bytes")


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
