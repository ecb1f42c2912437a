"""Is it slow? By what, and what else may be to blame."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from fstui.judge.references import library
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.counters import DeviceCounters, DeviceTimes, DeviceTrace, Idle
from fstui.model.host import Process, Writer
from fstui.model.judgement import Speed
from fstui.model.rate_limit import RateLimit
from fstui.model.run import Earlier
from fstui.model.steps import Stall, Stalls, Step
from fstui.model.storage import Medium, MediumClass, Reading, Target
from tests.factories.evidence import HONEST_PROCESS, verdict
from tests.factories.steps import latency, step
from tests.factories.storage import disk, filesystem, on_disk

SSD_SLOWEST = min(one.per_s for one in library() if one.medium == "ssd" and one.operation not in ("O_DIRECT", "ioping"))
LIMIT = Reading(what="8:0 wiops", value="100", path="/sys/fs/cgroup/x/io.max")


def on(class_: MediumClass, top: Any = None, **medium: Any) -> Target:
    return on_disk(top or filesystem(), disk(medium=Medium(class_=class_, write_cache="volatile", **medium)))


SSD = on("ssd")


def slowest(ms: float, **changes: Any) -> Step:
    """A step at 2 000/s, but for one operation of that length."""
    whole = replace(latency(500_000), max=round(ms * 1e6))
    return step(changes={"latency_ns": whole, **changes})


def asked(where: Target | None, *steps: Step, **fields: Any) -> Speed:
    return verdict(where, *steps, **fields).speed


def before(*per_s: float, name: str = "fdatasync") -> tuple[Earlier, ...]:
    return tuple(
        Earlier(run=f"{at:06x}", started_at="2026-11-20T03:12:44+01:00", mean_ns={name: round(1e9 / each)})
        for at, each in enumerate(per_s)
    )


def test_what_has_nothing_to_be_held_against_is_unknown() -> None:
    found = asked(None, step())
    assert (found.answer, found.title) == ("unknown", "nothing to hold it against")
    assert found.next


@pytest.mark.parametrize("rate_limit", [RateLimit(bytes_per_s=1 << 20), RateLimit(idle=True)])
def test_a_run_that_held_itself_back_is_neither_slow_nor_normal_nor_stalls(rate_limit: RateLimit) -> None:
    for steps in ([step(rate=0.1 * SSD_SLOWEST)], [step(rate=20 * SSD_SLOWEST)], [slowest(900)]):
        found = asked(SSD, *steps, rate_limit=rate_limit, before=before(9000, 9000, 9000))
        assert (found.answer, found.title) == ("unknown", "it was held back")


@pytest.mark.parametrize(
    ("times", "answer"), [(0.49, "slow"), (0.8, "unknown"), (20, "normal")], ids=["far below", "between", "among them"]
)
def test_its_class_is_a_yardstick(times: float, answer: str) -> None:
    found = asked(SSD, step(rate=times * SSD_SLOWEST))
    assert found.answer == answer
    assert "published on ssd" in " ".join(found.because)


def test_what_is_slower_than_its_own_kind_of_write_is_not_called_normal() -> None:
    """The note slower-than-class beside it would say otherwise."""
    judged = verdict(SSD, step(rate=300))
    assert "slower-than-class" in {found.rule for found in judged.findings}
    assert judged.speed.answer == "unknown"


def test_a_filesystem_that_owes_more_is_allowed_more() -> None:
    """Half of the slowest is 41/s; btrfs sends two flushes for each sync, and copies."""
    btrfs = on("ssd", filesystem("btrfs"))
    assert asked(SSD, step(rate=30)).answer == "slow"
    assert asked(btrfs, step(rate=30, flushes=2.0)).answer != "slow"


@pytest.mark.parametrize(("rate", "answer"), [(6, "slow"), (7, "unknown"), (2000, "unknown")])
def test_half_of_the_slowest_published_is_slow_on_any_medium_and_more_is_not_called_normal(
    rate: float, answer: str
) -> None:
    """13/s: an external USB disk."""
    found = asked(None, step(rate=rate, ops=50))
    assert found.answer == answer
    assert ("published on any medium" in found.yardstick) == (answer == "slow")
    paced = step(rate=2, ops=50, ops_per_s=2.0, changes={"latency_ns": latency(1e9 / rate)})
    assert asked(None, paced).answer == answer
    large = SyncWrites(block_bytes=1 << 20)
    assert asked(None, step(rate=rate, ops=50, changes={"settings": large})).answer == "unknown"


@pytest.mark.parametrize(
    ("allowed", "rate", "answer"),
    [("20", 10, "slow"), ("60", 30, "slow"), ("100", 50, "unknown"), ("20", 2000, "unknown"), ("60", 10, "unknown")],
    ids=["20 IOPS", "60 IOPS", "more than a slow disk turns", "not of this disk", "not met"],
)
def test_a_limit_that_allows_less_than_a_slow_disk_is_slow(allowed: str, rate: float, answer: str) -> None:
    limited = replace(HONEST_PROCESS, io_limits=(replace(LIMIT, value=allowed),))
    found = asked(None, step(rate=rate, ops=50), process=limited)
    assert found.answer == answer
    if answer == "slow":
        assert found.title == f"{rate:.1f}/s beside a disk of 5400 rpm: an I/O limit of its cgroup holds here"
        assert "not laid to the disk" in found.sentence


def test_few_syncs_that_took_long_are_a_rate() -> None:
    """A check of two seconds sees 14 of a disk at 10/s."""
    assert asked(None, step(rate=5, ops=7)).answer == "slow"
    assert asked(None, step(rate=5, ops=4)).answer == "unknown"
    assert asked(None, step(rate=5, ops=2)).title == "no rate to go by"


def test_a_little_time_without_a_cpu_does_not_excuse_what_is_far_too_slow() -> None:
    missing = {"cpu_wait_ns": 1_200_000_000}
    assert asked(SSD, step(rate=5, ops=50, changes=missing)).answer == "slow"  # 12 % of ten seconds
    one_waited = {"latency_ns": replace(latency(200_000_000), max=400_000_000), "longest_cpu_wait_ns": 300_000_000}
    assert asked(SSD, step(rate=5, ops=50, changes=missing | one_waited)).answer == "slow"
    assert asked(SSD, step(rate=2000, ops=4000, changes=one_waited)).title.startswith("fstui had no CPU for")
    assert asked(SSD, step(rate=0.49 * SSD_SLOWEST, ops=round(4.9 * SSD_SLOWEST), changes=missing)).answer == "unknown"


@pytest.mark.parametrize(("rate", "answer"), [(480, "slow"), (520, "normal"), (3000, "normal")])
def test_what_it_did_before_is_a_yardstick(rate: float, answer: str) -> None:
    found = asked(None, step(rate=rate), before=before(1000, 1000, 1000, 1200))
    assert (found.answer, found.yardstick) == (answer, "4 runs before")


def test_storage_that_goes_up_and_down_is_held_against_its_slow_days() -> None:
    assert asked(None, step(rate=400), before=before(600, 600, 5000, 5000)).answer == "normal"


def test_two_runs_and_a_short_step_are_no_yardstick() -> None:
    assert asked(None, step(rate=100), before=before(1000, 1000)).answer == "unknown"
    assert asked(None, step(rate=100, ops=40), before=before(1000, 1000, 1000)).answer == "unknown"


@pytest.mark.parametrize(("ms", "answer"), [(4, "slow"), (1.1, "normal")])
def test_a_paced_step_is_held_against_how_long_its_operations_took(ms: float, answer: str) -> None:
    paced = step(rate=5, ops=50, ops_per_s=5.0, changes={"latency_ns": latency(ms * 1e6)})
    found = asked(None, paced, before=before(1000, 1000, 1000))
    assert (found.answer, "each" in found.title) == (answer, True)


def test_what_was_before_has_no_part_in_the_verdict() -> None:
    judged = [verdict(None, step(rate=100), before=earlier) for earlier in ((), before(9000, 9000, 9000))]
    assert [one.speed.answer for one in judged] == ["unknown", "slow"]
    assert judged[0].findings == judged[1].findings
    assert judged[0].sentence == judged[1].sentence


@pytest.mark.parametrize(("rate", "answer"), [(9, "slow"), (100, "normal")])
def test_the_turns_of_a_disk_are_a_yardstick(rate: float, answer: str) -> None:
    found = asked(on("hdd-15000", rpm=15000), step(rate=rate, ops=100))
    assert found.answer == answer
    assert "10 turns take 40.0 ms" in " ".join(found.because)


def test_one_slow_step_of_three_is_not_the_storage() -> None:
    steps = [step(name, rate=rate) for name, rate in (("a", 2000), ("b", 2000), ("c", 20))]
    assert asked(SSD, *steps).answer == "normal"


@pytest.mark.parametrize("class_", ["unknown", "ssd", "hdd-7200", "network"])
def test_a_quarter_of_a_second_is_a_stall_whatever_the_class(class_: MediumClass) -> None:
    assert asked(on(class_), slowest(249)).answer != "stalls"
    found = asked(on(class_), slowest(251))
    assert found.answer == "stalls"
    assert "251 ms" in found.title


def test_flash_does_not_pause_for_a_tenth_of_a_second() -> None:
    paused = slowest(130, stalls=Stalls(count=1, lost_s=0.1))
    assert asked(SSD, paused).answer == "stalls"
    turning = replace(paused, ops=200, syncs=200, rate_per_s=200.0, latency_ns=replace(latency(5e6), max=130_000_000))
    assert asked(on("hdd-7200"), turning).answer == "normal"


def test_several_writers_wait_in_turn() -> None:
    whole = replace(latency(100e6), max=700_000_000)
    four = step(writers=4, changes={"latency_ns": whole})
    assert asked(None, step(), four).answer != "stalls"
    assert asked(None, step(), replace(four, latency_ns=replace(whole, p50=60_000_000))).answer == "stalls"


def test_writes_that_nobody_synced_wait_for_the_page_cache() -> None:
    assert asked(None, step(), step("write", sync="none", changes={"latency_ns": latency(400e6)})).answer != "stalls"


def test_what_never_returned_stalled() -> None:
    stuck = step(ops=30, status="stopped", changes={"unanswered": Stall(call="fdatasync", elapsed_s=12.4)})
    found = asked(None, stuck)
    assert (found.answer, found.title) == ("stalls", "12.4 s for fdatasync that never returned")


@pytest.mark.parametrize("missing", ["longest_cpu_wait_ns", "stolen_ns"])
def test_a_box_without_a_cpu_to_spare_says_nothing_of_a_stall(missing: str) -> None:
    found = asked(SSD, slowest(400, **{missing: 250_000_000}))
    assert found.answer == "unknown"
    assert "no CPU for 250 ms" in found.title
    assert asked(SSD, slowest(400, **{missing: 100_000_000})).answer == "stalls"


@pytest.mark.parametrize("missing", ["cpu_wait_ns", "stolen_ns"])
def test_nor_of_its_rate(missing: str) -> None:
    assert asked(SSD, step(rate=20, ops=40, changes={missing: 300_000_000})).answer == "unknown"


@pytest.mark.parametrize("missing", ["cpu_wait_ns", "stolen_ns"])
def test_many_short_waits_of_a_long_step_are_no_stall(missing: str) -> None:
    long = step(ops=600_000, changes={"latency_ns": replace(latency(500_000), max=400_000_000), missing: 900_000_000})
    assert asked(SSD, long).answer == "stalls"


def limited(reading: Reading) -> Process:
    return replace(HONEST_PROCESS, io_limits=(reading,))


def test_a_limit_that_is_met_is_named_and_the_disk_is_not_blamed() -> None:
    found = asked(SSD, step(rate=40, ops=50), process=limited(LIMIT))
    assert found.answer == "slow"
    assert "I/O limit" in found.title
    assert "not laid to the disk" in found.sentence
    assert "io limit: 8:0 wiops 100 (/sys/fs/cgroup/x/io.max)" in found.because


@pytest.mark.parametrize(
    "fields",
    [{"value": "99999"}, {"what": "8:0 riops"}, {"what": "8:0 wbps", "value": "900000000"}],
    ids=["far away", "of reads", "of many bytes"],
)
def test_a_limit_that_is_not_met_explains_nothing(fields: dict[str, str]) -> None:
    process = limited(replace(LIMIT, **fields))
    assert "I/O limit" not in asked(SSD, step(rate=40, ops=50), process=process).sentence


def test_a_busy_device_is_named_with_who_keeps_it_so() -> None:
    idle = Idle(
        elapsed_s=2.0,
        counters=(DeviceCounters(device="sda", flushes=0, writes=900, busy_ms=1900),),
        writers=(Writer(pid=7, name="backup", written_bytes=1 << 20),),
    )
    found = asked(SSD, step(rate=20, ops=40), idle=idle)
    assert "others kept sda busy 95% of the time (backup)" in found.title


def test_flushes_of_others_in_the_step_are_named() -> None:
    theirs = DeviceTrace(
        device="sda", asked_by_us=40, asked_by_kernel_threads=0, asked_by_others=400, fua_writes=0,
        fua_writes_by_us=0, requests=440,
    )  # fmt: skip
    found = asked(SSD, step(rate=20, ops=40, changes={"trace": (theirs,)}))
    assert found.answer == "slow"
    assert "others flushed the same device meanwhile" in found.title


@pytest.mark.parametrize(("ms", "words"), [(380, "sda itself took 380 ms"), (20, "held up above")])
def test_the_trace_tells_whether_the_device_stalled_or_what_is_above_it(ms: int, words: str) -> None:
    times = DeviceTimes(p50=1_000_000, p99=None, max=ms * 1_000_000)
    seen = DeviceTrace(
        device="sda", asked_by_us=40, asked_by_kernel_threads=0, asked_by_others=0, fua_writes=0,
        fua_writes_by_us=0, requests=40, device_flush_ns=times,
    )  # fmt: skip
    found = asked(SSD, slowest(400, trace=(seen,)))
    assert found.answer == "stalls"
    assert words in found.sentence


def test_what_is_fast_and_not_durable_is_not_praised() -> None:
    lying = step(rate=20_000, flushes=0)
    judged = verdict(SSD, lying)
    assert judged.verdict == "not-durable"
    assert judged.speed.answer == "unknown"
