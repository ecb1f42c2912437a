"""Rewrites of one block, compared with the revolutions of a platter."""

from typing import Any

import msgspec
import pytest

from fstui.model.host import Host
from fstui.model.steps import Step
from fstui.model.storage import Medium, Target
from tests.factories.box import Box, vpd_page_b1
from tests.factories.evidence import GUEST, HONEST_PROCESS, METAL, busy, finding, rules, verdict
from tests.factories.looking import look
from tests.factories.steps import latency, step
from tests.factories.storage import block, disk, filesystem, on_array, on_disk, readings, target
from tests.judge.rules.rotation.platters import NO_CACHE, READ, SPINNING, declared, o_direct, same_block

RULE = "same-block-rotation"


LIMITED = {"process": msgspec.structs.replace(HONEST_PROCESS, io_limits=readings(write_iops="100"))}
UNCOUNTED = on_disk(filesystem(), disk(medium=READ, counted=False))
ON_LUKS = target(
    filesystem(below=("dm-1",)), block("dm-1", "dm-linear", "dm-0"), block("dm-0", "dm-crypt", "sda"), disk(medium=READ)
)


@pytest.mark.parametrize(
    ("where", "done", "fields", "verdict_", "confidence"),
    [
        pytest.param(SPINNING, same_block(60), {}, "consistent", "medium", id="slow"),
        pytest.param(SPINNING, same_block(132), {}, "consistent", "medium", id="10 % faster"),
        pytest.param(SPINNING, same_block(133), {}, "consistent", "low", id="more than 10 % faster"),
        pytest.param(SPINNING, same_block(180), {}, "consistent", "low", id="half as fast again"),
        pytest.param(SPINNING, same_block(181), {}, "suspicious", "medium", id="more than half as fast again"),
        pytest.param(SPINNING, same_block(9000), {}, "suspicious", "medium", id="far too fast"),
        # some hard disks keep their cache in flash and do not report it
        pytest.param(declared(), same_block(600, device="vda"), {}, "suspicious", "medium", id="declared"),
        pytest.param(declared(), same_block(601, device="vda"), {}, "suspicious", "high", id="declared, five times"),
        pytest.param(SPINNING, same_block(60), LIMITED, "consistent", "low", id="a limit"),
        pytest.param(SPINNING, same_block(60), {"idle": busy("sda", 3)}, "consistent", "low", id="a neighbour"),
        pytest.param(UNCOUNTED, same_block(812), {}, "suspicious", "medium", id="flushes not counted"),
        pytest.param(ON_LUKS, same_block(900), {}, "suspicious", "medium", id="below LVM and LUKS"),
    ],
)
def test_rewrites_are_compared_with_revolutions(
    where: Target, done: Step, fields: dict[str, Any], verdict_: str, confidence: str
) -> None:
    found = finding(verdict(where, done, **fields), RULE)
    assert (found.verdict, found.confidence, found.scope) == (verdict_, confidence, "storage")


@pytest.mark.parametrize(
    ("rate", "settings", "hit"),
    [
        (360, {"offsets": "random"}, False),
        (361, {"offsets": "random"}, True),
        (361, {"offsets": "random", "sync": "none", "open_flags": ("direct", "dsync")}, True),
        (361, {"offsets": "sequential"}, True),
        (361, {"offsets": "append", "prefill": "none"}, True),
        (361, {"offsets": "random", "prefill": "none", "sync": "fsync"}, True),
        (9000, {"offsets": "random", "sync_every": 10}, False),
        (9000, {"offsets": "random", "writers": 16}, False),
        (9000, {"offsets": "random", "status": "disturbed"}, False),
    ],
)
def test_every_step_that_syncs_each_write_is_compared(rate: float, settings: dict[str, Any], hit: bool) -> None:
    found = finding(verdict(SPINNING, same_block(100), step("quick", rate=rate, ops=int(rate), **settings)), RULE)
    assert (found.verdict == "suspicious") is hit
    if hit:
        limit = f"7200 rpm allows 240/s at {settings['offsets']} offsets, 120/s to one block"
        assert found.title == f"361/s, {limit}" and "; a revolution takes 8.3 ms" in found.evidence[0]
        assert "16 KiB blocks (quick) were written and synced 361 times a second" in found.sentence


def test_disk_with_flash_is_allowed_to_be_faster(box: Box) -> None:
    files: dict[str, str | bytes] = {"device/vendor": "ATA     ", "device/model": "WDC  WUH722222AL"}
    box.disk("sda", rotational=1, files={**files, "device/vpd_pgb1": vpd_page_b1(7200)})
    box.mount("/dev/sda", "/srv", "ext4")
    judged = verdict(look(box), same_block(1500))
    assert judged.verdict not in {"suspicious", "not-durable"}, judged.sentence


