"""Flushes and bytes, as the layers hand them to the devices that count."""

from __future__ import annotations

import msgspec
import pytest

from fstui.judge import Case
from fstui.model.storage import Space, Target
from tests.factories.evidence import evidence, finding, quiet, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, on_disk, on_loop, readings, target

BOTH = (disk(), disk("sdb"))


def array(kind: str, level: str | None = None) -> Target:
    how = readings(level=level) if level else readings(request_based="no") if kind == "dm-multipath" else ()
    return target(filesystem(below=("top",)), block("top", kind, "sda", "sdb", readings=how), *BOTH)


@pytest.mark.parametrize("kind", ["dm-multipath", "nvme-multipath"])
def test_paths_share_flushes_and_bytes(kind: str) -> None:
    half = step(flushes={"sda": 0.5, "sdb": 0.5}, share={"sda": 0.5, "sdb": 0.5})
    judgement = verdict(array(kind), half)
    assert judgement.verdict == "consistent"
    assert "sda and sdb" in judgement.sentence


@pytest.mark.parametrize("kind", ["dm-multipath", "nvme-multipath"])
def test_a_write_goes_down_one_path_and_its_flush_down_the_other(kind: str) -> None:
    apart = step(flushes={"sda": 1, "sdb": 0}, share={"sda": 0, "sdb": 1})
    assert verdict(array(kind), apart).verdict == "consistent"


def test_a_multipath_device_of_which_nobody_read_how_it_hands_on_may_send_clones() -> None:
    """Request-based, its paths count none of their flushes."""
    untold = target(filesystem(below=("top",)), block("top", "dm-multipath", "sda", "sdb"), *BOTH)
    none = step(flushes={"sda": 0, "sdb": 0}, share={"sda": 0.5, "sdb": 0.5})
    assert verdict(untold, none).verdict == "cannot-tell"
    assert verdict(array("dm-multipath"), none).verdict == "not-durable"


@pytest.mark.parametrize(("kind", "level"), [("dm-stripe", None), ("md", "raid0"), ("dm-linear", None)])
def test_a_stripe_passes_each_flush_to_every_member(kind: str, level: str | None) -> None:
    each = step(flushes={"sda": 1, "sdb": 1}, share={"sda": 0.5, "sdb": 0.5})
    assert verdict(array(kind, level), each).verdict == "consistent"
    assert verdict(array("dm-multipath"), each).verdict == "cannot-tell"  # a path takes its share only


def test_beside_a_disk_a_backing_file_has_its_stripe_alone() -> None:
    striped = filesystem(below=("dm-0",)), block("dm-0", "dm-stripe", "loop0", "sdb")
    stack = target(*striped, *on_loop().stack[1:], disk("sdb"))
    each = step(flushes=dict.fromkeys(("loop0", "sda", "sdb"), 1), share=dict.fromkeys(("loop0", "sda", "sdb"), 0.5))
    assert verdict(stack, each).verdict == "consistent"
    lost = step(flushes={"loop0": 1, "sda": 0, "sdb": 1}, share=dict.fromkeys(("loop0", "sda", "sdb"), 0.5))
    assert verdict(stack, lost).verdict == "not-durable"


@pytest.mark.parametrize(
    ("kind", "at_loop", "says"),
    [("dm-thin", 1, "not-durable"), ("dm-cache", 1, "cannot-tell"), ("dm-thin", None, "cannot-tell")],
    ids=["all of them", "which is the cache was not read", "it did not count"],
)
def test_a_backing_file_owes_what_is_known_to_have_come_to_its_loop(kind: str, at_loop: int | None, says: str) -> None:
    over = filesystem(below=("dm-0",)), block("dm-0", kind, "loop0")
    stack = target(*over, *on_loop().stack[1:])
    assert verdict(stack, step(flushes={"loop0": at_loop, "sda": 0.3})).verdict == says


@pytest.mark.parametrize(("flushes", "says"), [(0, "not-durable"), (1, "consistent")])
def test_a_backing_file_on_a_disk_with_fua_owes_its_flush_all_the_same(flushes: float, says: str) -> None:
    where = on_loop(below=disk(fua=True))
    assert verdict(where, step(flushes={"loop0": 1, "sda": flushes})).verdict == says


