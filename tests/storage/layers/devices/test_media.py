import re

import pytest

from fstui.model.storage import Medium, Node
from fstui.storage.layers.devices import media, models
from fstui.storage.layers.devices.models import Model
from fstui.storage.survey import survey
from tests.factories.box import Box, vpd_page_b1
from tests.factories.looking import only_device, only_medium

VIRTIO = "pci0000:00/0000:00:02.0/virtio1"
SATA = "pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0"
NVME = "pci0000:00/0000:01:00.0/nvme/nvme0"
VIRTIO_SCSI = "pci0000:00/0000:00:03.0/virtio0/host0/target0:0:1/0:0:1:0"
ISCSI = "platform/host0/session1/target0:0:0/0:0:0:1"
VMBUS = "LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/{}/{}/host1/target1:0:0/1:0:0:{}"
AZURE = {"chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77", "sys_vendor": "Microsoft Corporation"}
GEN1, GEN2 = "00000000-00", "-1e82-4818-a1c3-63d806ec15bb"


@pytest.mark.parametrize("rotational", [0, 1])
def test_rotational_flag_of_virtual_disk_is_ignored(box: Box, rotational: int) -> None:
    box.disk(
        "vda",
        VIRTIO,
        rotational=rotational,
        files={"cache_type": "write back", "device/features": "0010001001" + "0" * 54},
    )
    node, medium = only_device(box), only_medium(box)
    assert (node.link, medium.class_, medium.write_cache) == ("virtio", "unknown", "volatile")
    assert ("rotational=1 even on SSDs" in medium.reason) is (rotational == 1)
    assert node.reading("features") is not None


@pytest.mark.parametrize(("name", "home", "model", "class_"), [
    ("sda", SATA, "QEMU HARDDISK", "unknown"), ("sda", SATA, "VBOX HARDDISK", "unknown"),
    ("sda", SATA, "Virtual disk", "unknown"), ("sda", SATA, "QEMU NVMe Ctrl", "unknown"),
    ("sda", "pci0000:00/usb2/2-1/2-1:1.0/host4/target4:0:0/4:0:0:0", "", "unknown"), ("rbd0", "virtual", "", "network"),
])  # fmt: skip
def test_rotational_flag_of_another_disk_is_ignored(box: Box, name: str, home: str, model: str, class_: str) -> None:
    """The disk behind a hypervisor, a USB bridge or a network may be any."""
    box.disk(name, home, rotational=1, files={"device/model": model})
    assert only_medium(box).class_ == class_


def test_stated_rate_of_virtual_disk_counts(box: Box) -> None:
    box.disk("sda", rotational=1, files={"device/model": "QEMU HARDDISK", "device/vpd_pgb1": vpd_page_b1(7200)})
    assert only_medium(box).rpm == 7200


@pytest.mark.parametrize(("model", "class_", "ephemeral"), [
    ("Amazon Elastic Block Store", "network", False), ("Amazon EC2 NVMe Instance Storage", "ssd", True),
    ("nvme_card-pd", "network", False), ("nvme_card", "ssd", True), ("nvme_card3", "ssd", True),
    ("MSFT NVMe Accelerator v1.0", "network", False), ("Microsoft NVMe Direct Disk v2", "ssd", True),
    ("SAMSUNG MZVL21T0HCLR-00B00", "ssd", None),
])  # fmt: skip
def test_cloud_models_distinguish_network_and_local(box: Box, model: str, class_: str, ephemeral: bool | None) -> None:
    box.disk("nvme0n1", NVME, write_cache="write through", files={"device/model": f"{model:40}"})
    node, medium = only_device(box), only_medium(box)
    assert (medium.class_, medium.ephemeral, node.link) == (class_, ephemeral, "nvme")


@pytest.mark.parametrize(("card", "words"), [("MMC", "eMMC: flash"), ("SD", "an SD card: "), (None, "a card: ")])
def test_memory_card_is_no_ssd(box: Box, card: str | None, words: str) -> None:
    """A card reports nothing about a power loss, and published rates of SSDs do not apply to it."""
    files: dict[str, str | bytes] = {"device/type": card} if card else {}
    box.disk("mmcblk0", "platform/fe340000.mmc/mmc_host/mmc0/mmc0:aaaa", files=files)
    node, medium = only_device(box), only_medium(box)
    assert (node.link, medium.class_, medium.write_cache, node.counted) == ("mmc", "unknown", "volatile", True)
    assert words in medium.reason


