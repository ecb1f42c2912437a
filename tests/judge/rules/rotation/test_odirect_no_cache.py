"""O_DIRECT that was answered early where there is no cache."""

from __future__ import annotations

import pytest

from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.runs import scenario
from tests.factories.evidence import GUEST, finding, verdict
from tests.factories.steps import step
from tests.judge.rules.rotation.platters import NO_CACHE, declared, o_direct


def test_of_story_one_without_a_write_cache() -> None:
    judgement = verdict(declared(NO_CACHE), o_direct(565), host=GUEST)
    found = finding(judgement, "odirect-no-cache")
    assert (found.verdict, found.confidence, found.scope) == ("suspicious", "medium", "storage")
    assert judgement.verdict == "suspicious"


def test_the_commands_of_2011_are_looked_at() -> None:
    """407 fsyncs a second, and 630 writes with O_DIRECT of which each hundredth is synced: either may hide a cache."""
    asked = [each.settings for each in scenario.expand(scenario.load("fileio-classic"), {})[1]]
    steps = [
        step(f"{at}", rate=630 if settings.open_flags else 407, ops=4000, device="vda", flushes=1 / settings.sync_every,
             sync=settings.sync, open_flags=settings.open_flags, sync_every=settings.sync_every)
        for at, settings in enumerate(asked)
        if isinstance(settings, SyncWrites)
    ]  # fmt: skip
    judgement = verdict(declared(NO_CACHE), *steps, host=GUEST)
    assert judgement.verdict == "suspicious"
    assert finding(judgement, "odirect-no-cache").steps == (steps[-1].name,)


@pytest.mark.parametrize(
    ("offsets", "rate", "confidence"),
    [("same", 180, None), ("same", 181, "medium"), ("same", 600, "medium"), ("same", 601, "high"),
     ("random", 360, None), ("random", 361, "medium"), ("random", 1200, "medium"), ("random", 1201, "high")],
)  # fmt: skip
def test_its_boundaries_allow_random_offsets_half_a_turn(offsets: str, rate: float, confidence: str | None) -> None:
    judgement = verdict(declared(NO_CACHE), o_direct(rate, offsets=offsets))
    found = [found.confidence for found in judgement.findings if found.rule == "odirect-no-cache"]
    assert found == ([confidence] if confidence else [])