def test_sentence_of_a_disk_that_is_too_fast() -> None:
    judgement = verdict(declared(NO_CACHE), same_block(812, device="vda"), host=Host(virtualization="virtualbox"))
    found = finding(judgement, RULE)
    assert judgement.verdict == "suspicious"
    assert found.title == "812/s, 7200 rpm allows 120/s"
    assert "One 16 KiB block was rewritten and synced 812 times a second" in judgement.sentence
    assert "6.8 × the limit (7200 rpm allows 120/s)" in judgement.sentence
    assert "Each sync reached vda as a flush (1.00 per sync)" in judgement.sentence
    assert "vda: medium hdd-7200, write cache none (declared by you)" in found.evidence
    assert "IgnoreFlush" in found.next[0]


def test_sentence_of_a_consistent_disk() -> None:
    judgement = verdict(SPINNING, same_block(118))
    found = finding(judgement, RULE)
    assert (found.confidence, found.sentence.endswith("only a power cut proves more.")) == ("medium", True)
    assert judgement.verdict == "consistent"


@pytest.mark.parametrize("own", [0.0, 0.4])
def test_disk_that_did_not_take_the_time_is_named(own: float) -> None:
    found = finding(verdict(SPINNING, same_block(100, own=own)), RULE)
    assert (found.verdict, found.confidence) == ("consistent", "low")
    assert found.sentence.endswith("Nothing in this run shows that flushes have an effect on sda.")


def test_virtual_disk_that_reports_rotation_is_not_compared() -> None:
    virtual = on_disk(filesystem(below=("vda",)), disk("vda", link="virtio", rotational=True))
    for host in (METAL, GUEST):
        assert RULE not in rules(verdict(virtual, same_block(9000, device="vda"), host=host))


@pytest.mark.parametrize(
    ("changes", "judged"),
    [
        ({"link": "sata"}, True),
        ({"link": "sas"}, True),
        ({"link": "usb"}, True),
        ({"link": None}, True),
        ({"link": "sata", "model": "VBOX HARDDISK"}, False),
        ({"link": "sata", "rotational": False}, False),
        ({"link": "sata", "medium": Medium(class_="raid-cache")}, False),
    ],
)
def test_hard_disk_of_unknown_speed_is_assumed_to_be_fast(changes: dict[str, Any], judged: bool) -> None:
    named = readings(grade="hard disk")
    where = on_disk(filesystem(), disk(**{"rotational": True, "readings": named, **changes}))
    judgement = verdict(where, same_block(400))
    assert (RULE in rules(judgement)) is judged
    if judged:
        found = finding(judgement, RULE)
        assert (found.verdict, found.confidence) == ("suspicious", "medium")
        assert any("15\xa0000 rpm assumed" in line for line in found.evidence)


def test_fastest_of_several_platters_sets_the_limit() -> None:
    slow, fast = Medium(class_="hdd-5400", write_cache="none"), Medium(class_="hdd-10000", write_cache="volatile")
    stack = on_array(disk(medium=slow), disk("sdb", medium=fast))
    judgement = verdict(stack, same_block(170, flushes={"sda": 1, "sdb": 1}), o_direct(9000, device="sda"))
    assert finding(judgement, RULE).title == "170/s, 10\xa0000 rpm allows 167/s"
    assert "odirect-no-cache" not in rules(judgement)  # one of them has a cache
    assert "odirect-before-platter" in rules(judgement)


def test_assumed_speed_is_mentioned() -> None:
    unknown, known = disk(rotational=True, readings=readings(grade="hard disk")), disk("sdb", medium=READ)
    found = finding(verdict(on_array(unknown, known), same_block(200, flushes={"sda": 1, "sdb": 1})), RULE)
    assert (found.verdict, found.confidence) == ("consistent", "low")
    assert "at most 15\xa0000 rpm" in found.sentence


@pytest.mark.parametrize(
    "changes",
    [{"writers": 16}, {"status": "disturbed"}, {"ops": 19}, {"ops_per_s": 5.0},
     {"sync_every": 10}, {"prefill": "none"}, {"sync": "none"}],
    ids=["group commit", "disturbed", "too few", "paced", "sync every 10", "unwritten", "no sync"],
)  # fmt: skip
def test_step_that_does_more_than_rewrite_is_not_compared(changes: dict[str, Any]) -> None:
    settings: dict[str, Any] = {"offsets": "same", "rate": 900.0, "ops": 900, **changes}
    assert RULE not in rules(verdict(SPINNING, step(**settings)))


def test_mean_is_reported_if_few_operations_take_the_time() -> None:
    throttled = latency(245_000, 20_000_000)
    found = finding(verdict(SPINNING, same_block(50, changes={"latency_ns": throttled})), RULE)
    assert "20.0 ms each on average" in found.evidence[0]
