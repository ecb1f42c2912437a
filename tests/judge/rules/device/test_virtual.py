"""Disks that a hypervisor or a cloud provides."""

from __future__ import annotations

from typing import Any

import pytest

from fstui.model.host import Host
from fstui.model.storage import Medium, Node, Target
from tests.factories.evidence import GUEST, finding, rules, verdict
from tests.factories.steps import flushed, own_time, step, timed, write
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
    assert "vda F_FLUSH: no (/read/F_FLUSH)" in found.because


def test_fast_write_in_a_known_cloud_gives_cannot_tell() -> None:
    """SPDK on a protected drive or an offload card writes 16 KiB in 18 to 50 µs, and needs no flush."""
    in_cloud = Host(virtualization="kvm", cloud="Alibaba Cloud")
    assert (
        finding(verdict(virtio(), write(30, device="vda"), host=in_cloud), "virtio-no-flush").verdict == "cannot-tell"
    )


@pytest.mark.parametrize("us", [28, 75])
def test_firecracker_without_flush_is_suspicious(us: float) -> None:
    found = finding(
        verdict(virtio(), write(us, device="vda"), host=Host(virtualization="firecracker")), "virtio-no-flush"
    )
    assert (found.verdict, found.confidence) == ("suspicious", "medium")
    assert "the data is in its host's memory" in found.sentence


def test_missing_flush_without_a_run_gives_cannot_tell() -> None:
    found = finding(verdict(virtio(), host=GUEST), "virtio-no-flush")
    assert (found.verdict, found.confidence, found.steps) == ("cannot-tell", "low", ())


def test_host_that_could_offer_a_cache_is_plausible() -> None:
    found = finding(verdict(virtio("yes", "yes"), host=GUEST), "virtio-no-flush")
    assert (found.verdict, found.confidence) == ("plausible", "low")


@pytest.mark.parametrize(
    "where",
    [virtio("yes", "no"), virtio(write_cache="write back"), virtio(link="nvme"), virtio(readings=())],
    ids=["flush offered", "write back", "not virtio", "features not read"],
)
def test_other_virtual_disks_have_no_finding(where: Target) -> None:
    assert "virtio-no-flush" not in rules(verdict(where, write(20, device="vda"), host=GUEST))


def test_throttled_writes_are_not_fast() -> None:
    throttled = timed("O_DIRECT", 30, mean_us=2000, sync="none", open_flags=("direct",), flushes=0, device="vda")
    assert finding(verdict(virtio(), throttled, host=GUEST), "virtio-no-flush").verdict == "cannot-tell"


def test_page_cache_write_is_no_time_of_the_disk() -> None:
    buffered = write(2, device="vda", share=0.0)
    assert finding(verdict(virtio(), buffered, host=GUEST), "virtio-no-flush").verdict == "cannot-tell"


def test_declared_rotating_disk_takes_precedence() -> None:
    where = virtio(medium=Medium(class_="hdd-7200", declared=True))
    same = own_time(step("same", offsets="same", rate=118, ops=118, flushes=0, device="vda"), 8)
    judgement = verdict(where, same, host=GUEST)
    assert "virtio-no-flush" not in rules(judgement)
    assert judgement.verdict == "consistent"


NETWORK = Medium(class_="network", because="the model says a network volume of AWS (EBS)")


def fast_volume(**changes: Any) -> Node:
    return disk(**{"medium": NETWORK, "link": "nvme", "model": "Amazon Elastic Block Store", **changes})


@pytest.mark.parametrize(("per_s", "hit"), [(9_999, False), (10_000, True), (20_000, True)])
def test_network_volume_is_too_fast_from_10000_per_second(per_s: float, hit: bool) -> None:
    judgement = verdict(on_disk(filesystem(), fast_volume()), step(rate=per_s, ops=10_000), host=AWS)
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
def test_fast_network_storage_is_excluded(changes: dict[str, Any]) -> None:
    where = on_disk(filesystem(), fast_volume(**changes))
    assert "network-too-fast" not in rules(verdict(where, step(rate=20_000), host=AWS))


def test_own_ceph_server_is_excluded() -> None:
    """The servers of Ceph may be on the same host."""
    where = on_disk(filesystem(below=("rbd0",)), fast_volume(id="rbd0", kind="rbd", model=None))
    judgement = verdict(where, step(rate=20_000, device="rbd0"), host=AWS)
    assert (judgement.verdict, "network-too-fast" in rules(judgement)) == ("consistent", False)


