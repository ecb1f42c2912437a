"""Flush times compared with the amount of unsynced data."""

from typing import Any

import pytest

from fstui.model.host import Host
from fstui.model.settings import UnknownFigures
from fstui.model.steps import Step
from fstui.model.storage import Medium, Target
from tests.factories.evidence import GUEST, METAL, busy, finding, rules, verdict
from tests.factories.growth import FLAT_US, GROWN_US, flushes
from tests.factories.steps import flushed, own_time, step, write
from tests.factories.storage import disk, filesystem, loop, on_array, on_disk, on_loop, readings

GUEST_DISK = on_disk(filesystem(below=("vda",)), disk("vda", link="virtio", rotational=True))


def measured(*extra: Step, tw: float = 90, ts: float = 200, **changes: Any) -> tuple[Step, ...]:
    device = {"device": "vda", **changes}
    return (write(tw, **{**device, "flushes": 0}), flushed(ts, **device), *extra)


def in_guest(*steps: Step, where: Target = GUEST_DISK, **fields: Any) -> Any:
    return verdict(where, *steps, **{"host": GUEST, **fields})


def test_flat_flush_in_a_guest_is_a_note_with_its_next_step() -> None:
    """The better the host's disk is, the flatter are its flushes."""
    judgement = in_guest(*measured(flushes()))
    assert (judgement.verdict, judgement.confidence) == ("consistent", "low")
    found = finding(judgement, "flush-cost")
    assert found.verdict is None and found.next
    assert "A host that ignores flushes looks the same." in found.sentence
    assert "121 µs with 1.0 MiB, 118 µs with 32.0 MiB" in found.sentence


BOTH = {"flushes": {"loop0": 1, "sda": 1}, "share": {"loop0": 1, "sda": 1}}
CACHED_US = (80, 2000, 8000, 25000, 48000)
"""As of a cache above the device."""
NOT_ITS_OWN = "the extra time with unsynced data is not spent in the device"
SYNC_MOUNT = on_disk(filesystem(below=("vda",), sync_option="sync"), GUEST_DISK.stack[1])
THROUGH = on_disk(filesystem(below=("vda",)), disk("vda", link="virtio", write_cache="write through"))
TMPFS = on_disk(filesystem("tmpfs", below=()), disk(readings=readings()))


@pytest.mark.parametrize(
    ("where", "steps", "fields"),
    [
        (GUEST_DISK, measured(flushes()), {"host": METAL}),
        (GUEST_DISK, measured(flushes(), ts=270), {}),
        (GUEST_DISK, measured(), {}),
        (GUEST_DISK, measured(flushes((117, 118))), {}),
        (GUEST_DISK, measured(flushes(GROWN_US), ts=200), {"idle": busy("vda", 900)}),
        (GUEST_DISK, measured(flushes(GROWN_US), ts=400), {"idle": busy("vda", 900)}),
        (on_loop(device=loop(dio="0")), (flushed(200, **BOTH), flushes(CACHED_US, 0.0)), {"host": METAL}),
        (GUEST_DISK, measured(flushes(GROWN_US, status="failed")), {}),
        (GUEST_DISK, measured(flushes(GROWN_US, status="disturbed")), {}),
        (GUEST_DISK, measured(flushes(GROWN_US, figures=None)), {}),
        (GUEST_DISK, measured(flushes(GROWN_US, figures=UnknownFigures(sequential="x"))), {}),
        (SYNC_MOUNT, measured(flushes(FLAT_US), flushes=2), {}),
        (SYNC_MOUNT, measured(flushes(GROWN_US), flushes=2), {}),
        (TMPFS, measured(flushes(GROWN_US)), {"host": METAL}),
        (THROUGH, measured(flushes(), flushes=0), {}),
    ],
    ids=[
        *("flat on real hardware", "an expensive flush", "no amounts", "two amounts", "cheap, other writers"),
        *("expensive, other writers", "page cache of a loop", "failed", "disturbed", "no figures", "other figures"),
        *("sync mount, flat", "sync mount, grown", "tmpfs", "write through"),
    ],
)
def test_cost_that_shows_nothing_has_no_note(where: Target, steps: tuple[Step, ...], fields: dict[str, Any]) -> None:
    assert "flush-cost" not in rules(in_guest(*steps, where=where, **fields))


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        pytest.param(measured(flushes(), ts=269), "", id="a flush of up to three times a write is cheap"),
        pytest.param(measured(flushes((175, 328, 333, 216, 308))), "333 µs with", id="noisy host"),
        pytest.param(measured(flushes((996, 226, 186, 191, 477))), "", id="noise before anything is written"),
        pytest.param(measured(flushes((9_000, 40_000, 39_000, 30_000, 41_000), own=None)), "40.0 ms with", id="slow"),
        pytest.param(measured(flushes(CACHED_US, arrived=0.0)), NOT_ITS_OWN, id="a cache above the device"),
        pytest.param(measured(flushes(GROWN_US, own={"vda": 0.0})), NOT_ITS_OWN, id="the device did nothing"),
        pytest.param(measured(flushes(GROWN_US, own={"vda": 0.2})), NOT_ITS_OWN, id="the device did little"),
        pytest.param(measured(flushes(GROWN_US, own={})), NOT_ITS_OWN, id="the device counts no time"),
    ],
)
def test_cost_without_growth_of_the_device_is_a_note(steps: tuple[Step, ...], words: str) -> None:
    found = finding(in_guest(*steps), "flush-cost")
    assert found.verdict is None and words in found.sentence


