"""What is lost with the power, and what was only a copy."""

from __future__ import annotations

import pytest

from fstui.judge import judge
from fstui.model.run import Evidence
from fstui.model.storage import Medium, Node, Reading, Target
from tests.factories.storage import block, disk, filesystem, readings, target

LOGGED = {"sda": "mirror leg", "ram0": "log"}
LVM_LEG = {"sda": "stripe", "sdb": "stripe", "ram0": "stripe", "ram1": "metadata"}
JOURNALED = {"sda": "stripe", "sdb": "stripe", "sdc": "stripe", "ram0": "journal"}
CACHE = {"sda": "origin", "sdb": "cache", "ram0": "metadata"}
RAM, RAM1 = (
    disk(name, kind="ram", write_cache=None, counted=False, medium=Medium(class_="memory", write_cache="none"))
    for name in ("ram0", "ram1")
)


def verdicts(stack: Target) -> set[str | None]:
    """Of the rule, before anything was measured."""
    return {found.verdict for found in judge(Evidence(target=stack)).findings if found.rule == "in-memory"}


def array(kind: str, *below: str, roles: dict[str, str] | None = None, **facts: str) -> Node:
    return block("top", kind, *below, readings=readings(**facts), below_roles=roles or {})


@pytest.mark.parametrize(
    ("top", "more"),
    [
        (array("md", "sda", "ram0", level="raid1"), ()),
        (array("md", "sda", "sdb", "sdc", "ram0", level="raid10"), ("sdb", "sdc")),
        (array("md", "sda", "sdb", "ram0", level="raid5"), ("sdb",)),
        (array("dm-mirror", "sda", "ram0"), ()),
        (array("md", "sda", "ram0", level="raid0", roles={"ram0": "spare"}), ()),
        (array("dm-cache", "sda", "ram0", cache_mode="writethrough", roles={"sda": "origin", "ram0": "cache"}), ()),
        (array("dm-cache", "sda", "sdb", "ram0", cache_mode="writethrough", roles=CACHE), ("sdb",)),
        (array("bcache", "sda", "ram0", cache_mode="writethrough", roles={"sda": "origin", "ram0": "cache"}), ()),
        (array("dm-raid", "sda", "sdb", "ram0", "ram1", level="raid5", roles=LVM_LEG), ("sdb",)),
        (array("dm-mirror", "sda", "ram0", roles=LOGGED), ()),
        (array("dm-era", "sda", "ram0", roles={"sda": "origin", "ram0": "metadata"}), ()),
        (array("dm-log-writes", "sda", "ram0", roles={"sda": "data", "ram0": "log"}), ()),
    ],
    ids=["raid1", "raid10", "raid5", "mirror", "spare", "dm-cache writethrough", "its metadata", "bcache writethrough",
         "a leg and its metadata", "a mirror's log", "what changed when", "a log of writes"],
)  # fmt: skip
def test_what_is_elsewhere_too_is_not_lost(top: Node, more: tuple[str, ...]) -> None:
    stack = target(filesystem(below=("top",)), top, disk(), *map(disk, more), RAM, RAM1)
    assert verdicts(stack) == {None}


@pytest.mark.parametrize(
    "top",
    [
        array("md", "sda", "ram0", level="raid0"),
        array("dm-linear", "sda", "ram0"),
        array("dm-cache", "sda", "ram0", cache_mode="writeback", roles={"sda": "origin", "ram0": "cache"}),
        array("dm-cache", "sda", "ram0", cache_mode="writeback", roles=CACHE),
        array("dm-thin-pool", "sda", "ram0", roles={"sda": "data", "ram0": "metadata"}),
        array("dm-crypt", "ram0"),
    ],
    ids=["stripe", "segment", "write-back cache", "its metadata", "metadata", "alone"],
)
def test_what_is_nowhere_else_is_lost(top: Node) -> None:
    assert verdicts(target(filesystem(below=("top",)), top, disk(), RAM)) == {"not-durable"}


def test_both_legs_in_memory_are_none() -> None:
    stack = target(filesystem(below=("top",)), array("md", "ram0", "ram1", level="raid1"), RAM, RAM1)
    assert verdicts(stack) == {"not-durable"}


def test_a_log_on_a_disk_is_no_third_leg() -> None:
    mirror = array("dm-mirror", "sda", "ram0", "ram1", roles={"sda": "log", "ram0": "mirror leg", "ram1": "mirror leg"})
    assert verdicts(target(filesystem(below=("top",)), mirror, disk(), RAM, RAM1)) == {"not-durable"}


def test_the_journal_of_an_array_is_none_of_the_members_that_it_can_do_without() -> None:
    """What was answered is in the journal; the members' own caches are flushed later."""
    top = array("md", "sda", "sdb", "sdc", "ram0", level="raid5", roles=JOURNALED)
    assert verdicts(target(filesystem(below=("top",)), top, disk(), disk("sdb"), disk("sdc"), RAM)) == {"not-durable"}


def test_a_read_cache_of_zfs_in_memory_holds_nothing() -> None:
    pool = Node(
        id="pool:tank", layer="pool", kind="zpool", name="tank", below=("sda", "ram0"), below_roles={"ram0": "l2arc"}
    )
    assert verdicts(target(filesystem("zfs", "/tank", below=("pool:tank",)), pool, disk(), RAM)) == {None}


def test_btrfs_goes_on_without_one_member_of_its_mirror() -> None:
    for level, expected in {"raid1": None, "single": "not-durable"}.items():
        assert verdicts(target(filesystem("btrfs", below=("sda", "ram0"), level=level), disk(), RAM)) == {expected}


def test_btrfs_whose_metadata_lies_once_loses_it_with_a_member_in_memory() -> None:
    for metadata, expected in {"raid1": None, "single": "not-durable"}.items():
        top = filesystem("btrfs", below=("sda", "ram0"), level="raid1", metadata_level=metadata)
        assert verdicts(target(top, disk(), RAM)) == {expected}


@pytest.mark.parametrize(("alike", "said"), [
    (("sda ram0", "sdb ram1"), {None}), (("sda sdb", "ram0 ram1"), {"not-durable"}), ((), {"not-durable"}),
], ids=["one of each pair", "a pair", "not known"])  # fmt: skip
def test_a_raid10_can_do_without_one_of_each_pair(alike: tuple[str, ...], said: set[str | None]) -> None:
    told = (*readings(level="raid10"), *(Reading(what="copies", value=each, path="") for each in alike))
    raid10 = block("top", "md", "sda", "sdb", "ram0", "ram1", readings=told)
    assert verdicts(target(filesystem(below=("top",)), raid10, disk(), disk("sdb"), RAM, RAM1)) == said
