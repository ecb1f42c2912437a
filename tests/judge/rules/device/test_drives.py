"""Drives that are faster than their medium, a forced write or their link allows."""

from typing import Any

import pytest

from fstui.model.host import Host
from fstui.model.steps import Step
from fstui.model.storage import Medium, MediumClass, Node, Target
from tests.factories.evidence import GUEST, METAL, finding, rules, verdict
from tests.factories.steps import flushed, forced, step, timed, write
from tests.factories.storage import block, disk, filesystem, loop, on_array, on_disk, on_loop, readings, target
from tests.judge.rules.device.drives import NAND, PLP, consumer, over_cache


@pytest.mark.parametrize(
    ("tw", "ts", "hit"),
    [(60, 99, True), (60, 100.5, False), (40, 59, True), (90, 134, True), (90, 136, False), (60, 800, False)],
    ids=["10\xa0101/s", "9\xa0950/s", "both", "flush 44 of 90", "flush 46 of 90", "honest"],
)
def test_consumer_drive_boundaries(tw: float, ts: float, hit: bool) -> None:
    judgement = verdict(consumer(), write(tw), flushed(ts))
    assert ("consumer-nand-too-fast" in rules(judgement)) is hit
    if hit:
        assert (judgement.verdict, judgement.confidence) == ("suspicious", "medium")
        assert ("a flush added" in judgement.sentence) is (ts - tw < tw / 2)


def test_slow_write_leaves_nothing_to_flush() -> None:
    assert verdict(consumer(), write(400), flushed(500)).verdict == "consistent"


CACHED = over_cache("bcache", "writeback", PLP, NAND, readings=readings(grade="consumer"))
CHEAP = write(60), flushed(80)


@pytest.mark.parametrize(
    ("where", "steps"),
    [
        pytest.param(consumer(readings=()), CHEAP, id="model unknown"),
        pytest.param(consumer(readings=readings(grade="data centre")), CHEAP, id="data centre"),
        pytest.param(consumer(medium=PLP), CHEAP, id="protected"),
        pytest.param(consumer(medium=Medium(class_="ssd", write_cache="none")), CHEAP, id="cache off"),
        pytest.param(consumer(medium=Medium(class_="unknown")), CHEAP, id="medium unknown"),
        pytest.param(consumer(write_cache="write through"), (write(60), flushed(80, flushes=0)), id="write through"),
        pytest.param(consumer(counted=False), (write(60), flushed(80, flushes=None)), id="flushes not counted"),
        pytest.param(consumer(), (write(60),), id="no flush measured"),
        pytest.param(consumer(), (write(60), flushed(80, flushes=0)), id="flushes missing"),
        pytest.param(CACHED, (write(20), flushed(30)), id="behind a protected cache"),
    ],
)
def test_cheap_flush_of_another_drive_is_not_too_fast(where: Target, steps: tuple[Step, ...]) -> None:
    assert "consumer-nand-too-fast" not in rules(verdict(where, *steps))


@pytest.mark.parametrize(("us", "found"), [(80, "suspicious"), (1300, "plausible")])
def test_consumer_drive_without_a_cache_programs_each_write(us: float, found: str) -> None:
    off = consumer(
        write_cache="write through",
        link="sata",
        medium=Medium(class_="ssd", write_cache="none"),
        readings=readings(grade="consumer", cache_type="write through"),
    )
    assert verdict(off, write(us - 2, flushes=0), flushed(us, flushes=0)).verdict == found


@pytest.mark.parametrize(("us", "found"), [(80, "suspicious"), (120, "consistent")])
def test_consumer_drive_with_its_cache_off_is_judged_by_its_rate(us: float, found: str) -> None:
    off = consumer(
        medium=Medium(class_="ssd", write_cache="none"), readings=readings(grade="consumer", drive_cache="off")
    )
    assert verdict(off, write(us - 10), flushed(us)).verdict == found


def test_declared_ssd_needs_no_known_model() -> None:
    declared = consumer(readings=(), medium=Medium(class_="ssd", write_cache="volatile", declared=True))
    assert verdict(declared, write(60), flushed(80)).verdict == "suspicious"


FUA_DRIVE = on_disk(filesystem(), disk(fua=True))


