"""Simulate syncs on random stacks and judge them by the counters of their devices.

An honest stack is never reported as not durable. A stack with a layer that drops flushes is, if the counters can show
it: ``shows`` follows the paths of the simulation, independently of the code under test.
"""

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fstui.model.judgement import Judgement
from fstui.model.steps import Step
from tests.factories.evidence import quiet, verdict
from tests.factories.layered import BLOCK, SYNCS, Layer, What, begin_anew, claims_fua, counters, run, shows
from tests.factories.stacks import Made, Maker
from tests.factories.steps import step

NOT_TRUSTED = {"not-durable", "suspicious"}
FORCED: dict[str, Any] = {"sync": "none", "open_flags": ("direct", "dsync")}


def measured(made: Made, seed: int, *, forced: bool) -> Step:
    begin_anew(made.layers)
    run(made.top, forced, seed)
    return step(ops=SYNCS, rate=SYNCS, changes={"counters": counters(made.layers)}, **(FORCED if forced else {}))


def judged(made: Made, seed: int) -> Judgement:
    steps = (measured(made, seed, forced=forced) for forced in (False, True))
    return verdict(made.target, *steps, idle=quiet(*(layer.node.id for layer in made.layers if layer.node.counted)))


def made_of(seed: int, depth: int) -> tuple[Made, Layer]:
    """Return a stack and one of its layers."""
    chance = random.Random(seed)
    made = Maker(chance.randint).made(depth)
    return made, chance.choice([layer for layer in made.layers if layer.node.layer == "block"])


def can_show(made: Made, dropping: Layer, seed: int, *, forced: bool) -> bool:
    """Return whether counters can show that the layer drops its flushes, of more than one sync."""
    top = made.top
    if not top.in_place and any(layer.does == "paths" for layer in made.layers):
        return False  # flushes on the other paths may compensate for those of one path
    what: What = "forced" if forced and top.in_place and claims_fua(top.data[0]) else "flush"
    measured(made, seed, forced=forced)
    has_part = dropping.asked > 1 and dropping.written_bytes > 0.05 * SYNCS * BLOCK
    return has_part and any(shows(device, dropping, what) for device in top.data)


@settings(derandomize=True)
@given(st.integers(0, 1 << 32), st.integers(0, 4))
def test_honest_stack_is_not_reported(seed: int, depth: int) -> None:
    made, _ = made_of(seed, depth)
    judgement = judged(made, seed)
    assert judgement.verdict not in NOT_TRUSTED, judgement.sentence


@settings(derandomize=True)
@given(st.integers(0, 1 << 32), st.integers(0, 4))
def test_layer_that_drops_flushes_is_reported(seed: int, depth: int) -> None:
    made, dropping = made_of(seed, depth)
    missed = any(can_show(made, dropping, seed, forced=forced) for forced in (False, True))
    dropping.drops = True
    judgement = judged(made, seed)
    assert judgement.verdict in NOT_TRUSTED or not missed, judgement.sentence