@pytest.mark.parametrize(
    ("name", "home", "link"),
    [("vsd0", "platform/vendor-disk.0", None), ("newblk0", "virtual", "virtual")],
)
def test_unknown_device_that_does_not_rotate_is_no_ssd(box: Box, name: str, home: str, link: str | None) -> None:
    box.device(name, home, request_based=True, rotational=0)
    node, medium = only_device(box), only_medium(box)
    assert (node.link, medium.class_) == (link, "unknown")


def found(box: Box) -> tuple[Model | None, Node, Medium]:
    here = survey(box.root)
    (node,) = here.unused
    assert node.medium is not None
    return media.provided_model(node, here.host), node, node.medium


@pytest.mark.parametrize(("home", "model", "names", "says"), [
    (NVME, "Amazon Elastic Block Store", {"sys_vendor": "Amazon EC2"}, "EBS"),
    (NVME, "nvme_card-pd", {"product_name": "Google Compute Engine"}, "a persistent disk or Hyperdisk"),
    (VIRTIO_SCSI, "Google PersistentDisk", {"product_name": "Google Compute Engine"}, "a persistent disk or Hyperdisk"),
    (NVME, "MSFT NVMe Accelerator v1.0", AZURE, "managed disk of Azure"),
    (NVME, "Alibaba Cloud Elastic Block Storage", {"sys_vendor": "Alibaba Cloud"}, "Alibaba"),
    (VIRTIO_SCSI, "ORACLE BlockVolume", {"chassis_asset_tag": "OracleCloud.com"}, "Oracle"),
    (ISCSI, "ORACLE BlockVolume", {"chassis_asset_tag": "OracleCloud.com"}, "Oracle"),
    (VIRTIO_SCSI, "DO Volume", {"sys_vendor": "DigitalOcean"}, "volume of DigitalOcean"),
    (VIRTIO_SCSI, "HC Volume", {"sys_vendor": "Hetzner"}, "volume of Hetzner"),
])  # fmt: skip
def test_cloud_volume_needs_matching_host(box: Box, home: str, model: str, names: dict[str, str], says: str) -> None:
    if home is NVME:
        box.disk("nvme0n1", home, files={"device/model": f"{model:40}"})
    else:
        vendor, _, rest = model.partition(" ")
        box.disk("sda", home, files={"device/vendor": f"{vendor:8}", "device/model": f"{rest:16}"})
    row, node, medium = found(box)
    assert row is None
    assert medium.class_ == "network"  # the disk alone says that, on any host
    assert media.cloud_model(node) is not None
    box.dmi(**names)
    row, node, _ = found(box)
    assert row is not None
    assert says in row.description
    assert media.identification(node) == f"{node.id} model: {model} (/sys/block/{node.id}/device/model)"


@pytest.mark.parametrize(("bus", "unit", "class_", "ephemeral"), [
    ("VMBUS:01", f"{GEN1}01-8899-0000-000000000000 0", "ssd", True),
    ("VMBUS:01", f"{GEN1}00-8899-0000-000000000000 0", "unknown", None),
    ("VMBUS:01", f"f8b3781b{GEN2} 0", "network", False), ("MSFT1000:00", f"f8b3781c{GEN2} 7", "network", False),
    ("MSFT1000:00", f"f8b3781a{GEN2} 1", "ssd", True), ("MSFT1000:00", f"f8b3781a{GEN2} 0", "unknown", None),
    ("MSFT1000:00", f"4d2c1a00{GEN2} 0", "unknown", None),
], ids=["temporary", "system", "data", "data, another bus name", "temporary, generation 2", "system, generation 2",
        "another"])  # fmt: skip
def test_azure_scsi_disks_by_controller_and_unit(
    box: Box, bus: str, unit: str, class_: str, ephemeral: bool | None
) -> None:
    files: dict[str, str | bytes] = {"device/vendor": "Msft    ", "device/model": "Virtual Disk    "}
    box.disk("sdb", VMBUS.format(bus, *unit.split()), rotational=1, files=files)
    assert found(box)[2].class_ == "unknown"
    box.dmi(**AZURE)
    row, node, medium = found(box)
    assert (node.link, medium.class_, medium.ephemeral) == ("hyper-v", class_, ephemeral)
    assert (row is not None) is (class_ != "unknown" or (bus, unit) == ("MSFT1000:00", f"f8b3781a{GEN2} 0"))


@pytest.mark.parametrize("row", [*models.table().model, *models.table().vmbus], ids=lambda row: row.pattern)
def test_cloud_row_names_the_promise(row: Model) -> None:
    assert re.compile(row.pattern)
    assert (row.cloud is not None) is (row.grade == "cloud")
    assert (row.data_lifetime is not None) is (row.ephemeral is True)
    assert (
        row.documented_durability is None
        or row.class_ == "network"
        or row.platform is not None
        or row.how_to_check is not None
    )
    assert row.platform is None or row.documented_durability
