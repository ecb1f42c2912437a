"""The revolutions of disks, and the pace of steps compared with them."""

from typing import Any

import pytest
from msgspec.structs import replace

from fstui.judge import Case
from fstui.judge.facts.rotation import Rotation, fastest_pace, revolution_ns, rpm
from fstui.model.steps import Step
from fstui.model.storage import Medium, Target
from tests.factories.evidence import evidence
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, on_array, on_disk, readings, target
from tests.judge.rules.rotation.platters import NO_CACHE, READ, SPINNING, declared, o_direct, same_block


def rotation(where: Target, *steps: Step) -> Rotation:
    return Case(evidence(where, *(steps or (same_block(100),)))).rotation


@pytest.mark.parametrize(
    ("model", "writes", "per_s"),
    [
        ("HGST HUS726040AL", "log", 2114),
        ("ST8000DM004-2CX1", "log", 2114),
        ("ST1000LM014-1EJ1", "flash", 5000),
        ("ST4000NM0033-9ZM", "in place", 120),
    ],
)
def test_disk_with_a_log_or_flash_waits_for_no_block(model: str, writes: str, per_s: float) -> None:
    where = on_disk(filesystem(), disk(medium=READ, model=model))
    platter = rotation(where).platters
    assert platter is not None
    assert (platter.placement, int(platter.writes_per_s)) == (writes, per_s)
    within, faster = same_block(1.5 * per_s), same_block(1.5 * per_s + 1)
    assert not rotation(where, within).too_fast_paces
    assert [pace.step for pace in rotation(where, within, faster).too_fast_paces] == [faster]


def test_pace_below_that_of_a_log_shows_no_revolution() -> None:
    """A volatile cache that ignores flushes may be as slow."""
    where = on_disk(filesystem(), disk(medium=READ, model="HGST HUS726040AL"))
    assert not rotation(where, same_block(100)).syncs_reach_platters
    array = on_array(disk(medium=READ), disk("sdb", medium=READ, model="HGST HUS726040AL"))
    both = same_block(400, flushes={"sda": 1, "sdb": 1})
    assert not rotation(array, both).too_fast_paces  # the slower of the two is not known


def behind(kind: str) -> Target:
    return target(filesystem(below=("top",)), block("top", kind, "sda"), disk(medium=READ))


def spinning(**changes: Any) -> Target:
    return on_disk(filesystem(), disk(**{"medium": READ, "rotational": True, **changes}))


NAMED = {"link": "scsi", "readings": readings(grade="hard disk")}
ARECA = {"link": "scsi", "readings": readings(grade="hard disk", controller="arcmsr")}
MEGARAID = {"link": "scsi", "readings": readings(grade="hard disk", controller="megaraid_sas")}


@pytest.mark.parametrize(
    ("where", "is_platter"),
    [
        pytest.param(on_disk(), False, id="no platter"),
        # the kernel calls a device rotating if it states no rate: a memory card, a RAID of SSDs, a SAS array
        pytest.param(spinning(medium=Medium(), link="sas"), False, id="no rate"),
        *((on_disk(filesystem(kind), *SPINNING.lowest), False) for kind in ("btrfs", "zfs", "f2fs", "bcachefs")),
        pytest.param(on_disk(filesystem(data="journal"), *SPINNING.lowest), False, id="data=journal"),
        *((behind(kind), False) for kind in ("bcache", "dm-cache", "dm-writecache", "dm")),
        pytest.param(spinning(medium=Medium(class_="hdd-7200", write_cache="plp")), False, id="protected"),
        pytest.param(on_disk(filesystem(barrier="nobarrier"), *SPINNING.lowest), False, id="barriers off"),
        pytest.param(spinning(link="fc"), False, id="array that states revolutions"),
        pytest.param(spinning(link="scsi"), False, id="controller that states revolutions"),
        pytest.param(spinning(readings=readings(zoned="none")), True, id="not zoned"),
        pytest.param(spinning(readings=readings(zoned="host-aware")), False, id="zoned"),
        # a controller passes drives through by their names; arrays and USB bridges have their own
        *((spinning(**{**NAMED, "link": link}), True) for link in ("scsi", "fc", "usb")),
        *((spinning(**{**NAMED, "link": link}, medium=Medium()), True) for link in ("scsi", "fc", "usb")),
        pytest.param(spinning(**ARECA), False, id="Areca may answer"),
        pytest.param(spinning(**ARECA, medium=Medium()), False, id="Areca may answer, no rate"),
        pytest.param(spinning(**ARECA, medium=replace(READ, declared=True)), True, id="Areca, declared"),
        pytest.param(spinning(**MEGARAID), True, id="MegaRAID"),
        pytest.param(spinning(**MEGARAID, medium=Medium()), True, id="MegaRAID, no rate"),
        pytest.param(
            target(filesystem("overlay", "/merged", below=("mount:/srv",)), *SPINNING.stack), True, id="overlay"
        ),
    ],
)
def test_platter_answers_if_no_other_layer_may(where: Target, is_platter: bool) -> None:
    assert (rotation(where).platters is not None) is is_platter


