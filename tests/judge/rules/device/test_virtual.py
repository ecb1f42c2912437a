"""Disks that a hypervisor or a cloud provides."""

from typing import Any

import pytest

from fstui.model.host import Host
from fstui.model.steps import Step
from fstui.model.storage import Medium, Node, Target
from tests.factories.evidence import GUEST, finding, rules, verdict
from tests.factories.growth import GROWN_US, flushes
from tests.factories.steps import own_time, step, timed, write
from tests.factories.storage import block, disk, filesystem, on_disk, readings, target


def virtio(flush: str = "no", config_wce: str = "no", **changes: Any) -> Target:
    features = readings(F_FLUSH=flush, CONFIG_WCE=config_wce)
    given = {"link": "virtio", "write_cache": "write through", "readings": features, **changes}
    return on_disk(filesystem(below=("vda",)), disk("vda", **given))


@pytest.mark.parametrize(
    ("us", "says"), [(18, "suspicious"), (59, "suspicious"), (60, "cannot-tell"), (2000, "cannot-tell")]
)
def test_fast_write_without_flush_is_suspicious(us: float, says: str) -> None:
    judgement = verdict(virtio(), write(us, device="vda"), host=GUEST)
    found = finding(judgement, "virtio-no-flush")
    assert (found.verdict, found.confidence, judgement.verdict) == (says, "low", says)
    assert ("only in the host's memory" in found.sentence) is (us < 60)
    assert "vda F_FLUSH: no (/read/F_FLUSH)" in found.evidence


@pytest.mark.parametrize("us", [28, 75])
def test_firecracker_without_flush_is_suspicious(us: float) -> None:
    found = finding(
        verdict(virtio(), write(us, device="vda"), host=Host(virtualization="firecracker")), "virtio-no-flush"
    )
    assert (found.verdict, found.confidence) == ("suspicious", "medium")
    assert "the data is in its host's memory" in found.sentence


THROTTLED = timed("O_DIRECT", 30, mean_us=2000, sync="none", open_flags=("direct",), flushes=0, device="vda")
IN_CLOUD = Host(virtualization="kvm", cloud="Alibaba Cloud")


@pytest.mark.parametrize(
    ("where", "steps", "host", "says"),
    [
        pytest.param(virtio(), [], GUEST, "cannot-tell", id="no run"),
        # SPDK on a protected drive or an offload card writes 16 KiB in 18 to 50 µs, and needs no flush
        pytest.param(virtio(), [write(30, device="vda")], IN_CLOUD, "cannot-tell", id="known cloud"),
        pytest.param(virtio(), [THROTTLED], GUEST, "cannot-tell", id="throttled"),
        pytest.param(virtio(), [write(2, device="vda", share=0.0)], GUEST, "cannot-tell", id="in the page cache"),
        pytest.param(virtio("yes", "yes"), [], GUEST, "plausible", id="a cache could be offered"),
    ],
)
def test_missing_flush_alone_is_not_suspicious(where: Target, steps: list[Step], host: Host, says: str) -> None:
    found = finding(verdict(where, *steps, host=host), "virtio-no-flush")
    assert (found.verdict, found.confidence) == (says, "low")
    assert steps or not found.steps


@pytest.mark.parametrize(
    "where",
    [virtio("yes", "no"), virtio(write_cache="write back"), virtio(link="nvme"), virtio(readings=())],
    ids=["flush offered", "write back", "not virtio", "features not read"],
)
def test_other_virtual_disks_have_no_finding(where: Target) -> None:
    assert "virtio-no-flush" not in rules(verdict(where, write(20, device="vda"), host=GUEST))


def test_declared_rotating_disk_takes_precedence() -> None:
    where = virtio(medium=Medium(class_="hdd-7200", declared=True))
    same = own_time(step("same", offsets="same", rate=118, ops=118, flushes=0, device="vda"), 8)
    judgement = verdict(where, same, host=GUEST)
    assert "virtio-no-flush" not in rules(judgement)
    assert judgement.verdict == "consistent"


AWS = Host(virtualization="kvm", cloud="aws")
NETWORK = Medium(class_="network", reason="the model identifies a network volume of AWS (EBS)")


def fast_volume(**changes: Any) -> Node:
    return disk(**{"medium": NETWORK, "link": "nvme", "model": "Amazon Elastic Block Store", **changes})


