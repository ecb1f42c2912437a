"""Devices whose controller, array or provider states that what they acknowledged survives a power cut."""

from typing import Any

import pytest

from fstui.model.host import Host
from fstui.model.steps import Step
from fstui.model.storage import Medium, Node, Target
from tests.factories.evidence import GUEST, METAL, finding, rules, verdict
from tests.factories.steps import own_time, step
from tests.factories.storage import block, disk, filesystem, on_array, on_disk, readings, target

PLAUSIBLE = ("plausible", "low")
ROTATING = Medium(class_="hdd-7200", rpm=7200, write_cache="none")
SSD, PLP = Medium(class_="ssd", write_cache="none"), Medium(class_="ssd-plp", write_cache="plp")
CONTROLLER = Medium(class_="raid-cache")
SAS: dict[str, Any] = {"link": "sas", "medium": SSD}
JBOD: dict[str, Any] = {"link": "scsi", "medium": SSD}
OFF = {"cache_type": "write through", "form_factor": "3"}


def through(name: str = "sda", read: dict[str, str] | None = None, **changes: Any) -> Node:
    """Return a drive that the kernel considers "write through", with these readings."""
    return disk(name, write_cache="write through", readings=readings(**(read or {})), **changes)


def said(node: Node, host: Host = METAL, rate: float = 900, **step_changes: Any) -> tuple[str, str]:
    where = on_disk(filesystem(below=(node.id,)), node)
    judgement = verdict(where, step(flushes=0, rate=rate, ops=4000, device=node.id, **step_changes), host=host)
    return judgement.verdict, judgement.confidence


@pytest.mark.parametrize(
    "node",
    [
        through(read=OFF, **SAS),
        through(read={"cache_type": "write through", "ID_ATA_WRITE_CACHE_ENABLED": "0"}, medium=SSD),
        through(read={"drive_cache": "off"}, medium=SSD),
        through(read={"vwc": "present", "drive_cache": "off"}, link="nvme", medium=SSD),
        through("nvme0n1", {"vwc": "absent", "transport": "pcie"}, link="nvme", medium=SSD),
        through(read={**OFF, "controller": "megaraid_sas"}, **JBOD),
        through(link="scsi", medium=CONTROLLER),
        through(read={"controller": "megaraid_sas"}, link="scsi"),
        through(read={"grade": "raid"}, link="scsi", model="DELL PERC H330 Mini"),
        through(read={"grade": "array"}, link="fc", model="NETAPP LUN C-Mode"),
        through(read={"grade": "array"}, link="iscsi", model="PURE FlashArray", medium=Medium(class_="network")),
        through(link="sata", medium=PLP),
        through("rbd0", kind="rbd", link=None, medium=Medium(class_="network")),
    ],
    ids=[
        "SAS", "SATA, by udev", "SATA, by hdparm", "NVMe, switched off", "NVMe without a cache", "passed through",
        "controller", "controller, by its driver", "controller without a cache", "FC", "iSCSI", "protected", "Ceph",
    ],
)  # fmt: skip
def test_stated_absence_of_a_volatile_cache_is_plausible(node: Node) -> None:
    assert said(node) == PLAUSIBLE


def test_controller_without_a_cache_has_no_battery() -> None:
    volume = through(read={"grade": "raid"}, link="scsi", model="DELL PERC H330 Mini")
    found = finding(verdict(on_disk(None, volume), step(flushes=0)), "stated-durable")
    assert found.title == "sda: durable if its drives lose nothing"
    assert not any("battery" in line for line in (found.sentence, *found.next))


@pytest.mark.parametrize(("node", "command"), [
    (through(read=OFF, **SAS), "smartctl -g wcache /dev/sda"),
    (through("nvme0n1", {"vwc": "present", "drive_cache": "off"}, link="nvme"), "nvme get-feature -f 6 /dev/nvme0n1"),
    (through("nvme0c3n1", {"vwc": "present", "drive_cache": "off"}, link="nvme"), "nvme get-feature -f 6 /dev/nvme3'"),
    (through("nvme0n1", {"vwc": "absent"}, link="nvme"), "Look up whether the maker states"),
])  # fmt: skip
def test_drive_without_a_cache_names_a_check_that_it_supports(node: Node, command: str) -> None:
    judgement = verdict(on_disk(filesystem(below=(node.id,)), node), step(flushes=0, device=node.id))
    assert command in finding(judgement, "stated-durable").next[0]


