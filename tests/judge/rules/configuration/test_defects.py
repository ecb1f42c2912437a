"""Each outcome of the table of defects has an example, a finding in words, and a page."""

from typing import Any

import pytest
from msgspec.structs import replace

from fstui.judge import Case, explain, judge
from fstui.judge.defects import defects
from fstui.judge.facts.configuration import CONDITIONS
from fstui.model.counters import DeviceCounters
from fstui.model.host import Process
from fstui.model.run import Evidence
from fstui.model.storage import Medium, Node, Target
from tests.factories.evidence import GUEST, METAL, evidence, finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, loop, on_disk, on_loop, readings, target

OFF = filesystem(barrier="nobarrier")
CHECKED = filesystem("btrfs", below=("sda", "sdb"), level="raid1", metadata_level="raid1")
PROTECTED = disk(medium=Medium(class_="ssd-plp", write_cache="plp"))
VOLUME = disk(link="scsi", readings=readings(cache_type="write back", controller="stex"))
TOLD_THROUGH = disk(write_cache="write through", readings=readings(vwc="present"))
TOLD_VOLUME = replace(VOLUME, write_cache="write through")
SERVED = disk("rbd0", kind="rbd")
POOL = Node(id="pool:tank", layer="pool", kind="zpool", name="tank", below=("sda",))
DATASET = filesystem("zfs", "/tank", below=("pool:tank",))
UNCOMMITTED = step(changes={"counters": (DeviceCounters(device="mount:/tank", commits=0),)})
ON_DM, ON_LOOP = filesystem(below=("dm-0",)), filesystem(below=("loop0",))
PARITY = block("md0", "md", "sda", readings=readings(level="raid5", consistency_policy="ppl"))
ZRAM = disk("zram0", kind="zram")


def on(*stack: Node) -> Evidence:
    return evidence(target(*stack))


def mapped(kind: str, **read: str) -> Evidence:
    return on(ON_DM, block("dm-0", kind, "sda", readings=readings(**read)), disk())


EXAMPLES = {
    ("in-memory", "lost"): on(filesystem("tmpfs", below=())),
    ("in-memory", "copied"): on(CHECKED, disk(), block("sdb", "zram", lowest=True)),
    ("overlay-volatile", "volatile"): on(filesystem("overlay", volatile="fsync=volatile", below=())),
    ("zfs-sync-off", "disabled"): on(filesystem("zfs", "/tank", sync="disabled"), disk()),
    ("zfs-sync-off", "uncommitted"): evidence(target(DATASET, POOL, disk()), UNCOMMITTED),
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
    ("barriers-off", "unknown_cache"): on(OFF, disk(write_cache=None)),
    ("write-through-override", "lost"): on(filesystem(), TOLD_THROUGH),
    ("write-through-override", "perhaps_protected"): on(
        filesystem(), replace(TOLD_THROUGH, medium=Medium(class_="ssd", write_cache="volatile"))
    ),
    ("write-through-override", "unknown_controller"): on(filesystem(), TOLD_VOLUME),
    ("write-through-override", "unknown_server"): on(
        ON_DM, block("dm-0", "dm-linear", "rbd0", write_cache="write through"), SERVED
    ),
    ("write-through-override", "copied"): on(CHECKED, TOLD_THROUGH, disk("sdb")),
    ("transient-snapshot", "forgotten"): mapped("dm-snapshot", persistent="no"),
    ("deleted-file", "perhaps_deleted"): on(
        ON_LOOP, block("loop0", "loop", readings=readings(backing_file="/srv/a.img (deleted)"))
    ),
    ("syncs-not-sent", "skipped"): on(filesystem("cifs", below=(), strict_sync="no")),
    ("syncs-not-sent", "late"): on(filesystem(below=("md0",)), PARITY, disk()),
    ("syncs-not-sent", "late_but_safe"): on(filesystem(below=("md0",)), PARITY, PROTECTED),
    ("zfs-log-ignored", "ignored"): on(filesystem("zfs", "/tank", zil_replay_disable="1"), disk()),
}


