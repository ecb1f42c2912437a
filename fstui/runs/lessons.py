"""Lessons: the student predicts, runs, compares, reads the explanation and answers a question.

Each lesson is a TOML file in ``scenarios/lessons``. It runs its steps on simulated disks. Its statements about the runs
are claims with bounds, which a test checks.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.base import Base
from fstui.model.errors import Refused, local_time
from fstui.model.forms import Setting
from fstui.model.judgement import Verdict
from fstui.model.plan import Plan, PlannedStep
from fstui.model.quantities import rate, ratio
from fstui.model.run import Run
from fstui.model.shipped import shipped_files
from fstui.model.steps import Step
from fstui.model.storage import Target
from fstui.runs import simulation
from fstui.runs.runner import RunInProgress
from fstui.runs.scenarios import Scenario
from fstui.runs.session import Session
from fstui.runs.simulation import SimulationParameters
from fstui.runs.site import Site
from fstui.state import user_data
from fstui.state.paths import call_in_state_dir
from fstui.state.user_data import TakenLesson

__all__ = ["TakenLesson"]  # re-exported for the interfaces


class LessonTable(Base, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a lesson's file."""


class Choice(LessonTable, frozen=True, kw_only=True):
    """A question with numbered answers. ``right``: the number of the right answer, from 1."""

    ask: str
    choices: tuple[str, ...]
    right: int
    answer: str = ""
    """The reason, shown after the answer."""


class LessonRun(LessonTable, frozen=True, kw_only=True):
    label: str
    disk: str
    """A simulated disk with changes: ``hdd-7200,disk.platter.rpm=15000``."""
    title: str = ""
    """The description for the student; if it is empty, the title of the disk is shown."""
    steps: tuple[dict[str, Any], ...]
    plug: bool = False
    """The student cuts the power, and the step lasts until then."""


class Claim(LessonTable, frozen=True, kw_only=True):
    """A statement about the runs: a figure of a step, the ratio of two figures, or the verdict of a run."""

    says: str
    """The sentence, with ``{value}``, ``{of}`` and ``{over}``."""
    figure: Literal["rate", "flushes"] = "rate"
    of: str = ""
    """The step with the figure, as ``run/step``."""
    over: str = ""
    """The step whose figure is the divisor; empty if the claim is about the figure itself."""
    least: float = 0.0
    most: float = float("inf")
    run: str = ""
    verdict: Verdict | None = None


class Lesson(LessonTable, frozen=True, kw_only=True):
    name: str
    number: int
    title: str
    minutes: int
    text: str
    predict: Choice
    runs: tuple[LessonRun, ...]
    claims: tuple[Claim, ...]
    rates_per_s: tuple[float, float]
    """Bounds of the rates of all steps: the scale of their bars, which does not change while the steps run."""
    explain: str
    words: tuple[str, ...] = ()
    question: Choice


class CheckedClaim(NamedTuple):
    sentence: str
    holds: bool


class PlannedRun(NamedTuple):
    plan: Plan
    target: Target
    disk: SimulationParameters


@cache
def lessons() -> tuple[Lesson, ...]:
    return tuple(sorted(map(_load, shipped_files("lessons").values()), key=lambda lesson: lesson.number))


def find(name: str) -> Lesson:
    """Return a lesson by name or number. Raises Refused."""
    for lesson in lessons():
        if name in (lesson.name, str(lesson.number)):
            return lesson
    raise Refused(f"no lesson '{name}'. Choose one of: {', '.join(lesson.name for lesson in lessons())}.")


async def start(lesson: Lesson, run: LessonRun, pace: float = 1.0) -> RunInProgress:
    """Start a run of a lesson. Raises Refused if the lesson's file has a mistake."""
    session, site, plan = await _plan_run(lesson, run, pace)
    return session.start(plan, site)


async def plan_runs(lesson: Lesson) -> list[PlannedRun]:
    """Return the plans of a lesson's runs, with their storage. Raises Refused if the lesson's file has a mistake."""
    plans = []
    for run in lesson.runs:
        _, site, plan = await _plan_run(lesson, run, 1.0)
        plans.append(PlannedRun(plan, site.target, simulation.find(run.disk)))
    return plans


async def _plan_run(lesson: Lesson, run: LessonRun, pace: float) -> tuple[Session, Site, Plan]:
    disk = simulation.find(run.disk)
    session = simulation.session(disk, pace)
    scenario = Scenario(
        name=lesson.name,
        title=lesson.title,
        question=lesson.predict.ask,
        settings={"seconds": Setting(value=1.0, unit="s")},
        steps=[dict(step) for step in run.steps],
    )
    site = await session.look_up(simulation.mount_point(disk))
    plan = await session.plan(scenario, site, {})
    if run.plug:
        plan = replace(plan, steps=tuple(map(_without_end, plan.steps)), seconds=None)
    return session, site, plan


def _without_end(step: PlannedStep) -> PlannedStep:
    """Return the step without an end: it lasts until the power is cut. Real storage would require a rate limit."""
    assert isinstance(step.settings, SyncWrites), "only such a step can lose acknowledged writes"
    return replace(step, settings=replace(step.settings, seconds=0.0))


def check(claim: Claim, runs: Mapping[str, Run]) -> CheckedClaim:
    if claim.verdict is not None:
        return CheckedClaim(claim.says, runs[claim.run].verdict == claim.verdict)
    figure = _figure(claim.figure, _step(claim.of, runs))
    divisor = _figure(claim.figure, _step(claim.over, runs)) if claim.over else 1.0
    value = figure / divisor if divisor else float("inf")
    format_figure = rate if claim.figure == "rate" else ratio
    of, over = format_figure(figure), format_figure(divisor)
    # a ratio of two figures has as many digits as a rate, and is that of the figures as they are shown
    value_text = rate(_shown(of) / (_shown(over) or divisor)) if claim.over and divisor else format_figure(value)
    sentence = claim.says.format(value=value_text, of=of, over=over)
    return CheckedClaim(sentence, claim.least <= value <= claim.most)


def _shown(figure: str) -> float:
    return float(figure.replace("\xa0", ""))


def _step(reference: str, runs: Mapping[str, Run]) -> Step:
    run, _, name = reference.partition("/")
    return next(step for step in runs[run].steps if step.name == name)


def _figure(figure: str, step: Step) -> float:
    if figure == "rate":
        return step.rate_per_s
    flushes = sum(device.flushes or 0 for device in step.counters)
    return flushes / max(step.syncs, 1)


def _load(path: Path) -> Lesson:
    try:
        return msgspec.toml.decode(path.read_bytes(), type=Lesson)
    except msgspec.MsgspecError as error:
        raise Refused(f"{path}: {error}") from None


async def read_taken() -> dict[str, TakenLesson]:
    return await call_in_state_dir(user_data.taken_lessons)


async def save_taken(name: str, right: int, runs: Mapping[str, Run]) -> None:
    """Save that the lesson was taken today, with the rates of its runs. Raises OSError, Refused."""
    rates = {f"{label}/{step.name}": step.rate_per_s for label, run in runs.items() for step in run.steps}
    day = local_time().date().isoformat()
    await call_in_state_dir(user_data.save_lesson, name, TakenLesson(day=day, right=right, rates_per_s=rates))
