"""What a lowest device really is, as far as it can be told from here.

Sources: queue/rotational (a hint; virtual disks say 1 on any host), the rotation rate of SCSI VPD page B1 or of udev,
and the model, which clouds, hypervisors and RAID controllers set.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from fstui.model import Medium, MediumCache, MediumClass, Node, Reading

MEMORY_KINDS = frozenset({"zram", "ram"})
NETWORK_KINDS = frozenset({"nbd", "rbd", "drbd"})
_HYPERVISOR_LINKS = frozenset({"virtio", "xen", "hyper-v"})
_HDD_CLASSES: tuple[tuple[int, MediumClass], ...] = (
    (6300, "hdd-5400"), (8600, "hdd-7200"), (12500, "hdd-10000"), (65535, "hdd-15000"),
)  # fmt: skip
"""Odd rates (5900, 10 520) go to the nearest class; ``rpm`` keeps the number itself."""


class _Model(NamedTuple):
    pattern: re.Pattern[str]
    medium: MediumClass
    ephemeral: bool | None
    because: str


def _model(pattern: str, medium: MediumClass, ephemeral: bool | None, because: str) -> _Model:
    return _Model(re.compile(pattern, re.IGNORECASE), medium, ephemeral, because)


MODELS = (
    _model(r"^Amazon Elastic Block Store$", "network", False, "a network volume of AWS"),
    _model(r"^Amazon EC2 NVMe Instance Storage$", "ssd", True, "an instance store of AWS: gone with the instance"),
    _model(r"^nvme_card-pd$|PersistentDisk$", "network", False, "a persistent disk of Google Cloud"),
    _model(r"^nvme_card\d*$|EphemeralDisk$", "ssd", True, "a local SSD of Google Cloud: gone with the instance"),
    _model(r"^MSFT NVMe Accelerator v1\.0$", "network", False, "a remote disk of Azure"),
    _model(r"^Microsoft NVMe Direct Disk( v2)?$", "ssd", True, "a local disk of Azure: gone with the instance"),
    _model(
        r"\bPERC\b|MegaRAID|^(LSI|AVAGO|BROADCOM) MR|Smart ?Array|^(HP|HPE) +LOGICAL VOLUME|ServeRAID"
        r"|^ARECA\b|3ware|^Adaptec\b",
        "raid-cache", None, "a volume of a RAID controller",
    ),
    _model(
        r"QEMU|VBOX|VirtualBox|VMware|^Virtual disk|Msft +Virtual|^Parallels|BHYVE|Bochs|^Virtio\b|^XENSRC",
        "unknown", None, "a virtual disk: what is beneath cannot be seen from here",
    ),
)  # fmt: skip
"""Models that say more than the queue does. The first that matches counts."""


def medium_of(node: Node) -> Medium:
    """The medium of a lowest block device, from its node's fields and readings alone."""
    if node.kind in MEMORY_KINDS:
        return Medium(class_="memory", write_cache="none", because="kept in memory")
    if node.kind in NETWORK_KINDS or node.link == "iscsi":
        return Medium(class_="network", because="reached over a network")
    if node.kind != "disk":
        return Medium(because=f"what stands behind a {node.kind} device cannot be seen from here")
    return _stated(node) or (_virtual(node) if is_virtual(node) else _real(node))


def is_virtual(node: Node) -> bool:
    """A hypervisor made this disk: its rotational flag says nothing."""
    known = _known(node)
    return node.link in _HYPERVISOR_LINKS or (known is not None and known.medium == "unknown")


def _known(node: Node) -> _Model | None:
    return next((model for model in MODELS if node.model and model.pattern.search(node.model)), None)


def _stated(node: Node) -> Medium | None:
    """What the model or a stated rotation rate says outright."""
    known = _known(node)
    if known is not None and known.medium != "unknown":
        because = f"the model says {known.because}"
        return Medium(class_=known.medium, ephemeral=known.ephemeral, write_cache=_cache(node), because=because)
    rpm = _rpm(node)
    if not rpm:
        return None
    class_ = next(class_ for limit, class_ in _HDD_CLASSES if rpm <= limit)
    return Medium(class_=class_, rpm=rpm, write_cache=_cache(node), because=f"it states {rpm} rpm")


def _virtual(node: Node) -> Medium:
    what = f"a {node.link} disk" if node.link in _HYPERVISOR_LINKS else str(node.model)
    flag = "; virtual disks say rotational=1 on any host" if node.rotational else ""
    return Medium(
        # "write through" may hide a cache of the host's: only a claim of a volatile one says something
        write_cache="volatile" if node.write_cache == "write back" else "unknown",
        because=f"{what}: what is beneath cannot be seen from here{flag}",
    )


def _real(node: Node) -> Medium:
    if node.link == "usb":
        return Medium(because="a USB bridge hides the drive")
    if _rpm(node) == 0 or node.rotational is False:
        return Medium(class_="ssd", write_cache=_cache(node), because="it does not rotate")
    if node.rotational:
        return Medium(write_cache=_cache(node), because="it rotates, but does not say how fast")
    return Medium(because="nothing tells")


def _rpm(node: Node) -> int | None:
    reading = node.reading("rpm")
    return int(reading.value) if reading is not None and reading.value.isdecimal() else None


def _cache(node: Node) -> MediumCache:
    """Volatile where any source says so; none where the kernel sees none and the drive does not contradict."""
    if node.write_cache == "write back" or claims_cache(node.readings):
        return "volatile"
    return "none" if node.write_cache == "write through" else "unknown"


def claims_cache(readings: Iterable[Reading]) -> bool:
    """The drive's own word, whatever the kernel's view was set to: a volatile write cache is on.

    The driver's cache_type is newer than udev's property, which dates from when the drive was found.
    """
    values = {reading.what: reading.value for reading in readings}
    cache_type = values.get("cache_type")
    if cache_type is None:
        return values.get("ID_ATA_WRITE_CACHE_ENABLED") == "1"
    return cache_type.removeprefix("temporary ").startswith("write back")
