"""Rule 11, its two O_DIRECT companions, and rule 19, which is kept by saying nothing."""

from __future__ import annotations

from typing import Any

import pytest

from fstui.model import Host, Latency, Medium, Node, Target
from tests.unit.judge.evidence import (
    GUEST,
    METAL,
    block,
    busy,
    disk,
    filesystem,
    finding,
    loop,
    on_disk,
    on_loop,
    readings,
    rules,
    step,
    target,
    verdict,
)

READ = Medium(class_="hdd-7200", rpm=7200, because="it states 7200 rpm")
DECLARED = Medium(class_="hdd-7200", declared=True)
NO_CACHE = Medium(class_="hdd-7200", write_cache="none", declared=True)
SPINNING = on_disk(filesystem(), disk(medium=READ))


def declared(medium: Medium = DECLARED) -> Target:
    return on_disk(filesystem(below=("vda",)), disk("vda", link="virtio", rotational=True, medium=medium))


def same_block(rate: float, **changes: Any) -> Any:
    return step("same block, fdatasync", offsets="same", rate=rate, ops=int(rate), **{"device": "sda", **changes})


def o_direct(rate: float, **changes: Any) -> Any:
    wanted: dict[str, Any] = {"flushes": 0, "sync": "none", "open_flags": ("direct",), "device": "vda"}
    return step("O_DIRECT", rate=rate, ops=int(rate), **(wanted | changes))