def test_declared_platter_that_takes_its_time_is_consistent() -> None:
    declared = Medium(class_="hdd-7200", write_cache="none", declared=True)
    platter = on_disk(filesystem(below=("vda",)), disk("vda", link="virtio", medium=declared))
    same = own_time(step("same", offsets="same", rate=118, ops=118, device="vda"), 8)
    judgement = in_guest(*measured(flushes(), same, tw=8400, ts=8500), where=platter)
    assert "flush-cost" not in rules(judgement)
    assert judgement.verdict == "consistent"


def test_declared_protected_cache_is_plausible() -> None:
    declared = Medium(class_="ssd-plp", write_cache="plp", declared=True)
    known = on_disk(filesystem(below=("vda",)), disk("vda", link="virtio", medium=declared))
    judgement = in_guest(*measured(flushes()), where=known)
    assert (judgement.verdict, judgement.confidence) == ("plausible", "low")
    assert "flush-cost" not in rules(judgement)


@pytest.mark.parametrize(("host", "confidence"), [(GUEST, "low"), (METAL, "medium")])
def test_growing_flush_is_consistent_and_low_in_a_guest(host: Host, confidence: str) -> None:
    own = flushes(GROWN_US, own={"sda": 1.0})
    judgement = verdict(on_disk(), write(90), flushed(400), own, host=host)
    found = finding(judgement, "flush-cost")
    assert (found.verdict, found.confidence) == ("consistent", confidence)
    assert (judgement.verdict, judgement.confidence) == ("consistent", confidence)
    assert "MiB adds 394 µs" in found.title
    assert "only a power cut proves more." in found.sentence
    assert ("fstui cannot see what the host does with data for sda" in found.sentence) is (host is GUEST)


@pytest.mark.parametrize(
    ("own", "confidence"),
    [
        ({"sda": 1.0, "sdb": 1.0}, "medium"),
        ({"sda": 0.5, "sdb": 1.0}, "medium"),
        ({"sda": 0.0, "sdb": 1.0}, "low"),
        ({"sda": 0.2, "sdb": 1.0}, "low"),
        ({"sdb": 1.0}, "low"),
        (None, "low"),
    ],
    ids=["both", "one is faster", "one does nothing", "one does little", "one gets no flush", "not counted"],
)
def test_each_lowest_device_has_to_take_longer(own: dict[str, float] | None, confidence: str) -> None:
    both: dict[str, Any] = {"flushes": {"sda": 1, "sdb": 1}}
    grown = flushes(GROWN_US, own=own)
    found = finding(verdict(on_array(disk(), disk("sdb")), flushed(400, **both), grown, host=METAL), "flush-cost")
    assert (found.verdict, found.confidence) == ("consistent", confidence)
    assert ("sdb 12 ms" in found.evidence[0]) is (own is not None)
    assert ("flushes have an effect on sda" in found.sentence) is (confidence == "low")
    seen = "sda and sdb" if own is None or confidence == "medium" else "sdb"
    assert f"A flush at {seen} takes longer" in found.sentence


def test_growth_that_no_device_counted_is_low() -> None:
    protected = on_disk(filesystem(), disk(medium=Medium(class_="ssd-plp", write_cache="plp")))
    found = finding(verdict(protected, flushed(400), flushes(GROWN_US, own=None), host=METAL), "flush-cost")
    assert (found.verdict, found.confidence) == ("consistent", "low")


@pytest.mark.parametrize(("extra_us", "hit"), [(3356, True), (3355, False)])
def test_growth_faster_than_10_gb_per_s_does_not_count(extra_us: float, hit: bool) -> None:
    us = (100, 110, 200, 2000, 100 + extra_us)
    judgement = in_guest(*measured(flushes(us), ts=400))
    assert ("flush-cost" in rules(judgement)) is hit


def test_three_amounts_are_enough() -> None:
    judgement = in_guest(*measured(flushes((9000, 40000, 130000)), ts=9000, tw=100))
    assert finding(judgement, "flush-cost").verdict == "consistent"