@pytest.mark.parametrize(("barrier", "share"), [("nobarrier", 1.0), ("barrier", 0.0)], ids=["flushes", "bytes"])
def test_lost_flushes_and_bytes_take_precedence(barrier: str, share: float) -> None:
    where = on_disk(filesystem(barrier=barrier), fast_volume())
    judgement = verdict(where, step(rate=20_000, share=share), host=AWS)
    assert (judgement.verdict, "network-too-fast" in rules(judgement)) == ("not-durable", False)


def test_volume_is_recognised_by_its_name_alone() -> None:
    assert "network-too-fast" in rules(verdict(on_disk(filesystem(), fast_volume()), step(rate=20_000), host=GUEST))


def test_network_volume_needs_a_visible_device() -> None:
    hidden = target(filesystem("overlay", "/", below=()))
    assert "network-too-fast" not in rules(verdict(hidden, step(rate=20_000, flushes={}), host=AWS))


def test_sixteen_writers_may_be_fast() -> None:
    where = on_disk(filesystem(), fast_volume())
    assert "network-too-fast" not in rules(verdict(where, step(rate=20_000, writers=16), host=AWS))


def test_unsynced_writes_may_be_fast() -> None:
    where = on_disk(filesystem(), fast_volume())
    assert "network-too-fast" not in rules(verdict(where, step(rate=200_000, sync="none", flushes=0), host=AWS))


def test_volume_behind_a_local_cache_may_be_fast() -> None:
    cache = block("bcache0", "bcache", "sda", "sdb", readings=readings(cache_mode="writeback"))
    fast = disk(medium=Medium(class_="ssd"), readings=readings(role="cache"))
    stack = target(filesystem(below=("bcache0",)), cache, fast, fast_volume(id="sdb", readings=readings(role="origin")))
    assert "network-too-fast" not in rules(verdict(stack, step(rate=20_000), host=AWS))


AWS = Host(virtualization="kvm", cloud="aws")
EBS = "Amazon Elastic Block Store"
AZURE = readings(vmbus_id="f8b3781b-1e82-4818-a1c3-63d806ec15bb", lun="0", grade="virtual")

SYSTEM = readings(vmbus_id="00000000-0000-8899-0000-000000000000", lun="0")


def slow_volume(model: str = EBS, name: str = "sda", **changes: Any) -> Node:
    given = {"link": "nvme", "model": model, "medium": Medium(class_="network"), "readings": readings(grade="cloud")}
    return disk(name, **{"write_cache": "write through", **given, **changes})


def on(*devices: Node) -> Target:
    return on_disk(filesystem(), *devices)


@pytest.mark.parametrize(("model", "cloud", "word"), [
    (EBS, "aws", "several servers of one Availability Zone"), ("nvme_card-pd", "gcp", "several physical disks"),
    ("Google PersistentDisk", "gcp", "replicated as it is written"), ("MSFT NVMe Accelerator v1.0", "azure", "three"),
    ("Alibaba Cloud Elastic Block Storage", "alibaba", "all three copies"), ("ORACLE BlockVolume", "oracle", "copies"),
    ("DO Volume", "digitalocean", "copies"),
])  # fmt: skip
def test_documented_volume_is_plausible(model: str, cloud: str, word: str) -> None:
    judgement = verdict(on(slow_volume(model)), step(flushes=0, rate=900), host=Host(virtualization="kvm", cloud=cloud))
    assert (judgement.verdict, judgement.confidence) == ("plausible", "low")
    found = finding(judgement, "provider-volume")
    assert word in found.sentence
    assert any(line.startswith("documented: ") for line in found.because)
    assert f"the host: {cloud} (/sys/class/dmi/id)" in found.because


def test_azure_disk_is_recognised_by_its_place_on_the_bus() -> None:
    data = slow_volume("Msft Virtual Disk", link="hyper-v", readings=AZURE)
    azure = Host(virtualization="microsoft", cloud="azure")
    found = finding(verdict(on(data), step(flushes=0), host=azure), "provider-volume")
    assert "host caching None or ReadOnly" in found.sentence
    assert "sda vmbus_id: f8b3781b-1e82-4818-a1c3-63d806ec15bb (/read/vmbus_id)" in found.because
    assert "provider-volume" not in rules(verdict(on(data), step(flushes=0), host=Host(virtualization="microsoft")))