class TestSameBlockRotation:
    @pytest.mark.parametrize(
        ("rate", "verdict_", "confidence"),
        [
            (60, "consistent", "medium"),
            (132, "consistent", "medium"),
            (133, "consistent", "low"),
            (180, "consistent", "low"),
            (181, "suspicious", "medium"),
            (600, "suspicious", "medium"),
            (601, "suspicious", "high"),
        ],
    )
    def test_its_boundaries_at_7200_rpm(self, rate: float, verdict_: str, confidence: str) -> None:
        found = finding(verdict(SPINNING, same_block(rate)), "same-block-rotation")
        assert (found.verdict, found.confidence, found.scope) == (verdict_, confidence, "storage")

    def test_far_beyond_without_the_flushes_is_only_medium(self) -> None:
        uncounted = on_disk(filesystem(), disk(medium=READ, counted=False))
        found = finding(verdict(uncounted, same_block(812)), "same-block-rotation")
        assert (found.verdict, found.confidence) == ("suspicious", "medium")

    def test_its_words(self) -> None:
        judgement = verdict(declared(NO_CACHE), same_block(812, device="vda"), host=Host(virtualization="oracle"))
        found = finding(judgement, "same-block-rotation")
        assert judgement.verdict == "suspicious"
        assert found.title == "812/s, 7200 rpm allows 120"
        assert "One 16 KiB block was rewritten and synced 812 times a second" in judgement.sentence
        assert "6.8 × what it can do" in judgement.sentence
        assert "Each sync reached vda as a flush (1.00)" in judgement.sentence
        assert "vda medium, write cache: hdd-7200, none: declared by you" in found.because
        assert found.next[0] == "VirtualBox: set IgnoreFlush to 0 for this disk, then run again."

    def test_a_consistent_one_knows_its_ceiling(self) -> None:
        judgement = verdict(SPINNING, same_block(118))
        assert finding(judgement, "same-block-rotation").sentence.endswith("only a power cut proves more.")
        assert judgement.verdict == "consistent"

    def test_in_a_guest_consistent_is_low(self) -> None:
        judgement = verdict(declared(), same_block(100, device="vda"), host=GUEST)
        assert finding(judgement, "same-block-rotation").confidence == "low"

    def test_a_virtual_disk_that_says_it_rotates_is_left_alone(self) -> None:
        virtual = on_disk(filesystem(below=("vda",)), disk("vda", link="virtio", rotational=True))
        for host in (METAL, GUEST):
            assert "same-block-rotation" not in rules(verdict(virtual, same_block(9000, device="vda"), host=host))

    @pytest.mark.parametrize(
        ("changes", "judged"),
        [
            ({"link": "sata"}, True),
            ({"link": "sas"}, True),
            ({"link": "usb"}, False),
            ({"link": None}, False),
            ({"link": "sata", "model": "VBOX HARDDISK"}, False),
            ({"link": "sata", "rotational": False}, False),
            ({"link": "sata", "medium": Medium(class_="raid-cache")}, False),
        ],
    )
    def test_a_real_disk_of_unknown_speed_is_taken_for_the_fastest(self, changes: dict[str, Any], judged: bool) -> None:
        where = on_disk(filesystem(), disk(**{"rotational": True, **changes}))
        judgement = verdict(where, same_block(400))
        assert ("same-block-rotation" in rules(judgement)) is judged
        if judged:
            found = finding(judgement, "same-block-rotation")
            assert (found.verdict, found.confidence) == ("suspicious", "medium")
            assert any("15000 rpm assumed" in line for line in found.because)

    @pytest.mark.parametrize(
        "top",
        [
            filesystem("btrfs"),
            filesystem("zfs"),
            filesystem("f2fs"),
            filesystem("nilfs2"),
            filesystem("bcachefs"),
            filesystem(data="journal"),
        ],
        ids=lambda node: node.kind,
    )
    def test_a_filesystem_that_does_not_write_in_place_is_left_alone(self, top: Node) -> None:
        assert "same-block-rotation" not in rules(verdict(on_disk(top, disk(medium=READ)), same_block(900, flushes=3)))

    @pytest.mark.parametrize("kind", ["bcache", "dm-cache", "dm-writecache", "dm"])
    def test_a_cache_between_answers_in_the_platters_place(self, kind: str) -> None:
        stack = target(filesystem(below=("top",)), block("top", kind, "sda"), disk(medium=READ))
        assert "same-block-rotation" not in rules(verdict(stack, same_block(900)))

    def test_a_protected_or_zoned_drive_is_left_alone(self) -> None:
        protected = disk(medium=Medium(class_="hdd-7200", write_cache="plp", declared=True))
        zoned = disk(medium=READ, readings=readings(zoned="host-aware"))
        for drive in (protected, zoned):
            assert "same-block-rotation" not in rules(verdict(on_disk(filesystem(), drive), same_block(900)))

    def test_through_lvm_on_luks_it_is_still_the_platter(self) -> None:
        stack = target(
            filesystem(below=("dm-1",)),
            block("dm-1", "dm-linear", "dm-0"),
            block("dm-0", "dm-crypt", "sda"),
            disk(medium=READ),
        )
        assert finding(verdict(stack, same_block(900)), "same-block-rotation").verdict == "suspicious"

    def test_the_fastest_of_several_platters_sets_the_limit(self) -> None:
        slow, fast = Medium(class_="hdd-5400", write_cache="none"), Medium(class_="hdd-10000", write_cache="volatile")
        stack = target(
            filesystem(below=("md0",)), block("md0", "md", "sda", "sdb"), disk(medium=slow), disk("sdb", medium=fast)
        )
        judgement = verdict(stack, same_block(170, flushes={"sda": 1, "sdb": 1}), o_direct(9000, device="sda"))
        assert finding(judgement, "same-block-rotation").title == "170/s, 10000 rpm allows 167"
        assert "odirect-no-cache" not in rules(judgement)  # one of them has a cache
        assert "odirect-before-platter" in rules(judgement)

    def test_an_assumed_speed_is_said_to_be_one(self) -> None:
        unknown, known = disk(rotational=True), disk("sdb", medium=READ)
        mixed = target(filesystem(below=("md0",)), block("md0", "md", "sda", "sdb"), unknown, known)
        found = finding(verdict(mixed, same_block(200, flushes={"sda": 1, "sdb": 1})), "same-block-rotation")
        assert (found.verdict, found.confidence) == ("consistent", "low")
        assert "at most 15000 rpm" in found.sentence

    def test_one_lowest_device_that_does_not_turn_leaves_it_open(self) -> None:
        stack = target(filesystem(below=("md0",)), block("md0", "md", "sda", "sdb"), disk(medium=READ), disk("sdb"))
        assert "same-block-rotation" not in rules(verdict(stack, same_block(900, flushes={"sda": 1, "sdb": 1})))

    @pytest.mark.parametrize(
        "changes",
        [{"offsets": "random"}, {"writers": 16}, {"status": "disturbed"}, {"ops": 19}, {"ops_per_s": 5.0},
         {"sync_every": 10}, {"prefill": "none"}, {"sync": "none"}],
        ids=["random", "group commit", "disturbed", "too few", "paced", "sync every 10", "unwritten", "no sync"],
    )  # fmt: skip
    def test_a_step_that_is_no_bare_rewrite_of_one_block_is_left_alone(self, changes: dict[str, Any]) -> None:
        settings: dict[str, Any] = {"offsets": "same", "rate": 900.0, "ops": 900, **changes}
        assert "same-block-rotation" not in rules(verdict(SPINNING, step(**settings)))

    def test_group_commit_beside_an_honest_single_writer(self) -> None:
        many = step("16 writers", offsets="same", rate=1500, writers=16, flushes=0.1, share=0.51)
        judgement = verdict(SPINNING, same_block(118), many)
        assert judgement.verdict == "consistent"
        assert not any("16 writers" in found.steps for found in judgement.findings)

    def test_where_few_operations_carry_the_time_the_mean_speaks(self) -> None:
        throttled = Latency(min=200_000, mean=20_000_000, p50=245_000, p90=1, p95=1, p99=None, p99_9=None, max=1)
        found = finding(verdict(SPINNING, same_block(50, changes={"latency_ns": throttled})), "same-block-rotation")
        assert "20.0 ms each on average" in found.because[0]

    def test_missing_flushes_are_told_by_their_own_rule(self) -> None:
        judgement = verdict(SPINNING, same_block(9000, flushes=0))
        assert judgement.verdict == "not-durable"
        assert finding(judgement, "same-block-rotation").confidence == "medium"


