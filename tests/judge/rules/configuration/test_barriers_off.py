"""Filesystems that send no flushes."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fstui.model.storage import Medium, MediumCache, MediumClass, Node, Target
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, on_disk, on_loop, readings, target

NOBARRIER = filesystem(barrier="nobarrier")


def test_above_a_write_cache_is_not_durable() -> None:
    judgement = verdict(on_disk(NOBARRIER), step(flushes=0))
    assert rules(judgement) == {"barriers-off"}  # flushes-missing would tell the same story twice
    found = finding(judgement, "barriers-off")
    assert (found.verdict, found.confidence) == ("not-durable", "high")
    assert "/srv sends no flushes (barriers off) to sda, whose write cache is on" in found.sentence
    assert found.next == ("mount -o remount,barrier=1 /srv, then run fsync-rate there.",)
    assert "sda write cache: write back (/sys/block/sda/queue/write_cache)" in found.because


def test_stays_so_beside_a_neighbour_that_commits() -> None:
    judgement = verdict(on_disk(NOBARRIER), step(flushes=2.7))
    assert judgement.verdict == "not-durable"
    assert "flushes-arrive" not in rules(judgement)


@pytest.mark.parametrize(
    ("class_", "cache", "confidence"), [("raid-cache", "unknown", "low"), ("ssd-plp", "plp", "medium")]
)
def test_above_a_protected_cache_is_plausible(class_: MediumClass, cache: MediumCache, confidence: str) -> None:
    protected = disk(medium=Medium(class_=class_, write_cache=cache))
    judgement = verdict(on_disk(NOBARRIER, protected), step(flushes=0))
    found = finding(judgement, "barriers-off")
    assert (found.verdict, found.confidence) == ("plausible", confidence)
    assert "battery" in found.next[0]
    assert rules(judgement) == {"barriers-off"}


@pytest.mark.parametrize(
    ("told", "verdict_then"),
    [
        ({}, "cannot-tell"),
        ({"grade": "raid"}, "not-durable"),
        ({"form_factor": "2"}, "not-durable"),
        ({"ID_ATA_WRITE_CACHE_ENABLED": "1"}, "not-durable"),
        ({"controller": "mpt3sas"}, "not-durable"),
        ({"controller": "arcmsr", "form_factor": "2", "grade": "consumer"}, "cannot-tell"),
        ({"controller": "arcmsr", "grade": "raid"}, "not-durable"),
    ],
    ids=[
        "unknown", "a controller without a cache, by its name", "a drive that it passes through",
        "one that answered udev", "an HBA", "Areca's cache may answer for a drive", "Areca's, by its name",
    ],
)  # fmt: skip
def test_a_volume_of_an_unknown_name_on_a_raid_controller_may_have_a_battery(
    told: dict[str, str], verdict_then: str
) -> None:
    volume = disk(link="scsi", model="Inspur PM8222", readings=readings(**{"controller": "smartpqi", **told}))
    found = finding(verdict(on_disk(NOBARRIER, volume), step(flushes=0)), "barriers-off")
    assert found.verdict == verdict_then
    assert ("whether its controller has a battery" in found.sentence) is (verdict_then == "cannot-tell")
    declared = replace(volume, medium=Medium(class_="hdd-7200", declared=True))
    assert finding(verdict(on_disk(NOBARRIER, declared)), "barriers-off").verdict == "not-durable"


@pytest.mark.parametrize(
    ("told", "expected"),
    [({}, "cannot-tell"), ({"grade": "array"}, "plausible"), ({"form_factor": "3"}, "not-durable")],
    ids=["unknown", "an array by its name", "a disk in a loop"],
)
def test_what_comes_by_fibre_channel_is_an_arrays(told: dict[str, str], expected: str) -> None:
    volume = disk(link="fc", model="ACME SAN", readings=readings(**told))
    assert finding(verdict(on_disk(NOBARRIER, volume), step(flushes=0)), "barriers-off").verdict == expected


@pytest.mark.parametrize(("controller", "expected"), [("mpt3sas", "not-durable"), ("megaraid_sas", "cannot-tell")])
def test_that_the_kernel_was_told_that_there_is_no_cache_makes_it_no_better(controller: str, expected: str) -> None:
    told = readings(cache_type="write back", controller=controller)
    judgement = verdict(on_disk(NOBARRIER, disk(link="scsi", write_cache="write through", readings=told)))
    found = finding(judgement, "barriers-off")
    assert (judgement.verdict, found.verdict) == (expected, expected)
    assert any("cache_type: write back" in line for line in found.because)
    assert finding(judgement, "write-through-override").verdict == expected


def test_a_volume_whose_cache_is_off_needs_no_battery() -> None:
    off = disk(link="scsi", write_cache="write through", readings=readings(controller="megaraid_sas"))
    assert finding(verdict(on_disk(NOBARRIER, off)), "barriers-off").verdict == "plausible"


def test_above_disks_without_caches_is_plausible() -> None:
    both = disk(write_cache="write through"), disk("sdb", write_cache="write through")
    # md always claims a write cache of its own
    array = block("md0", "md", "sda", "sdb", write_cache="write back", readings=readings(level="raid1"))
    top = filesystem(barrier="nobarrier", below=("md0",))
    found = finding(verdict(target(top, array, *both)), "barriers-off")
    assert (found.verdict, found.confidence) == ("plausible", "low")  # by their word alone


def test_of_the_filesystem_below_a_loop_counts_as_well() -> None:
    stack = on_loop(filesystem(name="/", barrier="nobarrier"))
    judgement = verdict(stack, step(flushes={"loop0": 1, "sda": 0}))
    assert judgement.verdict == "not-durable"
    assert "ext4 /" in finding(judgement, "barriers-off").sentence


@pytest.mark.parametrize(
    ("where", "words"),
    [
        (on_disk(NOBARRIER, disk(write_cache=None)), "does not say whether it has a write cache"),
        (target(filesystem(barrier="nobarrier", below=())), "does not say whether it has a write cache"),
        (
            on_disk(NOBARRIER, disk(write_cache="write through", readings=readings(F_FLUSH="no"))),
            "the host of sda offers none",
        ),
    ],
    ids=["not stated", "no device is seen", "a host that offers no flush"],
)
def test_above_caches_that_nobody_knows_cannot_be_told(where: Target, words: str) -> None:
    found = finding(verdict(where), "barriers-off")
    assert (found.verdict, found.confidence) == ("cannot-tell", "medium")
    assert words in found.sentence


def test_who_says_that_a_cache_is_protected_is_told_beside_it() -> None:
    protected = disk(medium=Medium(class_="ssd-plp", write_cache="plp", because="the model says so"))
    found = finding(verdict(on_disk(NOBARRIER, protected)), "barriers-off")
    assert found.because[1] == "sda write cache: write back (/sys/block/sda/queue/write_cache), the model says so"


@pytest.mark.parametrize(("driver", "expected"), [("write back", "not-durable"), ("write through", "plausible")])
def test_a_kernel_that_tells_no_cache_leaves_it_to_the_device(driver: str, expected: str) -> None:
    """Linux 3.10 has no queue/write_cache."""
    told = disk(write_cache=None, counted=False, readings=readings(cache_type=driver))
    found = finding(verdict(on_disk(NOBARRIER, told), step(flushes=None)), "barriers-off")
    assert found.verdict == expected
    assert any("cache_type" in line for line in found.because)


@pytest.mark.parametrize(("grade", "expected"), [("array", "plausible"), ("virtual", "not-durable")])
def test_above_an_array_is_plausible(grade: str, expected: str) -> None:
    volume = disk(link="fc", readings=readings(grade=grade))
    assert verdict(on_disk(NOBARRIER, volume), step(flushes=0)).verdict == expected


def pool(*below: str) -> Node:
    return Node(id="pool:tank", layer="pool", kind="zpool", name="tank", below=below or ("sda",))


def dataset(device: Node | None = None, **values: str) -> Target:
    top = filesystem("zfs", "/tank", below=("pool:tank",), **values)
    return target(top, pool(), device or disk())


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        (disk(), "not-durable"),
        (disk(medium=Medium(class_="ssd-plp", write_cache="plp")), "plausible"),
        (disk(write_cache="write through"), "plausible"),
    ],
    ids=["write back", "protected", "write through"],
)
def test_parameters_of_zfs_that_leave_flushes_out_count_as_well(device: Node, expected: str) -> None:
    judgement = verdict(dataset(device, barrier="nobarrier"))
    assert finding(judgement, "barriers-off").verdict == expected
    assert judgement.verdict == expected


def on_pool_of_a_file(barrier: str) -> Target:
    image = Node(
        id="file:/images/disk", layer="file", kind="backing-file", name="/images/disk", below=("mount:/images",)
    )
    below = filesystem(name="/images", barrier=barrier)
    return target(filesystem("zfs", "/tank", below=("pool:tank",)), pool(image.id), image, below, disk())


@pytest.mark.parametrize(("barrier", "says"), [("nobarrier", "not-durable"), ("barrier", "cannot-tell")])
def test_of_the_filesystem_that_holds_a_pools_file_counts_as_well(barrier: str, says: str) -> None:
    """Which file of a pool's a flush goes to is not known, so what is counted below accuses nobody."""
    where = on_pool_of_a_file(barrier)
    for flushes in (0, 1):
        assert verdict(where, step(flushes=flushes)).verdict == says