def test_published_case_of_ignored_fua() -> None:
    steps = write(1e6 / 94_385), forced(1e6 / 91_375), flushed(1e6 / 2_767)
    judgement = verdict(FUA_DRIVE, *steps)
    found = finding(judgement, "fua-ignored")
    assert (judgement.verdict, found.confidence) == ("suspicious", "medium")
    assert "33.0 × as long" in judgement.sentence
    assert found.steps == ("O_DIRECT", "O_DIRECT+O_DSYNC", "fdatasync")


@pytest.mark.parametrize(
    ("tw", "td", "ts", "hit"),
    [(10, 14, 71, True), (10, 14, 70, False), (10, 15, 200, False), (20, 400, 90, False), (15, 16, 18, False)],
    ids=["hit", "flush not dear enough", "forced costs more", "the reverse is normal", "protected: all cheap"],
)
def test_fua_boundaries(tw: float, td: float, ts: float, hit: bool) -> None:
    judgement = verdict(FUA_DRIVE, write(tw), forced(td), flushed(ts))
    assert ("fua-ignored" in rules(judgement)) is hit


@pytest.mark.parametrize(("class_", "td", "hit"), [("ssd", 199, True), ("ssd", 200, False), ("unknown", 400, True)])
def test_slow_forced_write_to_flash_may_be_on_it(class_: MediumClass, td: float, hit: bool) -> None:
    """The flush then only writes the mapping table. A virtual disk is not known to be flash."""
    where = on_disk(filesystem(), disk(fua=True, medium=Medium(class_=class_)))
    assert ("fua-ignored" in rules(verdict(where, write(td - 10), forced(td), flushed(6 * td)))) is hit


@pytest.mark.parametrize(("ts", "hit"), [(95, False), (213, False), (214, True)])
def test_flush_faster_than_nand_is_no_reference_for_fua(ts: float, hit: bool) -> None:
    """On a protected drive of an unknown model, a flush is slower than a write but programs nothing."""
    where = on_disk(filesystem(), disk(fua=True, medium=Medium(class_="ssd")))
    assert ("fua-ignored" in rules(verdict(where, write(14), forced(15), flushed(ts)))) is hit


CLAIMS_FUA = block("md0", "md", "sda", fua=True, write_cache="write back", readings=readings(level="linear"))
HIDDEN = target(filesystem("overlay", "/", below=()))
"""As in a container whose upper directory is hidden."""
DEAR = forced(11, flushes=1), flushed(400)
THREE = forced(12), flushed(400), timed("O_DIRECT+fdatasync", 60, open_flags=("direct",))


def fua(**changes: Any) -> Target:
    return on_disk(filesystem(), disk(**{"fua": True, **changes}))


ROTATING = fua(medium=Medium(class_="hdd-7200", rpm=7200), readings=readings(controller="aacraid"))


@pytest.mark.parametrize(
    ("where", "steps"),
    [
        pytest.param(fua(fua=False), DEAR, id="no FUA"),
        pytest.param(fua(write_cache="write through"), DEAR, id="write through"),
        pytest.param(fua(medium=PLP), DEAR, id="protected"),
        pytest.param(fua(medium=Medium(class_="raid-cache")), DEAR, id="controller"),
        pytest.param(fua(medium=Medium(class_="network")), DEAR, id="a network volume"),
        pytest.param(fua(readings=readings(transport="tcp")), DEAR, id="NVMe over TCP"),
        pytest.param(fua(link="hyper-v"), DEAR, id="Hyper-V"),
        pytest.param(fua(readings=readings(drive_cache="off")), DEAR, id="the drive's cache is off"),
        pytest.param(fua(link="scsi"), DEAR, id="an unknown controller"),
        pytest.param(ROTATING, DEAR, id="a controller that reports revolutions"),
        pytest.param(fua(link=None), DEAR, id="no link"),
        pytest.param(fua(link=None, medium=None), DEAR, id="no link and no medium"),
        pytest.param(target(filesystem(below=("md0",)), CLAIMS_FUA, disk(fua=False)), DEAR, id="a layer claims FUA"),
        pytest.param(HIDDEN, (forced(11), flushed(400)), id="no visible device"),
        pytest.param(fua(), THREE, id="the fastest flushed step"),
    ],
)
def test_fua_that_may_be_answered_at_once_is_not_reported(where: Target, steps: tuple[Step, ...]) -> None:
    assert "fua-ignored" not in rules(verdict(where, write(10), *steps))


