"""The answer to "is it slow?", its yardsticks, and other reasons."""

import errno
from typing import Any

import pytest
from msgspec.structs import replace

from fstui.judge.references import library
from fstui.measure.kinds.sqlite_commits import SqliteCommits
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.measure.kinds.sysbench import Interval
from fstui.model.counters import DeviceCounters, DeviceTimes, Idle
from fstui.model.host import OtherWriter, Process
from fstui.model.judgement import FASTEST_STEP, Speed
from fstui.model.quantities import duration_ns
from fstui.model.rate_limit import RateLimit
from fstui.model.run import EarlierRun
from fstui.model.steps import Failure, PendingOperation, StallSummary, Step
from fstui.model.storage import Medium, MediumClass, Node, Reading, Target
from tests.factories.databases import database, with_figures
from tests.factories.evidence import HONEST_PROCESS, verdict
from tests.factories.steps import latency, step, traced
from tests.factories.storage import disk, filesystem, on_disk, target

SSD_SLOWEST = min(one.per_s for one in library() if one.medium == "ssd" and one.operation not in ("O_DIRECT", "ioping"))
LIMIT = Reading(what="8:0 wiops", value="100", path="/sys/fs/cgroup/x/io.max")


def on(class_: MediumClass, top: Any = None, **medium: Any) -> Target:
    return on_disk(top or filesystem(), disk(medium=Medium(class_=class_, write_cache="volatile", **medium)))


SSD = on("ssd")


def slowest(ms: float, **changes: Any) -> Step:
    """Return a step at 2 000/s with one operation of that length."""
    whole = replace(latency(500_000), max=round(ms * 1e6))
    return step(changes={"latency_ns": whole, **changes})


def paused(p50_ms: float, longest_ms: float) -> Step:
    return step(rate=33, changes={"latency_ns": latency(p50_ms * 1e6, longest_ns=longest_ms * 1e6)})


def all_take(ms: float) -> dict[str, Any]:
    return {"latency_ns": latency(ms * 1e6)}


def answered(where: Target | None, *steps: Step, **fields: Any) -> Speed:
    return verdict(where, *steps, **fields).speed


def before(*per_s: float, name: str = "fdatasync") -> tuple[EarlierRun, ...]:
    return tuple(
        EarlierRun(run=f"{at:06x}", started_at="2026-11-20T03:12:44+01:00", mean_ns={name: round(1e9 / each)})
        for at, each in enumerate(per_s)
    )


def test_a_faster_step_that_is_not_compared_counts() -> None:
    compared = [step(name, rate=rate * SSD_SLOWEST) for name, rate in (("first", 20), ("second", 30))]
    batched = step("batched", rate=90 * SSD_SLOWEST, sync_every=8)
    for steps, is_fastest in ((compared, True), ([*compared, batched], False)):
        speed = answered(SSD, *steps)
        assert speed.answer == "normal" and speed.title.startswith("second ")
        assert speed.title.endswith(FASTEST_STEP) == is_fastest


def test_speed_that_is_unknown_says_why() -> None:
    assert answered(None, step(sync_every=8)).title == "no small writes were synced"
    assert answered(None, step(rate=5, ops=2)).title == "no rate of syncs was measured"


def test_step_without_a_rate_is_not_compared() -> None:
    """As in a damaged document."""
    without = {"rate_per_s": 0.0, "latency_ns": None}
    assert answered(SSD, step(changes=without)).title == "no rate of syncs was measured"
    assert answered(SSD, step(ops_per_s=5, changes=without)).title == "no rate of syncs was measured"


@pytest.mark.parametrize("rate_limit", [RateLimit(bytes_per_s=1 << 20), RateLimit(idle=True)])
def test_rate_limited_run_has_unknown_speed(rate_limit: RateLimit) -> None:
    for steps in ([step(rate=0.1 * SSD_SLOWEST)], [step(rate=20 * SSD_SLOWEST)], [slowest(900)]):
        found = answered(SSD, *steps, rate_limit=rate_limit, earlier_runs=before(9000, 9000, 9000))
        assert (found.answer, found.title) == ("unknown", "the rate was limited")


