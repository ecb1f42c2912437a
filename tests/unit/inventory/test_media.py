from __future__ import annotations

import pytest

from fstui.inventory.survey import survey
from fstui.model import Medium, Node
from tests.unit.inventory.trees import Box

SAS = "pci0000:00/0000:03:00.0/host2/port-2:0/end_device-2:0/target2:0:0/2:0:0:0"
VIRTIO = "pci0000:00/0000:00:02.0/virtio1"
NVME = "pci0000:00/0000:01:00.0/nvme/nvme0"


def page_b1(rate: int) -> bytes:
    return bytes([0, 0xB1, 0, 0x3C]) + rate.to_bytes(2, "big") + bytes(58)


def only(box: Box) -> tuple[Node, Medium]:
    (node,) = survey(box.root).unused
    assert node.medium is not None
    return node, node.medium


@pytest.mark.parametrize(("rate", "class_"), [
    (5400, "hdd-5400"), (5900, "hdd-5400"), (7200, "hdd-7200"), (10000, "hdd-10000"), (10520, "hdd-10000"),
    (15000, "hdd-15000"),
])  # fmt: skip
def test_vpd_page_b1_states_the_rotation_rate(box: Box, rate: int, class_: str) -> None:
    files: dict[str, str | bytes] = {
        "device/vpd_pgb1": page_b1(rate),
        "device/vendor": "SEAGATE ",
        "device/model": "ST9300653SS     ",
    }
    box.disk("sda", SAS, rotational=1, files=files)
    node, medium = only(box)
    assert (medium.class_, medium.rpm) == (class_, rate)
    assert (node.link, node.model) == ("sas", "SEAGATE ST9300653SS")
    reading = node.reading("rpm")
    assert reading is not None
    assert (reading.value, reading.path) == (str(rate), "/sys/block/sda/device/vpd_pgb1")


def test_vpd_page_b1_states_a_medium_that_does_not_rotate(box: Box) -> None:
    box.disk("sda", SAS, rotational=1, files={"device/vpd_pgb1": page_b1(1)})
    assert only(box)[1].class_ == "ssd"


@pytest.mark.parametrize("page", [b"", b"\0\xb1\0", bytes(64), page_b1(0), page_b1(0xFFFF), b"\0\xb0\0\x3c\x1c\x20"])
def test_a_page_that_says_nothing_is_no_rate(box: Box, page: bytes) -> None:
    box.disk("sda", SAS, rotational=1, files={"device/vpd_pgb1": page})
    medium = only(box)[1]
    assert (medium.class_, medium.rpm) == ("unknown", None)
    assert "rotates" in medium.because


def test_udev_knows_the_rate_and_the_cache_of_a_sata_disk(box: Box) -> None:
    box.disk("sda", rotational=1, write_cache="write through")
    box.write(
        f"/run/udev/data/b{box.number_of['sda']}",
        "S:disk/by-id/x\nE:ID_ATA_ROTATION_RATE_RPM=7200\nE:ID_ATA_WRITE_CACHE_ENABLED=1\nE:ID_MODEL=ST1000_DM",
    )
    node, medium = only(box)
    assert (medium.class_, medium.rpm, medium.write_cache) == ("hdd-7200", 7200, "volatile")
    assert node.model == "ST1000 DM"
    assert node.sync == "stops"
    assert survey(box.root).host.udev


@pytest.mark.parametrize("rotational", [0, 1])
def test_a_virtual_disk_is_never_called_by_its_rotational_flag(box: Box, rotational: int) -> None:
    box.disk(
        "vda",
        VIRTIO,
        rotational=rotational,
        files={"cache_type": "write back", "device/features": "0010001001" + "0" * 54},
    )
    node, medium = only(box)
    assert (node.link, medium.class_, medium.write_cache) == ("virtio", "unknown", "volatile")
    assert ("rotational=1 on any host" in medium.because) is (rotational == 1)
    assert node.reading("features") is not None


@pytest.mark.parametrize("model", ["QEMU HARDDISK", "VBOX HARDDISK", "Virtual disk", "QEMU NVMe Ctrl"])
def test_a_hypervisors_model_is_never_called_by_its_rotational_flag(box: Box, model: str) -> None:
    box.disk("sda", rotational=1, files={"device/model": model})
    assert only(box)[1].class_ == "unknown"


