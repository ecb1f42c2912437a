"""All expected flushes, with and without other writers."""

from typing import Any

import pytest

from fstui.measure.kinds.sysbench import Sysbench
from fstui.model.counters import Idle
from fstui.model.host import Host
from fstui.model.steps import Step
from fstui.model.storage import Medium, Node, Target
from tests.factories.evidence import GUEST, METAL, busy, finding, quiet, rules, verdict
from tests.factories.steps import counted, step, traced
from tests.factories.storage import block, disk, filesystem, on_disk, on_loop, readings, target


@pytest.mark.parametrize(
    ("medium", "host", "confidence"),
    [
        (Medium(class_="ssd-plp", write_cache="plp"), METAL, "medium"),
        (Medium(class_="ssd-plp", write_cache="plp"), GUEST, "low"),
        (Medium(class_="ssd", write_cache="volatile"), METAL, "low"),
        (Medium(class_="network"), METAL, "low"),
        (Medium(), METAL, "low"),
    ],
)
def test_confidence_is_medium_only_above_a_safe_drive(medium: Medium, host: Host, confidence: str) -> None:
    """A drive that acknowledges a flush and ignores it counts it all the same."""
    on = on_disk(filesystem(), disk(medium=medium))
    found = finding(verdict(on, step(), host=host), "flushes-arrive")
    assert (found.verdict, found.confidence) == ("consistent", confidence)


def test_confidence_is_low_if_idle_or_a_layer_is_unknown() -> None:
    protected = disk(medium=Medium(class_="ssd-plp", write_cache="plp"))
    found = finding(verdict(on_disk(None, protected), step(), idle=None), "flushes-arrive")
    assert (found.verdict, found.confidence) == ("consistent", "low")
    assert any("idle: not measured" in line for line in found.evidence)
    both: dict[str, Any] = {"flushes": {"loop0": 1, "sda": 1}, "share": {"loop0": 1, "sda": 1}}
    for backing, confidence in (("ext4", "medium"), ("a-new-one", "low")):
        below = on_loop(filesystem(backing, name="/"), below=protected)
        assert finding(verdict(below, step(**both)), "flushes-arrive").confidence == confidence


@pytest.mark.parametrize(
    ("top", "fua", "flushes", "settings"),
    [
        (filesystem(), False, 1, {}),
        (filesystem(), True, 1, {}),
        (filesystem("xfs"), False, 1, {}),
        (filesystem(journal="no"), False, 1, {}),
        (filesystem(), False, 1.05, {"sync": "fsync"}),
        (filesystem(), False, 2.0, {"sync": "fsync"}),
        (filesystem(), False, 1, {"sync": "none", "open_flags": ("direct", "dsync")}),
        (filesystem(), True, 1, {"sync": "none", "open_flags": ("dsync",)}),
        (filesystem(), False, 1.9, {"sync": "none", "open_flags": ("sync",)}),
        (filesystem(), False, 2, {"offsets": "append", "prefill": "none"}),
        (filesystem(), True, 1, {"offsets": "append", "prefill": "none"}),
        (filesystem(), False, 2, {"prefill": "fallocate"}),
        (filesystem("btrfs"), False, 2, {"share": 5}),
        (filesystem("btrfs"), True, 1, {"share": 5, "sync": "fsync"}),
        (filesystem(data="journal"), False, 2, {"share": 5, "sync": "fsync"}),
        (filesystem(data="journal"), False, 3, {"share": 5}),
        (filesystem(data="journal"), True, 1, {"share": 5}),
        (filesystem(data="journal"), True, 3, {"share": 5, "sync": "fsync"}),
    ],
)
def test_expected_flushes_of_each_filesystem(top: Node, fua: bool, flushes: float, settings: dict[str, Any]) -> None:
    judgement = verdict(on_disk(top, disk(fua=fua)), step(flushes=flushes, **settings))
    assert rules(judgement) == {"flushes-arrive"}
    assert judgement.verdict == "consistent"


ARRAY = block("md0", "md", "sda", fua=True, write_cache="write back", readings=readings(level="linear"))
FSYNC = step("fsync", sync="fsync", flushes=1.9)


