"""The two answers with which a watch ends."""

from __future__ import annotations

import pytest

from fstui.model.counters import DeviceTimes
from fstui.model.host import Inventory
from fstui.model.storage import Medium, Target
from fstui.model.watch import Waiting, WatchedDevice
from fstui.trace.answers import Answers, answers
from tests.factories.storage import disk, filesystem, on_disk
from tests.factories.watched import MS
from tests.trace.test_conclusion import waiting, watched

SSD = on_disk(filesystem(), disk(medium=Medium(class_="ssd")))
LYING = on_disk(filesystem(barrier="nobarrier"), disk())


def on_sda(sync_ms: float, device_ms: float = 1.0, **more: object) -> Waiting:
    return waiting(200, sync_ms, device_ms, device="sda", **more)


def ended(row: Waiting, flush_ms: float = 1.0, where: Target = SSD) -> Answers:
    times = DeviceTimes(p50=int(flush_ms * MS), p99=None, max=int(flush_ms * MS))
    device = WatchedDevice(device="sda", flushes=200, flush_ns=times)
    return answers(watched(row, devices=(device,)), Inventory(filesystems=(where,)), (where,))


@pytest.mark.parametrize(
    ("sync_ms", "flush_ms", "answer"), [(3, 1, "normal"), (40, 30, "slow"), (251, 1, "stalls"), (249, 1, "normal")]
)
def test_is_it_slow(sync_ms: float, flush_ms: float, answer: str) -> None:
    found = ended(on_sda(sync_ms), flush_ms).speed
    assert found.answer == answer, found
    assert found.yardstick and found.sentence


def test_who_waits_for_a_cpu_says_nothing_of_the_storage() -> None:
    assert ended(on_sda(300, cpu_ns=200 * MS)).speed.answer == "unknown"


def test_what_is_of_no_known_class_is_held_against_none() -> None:
    assert ended(on_sda(3), where=on_disk()).speed.answer == "unknown"


def test_what_still_waits_stalls() -> None:
    assert ended(on_sda(3, in_flight_ns=400 * MS)).speed.answer == "stalls"


def test_is_it_honest_is_what_the_configuration_says() -> None:
    assert "fstui check" in ended(on_sda(3)).honest
    assert "/srv: not-durable" in ended(on_sda(3), where=LYING).honest
    assert "not-durable" not in ended(waiting(1, 1.0, 1.0, device="sdb")).honest
