"""Carry out a plan as a stream of events, which ends with the finished run.

The runner collects the evidence, judges it and saves it after every step. Interfaces only display the events.
"""

import asyncio
import errno
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from typing import Any, TypeVar

import msgspec

from fstui import __version__
from fstui.judge import Case, judge
from fstui.judge.references import find_applicable
from fstui.measure.children import SHUTDOWN_DEADLINE, DiskRole, ShutdownDeadline
from fstui.measure.wire.stdio import SHUTDOWN_ERRNOS
from fstui.model.counters import Idle, written_bytes_by_device
from fstui.model.documents import with_digest
from fstui.model.errors import Refused, local_time
from fstui.model.events import (
    Event,
    FindingsChanged,
    IdleMeasured,
    RunFinished,
    RunStarted,
    StepFinished,
    StepPreparing,
    StepProgressed,
)
from fstui.model.host import Process
from fstui.model.plan import Plan, PlannedStep
from fstui.model.run import Round, Run, RunStatus
from fstui.model.steps import Failure, Step
from fstui.model.storage import Node, Target
from fstui.runs.activity import IdleWatch
from fstui.runs.changes import changes, current_stack
from fstui.runs.machine.base import Machine, NoTrace, SaveResult, Servers, StepServer, StepTracing
from fstui.runs.planner import IDLE_DURATION_S, PAUSE_DURATION_S
from fstui.runs.site import Site, check_alignment, with_file_readings
from fstui.runs.stepping import StepRunner
from fstui.state import paths
from fstui.state.workspace import RunDirectory

LASTING_ERRNOS = SHUTDOWN_ERRNOS | {errno.ETIMEDOUT}
"""Errors that the next step would meet as well, so the run ends: the storage is gone, or too slow to write the file."""
STUCK_REMOVAL_TIMEOUT_S = 0.25
"""Time to remove the run's directory if a system call of the last step has not returned."""


