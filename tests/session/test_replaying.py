"""A saved run is played again by the engine that measured it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fstui.measures.powercut import PowerCut
from fstui.model.errors import Refused
from fstui.model.events import RunFinished, StepProgressed
from fstui.model.steps import Step
from fstui.session import history
from fstui.session.replaying import replay
from tests.factories.runs import saved


async def test_it_comes_to_the_same_counts_and_is_not_saved_again() -> None:
    before = saved()
    again = replay(before, speed=100)
    events = [event async for event in again.running.events()]
    last = events[-1]
    assert isinstance(last, RunFinished) and last.run.simulated == f"replay of {before.id}"
    assert [(step.name, step.ops, step.syncs) for step in last.run.steps] == [
        (step.name, step.ops, step.syncs) for step in before.steps
    ]
    assert await history.listed() == []
    assert again.plan.command == f"fstui replay {before.id}"
    assert not any(isinstance(event, StepProgressed) and event.snapshot.ops > 10_000 for event in events)


def test_what_cannot_be_played_is_refused() -> None:
    run = saved()
    for broken in (replace(run, target=None), replace(run, steps=()), replace(run, scenario=None)):
        with pytest.raises(Refused, match="no steps"):
            replay(broken)
    with pytest.raises(Refused, match="power cut"):
        replay(replace(run, steps=(Step(name="power cut", settings=PowerCut()),)))
