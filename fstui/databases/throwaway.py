"""A server for one run. Its data and its socket are in the run's directory and are removed with it.

A child program, the keeper (``measure.helpers.serve``), creates, starts and stops the server. It also stops the
server if fstui is killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pwd
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from fstui.databases import programs
from fstui.databases.connections import Connection, DatabaseError
from fstui.databases.facts import read_facts
from fstui.databases.programs import ServerProgram
from fstui.databases.sql import FAMILIES
from fstui.measure.children import Child
from fstui.measure.kinds.servers import KINDS, Server
from fstui.measure.kinds.sysbench import Sysbench
from fstui.model.errors import Refused
from fstui.model.quantities import seconds
from fstui.state import ledger
from fstui.state.ledger import delete_entry_if_gone, delete_entry_in_child, write_entry_in_child
from fstui.state.workspace import HeldDirectory

START_TIMEOUT_S, END_TIMEOUT_S = 90.0, 15.0
START_SYNCS = 2000
"""More syncs than a server needs to start in an empty directory. MySQL 9.7 issues 752, one after another."""
CWD = "/proc/self/cwd"
"""The run's directory, for clients that have it as their working directory."""


def start_limit_s(sync_s: float) -> float:
    """Return how long a server may take to start on storage on which one sync takes ``sync_s``."""
    return START_TIMEOUT_S + START_SYNCS * sync_s


class ThrowawayServer:
    def __init__(
        self, program: ServerProgram, sysbench: str, workspace: HeldDirectory, entry: ledger.LedgerEntry, keeper: Child
    ) -> None:
        """``entry``: the ledger entry of the data directory, which is in the run's directory."""
        self._family = FAMILIES[KINDS[program.kind].driver]
        self._name = Path(entry.what).name
        self.sysbench = sysbench
        self.connection: Connection = self._family.connection(f"{CWD}/{self._name}/{self._family.socket}")
        self.pid: int | None = None
        self.facts = Server()
        self._program, self._workspace, self._entry, self._keeper = program, workspace, entry, keeper

    @classmethod
    async def open(
        cls,
        settings: Sysbench,
        limit_s: float = START_TIMEOUT_S,
        *,
        workspace: HeldDirectory,
        run_id: str,
        number: int,
        on_start: Callable[[int], None] = lambda pid: None,
    ) -> ThrowawayServer:
        """Start the keeper, call ``on_start`` with its pid, and let it create and start the server.

        Return when the server is ready. Raises Refused, OSError.
        """
        program, sysbench = await programs.server_and_sysbench(settings.server)
        entry = await write_entry_in_child(run_id, "server", f"{workspace.path}/server-{number}")
        try:
            keeper = await Child.start("measure.helpers.serve", own_session=settings.own_session)
        except BaseException:
            await delete_entry_in_child(entry)
            raise
        server = cls(program, sysbench, workspace, entry, keeper)
        try:
            on_start(keeper.pid)
            await server._start_with(settings, limit_s, server._setup_request())
        except BaseException:
            await server.stop()
            raise
        return server

    def _setup_request(self) -> dict[str, Any]:
        family = self._family
        return {
            **self._workspace.as_settings,
            "name": self._name,
            "socket": family.socket,
            "user": server_user(family.users),
            "prepare": family.preparation(self._program, "{data}"),
            "program": self._program.path,
            "ready": family.ready,
            "signal": family.end_signal,
            "restart_signal": family.restart_signal,
        }

    async def restart(self, settings: Sysbench, limit_s: float) -> None:
        """Restart the server with these options on its data. Raises Refused, after which ``stop`` must be called."""
        await self._start_with(settings, limit_s, {})

    async def _start_with(self, settings: Sysbench, limit_s: float, fields: dict[str, Any]) -> None:
        argv = self._family.command_line(self._program, "{data}", f"{{data}}/{self._family.socket}", settings)
        self._keeper.send(json.dumps({**fields, "argv": argv}))
        self.pid, data_directory = await self._wait_for_start(limit_s)
        self.facts = await self._read_facts(settings, data_directory)

    async def _read_facts(self, settings: Sysbench, data_directory: str) -> Server:
        """Return what the server reports, with paths that are valid outside the server's mount namespace.

        ``data_directory``: the data directory as the server sees it.
        """
        workspace, connection = self._workspace, self.connection
        if self._family.create_statements:
            connection = replace(connection, database=self._family.maintenance_database)
        server = await read_facts(
            self.sysbench,
            self._program.kind,
            connection,
            self.pid,
            workspace=workspace.path,
            title=self._program.title,
            options=settings.options,
            directory=workspace,
            first_statements=self._family.create_statements,
        )
        data = f"{workspace.path}/{self._name}"
        variables = {
            name: f"{data}{value.removeprefix(data_directory)}" if value.startswith(data_directory) else value
            for name, value in server.variables.items()
        }
        address = f"socket {data}/{self._family.socket}"
        return replace(server, reached=address, data_directory=data, variables=variables)

    async def _wait_for_start(self, limit_s: float) -> tuple[int, str]:
        """Return the server's process id, and its data directory as the server sees it."""
        try:
            async with asyncio.timeout(limit_s):
                message = await self._read_message()
                while "ended" in message:  # such a message is about the server before the restart
                    message = await self._read_message()
        except TimeoutError:
            raise DatabaseError(f"{self._program.title} did not start within {limit_s:.0f} s") from None
        if "error" in message:
            raise DatabaseError(f"{self._program.title} did not start: {message['error']}")
        return int(message["started"]), str(message["data"])

    async def _read_message(self) -> dict[str, Any]:
        line = await self._keeper.read_line() or b'{"error": "its helper process ended"}'
        return dict(json.loads(line))

    async def why_ended(self) -> str | None:
        """Return why the server ended by itself, or None if it is still running."""
        try:
            async with asyncio.timeout(0.3):  # the keeper may be about to write its line
                message = await self._read_message()
        except TimeoutError:
            return None
        status = message.get("ended", 0)
        how = f"signal {-status}" if status < 0 else f"status {status}"
        last_error = f": {message['last_error']}" if message.get("last_error") else ""
        return f"{self._program.title} ended by itself ({how}){last_error}"

    async def stop(self) -> str | None:
        """Stop the server and remove its data. Return None, or a sentence if the server did not end."""
        start, has_ended = time.monotonic(), False
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_TIMEOUT_S):
                has_ended = await self._keeper.end(END_TIMEOUT_S, "target") is not None
        if has_ended:
            await delete_entry_if_gone(self._entry)
            return None
        self._keeper.abandon()
        waited = seconds(time.monotonic() - start)
        return f"{self._program.title} (process {self.pid}) did not end within {waited}"


def server_user(users: tuple[str, ...]) -> str | None:
    """Return the first of these users that exists, or None if fstui does not run as root. Raises Refused."""
    if os.geteuid() != 0:
        return None
    for name in users:
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise Refused(f"a server does not run as root, and there is no user {' or '.join(users)} on this host")
