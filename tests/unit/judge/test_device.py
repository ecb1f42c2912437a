"""Rules 7, 8 and 12."""

from __future__ import annotations

from typing import Any

import pytest

from fstui.model import Medium, Node, Target
from tests.unit.judge.evidence import (
    GUEST,
    block,
    disk,
    filesystem,
    finding,
    on_disk,
    readings,
    rules,
    step,
    target,
    verdict,
)
from tests.unit.judge.timing import flushed, forced, latency, timed, write


def virtio(flush: str = "no", config_wce: str = "no", **changes: Any) -> Target:
    told = readings(F_FLUSH=flush, CONFIG_WCE=config_wce)
    given = {"link": "virtio", "write_cache": "write through", "readings": told, **changes}
    return on_disk(filesystem(below=("vda",)), disk("vda", **given))


class TestVirtioNoFlush:
    @pytest.mark.parametrize(("us", "verdict_"), [(59, "suspicious"), (60, "cannot-tell"), (2000, "cannot-tell")])
    def test_only_a_write_that_memory_alone_can_answer_is_suspicious(self, us: float, verdict_: str) -> None:
        judgement = verdict(virtio(), write(us, device="vda"), host=GUEST)
        found = finding(judgement, "virtio-no-flush")
        assert (found.verdict, judgement.verdict) == (verdict_, verdict_)
        assert "vda F_FLUSH: no (/read/F_FLUSH)" in found.because

    def test_before_a_run_it_cannot_tell(self) -> None:
        found = finding(verdict(virtio(), host=GUEST), "virtio-no-flush")
        assert (found.verdict, found.confidence, found.steps) == ("cannot-tell", "low", ())

    def test_a_host_that_could_have_offered_a_cache_is_plausible(self) -> None:
        found = finding(verdict(virtio("yes", "yes"), host=GUEST), "virtio-no-flush")
        assert (found.verdict, found.confidence) == ("plausible", "low")

    @pytest.mark.parametrize(
        "where",
        [virtio("yes", "no"), virtio(write_cache="write back"), virtio(link="nvme"), virtio(readings=())],
        ids=["flush offered", "write back", "not virtio", "features not read"],
    )
    def test_anything_else_is_left_alone(self, where: Target) -> None:
        assert "virtio-no-flush" not in rules(verdict(where, write(20, device="vda"), host=GUEST))

    def test_a_few_slow_writes_that_carry_the_time_are_not_called_fast(self) -> None:
        throttled = timed("O_DIRECT", 30, mean_us=2000, sync="none", open_flags=("direct",), flushes=0, device="vda")
        assert finding(verdict(virtio(), throttled, host=GUEST), "virtio-no-flush").verdict == "cannot-tell"

    def test_a_write_that_met_only_the_page_cache_is_no_time_of_the_disk(self) -> None:
        buffered = write(2, device="vda", share=0.0)
        assert finding(verdict(virtio(), buffered, host=GUEST), "virtio-no-flush").verdict == "cannot-tell"

    def test_a_declared_platter_that_turns_slowly_enough_answers_for_itself(self) -> None:
        where = virtio(medium=Medium(class_="hdd-7200", declared=True))
        same = step("same", offsets="same", rate=118, ops=118, flushes=0, device="vda")
        judgement = verdict(where, same, host=GUEST)
        assert "virtio-no-flush" not in rules(judgement)
        assert judgement.verdict == "consistent"


class TestUsbBridge:
    BRIDGED = on_disk(
        filesystem(),
        disk(link="usb", write_cache="write through", readings=readings(usb_bridge="152d:0578 JMicron"), fua=False),
    )

    def test_a_bridge_that_says_write_through_cannot_be_believed_or_doubted(self) -> None:
        judgement = verdict(self.BRIDGED, step(flushes=0))
        found = finding(judgement, "usb-bridge")
        assert (judgement.verdict, found.confidence) == ("cannot-tell", "medium")
        assert "sda usb_bridge: 152d:0578 JMicron (/read/usb_bridge)" in found.because

    def test_one_that_passes_the_cache_on_is_judged_by_its_flushes(self) -> None:
        judgement = verdict(on_disk(filesystem(), disk(link="usb")), step())
        assert rules(judgement) == {"flushes-arrive"}

    def test_a_sata_disk_that_says_so_is_left_alone(self) -> None:
        assert "usb-bridge" not in rules(verdict(on_disk(filesystem(), disk(write_cache="write through"))))

    def test_barriers_off_above_it_are_not_made_plausible_by_its_word(self) -> None:
        bridged = on_disk(filesystem(barrier="nobarrier"), *self.BRIDGED.lowest)
        assert verdict(bridged).verdict == "cannot-tell"

    def test_where_the_drive_says_that_its_cache_is_on_another_rule_speaks(self) -> None:
        drive = disk(link="usb", write_cache="write through", readings=readings(drive_cache="on"))
        judgement = verdict(on_disk(filesystem(), drive))
        assert judgement.verdict == "not-durable"
        assert "usb-bridge" not in rules(judgement)