class RunInProgress:
    def __init__(
        self, plan: Plan, site: Site, machine: Machine, idle: Idle | None = None, round_: Round | None = None
    ) -> None:
        """``idle``: the activity of the devices just before the run, if it was measured."""
        self.id = secrets.token_hex(3)
        self.plan = plan
        self._site = site
        self._target = site.target
        self._server_target: Target | None = None  # an existing server whose data is not on the site's filesystem
        self._machine = machine
        self._idle = idle
        self._mailbox = Mailbox()
        self._stop_requested = asyncio.Event()
        self._skip_requested = asyncio.Event()
        self._step_runner: StepRunner | None = None
        self._has_facts = False
        self._save_error: str | None = None
        self._is_stuck = False
        """Whether a system call of the last step has not returned."""
        self._trace: StepTracing = NoTrace()
        self._start_time_s = time.monotonic()
        self._run = Run(
            id=self.id,
            started_at=local_time().isoformat(timespec="seconds"),
            version=__version__,
            status="stopped",  # until the run has finished, because a killed run leaves this document
            simulated=machine.simulated,
            round=round_,
            target=self._target,
            scenario=plan.scenario,
            rate_limit=plan.rate_limit,
        )

    @property
    def target(self) -> Target:
        """What is measured: the site, or an existing server elsewhere."""
        return self._target

    async def events(self) -> AsyncIterator[Event]:
        """Yield the events up to RunFinished. A caller that leaves early stops the run. Raises Refused."""
        task = asyncio.ensure_future(self._carry_out())
        task.add_done_callback(lambda _: self._mailbox.put(None))
        try:
            while (event := await self._mailbox.get()) is not None:
                yield event
            task.result()  # raises the error of the run
        finally:
            self.stop()
            if not task.done():
                await asyncio.wait({task})

    def stop(self) -> None:
        self._stop_requested.set()
        self.skip_step()

    def stop_at_limit(self, time_limit_s: float) -> None:
        """Stop the run. Note the time limit in it, unless the user stopped it earlier or no step remains."""
        if not (self._stop_requested.is_set() or self._is_complete):
            self._update(time_limit_s=time_limit_s)
        self.stop()

    def pull_plug(self) -> None:
        """Cut the power of a simulated disk. The run ends, and acknowledged writes are checked. Raises Refused."""
        self._machine.pull_plug()
        self.stop()

    def change(self, setting: str) -> None:
        """Apply ``KEY=VALUE`` to a simulated disk, and note it in the run. Raises Refused."""
        self._machine.change(setting)
        self._update(simulated=self._machine.simulated)

    def skip_step(self) -> None:
        """Stop the current step or the start of its server, and go on with the next step."""
        self._skip_requested.set()
        if self._step_runner:
            self._step_runner.stop()

    async def _carry_out(self) -> None:
        SHUTDOWN_DEADLINE.set(shutdown_deadline(self._machine, self._target, self._stop_requested.is_set))
        lowest = self._target.lowest
        counters_before = self._machine.counters(lowest)
        directory = await self._machine.make_directory(self._site.directory, self.id)
        uses_servers = any(step.settings.program for step in self.plan.steps)
        servers = self._machine.servers(self.id, directory.held_directory) if uses_servers else Servers()
        try:
            check_alignment(self.plan.steps, directory.dio_alignment, self._target)
            self._server_target = await servers.open_existing(self.plan.steps)
            if self.plan.server and self._server_target is None:
                self._site.check(self.plan.server_peak_bytes)
            await self._measure(directory, servers)
        finally:
            await servers.stop()
            removal = directory.remove(STUCK_REMOVAL_TIMEOUT_S) if self._is_stuck else directory.remove()
            left_behind = (*servers.left_behind, *filter(None, await asyncio.gather(self._trace.stop(), removal)))
            if left_behind:
                self._update(left_behind=left_behind)
            self._update(wear_bytes=written_bytes_by_device(counters_before, self._machine.counters(lowest)))
        self._mailbox.put(await self._finish())

    async def _measure(self, directory: RunDirectory, servers: Servers) -> None:
        inventory = self._machine.survey()
        # read the stack again, because it may have changed since the plan was made
        self._target = self._server_target or with_file_readings(
            self._site.with_survey(self._machine.target(self._target.path)).target, directory
        )
        cgroup_process = self._machine.cgroup_process()
        self._update(host=inventory.host, process=inventory.process, cgroup_process=cgroup_process, target=self._target)
        earlier_runs, own_references = await self._machine.baselines(self._run)
        applicable_references = find_applicable(own_references, Case(self._run))
        self._trace = await self._machine.trace(self.id, self._target.stack)
        self._update(earlier_runs=earlier_runs, own_references=applicable_references, untraced=self._trace.untraced)
        self._mailbox.put(
            RunStarted(
                id=self.id,
                target=self._target,
                plan=self.plan,
                host=inventory.host,
                untraced=self._trace.untraced,
                earlier_runs=earlier_runs,
            )
        )
        self._judge()
        idle_watch = IdleWatch(self._machine, self._target.stack, self._idle)
        await self._pause(idle_watch, 0.0 if self._idle else IDLE_DURATION_S)
        for index, planned_step in enumerate(self.plan.steps):
            if index:
                await self._pause(idle_watch, PAUSE_DURATION_S)
            if self._stop_requested.is_set():
                break
            await self._run_step(index, planned_step, directory, servers)
            if self._is_complete:
                break
        if power_cut_step := self._machine.power_cut_step():
            self._add_step(max(len(self._run.steps) - 1, 0), power_cut_step)

    @property
    def _is_complete(self) -> bool:
        """Whether no step remains: all have ended, or the last one ended with an error that would also end the next."""
        steps = self._run.steps
        error = steps[-1].error if steps and steps[-1].status == "failed" else None
        return len(steps) >= len(self.plan.steps) or (error is not None and error.errno in LASTING_ERRNOS)

    async def _pause(self, idle_watch: IdleWatch, duration_s: float) -> None:
        """Watch the devices while fstui does nothing. A stop ends the pause."""
        if not self._stop_requested.is_set():
            if duration_s:
                await idle_watch.watch(duration_s, self._stop_requested)
            self._update(idle=idle_watch.idle)
            self._mailbox.put(IdleMeasured(idle=idle_watch.idle))

    async def _run_step(self, index: int, planned_step: PlannedStep, directory: RunDirectory, servers: Servers) -> None:
        if reason := planned_step.skip or self._skip_reason(planned_step):
            skipped = Step(name=planned_step.name, settings=planned_step.settings, status="skipped", reason=reason)
            self._add_step(index, skipped)
            return
        if not self._stop_requested.is_set():
            self._skip_requested.clear()
        server = await self._start_server(index, planned_step, servers)
        if isinstance(server, Step):
            self._add_step(index, server)
            return
        self._step_runner = StepRunner(
            index,
            planned_step,
            self._machine,
            self._target.stack,
            self._mailbox.put,
            trace=self._trace,
            other_flushes_per_s=self._other_flushes_per_s(),
        )
        stack_before = self._current_stack()
        try:
            step = await self._step_runner.run(
                directory.held_directory, report_facts=not (self._has_facts or self._server_target), server=server
            )
            changed_settings = changes(self._target.stack, stack_before, self._current_stack())
            step = _with_changes(await _with_cause(step, servers), changed_settings)
            if step.status in ("stopped", "failed"):
                servers.fill_again()
        finally:
            self._is_stuck = self._step_runner.is_abandoned
            facts, prepared_bytes = self._step_runner.facts, self._step_runner.prepared_bytes
            self._step_runner = None
        if facts:
            self._has_facts = True
            self._update(process=_with_facts(self._run.process, facts))
        self._update(written_bytes=self._run.written_bytes + prepared_bytes + step.bytes)
        self._add_step(index, step)
        # after an error, do not save again before the end of the run
        if self._save_error is None and not self._stop_requested.is_set():
            self._save_error = (await self._save()).error

    def _skip_reason(self, planned_step: PlannedStep) -> str | None:
        """Return why the step is skipped: it syncs this filesystem, but the server's data may be on another one."""
        if self._server_target is None or planned_step.settings.needs_server:
            return None
        return f"the data of {self._server_target.path} was not found on this filesystem"

    def _current_stack(self) -> tuple[Node, ...]:
        self._machine.survey()
        try:
            return current_stack(self._target, self._machine.target(self._target.path))
        except Refused:
            return ()

    def _other_flushes_per_s(self) -> float:
        """Return how often other processes flushed the devices of the filesystem while fstui was idle."""
        case = Case(self._run)
        per_level = (case.other_writers.flushes_per_s(level.devices) for level in case.stack.levels)
        return next(per_level, None) or 0.0

    async def _start_server(self, index: int, planned_step: PlannedStep, servers: Servers) -> StepServer | Step | None:
        if not planned_step.settings.needs_server:
            return None
        preparation = StepPreparing(index=index, name=planned_step.name, done=0, total=0)
        server = await with_progress(
            servers.serve(planned_step, self._skip_requested, slowest_sync_s(self._run.steps)),
            lambda waited_s: self._mailbox.put(msgspec.structs.replace(preparation, server_s=waited_s)),
        )
        if isinstance(server, Failure):
            return Step(name=planned_step.name, settings=planned_step.settings, status="failed", error=server)
        if self._skip_requested.is_set():
            return Step(name=planned_step.name, settings=planned_step.settings, status="stopped")
        return server

    def _add_step(self, index: int, step: Step) -> None:
        self._update(steps=(*self._run.steps, step))
        self._mailbox.put(StepFinished(index=index, step=step))
        self._judge()

    def _judge(self) -> None:
        judgement = judge(self._run)
        self._run = self._run.with_judgement(judgement)
        self._mailbox.put(FindingsChanged(judgement=judgement))

    def _update(self, **fields: object) -> None:
        elapsed_s = round(time.monotonic() - self._start_time_s, 3)
        self._run = msgspec.structs.replace(self._run, elapsed_s=elapsed_s, **fields)

    def _status(self) -> RunStatus:
        statuses = {step.status for step in self._run.steps} | ({"stopped"} if self._stop_requested.is_set() else set())
        return "failed" if "failed" in statuses else "stopped" if "stopped" in statuses else "finished"

    async def _finish(self) -> RunFinished:
        self._update(status=self._status())
        saved = await self._save()
        return RunFinished(run=self._run, saved_to=saved.path, save_error=saved.error)

    async def _save(self) -> SaveResult:
        self._run = with_digest(self._run)
        return await self._machine.save(self._run)