class TestODirect:
    def test_of_story_one_with_the_medium_alone(self) -> None:
        judgement = verdict(declared(), o_direct(565), host=GUEST)
        found = finding(judgement, "odirect-before-platter")
        assert (found.verdict, found.scope, found.steps) == ("not-durable", "step", ("O_DIRECT",))
        assert "565 times a second" in found.sentence
        assert "half a turn each" in found.sentence
        assert "odirect-no-cache" not in rules(judgement)
        assert judgement.verdict == "cannot-tell"  # a step's fault is no verdict on the disk

    def test_of_story_one_without_a_write_cache(self) -> None:
        judgement = verdict(declared(NO_CACHE), o_direct(565), host=GUEST)
        found = finding(judgement, "odirect-no-cache")
        assert (found.verdict, found.confidence, found.scope) == ("suspicious", "medium", "storage")
        assert judgement.verdict == "suspicious"

    @pytest.mark.parametrize(
        ("offsets", "rate", "confidence"),
        [("same", 180, None), ("same", 181, "medium"), ("same", 600, "medium"), ("same", 601, "high"),
         ("random", 360, None), ("random", 361, "medium"), ("random", 1200, "medium"), ("random", 1201, "high")],
    )  # fmt: skip
    def test_its_boundaries_allow_random_offsets_half_a_turn(
        self, offsets: str, rate: float, confidence: str | None
    ) -> None:
        judgement = verdict(declared(NO_CACHE), o_direct(rate, offsets=offsets))
        found = [found.confidence for found in judgement.findings if found.rule == "odirect-no-cache"]
        assert found == ([confidence] if confidence else [])

    def test_says_its_ratio_to_the_synced_rate(self) -> None:
        synced = step("O_DIRECT+O_DSYNC", device="vda", rate=100, sync="none", open_flags=("direct", "dsync"))
        found = finding(
            verdict(declared(), step(device="vda", rate=90), synced, o_direct(560)), "odirect-before-platter"
        )
        assert "5.6 × the rate of O_DIRECT+O_DSYNC, 100/s" in found.sentence

    def test_a_slow_one_is_only_not_durable_by_itself(self) -> None:
        assert rules(verdict(declared(NO_CACHE), o_direct(110))) == {"odirect-alone"}

    def test_one_that_only_met_the_page_cache_is_not_held_against_the_disk(self) -> None:
        buffered = on_loop(device=loop(dio="0"), below=disk(medium=NO_CACHE))
        direct = o_direct(78_000, flushes={"loop0": 0, "sda": 0}, share={"loop0": 1, "sda": 0})
        assert not rules(verdict(buffered, direct)) & {"odirect-before-platter", "odirect-no-cache"}

    def test_one_with_a_flush_for_each_write_is_synced_out_of_sight_and_not_said_to_lack_it(self) -> None:
        found = rules(verdict(declared(NO_CACHE), o_direct(9000, flushes=1)))
        assert not found & {"odirect-before-platter", "odirect-alone"}
        assert "odirect-no-cache" in found

    def test_a_neighbours_flushes_do_not_excuse_it(self) -> None:
        direct = o_direct(400, flushes=0.95)
        assert "odirect-before-platter" in rules(verdict(declared(), direct, idle=busy("vda", 380)))

    def test_a_sequential_one_needs_no_turn_for_each_block(self) -> None:
        assert rules(verdict(declared(NO_CACHE), o_direct(9000, offsets="sequential"))) == {"odirect-alone"}

    def test_on_an_unknown_medium_it_is_expected(self) -> None:
        assert rules(verdict(on_disk(), o_direct(20_000, device="sda"))) == {"odirect-alone"}

    def test_with_a_sync_it_is_another_step(self) -> None:
        synced = step("O_DIRECT+O_DSYNC", device="vda", rate=900, sync="none", open_flags=("direct", "dsync"))
        assert not rules(verdict(declared(NO_CACHE), synced)) & {"odirect-before-platter", "odirect-no-cache"}