@pytest.mark.parametrize(
    ("times", "answer"), [(0.49, "slow"), (0.8, "unknown"), (20, "normal")], ids=["far below", "between", "among them"]
)
def test_published_class_is_a_yardstick(times: float, answer: str) -> None:
    found = answered(SSD, step(rate=times * SSD_SLOWEST))
    assert found.answer == answer
    assert "published rates for SSDs" in " ".join(found.evidence)


BTRFS = on("ssd", filesystem("btrfs"))


@pytest.mark.parametrize(
    ("where", "done", "answer"),
    [
        pytest.param(SSD, step(rate=300), "normal", id="slower than other SSDs with this operation"),
        pytest.param(SSD, step(rate=30), "slow", id="half of the slowest is 41/s"),
        pytest.param(BTRFS, step(rate=15, flushes=2.0), "unknown", id="btrfs sends two flushes, and copies"),
        # a check of two seconds sees 14 syncs of a disk at 10/s
        pytest.param(None, step(rate=5, ops=7), "slow", id="few slow syncs"),
        pytest.param(None, step(rate=5, ops=4), "unknown", id="fewer slow syncs"),
        pytest.param(None, step(rate=2, ops=2, changes=all_take(500)), "slow", id="two syncs as long as stalls"),
        pytest.param(None, step(rate=1, ops=1, changes=all_take(1000)), "slow", id="one sync as long as a stall"),
        pytest.param(None, step(rate=5, ops=2), "unknown", id="hardly any syncs"),
        pytest.param(None, step(sync_every=8), "unknown", id="rare syncs"),
        # storage that always needs 30 ms is slow, and 290 ms are no pause of it
        pytest.param(None, paused(30, 290), "slow", id="less than ten times the median"),
        pytest.param(None, paused(30, 310), "stalls", id="more than ten times the median"),
    ],
)
def test_answer_for_one_step(where: Target | None, done: Step, answer: str) -> None:
    assert answered(where, done).answer == answer


@pytest.mark.parametrize(
    ("rate", "answer", "place"),
    [
        (49, "slow", "slower than the 50/s that etcd requires"),
        (70, "normal", "about as fast as rotating disks"),
        (400, "normal", "between rotating disks and SSDs"),
        (3269, "normal", "between SSDs without and with PLP"),
        (40000, "normal", "faster than typical SSDs with PLP"),
    ],
)
def test_unknown_class_is_compared_with_every_kind(rate: float, answer: str, place: str) -> None:
    found = answered(None, step(rate=rate, ops=5000))
    assert (found.answer, place in found.title) == (answer, True)
    several = answered(None, step(rate=rate, ops=5000), step(rate=rate / 2, ops=5000))
    assert [", the fastest step with one writer," in each.sentence for each in (found, several)] == [
        False,
        answer == "normal",
    ]
    paced = step(rate=2, ops=50, ops_per_s=2.0, changes={"latency_ns": latency(1e9 / rate)})
    slow = answered(None, paced)
    assert slow.answer == answer and f"{duration_ns(1e9 / rate)} each" in slow.title
    large = SyncWrites(block_bytes=1 << 20)
    assert answered(None, step(rate=rate, ops=50, changes={"settings": large})).answer == "unknown"


@pytest.mark.parametrize(
    ("allowed", "rate", "answer"),
    [("20", 10, "slow"), ("60", 30, "slow"), ("100", 50, "normal"), ("20", 2000, "normal"), ("60", 10, "slow")],
    ids=["20 IOPS", "60 IOPS", "as fast as etcd requires", "not of this disk", "not met"],
)
def test_limit_explains_a_slow_rate(allowed: str, rate: float, answer: str) -> None:
    found = answered(None, step(rate=rate, ops=50), process=limited(value=allowed))
    assert found.answer == answer
    assert ("limit of the cgroup applies" in found.sentence) is (rate == int(allowed) / 2)
    if answer == "slow" and rate > 10 * (allowed == "60"):
        assert (
            found.title == f"{rate:.1f}/s, slower than the 50/s that etcd requires: an I/O limit of the cgroup applies"
        )
        assert "he disk may not be the cause: " in found.sentence


