"""The verdict follows from the findings."""

import gzip
from functools import cache
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fstui.judge import Case, judge, leading_finding, words
from fstui.judge.defects import defects
from fstui.judge.rules import all_rules
from fstui.judge.verdict import decisive_finding
from fstui.measure.kinds.documents import decode_run
from fstui.model.judgement import VERDICTS, Confidence, Finding, Scope, Verdict
from fstui.model.run import Evidence, Run
from fstui.model.steps import Failure, Step
from fstui.model.storage import Medium, Target
from tests.factories.evidence import evidence, verdict
from tests.factories.steps import step
from tests.factories.storage import disk, filesystem, on_array, on_disk, readings, target
from tests.judge.rules.database.test_commits_without_flushes import commits
from tests.judge.sentences import FROZEN

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


ODD = st.fixed_dictionaries(
    {},
    optional={
        "status": st.sampled_from(["finished", "stopped", "failed", "skipped", "disturbed"]),
        "ops": st.integers(0, 3000),
        "bytes": st.integers(0, 1 << 26),
        "elapsed_s": st.floats(0, 60),
        "rate_per_s": st.floats(0, 1e6),
        "latency_ns": st.none(),
        "counters": st.just(()),
    },
)
"""Values that a step of a saved run may have instead of its own."""


UNTIMED = {"sync-error", "power-cut", "virtio-no-flush"}
"""Rules whose finding does not depend on how long was measured."""


@cache
def saved_runs() -> list[Run]:
    return [decode_run(gzip.decompress(path.read_bytes())) for path in sorted(FROZEN.iterdir())]


@st.composite
def mixed_evidence(draw: st.DrawFn) -> Evidence:
    """Draw the host, the target, the idle sample and the steps of different saved runs."""
    one, other, idle, *measured = draw(st.lists(st.sampled_from(saved_runs()), min_size=3, max_size=7))
    steps = [replace(draw(st.sampled_from(run.steps)), **draw(ODD)) for run in measured if run.steps]
    target = draw(st.none() | st.just(other.target))
    return Evidence(host=one.host, process=one.process, target=target, idle=idle.idle, steps=tuple(steps))


@given(mixed_evidence())
def test_every_finding_names_its_rule_and_has_a_sentence(seen: Evidence) -> None:
    case = Case(seen)
    for rule in all_rules():
        for found in rule(case):
            assert found.rule in (defects() if rule.name == "defects" else {rule.name})
            assert found.title
            assert found.sentence.endswith(".")
            if found.verdict and found.steps and found.rule not in UNTIMED:
                assert "measure" in found.sentence or "This is based on" in found.sentence


@given(mixed_evidence())
def test_verdict_is_that_of_the_decisive_finding(seen: Evidence) -> None:
    judgement = judge(seen)
    ground = decisive_finding(judgement.findings)
    assert judgement.verdict == (ground.verdict if ground else "cannot-tell")
    assert judgement.sentence.endswith(".")
    if judgement.verdict == "consistent":
        assert "only a power cut proves more." in judgement.sentence


def test_first_failure_is_named_if_every_step_failed() -> None:
    gone = Failure(call="chdir", errno=2, message="[Errno 2] the directory was moved or removed: '/srv/.fstui-1'")
    failed = replace(step(), status="failed", error=gone, ops=0, syncs=0)
    judgement = verdict(on_disk(filesystem()), failed, failed)
    assert judgement.verdict == "cannot-tell"
    assert "First error: chdir: the directory was moved or removed: '/srv/.fstui-1'" in judgement.sentence


FORCED = step("log", sync="none", open_flags=("direct", "dsync"), flushes=0)


@pytest.mark.parametrize(
    ("where", "done", "words_"),
    [
        (target(filesystem(below=())), step(), "fstui knows no device of this host"),
        (
            on_disk(filesystem(), disk(write_cache="write through")),
            step(flushes=0),
            "The only evidence is the kernel's setting: the kernel considers sda “write through” and sends no flush.",
        ),
        (
            on_disk(
                filesystem(), disk(write_cache="write through", link="virtio", readings=readings(drive_cache="off"))
            ),
            step(flushes=0),
            "The only evidence is the kernel's setting, and what sda reports: the kernel considers",
        ),
        (on_disk(filesystem(device_unseen="/dev/sdz")), step(), "the filesystem has devices that are not known"),
        (on_disk(filesystem(), disk(fua=True)), FORCED, "cause no flush that the device counts"),
        (on_disk(filesystem(), disk(counted=False)), step(flushes=None, share=None), "no flushes are counted for sda"),
        (
            on_array(disk(counted=False), disk("sdb", counted=False)),
            step(flushes=None, share=None),
            "no flushes are counted for sda and sdb",
        ),
        (
            on_disk(filesystem(), disk(counted=False, readings=readings(iostats="0"))),
            step(flushes=None, share=None),
            "iostats",
        ),
        (
            on_disk(filesystem(), disk(kind="dm-linear", counted=False, reason="a driver without a queue")),
            step(flushes=None, share=None),
            "no request queue counts flushes for sda. sda: a driver without a queue.",
        ),
    ],
    ids=[
        *("no device", "write through", "it reports no cache", "unknown device", "FUA writes", "not counted"),
        *("two disks", "off", "no queue"),
    ],
)
def test_undecided_run_says_why(where: Target, done: Step, words_: str) -> None:
    judgement = verdict(where, done)
    assert judgement.verdict == "cannot-tell"
    assert words_ in judgement.sentence
    assert leading_finding(judgement.findings) == judgement.findings[-1]
    assert judgement.findings[-1].next[-1].startswith("Until then")


def test_slow_run_with_few_syncs_advises_longer_steps() -> None:
    found = verdict(on_disk(filesystem()), step(ops=15, rate=3.0)).findings[-1]
    assert "The maximum here was 15: run fsync-rate with more seconds per step." in found.sentence
    assert "--set seconds=30" in found.next[0]


def test_slow_check_advises_the_scenario_that_lasts_until_it_has_syncs() -> None:
    found = verdict(on_disk(filesystem()), step(ops=15, rate=10.0, enough_ops=500)).findings[-1]
    assert found.sentence.endswith("The maximum here was 15: run fsync-rate.")
    assert found.next[0].startswith("Run fsync-rate there: on slow storage") and "--set" not in found.next[0]


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
