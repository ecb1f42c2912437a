"""The database servers that a run's steps want: started before the first step that wants them, stopped after the last.

A throwaway server serves all neighbouring steps that want one of its kind, on the tables that were filled once; where
their options differ it is restarted. An existing one lends a database of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable

import msgspec

from fstui.databases import existing, programs, replicas
from fstui.databases.existing import Existing
from fstui.databases.facts import probe_settings
from fstui.databases.families import DatabaseError
from fstui.databases.throwaway import Throwaway, start_limit_s
from fstui.measure.kinds.replica_cut import ReplicaCut
from fstui.measure.kinds.servers import Server
from fstui.measure.kinds.sysbench import Sysbench
from fstui.model.errors import Refused
from fstui.model.plan import PlannedStep
from fstui.model.steps import Failure
from fstui.model.storage import Target
from fstui.runs.machine.base import Served
from fstui.runs.machine.early import EarlyProbe
from fstui.state.workspace import HeldDirectory


class Serving:
    """One server at a time."""

    def __init__(self, run_id: str, workspace: HeldDirectory, begun: Callable[[int], None] = lambda pid: None) -> None:
        """``begun`` is told of the process that is to start a server, before it does."""
        self._run_id = run_id
        self._begun = begun
        self._workspace = workspace
        self._wanted: Sysbench | None = None
        self._server: Throwaway | Existing | None = None
        self._expected: tuple[Sysbench, Throwaway] | None = None
        self._filled: tuple[int, ...] | None = None
        self._started = 0
        self._sync_s = 0.0
        self.left_behind: list[str] = []
        self.early = EarlyProbe()
        """That of the step whose server is being made."""

    async def open_existing(self, steps: Iterable[PlannedStep]) -> Target | None:
        """See before the first step that an existing server lets us in. Raises Refused with what it said.

        The server, where its data is not on the filesystem of the run's directory: it is what the run is about then.
        """
        for planned in steps:
            settings = planned.settings
            if isinstance(settings, Sysbench) and not planned.skip and existing.is_meant(settings):
                try:
                    await self._ready_for(settings)
                except DatabaseError as error:
                    raise Refused(str(error)) from None
                self._filled = None
                return _elsewhere(self._server.described) if self._server else None
        return None

    async def expect(self, steps: Iterable[PlannedStep]) -> None:
        """Note and find what the first server of our own will want, before anything is watched or measured.

        What goes wrong is said where the server is wanted: it is begun once more there.
        """
        wanted = (step.settings for step in steps if not step.skip and isinstance(step.settings, Sysbench))
        settings = next(wanted, None)
        if isinstance(settings, Sysbench) and not existing.is_meant(settings):
            with contextlib.suppress(DatabaseError, OSError, Refused):
                server = await self._begin(settings)
                self._expected = settings, server
                await server.noted()

    async def serve(self, planned: PlannedStep, ending: asyncio.Event, sync_s: float) -> Served | Failure | None:
        """The server for a step; None where none is needed, or a stop or a skip came first.

        A failure says why there is none. ``sync_s``: what a sync takes there; a slow disk is given its time.
        """
        if isinstance(planned.settings, ReplicaCut):
            return await _pair(planned.settings)
        if not isinstance(planned.settings, Sysbench):
            return None
        self._sync_s = sync_s
        starting = asyncio.ensure_future(self._ready_for(planned.settings))
        stop = asyncio.ensure_future(ending.wait())
        try:
            await asyncio.wait({starting, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not starting.done():
                return None
            return starting.result()
        except (DatabaseError, OSError, Refused) as error:
            return Failure(call="start the server", errno=getattr(error, "errno", None), message=str(error))
        finally:
            stop.cancel()
            if starting.cancel():
                await asyncio.wait({starting})  # it ends what it had begun

    async def cause_of_death(self) -> str | None:
        """Why the server is gone, if it is; the next step gets a new one."""
        reason = await self._server.ended() if self._server else None
        if reason:
            await self._end()
        return reason

    def fill_again(self) -> None:
        """The step that was to fill the tables was cut short: the next one drops what is there and fills anew."""
        if self._filled is not None:
            self._filled = _NO_DATA

    async def stop(self) -> None:
        """End the server and remove what it had."""
        try:
            await self._end()
        finally:
            await self.early.end()
            await self._drop_expected()

    async def _end(self) -> None:
        server, self._server, self._wanted, self._filled = self._server, None, None, None
        if server is not None:
            await self._end_of(server)

    async def _end_of(self, server: Throwaway | Existing) -> None:
        ending = asyncio.ensure_future(server.stop())
        try:
            await asyncio.shield(ending)
        finally:  # whoever stops waiting for it leaves no server half ended, nor in the ledger
            await asyncio.wait({ending})
            if left := ending.result():
                self.left_behind.append(left)

    async def _ready_for(self, settings: Sysbench) -> Served:
        early = asyncio.ensure_future(self.early.start(settings))
        try:
            server = await self._server_for(settings)
        finally:  # whoever is cancelled ends first what it had begun
            await asyncio.wait({early})
        self._wanted = settings
        told = {
            **probe_settings(server.sysbench, server.connection, server.described),
            "fill": settings.data != self._filled,
            "drop": self._filled is not None,
        }
        self._filled = settings.data
        processes = (server.pid,) if server.pid else None
        return Served(told, {"server": msgspec.to_builtins(server.described)}, processes)

    async def _server_for(self, settings: Sysbench) -> Throwaway | Existing:
        """The one that runs, restarted where it has other options; else a new one."""
        wanted, server = self._wanted, self._server
        if server is None or wanted is None or wanted.at != settings.at:
            await self._end()
            self._server = server = await self._start(settings)
        elif isinstance(server, Throwaway) and wanted.started_with != settings.started_with:
            try:
                await server.restart(settings, start_limit_s(self._sync_s))
            except BaseException:
                await self._end()
                raise
        return server

    async def _start(self, settings: Sysbench) -> Throwaway | Existing:
        if existing.is_meant(settings):
            sysbench = await programs.find_sysbench()
            return await Existing.open(sysbench, settings, workspace=self._workspace.path, run_id=self._run_id)
        server = await self._take_expected(settings) or await self._begin(settings)
        await server.make(settings, start_limit_s(self._sync_s))
        return server

    async def _begin(self, settings: Sysbench) -> Throwaway:
        self._started += 1
        return await Throwaway.expected(
            settings, workspace=self._workspace, run_id=self._run_id, number=self._started, begun=self._begun
        )

    async def _take_expected(self, settings: Sysbench) -> Throwaway | None:
        """The one that was begun for a step like this; where steps were skipped it may have been for another."""
        if self._expected and self._expected[0].at == settings.at:
            (_, server), self._expected = self._expected, None
            return server
        await self._drop_expected()
        return None

    async def _drop_expected(self) -> None:
        expected, self._expected = self._expected, None
        if expected:
            await self._end_of(expected[1])


async def _pair(settings: ReplicaCut) -> Served | Failure:
    """What its probe must know: it starts both servers itself, in a place that is gone with it."""
    try:
        return Served(await replicas.settings_of(settings), {})
    except Refused as refusal:
        return Failure(call="start the servers", errno=None, message=str(refusal))


def _elsewhere(server: Server) -> Target | None:
    """A server whose storage is not seen from here: nothing is known of the layers beneath."""
    if server.on_target:
        return None
    return Target(path=server.reached, mount_point=server.data_directory or "", fstype=server.kind, source=server.title)


_NO_DATA = (0, 0, 0)