def test_each_outcome_and_each_condition_has_an_example() -> None:
    outcomes = [(defect.name, outcome) for defect in defects().values() for outcome in defect.outcomes]
    assert sorted(EXAMPLES) == sorted(outcomes)
    assert {defect.condition for defect in defects().values()} == {None, *CONDITIONS}


@pytest.mark.parametrize(("name", "outcome"), EXAMPLES, ids=map(" ".join, EXAMPLES))
def test_finding_is_as_the_file_describes(name: str, outcome: str) -> None:
    seen = EXAMPLES[name, outcome]
    found = [hit.outcome for defect, hit in Case(seen).configuration.defects if defect.name == name]
    assert found == [outcome]
    said, expected = finding(judge(seen), name), defects()[name].outcomes[outcome]
    confidences = {expected.confidence, *(("low",) if expected.low_unless_verified else ())}
    assert said.verdict == expected.verdict and said.confidence in confidences
    assert said.sentence.endswith(".") and said.because and said.next
    assert not any(mark in text for text in (said.title, said.sentence, *said.next) for mark in "{}\n")


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("overlay-volatile", on(filesystem("overlay", below=()))),
        ("overlay-volatile", on(filesystem("overlay", volatile="no", below=()))),
        ("overlay-volatile", on(filesystem("xfs", volatile="volatile", below=()))),
        ("zfs-log-ignored", on(filesystem("zfs", "/tank", zil_replay_disable="0"), disk())),
        ("zfs-log-ignored", on(filesystem("xfs", zil_replay_disable="1"), disk())),
        ("transient-snapshot", mapped("dm-snapshot", persistent="yes")),
        ("transient-snapshot", mapped("dm-snapshot")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_another_value_or_layer_is_no_defect(name: str, seen: Evidence) -> None:
    assert name not in rules(judge(seen))


@pytest.mark.parametrize("rule", [name for name, outcome in EXAMPLES if defects()[name].outcomes[outcome].values])
def test_reading_that_changed_during_the_run_is_no_defect(rule: str) -> None:
    seen = next(seen for (each, _), seen in EXAMPLES.items() if each == rule)
    assert seen.target is not None
    layer = next(node for node in seen.target.stack if node.reading(defects()[rule].reading or ""))
    changed = step(status="disturbed", changes={"changed": (f"{layer.id}: {defects()[rule].reading} before → after",)})
    assert rule not in rules(judge(replace(seen, steps=(changed,))))


@pytest.mark.parametrize("name", ["overlay-volatile", "zfs-log-ignored", "transient-snapshot"])
def test_sentence_has_the_measured_rate_if_there_are_steps(name: str) -> None:
    seen = next(seen for (each, _), seen in EXAMPLES.items() if each == name)
    measured = replace(seen, steps=(step(),))
    assert "(2\xa0000 syncs a second)" in finding(judge(measured), name).sentence
    assert "second" not in finding(judge(seen), name).sentence


def test_overlay_names_its_upper_directory_as_the_next_target() -> None:
    overlay = filesystem("overlay", "/merged", below=("mount:/srv",), volatile="volatile", upperdir="/srv/up per")
    judgement = verdict(target(overlay, *on_disk().stack), step(flushes=0, share=0))
    assert rules(judgement) == {"overlay-volatile"}
    assert finding(judgement, "overlay-volatile").next[0].endswith("fstui run fsync-rate '/srv/up per'")


@pytest.mark.parametrize(("found", "named"), [("/srv/upper", "/srv/upper"), (None, "DIR', with its upper")])
def test_a_relative_upper_directory_is_not_a_next_step(found: str | None, named: str) -> None:
    readings_ = {"upperdir": "upper", **({"upperdir_at": found} if found else {})}
    overlay = filesystem("overlay", "/merged", below=("mount:/srv",), volatile="volatile", **readings_)
    judgement = verdict(target(overlay, *on_disk().stack), step(flushes=0, share=0))
    assert f"fstui run fsync-rate {named}" in finding(judgement, "overlay-volatile").next[0]


@pytest.mark.parametrize("flushes", [0, 2.7], ids=["quiet", "next to a neighbour that commits"])
def test_barriers_off_is_the_only_finding_about_flushes(flushes: float) -> None:
    judgement = verdict(on_disk(OFF), step(flushes=flushes))
    assert "flushes-arrive" not in rules(judgement) and "flushes-missing" not in rules(judgement)
    found = finding(judgement, "barriers-off")
    assert (found.verdict, found.confidence, judgement.verdict) == ("not-durable", "high", "not-durable")
    assert "/srv sends no flushes (barriers off) to sda, whose write cache is on" in found.sentence
    assert found.next == ("Turn barriers on: 'mount -o remount,barrier=1 /srv'. Then run fsync-rate there.",)
    assert "sda write cache: write back (/sys/block/sda/queue/write_cache)" in found.because


@pytest.mark.parametrize(("device", "confidence"), [
    (disk(medium=Medium(class_="raid-cache")), "low"),
    (PROTECTED, "medium"),
    (disk(write_cache="write through"), "low"),
], ids=["controller", "drive", "no cache"])  # fmt: skip
def test_without_barriers_a_protected_cache_is_plausible(device: Node, confidence: str) -> None:
    judgement = verdict(on_disk(OFF, device), step(flushes=0))
    assert (judgement.verdict, judgement.confidence) == ("plausible", confidence)
    assert rules(judgement) == {"barriers-off"}


@pytest.mark.parametrize(("where", "line"), [
    (on_disk(OFF, disk(medium=Medium(class_="ssd-plp", write_cache="plp", because="the model says so"))),
     "sda write cache: write back (/sys/block/sda/queue/write_cache), the model says so"),
    (on_disk(OFF, disk(write_cache=None, counted=False, readings=readings(cache_type="write back"))),
     "sda cache_type: write back (/read/cache_type)"),
    (on_disk(OFF, TOLD_VOLUME), "sda cache_type: write back (/read/cache_type)"),
    (on_loop(device=loop(write_cache="write through")),
     "sda write cache: write back (/sys/block/sda/queue/write_cache)"),
    (on_loop(device=loop(dio="0", write_cache="write through"), below=disk(write_cache="write through")),
     "loop0: keeps what it writes in the page cache until it is flushed (no direct-io)"),
])  # fmt: skip
def test_evidence_names_the_source_of_each_cache(where: Target, line: str) -> None:
    assert line in verdict(where).findings[0].because


def test_override_is_the_only_finding_about_flushes() -> None:
    judgement = verdict(on_disk(None, TOLD_THROUGH), step(flushes=0))
    assert rules(judgement) == {"write-through-override"}
    assert "sda" in finding(judgement, "write-through-override").title
    protected = replace(TOLD_THROUGH, medium=PROTECTED.medium)
    assert "write-through-override" not in rules(verdict(on_disk(None, protected)))


def test_barriers_of_zfs_are_switched_on_where_they_were_set() -> None:
    pool = Node(id="pool:tank", layer="pool", kind="zfs", name="tank", lowest=True)
    zfs = filesystem("zfs", below=("pool:tank",), barrier="nobarrier")
    found = finding(verdict(target(zfs, pool)), "barriers-off")
    assert found.next[0].startswith("Turn barriers on: 'echo 0 > /read/barrier'.")


@pytest.mark.parametrize(("offered", "expected"), [("no", "cannot-tell"), ("yes", "plausible")])
def test_no_barriers_on_a_host_without_flush_says_nothing(offered: str, expected: str) -> None:
    virtual = disk("vda", link="virtio", write_cache="write through", readings=readings(F_FLUSH=offered))
    stack = on_disk(filesystem(below=("vda",), barrier="nobarrier"), virtual)
    assert finding(verdict(stack, host=GUEST), "barriers-off").verdict == expected


def test_loop_in_memory_is_not_durable_although_flushes_arrive() -> None:
    memory = Node(id="memory:tmpfs", layer="memory", kind="tmpfs", name="memory", lowest=True)
    stack = on_loop(filesystem("tmpfs", "/", below=(memory.id,))).stack[:4]
    judgement = verdict(target(*stack, memory), step(device="loop0"))
    assert (judgement.verdict, rules(judgement)) == ("not-durable", {"in-memory"})


@pytest.mark.parametrize(
    ("device", "title", "because"),
    [
        (
            disk(medium=Medium(class_="memory", because="the model says so")),
            "in memory (sda)",
            "sda: medium memory, write cache unknown (the model says so)",
        ),
        (
            disk(medium=Medium(class_="memory", declared=True)),
            "in memory (sda)",
            "sda: medium memory, write cache unknown (declared by you)",
        ),
        (disk(kind="zram", medium=Medium(class_="hdd-7200", declared=True)), "in memory (zram)", "sda: zram"),
    ],
    ids=["by its model", "declared", "by its kind"],
)
def test_memory_is_named_with_its_source(device: Node, title: str, because: str) -> None:
    found = finding(verdict(on_disk(None, device)), "in-memory")
    assert (found.title, found.because) == (title, (because,))


def test_cache_in_memory_is_not_called_an_array() -> None:
    roles = {"sda": "origin", "zram0": "cache"}
    cache = block("dm-0", "dm-cache", "sda", "zram0", readings=readings(cache_mode="writethrough"), below_roles=roles)
    found = finding(verdict(target(ON_DM, cache, disk(), ZRAM)), "in-memory")
    assert found.verdict is None
    assert "a cache starts empty" in found.sentence


def test_partial_parity_log_is_not_to_be_removed() -> None:
    """Without it a power cut during a write leaves parity that does not match (the write hole)."""
    judgement = verdict(target(filesystem(below=("md0",)), PARITY, disk()), step(flushes=0.3))
    assert (judgement.verdict, judgement.confidence) == ("not-durable", "medium")
    assert not any("consistency-policy" in line for line in finding(judgement, "syncs-not-sent").next)


@pytest.mark.parametrize("changes", [{"medium": PROTECTED.medium}, {"write_cache": "write through"}])
def test_partial_parity_log_over_safe_members_is_plausible(changes: dict[str, Any]) -> None:
    judgement = verdict(target(filesystem(below=("md0",)), PARITY, disk(**changes)), step(flushes=0.3))
    assert (judgement.verdict, judgement.confidence) == ("plausible", "low")


def test_zfs_volume_below_another_filesystem_is_named() -> None:
    read = readings(volume="tank/data", sync="disabled")
    volume = Node(id="zd0", layer="block", kind="zvol", name="tank/data", lowest=True, readings=read)
    judgement = verdict(target(filesystem(below=("zd0",)), volume))
    assert "The volume tank/data acknowledges every sync at once" in judgement.sentence


def test_share_that_requests_no_flush_is_named_with_its_option() -> None:
    server = Node(id="remote://nas/x", layer="remote", kind="cifs", name="//nas/x", lowest=True)
    judgement = verdict(target(filesystem("cifs", below=(server.id,), strict_sync="no"), server), step())
    sentence = finding(judgement, "syncs-not-sent").sentence
    assert "nostrictsync" in sentence
    assert sentence.endswith("known to be on a disk (2\xa0000 syncs a second).")
    assert all(option in explain("syncs-not-sent") for option in ("nostrictsync", "partial parity log"))


@pytest.mark.parametrize("rule", ["sync-stubbed", "zfs-sync-off"])
def test_stubbed_process_is_named_instead_of_an_idle_intent_log(rule: str) -> None:
    seen = EXAMPLES["zfs-sync-off", "uncommitted"]
    judgement = judge(replace(seen, process=Process(pipe_fsync_fails=False), host=METAL))
    assert (rule in rules(judgement)) is (rule == "sync-stubbed")