class TestFuaIgnored:
    DRIVE = on_disk(filesystem(), disk(fua=True))

    def test_the_published_case(self) -> None:
        steps = write(1e6 / 94_385), forced(1e6 / 91_375), flushed(1e6 / 2_767)
        judgement = verdict(self.DRIVE, *steps)
        found = finding(judgement, "fua-ignored")
        assert (judgement.verdict, found.confidence) == ("suspicious", "medium")
        assert "33.0 × as long" in judgement.sentence
        assert found.steps == ("O_DIRECT", "O_DIRECT+O_DSYNC", "fdatasync")

    @pytest.mark.parametrize(
        ("tw", "td", "ts", "hit"),
        [(10, 14, 71, True), (10, 14, 70, False), (10, 15, 200, False), (20, 400, 90, False), (15, 16, 18, False)],
        ids=["hit", "flush not dear enough", "forced costs more", "the reverse is normal", "protected: all cheap"],
    )
    def test_its_boundaries(self, tw: float, td: float, ts: float, hit: bool) -> None:
        judgement = verdict(self.DRIVE, write(tw), forced(td), flushed(ts))
        assert ("fua-ignored" in rules(judgement)) is hit

    @pytest.mark.parametrize(
        "device",
        [
            disk(fua=False),
            disk(fua=True, write_cache="write through"),
            disk(fua=True, medium=Medium(class_="ssd-plp", write_cache="plp")),
            disk(fua=True, medium=Medium(class_="raid-cache")),
        ],
        ids=["no FUA", "write through", "protected", "controller"],
    )
    def test_a_device_that_may_answer_so_is_left_alone(self, device: Node) -> None:
        steps = write(10), forced(11, flushes=1), flushed(400)
        assert "fua-ignored" not in rules(verdict(on_disk(filesystem(), device), *steps))

    def test_md_always_claims_fua_so_only_the_lowest_devices_count(self) -> None:
        claims = block("md0", "md", "sda", fua=True, write_cache="write back", readings=readings(level="linear"))
        stack = target(filesystem(below=("md0",)), claims, disk(fua=False))
        assert "fua-ignored" not in rules(verdict(stack, write(10), forced(11, flushes=1), flushed(400)))

    def test_a_neighbour_that_slowed_one_of_two_flushed_steps_makes_no_case(self) -> None:
        quick = timed("O_DIRECT+fdatasync", 60, open_flags=("direct",))
        assert "fua-ignored" not in rules(verdict(self.DRIVE, write(10), forced(12), flushed(400), quick))

    def test_a_log_that_grows_is_no_measure_of_a_flush(self) -> None:
        growing = flushed(400, offsets="append", prefill="none")
        assert "fua-ignored" not in rules(verdict(self.DRIVE, write(10), forced(11), growing))

    def test_the_write_part_of_a_flushed_step_stands_in_for_a_write_alone(self) -> None:
        parts = {"write_ns": latency(10_000), "sync_ns": latency(390_000)}
        both = timed("O_DIRECT+fdatasync", 400, open_flags=("direct",), changes=parts)
        found = finding(verdict(self.DRIVE, forced(11), both), "fua-ignored")
        assert "O_DIRECT+fdatasync, its write: 10.0 µs" in found.because

    def test_a_write_that_the_mount_syncs_is_forced_itself_and_stands_in_for_none(self) -> None:
        parts = {"write_ns": latency(10_000), "sync_ns": latency(390_000)}
        both = timed("O_DIRECT+fdatasync", 400, open_flags=("direct",), changes=parts)
        drive = on_disk(filesystem(sync_option="sync"), disk(fua=True))
        assert "fua-ignored" not in rules(verdict(drive, forced(11), both))