@pytest.mark.parametrize(
    ("where", "steps", "idle", "says"),
    [
        (
            target(filesystem(below=("md0",)), ARRAY, disk()),
            [step(flushes=1, sync="none", open_flags=("direct", "dsync"))],
            quiet(),
            "consistent",
        ),
        (None, [step(status="stopped", ops=20)], quiet(), "consistent"),
        (on_disk(None, disk(counted=False)), [step(flushes=0, share=0)], quiet(), "cannot-tell"),
        (None, [step()], busy("sda", 101), "cannot-tell"),
        (None, [step()], busy("sda", 99), "consistent"),
        (None, [step(flushes=1.04, share=1.04)], quiet(), "consistent"),
        (None, [step(flushes=1.06)], quiet(), "cannot-tell"),
        (None, [step(share=1.06)], quiet(), "cannot-tell"),
        (None, [step(flushes=0.85)], busy("sda", 1000), "not-durable"),
        (None, [FSYNC], quiet(), "consistent"),
        (None, [FSYNC, step(flushes=1.9)], quiet(), "cannot-tell"),
        (None, [step(ops=20, rate=20, flushes=1.1)], quiet(), "consistent"),  # a commit of two flushes every 5 s
        (None, [step(ops=20, rate=20, flushes=1.15)], quiet(), "cannot-tell"),
    ],
    ids=[
        *("md claims FUA, its disk has none", "stopped", "zeros without counters", "many flushes while idle"),
        *("few flushes while idle", "four percent more", "surplus flushes", "surplus bytes"),
        *("missing flushes next to others", "a range hides other writers"),
        *("an exact count shows them", "the filesystem's own commits", "more than its commits"),
    ],
)
def test_verdict_from_counters(where: Target | None, steps: list[Step], idle: Idle, says: str) -> None:
    assert verdict(where, *steps, idle=idle).verdict == says


@pytest.mark.parametrize(
    "unsuitable",
    [
        step(ops=19),
        step(writers=16, flushes=0.1, share=0.51),
        step(status="failed", flushes=0),
        step(status="skipped", flushes=0),
        step(sync="none", flushes=0, share=0),
        step(flushes=0, changes={"settings": Sysbench(server="mariadb")}),
        step(flushes=0.5, open_flags=("dsync",)),
    ],
    ids=["too few syncs", "16 writers", "failed", "skipped", "no sync", "another probe", "synced twice"],
)
def test_unsuitable_step_is_not_counted(unsuitable: Step) -> None:
    judgement = verdict(None, unsuitable)
    assert not rules(judgement) & {"flushes-arrive", "flushes-missing", "bytes-missing", "same-block-rotation"}
    assert judgement.verdict == "cannot-tell"
    assert "at least 20 times" in judgement.sentence


def test_twice_the_flushes_show_nothing() -> None:
    judgement = verdict(None, step(flushes=2.01))
    found = finding(judgement, "flushes-arrive")
    assert (found.verdict, found.confidence) == ("cannot-tell", "low")
    assert judgement.verdict == "cannot-tell"
    assert "2.01" in judgement.sentence
    assert "other-writers" in rules(judgement)


def test_other_writers_are_named() -> None:
    judgement = verdict(None, step(flushes=1.3), idle=busy("sda", 400, "mysqld", "journald"))
    assert "400 flushes/s" in judgement.sentence
    (advice,) = finding(judgement, "flushes-arrive").next
    assert advice.endswith("On this host, these write: mysqld and journald.")


def test_advice_on_other_writers_names_the_missing_trace() -> None:
    reason = "only root may trace the kernel"
    judgement = verdict(None, step(flushes=1.3), idle=busy("sda", 400, "mysqld"), untraced=reason)
    (advice,) = finding(judgement, "flushes-arrive").next
    assert "You need not stop mysqld" in advice
    assert (
        f"with the kernel's trace, which distinguishes fstui's own flushes. This run had no trace: {reason}." in advice
    )


def test_rare_flushes_while_idle_are_not_named_as_the_cause() -> None:
    """A layer may write a journal of its own: 1.57 flushes per sync, next to 0.7 flushes per second while idle."""
    judgement = verdict(None, step(flushes=1.57), idle=busy("sda", 1, "jbd2/dm-1-8"))
    assert judgement.sentence.startswith(
        "Another process wrote to sda during the run, or a layer between filesystem and disk adds flushes"
    )
    assert "jbd2" not in judgement.sentence


def test_noise_in_one_step_of_three_does_not_spoil_the_others() -> None:
    judgement = verdict(None, step("a"), step("b", flushes=1.5), step("c"))
    assert judgement.verdict == "consistent"
    assert judgement.findings[0].steps == ("a", "c")


def test_every_step_that_synced_is_counted() -> None:
    """On slow storage, several writers sync fewer than 20 times each."""
    slow = step("16 writers", ops=50, writers=16, flushes=0.3, share=1.0)
    assert "based on 2 of the 3 steps that sync (2.0 s)" in verdict(None, step("a"), step("b"), slow).sentence


