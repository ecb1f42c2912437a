"""The state of a run, built from its events."""

from __future__ import annotations

from fstui.model.counters import Idle
from fstui.model.events import (
    Event,
    FindingsChanged,
    IdleMeasured,
    RunFinished,
    RunStarted,
    StepFinished,
    StepPreparing,
    StepProgressed,
    StepStarted,
)
from fstui.model.judgement import Judgement
from fstui.model.plan import Plan
from fstui.model.run import EarlierRun, Evidence, Run
from fstui.model.steps import Snapshot, Step
from fstui.model.storage import Target
from fstui.report.figures import Counts


class Progress:
    def __init__(self, plan: Plan, target: Target) -> None:
        self.plan = plan
        self.target = target
        self.idle: Idle | None = None
        self.earlier_runs: tuple[EarlierRun, ...] = ()
        self.finished_steps: dict[int, Step] = {}
        self.current_index: int | None = None
        self.preparing: StepPreparing | None = None
        """The progress of writing the file of a step that has not started yet."""
        self.snapshot: Snapshot | None = None
        self.judgement: Judgement | None = None
        self.run: Run | None = None
        self.trouble: str | None = None
        """Why there is no result: the run was refused, or an error ended it."""
        self.saved_to: str | None = None
        self.save_error: str | None = None
        self._counts: Counts | None = None

    def apply(self, event: Event) -> None:
        if not isinstance(event, StepPreparing | StepStarted | StepProgressed | FindingsChanged):
            self._counts = None  # the event changes the evidence from which they are computed
        match event:
            case RunStarted():
                self.plan, self.target, self.earlier_runs = event.plan, event.target, event.earlier_runs
            case IdleMeasured():
                self.idle = event.idle
            case StepPreparing():
                self.current_index, self.snapshot, self.preparing = event.index, None, event
            case StepStarted():
                self.current_index, self.snapshot, self.preparing = event.index, None, None
            case StepProgressed():
                self.current_index, self.snapshot, self.preparing = event.snapshot.index, event.snapshot, None
            case StepFinished():
                self.finished_steps = {**self.finished_steps, event.index: event.step}  # a paused view keeps a copy
                self.current_index, self.snapshot, self.preparing = None, None, None
            case FindingsChanged():
                self.judgement = event.judgement
            case RunFinished():
                self.run, self.saved_to, self.save_error = event.run, event.saved_to, event.save_error

    @property
    def evidence(self) -> Evidence:
        steps = tuple(self.finished_steps.values())
        return Evidence(target=self.target, idle=self.idle, earlier_runs=self.earlier_runs, steps=steps)

    @property
    def counts(self) -> Counts:
        """What the kernel counted in the steps, computed once for several drawings."""
        self._counts = self._counts or Counts(self.evidence)
        return self._counts

    @property
    def shown_index(self) -> int | None:
        """The index of the running step, or of the last finished step."""
        return self.current_index if self.current_index is not None else max(self.finished_steps, default=None)

    @property
    def map_index(self) -> int | None:
        """The index of the step whose latencies are drawn: the running step if it has any, or the last finished one."""
        snapshot = self.snapshot
        has_latencies = snapshot is not None and bool(snapshot.timeline or snapshot.figures or snapshot.stall)
        return self.shown_index if has_latencies or not self.finished_steps else max(self.finished_steps)

    @property
    def left_s(self) -> float | None:
        """Seconds left, including preparation; None if the run continues until it is stopped."""
        if self.plan.seconds is None:
            return None
        lengths = [0.0 if step.skip else step.settings.seconds for step in self.plan.steps]
        planned_s = sum(lengths)
        if not planned_s:
            return 0.0
        done_s = sum(length for index, length in enumerate(lengths) if index in self.finished_steps)
        if self.snapshot is not None and self.current_index is not None:
            done_s += min(self.snapshot.elapsed_s, lengths[self.current_index])
        return self.plan.seconds * max(1 - done_s / planned_s, 0)