def test_what_a_server_makes_of_a_flush_is_not_known() -> None:
    """No loop device: a disk of this box's own target, whose file is on a filesystem here."""
    served = disk("sdb", lowest=False, below=("mount:/",), readings=readings(store="a file"))
    where = target(filesystem(below=("sdb",)), served, filesystem(name="/"), disk())
    measured = step(flushes={"sdb": 1, "sda": 0}, share={"sdb": 1, "sda": 1})
    assert "flushes-missing" not in rules(verdict(where, measured, idle=quiet("sda", "sdb")))


def test_of_plain_writes_no_byte_is_asked_for() -> None:
    seen = evidence(None, step(sync="none", flushes=0, share=0))
    case = Case(seen)
    (done,) = case.steps.measured
    (account,) = case.flushes.accounts(done)
    assert (account.requested.low, account.lacks_bytes) == (0, False)


def test_a_filesystem_of_large_blocks_writes_whole_ones() -> None:
    """XFS with blocks of 64 KiB, of which 16 were written through the page cache."""
    plain = on_disk(filesystem("xfs"))
    room = Space(total_bytes=1 << 40, free_bytes=1 << 40, block_bytes=65536)
    assert verdict(plain, step(share=4)).verdict == "cannot-tell"
    large = msgspec.structs.replace(plain, space=room)
    assert verdict(large, step(share=4)).verdict == "consistent"
    assert verdict(large, step(share=5)).verdict == "cannot-tell"


def test_where_each_write_is_synced_its_timestamps_are_written_as_often() -> None:
    """XFS under ``chattr +S``, or mounted ``-o sync``: nobody else is needed for twice the bytes."""
    twice = step(flushes=2, share=2)
    for told in (filesystem("xfs", sync_flag="S"), filesystem("xfs", sync_option="sync")):
        assert "other-writers" not in rules(verdict(on_disk(told), twice))
    assert "other-writers" in rules(verdict(on_disk(filesystem("xfs")), twice))


def test_too_few_at_one_of_them_is_too_few() -> None:
    little = step(flushes={"sda": 1, "sdb": 0.5}, share={"sda": 0.5, "sdb": 0.5})
    assert verdict(array("md", "raid0"), little).verdict == "not-durable"


def test_too_few_over_all_paths_is_too_few() -> None:
    little = step(flushes={"sda": 0.4, "sdb": 0.4}, share={"sda": 0.5, "sdb": 0.5})
    assert verdict(array("dm-multipath"), little).verdict == "not-durable"


def test_request_based_paths_count_nothing_and_their_head_does() -> None:
    head = disk("dm-0", kind="dm-multipath", below=("sda", "sdb"), lowest=False)
    stack = target(filesystem(below=("dm-0",)), head, *BOTH)
    share = {"dm-0": 1, "sda": 0.5, "sdb": 0.5}
    counted = step(flushes={"dm-0": 1, "sda": 0, "sdb": 0}, share=share)
    assert verdict(stack, counted, idle=quiet("dm-0", "sda", "sdb")).verdict == "consistent"
    dropped = step(flushes={"dm-0": 0, "sda": 0, "sdb": 0}, share=share)
    assert verdict(stack, dropped, idle=quiet("dm-0", "sda", "sdb")).verdict == "not-durable"


def test_each_leg_of_a_mirror_stands_by_itself() -> None:
    both = step(flushes={"sda": 1, "sdb": 1}, share={"sda": 1, "sdb": 1})
    assert verdict(array("md", "raid1"), both).verdict == "consistent"
    one = step(flushes={"sda": 2, "sdb": 0}, share={"sda": 1, "sdb": 1})
    assert verdict(array("md", "raid1"), one).verdict == "not-durable"
    short = step(flushes={"sda": 1, "sdb": 1}, share={"sda": 1, "sdb": 0.5})
    assert "bytes-missing" in rules(verdict(array("md", "raid1"), short))


def test_a_neighbour_of_a_mirror_shows_on_its_legs() -> None:
    both = step(flushes={"sda": 1.5, "sdb": 1.5}, share={"sda": 1, "sdb": 1})
    assert verdict(array("md", "raid1"), both).verdict == "cannot-tell"


def test_a_failed_leg_takes_no_part() -> None:
    one = step(flushes={"sda": 1, "sdb": 0}, share={"sda": 1, "sdb": 0})
    assert verdict(array("md", "raid1"), one).verdict == "consistent"


def test_a_raid10_leg_holds_its_stripes_only() -> None:
    disks = tuple(disk(name) for name in ("sda", "sdb", "sdc", "sdd"))
    names = tuple(node.id for node in disks)
    array = block("md0", "md", *names, readings=readings(level="raid10"))
    measured = step(flushes=dict.fromkeys(names, 1.0), share=dict.fromkeys(names, 0.5))
    assert (
        verdict(target(filesystem(below=("md0",)), array, *disks), measured, idle=quiet(*names)).verdict == "consistent"
    )


