"""Find how a disk is attached: the link with its properties and its rate, and a bridge in between.

Readings: ``link_rate`` ("6.0 Gbps", "8.0 GT/s × 4"); ``payload_mb_s``, the maximum payload at this rate;
``usb_bridge``; ``controller``, the driver of a SCSI host.

The payload accounts for the line code only, not for protocol overhead, so no correct measurement exceeds it. Line
codes: 8b/10b for SATA, SAS to 12 Gb/s, USB 5 Gb/s and PCIe 1 and 2; 128b/130b for PCIe 3 to 5, 242B/256B for PCIe 6
(PCI Express Base); 128b/132b for USB 10 Gb/s and more (USB 3.2); 128b/150b for SAS 22.5 Gb/s (SPL-4).
"""

import math
import re

from fstui.model.base import Base
from fstui.model.storage import Reading
from fstui.storage.tree import Tree


class Link(Base, frozen=True, kw_only=True):
    """Properties of all disks on one kind of link. The defaults are for an unknown link."""

    name: str
    path: re.Pattern[str] = re.compile("")
    """The first row whose pattern matches the device's path in /sys/devices is the link."""
    device_prefix: str | None = None
    """Beginning of the kernel name of such a device. Used if no row matches the path, or if the path is not known."""
    virtual: bool = False
    """A hypervisor or this kernel provides the disk, so its rotational flag means nothing."""
    writes_through: bool = False
    """The hypervisor may make every write durable, not only FUA writes. So a FUA write may be durable although it is as
    fast as a plain write."""
    hides_drive: bool = False
    """A bridge handles commands in place of the drive."""
    direct: bool = False
    """No other cache is between the host and the drive, so a measured time is that of the drive."""
    drives_report_form: bool = False
    """Every drive on such a link reports its form factor (SCSI VPD page B1). A device that reports none may be an
    array, which has a cache of its own."""
    may_be_an_array: bool = False
    """The device may be one disk, or an array or a controller with a cache of its own."""
    assume_array: bool = False
    """A device without a form factor is assumed to be a storage array, which usually has a battery."""
    networked: bool = False
    own_network: bool = False
    """The network belongs to the user. Its round trip takes tens of microseconds."""


_LINKS = (
    Link(name="usb", path=re.compile(r"/usb\d+/"), hides_drive=True),
    Link(name="nvme", path=re.compile(r"/nvme\d+/|/nvme-subsystem/"), device_prefix="nvme", direct=True),
    Link(name="sata", path=re.compile(r"/ata\d+/"), direct=True),
    Link(name="sas", path=re.compile(r"/end_device-|/sas_|/expander-"), direct=True, drives_report_form=True),
    Link(name="fc", path=re.compile(r"/rport-"), may_be_an_array=True, assume_array=True, own_network=True),
    Link(name="iscsi", path=re.compile(r"/session\d+/"), may_be_an_array=True, networked=True, own_network=True),
    Link(name="virtio", path=re.compile(r"/virtio\d+/"), device_prefix="vd", virtual=True),
    Link(name="mmc", path=re.compile(r"/mmc\d+"), device_prefix="mmcblk", direct=True),
    Link(name="xen", path=re.compile(r"/vbd-\d+|/xen"), device_prefix="xvd", virtual=True),
    Link(name="hyper-v", path=re.compile(r"(?i)/vmbus|/MSFT1000:"), virtual=True, writes_through=True),
    Link(name="scsi", path=re.compile(r"/host\d+/"), may_be_an_array=True),
    Link(name="virtual", path=re.compile(r"/devices/virtual/"), virtual=True),
)
_UNKNOWN = Link(name="")
_LINKS_BY_NAME = {link.name: link for link in _LINKS}


def link(name: str | None) -> Link:
    return _LINKS_BY_NAME.get(name or "", _UNKNOWN)


