"""What sysfs, and udev where it runs, tell of a disk, each reading where it is found."""

from __future__ import annotations

import re

from fstui.model.storage import Reading
from fstui.storage.layers.sources.files import Tree, integer

_VPD_NOT_ROTATING = 1
_VPD_RATES = range(0x0401, 0xFFFF)
"""SBC: 1 is a medium that does not rotate, 0401h to FFFEh a rate in revolutions per minute."""
_FEATURES = {"F_FLUSH": 9, "CONFIG_WCE": 11}
"""Bits of virtio-blk (include/uapi/linux/virtio_blk.h); sysfs shows them from the lowest on, one character each."""
_VMBUS = re.compile(r"/(?:VMBUS|MSFT1000)[^/]*/([0-9a-f]{8}-[0-9a-f-]+)/.*/\d+:\d+:\d+:(\d+)/", re.IGNORECASE)


def features(tree: Tree, directory: str) -> tuple[Reading, ...]:
    """Whether the host offers a flush, and lets the guest switch its cache."""
    path = f"{directory}/device/features"
    bits = tree.word(path) or ""
    if not bits or set(bits) - {"0", "1"} or len(bits) <= max(_FEATURES.values()):
        return ()
    named = (Reading(what=what, value="yes" if bits[at] == "1" else "no", path=path) for what, at in _FEATURES.items())
    return (Reading(what="features", value=bits, path=path), *named)


def on_vmbus(path: str, directory: str) -> tuple[Reading, ...]:
    """Hyper-V's id of the controller and the unit there, which tell Azure's disks from each other."""
    match = _VMBUS.search(path)
    told = zip(("vmbus_id", "lun"), match.groups(), strict=True) if match else ()
    return tuple(Reading(what=what, value=value, path=directory) for what, value in told)


def model(tree: Tree, directory: str) -> str | None:
    """Vendor and model, as the model table spells them."""
    model = tree.word(f"{directory}/device/model")
    vendor = tree.word(f"{directory}/device/vendor")
    # libata says ATA for every vendor; PCI and virtio put a number there
    if model is None or vendor is None or vendor == "ATA" or vendor.startswith("0x") or model.startswith(vendor):
        return model
    return f"{vendor} {model}"


def identity(tree: Tree, directory: str) -> str:
    """What no other disk has; empty where it tells nothing."""
    for path in ("wwid", "device/wwid", "serial", "device/serial"):
        if (word := tree.word(f"{directory}/{path}")) is not None:
            return word
    return ""


def cache_type(tree: Tree, directory: str, name: str) -> Reading | None:
    """virtio's own word, or that of the SCSI disk driver, which asked the drive (mode page 8).

    After "temporary …" was written there, the driver shows what it was told, without that word (drivers/scsi/sd.c).
    """
    if name.startswith("vd"):
        return tree.reading("cache_type", f"{directory}/cache_type")
    if name.startswith("sd"):
        for address in tree.names(f"{directory}/device/scsi_disk"):
            return tree.reading("cache_type", f"{directory}/device/scsi_disk/{address}/cache_type")
    return None


def zoned(tree: Tree, directory: str) -> Reading | None:
    """``host-managed`` or ``host-aware`` for a shingled or zoned disk; left out where it is ``none``."""
    zoned = tree.reading("zoned", f"{directory}/queue/zoned")
    return zoned if zoned is not None and zoned.value != "none" else None


def _page_b1(tree: Tree, path: str, name: str) -> bytes:
    page = tree.data(path, 64) if name.startswith("sd") else None
    return page if page is not None and len(page) > 7 and page[1] == 0xB1 else bytes(8)


def form_factor(tree: Tree, directory: str, name: str) -> Reading | None:
    """SCSI VPD page B1, the lower half of byte 7: 1 to 5 from 5.25 to under 1.8 inches; 0 is not told, as by arrays."""
    path = f"{directory}/device/vpd_pgb1"
    form = _page_b1(tree, path, name)[7] & 0xF
    return Reading(what="form_factor", value=str(form), path=path) if form else None


def rpm(tree: Tree, directory: str, name: str) -> Reading | None:
    """The rotation rate of SCSI VPD page B1, bytes 4 and 5; 0 for a medium that does not rotate."""
    path = f"{directory}/device/vpd_pgb1"
    page = _page_b1(tree, path, name)
    rate = int.from_bytes(page[4:6], "big")
    if rate == _VPD_NOT_ROTATING:
        return Reading(what="rpm", value="0", path=path)
    return Reading(what="rpm", value=str(rate), path=path) if rate in _VPD_RATES else None


def udev_rpm(value: str | None, path: str) -> Reading | None:
    """The same from udev, which asked the drive (ata_id), where that can be a rate."""
    rate = integer(value)
    return Reading(what="rpm", value=str(rate), path=path) if rate == 0 or rate in _VPD_RATES else None


def state(tree: Tree, directory: str) -> tuple[Reading, ...]:
    """What it is in where not all is well: SCSI says ``running``, NVMe ``live`` else."""
    state = tree.reading("state", f"{directory}/device/state")
    return (state,) if state is not None and state.value not in ("running", "live") else ()
