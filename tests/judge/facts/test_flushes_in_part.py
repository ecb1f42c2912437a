"""Syncs that come down as writes marked FUA, and as flushes that come with writes: to one of several disks alone."""

from __future__ import annotations

import pytest

from fstui.model.storage import Node
from tests.factories.evidence import quiet, verdict
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, readings, target

BOTH = (disk(), disk("sdb"))
LOG = disk("sda", readings=readings(role="log"))
IN_PART = {
    "md raid0": block("md0", "md", "sda", "sdb", readings=readings(level="raid0"), write_cache="write back", fua=True),
    "two stripes": block("md0", "dm-stripe", "sda", "sdb", write_cache="write back", fua=False),
    "two volumes": block("md0", "dm-linear", "sda", "sdb", write_cache="write back", fua=False),
}


@pytest.mark.parametrize("across", IN_PART.values(), ids=IN_PART)
def test_a_super_block_of_btrfs_lies_on_one_of_two_plain_disks(across: Node) -> None:
    """Its FUA write becomes a flush there alone: 1.00 and 2.00 flushes per sync (Linux 6.12)."""
    stack = target(filesystem("btrfs", below=("md0",)), across, *BOTH)
    for other, says in ((2.0, "consistent"), (1.0, "consistent"), (0.9, "not-durable"), (0.0, "not-durable")):
        done = step(flushes={"sda": 2.0, "sdb": other}, share={"sda": 1.5, "sdb": 1.5})
        assert verdict(stack, done).verdict == says


def test_both_legs_of_a_mirror_get_the_super_block_of_btrfs() -> None:
    array = block("md0", "md", "sda", "sdb", readings=readings(level="raid1"), write_cache="write back", fua=True)
    stack = target(filesystem("btrfs", below=("md0",)), array, *BOTH)
    for other, says in ((2.0, "consistent"), (1.0, "not-durable")):
        done = step(flushes={"sda": 2.0, "sdb": other}, share={"sda": 3, "sdb": 3})
        assert verdict(stack, done).verdict == says


@pytest.mark.parametrize(("kind", "role"), [("ext4", "journal"), ("xfs", "log")])
def test_whether_a_forced_write_is_sent_is_a_matter_of_the_datas_own_disk(kind: str, role: str) -> None:
    """A partition says nothing of FUA, its disk does; what a journal's or log's own device says is another matter."""
    top = filesystem(kind, below=("sda1", "sdb"))
    apart = readings(role=role)
    for fua, says in ((True, "cannot-tell"), (False, "not-durable")):
        stack = target(top, block("sda1", "partition", "sda"), disk("sdb", fua=not fua, readings=apart), disk(fua=fua))
        share = {"sda": 1, "sdb": 0}
        forced = step(sync="none", open_flags=("direct", "dsync"), flushes={"sda": 0, "sdb": 0}, share=share)
        assert verdict(stack, forced).verdict == says


def test_the_journal_of_an_array_is_flushed_for_the_writes_that_come_to_it() -> None:
    """Beneath a stripe these are half of them."""
    names = ("sda", "sdb", "sdc", "sdd", "sde")
    beside = dict.fromkeys(names[2:], "stripe")
    array = block("md0", "md", *names[1:], readings=readings(level="raid5"), below_roles={"sdb": "journal", **beside})
    stripe = block("md1", "md", "sda", "md0", readings=readings(level="raid0"))
    share = {"sda": 0.5, "sdb": 0.5, "sdc": 0.3, "sdd": 0.3, "sde": 0.3}
    halves = step(flushes={"sda": 1, "sdb": 0.5, "sdc": 0, "sdd": 0, "sde": 0}, share=share)
    stack = target(filesystem(below=("md1",)), stripe, array, *map(disk, names))
    assert verdict(stack, halves, idle=quiet(*names)).verdict != "not-durable"
    alone = target(filesystem(below=("md0",)), array, *map(disk, names[1:]))
    assert verdict(alone, halves, idle=quiet(*names)).verdict == "not-durable"
    beside_a_log = target(filesystem("xfs", below=("md0", "sda")), array, LOG, *map(disk, names[1:]))
    assert verdict(beside_a_log, halves, idle=quiet(*names)).verdict == "not-durable"