@pytest.mark.parametrize(
    ("node", "rate"),
    [
        (through(read={"cache_type": "write through", "ID_ATA_WRITE_CACHE_ENABLED": "1"}, medium=SSD), 900),
        (through(read={**OFF, "drive_cache": "on"}, medium=SSD), 900),
        (through("nvme0n1", link="nvme", medium=SSD), 900),
        (through(read=OFF, **SAS), 120_000),
        (through(read={**OFF, "grade": "consumer"}, medium=SSD), 20_000),
        (through(read=OFF, link="usb"), 900),
        (through("mmcblk0", link="mmc"), 900),
        (through("vda", link="virtio"), 900),
        (through(read=OFF, link="fc"), 900),
        (through(read=OFF, link="iscsi", medium=Medium(class_="network")), 900),
        (through(read={"vwc": "absent", "transport": "tcp"}, link="nvme", medium=Medium(class_="network")), 900),
        (through(link="scsi", medium=CONTROLLER), 120_000),
    ],
    ids=[
        "udev contradicts", "the drive contradicts", "NVMe, not asked", "faster than any cache", "faster than NAND",
        "USB", "SD card", "virtio", "unknown target, FC", "unknown target, iSCSI", "unknown target, NVMe",
        "faster than any controller",
    ],
)  # fmt: skip
def test_doubtful_or_contradicted_statement_is_not_accepted(node: Node, rate: float) -> None:
    assert said(node, rate=rate)[0] in {"cannot-tell", "not-durable"}


def test_platter_that_is_too_fast_contradicts_its_drive() -> None:
    drive = through(read=OFF, medium=ROTATING, rotational=True)
    same = own_time(step("same", offsets="same", rate=118, ops=118, flushes=0), 8)
    assert verdict(on(drive), same).verdict == "consistent"
    assert said(drive, rate=2000, offsets="same")[0] == "suspicious"


@pytest.mark.parametrize("changes", [{"flushes": 0}, {"share": 0.1}], ids=str)
def test_missing_flushes_and_bytes_contradict_a_controller(changes: dict[str, Any]) -> None:
    cached = disk(medium=CONTROLLER, link="scsi")
    assert verdict(on(cached), step(open_flags=("direct",), **changes)).verdict == "not-durable"


def test_paths_to_an_array_need_one_statement_each() -> None:
    lun: dict[str, Any] = {"link": "fc", "model": "NETAPP LUN C-Mode"}
    paths = through("sda", {"grade": "array"}, **lun), through("sdb", {"grade": "array"}, **lun)
    multipath = block("dm-0", "dm-multipath", "sda", "sdb", write_cache="write through")
    both: dict[str, Any] = {"flushes": {"sda": 0, "sdb": 0}, "share": {"sda": 0.5, "sdb": 0.5}}
    judgement = verdict(target(filesystem(below=("dm-0",)), multipath, *paths), step(**both))
    assert (judgement.verdict, judgement.confidence) == PLAUSIBLE
    unknown = through("sda", link="fc", model="LIO-ORG disk"), through("sdb", link="fc", model="LIO-ORG disk")
    judgement = verdict(target(filesystem(below=("dm-0",)), multipath, *unknown), step(**both))
    assert judgement.verdict == "cannot-tell"
    assert "that sda and sdb have no volatile cache" in judgement.sentence and "dm-0" not in judgement.sentence
    assert "target" in judgement.findings[-1].next[0]


@pytest.mark.parametrize(
    ("model", "host", "expected"),
    [
        ("VMware Virtual disk", Host(virtualization="vmware"), PLAUSIBLE),
        ("Msft Virtual Disk", Host(virtualization="microsoft"), PLAUSIBLE),
        ("NUTANIX VDISK", Host(virtualization="kvm"), PLAUSIBLE),
        ("VMware Virtual disk", GUEST, ("cannot-tell", "low")),
        ("Msft Virtual Disk", Host(virtualization="microsoft", cloud="azure"), ("cannot-tell", "low")),
        ("Amazon EC2 NVMe Instance Storage", Host(virtualization="kvm", cloud="aws"), PLAUSIBLE),
        ("Amazon EC2 NVMe Instance Storage", GUEST, ("cannot-tell", "low")),
    ],
)
def test_virtual_disk_needs_a_host_of_the_same_name(model: str, host: Host, expected: tuple[str, str]) -> None:
    assert said(through(model=model, link="scsi", read={"cache_type": "write through"}), host) == expected


