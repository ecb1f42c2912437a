"""The platters beneath, and the pace of steps against them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from fstui.judge import Case
from fstui.judge.facts.rotation import Rotation, fastest
from fstui.model.steps import Step
from fstui.model.storage import Medium, Target
from tests.factories.evidence import GUEST, evidence
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, on_disk, readings, target
from tests.judge.rules.rotation.platters import NO_CACHE, READ, SPINNING, declared, o_direct, same_block


def rotation(where: Target, *steps: Step) -> Rotation:
    return Case(evidence(where, *(steps or (same_block(100),)))).rotation


def test_a_platter_is_known_by_what_was_read_or_declared() -> None:
    platter = rotation(SPINNING).platter
    assert platter is not None
    assert (platter.rpm, platter.assumed, platter.no_cache, platter.text) == (7200, False, False, "7200 rpm")
    known = rotation(declared(NO_CACHE)).platter
    assert known is not None and known.no_cache


def test_a_hard_disk_that_does_not_say_is_taken_for_the_fastest() -> None:
    unstated = on_disk(filesystem(), disk(rotational=True, readings=readings(grade="hard disk")))
    platter = rotation(unstated).platter
    assert platter is not None
    assert (platter.rpm, platter.text) == (15_000, "at most 15000 rpm")
    assert Case(evidence(unstated, same_block(9), host=GUEST)).rotation.platter is None


def test_what_says_nothing_is_no_platter() -> None:
    """A memory card, a RAID of SSDs on AHCI, an array by SAS: the kernel calls rotating what states no rate."""
    assert rotation(on_disk(filesystem(), disk(rotational=True, link="sas"))).platter is None


@pytest.mark.parametrize(
    ("model", "writes", "per_s"),
    [
        ("HGST HUS726040AL", "log", 2114),
        ("ST8000DM004-2CX1", "log", 2114),
        ("ST1000LM014-1EJ1", "flash", 5000),
        ("ST4000NM0033-9ZM", "in place", 120),
    ],
)
def test_a_disk_that_writes_elsewhere_first_waits_for_no_block(model: str, writes: str, per_s: float) -> None:
    where = on_disk(filesystem(), disk(medium=READ, model=model))
    platter = rotation(where).platter
    assert platter is not None
    assert (platter.writes, int(platter.per_s)) == (writes, per_s)
    honest, lying = same_block(1.5 * per_s), same_block(1.5 * per_s + 1)
    assert not rotation(where, honest).too_fast
    assert [pace.step for pace in rotation(where, honest, lying).too_fast] == [lying]


def test_a_pace_below_that_of_a_log_shows_no_turning() -> None:
    """A volatile cache that forgets may be as slow: nothing was seen."""
    where = on_disk(filesystem(), disk(medium=READ, model="HGST HUS726040AL"))
    assert not rotation(where, same_block(100)).answers
    array = target(
        filesystem(below=("md0",)),
        block("md0", "md", "sda", "sdb"),
        disk(medium=READ),
        disk("sdb", medium=READ, model="HGST HUS726040AL"),
    )
    both = same_block(400, flushes={"sda": 1, "sdb": 1})
    assert not rotation(array, both).too_fast  # which of them is the slower is not known


@pytest.mark.parametrize(
    "where",
    [
        on_disk(filesystem("btrfs"), disk(medium=READ)),
        on_disk(filesystem(data="journal"), disk(medium=READ)),
        target(filesystem(below=("top",)), block("top", "bcache", "sda"), disk(medium=READ)),
        on_disk(filesystem(), disk(medium=Medium(class_="hdd-7200", write_cache="plp"))),
        on_disk(filesystem(barrier="nobarrier"), disk(medium=READ)),
        on_disk(),
        on_disk(filesystem(), disk(medium=READ, link="fc")),
        on_disk(filesystem(), disk(medium=READ, link="scsi")),
    ],
    ids=[
        "copy on write",
        "journalled data",
        "a cache between",
        "protected",
        "barriers off",
        "no platter",
        "an array that states its disks' turns",
        "a controller that does",
    ],
)
def test_there_is_none_where_something_else_may_answer(where: Target) -> None:
    assert rotation(where).platter is None


@pytest.mark.parametrize("link", ["scsi", "fc", "usb"])
def test_a_hard_disk_by_its_name_is_no_array(link: str) -> None:
    """A drive that a controller passes through; an array and a USB bridge have names of their own."""
    named = disk(medium=READ, link=link, rotational=True, readings=readings(grade="hard disk"))
    assert rotation(on_disk(filesystem(), named)).platter is not None
    assert rotation(on_disk(filesystem(), replace(named, medium=Medium()))).platter is not None


@pytest.mark.parametrize(
    ("driver", "declared", "answers"), [("arcmsr", False, False), ("arcmsr", True, True), ("megaraid_sas", False, True)]
)
def test_a_controllers_cache_may_answer_for_a_disk_that_it_passes_through(
    driver: str, declared: bool, answers: bool
) -> None:
    told = readings(grade="hard disk", controller=driver)
    named = disk(medium=replace(READ, declared=declared), link="scsi", rotational=True, readings=told)
    assert (rotation(on_disk(filesystem(), named)).platter is not None) is answers
    if not declared:
        unstated = replace(named, medium=Medium())
        assert (rotation(on_disk(filesystem(), unstated)).platter is not None) is answers


def test_a_disk_of_a_name_that_nobody_knows_may_have_a_log() -> None:
    """Servers' makers sell others' disks under their own names."""
    platter = rotation(on_disk(filesystem(), disk(medium=READ, model="MB4000GVYZK"))).platter
    assert platter is not None and platter.writes == "log"
    yours = rotation(on_disk(filesystem(), disk(medium=replace(READ, declared=True), model="MB4000GVYZK"))).platter
    assert yours is not None and yours.writes == "in place"


@pytest.mark.parametrize("link", ["sata", "sas", "usb", "virtio", None])
def test_a_disk_that_states_its_turns_is_believed_elsewhere(link: str | None) -> None:
    assert rotation(on_disk(filesystem(), disk(medium=READ, link=link))).platter is not None


def test_it_answers_where_the_syncs_are_as_slow_as_it_turns() -> None:
    assert rotation(SPINNING, same_block(118)).answers
    assert not rotation(SPINNING, same_block(181)).answers
    assert not rotation(SPINNING, same_block(118), same_block(181)).answers
    assert not rotation(SPINNING, o_direct(118)).answers


def test_it_answers_only_where_it_takes_the_time_itself() -> None:
    """Under a cgroup's limit, or beside a slower disk, one that forgets flushes is as slow as a platter."""
    assert not rotation(SPINNING, same_block(100, own=0.4)).answers
    assert rotation(SPINNING, same_block(100, own=0.6)).answers
    array = target(
        filesystem(below=("md0",)), block("md0", "md", "sda", "sdb"), disk(medium=READ), disk("sdb", medium=READ)
    )
    both = same_block(100, flushes={"sda": 1, "sdb": 1})
    lazy = msgspec.structs.replace(both.counters[1], flush_ms=3)
    one = msgspec.structs.replace(both, counters=(both.counters[0], lazy))
    assert rotation(array, both).answers
    assert rotation(array, one).working == {"sda"} and not rotation(array, one).answers
    assert not rotation(array, both, one).answers


