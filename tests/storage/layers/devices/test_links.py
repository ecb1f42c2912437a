import pytest

from tests.factories.box import Box
from tests.factories.looking import only_device, read

PCI = "pci0000:00/0000:00:01.0/0000:01:00.0"
SAS = "pci0000:00/0000:03:00.0/host2/port-2:0"
USB = "pci0000:00/0000:00:14.0/usb2/2-1/2-1.4"


@pytest.mark.parametrize(("rate", "payload"), [("6.0 Gbps", "600"), ("3.0 Gbps", "300"), ("1.5 Gbps", "150")])
def test_sata(box: Box, rate: str, payload: str) -> None:
    box.disk("sda")
    box.write("/sys/class/ata_link/link1/sata_spd", rate)
    node = only_device(box)
    path = "/sys/class/ata_link/link1/sata_spd"
    assert (node.link, read(node, "link_rate"), read(node, "payload_mb_s")) == ("sata", (rate, path), (payload, path))


@pytest.mark.parametrize("rate", ["<unknown>", ""])
def test_link_without_negotiation_has_no_rate(box: Box, rate: str) -> None:
    box.disk("sda")
    box.write("/sys/class/ata_link/link1/sata_spd", rate)
    assert only_device(box).reading("link_rate") is None


@pytest.mark.parametrize(("rate", "phys", "payload"), [("12.0 Gbit", 1, "1200"), ("6.0 Gbit", 2, "1200"),
                                                       ("22.5 Gbit", 1, "2400")])  # fmt: skip
def test_sas_wide_ports(box: Box, rate: str, phys: int, payload: str) -> None:
    box.disk("sda", f"{SAS}/end_device-2:0/target2:0:0/2:0:0:0")
    for phy in range(phys):
        box.write(f"/sys/devices/{SAS}/phy-2:{phy}/x")
        box.write(f"/sys/class/sas_phy/phy-2:{phy}/negotiated_linkrate", rate)
    assert (read(only_device(box), "link_rate")[0], read(only_device(box), "payload_mb_s")[0]) == (rate, payload)


@pytest.mark.parametrize(("speed", "width", "shown", "payload"), [
    ("8.0 GT/s PCIe", "4", "8.0 GT/s × 4", "3938"), ("16.0 GT/s PCIe", "4", "16.0 GT/s × 4", "7877"),
    ("5 GT/s", "2", "5 GT/s × 2", "1000"),
])  # fmt: skip
def test_nvme_on_pcie(box: Box, speed: str, width: str, shown: str, payload: str) -> None:
    box.disk("nvme0n1", f"{PCI}/nvme/nvme0", files={"device/transport": "pcie"})
    box.write(f"/sys/devices/{PCI}/current_link_speed", speed)
    box.write(f"/sys/devices/{PCI}/current_link_width", width)
    node = only_device(box)
    assert read(node, "link_rate") == (shown, f"/sys/devices/{PCI}/current_link_speed")
    assert (read(node, "payload_mb_s")[0], read(node, "transport")[0]) == (payload, "pcie")


@pytest.mark.parametrize(("speed", "payload"), [("480", "60"), ("5000", "500"), ("10000", "1212")])
def test_usb_bridge_driver_and_speed(box: Box, speed: str, payload: str) -> None:
    box.disk("sda", f"{USB}/2-1.4:1.0/host4/target4:0:0/4:0:0:0", rotational=1)
    for file, word in (("speed", speed), ("idVendor", "152d"), ("idProduct", "0578"), ("manufacturer", "JMicron"),
                       ("product", "JMS578")):  # fmt: skip
        box.write(f"/sys/devices/{USB}/{file}", word)
    box.link(f"/sys/devices/{USB}/2-1.4:1.0/driver", "../../../../../../bus/usb/drivers/uas")
    node = only_device(box)
    assert node.link == "usb"
    assert read(node, "usb_bridge") == ("152d:0578 JMicron JMS578", f"/sys/devices/{USB}")
    assert (read(node, "link_rate")[0], read(node, "payload_mb_s")[0]) == (f"{speed} Mb/s", payload)
    assert node.medium is not None
    assert "152d:0578 JMicron JMS578" in node.medium.reason


def test_driver_of_a_scsi_host(box: Box) -> None:
    host = "pci0000:00/0000:03:00.0"
    box.disk("sda", f"{host}/host0/target0:0:0/0:0:0:0")
    assert only_device(box).reading("controller") is None
    box.link(f"/sys/devices/{host}/driver", "../../../bus/pci/drivers/arcmsr")
    assert read(only_device(box), "controller") == ("arcmsr", f"/sys/devices/{host}/driver")