@pytest.mark.parametrize("host", [AWS, GUEST], ids=["its host", "a guest: the name alone"])
@pytest.mark.parametrize(("per_s", "hit"), [(9_999, False), (10_000, True), (20_000, True)])
def test_network_volume_is_too_fast_from_10000_per_second(host: Host, per_s: float, hit: bool) -> None:
    judgement = verdict(on_disk(filesystem(), fast_volume()), step(rate=per_s, ops=10_000), host=host)
    assert ("network-too-fast" in rules(judgement)) is hit
    if hit:
        found = finding(judgement, "network-too-fast")
        assert (judgement.verdict, found.confidence) == ("suspicious", "medium")


def test_several_network_volumes_are_named_in_the_plural() -> None:
    where = on_disk(filesystem(below=("sda", "sdb")), fast_volume(), fast_volume(id="sdb"))
    found = finding(verdict(where, step(rate=20_000, ops=10_000), host=AWS), "network-too-fast")
    assert found.sentence.startswith("sda and sdb are network volumes, and one writer did")


CACHE = block("bcache0", "bcache", "sda", "sdb", readings=readings(cache_mode="writeback"))
FAST = disk(medium=Medium(class_="ssd"), readings=readings(role="cache"))
SLOW = fast_volume(id="sdb", readings=readings(role="origin"))
CEPH = on_disk(filesystem(below=("rbd0",)), fast_volume(id="rbd0", kind="rbd", model=None))
QUICK = step(rate=20_000)


@pytest.mark.parametrize(
    ("where", "done"),
    [
        pytest.param(on_disk(None, fast_volume(readings=readings(transport="rdma"))), QUICK, id="NVMe over RDMA"),
        pytest.param(on_disk(None, fast_volume(readings=readings(transport="tcp"))), QUICK, id="NVMe over TCP"),
        pytest.param(on_disk(None, fast_volume(link="fc")), QUICK, id="Fibre Channel"),
        pytest.param(on_disk(None, fast_volume(link="iscsi")), QUICK, id="iSCSI"),
        pytest.param(on_disk(None, fast_volume(medium=Medium(class_="ssd", ephemeral=True))), QUICK, id="local SSD"),
        pytest.param(target(filesystem(below=("bcache0",)), CACHE, FAST, SLOW), QUICK, id="local cache"),
        pytest.param(CEPH, step(rate=20_000, device="rbd0"), id="Ceph"),  # the servers of Ceph may be on the same host
        pytest.param(
            target(filesystem("overlay", "/", below=())), step(rate=20_000, flushes={}), id="no visible device"
        ),
        pytest.param(on_disk(None, fast_volume()), step(rate=20_000, writers=16), id="sixteen writers"),
        pytest.param(on_disk(None, fast_volume()), step(rate=200_000, sync="none", flushes=0), id="no syncs"),
    ],
)
def test_fast_network_storage_is_excluded(where: Target, done: Step) -> None:
    assert "network-too-fast" not in rules(verdict(where, done, host=AWS))


@pytest.mark.parametrize(("barrier", "share"), [("nobarrier", 1.0), ("barrier", 0.0)], ids=["flushes", "bytes"])
def test_lost_flushes_and_bytes_take_precedence(barrier: str, share: float) -> None:
    where = on_disk(filesystem(barrier=barrier), fast_volume())
    judgement = verdict(where, step(rate=20_000, share=share), host=AWS)
    assert (judgement.verdict, "network-too-fast" in rules(judgement)) == ("not-durable", False)


VIRTUALBOX = Host(virtualization="virtualbox")
VBOX = on_disk(filesystem(), disk(model="VBOX HARDDISK"))


def test_hypervisor_that_ignores_flushes_gives_cannot_tell() -> None:
    """IgnoreFlush is 1 unless it was set to 0, and a flush that is ignored reaches the virtual disk like any other."""
    judgement = verdict(VBOX, step(), host=VIRTUALBOX)
    assert (judgement.verdict, judgement.confidence) == ("cannot-tell", "low")
    found = finding(judgement, "ignored-by-default")
    assert "IgnoreFlush" in found.next[0] and found.next[-1].startswith("Until then")
    assert verdict(VBOX, step(), host=GUEST).verdict == "consistent"
    assert verdict(VBOX, step(flushes=0), host=VIRTUALBOX).verdict == "not-durable"


def test_target_that_ignores_flushes_gives_cannot_tell() -> None:
    longhorn = on_disk(filesystem(), disk(model="IET VIRTUAL-DISK", link="iscsi"))
    judgement = verdict(longhorn, step())
    assert (judgement.verdict, judgement.confidence) == ("cannot-tell", "low")
    assert finding(judgement, "ignored-by-default").title == "sda: Longhorn ignores flushes"
    assert verdict(longhorn, step(), flushes(GROWN_US, own={"sda": 1.0})).verdict == "consistent"
