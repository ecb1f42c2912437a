"""Conditions of the run that limit what its measurements show."""

from typing import Any

import pytest

from fstui.judge import judge
from fstui.model.host import Process
from fstui.model.run import Evidence
from fstui.model.storage import Reading, Target
from tests.factories.evidence import busy, finding, rules, verdict
from tests.factories.steps import step, traced
from tests.factories.storage import block, disk, filesystem, on_disk, readings, target


@pytest.mark.parametrize(("changed", "stack"), [
    ("mount:/srv: barrier barrier → nobarrier", on_disk(filesystem(barrier="barrier"))),
    ("mount:/srv: barrier nobarrier → barrier", on_disk(filesystem(barrier="nobarrier"))),
    ("sda: write cache write back → write through", on_disk(filesystem(), disk())),
    ("sda: write cache write through → write back",
     on_disk(filesystem(), disk(write_cache="write through", readings=readings(drive_cache="on")))),
    ("dm-0: stands on sda → zram0", target(filesystem(below=("dm-0",)), block("dm-0", "dm-linear", "sda"), disk())),
    ("bcache0: cache_mode writethrough → writeback", None),
    ("sda: iostats was written to", None),
])  # fmt: skip
@pytest.mark.parametrize("flushes", [0.2, 1])
def test_changed_storage_gives_cannot_tell(changed: str, stack: Target | None, flushes: float) -> None:
    """The last row is a line from older run documents."""
    disturbed = step("other", flushes=flushes, status="disturbed", changes={"changed": (changed,)})
    judgement = verdict(stack, step(), disturbed)
    assert (judgement.verdict, judgement.confidence) == ("cannot-tell", "high")
    found = finding(judgement, "disturbed")
    assert found.title == f"the storage changed in 1 step: {changed}"
    assert found.steps == ("other",)


def test_other_writers_are_counted_and_named() -> None:
    found = finding(verdict(idle=busy("sda", 3, "mysqld\x1b[2J")), "other-writers")
    assert (found.verdict, found.confidence) == (None, "low")
    assert "3.00 flushes/s" in found.title
    assert any("mysqld\x1b[2J (700)" in line for line in found.evidence)


@pytest.mark.parametrize(("others_per_s", "meaning"), [
    (3, "only on steps and layers where at most 5 % more arrived than expected."),
    (300, "too few flushes still prove a fault, but enough flushes prove nothing."),
])  # fmt: skip
def test_enough_flushes_are_evidence_if_others_send_few(others_per_s: int, meaning: str) -> None:
    judgement = verdict(None, step(), idle=busy("sda", others_per_s))
    assert finding(judgement, "other-writers").sentence.endswith(meaning)
    assert judgement.verdict == ("cannot-tell" if others_per_s == 300 else "consistent")


def test_trace_tells_flushes_apart_if_others_send_few() -> None:
    measured = step(changes={"trace": (traced(us=2000, others=6),)})
    found = finding(verdict(None, measured, idle=busy("sda", 3)), "other-writers")
    assert found.sentence.endswith("The kernel's trace distinguishes their flushes from fstui's.")


def test_writers_on_other_devices_do_not_count() -> None:
    assert rules(verdict(idle=busy("sdz", 300))) == set()


def test_additional_flushes_may_come_from_a_layer() -> None:
    """As those of an md array's journal."""
    found = finding(verdict(None, step(flushes=2.7)), "other-writers")
    assert found.title == "more flushes or bytes arrived than expected, during fdatasync"
    assert (
        "More flushes or bytes arrived at sda than expected. Either another process wrote there, though not while "
        "fstui was idle, or the filesystem or a lower layer adds writes of its own." in found.sentence
    )
    unseen = finding(verdict(None, step(flushes=2.7), idle=None), "other-writers")
    assert "another process wrote there, or the filesystem or a lower layer" in unseen.sentence
    neighbour = finding(verdict(None, step(flushes=2.7), idle=busy("sda", 300)), "other-writers")
    assert "While fstui was idle, other processes wrote to the same devices (sda 300 flushes/s" in neighbour.sentence


DEGRADED = Reading(what="degraded", value="1", path="/sys/block/md0/md/degraded")
STACK = target(filesystem(below=("md0",)), block("md0", "md", "sda", state=(DEGRADED,)), disk())


def test_degraded_stack_comes_first_in_the_sentence() -> None:
    judgement = verdict(STACK, step())
    assert judgement.sentence.startswith("The stack is degraded or faulty (md0 degraded: 1)")
    assert "syncs sent one flush to " in judgement.sentence
    found = finding(judgement, "stack-state")
    assert (found.verdict, found.evidence) == (None, ("md0 degraded: 1 (/sys/block/md0/md/degraded)",))


LIMIT = Reading(what="254:0 write_iops", value="100", path="/sys/fs/cgroup/blkio/db/blkio.throttle.write_iops_device")
STUB = Reading(what="preload", value="/usr/lib/libeatmydata.so", path="/proc/812/maps")


def test_cgroup_note_needs_the_option() -> None:
    assert judge(Evidence()).findings == ()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"cgroup": "/db", "io_limits": (LIMIT,), "seccomp": "off"}, f"254:0 write_iops 100 ({LIMIT.path})"),
        ({"seccomp": "filter"}, "seccomp filter"),
    ],
    ids=["limit", "seccomp"],
)
def test_restrictions_of_another_process_are_a_note(fields: dict[str, Any], words: str) -> None:
    (note,) = judge(Evidence(cgroup_process=Process(pid=812, name="mysqld", **fields))).findings
    assert (note.rule, note.verdict) == ("another-cgroup", None)
    assert "mysqld (812)" in note.title
    assert words in "\n".join((note.sentence, *note.evidence))


def test_stub_library_of_the_process_is_not_durable() -> None:
    judgement = judge(Evidence(cgroup_process=Process(pid=812, name="mysqld", preloads=(STUB,))))
    assert judgement.verdict == "not-durable"
    assert judgement.findings[0].rule == "sync-stubbed"
    assert "mysqld (812)" in judgement.sentence
