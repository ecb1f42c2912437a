"""Simulate syncs on random stacks and judge them by the counters of their devices.

An honest stack is never reported as not durable. A stack with a layer that drops flushes is, if the counters can show
it: ``shows`` follows the paths of the simulation, independently of the code under test.
"""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from fstui.judge import judge
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.counters import DeviceCounters, Idle
from fstui.model.judgement import Judgement
from fstui.model.run import Evidence
from fstui.model.steps import Step
from tests.factories.evidence import HONEST_PROCESS, METAL
from tests.factories.layered import BLOCK, SYNCS, Layer, What, begin_anew, claims_fua, counters, run, shows
from tests.factories.stacks import Made, Maker

NOT_TRUSTED = {"not-durable", "suspicious"}
FORCED = SyncWrites(block_bytes=BLOCK, file_bytes=1 << 20, sync="none", open_flags=("direct", "dsync"))
FLUSHED = SyncWrites(block_bytes=BLOCK, file_bytes=1 << 20)


def measured(made: Made, how: SyncWrites, seed: int) -> Step:
    begin_anew(made.layers)
    run(made.top, how is FORCED, seed)
    return Step(
        name="forced" if how is FORCED else "fdatasync",
        settings=how,
        ops=SYNCS,
        syncs=SYNCS,
        bytes=SYNCS * BLOCK,
        elapsed_s=1.0,
        rate_per_s=SYNCS,
        counters=counters(made.layers),
    )


def verdict(made: Made, seed: int) -> Judgement:
    steps = tuple(measured(made, how, seed) for how in (FLUSHED, FORCED))
    counting = (layer.node.id for layer in made.layers if layer.node.counted)
    idle = Idle(elapsed_s=2.0, counters=tuple(DeviceCounters(device=name, flushes=0, writes=0) for name in counting))
    return judge(Evidence(steps=steps, target=made.target, process=HONEST_PROCESS, host=METAL, idle=idle))


def made_of(seed: int, depth: int) -> tuple[Made, Layer]:
    """Return a stack and one of its layers."""
    chance = random.Random(seed)
    made = Maker(chance.randint).made(depth)
    return made, chance.choice([layer for layer in made.layers if layer.node.layer == "block"])


def can_show(made: Made, dropping: Layer, how: SyncWrites, seed: int) -> bool:
    """Return whether counters can show that the layer drops its flushes, of more than one sync."""
    top = made.top
    if not top.in_place and any(layer.does == "paths" for layer in made.layers):
        return False  # flushes on the other paths may compensate for those of one path
    what: What = "forced" if how is FORCED and top.in_place and claims_fua(top.data[0]) else "flush"
    measured(made, how, seed)
    has_part = dropping.asked > 1 and dropping.written_bytes > 0.05 * SYNCS * BLOCK
    return has_part and any(shows(device, dropping, what) for device in top.data)


@settings(derandomize=True)
@given(st.integers(0, 1 << 32), st.integers(0, 4))
def test_honest_stack_is_not_reported(seed: int, depth: int) -> None:
    made, _ = made_of(seed, depth)
    judgement = verdict(made, seed)
    assert judgement.verdict not in NOT_TRUSTED, judgement.sentence


@settings(derandomize=True)
@given(st.integers(0, 1 << 32), st.integers(0, 4))
def test_layer_that_drops_flushes_is_reported(seed: int, depth: int) -> None:
    made, dropping = made_of(seed, depth)
    missed = any(can_show(made, dropping, how, seed) for how in (FLUSHED, FORCED))
    dropping.drops = True
    judgement = verdict(made, seed)
    assert judgement.verdict in NOT_TRUSTED or not missed, judgement.sentence
