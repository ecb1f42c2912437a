"""A bridge that says "write through"."""

from __future__ import annotations

from fstui.model.storage import Medium
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import own_time, step
from tests.factories.storage import disk, filesystem, on_disk, readings

BRIDGED = on_disk(
    filesystem(),
    disk(link="usb", write_cache="write through", readings=readings(usb_bridge="152d:0578 JMicron"), fua=False),
)


def test_a_bridge_that_says_write_through_cannot_be_believed_or_doubted() -> None:
    judgement = verdict(BRIDGED, step(flushes=0))
    found = finding(judgement, "usb-bridge")
    assert (judgement.verdict, found.confidence) == ("cannot-tell", "medium")
    assert "sda usb_bridge: 152d:0578 JMicron (/read/usb_bridge)" in found.because


def test_one_that_passes_the_cache_on_is_judged_by_its_flushes() -> None:
    judgement = verdict(on_disk(filesystem(), disk(link="usb")), step())
    assert rules(judgement) == {"flushes-arrive"}


def test_a_sata_disk_that_says_so_is_left_alone() -> None:
    assert "usb-bridge" not in rules(verdict(on_disk(filesystem(), disk(write_cache="write through"))))


def test_barriers_off_above_it_are_not_made_plausible_by_its_word() -> None:
    bridged = on_disk(filesystem(barrier="nobarrier"), *BRIDGED.lowest)
    assert verdict(bridged).verdict == "cannot-tell"


def test_a_declared_platter_that_turns_slowly_enough_answers_for_itself() -> None:
    declared = disk(link="usb", write_cache="write through", medium=Medium(class_="hdd-7200", declared=True))
    same = own_time(step("same", offsets="same", rate=118, ops=118, flushes=0), 8)
    judgement = verdict(on_disk(filesystem(), declared), same)
    assert (judgement.verdict, "usb-bridge" in rules(judgement)) == ("consistent", False)


def test_where_the_drive_says_that_its_cache_is_on_another_rule_speaks() -> None:
    drive = disk(link="usb", write_cache="write through", readings=readings(drive_cache="on"))
    judgement = verdict(on_disk(filesystem(), drive))
    assert judgement.verdict == "not-durable"
    assert "usb-bridge" not in rules(judgement)