def test_short_lack_of_cpu_does_not_explain_slow_storage() -> None:
    missing = {"cpu_wait_ns": 1_200_000_000}
    assert answered(SSD, step(rate=5, ops=50, changes=missing)).answer == "slow"  # 12 % of ten seconds
    one_waited = {"latency_ns": replace(latency(500_000), max=400_000_000), "longest_cpu_wait_ns": 300_000_000}
    assert answered(SSD, step(rate=5, ops=50, changes=missing | one_waited)).answer == "slow"
    assert answered(SSD, step(rate=2000, ops=4000, changes=one_waited)).title.startswith("fstui had no CPU for")
    starved = step(rate=0.49 * SSD_SLOWEST, ops=round(4.9 * SSD_SLOWEST), changes=missing)
    assert answered(SSD, starved).answer == "unknown"


@pytest.mark.parametrize(("rate", "answer"), [(480, "slow"), (520, "normal"), (3000, "normal")])
def test_earlier_runs_are_a_yardstick(rate: float, answer: str) -> None:
    found = answered(None, step(rate=rate), earlier_runs=before(1000, 1000, 1000, 1200))
    assert (found.answer, found.yardstick) == (answer, "4 earlier runs")


def test_rate_far_above_earlier_runs_is_a_ratio_to_their_median() -> None:
    found = answered(None, step(rate=3000), earlier_runs=before(1000, 1000, 1000, 1200))
    assert found.title == "fdatasync 3\xa0000/s, 3.00 × the median of 4 earlier runs"
    assert "3.00 × the median of 4 earlier runs: the median is 1\xa0000/s." in found.sentence


@pytest.mark.parametrize(
    ("done", "earlier", "answer", "yardstick"),
    [
        (step(rate=400), (600, 600, 5000, 5000), "normal", "4 earlier runs"),
        (step(rate=100), (1000, 1000), "normal", "what is typical for each kind of disk"),
        (step(rate=100, ops=40), (1000, 1000, 1000), "unknown", ""),
    ],
    ids=["their lower quartile", "two runs", "a short step"],
)
def test_earlier_runs_need_enough_syncs(done: Step, earlier: tuple[float, ...], answer: str, yardstick: str) -> None:
    found = answered(None, done, earlier_runs=before(*earlier))
    assert (found.answer, found.yardstick) == (answer, yardstick)


@pytest.mark.parametrize(("ms", "answer"), [(4, "slow"), (1.1, "normal")])
def test_paced_step_is_compared_by_its_latency(ms: float, answer: str) -> None:
    paced = step(rate=5, ops=50, ops_per_s=5.0, changes={"latency_ns": latency(ms * 1e6)})
    found = answered(None, paced, earlier_runs=before(1000, 1000, 1000))
    assert (found.answer, "each" in found.title) == (answer, True)


def test_earlier_runs_do_not_change_the_verdict() -> None:
    judged = [verdict(None, step(rate=100), earlier_runs=earlier) for earlier in ((), before(9000, 9000, 9000))]
    assert [one.speed.answer for one in judged] == ["normal", "slow"]
    assert judged[0].findings == judged[1].findings
    assert judged[0].sentence == judged[1].sentence


@pytest.mark.parametrize(("rate", "answer"), [(9, "slow"), (100, "normal")])
def test_revolutions_of_a_disk_are_a_yardstick(rate: float, answer: str) -> None:
    found = answered(on("hdd-15000", rpm=15000), step(rate=rate, ops=100))
    assert found.answer == answer
    (line,) = found.evidence  # for all references of a step
    assert "published rates for" in line and "slow is below 25.0/s: 10 revolutions per sync" in line


