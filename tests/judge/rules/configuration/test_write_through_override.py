"""The kernel was told that a cache is not there."""

from __future__ import annotations

import msgspec
import pytest

from fstui.model.storage import Medium, Node, Target
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, loop, on_disk, on_loop, readings, target


@pytest.mark.parametrize(
    "claim",
    [
        {"cache_type": "write back"},
        {"cache_type": "write back, no read (daft)"},
        {"cache_type": "temporary write back"},
    ],
)
def test_against_the_driver(claim: dict[str, str]) -> None:
    judgement = verdict(
        on_disk(filesystem(), disk(write_cache="write through", readings=readings(**claim))), step(flushes=0)
    )
    found = finding(judgement, "write-through-override")
    assert (found.verdict, found.confidence) == ("not-durable", "high")
    assert rules(judgement) == {"write-through-override"}


@pytest.mark.parametrize(
    ("below", "accuses"),
    [
        (disk(readings=readings(grade="array")), False),
        (disk(medium=Medium(class_="ssd-plp", write_cache="plp")), False),
        (disk(), True),
    ],
)
def test_of_a_volume_above_what_outlives_a_power_cut(below: Node, accuses: bool) -> None:
    volume = block("dm-0", "dm-linear", "sda", write_cache="write through")
    found = rules(verdict(target(filesystem(below=("dm-0",)), volume, below), step(flushes=0)))
    assert ("write-through-override" in found) is accuses


def test_against_udev_where_the_driver_says_nothing() -> None:
    overridden = disk(write_cache="write through", readings=readings(ID_ATA_WRITE_CACHE_ENABLED="1"))
    assert verdict(on_disk(filesystem(), overridden)).verdict == "not-durable"


def test_not_against_udev_where_the_driver_knows_better() -> None:
    switched_off = readings(ID_ATA_WRITE_CACHE_ENABLED="1", cache_type="write through")
    assert rules(verdict(on_disk(filesystem(), disk(write_cache="write through", readings=switched_off)))) == set()


def test_of_a_loop_over_a_disk_with_a_cache() -> None:
    stack = on_loop(device=loop(write_cache="write through"))
    judgement = verdict(stack, step(flushes={"loop0": 0, "sda": 0}))
    found = finding(judgement, "write-through-override")
    assert "loop0" in found.title
    assert any(line.startswith("sda") for line in found.because)
    assert rules(judgement) == {"write-through-override"}


def test_of_a_loop_whose_page_cache_is_the_cache() -> None:
    through = disk(write_cache="write through")
    buffered = on_loop(device=loop(dio="0", write_cache="write through"), below=through)
    direct = on_loop(device=loop(dio="1", write_cache="write through"), below=through)
    assert rules(verdict(buffered)) == {"write-through-override"}
    assert rules(verdict(direct)) == set()


@pytest.mark.parametrize(
    ("words", "hit"),
    [
        ({"drive_cache": "on"}, True),
        ({"drive_cache": "off", "cache_type": "write back"}, False),
        ({"vwc": "present"}, True),
        ({"vwc": "present", "drive_cache": "off"}, False),
        ({"vwc": "absent", "ID_ATA_WRITE_CACHE_ENABLED": "1"}, False),
        ({"cache_type": "write through", "ID_ATA_WRITE_CACHE_ENABLED": "1"}, False),
        ({"ID_ATA_WRITE_CACHE_ENABLED": "1"}, True),
    ],
    ids=["drive on", "drive off", "NVMe has one", "NVMe has one, off", "NVMe has none", "driver", "udev"],
)
def test_the_best_witness_of_the_drives_cache_counts_alone(words: dict[str, str], hit: bool) -> None:
    drive = disk(write_cache="write through", readings=readings(**words))
    assert ("write-through-override" in rules(verdict(on_disk(filesystem(), drive)))) is hit


def read_only_loop() -> Node:
    told = loop(write_cache="write through")
    return msgspec.structs.replace(told, readings=(*told.readings, *readings(ro="1")))


def test_not_of_a_read_only_loop() -> None:
    assert rules(verdict(on_loop(device=read_only_loop()))) == set()