def test_trace_attributes_flushes_next_to_other_writers() -> None:
    measured = step(flushes=3, share=2, changes={"trace": (traced(us=2000, others=4000, kernel=714),)})
    judgement = verdict(None, measured, idle=busy("sda", 900, "mysqld"))
    assert (judgement.verdict, judgement.confidence) == ("consistent", "low")
    assert judgement.sentence == (
        "Each of 2\xa0000 traced syncs sent one flush to sda; other programs sent 4\xa0000 and kernel threads sent "
        "714. This is based on 1.0 s of measurement; only a power cut proves more."
    )
    (line,) = finding(judgement, "flushes-arrive").evidence
    assert (
        line == "fdatasync: 2\xa0000 flushes or FUA writes for 2\xa0000 syncs at sda (1.00, 1 expected; fstui's "
        "own, according to the kernel's trace)"
    )
    assert "distinguishes their flushes from fstui's" in finding(judgement, "other-writers").sentence


def test_processes_are_not_said_to_write_to_the_device() -> None:
    """/proc/PID/io does not show to which device a process wrote."""
    judgement = verdict(None, step(flushes=1.3), idle=busy("sda", 400, "indexer"))
    assert "indexer" not in judgement.sentence


def test_too_few_own_flushes_on_btrfs_may_be_carried_by_others() -> None:
    seen = {"trace": (traced(us=500, fua=500, others=9000),)}
    judgement = verdict(on_disk(filesystem("btrfs")), step(flushes=5, share=9, changes=seen), idle=busy("sda", 900))
    assert judgement.verdict == "cannot-tell"
    assert "fstui itself requested 0.50 of them, according to the kernel's trace" in judgement.sentence


def test_flushes_delayed_by_an_io_limit_may_be_fstuis_own() -> None:
    seen = {"trace": (traced(us=400, kernel=100, others=9000),)}
    judgement = verdict(
        on_disk(filesystem(journal="no")), step(flushes=19, ops=500, changes=seen), idle=busy("sda", 900)
    )
    assert judgement.verdict == "cannot-tell"
    assert "a kernel thread or another process may have requested the rest" in judgement.sentence


def test_trace_covers_only_the_first_layer() -> None:
    lvm = target(filesystem(below=("dm-0",)), block("dm-0", "dm-linear", "sda"), disk())
    seen = (traced("dm-0", us=2000), traced(us=2000, others=4000))
    judgement = verdict(lvm, step(flushes=3, share=2, changes={"trace": seen}), idle=busy("sda", 900))
    assert (judgement.verdict, judgement.confidence) == ("consistent", "low")
    assert "syncs sent one flush to dm-0" in judgement.sentence
    assert "further down, at sda, its flushes cannot be identified" in judgement.sentence


def test_bytes_that_are_not_known_are_not_called_complete() -> None:
    busy_bytes = Idle(elapsed_s=2.0, counters=(counted("sda", 0, 64 << 20),))
    found = finding(verdict(None, step(share=1.01), idle=busy_bytes), "flushes-arrive")
    assert found.verdict == "consistent" and "arrived" not in found.sentence


def test_counters_are_preferred_on_a_quiet_device() -> None:
    fua = on_disk(None, disk(fua=True))
    plain = step(changes={"trace": (traced(us=2000),)})
    trace = (traced(fua=2000),)
    forced = step("O_DSYNC", flushes=0, sync="none", open_flags=("direct", "dsync"), changes={"trace": trace})
    found = finding(verdict(fua, plain, forced), "flushes-arrive")
    assert "and all 31.2 MiB arrived" in found.sentence
    assert found.evidence == (
        "fdatasync: 2\xa0000 flushes for 2\xa0000 syncs at sda (1.00, 1 expected; 2\xa0000 of them by fstui, according "
        "to the kernel's trace)",
        "O_DSYNC: 2\xa0000 flushes or FUA writes for 2\xa0000 syncs at sda (1.00, 1 expected; fstui's own, "
        "according to the kernel's trace)",
    )


def test_trace_replaces_a_device_without_counters() -> None:
    """queue/iostats may be 0."""
    blind = on_disk(None, disk(counted=False))
    assert verdict(blind, step(flushes=None, share=None)).verdict == "cannot-tell"
    judgement = verdict(blind, step(flushes=None, share=None, changes={"trace": (traced(us=2000),)}))
    assert (judgement.verdict, judgement.confidence) == ("consistent", "low")
    assert "Each of 2\xa0000 traced syncs sent one flush to sda. " in judgement.sentence


def test_unknown_layer_without_flushes_below_is_described() -> None:
    flakey = target(filesystem(below=("dm-0",)), block("dm-0", "dm-flakey", "sda"), disk())
    seen = (traced("dm-0", us=2000), traced())
    judgement = verdict(flakey, step(flushes=0.0, changes={"trace": seen}))
    assert judgement.verdict == "cannot-tell"
    assert "further down, no flush reached sda" in finding(judgement, "flushes-arrive").sentence
