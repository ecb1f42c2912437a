"""Fewer bytes than were synced."""

import pytest

from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.storage import Target
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import counted, step
from tests.factories.storage import disk, filesystem, loop, on_disk, on_loop
from tests.judge.rules.rotation.platters import NO_CACHE

HONEST: dict[str, float | None] = {"loop0": 1.0, "sda": 1.3}


def test_less_than_90_percent_is_too_little() -> None:
    judgement = verdict(None, step(share=0.89))
    found = finding(judgement, "bytes-missing")
    assert (found.verdict, found.confidence, found.scope) == ("not-durable", "high", "storage")
    assert "27.8 MiB of 31.2 MiB" in found.title
    assert verdict(None, step(share=0.91)).verdict == "consistent"


def test_compression_may_write_fewer_bytes() -> None:
    assert "bytes-missing" not in rules(
        verdict(on_disk(filesystem("btrfs", compress="zstd")), step(flushes=2, share=0.1))
    )
    assert "bytes-missing" in rules(verdict(on_disk(filesystem("btrfs")), step(flushes=2, share=0.1)))


@pytest.mark.parametrize("kind", ["zfs", "f2fs", "bcachefs"])
def test_filesystem_that_may_compress_is_not_reported(kind: str) -> None:
    assert "bytes-missing" not in rules(verdict(on_disk(filesystem(kind)), step(share=0)))


def test_writes_between_syncs_may_be_merged_in_the_cache() -> None:
    sparse = step(sync_every=100, flushes=0.01, share=0.2, offsets="same")
    assert "bytes-missing" not in rules(verdict(None, sparse))


@pytest.mark.parametrize(
    "where",
    [on_loop(device=loop(dio="0")), on_disk(filesystem(data="journal"))],
    ids=["buffered loop", "data=journal"],
)
def test_o_direct_between_rare_syncs_may_be_merged_below(where: Target) -> None:
    flushes, share = {"loop0": 0.02, "sda": 0.06}, {"loop0": 1.0, "sda": 0.1}
    direct = step(sync_every=50, flushes=flushes, share=share, offsets="same", open_flags=("direct",))
    assert "bytes-missing" not in rules(verdict(where, direct))
    dropping = step(sync_every=50, flushes=flushes, share={"loop0": 1.0, "sda": 0.01}, open_flags=("direct",))
    found = finding(verdict(where, dropping), "bytes-missing")
    assert found.verdict == "not-durable"
    assert "Of 640 KiB written and synced" in found.sentence  # one block for each of 40 syncs


def test_small_writes_are_rounded_up_to_pages() -> None:
    settings = SyncWrites(block_bytes=512)
    pages = counted("sda", 2000, 2000 * 4096)
    small = step(changes={"bytes": 2000 * 512, "settings": settings, "counters": (pages,)})
    assert verdict(None, small).verdict == "consistent"


def test_enough_bytes_on_btrfs_are_not_mentioned() -> None:
    assert "arrived." not in verdict(on_disk(filesystem("btrfs")), step(flushes=2, share=5)).sentence


def test_o_direct_without_a_sync_gives_a_note() -> None:
    flushes, share = {"loop0": 0, "sda": 0}, {"loop0": 1, "sda": 0}
    direct = step("O_DIRECT", sync="none", open_flags=("direct",), flushes=flushes, share=share)
    judgement = verdict(on_loop(device=loop(dio="0")), step(flushes=HONEST), direct)
    found = finding(judgement, "bytes-missing")
    assert (found.verdict, found.scope, found.steps) == (None, "step", ("O_DIRECT",))
    assert judgement.verdict == "consistent"


def test_headline_says_that_o_direct_was_answered_from_memory() -> None:
    direct = step("O_DIRECT", rate=12_985, sync="none", open_flags=("direct",), flushes=0, share=0)
    judgement = verdict(on_loop(device=loop(dio="0")), step(flushes=HONEST), direct)
    assert judgement.verdict == "consistent"
    assert judgement.sentence.startswith(
        "O_DIRECT alone was acknowledged 12\xa0985 times a second from memory: direct "
    )
    assert "written and synced" not in verdict(None, step(flushes=0, share=0)).sentence


@pytest.mark.parametrize("share", [0, 0.5, 1])
def test_written_back_in_time_or_not_a_loop_is_not_direct(share: float) -> None:
    """The kernel may write back what the loop device holds while the step lasts."""
    direct = step(
        "O_DIRECT", rate=12_985, sync="none", open_flags=("direct",), flushes=0, share={"loop0": 1, "sda": share}
    )
    on = on_loop(device=loop(dio="0"), below=disk(medium=NO_CACHE))
    judgement = verdict(on, step(rate=90, flushes=HONEST), direct)
    assert judgement.verdict == "consistent"
    assert judgement.sentence.startswith("O_DIRECT alone was acknowledged")
    assert not {"odirect-no-cache", "odirect-before-platter"} & rules(judgement)