@pytest.mark.parametrize(("each", "word"), [(0.5, "consistent"), (0.4, "not-durable")])
def test_a_fua_write_to_a_raid10_is_flushed_at_the_two_legs_that_hold_it(each: float, word: str) -> None:
    disks = tuple(disk(name) for name in ("sda", "sdb", "sdc", "sdd"))
    names = tuple(node.id for node in disks)
    array = block("md0", "md", *names, fua=True, readings=readings(level="raid10"))
    measured = step(
        open_flags=("direct", "dsync"), sync="none",
        flushes=dict.fromkeys(names, each), share=dict.fromkeys(names, 0.5),
    )  # fmt: skip
    assert verdict(target(filesystem(below=("md0",)), array, *disks), measured, idle=quiet(*names)).verdict == word


def test_the_origin_of_a_dm_writecache_gets_none() -> None:
    fast = disk(readings=readings(role="cache"))
    slow = disk("sdb", readings=readings(role="origin"))
    stack = target(filesystem(below=("top",)), block("top", "dm-writecache", "sda", "sdb"), fast, slow)
    cached = step(flushes={"sda": 1, "sdb": 0}, share={"sda": 1, "sdb": 0})
    assert verdict(stack, cached).verdict == "consistent"
    assert verdict(array("dm-writecache"), cached).verdict == "cannot-tell"  # which is which was not read


@pytest.mark.parametrize("told", ["cleaner", "metadata_only"])
@pytest.mark.parametrize(
    ("flushes", "said"), [({"sda": 0, "sdb": 1}, "consistent"), ({"sda": 1, "sdb": 0}, "not-durable")]
)
def test_a_dm_writecache_that_data_is_written_past_flushes_its_origin(
    told: str, flushes: dict[str, float], said: str
) -> None:
    """Measured (Linux 6.12): 300 overwrites with fdatasync came to its origin as 300 flushes, none to its cache."""
    fast, slow = disk(readings=readings(role="cache")), disk("sdb", readings=readings(role="origin"))
    past = block("top", "dm-writecache", "sda", "sdb", readings=readings(writes_past=told))
    stack = target(filesystem(below=("top",)), past, fast, slow)
    assert verdict(stack, step(flushes=flushes, share={"sda": 0, "sdb": 1})).verdict == said


def test_a_leg_that_got_its_flushes_is_not_said_to_lack_them() -> None:
    stack = target(
        filesystem(below=("md0",)), block("md0", "md", "sda", "sdb", readings=readings(level="raid1")), *BOTH
    )
    found = finding(verdict(stack, step(flushes={"sda": 1, "sdb": 0})), "flushes-missing")
    assert found.title == "0.00 flushes per sync at sdb, 1 expected"
    assert "reached sdb as 0 flushes" in found.sentence


def test_where_flushes_end_unseen_none_is_said_to_have_arrived() -> None:
    """A copy in memory beside the disk: zram counts no flushes, and is sent none."""
    cache = block("top", "dm-cache", "sda", "zram0", readings=readings(cache_mode="passthrough"))
    fast = disk("zram0", kind="zram", write_cache="write through", counted=False, readings=readings(role="cache"))
    stack = target(filesystem(below=("top",)), cache, disk(readings=readings(role="origin")), fast)
    judgement = verdict(stack, step(flushes={"sda": 1}, share={"sda": 1}))
    assert finding(judgement, "flushes-arrive").title == "1.00 flushes per sync at sda"


def test_twenty_stripes_are_twenty_parts() -> None:
    names = [f"sd{letter}" for letter in "abcdefghijklmnopqrst"]
    stripe = block("md0", "md", *names, readings=readings(level="raid0"))
    stack = target(filesystem(below=("md0",)), stripe, *map(disk, names))
    every, even = dict.fromkeys(names, 1.0), dict.fromkeys(names, 0.05)
    assert verdict(stack, step(flushes=every, share=even), idle=quiet(*names)).verdict == "consistent"
    one = {**every, "sdt": 0.5}
    assert verdict(stack, step(flushes=one, share=even), idle=quiet(*names)).verdict == "not-durable"