def _with_facts(process: Process, facts: Process) -> Process:
    """Return the process with the facts that a probe reported about its own sync path."""
    values = {library.value for library in facts.preloads}
    return msgspec.structs.replace(
        facts,
        preloads=(*facts.preloads, *(library for library in process.preloads if library.value not in values)),
        cgroup=facts.cgroup or process.cgroup,
        io_limits=process.io_limits,
        seccomp=process.seccomp,
    )


async def _with_cause(step: Step, servers: Servers) -> Step:
    if step.error is None or not (reason := await servers.cause_of_death()):
        return step
    error = msgspec.structs.replace(step.error, message=f"{step.error.message}. {reason}")
    return msgspec.structs.replace(step, error=error)


def _with_changes(step: Step, changed_settings: tuple[str, ...]) -> Step:
    if not changed_settings:
        return step
    status = "disturbed" if step.status == "finished" else step.status
    return msgspec.structs.replace(step, status=status, changed=changed_settings)


class Mailbox:
    """Events in order, and None at their end. A slow reader gets only the newest snapshot."""

    def __init__(self) -> None:
        self._unread: deque[Event | None] = deque()
        self._has_events = asyncio.Event()

    def put(self, event: Event | None) -> None:
        """Add an event. A snapshot replaces an unread snapshot."""
        newest = self._unread[-1] if self._unread else None
        if isinstance(event, StepProgressed | StepPreparing) and type(newest) is type(event):
            self._unread.pop()
        self._unread.append(event)
        self._has_events.set()

    async def get(self) -> Event | None:
        while not self._unread:
            self._has_events.clear()
            await self._has_events.wait()
        return self._unread.popleft()


