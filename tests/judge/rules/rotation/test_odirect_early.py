"""O_DIRECT that was acknowledged before the platter had the data."""

import pytest

from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.steps import Step
from fstui.model.storage import Target
from fstui.runs import scenarios
from tests.factories.evidence import GUEST, busy, finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import disk, loop, on_disk, on_loop
from tests.judge.rules.rotation.platters import NO_CACHE, declared, o_direct


def test_fast_odirect_on_a_declared_disk_is_not_durable() -> None:
    judgement = verdict(declared(), o_direct(565), host=GUEST)
    found = finding(judgement, "odirect-before-platter")
    assert (found.verdict, found.scope, found.steps) == ("not-durable", "step", ("O_DIRECT",))
    assert "565 times a second" in found.sentence
    assert "240/s at random offsets, 120/s to one block" in found.sentence
    assert "odirect-no-cache" not in rules(judgement)
    assert judgement.verdict == "cannot-tell"  # the finding is about the step, not about the disk


def test_sentence_has_the_ratio_to_the_synced_rate() -> None:
    synced = step("O_DIRECT+O_DSYNC", device="vda", rate=100, sync="none", open_flags=("direct", "dsync"))
    found = finding(verdict(declared(), step(device="vda", rate=90), synced, o_direct(560)), "odirect-before-platter")
    assert "The rate is 5.6 × that of O_DIRECT+O_DSYNC, 100/s" in found.sentence


BUFFERED = on_loop(device=loop(dio="0"), below=disk(medium=NO_CACHE))
SYNCED = step("O_DIRECT+O_DSYNC", device="vda", rate=900, sync="none", open_flags=("direct", "dsync"))


@pytest.mark.parametrize(
    ("where", "done", "found"),
    [
        (declared(NO_CACHE), o_direct(110), {"odirect-alone"}),
        (BUFFERED, o_direct(78_000, flushes={"loop0": 0, "sda": 0}, share={"loop0": 1, "sda": 0}), {"odirect-alone"}),
        (declared(NO_CACHE), o_direct(9000, offsets="sequential"), {"odirect-alone"}),
        (on_disk(), o_direct(20_000, device="sda"), {"odirect-alone"}),
        (declared(NO_CACHE), SYNCED, set()),
    ],
    ids=["slow", "in the page cache", "sequential", "unknown medium", "synced"],
)
def test_other_o_direct_is_not_before_the_platter(where: Target, done: Step, found: set[str]) -> None:
    of_o_direct = {"odirect-before-platter", "odirect-no-cache", "odirect-alone"}
    assert rules(verdict(where, done)) & of_o_direct == found


def test_flushes_of_a_neighbour_are_not_its_own() -> None:
    direct = o_direct(400, flushes=0.95)
    assert "odirect-before-platter" in rules(verdict(declared(), direct, idle=busy("vda", 380)))


def test_fileio_classic_without_a_cache_is_suspicious() -> None:
    """407 fsyncs per second, and 630 O_DIRECT writes with a sync after every hundredth."""
    settings_ = [each.settings for each in scenarios.expand(scenarios.load("fileio-classic"), {})[1]]
    steps = [
        step(f"{at}", rate=630 if settings.open_flags else 407, ops=4000, device="vda", flushes=1 / settings.sync_every,
             sync=settings.sync, open_flags=settings.open_flags, sync_every=settings.sync_every)
        for at, settings in enumerate(settings_)
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
def test_random_offsets_may_take_half_a_revolution(offsets: str, rate: float, confidence: str | None) -> None:
    judgement = verdict(declared(NO_CACHE), o_direct(rate, offsets=offsets), host=GUEST)
    found = [found for found in judgement.findings if found.rule == "odirect-no-cache"]
    assert [each.confidence for each in found] == ([confidence] if confidence else [])
    for each in found:
        assert (each.verdict, each.scope, judgement.verdict) == ("suspicious", "storage", "suspicious")