def test_disk_of_an_unknown_model_may_have_a_log() -> None:
    """Server vendors sell disks under their own names."""
    platter = rotation(on_disk(filesystem(), disk(medium=READ, model="MB4000GVYZK"))).platters
    assert platter is not None and platter.placement == "log"
    yours = rotation(on_disk(filesystem(), disk(medium=replace(READ, declared=True), model="MB4000GVYZK"))).platters
    assert yours is not None and yours.placement == "in place"


def test_platter_answers_only_if_it_takes_the_time_itself() -> None:
    """With a cgroup limit, or next to a slower disk, a disk that ignores flushes is as slow as a platter."""
    assert not rotation(SPINNING, same_block(100, own=0.4)).syncs_reach_platters
    assert rotation(SPINNING, same_block(100, own=0.6)).syncs_reach_platters
    array = on_array(disk(medium=READ), disk("sdb", medium=READ))
    both = same_block(100, flushes={"sda": 1, "sdb": 1})
    idle = replace(both.counters[1], flush_ms=3)
    one = replace(both, counters=(both.counters[0], idle))
    assert rotation(array, both).syncs_reach_platters
    assert rotation(array, one).flushing_devices == {"sda"} and not rotation(array, one).syncs_reach_platters
    assert not rotation(array, both, one).syncs_reach_platters


@pytest.mark.parametrize(
    "done",
    [
        same_block(100, flushes=0.5),
        same_block(100, share=0.5),
        same_block(100, flushes=1.3),
        same_block(100, sync_every=4),
        step("same block, fdatasync", offsets="same", rate=100, ops=100),
    ],
    ids=["flushes are missing", "bytes are missing", "next to other writers", "rare syncs", "no device time"],
)
def test_step_that_does_more_than_rewrite_shows_nothing(done: Step) -> None:
    assert not rotation(SPINNING, done).syncs_reach_platters


@pytest.mark.parametrize(
    "changes",
    [{"status": "disturbed"}, {"prefill": "none"}, {"offsets": "append"}],
    ids=["disturbed", "new file", "append"],
)
def test_o_direct_is_early_only_in_plain_rewrites(changes: dict[str, Any]) -> None:
    assert rotation(declared(), o_direct(900, offsets="same")).too_fast_direct_paces
    assert not rotation(declared(), o_direct(900, **{"offsets": "same", **changes})).too_fast_direct_paces


def test_log_has_the_same_limit_at_any_offset() -> None:
    where = on_disk(filesystem(), disk(medium=READ, model="HGST HUS726040AL"))
    for platter, limit_per_s in ((where, 2115), (SPINNING, 240)):
        within, beyond = (
            step("anywhere", offsets="random", rate=1.5 * limit_per_s + more, ops=400) for more in (-2, 2)
        )
        assert not rotation(platter, within).too_fast_paces
        assert rotation(platter, beyond).too_fast_paces


def test_fastest_pace_exceeds_its_limit_most() -> None:
    paces = rotation(SPINNING, same_block(200), same_block(900)).too_fast_paces
    assert fastest_pace(paces).step.rate_per_s == 900
    off = rotation(SPINNING).cache_off_advice[0]
    assert off.startswith("Switch the drive's write cache off ('hdparm -W 0 /dev/sda')")
    assert rotation(declared(NO_CACHE)).cache_off_advice == ()


def test_stated_revolutions_outweigh_the_class() -> None:
    assert rpm(Medium(class_="hdd-5400", rpm=5900)) == 5900
    assert revolution_ns(Medium(class_="hdd-7200", declared=True)) == 8_333_333
    assert revolution_ns(Medium(class_="ssd")) is None
