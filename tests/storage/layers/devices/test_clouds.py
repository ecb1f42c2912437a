"""Disks that a cloud provides, as the kernel shows them, in a box that calls itself that cloud's."""

from __future__ import annotations

import re

import pytest

from fstui.model.storage import Medium, Node
from fstui.storage.layers.devices import clouds, models
from fstui.storage.layers.devices.models import Model
from fstui.storage.survey import survey
from tests.factories.box import Box

NVME = "pci0000:00/0000:00:04.0/nvme/nvme0"
VIRTIO_SCSI = "pci0000:00/0000:00:03.0/virtio0/host0/target0:0:1/0:0:1:0"
ISCSI = "platform/host0/session1/target0:0:0/0:0:0:1"
VMBUS = "LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/{}/{}/host1/target1:0:0/1:0:0:{}"
AZURE = {"chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77", "sys_vendor": "Microsoft Corporation"}
GEN1, GEN2 = "00000000-00", "-1e82-4818-a1c3-63d806ec15bb"


def dmi(box: Box, **files: str) -> None:
    for name, value in files.items():
        box.write(f"/sys/class/dmi/id/{name}", value)


def found(box: Box) -> tuple[Model | None, Node, Medium]:
    here = survey(box.root)
    (node,) = here.unused
    assert node.medium is not None
    return clouds.provided(node, here.host), node, node.medium


@pytest.mark.parametrize(("home", "model", "told", "says"), [
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
def test_a_volume_is_known_where_box_and_disk_agree(
    box: Box, home: str, model: str, told: dict[str, str], says: str
) -> None:
    if home is NVME:
        box.disk("nvme0n1", home, files={"device/model": f"{model:40}"})
    else:
        vendor, _, rest = model.partition(" ")
        box.disk("sda", home, files={"device/vendor": f"{vendor:8}", "device/model": f"{rest:16}"})
    row, node, medium = found(box)
    assert row is None
    assert medium.class_ == "network"  # by the disk's own word, whoever the box is
    assert clouds.named(node) is not None
    dmi(box, **told)
    row, node, _ = found(box)
    assert row is not None
    assert says in row.says
    assert clouds.name_line(node) == f"{node.id} model: {model} (/sys/block/{node.id}/device/model)"


@pytest.mark.parametrize(("bus", "unit", "class_", "ephemeral"), [
    ("VMBUS:01", f"{GEN1}01-8899-0000-000000000000 0", "ssd", True),
    ("VMBUS:01", f"{GEN1}00-8899-0000-000000000000 0", "unknown", None),
    ("VMBUS:01", f"f8b3781b{GEN2} 0", "network", False), ("MSFT1000:00", f"f8b3781c{GEN2} 7", "network", False),
    ("MSFT1000:00", f"f8b3781a{GEN2} 1", "ssd", True), ("MSFT1000:00", f"f8b3781a{GEN2} 0", "unknown", None),
    ("MSFT1000:00", f"4d2c1a00{GEN2} 0", "unknown", None),
], ids=["temporary", "system", "data", "data, another bus name", "temporary, generation 2", "system, generation 2",
        "another"])  # fmt: skip
def test_azures_scsi_disks_are_known_by_controller_and_unit(
    box: Box, bus: str, unit: str, class_: str, ephemeral: bool | None
) -> None:
    files: dict[str, str | bytes] = {"device/vendor": "Msft    ", "device/model": "Virtual Disk    "}
    box.disk("sdb", VMBUS.format(bus, *unit.split()), rotational=1, files=files)
    assert found(box)[2].class_ == "unknown"
    dmi(box, **AZURE)
    row, node, medium = found(box)
    assert (node.link, medium.class_, medium.ephemeral) == ("hyper-v", class_, ephemeral)
    assert (row is not None) is (class_ != "unknown")


@pytest.mark.parametrize("row", [*models.table().model, *models.table().vmbus], ids=lambda row: row.pattern)
def test_a_row_of_a_cloud_says_what_its_provider_documents(row: Model) -> None:
    assert re.compile(row.pattern)
    assert (row.cloud is not None) is (row.grade == "cloud")
    assert (row.survives is not None) is (row.ephemeral is True)
    assert row.promise is None or row.class_ == "network"