def test_btrfs_flushes_every_member() -> None:
    """200 syncs on two loops came to 400 flushes at each, with data single, raid0 and raid1 (Linux 6.18)."""
    stack = on_disk(filesystem("btrfs", below=("sda", "sdb")), *BOTH)
    assert verdict(stack, step(flushes={"sda": 2, "sdb": 2}, share={"sda": 3, "sdb": 3})).verdict == "consistent"
    assert verdict(stack, step(flushes={"sda": 2, "sdb": 1}, share={"sda": 3, "sdb": 3})).verdict == "not-durable"


def test_an_uncounted_path_leaves_it_open() -> None:
    paths = block("dm-0", "dm-multipath", "sda", "sdb")
    stack = target(filesystem(below=("dm-0",)), paths, disk(), disk("sdb", counted=False))
    some = step(flushes={"sda": 0.4, "sdb": None}, share={"sda": 0.5, "sdb": None})
    assert verdict(stack, some).verdict == "cannot-tell"


def test_an_uncounted_leg_says_nothing_for_the_others() -> None:
    array = block("md0", "md", "sda", "sdb", readings=readings(level="raid1"))
    stack = target(filesystem(below=("md0",)), array, disk(), disk("sdb", counted=False))
    some = step(flushes={"sda": 0.4, "sdb": None}, share={"sda": 1, "sdb": None})
    assert verdict(stack, some).verdict == "not-durable"


@pytest.mark.parametrize(("total_bytes", "says"), [(1000, "not-durable"), (1001, "cannot-tell")])
def test_a_filesystem_larger_than_its_device_has_others_that_nothing_names(total_bytes: int, says: str) -> None:
    """Data and flushes may have gone to a device that the mount does not name."""
    where = on_disk(filesystem(barrier="barrier"), disk(size_bytes=1000))
    sized = msgspec.structs.replace(where, space=Space(total_bytes=total_bytes, free_bytes=500, block_bytes=4096))
    judgement = verdict(sized, step(flushes=0, share=0))
    assert judgement.verdict == says
    assert ("not all devices beneath are seen" in judgement.sentence) is (says == "cannot-tell")


@pytest.mark.parametrize(("takes_fua", "flushes", "says"), [
    (False, 0, "not-durable"), (False, 1, "consistent"), (True, 0, "cannot-tell"),
], ids=["dropped", "flushed", "cannot be counted"])  # fmt: skip
def test_a_forced_write_is_asked_for_where_it_can_be_counted(takes_fua: bool, flushes: float, says: str) -> None:
    """A disk of this box's own SCSI target says that it takes FUA; a disk behind it without FUA must get a flush."""
    served = disk("sda", below=("vda",), lowest=False, fua=True)
    stack = target(filesystem(), served, disk("vda", fua=takes_fua))
    forced = step(
        sync="none", open_flags=("direct", "dsync"), flushes={"sda": 0, "vda": flushes}, share={"sda": 1, "vda": 1}
    )
    assert verdict(stack, forced, idle=quiet("sda", "vda")).verdict == says


def test_a_forced_write_takes_one_of_the_paths_of_requests() -> None:
    head = disk("dm-0", kind="dm-multipath", below=("sda", "sdb"), lowest=False, fua=True)
    paths = (disk(name, below=("vda",), lowest=False, fua=True) for name in ("sda", "sdb"))
    stack = target(filesystem(below=("dm-0",)), head, *paths, disk("vda"))
    share = {"dm-0": 1, "sda": 0.5, "sdb": 0.5, "vda": 1}
    for flushes, says in ((0, "not-durable"), (1, "consistent")):
        counts = {"dm-0": 0, "sda": 0, "sdb": 0, "vda": flushes}
        forced = step(sync="none", open_flags=("direct", "dsync"), flushes=counts, share=share)
        assert verdict(stack, forced, idle=quiet(*counts)).verdict == says


@pytest.mark.parametrize(("kind", "written", "read"), [("dm-snapshot", "cow", "origin"), ("dm-thin", "pool", "origin")])
def test_what_is_only_read_is_owed_no_flush_beside_what_is_written_on_the_same_disk(
    kind: str, written: str, read: str
) -> None:
    """LVM puts a snapshot's store on the disk of its origin: 60 flushes there for 60 syncs (Linux 6.12)."""
    top = block("dm-3", kind, "dm-1", "dm-2", below_roles={"dm-1": read, "dm-2": written})
    ways = (block(name, "dm-linear", "sda") for name in ("dm-1", "dm-2"))
    stack = target(filesystem(below=("dm-3",)), top, *ways, disk())
    assert verdict(stack, step(flushes=1)).verdict == "consistent"
    assert verdict(stack, step(flushes=0.5)).verdict == "not-durable"
