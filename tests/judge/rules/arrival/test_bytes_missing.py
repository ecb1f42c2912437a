"""Fewer bytes than were synced."""

import pytest

from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.steps import Step
from fstui.model.storage import Node, Target
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


PAGES = {"bytes": 2000 * 512, "settings": SyncWrites(block_bytes=512), "counters": (counted("sda", 2000, 2000 * 4096),)}


@pytest.mark.parametrize(
    ("top", "done", "missing"),
    [
        pytest.param(filesystem("btrfs"), step(flushes=2, share=0.1), True, id="btrfs"),
        pytest.param(filesystem("btrfs", compress="zstd"), step(flushes=2, share=0.1), False, id="compressed"),
        pytest.param(filesystem("zfs"), step(share=0), False, id="ZFS may compress"),
        pytest.param(filesystem("f2fs"), step(share=0), False, id="f2fs may compress"),
        pytest.param(filesystem("bcachefs"), step(share=0), False, id="bcachefs may compress"),
        pytest.param(None, step(sync_every=100, flushes=0.01, share=0.2, offsets="same"), False, id="merged"),
        pytest.param(None, step(flushes=0.5, share=0.1, writers=16), False, id="several writers of one block"),
        pytest.param(None, step(changes=PAGES), False, id="small writes are rounded up to pages"),
    ],
)
def test_fewer_bytes_may_be_enough(top: Node | None, done: Step, missing: bool) -> None:
    judgement = verdict(on_disk(top), done)
    assert ("bytes-missing" in rules(judgement), judgement.verdict == "not-durable") == (missing, missing)


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
        "Writes with O_DIRECT and without a sync were acknowledged from memory, 12\xa0985 per second: direct "
    )
    assert "written and synced" not in verdict(None, step(flushes=0, share=0)).sentence


@pytest.mark.parametrize("share", [0, 0.5, 1])
def test_a_loop_that_wrote_back_in_time_is_not_judged(share: float) -> None:
    """The kernel may write back what the loop device holds while the step lasts."""
    direct = step(
        "O_DIRECT", rate=12_985, sync="none", open_flags=("direct",), flushes=0, share={"loop0": 1, "sda": share}
    )
    on = on_loop(device=loop(dio="0"), below=disk(medium=NO_CACHE))
    judgement = verdict(on, step(rate=90, flushes=HONEST), direct)
    assert judgement.verdict == "consistent"
    assert judgement.sentence.startswith("Writes with O_DIRECT and without a sync")
    assert not {"odirect-no-cache", "odirect-before-platter"} & rules(judgement)
