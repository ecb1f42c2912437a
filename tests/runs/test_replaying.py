import pytest
from msgspec.structs import replace

from fstui.measure.kinds.powercut import PowerCut
from fstui.model.errors import Refused
from fstui.model.events import RunFinished, StepProgressed
from fstui.model.run import Run
from fstui.model.steps import Failure, Step
from fstui.runs import history
from fstui.runs.replaying import replay
from tests.factories import screens
from tests.factories.runs import saved


async def played(run: Run) -> Run:
    """Replay a run as fast as possible and return the result."""
    _, running = replay(run, speed=1e6)
    (last,) = [event async for event in running.events() if isinstance(event, RunFinished)]
    return last.run


async def test_a_replay_has_the_same_counts_and_is_not_saved() -> None:
    before = saved()
    _, again = replay(before, speed=100)
    events = [event async for event in again.events()]
    last = events[-1]
    assert isinstance(last, RunFinished) and last.run.simulated == f"replay of {before.id}"
    assert [(step.name, step.ops, step.syncs) for step in last.run.steps] == [
        (step.name, step.ops, step.syncs) for step in before.steps
    ]
    assert await history.summaries() == []
    assert again.plan.command == f"fstui replay {before.id}"
    assert not any(isinstance(event, StepProgressed) and event.snapshot.ops > 10_000 for event in events)


def test_runs_that_cannot_be_played_are_refused() -> None:
    run = saved()
    for broken in (replace(run, target=None), replace(run, steps=()), replace(run, scenario=None)):
        with pytest.raises(Refused, match="no steps"):
            replay(broken)
    with pytest.raises(Refused, match="power-cut test"):
        replay(replace(run, steps=(Step(name="power cut", settings=PowerCut()),)))


async def test_a_timeline_longer_than_its_step_keeps_the_counts() -> None:
    steps = (step for step in screens.RUN.steps if len(step.timeline) > 2 and step.counters)
    late = tuple(replace(step, elapsed_s=step.elapsed_s * 0.8) for step in steps)
    assert late
    again = await played(replace(screens.RUN, steps=late))
    for before, step in zip(late, again.steps, strict=True):
        counted = {count.device: count.flushes for count in step.counters}
        assert {count.device: count.flushes for count in before.counters}.items() <= counted.items()


async def test_a_step_that_failed_at_once_fails_again() -> None:
    (first, *_) = screens.RUN.steps
    error = Failure(call="open", errno=28, message="no space")
    failed = replace(first, ops=0, timeline=(), histogram=(), status="failed", error=error)
    (step,) = (await played(replace(screens.RUN, steps=(failed,)))).steps
    assert step.error is not None and step.error.call == "open"
