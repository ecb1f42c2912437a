"""Each outcome of the table of defects has an example, a finding in words, and a page."""

import pytest
from msgspec.structs import replace

from fstui.judge import judge
from fstui.judge.defects import defects
from fstui.judge.facts.configuration import CONDITIONS
from fstui.model.host import Process
from fstui.model.run import Evidence
from fstui.model.storage import Medium, Node, Target
from tests.factories.evidence import METAL, evidence, finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, loop, on_disk, on_loop, readings, target
from tests.judge.facts.test_configuration import MEMORY, ROWS, TMPFS

OFF = filesystem(barrier="nobarrier")
PROTECTED = disk(medium=Medium(class_="ssd-plp", write_cache="plp"))
TOLD_THROUGH = disk(write_cache="write through", readings=readings(drive_cache="on"))
TOLD_VOLUME = disk(
    link="scsi", write_cache="write through", readings=readings(cache_type="write back", controller="stex")
)
PARITY = block("md0", "md", "sda", readings=readings(level="raid5", consistency_policy="ppl"))
EXAMPLES = {
    (rule, outcomes[0]): seen if isinstance(seen, Evidence) else evidence(seen)
    for rule, _, seen, outcomes in reversed(ROWS)
    if len(outcomes) == 1
}
"""The first row of each outcome."""


def test_each_outcome_and_each_condition_has_an_example() -> None:
    outcomes = [(defect.name, outcome) for defect in defects().values() for outcome in defect.outcomes]
    assert sorted(EXAMPLES) == sorted(outcomes)
    assert {defect.condition for defect in defects().values()} == {None, *CONDITIONS}


@pytest.mark.parametrize(("name", "outcome"), EXAMPLES, ids=map(" ".join, EXAMPLES))
def test_finding_is_as_the_file_describes(name: str, outcome: str) -> None:
    said, expected = finding(judge(EXAMPLES[name, outcome]), name), defects()[name].outcomes[outcome]
    confidences = {expected.confidence, *(("low",) if expected.low_unless_verified else ())}
    assert said.verdict == expected.verdict and said.confidence in confidences
    assert said.sentence.endswith(".") and said.evidence and said.next
    if said.verdict == "cannot-tell":
        assert said.next[-1].startswith("Until then") or "Copy the data" in said.next[0]
    assert not any(mark in text for text in (said.title, said.sentence, *said.next) for mark in "{}\n")


@pytest.mark.parametrize(("rule", "outcome"), [key for key in EXAMPLES if defects()[key[0]].outcomes[key[1]].values])
def test_reading_that_changed_during_the_run_is_no_defect(rule: str, outcome: str) -> None:
    seen = EXAMPLES[rule, outcome]
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


@pytest.mark.parametrize(
    ("upper", "found", "named"),
    [("/srv/up per", None, "'/srv/up per'"), ("upper", "/srv/upper", "/srv/upper"), ("upper", None, "DIR', with its")],
    ids=["absolute", "relative, found", "relative"],
)
def test_overlay_names_its_upper_directory_as_the_next_target(upper: str, found: str | None, named: str) -> None:
    read = {"upperdir": upper, **({"upperdir_at": found} if found else {})}
    overlay = filesystem("overlay", "/merged", below=("mount:/srv",), volatile="volatile", **read)
    judgement = verdict(target(overlay, *on_disk().stack), step(flushes=0, share=0))
    assert rules(judgement) == {"overlay-volatile"}
    assert f"fstui run fsync-rate {named}" in finding(judgement, "overlay-volatile").next[0]


@pytest.mark.parametrize("flushes", [0, 2.7], ids=["quiet", "next to a neighbour that commits"])
def test_barriers_off_is_the_only_finding_about_flushes(flushes: float) -> None:
    judgement = verdict(on_disk(OFF), step(flushes=flushes))
    assert "flushes-arrive" not in rules(judgement) and "flushes-missing" not in rules(judgement)
    found = finding(judgement, "barriers-off")
    assert (found.verdict, found.confidence, judgement.verdict) == ("not-durable", "high", "not-durable")
    assert "/srv sends no flushes (barriers off) to sda, whose write cache is on" in found.sentence
    assert found.next == ("Turn barriers on: 'mount -o remount,barrier=1 /srv'. Then run fsync-rate there.",)
    assert "sda write cache: write back (/sys/block/sda/queue/write_cache)" in found.evidence


@pytest.mark.parametrize(
    ("where", "rule", "confidence"),
    [
        (on_disk(OFF, disk(medium=Medium(class_="raid-cache"))), "barriers-off", "low"),
        (on_disk(OFF, PROTECTED), "barriers-off", "medium"),
        (target(filesystem(below=("md0",)), PARITY, PROTECTED), "syncs-not-sent", "low"),
        (target(filesystem(below=("md0",)), PARITY, disk(write_cache="write through")), "syncs-not-sent", "low"),
    ],
    ids=["controller", "drive", "parity log over drives", "parity log over no caches"],
)
def test_missing_flushes_above_a_safe_cache_are_plausible(where: Target, rule: str, confidence: str) -> None:
    judgement = verdict(where, step(flushes=0.3 if rule == "syncs-not-sent" else 0))
    assert (judgement.verdict, judgement.confidence) == ("plausible", confidence)
    assert rules(judgement) - {"other-writers"} == {rule}