@pytest.mark.parametrize("class_", ["unknown", "ssd", "hdd-7200", "network"])
def test_250_ms_is_a_stall_on_any_class(class_: MediumClass) -> None:
    assert answered(on(class_), slowest(249)).answer != "stalls"
    found = answered(on(class_), slowest(251))
    assert found.answer == "stalls"
    assert "251 ms" in found.title


def test_several_writers_wait_for_each_other() -> None:
    whole = replace(latency(100e6), max=700_000_000)
    four = step(writers=4, changes={"latency_ns": whole})
    assert answered(None, step(), four).answer != "stalls"
    assert answered(None, step(), replace(four, latency_ns=replace(whole, p50=60_000_000))).answer == "stalls"


def test_slow_steps_are_named_besides_a_stall() -> None:
    found = answered(on("hdd-7200"), slowest(617, rate_per_s=1.69), step("fsync", rate=1.69))
    assert found.answer == "stalls" and "fdatasync: 1.69/s; slow is below" in found.sentence
    assert "slow, too" not in answered(on("hdd-7200"), slowest(617), step("fsync")).sentence


def test_call_that_never_returned_is_a_stall() -> None:
    stuck = step(ops=30, status="stopped", changes={"unanswered": PendingOperation(call="fdatasync", elapsed_s=12.4)})
    found = answered(None, stuck)
    assert (found.answer, found.title) == ("stalls", "fdatasync had not finished after 12.4 s")


@pytest.mark.parametrize("missing", ["longest_cpu_wait_ns", "stolen_ns"])
def test_stall_without_a_cpu_is_unknown(missing: str) -> None:
    found = answered(SSD, slowest(400, **{missing: 250_000_000}))
    assert found.answer == "unknown"
    assert "no CPU for 250 ms" in found.title
    assert answered(SSD, slowest(400, **{missing: 100_000_000})).answer == "stalls"


STARVED = {"longest_cpu_pressure_ns": 380_000_000}
"""Some process of the host waited for a CPU for 380 ms without a break."""


def test_cpu_pressure_is_named_before_other_writers() -> None:
    """It does not hide the stall: on a busy host, some process always waits for a CPU, and most stalls are others."""
    others = {"trace": (traced(us=40, others=400),)}
    found = answered(SSD, slowest(400, **STARVED, **others))
    assert (found.answer, found.title) == (
        "stalls",
        "400 ms for one operation of “fdatasync”: this host was short of CPU at the same time",
    )
    assert found.next[0].startswith("Measure again when the host has CPU time to spare")
    for quiet_ns in (0, 150_000_000):
        quiet = answered(SSD, slowest(400, longest_cpu_pressure_ns=quiet_ns))
        assert quiet.answer == "stalls" and "CPU at the same time" not in quiet.sentence


@pytest.mark.parametrize(("longest_wait_ms", "is_named"), [(20, True), (9, False)])
def test_writer_that_hardly_waits_rules_out_cpu_pressure(longest_wait_ms: int, is_named: bool) -> None:
    found = answered(SSD, slowest(400, longest_cpu_wait_ns=longest_wait_ms * 1_000_000, **STARVED))
    assert ("CPU at the same time" in found.sentence) is is_named


@pytest.mark.parametrize("device", ["sda", "loop0"])
def test_disk_that_took_the_time_is_not_excused_by_cpu_pressure(device: str) -> None:
    """Kernel threads serve a loop device, so they may have caused its long requests."""
    times = DeviceTimes(p50=1_000_000, p99=None, max=300_000_000)
    trace = {"trace": (traced(device, us=40, device_flush_ns=times), traced("sdb", us=40))}
    found = answered(SSD, slowest(400, **STARVED, **trace))
    assert ("CPU at the same time" in found.title) is (device == "loop0")