@pytest.mark.parametrize(
    ("node", "host"),
    [
        (slow_volume(), GUEST),
        (slow_volume(), Host(virtualization="kvm", cloud="gcp")),
        (slow_volume("QEMU NVMe Ctrl"), AWS),
        (slow_volume("HC Volume"), Host(virtualization="kvm", cloud="hetzner")),
        (slow_volume("Amazon EC2 NVMe Instance Storage"), AWS),
        (slow_volume("Msft Virtual Disk", readings=SYSTEM), Host(virtualization="microsoft", cloud="azure")),
    ],
    ids=["unnamed host", "other cloud", "unnamed disk", "no document", "instance store", "system disk"],
)
def test_volume_needs_both_names_and_a_document(node: Node, host: Host) -> None:
    judgement = verdict(on(node), step(flushes=0), host=host)
    assert "provider-volume" not in rules(judgement)
    assert judgement.verdict == "cannot-tell"


def test_volume_with_write_back_is_judged_by_flushes() -> None:
    cached = slow_volume(write_cache="write back")
    judgement = verdict(on(cached), step(), host=AWS)
    assert (judgement.verdict, judgement.confidence) == ("consistent", "low")
    assert "provider-volume" not in rules(judgement)
    assert verdict(on(cached), step(flushes=0), host=AWS).verdict == "not-durable"


def test_volume_needs_a_run_and_all_bytes() -> None:
    assert "provider-volume" not in rules(verdict(on(slow_volume()), host=AWS))
    lacking = verdict(on(slow_volume()), step(flushes=0, share=0.1, open_flags=("direct",)), host=AWS)
    assert "provider-volume" not in rules(lacking)
    assert lacking.verdict == "not-durable"


def test_volume_faster_than_a_network_is_suspicious() -> None:
    judgement = verdict(on(slow_volume()), step(flushes=0, rate=20_000, ops=20_000), host=AWS)
    assert "provider-volume" not in rules(judgement)
    assert judgement.verdict == "suspicious"


def test_volume_reached_by_rdma_may_be_fast() -> None:
    near = slow_volume("Alibaba Cloud Elastic Block Storage")
    judgement = verdict(on(near), step(flushes=0, rate=20_000, ops=20_000), host=Host(cloud="alibaba"))
    assert "network-too-fast" not in rules(judgement)


def test_every_mirror_member_needs_a_document() -> None:
    members = block("md0", "md", "sda", "sdb", readings=readings(level="raid1"))
    flat: dict[str, Any] = {"flushes": {"sda": 0, "sdb": 0}}
    both = target(filesystem(below=("md0",)), members, slow_volume(), slow_volume(name="sdb"))
    assert finding(verdict(both, step(**flat), host=AWS), "provider-volume").title.startswith("sda and sdb")
    store = slow_volume("Amazon EC2 NVMe Instance Storage", "sdb")
    mixed = target(filesystem(below=("md0",)), members, slow_volume(), store)
    assert "provider-volume" not in rules(verdict(mixed, step(**flat), host=AWS))


def test_mirror_member_without_flushes_takes_precedence() -> None:
    members = block("md0", "md", "sda", "sdb", readings=readings(level="raid1"))
    both = target(filesystem(below=("md0",)), members, slow_volume(), slow_volume(name="sdb", write_cache="write back"))
    judgement = verdict(both, step(flushes={"sda": 0, "sdb": 0}), host=AWS)
    assert rules(judgement) == {"flushes-missing"}


def test_uncounted_volume_has_no_finding() -> None:
    uncounted = on(slow_volume(counted=False))
    assert "provider-volume" not in rules(verdict(uncounted, step(flushes=None, share=None), host=AWS))


def test_overridden_write_cache_takes_precedence() -> None:
    through = slow_volume(readings=readings(vwc="present"))
    judgement = verdict(on(through), write(500, flushes=0), flushed(600, flushes=0), host=AWS)
    assert "provider-volume" not in rules(judgement)
    assert judgement.verdict == "not-durable"
