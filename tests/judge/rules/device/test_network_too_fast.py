"""A cloud's volume that is quicker than its network."""

from __future__ import annotations

from typing import Any

import pytest

from fstui.model.host import Host
from fstui.model.storage import Medium, Node
from tests.factories.evidence import GUEST, finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, on_disk, readings, target

AWS = Host(virtualization="kvm", cloud="aws")
NETWORK = Medium(class_="network", because="the model says a network volume of AWS (EBS)")


def volume(**changes: Any) -> Node:
    return disk(**{"medium": NETWORK, "link": "nvme", "model": "Amazon Elastic Block Store", **changes})


@pytest.mark.parametrize(("per_s", "hit"), [(9_999, False), (10_000, True), (20_000, True)])
def test_its_boundary(per_s: float, hit: bool) -> None:
    judgement = verdict(on_disk(filesystem(), volume()), step(rate=per_s, ops=10_000), host=AWS)
    assert ("network-too-fast" in rules(judgement)) is hit
    if hit:
        found = finding(judgement, "network-too-fast")
        assert (judgement.verdict, found.confidence) == ("suspicious", "medium")


@pytest.mark.parametrize(
    "changes",
    [
        {"readings": readings(transport="rdma")},
        {"readings": readings(transport="tcp")},
        {"link": "fc"},
        {"link": "iscsi"},
        {"medium": Medium(class_="ssd", ephemeral=True)},
    ],
    ids=["NVMe over RDMA", "NVMe over TCP", "Fibre Channel", "iSCSI", "local SSD"],
)
def test_what_can_be_that_fast_is_left_alone(changes: dict[str, Any]) -> None:
    where = on_disk(filesystem(), volume(**changes))
    assert "network-too-fast" not in rules(verdict(where, step(rate=20_000), host=AWS))


def test_a_network_of_ones_own_is_left_alone() -> None:
    """As nbd on a cloud's box, whose server may be that box."""
    where = on_disk(filesystem(below=("nbd0",)), volume(id="nbd0", kind="nbd", model=None))
    judgement = verdict(where, step(rate=20_000, device="nbd0"), host=AWS)
    assert (judgement.verdict, "network-too-fast" in rules(judgement)) == ("consistent", False)


@pytest.mark.parametrize(("barrier", "share"), [("nobarrier", 1.0), ("barrier", 0.0)], ids=["flushes", "bytes"])
def test_what_is_lost_above_never_went_over_the_network(barrier: str, share: float) -> None:
    where = on_disk(filesystem(barrier=barrier), volume())
    judgement = verdict(where, step(rate=20_000, share=share), host=AWS)
    assert (judgement.verdict, "network-too-fast" in rules(judgement)) == ("not-durable", False)


def test_a_volume_is_the_clouds_by_its_name_alone() -> None:
    assert "network-too-fast" in rules(verdict(on_disk(filesystem(), volume()), step(rate=20_000), host=GUEST))


def test_where_no_device_is_seen_none_is_a_volume() -> None:
    hidden = target(filesystem("overlay", "/", below=()))
    assert "network-too-fast" not in rules(verdict(hidden, step(rate=20_000, flushes={}), host=AWS))


def test_sixteen_writers_may_be() -> None:
    where = on_disk(filesystem(), volume())
    assert "network-too-fast" not in rules(verdict(where, step(rate=20_000, writers=16), host=AWS))


def test_a_write_without_a_sync_may_be() -> None:
    where = on_disk(filesystem(), volume())
    assert "network-too-fast" not in rules(verdict(where, step(rate=200_000, sync="none", flushes=0), host=AWS))


def test_where_a_local_disk_caches_for_it_that_one_answers() -> None:
    cache = block("bcache0", "bcache", "sda", "sdb", readings=readings(cache_mode="writeback"))
    fast = disk(medium=Medium(class_="ssd"), readings=readings(role="cache"))
    stack = target(filesystem(below=("bcache0",)), cache, fast, volume(id="sdb", readings=readings(role="origin")))
    assert "network-too-fast" not in rules(verdict(stack, step(rate=20_000), host=AWS))