def test_of_a_read_only_loop_that_is_written_to() -> None:
    """blockdev --setro beneath a dm device that was writable before keeps nobody from writing, and hid the override."""
    stack = on_loop(device=read_only_loop())
    same = block("dm-0", "dm-linear", "loop0")
    top = msgspec.structs.replace(stack.stack[0], below=("dm-0",))
    judgement = verdict(target(top, same, *stack.stack[1:]), step(flushes={"loop0": 0, "sda": 0}))
    assert finding(judgement, "write-through-override").verdict == "not-durable"


def test_not_of_a_read_only_loop_that_nobody_wrote_to_while_others_wrote_elsewhere() -> None:
    seen = step(flushes={"loop0": 0, "sda": 0}, share={"loop0": 0, "sda": 1})
    assert "write-through-override" not in rules(verdict(on_loop(device=read_only_loop()), seen))


def test_of_a_disk_that_says_that_it_is_not_read_only() -> None:
    told = disk(write_cache="write through", readings=readings(ro="0", cache_type="write back"))
    assert rules(verdict(on_disk(filesystem(), told))) == {"write-through-override"}


def test_what_is_memory_is_not_said_to_have_a_cache() -> None:
    told = disk(write_cache="write through", readings=readings(cache_type="write back"), medium=Medium(class_="memory"))
    assert rules(verdict(on_disk(filesystem(), told))) == {"in-memory"}
    tmpfs = filesystem("tmpfs", name="/", below=("memory:tmpfs",))
    memory = Node(id="memory:tmpfs", layer="memory", kind="tmpfs", name="memory", lowest=True)
    buffered = target(*on_loop(tmpfs, device=loop(dio="0", write_cache="write through")).stack[:4], memory)
    assert rules(verdict(buffered)) == {"in-memory"}


def test_names_the_disk_and_not_the_dm_that_computes_its_flag_from_it() -> None:
    top = filesystem(below=("dm-0",))
    linear = block("dm-0", "dm-linear", "sda", write_cache="write through")
    overridden = disk(write_cache="write through", readings=readings(cache_type="write back"))
    assert "sda" in finding(verdict(target(top, linear, overridden)), "write-through-override").title


@pytest.mark.parametrize(
    "stack",
    [
        target(
            filesystem(below=("dm-0",)),
            block("dm-0", "dm-linear", "sda", write_cache="write through"),
            disk(write_cache="write through"),
        ),
        target(
            filesystem(below=("md0",)),
            block("md0", "md", "sda", write_cache="write back"),
            disk(write_cache="write through"),
        ),
        on_disk(
            filesystem(below=("vda",)),
            disk("vda", link="virtio", write_cache="write through", readings=readings(cache_type="write through")),
        ),
    ],
    ids=["dm", "md always claims a cache", "virtio without a cache"],
)
def test_is_silent_where_nothing_contradicts(stack: Target) -> None:
    assert rules(verdict(stack)) == set()


MIRROR = {"level": "raid1", "metadata_level": "raid1"}
THROUGH, HONEST = disk("sdb", write_cache="write through", readings=readings(drive_cache="on")), disk("sda")


def overridden(top: Node, *below: Node) -> tuple[str | None, int]:
    """The worst verdict of the rule, and how many findings it has, where sda gets its flushes and the others none."""
    judgement = verdict(target(top, *below), step(flushes={"sda": 2.0, "sdb": 0}))
    found = [each for each in judgement.findings if each.rule == "write-through-override"]
    return next((each.verdict for each in found if each.verdict), None), len(found)


def test_of_a_copy_that_checksums_tell_from_the_right_one_it_is_a_note() -> None:
    assert overridden(filesystem("btrfs", below=("sda", "sdb"), **MIRROR), HONEST, THROUGH) == (None, 1)
    three = filesystem("btrfs", below=("sda", "sdb", "sdc"), level="raid1c3", metadata_level="raid1c3")
    other = disk("sdc", write_cache="write through", readings=readings(drive_cache="on"))
    assert overridden(three, HONEST, THROUGH, other) == (None, 2)