@pytest.mark.parametrize(("where", "line"), [
    (on_disk(OFF, disk(medium=Medium(class_="ssd-plp", write_cache="plp", reason="the model says so"))),
     "sda write cache: write back (/sys/block/sda/queue/write_cache), the model says so"),
    (on_disk(OFF, disk(write_cache=None, counted=False, readings=readings(cache_type="write back"))),
     "sda cache_type: write back (/read/cache_type)"),
    (on_disk(OFF, TOLD_VOLUME), "sda cache_type: write back (/read/cache_type)"),
    (on_loop(device=loop(write_cache="write through")),
     "sda write cache: write back (/sys/block/sda/queue/write_cache)"),
    (on_loop(device=loop(dio="0", write_cache="write through"), below=disk(write_cache="write through")),
     "loop0: its writes stay in the page cache until a flush (no direct-io)"),
])  # fmt: skip
def test_evidence_names_the_source_of_each_cache(where: Target, line: str) -> None:
    assert line in verdict(where).findings[0].evidence


def test_override_is_the_only_finding_about_flushes() -> None:
    judgement = verdict(on_disk(None, TOLD_THROUGH), step(flushes=0))
    assert rules(judgement) == {"write-through-override"}
    assert "sda" in finding(judgement, "write-through-override").title
    protected = replace(TOLD_THROUGH, medium=PROTECTED.medium)
    assert "write-through-override" not in rules(verdict(on_disk(None, protected)))


@pytest.mark.parametrize(("cache", "advice"), [
    (PROTECTED, "smartctl -a /dev/sda"),
    (disk(medium=Medium(class_="raid-cache")), "the write caches of the drives behind the controller"),
    (disk(link="fc", readings=readings(grade="array")), "the array's battery"),
])  # fmt: skip
def test_barriers_off_name_the_check_of_that_cache(cache: Node, advice: str) -> None:
    (line,) = finding(verdict(on_disk(OFF, cache)), "barriers-off").next
    assert advice in line and ("controller" in line) == ("controller" in advice)


@pytest.mark.parametrize("drive", [
    disk(write_cache="write through"), disk(write_cache="write through", link="usb"),
    disk(write_cache="write through", readings=readings(drive_cache="off")),
])  # fmt: skip
def test_barriers_change_nothing_if_the_kernel_sends_no_flush(drive: Node) -> None:
    on, off = (verdict(on_disk(top, drive), step(flushes=0)) for top in (filesystem(), OFF))
    assert (on.verdict, on.confidence) == (off.verdict, off.confidence)
    assert rules(off) - rules(on) == {"barriers-off"} and finding(off, "barriers-off").verdict is None


def test_barriers_of_zfs_are_switched_on_where_they_were_set() -> None:
    pool = Node(id="pool:tank", layer="pool", kind="zfs", name="tank", lowest=True)
    zfs = filesystem("zfs", below=("pool:tank",), barrier="nobarrier")
    found = finding(verdict(target(zfs, pool)), "barriers-off")
    assert found.next[0].startswith("Turn barriers on: 'echo 0 > /read/barrier'.")


def test_loop_in_memory_is_not_durable_although_flushes_arrive() -> None:
    judgement = verdict(target(*on_loop(TMPFS).stack[:4], MEMORY), step(device="loop0"))
    assert (judgement.verdict, rules(judgement)) == ("not-durable", {"in-memory"})


@pytest.mark.parametrize(
    ("device", "title", "evidence"),
    [
        (
            disk(medium=Medium(class_="memory", reason="the model says so")),
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
def test_memory_is_named_with_its_source(device: Node, title: str, evidence: str) -> None:
    found = finding(verdict(on_disk(None, device)), "in-memory")
    assert (found.title, found.evidence) == (title, (evidence,))


def test_partial_parity_log_is_not_to_be_removed() -> None:
    """Without it a power cut during a write leaves parity that does not match (the write hole)."""
    judgement = verdict(target(filesystem(below=("md0",)), PARITY, disk()), step(flushes=0.3))
    assert (judgement.verdict, judgement.confidence) == ("not-durable", "medium")
    assert not any("consistency-policy" in line for line in finding(judgement, "syncs-not-sent").next)


ORIGIN = {"sda": "origin", "zram0": "cache"}
CACHE = block("dm-0", "dm-cache", *ORIGIN, readings=readings(cache_mode="writethrough"), below_roles=ORIGIN)
ZVOL = Node(id="zd0", layer="block", kind="zvol", name="tank/data", lowest=True, readings=readings(sync="disabled"))


@pytest.mark.parametrize(
    ("where", "rule", "words"),
    [
        (target(filesystem(below=("dm-0",)), CACHE, disk(), disk("zram0", kind="zram")), "in-memory", "a cache starts"),
        (target(filesystem(below=("zd0",)), ZVOL), "zfs-sync-off", "The volume tank/data acknowledges every sync"),
        (target(filesystem("cifs", below=(), strict_sync="no")), "syncs-not-sent", "nostrictsync"),
        (
            target(filesystem("cifs", below=(), strict_sync="no")),
            "syncs-not-sent",
            "known to be on a disk (2\xa0000 syncs a second).",
        ),
    ],
    ids=["a cache is not called an array", "ZFS volume", "share", "rate of a share"],
)
def test_sentence_names_the_layer(where: Target, rule: str, words: str) -> None:
    assert words in finding(verdict(where, step()), rule).sentence


@pytest.mark.parametrize("rule", ["sync-stubbed", "zfs-sync-off"])
def test_stubbed_process_is_named_instead_of_an_idle_intent_log(rule: str) -> None:
    seen = EXAMPLES["zfs-sync-off", "uncommitted"]
    judgement = judge(replace(seen, process=Process(pipe_fsync_fails=False), host=METAL))
    assert (rule in rules(judgement)) is (rule == "sync-stubbed")