def test_other_known_causes_are_named_before_cpu_pressure() -> None:
    times = DeviceTimes(p50=1_000_000, p99=None, max=2_000_000)
    frozen = answered(
        SSD, slowest(400, frozen_ns=390_000_000, trace=(traced(us=40, device_flush_ns=times),), **STARVED)
    )
    assert "never took longer than 2.0 ms for one request, so" in frozen.sentence
    assert (frozen.answer, frozen.title.endswith("the filesystem was frozen")) == ("stalls", True)
    limited_step = step(rate=40, ops=50, changes={"latency_ns": replace(latency(500_000), max=400_000_000), **STARVED})
    assert "I/O limit" in answered(SSD, limited_step, process=limited()).title


@pytest.mark.parametrize("missing", ["cpu_wait_ns", "stolen_ns"])
def test_slow_rate_without_a_cpu_is_unknown(missing: str) -> None:
    assert answered(SSD, step(rate=20, ops=40, changes={missing: 300_000_000})).answer == "unknown"
    many_short = {"latency_ns": replace(latency(500_000), max=400_000_000), missing: 900_000_000}
    assert answered(SSD, step(ops=600_000, changes=many_short)).answer == "stalls"


def limited(**fields: str) -> Process:
    return replace(HONEST_PROCESS, io_limits=(replace(LIMIT, **fields),))


@pytest.mark.parametrize("writes_per_sync", [3, 6])
def test_limit_that_a_layer_uses_up_is_named_as_the_reason(writes_per_sync: int) -> None:
    """btrfs writes so much for each sync that the limit is more than four times the rate."""
    slow = step(rate=6, ops=30, flushes=2)
    counters = tuple(replace(each, writes=writes_per_sync * 30) for each in slow.counters)
    found = answered(None, replace(slow, counters=counters), process=limited(value="48"))
    assert found.answer == "slow"
    assert ("an I/O limit of the cgroup applies" in found.sentence) is (writes_per_sync == 6)


def test_limit_that_applies_is_named_as_the_reason() -> None:
    found = answered(SSD, step(rate=40, ops=50), process=limited())
    assert found.answer == "slow"
    assert "I/O limit" in found.title
    assert "he disk may not be the cause: " in found.sentence
    assert "I/O limit: 8:0 wiops 100 (/sys/fs/cgroup/x/io.max)" in found.evidence


@pytest.mark.parametrize(
    "fields",
    [{"value": "99999"}, {"what": "8:0 riops"}, {"what": "8:0 wbps", "value": "900000000"}],
    ids=["far away", "of reads", "of many bytes"],
)
def test_limit_that_does_not_apply_is_not_named(fields: dict[str, str]) -> None:
    assert "I/O limit" not in answered(SSD, step(rate=40, ops=50), process=limited(**fields)).sentence


@pytest.mark.parametrize(
    ("limit", "at_limit"),
    [
        ({"value": "2000"}, True),
        ({"value": "4100"}, True),  # sda: a write and a flush for each sync
        ({"value": "3000"}, False),
        ({"value": "7000"}, False),
        ({"what": "8:0 wbps", "value": "33000000"}, True),
        ({"what": "8:0 wbps", "value": "50000000"}, False),
        ({"what": "8:0 riops", "value": "2000"}, False),
    ],
)
@pytest.mark.parametrize("where", [None, SSD], ids=["no reference", "published rates"])
def test_normal_rate_at_a_limit_says_so_in_its_headline(
    where: Target | None, limit: dict[str, str], at_limit: bool
) -> None:
    found = answered(where, step(rate=2000), process=limited(**limit))
    assert found.answer == "normal"
    assert (found.title.startswith("fdatasync 2\xa0000/s at an I/O limit of the cgroup, ")) == at_limit


def test_busy_device_is_named_with_its_writers() -> None:
    idle = Idle(
        elapsed_s=2.0,
        counters=(DeviceCounters(device="sda", flushes=0, writes=900, busy_ms=1900),),
        writers=(OtherWriter(pid=7, name="backup", written_bytes=1 << 20),),
    )
    found = answered(SSD, step(rate=20, ops=40), idle=idle)
    assert "other processes kept sda busy 95\xa0% of the time (backup)" in found.title


