"""Activity of other processes while fstui was idle."""

import pytest

from fstui.judge.facts.other_writers import OtherWriters
from fstui.judge.facts.stack import Stack
from fstui.model.counters import Idle
from tests.factories.steps import counted
from tests.factories.storage import disk, on_disk, on_loop

TWO = (counted("sda", 10, 4096), counted("loop0", 4, 4096), counted("sdz", 900, 4096))


def others(idle: Idle | None) -> OtherWriters:
    return OtherWriters(idle, Stack(on_loop()))


@pytest.mark.parametrize(("elapsed_s", "known"), [(0.4, False), (0.5, True)])
def test_sample_shorter_than_half_a_second_does_not_count(elapsed_s: float, known: bool) -> None:
    seen = others(Idle(elapsed_s=elapsed_s, counters=TWO))
    assert (seen.flushes_per_s([disk()]) is not None) is known
    assert bool(seen.busy_devices) is known


def test_flushes_of_several_devices_are_added_up() -> None:
    seen = others(Idle(elapsed_s=2.0, counters=TWO))
    assert seen.flushes_per_s([disk()]) == 5.0
    assert seen.flushes_per_s([disk(), disk("loop0")]) == 7.0
    assert seen.flushes_per_s([disk("sdb")]) is None


def test_busiest_device_of_the_stack_comes_first() -> None:
    seen = others(Idle(elapsed_s=2.0, counters=tuple(reversed(TWO))))
    assert [(busy.device, busy.flushes_per_s) for busy in seen.busy_devices] == [("sda", 5.0), ("loop0", 2.0)]


def test_nothing_is_known_without_a_sample() -> None:
    seen = OtherWriters(None, Stack(on_disk()))
    assert seen.flushes_per_s([disk()]) is None and seen.busy_devices == () and seen.writers == ()
