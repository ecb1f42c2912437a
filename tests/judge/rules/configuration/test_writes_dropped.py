"""A target that throws writes away."""

from __future__ import annotations

import pytest

from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, readings, target

RULE = "writes-dropped"
FLAKEY = block("dm-0", "dm-flakey", "sda", readings=readings(drops_writes="yes"))


def test_what_it_throws_away_is_lost_however_much_arrived() -> None:
    judgement = verdict(target(filesystem(below=("dm-0",)), FLAKEY, disk()), step())
    told = finding(judgement, RULE).sentence
    assert "(dm-flakey with drop_writes): what is written while it is down" in told
    assert told.endswith("is lost, synced or not (2 000 syncs a second).")


@pytest.mark.parametrize("feature", ["corrupt_bio_byte", "random_write_corrupt"])
def test_what_it_alters_is_not_said_to_be_thrown_away(feature: str) -> None:
    flakey = block("dm-0", "dm-flakey", "sda", readings=readings(drops_writes=feature))
    said = finding(verdict(target(filesystem(below=("dm-0",)), flakey, disk())), RULE)
    assert said.verdict == "not-durable"
    assert f"alter them (dm-flakey with {feature}): what is written while it is down is spoilt" in said.sentence
    assert said.next == (f"Load its table without {feature}, and measure again.",)


def test_without_the_feature_or_its_table_it_is_a_layer_like_any_other() -> None:
    flakey = block("dm-0", "dm-flakey", "sda")
    assert RULE not in rules(verdict(target(filesystem(below=("dm-0",)), flakey, disk())))


def test_a_mirror_may_read_the_copy_that_was_thrown_away() -> None:
    mirror = block("md0", "md", "dm-0", "sdb", readings=readings(level="raid1"))
    assert RULE in rules(verdict(target(filesystem(below=("md0",)), mirror, FLAKEY, disk(), disk("sdb"))))


def test_a_mirror_with_checksums_takes_the_other() -> None:
    top = filesystem("btrfs", below=("dm-0", "sdb"), level="raid1", metadata_level="raid1")
    assert RULE not in rules(verdict(target(top, FLAKEY, disk(), disk("sdb"))))


def test_a_segment_that_is_nothing_throws_away_what_is_written_there() -> None:
    zero = block("dm-0", "dm-zero", "sda", readings=readings(drops_writes="in part"))
    said = finding(verdict(target(filesystem(below=("dm-0",)), zero, disk())), RULE)
    assert "(dm-zero): what is written in that segment is lost" in said.sentence
    assert said.next == ("Load its table without dm-zero, and measure again.",)


@pytest.mark.parametrize(("end", "said"), [("4096", False), ("4095", False), ("4097", True), (None, True)])
def test_a_filesystem_that_ends_before_the_segment_loses_nothing(end: str | None, said: bool) -> None:
    told = {"filesystem_end": end} if end else {}
    zero = block("dm-0", "dm-zero", "sda", readings=readings(drops_writes="in part", drops_from="4096", **told))
    assert (RULE in rules(verdict(target(filesystem(below=("dm-0",)), zero, disk())))) is said


def test_a_superblock_tells_nothing_of_what_stands_on_other_layers() -> None:
    told = readings(drops_writes="in part", drops_from="4096", filesystem_end="4096")
    zero, array = block("dm-0", "dm-zero", "sda", readings=told), block("md0", "md", "dm-0")
    assert RULE in rules(verdict(target(filesystem(below=("md0",)), array, zero, disk())))


@pytest.mark.parametrize("above", ["dm-linear", "partition"])
def test_what_stands_on_a_part_of_it_need_not_stand_on_that_segment(above: str) -> None:
    """A partition in a disk that is put together of a header, zeros and the partition."""
    zero = block("dm-0", "dm-zero", "sda", readings=readings(drops_writes="in part"))
    top = filesystem(below=("dm-1",))
    assert RULE not in rules(verdict(target(top, block("dm-1", above, "dm-0"), zero, disk())))


def test_one_that_throws_all_of_it_away_does_so_to_a_part_too() -> None:
    volume = block("dm-1", "dm-linear", "dm-0")
    assert RULE in rules(verdict(target(filesystem(below=("dm-1",)), volume, FLAKEY, disk())))


def test_a_partition_beneath_it_takes_no_part_of_it() -> None:
    zero = block("dm-0", "dm-zero", "sda1", readings=readings(drops_writes="in part"))
    where = target(filesystem(below=("dm-0",)), zero, block("sda1", "partition", "sda"), disk())
    assert RULE in rules(verdict(where))


@pytest.mark.parametrize(("kind", "store"), [("dm-snapshot", "cow"), ("dm-thin", "pool")])
def test_an_origin_is_only_read(kind: str, store: str) -> None:
    """An image with zeros behind it, so that the snapshot of it may be larger."""
    zero = block("dm-0", "dm-zero", "sda", readings=readings(drops_writes="in part"))
    snapshot = block("dm-1", kind, "dm-0", "sdb", below_roles={"dm-0": "origin", "sdb": store})
    disks = (disk(), disk("sdb"))
    assert RULE not in rules(verdict(target(filesystem(below=("dm-1",)), snapshot, zero, *disks)))
