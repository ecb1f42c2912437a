"""The program on a simulated host, as ``fstui watch`` reports it."""

import pytest

from fstui.model.watch import WatchCounts
from fstui.simulate.watched import WatchedHost
from fstui.trace.conclusion import conclude
from tests.simulate.model import CHUNK_NS, host


def watched(disk: str, seconds: float = 10.0) -> WatchCounts:
    on = host(disk)
    seen, end_ns = WatchedHost(on), on.now_ns + seconds * 1e9
    while on.now_ns < end_ns:
        on.now_ns = seen.run_until(on.now_ns + CHUNK_NS)
    return seen.whole()


@pytest.mark.parametrize(
    ("disk", "culprit"),
    [
        ("hdd-7200", "disk"),
        ("usb-hdd", "disk"),
        ("ssd-plp", "nobody"),
        ("hdd-7200-lying", "nobody"),  # that is why they lie
        ("hdd-7200-nobarrier", "nobody"),
    ],
)
def test_program_waits_for_a_slow_disk_only(disk: str, culprit: str) -> None:
    seen = watched(disk)
    assert conclude(seen).culprit == culprit
    assert 400 < seen.waits[0].syncs <= 510  # fifty a second, or as often as a slow disk turns


def test_device_counters_match_the_program() -> None:
    seen = watched("hdd-7200")
    (waiting,), (disk,) = seen.waits, seen.devices
    assert disk.flushes == pytest.approx(waiting.syncs, abs=2)
    assert disk.flush_ns and waiting.latency_ns and waiting.device_ns
    assert disk.flush_ns.p50 < waiting.latency_ns.p50 < 1e9 / 120
    assert disk.flush_ns.p50 < waiting.device_ns < waiting.waited_ns / waiting.syncs


def test_seconds_add_up_to_the_total() -> None:
    on = host("ssd-plp")
    seen, syncs = WatchedHost(on), 0
    for _ in range(3):
        on.now_ns = seen.run_until(on.now_ns + 1e9)
        second = seen.second()
        assert second.elapsed_s == pytest.approx(1.0, rel=0.01)
        syncs += second.waits[0].syncs
    assert seen.whole().waits[0].syncs == syncs


def test_stubbed_syncs_do_not_reach_the_kernel() -> None:
    seen = watched("hdd-7200-eatmydata")
    assert (seen.waits, seen.devices) == ((), ())
    assert conclude(seen).sentence.startswith("No program waits for a sync: in 10.0 s, none requested one")