def test_a_hypervisor_that_states_a_rate_is_taken_at_its_word(box: Box) -> None:
    box.disk("sda", rotational=1, files={"device/model": "QEMU HARDDISK", "device/vpd_pgb1": page_b1(7200)})
    assert only(box)[1].rpm == 7200


@pytest.mark.parametrize(("model", "class_", "ephemeral"), [
    ("Amazon Elastic Block Store", "network", False), ("Amazon EC2 NVMe Instance Storage", "ssd", True),
    ("nvme_card-pd", "network", False), ("nvme_card", "ssd", True), ("nvme_card3", "ssd", True),
    ("MSFT NVMe Accelerator v1.0", "network", False), ("Microsoft NVMe Direct Disk v2", "ssd", True),
    ("SAMSUNG MZVL21T0HCLR-00B00", "ssd", None),
])  # fmt: skip
def test_models_of_clouds_tell_network_from_local(box: Box, model: str, class_: str, ephemeral: bool | None) -> None:
    box.disk("nvme0n1", NVME, write_cache="write through", files={"device/model": f"{model:40}"})
    node, medium = only(box)
    assert (medium.class_, medium.ephemeral, node.link) == (class_, ephemeral, "nvme")


@pytest.mark.parametrize(
    ("vendor", "model"), [("DELL", "PERC H730 Mini"), ("AVAGO", "MR9361-8i"), ("HP", "LOGICAL VOLUME")]
)
def test_a_raid_controllers_volume(box: Box, vendor: str, model: str) -> None:
    files: dict[str, str | bytes] = {"device/vendor": vendor, "device/model": model}
    box.disk("sda", "pci0000:00/host0/target0:2:0/0:2:0:0", rotational=1, files=files)
    assert only(box)[1].class_ == "raid-cache"


def test_a_usb_bridge_hides_the_drive(box: Box) -> None:
    box.disk("sda", "pci0000:00/usb2/2-1/2-1:1.0/host4/target4:0:0/4:0:0:0", rotational=1)
    node, medium = only(box)
    assert (node.link, medium.class_) == ("usb", "unknown")


@pytest.mark.parametrize(("fields", "iostats", "request_based", "counted"), [
    (17, 1, True, True), (15, 1, True, False), (17, 0, True, False), (17, 1, False, False),
])  # fmt: skip
def test_flushes_count_where_the_kernel_counts_them(
    box: Box, fields: int, iostats: int, request_based: bool, counted: bool
) -> None:
    stat = " ".join(["1"] * fields)
    box.device("sda", "pci0000:00/ata1", stat=stat, iostats=iostats, request_based=request_based)
    assert only(box)[0].counted is counted


@pytest.mark.parametrize(("cache_type", "udev", "sync"), [
    ("write back", "0", "stops"), ("temporary write back", None, "stops"), ("write through", "1", "unknown"),
    (None, "1", "stops"), (None, "0", "unknown"), ("none", None, "unknown"),
])  # fmt: skip
def test_the_driver_knows_better_than_udev_whether_the_cache_is_on(
    box: Box, cache_type: str | None, udev: str | None, sync: str
) -> None:
    path = box.disk("sda", write_cache="write through")
    if cache_type is not None:
        box.write(f"{path}/device/scsi_disk/0:0:0:0/cache_type", cache_type)
    if udev is not None:
        box.write(f"/run/udev/data/b{box.number_of['sda']}", f"E:ID_ATA_WRITE_CACHE_ENABLED={udev}")
    node, medium = only(box)
    assert node.sync == sync
    assert medium.write_cache == ("volatile" if sync == "stops" else "none")


def test_a_shingled_disk_says_so(box: Box) -> None:
    box.disk("sda", rotational=1, files={"queue/zoned": "host-aware"})
    box.disk("sdb", rotational=1, files={"queue/zoned": "none"})
    zoned = [node.reading("zoned") for node in survey(box.root).unused]
    assert [reading and reading.value for reading in zoned] == ["host-aware", None]