DEGRADED = Reading(what="degraded", value="1", path="/sys/block/md0/md/degraded")
FILER = Node(id="remote:nfs4", layer="remote", kind="nfs4", name="filer:/vol1")


@pytest.mark.parametrize(("where", "reason"), [
    (on_disk(filesystem(), disk(state=(DEGRADED,))), "the stack is degraded or faulty (sda degraded: 1)."),
    (target(filesystem("nfs4", "/mnt", below=(FILER.id,)), FILER), "also waits for the network and the server."),
], ids=["degraded", "remote"])  # fmt: skip
def test_other_reasons_are_named(where: Target, reason: str) -> None:
    assert reason in answered(where, step(rate=2, ops=20, flushes=None, share=None)).sentence


def test_flushes_of_other_processes_are_named() -> None:
    found = answered(SSD, step(rate=20, ops=40, changes={"trace": (traced(us=40, others=4000),)}))
    assert found.answer == "slow"
    assert "other processes also flushed this device" in found.title
    assert "others: fdatasync: 4\xa0000 flushes by other processes" in found.evidence
    assert found.next[0].startswith("Measure again when these processes are idle")


def test_freeze_is_the_only_reason_if_it_explains_the_stall() -> None:
    others = {"trace": (traced(us=40, others=400),)}
    found = answered(SSD, slowest(3000, frozen_ns=2_700_000_000, **others))
    assert found.title.endswith(": the filesystem was frozen") and "flushed this device" not in found.sentence
    assert "frozen" not in answered(SSD, slowest(3000, frozen_ns=700_000_000, **others)).sentence
    stuck = PendingOperation(call="pwrite64 (frozen filesystem)", elapsed_s=12.4)
    assert answered(None, step(status="stopped", changes={"unanswered": stuck})).title == (
        "pwrite64 (frozen filesystem) had not finished after 12.4 s: the filesystem was frozen"
    )


@pytest.mark.parametrize(
    ("ms", "words"),
    [(380, "sda itself took 380 ms"), (20, "so the delay was probably above it, or due to a lack of CPU. No cause")],
)
def test_trace_shows_whether_the_device_stalled(ms: int, words: str) -> None:
    times = DeviceTimes(p50=1_000_000, p99=None, max=ms * 1_000_000)
    found = answered(SSD, slowest(400, trace=(traced(us=40, device_flush_ns=times),)))
    assert found.answer == "stalls"
    assert words in found.sentence


def test_a_slow_request_and_its_reason_are_one_sentence() -> None:
    times = DeviceTimes(p50=1_000_000, p99=None, max=380_000_000)
    found = answered(SSD, slowest(400, trace=(traced(us=40, others=400, device_flush_ns=times),)))
    reason = "other processes also flushed this device"
    assert f"sda itself took 380 ms for one request, perhaps because {reason}" in found.sentence


def test_a_reason_above_a_fast_device_is_the_cause() -> None:
    times = DeviceTimes(p50=1_000_000, p99=None, max=20_000_000)
    found = answered(SSD, slowest(400, trace=(traced(us=40, others=400, device_flush_ns=times),)))
    assert "so the delay was probably above it: other processes also flushed this device" in found.sentence


def test_evidence_includes_the_step_of_the_sentence() -> None:
    found = answered(SSD, step("append", rate=2000), step("O_DSYNC", rate=9000))
    assert found.sentence.startswith("O_DSYNC did 9\xa0000/s")
    assert [line.partition(":")[0] for line in found.evidence] == ["O_DSYNC", "append"]


def test_fast_but_not_durable_is_not_normal() -> None:
    judged = verdict(SSD, step(rate=20_000, flushes=0))
    assert (judged.verdict, judged.speed.answer) == ("not-durable", "unknown")


def test_longest_write_is_that_of_all_steps_with_syncs() -> None:
    crowd = slowest(139, writers=4)
    speed = answered(on_disk(filesystem(), disk()), step(), replace(crowd, name="4 writers"))
    assert "The longest synced write took 139 ms." in speed.sentence