def test_the_paths_of_requests_are_not_asked_where_nothing_is_counted_above_them() -> None:
    """iostats is off at the multipath device: its paths get clones, and count no flush of these."""
    head = block("dm-0", "dm-multipath", "sda", "sdb", write_cache="write back", readings=readings(request_based="yes"))
    stack = target(filesystem(below=("dm-0",)), head, *BOTH)
    done = step(flushes={"sda": 0, "sdb": 0}, share={"sda": 0.5, "sdb": 0.5})
    assert verdict(stack, done).verdict == "cannot-tell"


@pytest.mark.parametrize(("each", "says"), [((2.4, 2.6), "consistent"), ((2.4, 0.0), "not-durable")])
def test_a_forced_write_through_a_journal_of_data_is_a_commit(each: tuple[float, float], says: str) -> None:
    """md takes FUA, and each of its two disks had 488 and 512 flushes for 200 O_DSYNC writes (Linux 6.12)."""
    top = filesystem("ext4", below=("md0",), data="journal", journal="yes", barrier="barrier")
    stripe = block("md0", "md", "sda", "sdb", write_cache="write back", fua=True, readings=readings(level="raid0"))
    flushes = dict(zip(("sda", "sdb"), each, strict=True))
    done = step(sync="none", open_flags=("direct", "dsync"), flushes=flushes, share={"sda": 2.0, "sdb": 2.0})
    assert verdict(target(top, stripe, *BOTH), done, idle=quiet("sda", "sdb")).verdict == says


@pytest.mark.parametrize(("kind", "each", "says"), [
    ("dm-stripe", (2.5, 3.5), "consistent"), ("dm-stripe", (2.5, 0.0), "not-durable"),
    ("md", (2.5, 3.5), "cannot-tell"), ("dm-stripe", (2.5, 5.0), "cannot-tell"),
], ids=["device-mapper", "one that drops them", "md has no such flush", "somebody else's"])  # fmt: skip
def test_device_mapper_has_one_device_flushed_again_for_a_commit(
    kind: str, each: tuple[float, float], says: str
) -> None:
    """500 and 700 for 200 syncs on its stripe, 500 and 500 on that of md (Linux 6.12)."""
    top = filesystem("ext4", below=("top",), data="journal", journal="yes", barrier="barrier")
    stripe = block("top", kind, "sda", "sdb", write_cache="write back", fua=False, readings=readings(level="raid0"))
    done = step(flushes=dict(zip(("sda", "sdb"), each, strict=True)), share={"sda": 2.0, "sdb": 2.0})
    assert verdict(target(top, stripe, *BOTH), done, idle=quiet("sda", "sdb")).verdict == says


@pytest.mark.parametrize(("flushes", "says"), [(1.0, "consistent"), (1.5, "cannot-tell"), (0.0, "not-durable")])
def test_an_overwrite_is_no_commit(flushes: float, says: str) -> None:
    linear = block("dm-0", "dm-linear", "sda", write_cache="write back")
    stack = target(filesystem(below=("dm-0",)), linear, disk())
    assert verdict(stack, step(flushes=flushes), idle=quiet("sda")).verdict == says


def test_several_layers_make_something_of_a_flush() -> None:
    cache = block("dm-1", "dm-cache", "dm-0", "sdb")  # without root, nothing tells which device is the cache
    stack = target(filesystem(below=("dm-1",)), cache, block("dm-0", "dm-linear", "sda"), *BOTH)
    assert "what dm-1 (dm-cache) and dm-0 (dm-linear) make of a flush" in verdict(stack, step()).sentence
