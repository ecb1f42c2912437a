"""More bytes than the link carries."""

from __future__ import annotations

from typing import Any

import pytest

from fstui.model.host import Host
from fstui.model.storage import Node, Target
from tests.factories.evidence import GUEST, finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, loop, on_disk, on_loop, readings, target

AWS = Host(virtualization="kvm", cloud="aws")


def linked(payload_mb_s: int | None, **changes: Any) -> Node:
    told = readings(link_rate="6.0 Gbps", **({"payload_mb_s": str(payload_mb_s)} if payload_mb_s else {}))
    return disk(**{"readings": told, **changes})


def sata(payload_mb_s: int | None = 150, top: Node | None = None, **changes: Any) -> Target:
    return on_disk(top or filesystem(), linked(payload_mb_s, **changes))


@pytest.mark.parametrize(("per_s", "hit"), [(10_000, False), (10_080, True)], ids=["164 MB/s", "165.2 MB/s"])
def test_ten_percent_are_allowed(per_s: float, hit: bool) -> None:
    judgement = verdict(sata(), step(rate=per_s))
    assert ("link-exceeded" in rules(judgement)) is hit
    if hit:
        found = finding(judgement, "link-exceeded")
        assert (judgement.verdict, found.confidence, found.scope) == ("suspicious", "high", "storage")
        assert found.title == "165 MB/s over a link for 150 MB/s"
        assert "the data was held in a cache above the link when it was called durable" in found.sentence
        assert "sda link_rate: 6.0 Gbps (/read/link_rate)" in found.because


def test_o_direct_alone_is_a_note_on_the_step() -> None:
    direct = step("O_DIRECT", rate=20_000, sync="none", open_flags=("direct",), flushes=0)
    found = finding(verdict(sata(), direct), "link-exceeded")
    assert (found.verdict, found.scope) == (None, "step")
    assert found.sentence.endswith("when it was answered.")


def test_compression_above_the_link_makes_it_a_note() -> None:
    where = sata(top=filesystem("btrfs", compress="zstd"))
    found = finding(verdict(where, step(rate=20_000, flushes=2)), "link-exceeded")
    assert found.verdict is None
    assert "compressed or held in a cache" in found.sentence


def test_a_layer_that_reduces_makes_it_a_note_too() -> None:
    vdo = target(filesystem(below=("dm-0",)), block("dm-0", "dm-vdo", "sda"), linked(150))
    assert finding(verdict(vdo, step(rate=20_000)), "link-exceeded").verdict is None


@pytest.mark.parametrize(
    "changes",
    [{"sync_every": 100}, {"status": "disturbed"}, {"changes": {"elapsed_s": 0.0}}],
    ids=["rare syncs", "held up", "no time at all"],
)
def test_what_has_no_rate_of_its_own_is_no_measure_of_a_link(changes: dict[str, Any]) -> None:
    """Between two syncs blocks are rewritten in memory."""
    assert "link-exceeded" not in rules(verdict(sata(), step(rate=20_000, **changes)))


def test_where_syncs_are_known_to_be_dropped_that_is_the_finding() -> None:
    dropped = sata(top=filesystem(barrier="nobarrier"))
    assert rules(verdict(dropped, step(rate=20_000, flushes=0))) == {"barriers-off"}


def test_the_page_cache_is_meant_to_be_faster() -> None:
    assert "link-exceeded" not in rules(verdict(sata(), step(rate=400_000, sync="none", flushes=0)))


@pytest.mark.parametrize("host", [GUEST, AWS])
def test_a_virtual_link_states_what_it_likes(host: Host) -> None:
    assert "link-exceeded" not in rules(verdict(sata(), step(rate=20_000), host=host))
    assert "link-exceeded" not in rules(verdict(sata(link="virtio"), step(rate=20_000)))


def test_an_unknown_rate_is_no_limit() -> None:
    assert "link-exceeded" not in rules(verdict(sata(None), step(rate=20_000)))


def test_two_links_carry_twice_as_much() -> None:
    stripes = block("md0", "md", "sda", "sdb", readings=readings(level="raid0"))
    stack = target(filesystem(below=("md0",)), stripes, linked(150), linked(150, id="sdb"))
    half: dict[str, Any] = {"flushes": {"sda": 1, "sdb": 1}, "share": 0.5}
    assert "link-exceeded" not in rules(verdict(stack, step(rate=20_000, **half)))
    assert "link-exceeded" in rules(verdict(stack, step(rate=21_000, **half)))


def test_one_link_of_two_whose_rate_is_unknown_may_carry_the_rest() -> None:
    stripes = block("md0", "md", "sda", "sdb", readings=readings(level="raid0"))
    stack = target(filesystem(below=("md0",)), stripes, linked(150), linked(None, id="sdb"))
    half: dict[str, Any] = {"flushes": {"sda": 1, "sdb": 1}, "share": 0.5}
    assert "link-exceeded" not in rules(verdict(stack, step(rate=21_000, **half)))


def test_without_a_device_that_is_seen_there_is_no_link() -> None:
    hidden = target(filesystem("overlay", "/", below=()))
    assert "link-exceeded" not in rules(verdict(hidden, step(rate=20_000, flushes={})))


def test_bytes_that_never_arrived_are_told_by_their_own_rule() -> None:
    judgement = verdict(sata(), step(rate=20_000, share=0.0))
    assert "bytes-missing" in rules(judgement)
    assert "link-exceeded" not in rules(judgement)


def test_a_loop_on_the_disk_counts_by_the_disks_link() -> None:
    stack = on_loop(device=loop(), below=linked(150))
    both: dict[str, Any] = {"flushes": {"loop0": 1, "sda": 1}, "share": {"loop0": 1, "sda": 1}}
    assert finding(verdict(stack, step(rate=20_000, **both)), "link-exceeded").verdict == "suspicious"
