"""Play a saved run again, in real time or faster. The result is judged with the current rules and not saved."""

from fstui.measure.kinds.powercut import PowerCut
from fstui.model.errors import Refused
from fstui.model.plan import Plan, PlannedStep
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.runs.machine.replay import ReplayMachine
from fstui.runs.planner import IDLE_DURATION_S, PAUSE_DURATION_S, with_revolution
from fstui.runs.runner import RunInProgress
from fstui.runs.session import Session
from fstui.runs.site import Site
from fstui.state.workspace import TargetDirectory


def replay(run: Run, speed: float = 1.0) -> tuple[Session, RunInProgress]:
    """Return a replay of the run. ``speed`` 2 plays it twice as fast. Raises Refused if the run cannot be played."""
    if run.target is None or run.scenario is None or not run.steps:
        raise Refused(f"run {run.id} has no steps to replay")
    if any(isinstance(step.settings, PowerCut) for step in run.steps):
        raise Refused(f"run {run.id} is a power-cut test, which cannot be replayed")
    machine = ReplayMachine(run, 1 / speed)
    steps = tuple(with_revolution(_as_planned(step), run.target) for step in run.steps)
    plan = Plan(
        scenario=run.scenario,
        question="",
        help="",
        steps=steps,
        seconds=IDLE_DURATION_S + sum(step.elapsed_s + PAUSE_DURATION_S for step in run.steps),
        max_bytes=0,
        peak_bytes=0,
        command=f"fstui replay {run.id}",
    )
    directory = TargetDirectory(run.target.path, run.target.space)
    site = Site(directory=directory, raw_target=run.target, cgroup_process=run.cgroup_process)
    return Session.on_machine(machine), RunInProgress(plan, site, machine)


def _as_planned(step: Step) -> PlannedStep:
    skip = (step.reason or "") if step.status == "skipped" else None
    return PlannedStep(name=step.name, settings=step.settings, skip=skip)