@pytest.mark.parametrize(
    "more",
    [{"level": "raid0"}, {"metadata_level": "single"}, {"checksums": "off"}, {"nocow_flag": "C"}],
    ids=["stripe", "metadata once", "nodatasum", "chattr +C"],
)
def test_of_a_member_without_a_checked_copy_it_accuses(more: dict[str, str]) -> None:
    top = filesystem("btrfs", below=("sda", "sdb"), **{**MIRROR, **more})
    assert overridden(top, HONEST, THROUGH) == ("not-durable", 1)


def test_of_both_legs_it_accuses() -> None:
    both = disk("sda", write_cache="write through", readings=readings(drive_cache="on"))
    assert overridden(filesystem("btrfs", below=("sda", "sdb"), **MIRROR), both, THROUGH) == ("not-durable", 2)


def test_of_a_leg_of_md_it_accuses_since_a_stale_copy_may_be_read() -> None:
    array = block("md0", "md", "sda", "sdb", readings=readings(level="raid1"))
    assert overridden(filesystem(below=("md0",)), array, HONEST, THROUGH) == ("not-durable", 1)


def test_of_a_write_through_cache_s_fast_device_it_accuses_since_its_stale_blocks_may_be_read() -> None:
    roles = {"sda": "origin", "sdb": "cache"}
    cached = block("dm-0", "dm-cache", "sda", "sdb", readings=readings(cache_mode="writethrough"), below_roles=roles)
    assert overridden(filesystem(below=("dm-0",)), cached, HONEST, THROUGH) == ("not-durable", 1)


@pytest.mark.parametrize(("requests", "head", "hit"), [
    ("yes", "write back", False), ("yes", "write through", True), ("no", "write back", True),
], ids=["whole requests", "none are sent", "bios"])  # fmt: skip
@pytest.mark.parametrize("kind", ["dm-multipath", "dm"])
def test_of_a_path_not_where_it_gets_whole_requests(kind: str, requests: str, head: str, hit: bool) -> None:
    """Their flushes were seen at the disk beneath, 60 for 60 syncs (Linux 6.12); root alone may read its target."""
    told = readings(request_based=requests)
    multipath = disk("dm-0", kind=kind, below=("sda", "sdb"), lowest=False, write_cache=head, readings=told)
    paths = (
        disk(name, write_cache="write through", readings=readings(cache_type="write back")) for name in ("sda", "sdb")
    )
    judgement = verdict(target(filesystem(below=("dm-0",)), multipath, *paths))
    assert ("write-through-override" in rules(judgement)) is hit


@pytest.mark.parametrize(("role", "hit"), [("origin", False), ("cow", True)])
def test_of_a_snapshots_origin_not_since_nothing_is_written_there(role: str, hit: bool) -> None:
    roles = {"sda": role, "sdb": "origin" if role == "cow" else "cow"}
    snapshot = block("dm-0", "dm-snapshot", "sda", "sdb", below_roles=roles)
    told = disk(write_cache="write through", readings=readings(drive_cache="on"))
    judged = verdict(target(filesystem(below=("dm-0",)), snapshot, told, disk("sdb")))
    assert ("write-through-override" in rules(judged)) is hit


@pytest.mark.parametrize(("legs", "hit"), [(("sda",), False), (("sda", "vda2"), True)])
def test_a_target_that_keeps_each_write_answers_for_what_lies_under_it_alone(legs: tuple[str, ...], hit: bool) -> None:
    array = block("md0", "md", *legs, readings=readings(level="raid0"), write_cache="write through")
    told = readings(store="O_DSYNC")
    served = disk("sda", below=("vda",), lowest=False, write_cache="write through", readings=told)
    nodes = (array, served, block("vda2", "partition", "vda"), disk("vda"))
    assert ("write-through-override" in rules(verdict(target(filesystem(below=("md0",)), *nodes)))) is hit


def test_a_volume_that_was_told_before_it_moved_was_told_all_the_same() -> None:
    told = block("dm-0", "dm-linear", "sda", write_cache="write through")
    moved = step(status="disturbed", changes={"changed": ("dm-0: stands on sda → sdb",)})
    judgement = verdict(target(filesystem(below=("dm-0",)), told, disk()), moved)
    assert finding(judgement, "write-through-override").verdict == "not-durable"
