"""O_DIRECT that was answered before the platter had it."""

from __future__ import annotations

from tests.factories.evidence import GUEST, busy, finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import disk, loop, on_disk, on_loop
from tests.judge.rules.rotation.platters import NO_CACHE, declared, o_direct


def test_of_story_one_with_the_medium_alone() -> None:
    judgement = verdict(declared(), o_direct(565), host=GUEST)
    found = finding(judgement, "odirect-before-platter")
    assert (found.verdict, found.scope, found.steps) == ("not-durable", "step", ("O_DIRECT",))
    assert "565 times a second" in found.sentence
    assert "half a turn each" in found.sentence
    assert "odirect-no-cache" not in rules(judgement)
    assert judgement.verdict == "cannot-tell"  # a step's fault is no verdict on the disk


def test_says_its_ratio_to_the_synced_rate() -> None:
    synced = step("O_DIRECT+O_DSYNC", device="vda", rate=100, sync="none", open_flags=("direct", "dsync"))
    found = finding(verdict(declared(), step(device="vda", rate=90), synced, o_direct(560)), "odirect-before-platter")
    assert "5.6 × the rate of O_DIRECT+O_DSYNC, 100/s" in found.sentence


def test_a_slow_one_is_only_not_durable_by_itself() -> None:
    assert rules(verdict(declared(NO_CACHE), o_direct(110))) == {"odirect-alone"}


def test_one_that_only_met_the_page_cache_is_not_held_against_the_disk() -> None:
    buffered = on_loop(device=loop(dio="0"), below=disk(medium=NO_CACHE))
    direct = o_direct(78_000, flushes={"loop0": 0, "sda": 0}, share={"loop0": 1, "sda": 0})
    assert not rules(verdict(buffered, direct)) & {"odirect-before-platter", "odirect-no-cache"}


def test_one_with_a_flush_for_each_write_is_synced_out_of_sight_and_not_said_to_lack_it() -> None:
    found = rules(verdict(declared(NO_CACHE), o_direct(9000, flushes=1)))
    assert not found & {"odirect-before-platter", "odirect-alone"}
    assert "odirect-no-cache" in found


def test_a_neighbours_flushes_do_not_excuse_it() -> None:
    direct = o_direct(400, flushes=0.95)
    assert "odirect-before-platter" in rules(verdict(declared(), direct, idle=busy("vda", 380)))


def test_a_sequential_one_needs_no_turn_for_each_block() -> None:
    assert rules(verdict(declared(NO_CACHE), o_direct(9000, offsets="sequential"))) == {"odirect-alone"}


def test_on_an_unknown_medium_it_is_expected() -> None:
    assert rules(verdict(on_disk(), o_direct(20_000, device="sda"))) == {"odirect-alone"}


def test_with_a_sync_it_is_another_step() -> None:
    synced = step("O_DIRECT+O_DSYNC", device="vda", rate=900, sync="none", open_flags=("direct", "dsync"))
    assert not rules(verdict(declared(NO_CACHE), synced)) & {"odirect-before-platter", "odirect-no-cache"}
