"""The verdict follows from the findings."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fstui.judge import Case, decisive_finding, judge, leading_finding, words
from fstui.judge.defects import defects
from fstui.judge.rules import all_rules
from fstui.measure.kinds import figures_from, settings_from
from fstui.model.counters import DeviceCounters, Idle
from fstui.model.host import Host
from fstui.model.judgement import VERDICTS, Confidence, Finding, Scope, Verdict
from fstui.model.run import Evidence, ScenarioRef
from fstui.model.steps import Failure, Step, TimelinePoint
from fstui.model.storage import Medium, Target
from tests.factories.evidence import GUEST, METAL, evidence, verdict
from tests.factories.steps import latency, step
from tests.factories.storage import disk, filesystem, loop, on_disk, on_loop, readings, target
from tests.judge.rules.database.test_commits_without_flushes import commits

CONFIDENCES: tuple[Confidence, ...] = ("low", "medium", "high")


def said(verdict: Verdict | None, confidence: Confidence = "medium", scope: Scope = "storage") -> Finding:
    return Finding(rule="x", verdict=verdict, confidence=confidence, scope=scope, title="x")


finding_strategy = st.builds(
    said,
    st.sampled_from((*VERDICTS, None)),
    st.sampled_from(CONFIDENCES),
    st.sampled_from(("storage", "process", "step")),
)


@given(st.lists(finding_strategy))
def test_verdict_follows_the_definition(findings: list[Finding]) -> None:
    judging = [found for found in findings if found.verdict and found.scope != "step"]
    ground = decisive_finding(findings)
    verdicts = {found.verdict for found in judging}
    assert (ground is None) == (not judging)
    if ground is None:
        return
    assert ground in judging
    for hard in ("lost", "not-durable", "kept", "suspicious"):
        if hard in verdicts:
            assert ground.verdict == hard
            return
    best = max(CONFIDENCES.index(found.confidence) for found in judging)
    surest = [found for found in judging if CONFIDENCES.index(found.confidence) == best]
    assert ground.verdict == min((found.verdict for found in surest if found.verdict), key=VERDICTS.index)


@given(st.lists(finding_strategy), st.randoms(use_true_random=False))
def test_order_of_findings_does_not_matter(findings: list[Finding], random: Random) -> None:
    shuffled = list(findings)
    random.shuffle(shuffled)
    one, other = decisive_finding(findings), decisive_finding(shuffled)
    assert (one and (one.verdict, one.confidence)) == (other and (other.verdict, other.confidence))


def test_empty_evidence_gives_cannot_tell() -> None:
    judgement = judge(Evidence())
    assert (judgement.verdict, judgement.confidence, judgement.findings) == ("cannot-tell", "low", ())
    assert judgement.sentence


def test_findings_come_worst_first_and_notes_last() -> None:
    hdd = on_disk(filesystem(), disk(medium=Medium(class_="hdd-7200", write_cache="none", declared=True)))
    direct = step("O_DIRECT", rate=884, sync="none", open_flags=("direct",), flushes=0)
    judgement = judge(evidence(hdd, step(), step("same", rate=812, offsets="same"), direct))
    assert [found.rule for found in judgement.findings] == [
        "same-block-rotation", "odirect-no-cache", "flushes-arrive", "odirect-before-platter", "odirect-alone",
    ]  # fmt: skip


STACKS = (
    on_disk(),
    on_disk(filesystem("btrfs")),
    on_disk(filesystem("zfs")),
    on_disk(filesystem(barrier="nobarrier")),
    on_disk(filesystem(data="journal"), disk(fua=True)),
    on_disk(filesystem(), disk(medium=Medium(class_="hdd-7200", write_cache="none", declared=True))),
    on_disk(filesystem(), disk(write_cache="write through", readings=readings(cache_type="write back"))),
    on_loop(),
    on_loop(device=loop(dio="0")),
    on_disk(filesystem("tmpfs", below=())),
    Target(path="/x", mount_point="/x", fstype="nfs4", source="filer:/x"),
    on_disk(filesystem("zfs", sync="disabled")),
    on_disk(filesystem(), disk(link="virtio", write_cache="write through", readings=readings(F_FLUSH="no"))),
    on_disk(filesystem(), disk(link="usb", write_cache="write through")),
    on_disk(filesystem(), disk(fua=True, readings=readings(payload_mb_s="150", grade="consumer"))),
    on_disk(filesystem(), disk(medium=Medium(class_="ssd", write_cache="volatile", declared=True))),
    on_disk(filesystem(), disk(medium=Medium(class_="ssd-plp", write_cache="plp", ephemeral=True))),
    on_disk(filesystem(), disk(medium=Medium(class_="raid-cache"))),
    on_disk(filesystem(), disk(medium=Medium(class_="network"), readings=readings(grade="cloud", vwc="absent"))),
)
counts = st.none() | st.integers(0, 10_000)
counter_strategy = st.builds(
    DeviceCounters, device=st.sampled_from(["sda", "loop0", "sdz"]), flushes=counts, writes=counts, written_bytes=counts
)
settings_strategy = st.fixed_dictionaries(
    {"probe": st.sampled_from(["sync_writes", "dirty_flush", "sqlite_commits", "of a later version"])},
    optional={
        "block_bytes": st.sampled_from([512, 4096, 16384]),
        "offsets": st.sampled_from(["same", "random", "append"]),
        "open_flags": st.sampled_from([[], ["direct"], ["direct", "dsync"], ["sync"]]),
        "sync": st.sampled_from(["none", "fsync", "fdatasync"]),
        "sync_every": st.sampled_from([1, 10]),
        "writers": st.sampled_from([1, 4]),
        "prefill": st.sampled_from(["written", "none"]),
    },
)
nanoseconds = st.integers(1, 1 << 40)
latency_strategy = st.none() | st.builds(latency, nanoseconds, nanoseconds, nanoseconds)
points_strategy = st.lists(
    st.fixed_dictionaries(
        {"bytes": st.integers(0, 1 << 26), "sync_ns": st.integers(0, 1 << 40)},
        optional={"arrived_share": st.none() | st.floats(0, 3), "rounds": st.integers(1, 3)},
    ),
    max_size=6,
)
growth_strategy = st.fixed_dictionaries(
    {"slope_ns_per_mib": st.floats(-1e9, 1e9), "intercept_ns": st.floats(-1e9, 1e9), "points": points_strategy}
)
figures_strategy = st.fixed_dictionaries(
    {"probe": st.sampled_from(["dirty_flush", "of a later version"])},
    optional={"sequential": growth_strategy, "scattered": st.none()},
)
timeline_strategy = st.lists(st.builds(TimelinePoint, t_s=st.floats(0, 60), ops=st.integers(0, 1000)), max_size=30).map(
    lambda points: tuple(sorted(points, key=lambda point: point.t_s))
)
step_strategy = st.builds(
    Step,
    name=st.text(max_size=5),
    latency_ns=latency_strategy,
    write_ns=latency_strategy,
    sync_ns=latency_strategy,
    figures=st.none() | figures_strategy.map(figures_from),
    timeline=timeline_strategy,
    settings=settings_strategy.map(settings_from),
    status=st.sampled_from(["finished", "stopped", "failed", "skipped", "disturbed"]),
    ops=st.integers(0, 3000),
    syncs=st.integers(0, 3000),
    bytes=st.integers(0, 1 << 26),
    elapsed_s=st.floats(0, 60),
    rate_per_s=st.floats(0, 1e6),
    counters=st.lists(counter_strategy, max_size=3).map(tuple),
)
counters_strategy = st.lists(counter_strategy, max_size=2).map(tuple)
idle_strategy = st.none() | st.builds(Idle, elapsed_s=st.floats(0, 9), counters=counters_strategy)
evidence_strategy = st.builds(
    Evidence,
    host=st.sampled_from([METAL, GUEST, Host(cloud="aws")]),
    scenario=st.none() | st.just(ScenarioRef(name="fit", title="")),
    target=st.none() | st.sampled_from(STACKS),
    idle=idle_strategy,
    steps=st.lists(step_strategy, max_size=4).map(tuple),
)


@given(evidence_strategy)
def test_every_finding_names_its_rule_and_has_a_sentence(seen: Evidence) -> None:
    case = Case(seen)
    for rule in all_rules():
        for found in rule(case):
            assert found.rule in (defects() if rule.name == "defects" else {rule.name})
            assert found.title
            assert found.sentence.endswith(".")
            if found.verdict and found.steps and found.rule != "sync-error":
                assert "measured" in found.sentence


@given(evidence_strategy)
def test_verdict_is_that_of_the_decisive_finding(seen: Evidence) -> None:
    judgement = judge(seen)
    ground = decisive_finding(judgement.findings)
    assert judgement.verdict == (ground.verdict if ground else "cannot-tell")
    assert judgement.sentence.endswith(".")
    if judgement.verdict == "consistent":
        assert judgement.sentence.endswith("only a power cut proves more.")


def test_first_failure_is_named_if_every_step_failed() -> None:
    gone = Failure(call="chdir", errno=2, message="[Errno 2] the directory was moved or removed: '/srv/.fstui-1'")
    failed = replace(step(), status="failed", error=gone, ops=0, syncs=0)
    judgement = verdict(on_disk(filesystem()), failed, failed)
    assert judgement.verdict == "cannot-tell"
    assert "the first with chdir: the directory was moved or removed: '/srv/.fstui-1'" in judgement.sentence


FORCED = step("log", sync="none", open_flags=("direct", "dsync"), flushes=0)


@pytest.mark.parametrize(
    ("where", "done", "words_"),
    [
        (target(filesystem(below=())), step(), "no device on this host is known to count flushes"),
        (on_disk(filesystem(), disk(write_cache="write through")), step(flushes=0), "considers sda “write through”"),
        (on_disk(filesystem(device_unseen="/dev/sdz")), step(), "the filesystem has devices that are not known"),
        (on_disk(filesystem(), disk(fua=True)), FORCED, "none that it would count is expected"),
        (on_disk(filesystem(), disk(counted=False)), step(flushes=None, share=None), "sda counts no flushes"),
        (
            on_disk(filesystem(), disk(counted=False, readings=readings(iostats="0"))),
            step(flushes=None, share=None),
            "iostats",
        ),
        (
            on_disk(filesystem(), disk(kind="dm-linear", counted=False, because="a driver without a queue")),
            step(flushes=None, share=None),
            "sda has no request queue that counts flushes. sda: a driver without a queue.",
        ),
    ],
    ids=["no device", "write through", "unknown device", "FUA writes", "not counted", "switched off", "no queue"],
)
def test_undecided_run_says_why(where: Target, done: Step, words_: str) -> None:
    judgement = verdict(where, done)
    assert judgement.verdict == "cannot-tell"
    assert words_ in judgement.sentence
    assert leading_finding(judgement.findings) == judgement.findings[-1]
    assert judgement.findings[-1].next[-1].startswith("Until then")


@pytest.mark.parametrize(
    ("located", "where"),
    [(True, "on another filesystem"), (False, "in a place that is not known")],
    ids=["here", "elsewhere or behind a tunnel"],
)
def test_server_with_data_elsewhere_is_named_with_its_settings(located: bool, where: str) -> None:
    remote = commits(None, where="existing", on_target=False, located=located)
    judgement = judge(Evidence(steps=(remote,)))
    assert judgement.sentence.startswith(f"MariaDB 10.11.19 stores its data {where}")
    assert "sync_binlog = 1" in judgement.sentence


def test_honest_configuration_has_no_finding() -> None:
    judgement = verdict()
    assert judgement.findings == ()
    assert judgement.verdict == "cannot-tell"
    assert "run fsync-rate" in judgement.sentence


@pytest.mark.parametrize(("elapsed_s", "said"), [
    (0.0, "0.0 s"), (0.02, "20.0 ms"), (0.0499, "49.9 ms"), (0.05, "0.1 s"), (3.0, "3.0 s"),
])  # fmt: skip
def test_covered_time_is_not_rounded_to_zero(elapsed_s: float, said: str) -> None:
    done = step(changes={"elapsed_s": elapsed_s})
    assert words.time_measured([done, done]) == f"the {said} measured"