_ATA = r"/ata(\d+)/"
_SAS_PORT = r"(.*/port-[\d:]+)/end_device-"
_PCI = r"(.*/[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])/nvme/"
_USB = r"(.*/\d+-[\d.]+)/[^/]*:\d+\.\d+/"
_SCSI_HOST = r"(.*?)/host\d+/"
_NUMBER = r"\d{1,5}(?:\.\d{1,2})?"
_LINE_CODES = {
    "sata": ((math.inf, 8 / 10),),
    "sas": ((12_000, 8 / 10), (math.inf, 128 / 150)),
    "nvme": ((5_000, 8 / 10), (32_000, 128 / 130), (math.inf, 242 / 256)),
    "usb": ((4_999, 1.0), (5_000, 8 / 10), (math.inf, 128 / 132)),
}
"""The highest rate of each line code in Mb/s (of one lane for PCIe), and the share of its bits that carries data."""


def path_of(tree: Tree, name: str) -> str:
    """Return the device's path in /sys/devices; empty if unknown."""
    link = tree.link(f"/sys/block/{name}") or ""
    return f"/sys/{link.removeprefix('../')}" if link.startswith("../") else link


def link_of(path: str, name: str) -> str | None:
    by_path = (link.name for link in _LINKS if link.path.search(path))
    by_name = (link.name for link in _LINKS if link.device_prefix and name.startswith(link.device_prefix))
    return next(by_path, next(by_name, None))


def readings(tree: Tree, path: str, link: str | None) -> tuple[Reading, ...]:
    """Return the rate (SATA, SAS, PCIe, USB), the USB bridge, the driver of a SCSI host."""
    if link == "scsi" and (match := re.match(_SCSI_HOST, path)):
        driver = (tree.link(f"{match[1]}/driver") or "").rpartition("/")[2]
        return (Reading(what="controller", value=driver, path=f"{match[1]}/driver"),) if driver else ()
    if link == "sata" and (match := re.search(_ATA, path)):
        return _rate_readings(link, tree.reading("link_rate", f"/sys/class/ata_link/link{match[1]}/sata_spd"))
    if link == "sas" and (match := re.match(_SAS_PORT, path)):
        phys = [name for name in tree.names(match[1]) if name.startswith("phy-")]
        rate = f"/sys/class/sas_phy/{phys[0]}/negotiated_linkrate" if phys else ""
        # all phys of a wide port carry data at the same time
        return _rate_readings(link, tree.reading("link_rate", rate), len(phys)) if phys else ()
    if link == "nvme" and (match := re.match(_PCI, path)):
        return _pcie_readings(tree, match[1])
    if link == "usb" and (match := re.match(_USB, path)):
        return _usb_readings(tree, match[1])
    return ()


def _rate_readings(link: str, reading: Reading | None, lanes: int = 1) -> tuple[Reading, ...]:
    """Return the rate of the link and its payload. The rate is in Mb/s for USB, otherwise in Gb/s or GT/s."""
    number = re.match(_NUMBER, reading.value) if reading is not None else None
    if reading is None or number is None:  # "<unknown>": nothing was negotiated
        return ()
    mbit = float(number[0]) * (1 if link == "usb" else 1000)
    code = next(code for limit, code in _LINE_CODES[link] if mbit <= limit)
    return reading, Reading(what="payload_mb_s", value=str(round(mbit * code / 8 * lanes)), path=reading.path)


def _pcie_readings(tree: Tree, device: str) -> tuple[Reading, ...]:
    speed = tree.reading("link_rate", f"{device}/current_link_speed")
    lanes = tree.integer(f"{device}/current_link_width")
    if speed is None or lanes is None or not 0 < lanes <= 64:
        return ()
    rate = Reading(what="link_rate", value=f"{speed.value.removesuffix(' PCIe')} × {lanes}", path=speed.path)
    return _rate_readings("nvme", rate, lanes)


def _usb_readings(tree: Tree, device: str) -> tuple[Reading, ...]:
    speed = tree.reading("link_rate", f"{device}/speed")
    rate = Reading(what="link_rate", value=f"{speed.value} Mb/s", path=speed.path) if speed is not None else None
    words = (tree.stripped(f"{device}/{file}") for file in ("manufacturer", "product"))
    names = " ".join(dict.fromkeys(filter(None, words)))
    ids = ":".join(filter(None, (tree.stripped(f"{device}/{file}") for file in ("idVendor", "idProduct"))))
    bridge = f"{ids} {names}".strip()
    bridge_reading = (Reading(what="usb_bridge", value=bridge, path=device),) if bridge else ()
    return (*_rate_readings("usb", rate), *bridge_reading)