def silent_server(where: str = "throwaway", *, never: bool = False) -> Step:
    """Return a database step without a transaction for three of five seconds."""
    by_second = enumerate((80, 0, 0, 0, 80 * (not never)), 1)
    intervals = tuple(Interval(t_s=second, tps=tps, qps=tps, p95_ms=1.0) for second, tps in by_second)
    done = database("oltp_read_write", 32, 64, durable=True, where=where)
    stalled = replace(done, stalls=StallSummary(count=1, lost_s=3.0))
    if never:
        stalled = replace(stalled, status="stopped", unanswered=PendingOperation(call="a transaction", elapsed_s=4.2))
    return with_figures(stalled, intervals=intervals, transactions=160)


@pytest.mark.parametrize(
    ("never", "title"),
    [
        (False, "3.0 s for one operation of “oltp_read_write high”"),
        (True, "a transaction had not finished after 4.2 s"),
    ],
)
def test_silence_of_a_server_is_a_stall(never: bool, title: str) -> None:
    found = answered(SSD, step(), silent_server(never=never))
    assert (found.answer, found.title) == ("stalls", title)


@pytest.mark.parametrize("other", [
    silent_server("existing"), with_figures(silent_server(), host_cpu_share=0.97, others_cpu_share=0.6),
    replace(silent_server(), longest_cpu_wait_ns=3_000_000_000),
], ids=["existing server", "busy host", "sysbench was stopped"])  # fmt: skip
def test_silence_with_another_cause_is_no_stall(other: Step) -> None:
    assert answered(SSD, step(), other).answer != "stalls"


@pytest.mark.parametrize(("frozen_ns", "is_stall"), [(None, False), (200_000_000, False), (2_900_000_000, True)])
def test_long_commit_of_sqlite_is_a_stall_only_if_frozen(frozen_ns: int | None, is_stall: bool) -> None:
    """Otherwise it may be a checkpoint."""
    commits = slowest(3000, settings=SqliteCommits(), frozen_ns=frozen_ns, elapsed_s=3.5)
    judgement = verdict(SSD, step(), replace(commits, name="WAL FULL"))
    expected = "3.0 s for one operation of “WAL FULL”: the filesystem was frozen"
    assert (judgement.speed.title == expected) is is_stall


def test_frozen_server_stalls_even_on_a_busy_host() -> None:
    frozen = replace(silent_server(), frozen_ns=4_000_000_000, trace=(traced(us=40, others=400),))
    found = answered(SSD, step(), with_figures(frozen, host_cpu_share=0.97, others_cpu_share=0.6))
    assert found.title == "3.0 s for one operation of “oltp_read_write high”: the filesystem was frozen"


def test_busy_host_does_not_explain_a_long_silence() -> None:
    step_of_60_s = replace(silent_server(), elapsed_s=60.0)
    intervals = tuple(Interval(t_s=second, tps=80 * (second <= 10), qps=80, p95_ms=1.0) for second in range(1, 61))
    crowded = {"host_cpu_share": 0.97, "others_cpu_share": 0.95, "cpu_share": 0.01}
    long_silence = with_figures(step_of_60_s, intervals=intervals, transactions=800, **crowded)
    assert answered(SSD, step(), long_silence).title == "50.0 s for one operation of “oltp_read_write high”"


def test_server_that_never_answered_leaves_no_verdict() -> None:
    found = verdict(SSD, step(), silent_server(never=True))
    assert (found.verdict, found.confidence) == ("cannot-tell", "high")


def test_a_disk_that_failed_is_not_said_to_acknowledge_too_early() -> None:
    error = Failure(call="fsync", errno=errno.EIO, message="Input/output error")
    judgement = verdict(None, step(), step("fsync", ops=0, status="failed", sync="fsync", changes={"error": error}))
    assert judgement.verdict == "not-durable"
    assert (judgement.speed.answer, judgement.speed.title) == ("unknown", "the storage failed during the run")
