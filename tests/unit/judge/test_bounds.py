"""Rules 16 and 18."""

from __future__ import annotations

from typing import Any

import pytest

from fstui.model import Host, Medium, Node, Target
from tests.unit.judge.evidence import (
    GUEST,
    block,
    disk,
    filesystem,
    finding,
    loop,
    on_disk,
    on_loop,
    readings,
    rules,
    step,
    target,
    verdict,
)

AWS = Host(virtualization="kvm", cloud="aws")
NETWORK = Medium(class_="network", because="the model says a network volume of AWS (EBS)")


def volume(**changes: Any) -> Node:
    told = readings(grade="cloud")
    return disk(**{"medium": NETWORK, "link": "nvme", "readings": told, **changes})


def linked(payload_mb_s: int | None, **changes: Any) -> Node:
    told = readings(link_rate="6.0 Gbps", **({"payload_mb_s": str(payload_mb_s)} if payload_mb_s else {}))
    return disk(**{"readings": told, **changes})


class TestNetworkTooFast:
    @pytest.mark.parametrize(("per_s", "hit"), [(9_999, False), (10_000, True), (20_000, True)])
    def test_its_boundary(self, per_s: float, hit: bool) -> None:
        judgement = verdict(on_disk(filesystem(), volume()), step(rate=per_s, ops=10_000), host=AWS)
        assert ("network-too-fast" in rules(judgement)) is hit
        if hit:
            found = finding(judgement, "network-too-fast")
            assert (judgement.verdict, found.confidence) == ("suspicious", "medium")

    @pytest.mark.parametrize(
        "changes",
        [
            {"readings": readings(grade="cloud", transport="rdma")},
            {"readings": readings(transport="tcp")},
            {"link": "fc"},
            {"link": "iscsi"},
            {"medium": Medium(class_="ssd", ephemeral=True)},
        ],
        ids=["NVMe over RDMA", "NVMe over TCP", "Fibre Channel", "iSCSI", "local SSD"],
    )
    def test_what_can_be_that_fast_is_left_alone(self, changes: dict[str, Any]) -> None:
        where = on_disk(filesystem(), volume(**changes))
        assert "network-too-fast" not in rules(verdict(where, step(rate=20_000), host=AWS))

    def test_a_network_of_ones_own_is_left_alone(self) -> None:
        where = on_disk(filesystem(), volume(readings=()))
        assert "network-too-fast" not in rules(verdict(where, step(rate=20_000), host=GUEST))
        assert "network-too-fast" in rules(verdict(where, step(rate=20_000), host=AWS))

    def test_sixteen_writers_may_be(self) -> None:
        where = on_disk(filesystem(), volume())
        assert "network-too-fast" not in rules(verdict(where, step(rate=20_000, writers=16), host=AWS))

    def test_a_write_without_a_sync_may_be(self) -> None:
        where = on_disk(filesystem(), volume())
        assert "network-too-fast" not in rules(verdict(where, step(rate=200_000, sync="none", flushes=0), host=AWS))

    def test_where_a_local_disk_caches_for_it_that_one_answers(self) -> None:
        cache = block("bcache0", "bcache", "sda", "sdb", readings=readings(cache_mode="writeback"))
        fast = disk(medium=Medium(class_="ssd"), readings=readings(role="cache"))
        stack = target(filesystem(below=("bcache0",)), cache, fast, volume(id="sdb", readings=readings(role="origin")))
        assert "network-too-fast" not in rules(verdict(stack, step(rate=20_000), host=AWS))


class TestLinkExceeded:
    @staticmethod
    def sata(payload_mb_s: int | None = 150, top: Node | None = None, **changes: Any) -> Target:
        return on_disk(top or filesystem(), linked(payload_mb_s, **changes))

    @pytest.mark.parametrize(("per_s", "hit"), [(10_000, False), (10_080, True)], ids=["164 MB/s", "165.2 MB/s"])
    def test_ten_percent_are_allowed(self, per_s: float, hit: bool) -> None:
        judgement = verdict(self.sata(), step(rate=per_s))
        assert ("link-exceeded" in rules(judgement)) is hit
        if hit:
            found = finding(judgement, "link-exceeded")
            assert (judgement.verdict, found.confidence, found.scope) == ("suspicious", "high", "storage")
            assert found.title == "165 MB/s over a link for 150 MB/s"

    def test_o_direct_alone_is_a_note_on_the_step(self) -> None:
        direct = step("O_DIRECT", rate=20_000, sync="none", open_flags=("direct",), flushes=0)
        found = finding(verdict(self.sata(), direct), "link-exceeded")
        assert (found.verdict, found.scope) == (None, "step")

    def test_compression_above_the_link_makes_it_a_note(self) -> None:
        where = self.sata(top=filesystem("btrfs", compress="zstd"))
        found = finding(verdict(where, step(rate=20_000, flushes=2)), "link-exceeded")
        assert found.verdict is None
        assert "compressed or held in a cache" in found.sentence

    def test_the_page_cache_is_meant_to_be_faster(self) -> None:
        assert "link-exceeded" not in rules(verdict(self.sata(), step(rate=400_000, sync="none", flushes=0)))

    @pytest.mark.parametrize("host", [GUEST, AWS])
    def test_a_virtual_link_states_what_it_likes(self, host: Host) -> None:
        assert "link-exceeded" not in rules(verdict(self.sata(), step(rate=20_000), host=host))
        assert "link-exceeded" not in rules(verdict(self.sata(link="virtio"), step(rate=20_000)))

    def test_an_unknown_rate_is_no_limit(self) -> None:
        assert "link-exceeded" not in rules(verdict(self.sata(None), step(rate=20_000)))

    def test_two_links_carry_twice_as_much(self) -> None:
        stripes = block("md0", "md", "sda", "sdb", readings=readings(level="raid0"))
        stack = target(filesystem(below=("md0",)), stripes, linked(150), linked(150, id="sdb"))
        half: dict[str, Any] = {"flushes": {"sda": 1, "sdb": 1}, "share": 0.5}
        assert "link-exceeded" not in rules(verdict(stack, step(rate=20_000, **half)))
        assert "link-exceeded" in rules(verdict(stack, step(rate=21_000, **half)))

    def test_bytes_that_never_arrived_are_told_by_their_own_rule(self) -> None:
        judgement = verdict(self.sata(), step(rate=20_000, share=0.0))
        assert "bytes-missing" in rules(judgement)
        assert "link-exceeded" not in rules(judgement)

    def test_a_loop_on_the_disk_counts_by_the_disks_link(self) -> None:
        stack = on_loop(device=loop(), below=linked(150))
        both: dict[str, Any] = {"flushes": {"loop0": 1, "sda": 1}, "share": {"loop0": 1, "sda": 1}}
        assert finding(verdict(stack, step(rate=20_000, **both)), "link-exceeded").verdict == "suspicious"