@pytest.mark.parametrize(
    ("told", "accuses"),
    [
        ({"sync": "always"}, False),
        ({"sync": "standard"}, True),
        ({"sync": "always", "zil_replay_disable": "1"}, True),
        ({"sync": "always", "barrier": "nobarrier"}, True),
    ],
    ids=["each write kept", "kept by flushes alone", "the log is not read", "the disks are not flushed"],
)
def test_a_zfs_volume_that_keeps_each_write_needs_no_flush(told: dict[str, str], accuses: bool) -> None:
    """sync=always: an overwrite is in the intent log before it is answered, with a flush after it or without."""
    volume = block("zd0", "zvol", "pool:tank", write_cache="write back", readings=readings(**told))
    where = target(filesystem(barrier="nobarrier", below=("zd0",)), volume, pool("sda"), disk())
    judgement = verdict(where, step(flushes=0))
    assert (judgement.verdict == "not-durable") is accuses


def test_of_zfs_is_undone_where_it_was_set() -> None:
    pool = Node(id="pool:tank", layer="pool", kind="zfs", name="tank", lowest=True)
    zfs = filesystem("zfs", below=("pool:tank",), barrier="nobarrier")
    assert finding(verdict(target(zfs, pool)), "barriers-off").next[0].startswith("echo 0 > /read/barrier")


@pytest.mark.parametrize(("metadata", "verdict_"), [("raid1", None), ("single", "not-durable")])
def test_beneath_one_member_of_a_checked_mirror_it_is_a_note(metadata: str, verdict_: str | None) -> None:
    """The file under one of two loop devices lies on a filesystem without barriers."""
    mirror = filesystem("btrfs", below=("loop0", "sdb"), level="raid1", metadata_level=metadata)
    below = filesystem(name="/images", barrier="nobarrier", below=("sda",))
    device = disk("loop0", kind="loop", lowest=False, below=(below.id,), readings=readings(dio="1"))
    stack = target(mirror, device, disk("sdb"), below, disk())
    judgement = verdict(stack, step(flushes={"loop0": 2.0, "sdb": 2.0, "sda": 0}))
    assert finding(judgement, "barriers-off").verdict == verdict_
    assert (judgement.verdict == "not-durable") is (verdict_ is not None)
