"""What a disk says about itself: model, link, rotation rate, its own word on its write cache, its state."""

from __future__ import annotations

import re
from typing import NamedTuple

from fstui.inventory import links, models, nvme
from fstui.inventory.files import Tree, integer
from fstui.inventory.udev import DATABASE, Udev
from fstui.model import Reading

VPD_NOT_ROTATING = 1
_VPD_RATES = range(0x0401, 0xFFFF)
"""SBC: 1 is a medium that does not rotate, 0401h to FFFEh a rate in revolutions per minute."""

_FEATURES = {"F_FLUSH": 9, "CONFIG_WCE": 11}
"""Bits of virtio-blk (include/uapi/linux/virtio_blk.h); sysfs shows them from the lowest on, one character each."""
_VMBUS = re.compile(r"/VMBUS[^/]*/([0-9a-f]{8}-[0-9a-f-]+)/", re.IGNORECASE)


class Shape(NamedTuple):
    """What a disk says about itself."""

    model: str | None = None
    link: str | None = None
    identity: str = ""
    readings: tuple[Reading, ...] = ()
    state: tuple[Reading, ...] = ()


NO_SHAPE = Shape()


def shape_of(tree: Tree, udev: Udev, name: str) -> Shape:
    """Everything that sysfs, and udev where it runs, know of the disk of that kernel name."""
    directory = f"/sys/block/{name}"
    number = (tree.word(f"{directory}/dev") or "") if udev.present else ""
    properties = udev.properties(number)
    database = f"{DATABASE}/b{number}"
    enabled = properties.get("ID_ATA_WRITE_CACHE_ENABLED")
    path = links.path_of(tree, name)
    link = links.link_of(path, name)
    model = _model(tree, directory) or properties.get("ID_MODEL", "").replace("_", " ") or None
    found = (
        _cache_type(tree, directory, name),
        *(_features(tree, directory) if name.startswith("vd") else ()),
        _zoned(tree, directory),
        Reading(what="ID_ATA_WRITE_CACHE_ENABLED", value=enabled, path=database) if enabled else None,
        _rpm(tree, directory, name) or _udev_rpm(properties.get("ID_ATA_ROTATION_RATE_RPM"), database),
        *links.readings(tree, path, link),
        *(nvme.of_disk(tree, name) if link == "nvme" else ()),
        _vmbus_id(path, directory),
        _grade(model),
    )
    return Shape(
        model=model,
        link=link,
        identity=_identity(tree, directory) or properties.get("ID_SERIAL", ""),
        readings=tuple(reading for reading in found if reading is not None),
        state=_state(tree, directory),
    )


def _features(tree: Tree, directory: str) -> tuple[Reading, ...]:
    """Whether the host offers a flush, and lets the guest switch its cache."""
    path = f"{directory}/device/features"
    bits = tree.word(path) or ""
    if not bits or set(bits) - {"0", "1"} or len(bits) <= max(_FEATURES.values()):
        return ()
    named = (Reading(what=what, value="yes" if bits[at] == "1" else "no", path=path) for what, at in _FEATURES.items())
    return (Reading(what="features", value=bits, path=path), *named)


def _vmbus_id(path: str, directory: str) -> Reading | None:
    """Hyper-V's id of the controller, which tells Azure's temporary disk."""
    match = _VMBUS.search(path)
    return Reading(what="vmbus_id", value=match[1], path=directory) if match else None


def _grade(model: str | None) -> Reading | None:
    row = models.known(model) if model else None
    return Reading(what="grade", value=row.grade, path=f"model table: {row.source}") if row is not None else None


def _model(tree: Tree, directory: str) -> str | None:
    model = tree.word(f"{directory}/device/model")
    vendor = tree.word(f"{directory}/device/vendor")
    # libata says ATA for every vendor; PCI and virtio put a number there
    if model is None or vendor is None or vendor == "ATA" or vendor.startswith("0x") or model.startswith(vendor):
        return model
    return f"{vendor} {model}"


def _identity(tree: Tree, directory: str) -> str:
    for path in ("wwid", "device/wwid", "serial", "device/serial"):
        if (word := tree.word(f"{directory}/{path}")) is not None:
            return word
    return ""


def _cache_type(tree: Tree, directory: str, name: str) -> Reading | None:
    """virtio's own word, or that of the SCSI disk driver, which asked the drive (mode page 8).

    After "temporary …" was written there, the driver shows what it was told, without that word (drivers/scsi/sd.c).
    """
    if name.startswith("vd"):
        return tree.reading("cache_type", f"{directory}/cache_type")
    if name.startswith("sd"):
        for address in tree.names(f"{directory}/device/scsi_disk"):
            return tree.reading("cache_type", f"{directory}/device/scsi_disk/{address}/cache_type")
    return None


def _zoned(tree: Tree, directory: str) -> Reading | None:
    """``host-managed`` or ``host-aware`` for a shingled or zoned disk; left out where it is ``none``."""
    zoned = tree.reading("zoned", f"{directory}/queue/zoned")
    return zoned if zoned is not None and zoned.value != "none" else None


def _rpm(tree: Tree, directory: str, name: str) -> Reading | None:
    """The rotation rate of SCSI VPD page B1, bytes 4 and 5; 0 for a medium that does not rotate."""
    path = f"{directory}/device/vpd_pgb1"
    page = tree.data(path, 64) if name.startswith("sd") else None
    if page is None or len(page) < 6 or page[1] != 0xB1:
        return None
    rate = int.from_bytes(page[4:6], "big")
    if rate == VPD_NOT_ROTATING:
        return Reading(what="rpm", value="0", path=path)
    return Reading(what="rpm", value=str(rate), path=path) if rate in _VPD_RATES else None


def _udev_rpm(value: str | None, path: str) -> Reading | None:
    rate = integer(value)
    return Reading(what="rpm", value=str(rate), path=path) if rate is not None and 0 <= rate <= 65535 else None


def _state(tree: Tree, directory: str) -> tuple[Reading, ...]:
    """SCSI says ``running``, NVMe ``live`` where all is well."""
    state = tree.reading("state", f"{directory}/device/state")
    return (state,) if state is not None and state.value not in ("running", "live") else ()