AWS = Host(virtualization="kvm", cloud="aws")
IN_GCP = Host(virtualization="kvm", cloud="gcp")
ON_AZURE = Host(virtualization="microsoft", cloud="azure")
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
    found = finding(judgement, "stated-durable")
    assert word in found.sentence
    assert any(line.startswith("documented: ") for line in found.evidence)
    assert f"the host: {cloud} (/sys/class/dmi/id)" in found.evidence


def test_azure_disk_is_recognised_by_its_place_on_the_bus() -> None:
    data = slow_volume("Msft Virtual Disk", link="hyper-v", readings=AZURE)
    found = finding(verdict(on(data), step(flushes=0), host=ON_AZURE), "stated-durable")
    assert "host caching None or ReadOnly" in found.sentence
    assert "sda vmbus_id: f8b3781b-1e82-4818-a1c3-63d806ec15bb (/read/vmbus_id)" in found.evidence
    own = finding(verdict(on(data), step(flushes=0), host=Host(virtualization="microsoft")), "stated-durable")
    assert "three copies" not in own.sentence and "Hyper-V" in own.sentence


FLAT, LACKING = step(flushes=0), step(flushes=0, share=0.1, open_flags=("direct",))
FLAT_BOTH = step(flushes={"sda": 0, "sdb": 0})
CACHED = slow_volume(write_cache="write back")
OVERRIDDEN = slow_volume(readings=readings(vwc="present", drive_cache="on"))
SYSTEM_DISK = slow_volume("Msft Virtual Disk", readings=SYSTEM)
SECOND_CACHED = slow_volume(name="sdb", write_cache="write back")
SECOND_UNNAMED = slow_volume("QEMU NVMe Ctrl", "sdb")


@pytest.mark.parametrize(
    ("where", "steps", "host", "expected"),
    [
        pytest.param(on(slow_volume()), [FLAT], GUEST, "cannot-tell", id="unnamed host"),
        pytest.param(on(slow_volume()), [FLAT], IN_GCP, "cannot-tell", id="other cloud"),
        pytest.param(on(slow_volume("QEMU NVMe Ctrl")), [FLAT], AWS, "cannot-tell", id="unnamed disk"),
        pytest.param(on(SYSTEM_DISK), [FLAT], ON_AZURE, "cannot-tell", id="system disk"),
        pytest.param(on(CACHED), [step()], AWS, "consistent", id="write back, flushed"),
        pytest.param(on(CACHED), [FLAT], AWS, "not-durable", id="write back, not flushed"),
        pytest.param(on(slow_volume()), [], AWS, "cannot-tell", id="no run"),
        pytest.param(on(slow_volume()), [LACKING], AWS, "not-durable", id="missing bytes"),
        pytest.param(on(slow_volume()), [step(flushes=0, rate=20_000)], AWS, "suspicious", id="faster than a network"),
        pytest.param(on_array(slow_volume(), SECOND_UNNAMED), [FLAT_BOTH], AWS, "cannot-tell", id="unnamed member"),
        pytest.param(on_array(slow_volume(), SECOND_CACHED), [FLAT_BOTH], AWS, "not-durable", id="member not flushed"),
        pytest.param(on(OVERRIDDEN), [FLAT], AWS, "not-durable", id="overridden"),
    ],
)
def test_volume_is_judged_by_other_evidence(where: Target, steps: list[Step], host: Host, expected: str) -> None:
    judgement = verdict(where, *steps, host=host)
    assert (judgement.verdict, "stated-durable" in rules(judgement)) == (expected, False)


def test_volume_reached_by_rdma_may_be_fast() -> None:
    near = slow_volume("Alibaba Cloud Elastic Block Storage")
    judgement = verdict(on(near), step(flushes=0, rate=20_000, ops=20_000), host=Host(cloud="alibaba"))
    assert "network-too-fast" not in rules(judgement)


def test_members_with_the_same_statement_are_named_together() -> None:
    found = finding(verdict(on_array(slow_volume(), slow_volume(name="sdb")), FLAT_BOTH, host=AWS), "stated-durable")
    assert found.title.startswith("sda and sdb")
    assert found.sentence.startswith("Each of sda and sdb is a network volume of AWS (EBS). AWS")


def test_sentence_names_the_device_of_each_statement() -> None:
    both = on_array(through(read=OFF, **SAS), through("sdb", medium=PLP))
    found = finding(verdict(both, FLAT_BOTH), "stated-durable")
    assert "sda is a drive. By its own report, it has no volatile write cache. sdb is a drive with" in found.sentence