_REPORT_INTERVAL_S = 1.0
_Result = TypeVar("_Result")


async def with_progress(work: Coroutine[Any, Any, _Result], report: Callable[[float], None]) -> _Result:
    """Return the result of the work. Call ``report`` every second with the elapsed seconds."""
    task = asyncio.ensure_future(work)
    start_s = asyncio.get_running_loop().time()
    try:
        report(0.0)
        while True:
            done, _ = await asyncio.wait({task}, timeout=_REPORT_INTERVAL_S)
            if done:
                return task.result()
            report(asyncio.get_running_loop().time() - start_s)
    finally:
        if task.cancel():
            await asyncio.wait({task})


def slowest_sync_s(steps: Iterable[Step]) -> float:
    """Return how long a sync took in the slowest step that synced each write; 0 if there was none."""
    means = (step.latency_ns.mean for step in steps if step.latency_ns and step.ops == step.syncs)
    return max(means, default=0) / 1e9


def shutdown_deadline(machine: Machine, target: Target, is_stopping: Callable[[], bool]) -> ShutdownDeadline:
    """Return the deadline: after a stop, fstui waits for a disk only as long as the disk makes progress."""
    nodes: dict[DiskRole, tuple[Node, ...]] = {"target": _devices(target), "home": _devices(_home_target(machine))}

    def disk_progress(disk: DiskRole) -> object:
        """Return the numbers of completed requests. A request in flight is not progress."""
        devices = machine.counters(nodes[disk]).devices if nodes[disk] else ()
        return [(device.reads, device.writes, device.flushes, device.discards) for device in devices]

    return ShutdownDeadline(is_stopping, disk_progress, hung_disks=set())


def _home_target(machine: Machine) -> Target | None:
    try:
        return machine.target(str(paths.state_dir()))
    except Refused:  # there is no home directory
        return None


def _devices(target: Target | None) -> tuple[Node, ...]:
    """Return the devices directly below the filesystem. Lower devices may also serve other filesystems."""
    if target is None or not target.stack:
        return ()
    return tuple(node for node in target.stack if node.layer == "block" and node.id in target.stack[0].below)
