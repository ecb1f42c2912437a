"""The table of configurations that drop syncs: each outcome is found and worded, and the file has no mistake."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fstui.judge import Case, judge
from fstui.judge.defects import defects
from fstui.judge.facts.conditions import CONDITIONS
from fstui.model.counters import DeviceCounters
from fstui.model.run import Evidence
from fstui.model.storage import Medium, Node
from tests.factories.evidence import evidence, finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, on_disk, readings, target

OFF = filesystem(barrier="nobarrier")
CHECKED = filesystem("btrfs", below=("sda", "sdb"), level="raid1", metadata_level="raid1")
PROTECTED = disk(medium=Medium(class_="ssd-plp", write_cache="plp"))
VOLUME = disk(link="scsi", readings=readings(cache_type="write back", controller="stex"))
TOLD_THROUGH = disk(write_cache="write through", readings=readings(vwc="present"))
TOLD_VOLUME = disk(
    link="scsi", write_cache="write through", readings=readings(cache_type="write back", controller="stex")
)
POOL = Node(id="pool:tank", layer="pool", kind="zpool", name="tank", below=("sda",))
UNCOMMITTED = step(changes={"counters": (DeviceCounters(device="mount:/tank", commits=0),)})
ON_DM, ON_LOOP = filesystem(below=("dm-0",)), filesystem(below=("loop0",))


def on(*stack: Node) -> Evidence:
    return evidence(target(*stack))


def mapped(kind: str, **told: str) -> Evidence:
    return on(ON_DM, block("dm-0", kind, "sda", readings=readings(**told)), disk())


EXAMPLES = {
    ("in-memory", "lost"): on(filesystem("tmpfs", below=())),
    ("in-memory", "copied"): on(CHECKED, disk(), block("sdb", "zram", lowest=True)),
    ("overlay-volatile", "volatile"): on(filesystem("overlay", volatile="fsync=volatile", below=())),
    ("zfs-sync-off", "disabled"): on(filesystem("zfs", "/tank", sync="disabled"), disk()),
    ("zfs-sync-off", "uncommitted"): evidence(
        target(filesystem("zfs", "/tank", below=("pool:tank",)), POOL, disk()), UNCOMMITTED
    ),
    ("barriers-off", "volatile_cache"): on(OFF, disk()),
    ("barriers-off", "copied"): on(
        filesystem("btrfs", below=("loop0", "sdb"), level="raid1", metadata_level="raid1"),
        disk("loop0", kind="loop", lowest=False, below=("mount:/images",), readings=readings(dio="1")),
        disk("sdb"),
        filesystem(name="/images", barrier="nobarrier"),
        disk(),
    ),
    ("barriers-off", "unknown_controller"): on(OFF, VOLUME),
    ("barriers-off", "protected_cache"): on(OFF, PROTECTED),
    ("barriers-off", "no_cache"): on(OFF, disk(write_cache="write through")),
    ("barriers-off", "silent_host"): on(OFF, disk(write_cache="write through", readings=readings(F_FLUSH="no"))),
    ("barriers-off", "unknown_cache"): on(OFF, disk(write_cache=None)),
    ("write-through-override", "lost"): on(filesystem(), TOLD_THROUGH),
    ("write-through-override", "unknown_controller"): on(filesystem(), TOLD_VOLUME),
    ("write-through-override", "copied"): on(CHECKED, TOLD_THROUGH, disk("sdb")),
    ("transient-snapshot", "forgotten"): mapped("dm-snapshot", persistent="no"),
    ("deleted-file", "perhaps_deleted"): on(
        ON_LOOP, block("loop0", "loop", readings=readings(backing_file="/srv/a.img (deleted)"))
    ),
    ("syncs-not-sent", "unsent"): on(filesystem("cifs", below=(), strict_sync="no")),
    ("zfs-log-ignored", "ignored"): on(filesystem("zfs", "/tank", zil_replay_disable="1"), disk()),
}


def test_each_outcome_has_an_example_and_each_condition_an_outcome() -> None:
    outcomes = [(defect.name, outcome) for defect in defects().values() for outcome in defect.outcomes]
    assert sorted(EXAMPLES) == sorted(outcomes)
    assert {defect.condition for defect in defects().values()} == {None, *CONDITIONS}


@pytest.mark.parametrize(("name", "outcome"), EXAMPLES, ids=map(" ".join, EXAMPLES))
def test_a_configuration_has_the_outcome_that_the_file_describes(name: str, outcome: str) -> None:
    seen = EXAMPLES[name, outcome]
    found = [hit.outcome for defect, hit in Case(seen).configuration.defects if defect.name == name]
    assert found == [outcome]
    said, told = finding(judge(seen), name), defects()[name].outcomes[outcome]
    confidences = {told.confidence, *(("low",) if told.low_unless_vouched else ())}
    assert said.verdict == told.verdict and said.confidence in confidences
    assert said.sentence.endswith(".") and said.because and said.next
    assert not any(mark in text for text in (said.title, said.sentence, *said.next) for mark in "{}\n")


@pytest.mark.parametrize("name", [name for name, outcome in EXAMPLES if defects()[name].outcomes[outcome].values])
def test_a_reading_that_changed_during_the_run_accuses_no_one(name: str) -> None:
    seen = next(seen for (each, _), seen in EXAMPLES.items() if each == name)
    assert seen.target is not None
    layer = next(node for node in seen.target.stack if node.reading(defects()[name].reading or ""))
    changed = step(status="disturbed", changes={"changed": (f"{layer.id}: {defects()[name].reading} before → after",)})
    assert name not in rules(judge(replace(seen, steps=(changed,))))


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("overlay-volatile", on(filesystem("overlay", below=()))),
        ("overlay-volatile", on(filesystem("xfs", volatile="volatile", below=()))),
        ("zfs-sync-off", on(filesystem("zfs", "/tank", sync="standard"), disk())),
        ("zfs-log-ignored", on(filesystem("zfs", "/tank", zil_replay_disable="0"), disk())),
        ("zfs-log-ignored", on(filesystem("xfs", zil_replay_disable="1"), disk())),
        ("transient-snapshot", mapped("dm-snapshot", persistent="yes")),
        ("transient-snapshot", mapped("dm-snapshot")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_another_value_or_layer_is_no_defect(name: str, seen: Evidence) -> None:
    assert name not in rules(judge(seen))


@pytest.mark.parametrize("name", ["overlay-volatile", "zfs-log-ignored", "transient-snapshot"])
def test_what_was_measured_is_in_the_sentence_and_nothing_without_steps(name: str) -> None:
    seen = next(seen for (each, _), seen in EXAMPLES.items() if each == name)
    measured = replace(seen, steps=(step(),))
    assert "(2 000 syncs a second)" in finding(judge(measured), name).sentence
    assert "second" not in finding(judge(seen), name).sentence


def test_the_upper_directory_of_an_overlay_is_where_to_run_next() -> None:
    overlay = filesystem("overlay", "/merged", below=("mount:/srv",), volatile="volatile", upperdir="/srv/up per")
    judgement = verdict(target(overlay, *on_disk().stack), step(flushes=0, share=0))
    assert rules(judgement) == {"overlay-volatile"}
    assert finding(judgement, "overlay-volatile").next[0].endswith("fstui run fsync-rate '/srv/up per'")
