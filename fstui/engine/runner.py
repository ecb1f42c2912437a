"""One way through the house: plan → a stream of events, the last of which is the run.

The runner fills the evidence, has it judged and saves it after every step. Faces only draw what it says.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import msgspec

from fstui import __version__
from fstui.engine.idle import IdleWatch
from fstui.engine.machine import Machine, Room
from fstui.engine.plan import IDLE_S, PAUSE_S, make_plan
from fstui.engine.saving import save
from fstui.engine.serving import Served, Serving, wants_server
from fstui.engine.stepping import StepRunner
from fstui.judge import judge
from fstui.model import (
    Event,
    Failure,
    FindingsChanged,
    IdleMeasured,
    Plan,
    PlannedStep,
    Process,
    Refused,
    Run,
    RunFinished,
    RunStarted,
    RunStatus,
    Step,
    StepFinished,
    StepPreparing,
    StepProgressed,
    Target,
)

__all__ = ["Running", "make_plan"]

EIO = 5
BY_HAND = (
    "the power-cut check needs a person and a witness on another machine: 'ssh BOX fstui powercut write DIR | fstui "
    "powercut witness acks.log' there, then pull the plug; 'fstui powercut --help' says how"
)


class Mailbox:
    """Events in order. A face that falls behind gets the newest snapshot only."""

    def __init__(self) -> None:
        self._waiting: deque[Event] = deque()
        self._arrived = asyncio.Event()

    def put(self, event: Event) -> None:
        """Add it, or put it in the place of an unread one of its kind."""
        newest = self._waiting[-1] if self._waiting else None
        if isinstance(event, StepProgressed | StepPreparing) and type(newest) is type(event):
            self._waiting.pop()
        self._waiting.append(event)
        self._arrived.set()

    async def get(self) -> Event:
        """The next one."""
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        return self._waiting.popleft()


class Running:
    """One run."""

    def __init__(self, plan: Plan, target: Target, machine: Machine) -> None:
        self.id = secrets.token_hex(3)
        self._plan = plan
        self._target = target
        self._machine = machine
        self._mailbox = Mailbox()
        self._stopping = asyncio.Event()
        self._skipping = asyncio.Event()
        self._stepping: StepRunner | None = None
        self._facts_seen = False
        self._began = time.monotonic()
        self._run = Run(
            id=self.id,
            started_at=datetime.now(UTC).astimezone().isoformat(timespec="seconds"),
            version=__version__,
            status="stopped",  # until it has finished: what a killed run leaves saved is no whole run
            simulated=machine.simulated,
            target=target,
            scenario=plan.scenario,
        )

    async def events(self) -> AsyncIterator[Event]:
        """All that happens, to the RunFinished. Raises Refused where nothing was begun.

        A face that leaves the loop early cancels the run: the step ends and the directory is removed.
        """
        task = asyncio.ensure_future(self._go())
        try:
            while True:
                event = asyncio.ensure_future(self._mailbox.get())
                await asyncio.wait({event, task}, return_when=asyncio.FIRST_COMPLETED)
                if not event.done():
                    event.cancel()
                    task.result()  # raises what ended it
                    return
                yield event.result()
                if isinstance(event.result(), RunFinished):
                    return
        finally:
            self.stop()
            if not task.done():
                await asyncio.wait({task})

    def stop(self) -> None:
        """End the step that runs, and start no other."""
        self._stopping.set()
        self.skip_step()

    def skip_step(self) -> None:
        """End the step that runs or whose server is being started, and go on with the next one."""
        self._skipping.set()
        if self._stepping:
            self._stepping.stop()

    async def _go(self) -> None:
        if self._plan.by_hand:
            raise Refused(BY_HAND)
        room = await self._machine.room(self._target.path, self.id)
        serving = Serving(self.id, room.path)
        try:
            self._check_alignment(room)
            if self._machine.simulated is None:
                await serving.open_existing(self._plan.steps)
            await self._measure(room, serving)
        finally:
            await serving.stop()
            left_behind = (*serving.left_behind, *filter(None, [await room.remove()]))
            if left_behind:
                self._change(left_behind=left_behind)
        self._mailbox.put(await self._finished())

    def _check_alignment(self, room: Room) -> None:
        if not room.dio_alignment:
            return
        for step in self._plan.steps:
            direct = "direct" in step.settings.get("open_flags", ())
            if direct and step.settings["block_bytes"] % room.dio_alignment:
                raise Refused(
                    f"step {step.name!r}: O_DIRECT here wants blocks of a multiple of {room.dio_alignment} bytes "
                    f"(statx STATX_DIOALIGN), not {step.settings['block_bytes']}. Set a larger block."
                )

    async def _measure(self, room: Room, serving: Serving) -> None:
        inventory = self._machine.survey()
        self._change(host=inventory.host, process=inventory.process, like=self._machine.like())
        self._mailbox.put(RunStarted(id=self.id, target=self._target, plan=self._plan, host=inventory.host))
        self._judge()
        idle = IdleWatch(self._machine, self._target.stack)
        await self._rest(idle, IDLE_S)
        for index, planned in enumerate(self._plan.steps):
            if index:
                await self._rest(idle, PAUSE_S)
            if self._stopping.is_set():
                break
            await self._one_step(index, planned, room, serving)
            if self._failed_for_good():
                break

    async def _rest(self, idle: IdleWatch, seconds: float) -> None:
        """Watch the devices while we do nothing; a stop ends the pause."""
        if not self._stopping.is_set():
            await idle.watch(seconds, self._stopping)
            self._change(idle=idle.seen)
            self._mailbox.put(IdleMeasured(idle=idle.seen))

    async def _one_step(self, index: int, planned: PlannedStep, room: Room, serving: Serving) -> None:
        if planned.skip:
            self._add(index, Step(name=planned.name, probe=planned.probe, status="skipped", reason=planned.skip))
            return
        if not self._stopping.is_set():
            self._skipping.clear()
        served = await self._served(index, planned, serving)
        if isinstance(served, Step):
            self._add(index, served)
            return
        self._stepping = StepRunner(index, planned, self._machine, self._target.stack, self._mailbox.put)
        try:
            step = await self._stepping.run(room.path, facts=not self._facts_seen, served=served)
            step = await _with_cause(step, serving)
            if step.status in ("stopped", "failed"):
                serving.fill_again()
        finally:
            facts, written = self._stepping.facts, self._stepping.prepared_bytes
            self._stepping = None
        if facts:
            self._facts_seen = True
            self._change(process=_with_facts(self._run.process, facts))
        self._change(written_bytes=self._run.written_bytes + written + step.bytes)
        self._add(index, step)
        await self._save()

    async def _served(self, index: int, planned: PlannedStep, serving: Serving) -> Served | Step | None:
        """The server that a step wants, or the step that could not begin without it."""
        if self._machine.simulated is not None or not wants_server(planned):
            return None
        self._mailbox.put(StepPreparing(index=index, name=planned.name, done=0, total=0))
        served = await serving.serve(planned, self._skipping)
        if isinstance(served, Failure):
            return Step(
                name=planned.name, probe=planned.probe, settings=planned.settings, status="failed", error=served
            )
        if self._skipping.is_set():
            return Step(name=planned.name, probe=planned.probe, settings=planned.settings, status="stopped")
        return served

    def _add(self, index: int, step: Step) -> None:
        self._change(steps=(*self._run.steps, step))
        self._mailbox.put(StepFinished(index=index, step=step))
        self._judge()

    def _judge(self) -> None:
        judgement = judge(self._run)
        self._change(
            findings=judgement.findings,
            verdict=judgement.verdict,
            confidence=judgement.confidence,
            sentence=judgement.sentence,
        )
        self._mailbox.put(FindingsChanged(judgement=judgement))

    def _change(self, **fields: object) -> None:
        elapsed_s = round(time.monotonic() - self._began, 3)
        self._run = msgspec.structs.replace(self._run, elapsed_s=elapsed_s, **fields)

    def _failed_for_good(self) -> bool:
        error = self._run.steps[-1].error
        return error is not None and error.errno == EIO

    def _status(self) -> RunStatus:
        if any(step.status == "failed" for step in self._run.steps):
            return "failed"
        stopped = self._stopping.is_set() or any(step.status == "stopped" for step in self._run.steps)
        return "stopped" if stopped else "finished"

    async def _finished(self) -> RunFinished:
        self._change(status=self._status())
        saved_to, save_error = await self._save()
        return RunFinished(run=self._run, saved_to=saved_to, save_error=save_error)

    async def _save(self) -> tuple[str | None, str | None]:
        """Where it was saved, or why not. What was replayed or simulated is not saved: it would look measured."""
        if self._machine.simulated is not None:
            return None, None
        return await save(self._run)


async def _with_cause(step: Step, serving: Serving) -> Step:
    """A failed step with the reason why its server is gone."""
    if step.error is None or not (reason := await serving.cause_of_death()):
        return step
    error = msgspec.structs.replace(step.error, message=f"{step.error.message}. {reason}")
    return msgspec.structs.replace(step, error=error)


def _with_facts(process: Process, facts: dict[str, object]) -> Process:
    """The probe's own sync path, and the preloads that either of us saw."""
    seen = msgspec.convert(facts, Process)
    values = [reading.value for reading in seen.preloads]
    others = tuple(reading for reading in process.preloads if reading.value not in values)
    return msgspec.structs.replace(
        process,
        pipe_fsync_fails=seen.pipe_fsync_fails,
        dsync_flag_kept=seen.dsync_flag_kept,
        libc_sync_ns=seen.libc_sync_ns,
        raw_sync_ns=seen.raw_sync_ns,
        preloads=seen.preloads + others,
        cgroup=seen.cgroup or process.cgroup,
    )
