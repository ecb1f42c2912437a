"""A cloud's volume that writes through: its provider's word, and never more than that."""

from __future__ import annotations

from typing import Any

import pytest

from fstui.model.host import Host
from fstui.model.storage import Medium, Node, Target
from tests.factories.evidence import GUEST, finding, rules, verdict
from tests.factories.steps import flushed, step, write
from tests.factories.storage import block, disk, filesystem, on_disk, readings, target

AWS = Host(virtualization="kvm", cloud="aws")
EBS = "Amazon Elastic Block Store"
AZURE = readings(vmbus_id="f8b3781b-1e82-4818-a1c3-63d806ec15bb", lun="0", grade="virtual")

SYSTEM = readings(vmbus_id="00000000-0000-8899-0000-000000000000", lun="0")


def volume(model: str = EBS, name: str = "sda", **changes: Any) -> Node:
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
def test_it_is_plausible_by_its_providers_word(model: str, cloud: str, word: str) -> None:
    judgement = verdict(on(volume(model)), step(flushes=0, rate=900), host=Host(virtualization="kvm", cloud=cloud))
    assert (judgement.verdict, judgement.confidence) == ("plausible", "low")
    found = finding(judgement, "provider-volume")
    assert word in found.sentence
    assert any(line.startswith("documented: ") for line in found.because)
    assert f"the box: {cloud} (/sys/class/dmi/id)" in found.because


def test_azures_scsi_disks_are_told_by_their_place_on_the_bus() -> None:
    data = volume("Msft Virtual Disk", link="hyper-v", readings=AZURE)
    azure = Host(virtualization="microsoft", cloud="azure")
    found = finding(verdict(on(data), step(flushes=0), host=azure), "provider-volume")
    assert "host caching None or ReadOnly" in found.sentence
    assert "sda vmbus_id: f8b3781b-1e82-4818-a1c3-63d806ec15bb (/read/vmbus_id)" in found.because
    assert "provider-volume" not in rules(verdict(on(data), step(flushes=0), host=Host(virtualization="microsoft")))


@pytest.mark.parametrize(
    ("node", "host"),
    [
        (volume(), GUEST),
        (volume(), Host(virtualization="kvm", cloud="gcp")),
        (volume("QEMU NVMe Ctrl"), AWS),
        (volume("HC Volume"), Host(virtualization="kvm", cloud="hetzner")),
        (volume("Amazon EC2 NVMe Instance Storage"), AWS),
        (volume("Msft Virtual Disk", readings=SYSTEM), Host(virtualization="microsoft", cloud="azure")),
    ],
    ids=["nobody's box", "another's box", "nobody's disk", "no document", "an instance store", "a system's disk"],
)
def test_without_both_names_and_a_document_nothing_is_said(node: Node, host: Host) -> None:
    judgement = verdict(on(node), step(flushes=0), host=host)
    assert "provider-volume" not in rules(judgement)
    assert judgement.verdict == "cannot-tell"


def test_one_that_says_write_back_is_judged_by_its_flushes() -> None:
    cached = volume(write_cache="write back")
    judgement = verdict(on(cached), step(), host=AWS)
    assert (judgement.verdict, judgement.confidence) == ("consistent", "low")
    assert "provider-volume" not in rules(judgement)
    assert verdict(on(cached), step(flushes=0), host=AWS).verdict == "not-durable"


def test_before_a_run_and_where_bytes_are_missing_it_is_silent() -> None:
    assert "provider-volume" not in rules(verdict(on(volume()), host=AWS))
    lacking = verdict(on(volume()), step(flushes=0, share=0.1, open_flags=("direct",)), host=AWS)
    assert "provider-volume" not in rules(lacking)
    assert lacking.verdict == "not-durable"


def test_what_is_quicker_than_a_network_is_not_believed() -> None:
    judgement = verdict(on(volume()), step(flushes=0, rate=20_000, ops=20_000), host=AWS)
    assert "provider-volume" not in rules(judgement)
    assert judgement.verdict == "suspicious"


def test_one_that_is_reached_by_rdma_may_be_that_quick() -> None:
    near = volume("Alibaba Cloud Elastic Block Storage")
    judgement = verdict(on(near), step(flushes=0, rate=20_000, ops=20_000), host=Host(cloud="alibaba"))
    assert "network-too-fast" not in rules(judgement)


def test_every_leg_wants_a_word() -> None:
    legs = block("md0", "md", "sda", "sdb", readings=readings(level="raid1"))
    flat: dict[str, Any] = {"flushes": {"sda": 0, "sdb": 0}}
    both = target(filesystem(below=("md0",)), legs, volume(), volume(name="sdb"))
    assert finding(verdict(both, step(**flat), host=AWS), "provider-volume").title.startswith("sda and sdb")
    store = volume("Amazon EC2 NVMe Instance Storage", "sdb")
    mixed = target(filesystem(below=("md0",)), legs, volume(), store)
    assert "provider-volume" not in rules(verdict(mixed, step(**flat), host=AWS))


def test_a_leg_that_lacks_its_flushes_is_what_is_said_of_both() -> None:
    legs = block("md0", "md", "sda", "sdb", readings=readings(level="raid1"))
    both = target(filesystem(below=("md0",)), legs, volume(), volume(name="sdb", write_cache="write back"))
    judgement = verdict(both, step(flushes={"sda": 0, "sdb": 0}), host=AWS)
    assert rules(judgement) == {"flushes-missing"}


def test_where_nobody_counts_what_is_written_nothing_is_said() -> None:
    uncounted = on(volume(counted=False))
    assert "provider-volume" not in rules(verdict(uncounted, step(flushes=None, share=None), host=AWS))


def test_where_syncs_do_not_get_that_far_it_is_silent() -> None:
    through = volume(readings=readings(vwc="present"))
    judgement = verdict(on(through), write(500, flushes=0), flushed(600, flushes=0), host=AWS)
    assert "provider-volume" not in rules(judgement)
    assert judgement.verdict == "not-durable"
