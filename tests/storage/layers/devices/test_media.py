"""The medium of a lowest device."""

from __future__ import annotations

import pytest

from fstui.model.storage import Medium, Node
from fstui.storage.survey import survey
from tests.factories.box import Box, vpd_page_b1

VIRTIO = "pci0000:00/0000:00:02.0/virtio1"
NVME = "pci0000:00/0000:01:00.0/nvme/nvme0"


def only(box: Box) -> tuple[Node, Medium]:
    (node,) = survey(box.root).unused
    assert node.medium is not None
    return node, node.medium


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
    box.disk("sda", rotational=1, files={"device/model": "QEMU HARDDISK", "device/vpd_pgb1": vpd_page_b1(7200)})
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


@pytest.mark.parametrize(("card", "words"), [("MMC", "eMMC: flash"), ("SD", "an SD card: "), (None, "a card: ")])
def test_a_card_is_no_ssd(box: Box, card: str | None, words: str) -> None:
    """Neither says anything of a power loss, and no published rate of an SSD is theirs."""
    files: dict[str, str | bytes] = {"device/type": card} if card else {}
    box.disk("mmcblk0", "platform/fe340000.mmc/mmc_host/mmc0/mmc0:aaaa", files=files)
    node, medium = only(box)
    assert (node.link, medium.class_, medium.write_cache, node.counted) == ("mmc", "unknown", "volatile", True)
    assert words in medium.because


def test_what_hangs_where_no_link_is_known_is_no_ssd_for_not_rotating(box: Box) -> None:
    box.disk("vsd0", "platform/vendor-disk.0", rotational=0)
    node, medium = only(box)
    assert (node.link, medium.class_, medium.because) == (None, "unknown", "nothing tells")


@pytest.mark.parametrize("name", ["rbd0"])
def test_what_another_box_answers_for_is_a_network_whatever_its_flag_says(box: Box, name: str) -> None:
    box.disk(name, "virtual", rotational=1)
    assert only(box)[1].class_ == "network"