def test_without_a_cache_its_writes_take_the_time() -> None:
    through = on_disk(filesystem(), disk(medium=READ, write_cache="write through"))
    assert rotation(through, same_block(100, flushes=0)).answers
    assert not rotation(through, same_block(100, flushes=0, own=0.4)).answers


@pytest.mark.parametrize(
    "done",
    [
        same_block(100, flushes=0.5),
        same_block(100, share=0.5),
        same_block(100, sync_every=4),
        step("same block, fdatasync", offsets="same", rate=100, ops=100),
    ],
    ids=["flushes are missing", "bytes are missing", "rare syncs", "its own time was not counted"],
)
def test_a_step_that_is_no_plain_rewrite_shows_no_turning(done: Step) -> None:
    assert not rotation(SPINNING, done).answers


@pytest.mark.parametrize(
    "changes", [{"status": "disturbed"}, {"prefill": "none"}, {"offsets": "append"}], ids=["held up", "new", "a log"]
)
def test_o_direct_is_early_only_where_it_rewrote_as_fast_as_it_could(changes: dict[str, Any]) -> None:
    assert rotation(declared(), o_direct(900, offsets="same")).early
    assert not rotation(declared(), o_direct(900, **{"offsets": "same", **changes})).early


def test_above_a_log_any_offset_has_the_logs_limit() -> None:
    where = on_disk(filesystem(), disk(medium=READ, model="HGST HUS726040AL"))
    for platter, limit_per_s in ((where, 2115), (SPINNING, 240)):
        within, beyond = (
            step("anywhere", offsets="random", rate=1.5 * limit_per_s + more, ops=400) for more in (-2, 2)
        )
        assert not rotation(platter, within).too_fast
        assert rotation(platter, beyond).too_fast


def test_an_overlay_leaves_the_writing_to_what_it_lies_over() -> None:
    over = target(filesystem("overlay", "/merged", below=("mount:/srv",)), *SPINNING.stack)
    assert rotation(over).platter is not None


@pytest.mark.parametrize(("zoned", "known"), [("none", True), ("host-aware", False)])
def test_a_zoned_disk_writes_elsewhere_first(zoned: str, known: bool) -> None:
    where = on_disk(filesystem(), disk(medium=READ, readings=readings(zoned=zoned)))
    assert (rotation(where).platter is not None) is known


def test_a_hard_disk_by_its_name_that_is_something_else_by_its_medium_is_no_platter() -> None:
    told: dict[str, Any] = {"rotational": True, "readings": readings(grade="hard disk")}
    assert rotation(on_disk(filesystem(), disk(**told, medium=Medium(class_="network")))).platter is None


def test_where_others_write_too_the_time_may_be_theirs() -> None:
    assert not rotation(SPINNING, same_block(100, flushes=1.3)).answers


def test_random_offsets_may_take_half_a_turn() -> None:
    same, random = o_direct(200, offsets="same"), o_direct(200, offsets="random")
    assert [pace.step for pace in rotation(declared(), same, random).early] == [same]


def test_the_fastest_is_that_which_is_furthest_beyond() -> None:
    paces = rotation(SPINNING, same_block(200), same_block(900)).too_fast
    assert fastest(paces).step.rate_per_s == 900
    assert (
        rotation(SPINNING).switch_cache_off[0].startswith("Switch the drive's write cache off (hdparm -W 0, /dev/sda)")
    )
    assert rotation(declared(NO_CACHE)).switch_cache_off == ()
