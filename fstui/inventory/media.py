"""What a lowest device really is, as far as it can be told from here.

Sources: queue/rotational (a hint; virtual disks say 1 on any host), the rotation rate of SCSI VPD page B1 or of udev,
the model (``models``), which clouds, hypervisors and RAID controllers set, and the drive's own word, asked by root.
"""

from __future__ import annotations

from collections.abc import Iterable

from fstui.inventory import models
from fstui.inventory.nvme import NETWORKED
from fstui.model import Host, Medium, MediumCache, MediumClass, Node, Reading

MEMORY_KINDS = frozenset({"zram", "ram"})
NETWORK_KINDS = frozenset({"nbd", "rbd", "drbd"})
_HYPERVISOR_LINKS = frozenset({"virtio", "xen", "hyper-v"})
_AZURE_RESOURCE_DISK = "00000000-0001-"
"""How the VMBus id of Azure's temporary disk begins (WALinuxAgent, 66-azure-storage.rules)."""
_HDD_CLASSES: tuple[tuple[int, MediumClass], ...] = (
    (6300, "hdd-5400"), (8600, "hdd-7200"), (12500, "hdd-10000"), (65535, "hdd-15000"),
)  # fmt: skip
"""Odd rates (5900, 10 520) go to the nearest class; ``rpm`` keeps the number itself."""


def medium_of(node: Node, host: Host | None = None) -> Medium:
    """The medium of a lowest block device, from its node's fields and readings; the host tells whose guest we are."""
    transport = node.reading("transport")
    if node.kind in MEMORY_KINDS:
        return Medium(class_="memory", write_cache="none", because="kept in memory")
    if transport is not None and transport.value in NETWORKED:
        return Medium(class_="network", because=f"reached over {transport.value} ({transport.path})")
    if node.kind in NETWORK_KINDS or node.link == "iscsi":
        return Medium(class_="network", because="reached over a network")
    if node.kind != "disk":
        return Medium(because=f"what stands behind a {node.kind} device cannot be seen from here")
    return _stated(node) or (_virtual(node, host or Host()) if is_virtual(node) else _real(node))


def is_virtual(node: Node) -> bool:
    """A hypervisor made this disk: its rotational flag says nothing."""
    row = models.known(node.model) if node.model else None
    return node.link in _HYPERVISOR_LINKS or (row is not None and row.grade == "virtual")


def claims_cache(readings: Iterable[Reading]) -> bool:
    """The drive's own word, whatever the kernel's view was set to: a volatile write cache is on.

    What root asked the drive just now beats the driver's cache_type, which "temporary" changes leave behind; that is
    newer than udev's property, which dates from when the drive was found.
    """
    values = {reading.what: reading.value for reading in readings}
    if "drive_cache" in values:
        return values["drive_cache"] == "on"
    if values.get("vwc") == "absent":
        return False
    if "cache_type" in values:
        return values["cache_type"].removeprefix("temporary ").startswith("write back")
    return values.get("ID_ATA_WRITE_CACHE_ENABLED") == "1"


def _stated(node: Node) -> Medium | None:
    """What the model or a stated rotation rate says outright."""
    row = models.known(node.model) if node.model else None
    if row is not None and row.class_ != "unknown":
        because = f"the model says {row.says} ({_model_path(node)})"
        write_cache = row.write_cache or _cache(node)
        return Medium(class_=row.class_, ephemeral=row.ephemeral, write_cache=write_cache, because=because)
    reading = node.reading("rpm")
    rpm = _rpm(node)
    if not rpm or reading is None:
        return None
    class_ = next(class_ for limit, class_ in _HDD_CLASSES if rpm <= limit)
    return Medium(class_=class_, rpm=rpm, write_cache=_cache(node), because=f"it states {rpm} rpm ({reading.path})")


def _virtual(node: Node, host: Host) -> Medium:
    bus = node.reading("vmbus_id")
    if host.cloud == "azure" and bus is not None and bus.value.startswith(_AZURE_RESOURCE_DISK):
        because = f"the temporary disk of an Azure instance: gone with it ({bus.path})"
        return Medium(class_="ssd", ephemeral=True, write_cache=_virtual_cache(node), because=because)
    what = f"a {node.link} disk" if node.link in _HYPERVISOR_LINKS else f"{node.model} ({_model_path(node)})"
    flag = "; virtual disks say rotational=1 on any host" if node.rotational else ""
    habit = models.habit(host.virtualization)
    habit = f". {habit}" if habit else ""
    because = f"{what}: what is beneath cannot be seen from here{flag}{habit}"
    return Medium(write_cache=_virtual_cache(node), because=because)


def _virtual_cache(node: Node) -> MediumCache:
    """“write through” may hide a cache of the host's: only a claim of a volatile one says something."""
    return "volatile" if node.write_cache == "write back" else "unknown"


def _real(node: Node) -> Medium:
    if node.link == "usb":
        bridge = node.reading("usb_bridge")
        named = f" {bridge.value} ({bridge.path})" if bridge is not None else ""
        return Medium(because=f"the USB bridge{named} hides the drive")
    rotational = f"/sys/block/{node.id}/queue/rotational"
    if _rpm(node) == 0 or node.rotational is False:
        return Medium(class_="ssd", write_cache=_cache(node), because=f"it does not rotate ({rotational}: 0)")
    if node.rotational:
        because = f"it rotates ({rotational}: 1), but does not say how fast"
        return Medium(write_cache=_cache(node), because=because)
    return Medium(because="nothing tells")


def _model_path(node: Node) -> str:
    return f"/sys/block/{node.id}/device/model: {node.model}"


def _rpm(node: Node) -> int | None:
    reading = node.reading("rpm")
    return int(reading.value) if reading is not None and reading.value.isdecimal() else None


def _cache(node: Node) -> MediumCache:
    """Volatile where any source says so; none where the kernel sees none and the drive does not contradict."""
    absent = node.reading("vwc")
    if absent is not None and absent.value == "absent":
        return "none"
    if node.write_cache == "write back" or claims_cache(node.readings):
        return "volatile"
    return "none" if node.write_cache == "write through" else "unknown"
