"""The database servers of a run.

A server is started before the first step that needs it, and stopped after the last. Neighbouring steps that need the
same kind of server share one throwaway server, whose tables are filled once. It is restarted if the options of the
steps differ. On an existing server, fstui creates a database of its own.
"""

import asyncio
from collections.abc import Callable, Iterable

import msgspec

from fstui.databases import programs, replicas
from fstui.databases.existing import ExistingServer
from fstui.databases.facts import probe_settings
from fstui.databases.throwaway import ThrowawayServer, start_limit_s
from fstui.measure.kinds.replica_cut import ReplicaCut
from fstui.measure.kinds.servers import Server
from fstui.measure.kinds.sysbench import Sysbench
from fstui.model.errors import Refused
from fstui.model.plan import PlannedStep
from fstui.model.steps import Failure
from fstui.model.storage import Target
from fstui.runs.machine.base import Servers, StepServer
from fstui.state.workspace import HeldDirectory

_UNKNOWN_DATA = (0, 0, 0)
"""Value of ``_filled_counts`` if the tables may be only partly filled."""


class DatabaseServers(Servers):
    def __init__(
        self, run_id: str, workspace: HeldDirectory, on_start: Callable[[int], None] = lambda pid: None
    ) -> None:
        """``on_start``: called with the pid of the process that will start a server, before the server starts."""
        super().__init__()
        self._run_id = run_id
        self._on_start = on_start
        self._workspace = workspace
        self._server: ThrowawayServer | ExistingServer | None = None
        self._server_settings: Sysbench | None = None
        self._filled_counts: tuple[int, ...] | None = None
        """The size of the tables, as ``Sysbench.table_counts``; None if fstui has created no tables."""
        self._start_count = 0
        self._sync_s = 0.0

    async def open_existing(self, steps: Iterable[PlannedStep]) -> Target | None:
        for planned_step in steps:
            settings = planned_step.settings
            if isinstance(settings, Sysbench) and not planned_step.skip and settings.existing_server:
                await self._prepare(settings)
                self._filled_counts = None
                return _target_elsewhere(self._server.facts) if self._server else None
        return None

    async def serve(self, step: PlannedStep, stop: asyncio.Event, sync_s: float) -> StepServer | Failure | None:
        if isinstance(step.settings, ReplicaCut):
            return await _serve_replicas(step.settings)
        if not isinstance(step.settings, Sysbench):
            return None
        self._sync_s = sync_s
        start_task = asyncio.ensure_future(self._prepare(step.settings))
        stop_task = asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait({start_task, stop_task}, return_when=asyncio.FIRST_COMPLETED)
            if not start_task.done():
                return None
            return start_task.result()
        except (OSError, Refused) as error:
            return Failure(call="start the server", errno=getattr(error, "errno", None), message=str(error))
        finally:
            stop_task.cancel()
            if start_task.cancel():
                await asyncio.wait({start_task})  # the task removes what it has created

    async def cause_of_death(self) -> str | None:
        reason = await self._server.why_ended() if self._server else None
        if reason:
            await self.stop()
        return reason

    def fill_again(self) -> None:
        if self._filled_counts is not None:
            self._filled_counts = _UNKNOWN_DATA

    async def stop(self) -> None:
        server, self._server, self._server_settings, self._filled_counts = self._server, None, None, None
        if server is None:
            return
        stop_task = asyncio.ensure_future(server.stop())
        try:
            await asyncio.shield(stop_task)
        finally:  # if the caller is cancelled, still end the server and remove its entry
            await asyncio.wait({stop_task})
            if problem := stop_task.result():
                self.left_behind.append(problem)

    async def _prepare(self, settings: Sysbench) -> StepServer:
        server = await self._server_for(settings)
        self._server_settings = settings
        probe_only_settings = {
            **probe_settings(server.sysbench, server.connection, server.facts),
            "fill": settings.table_counts != self._filled_counts,
            "drop": self._filled_counts is not None,
            "server_pid": server.pid,
        }
        self._filled_counts = settings.table_counts
        processes = (server.pid,) if server.pid else None
        return StepServer(probe_only_settings, {"server": msgspec.to_builtins(server.facts)}, processes)

    async def _server_for(self, settings: Sysbench) -> ThrowawayServer | ExistingServer:
        """Return the running server, restarted if its options differ, or a new one."""
        previous, server = self._server_settings, self._server
        if server is None or previous is None or previous.server_key != settings.server_key:
            await self.stop()
            self._server = server = await self._start(settings)
        elif isinstance(server, ThrowawayServer) and previous.start_options != settings.start_options:
            try:
                await server.restart(settings, start_limit_s(self._sync_s))
            except BaseException:
                await self.stop()
                raise
        return server

    async def _start(self, settings: Sysbench) -> ThrowawayServer | ExistingServer:
        if settings.existing_server:
            sysbench = await programs.find_sysbench()
            return await ExistingServer.open(sysbench, settings, workspace=self._workspace.path, run_id=self._run_id)
        self._start_count += 1
        return await ThrowawayServer.open(
            settings,
            start_limit_s(self._sync_s),
            workspace=self._workspace,
            run_id=self._run_id,
            number=self._start_count,
            on_start=self._on_start,
        )


async def _serve_replicas(settings: ReplicaCut) -> StepServer | Failure:
    """Return the settings for a probe that starts and removes both servers itself."""
    try:
        return StepServer(await replicas.probe_settings(settings), {})
    except Refused as refusal:
        return Failure(call="start the servers", errno=None, message=str(refusal))


def _target_elsewhere(server: Server) -> Target | None:
    """Return the server as the target if its data is not on this filesystem. The layers below it are unknown."""
    if server.on_target:
        return None
    return Target(path=server.reached, mount_point=server.data_directory or "", fstype=server.kind, source=server.title)
