"""Caches that may survive a power cut."""

from typing import Any

import pytest

from fstui.model.storage import Medium, Target
from tests.factories.evidence import GUEST, finding, rules, verdict
from tests.factories.steps import flushed, write
from tests.factories.storage import filesystem, on_array, on_disk, on_pool, readings
from tests.judge.rules.device.drives import NAND, OPTANE, PLP, drive, over_cache


@pytest.mark.parametrize(
    ("medium", "confidence", "kind"),
    [
        (PLP, "high", "a power-loss-protected drive"),
        (OPTANE, "high", "Optane"),
        (Medium(class_="ssd-plp", declared=True), "medium", "a power-loss-protected drive"),
    ],
)
def test_cheap_flush_on_a_protected_drive_is_plausible(medium: Medium, confidence: str, kind: str) -> None:
    judgement = verdict(on_disk(filesystem(), drive(medium)), write(20), flushed(40))
    assert (judgement.verdict, judgement.confidence) == ("plausible", confidence)
    assert finding(judgement, "protected-cache").title == f"a sync adds 20.0 µs, on {kind}"


def test_optane_has_no_capacitor_to_check() -> None:
    optane, protected = (verdict(on_disk(filesystem(), drive(one)), write(20), flushed(40)) for one in (OPTANE, PLP))
    said = [" ".join((one.sentence, *finding(one, "protected-cache").next)) for one in (optane, protected)]
    assert [("capacitor" in words, "no volatile cache" in words) for words in said] == [(False, True), (True, False)]


def test_controller_has_a_battery_and_no_capacitor() -> None:
    volume = drive(Medium(class_="raid-cache", write_cache="plp", declared=True))
    advice = finding(verdict(on_disk(filesystem(), volume), write(20), flushed(40)), "protected-cache").next
    assert "the controller's battery" in advice[0] and "smartctl" not in " ".join(advice)


def test_protected_drive_in_a_guest_has_low_confidence() -> None:
    judgement = verdict(on_disk(filesystem(), drive(PLP)), write(20), flushed(40), host=GUEST)
    assert (judgement.verdict, judgement.confidence) == ("plausible", "low")
    assert "fstui cannot see what the host does with data for sda." in judgement.sentence


@pytest.mark.parametrize(
    ("where", "written", "synced"),
    [
        (on_disk(filesystem(), drive(PLP, counted=False)), None, None),
        (on_disk(filesystem("btrfs", compress="zstd"), drive(PLP)), 1.0, 2.0),
        (on_disk(filesystem(), drive(PLP)), 1.0, 0.5),
    ],
    ids=["not counted", "may have been compressed", "some are missing"],
)
def test_bytes_that_may_be_missing_give_low_confidence(
    where: Target, written: float | None, synced: float | None
) -> None:
    found = finding(verdict(where, write(20, share=written), flushed(40, share=synced)), "protected-cache")
    assert (found.verdict, found.confidence) == ("plausible", "low")


def test_disk_behind_a_protected_log_must_be_observed_too() -> None:
    stack = on_pool(drive(PLP, readings=readings(role="slog")), drive(NAND, "sdb"))
    judgement = verdict(stack, write(20, flushes=0), flushed(40))
    found = finding(judgement, "protected-cache")
    assert (found.verdict, found.confidence) == ("plausible", "low")
    assert found.sentence.endswith("Nothing in this run shows that flushes have an effect on sdb.")


@pytest.mark.parametrize(
    ("tw", "ts", "hit"), [(20, 59, True), (20, 60, False), (5, 9.9, False)], ids=["cheap", "dear", "101\xa0010/s"]
)
def test_cheap_flush_boundaries(tw: float, ts: float, hit: bool) -> None:
    judgement = verdict(on_disk(filesystem(), drive(PLP)), write(tw), flushed(ts))
    assert ("protected-cache" in rules(judgement)) is hit


def test_one_unprotected_mirror_member_prevents_the_rule() -> None:
    neither, both = ({"flushes": {"sda": each, "sdb": each}} for each in (0, 1))
    judgement = verdict(on_array(drive(PLP), drive(NAND, "sdb")), write(20, **neither), flushed(40, **both))
    assert "protected-cache" not in rules(judgement)


@pytest.mark.parametrize(
    ("kind", "mode", "hit"),
    [
        ("bcache", "writeback", True),
        ("bcache", "writethrough", False),
        ("dm-cache", "writeback", True),
        ("dm-cache", None, False),
        ("dm-writecache", None, True),
    ],
)
def test_write_back_cache_is_judged_by_its_fast_device(kind: str, mode: str | None, hit: bool) -> None:
    stack = over_cache(kind, mode, PLP, NAND)
    shares: dict[str, Any] = {"share": {"sda": 1.0, "sdb": 0.0}}
    steps = (write(20, flushes={"sda": 0, "sdb": 0}, **shares), flushed(40, flushes={"sda": 1, "sdb": 0}, **shares))
    assert ("protected-cache" in rules(verdict(stack, *steps))) is hit