AWS = Host(virtualization="kvm", cloud="aws")


def linked(payload_mb_s: int | None, **changes: Any) -> Node:
    known = readings(link_rate="6.0 Gbps", **({"payload_mb_s": str(payload_mb_s)} if payload_mb_s else {}))
    return disk(**{"readings": known, **changes})


def sata(payload_mb_s: int | None = 150, top: Node | None = None, **changes: Any) -> Target:
    return on_disk(top or filesystem(), linked(payload_mb_s, **changes))


@pytest.mark.parametrize(("per_s", "hit"), [(10_000, False), (10_080, True)], ids=["164 MB/s", "165.2 MB/s"])
def test_ten_percent_above_the_link_are_allowed(per_s: float, hit: bool) -> None:
    judgement = verdict(sata(), step(rate=per_s))
    assert ("link-exceeded" in rules(judgement)) is hit
    if hit:
        found = finding(judgement, "link-exceeded")
        assert (judgement.verdict, found.confidence, found.scope) == ("suspicious", "high", "storage")
        assert found.title == "165 MB/s over a link for 150 MB/s"
        assert "The data was in a cache above the link when the sync returned" in found.sentence
        assert "sda link_rate: 6.0 Gbps (/read/link_rate)" in found.evidence


def test_o_direct_alone_beyond_the_link_is_a_note() -> None:
    direct = step("O_DIRECT", rate=20_000, sync="none", open_flags=("direct",), flushes=0)
    found = finding(verdict(sata(), direct), "link-exceeded")
    assert (found.verdict, found.scope) == (None, "step")
    assert found.sentence.endswith("when the write returned.")


def test_compression_above_the_link_gives_a_note() -> None:
    where = sata(top=filesystem("btrfs", compress="zstd"))
    found = finding(verdict(where, step(rate=20_000, flushes=2)), "link-exceeded")
    assert found.verdict is None
    assert "compressed or in a cache" in found.sentence


def test_dropped_syncs_take_precedence_over_the_link() -> None:
    dropped = sata(top=filesystem(barrier="nobarrier"))
    assert rules(verdict(dropped, step(rate=20_000, flushes=0))) == {"barriers-off"}


TWO_LINKS, ONE_LINK = (on_array(linked(150), linked(other, id="sdb"), level="raid0") for other in (150, None))
HALF: dict[str, Any] = {"flushes": {"sda": 1, "sdb": 1}, "share": 0.5}


@pytest.mark.parametrize(
    ("where", "done", "host"),
    [
        # between two syncs, blocks are overwritten in memory
        pytest.param(sata(), step(rate=20_000, sync_every=100), METAL, id="rare syncs"),
        pytest.param(sata(), step(rate=20_000, status="disturbed"), METAL, id="held up"),
        pytest.param(sata(), step(rate=20_000, changes={"elapsed_s": 0.0}), METAL, id="no time at all"),
        pytest.param(sata(), step(rate=400_000, sync="none", flushes=0), METAL, id="page cache"),
        pytest.param(sata(), step(rate=20_000, share=0.0), METAL, id="missing bytes"),
        pytest.param(sata(), step(rate=20_000), GUEST, id="guest"),
        pytest.param(sata(), step(rate=20_000), AWS, id="cloud"),
        pytest.param(sata(link="virtio"), step(rate=20_000), METAL, id="virtual link"),
        pytest.param(sata(None), step(rate=20_000), METAL, id="unknown rate"),
        pytest.param(TWO_LINKS, step(rate=20_000, **HALF), METAL, id="two links add up"),
        pytest.param(ONE_LINK, step(rate=21_000, **HALF), METAL, id="one of two is unknown"),
        pytest.param(HIDDEN, step(rate=20_000, flushes={}), METAL, id="no visible device"),
    ],
)
def test_no_link_is_exceeded(where: Target, done: Step, host: Host) -> None:
    assert "link-exceeded" not in rules(verdict(where, done, host=host))


def test_loop_on_a_disk_uses_the_link_of_the_disk() -> None:
    stack = on_loop(device=loop(), below=linked(150))
    both: dict[str, Any] = {"flushes": {"loop0": 1, "sda": 1}, "share": {"loop0": 1, "sda": 1}}
    assert finding(verdict(stack, step(rate=20_000, **both)), "link-exceeded").verdict == "suspicious"
