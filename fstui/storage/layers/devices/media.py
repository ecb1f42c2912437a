"""Determine the medium of a device at the bottom of a stack, and find what its cloud provider documents.

Sources: queue/rotational (only a hint: virtual disks report 1 even on SSDs), the rotation rate of SCSI VPD page
B1 or of udev, the model (``models``), and what the drive reports to root.

A cloud's disk is recognised by two names that must agree. One is the name of the host in DMI (``Host.cloud``: Amazon
EC2, Google Compute Engine, Azure's chassis asset tag …). The other identifies the disk: its NVMe model, its SCSI vendor
and model, or the place of its controller on Hyper-V's bus. This is no proof, because anyone who runs a hypervisor can
set both names. models.toml has what each provider documents, with its source.
"""

from fstui.model.host import Host
from fstui.model.quantities import rotation
from fstui.model.storage import Medium, MediumCache, MediumClass, Node
from fstui.storage.layers.devices import models, platforms
from fstui.storage.layers.devices.caches import is_cache_on
from fstui.storage.layers.devices.disk import is_over_own_network, is_virtual
from fstui.storage.layers.devices.links import link
from fstui.storage.layers.devices.models import Model
from fstui.storage.layers.devices.nvme import NETWORK_TRANSPORTS
from fstui.storage.layers.facts import number
from fstui.storage.layers.kinds import kind

DMI = "/sys/class/dmi/id"


def cloud_model(node: Node) -> Model | None:
    """Return the entry of models.toml for this disk's model or Hyper-V address, if a cloud provider uses it."""
    bus = node.value("vmbus_id")
    by_bus = models.find_on_vmbus(f"{bus} lun {node.value('lun') or '?'}") if bus else None
    model = by_bus or models.find(node.model)
    return model if model is not None and model.cloud is not None else None


def provided_model(node: Node, host: Host) -> Model | None:
    """Return the entry of models.toml for this disk, if this host belongs to the same cloud."""
    model = cloud_model(node)
    return model if model is not None and model.cloud == host.cloud else None


def documented_model(node: Node, host: Host) -> Model | None:
    """Return the entry of models.toml for this disk, if it documents what happens to a write. The entry is that of the
    cloud provider or, on a host outside a cloud, that of the hypervisor."""
    model = provided_model(node, host)
    if model is None:
        model = models.find(node.model)
        # the entry must be for the hypervisor of this host, and the host must be outside a cloud
        if model is None or model.platform is None or model.platform != host.virtualization or host.cloud is not None:
            return None
    return model if model.documented_durability else None


def is_cloud_volume(node: Node) -> bool:
    """Return whether this is a cloud volume that is reached over an ordinary network.

    False for a volume over RDMA or on the user's own fabric or SAN, which may respond within tens of microseconds.
    """
    model = cloud_model(node)
    belongs_to_cloud = model is not None or node.value("grade") == "cloud"
    is_fast_network = is_over_own_network(node) or (model is not None and model.over_rdma)
    return node.medium is not None and node.medium.class_ == "network" and belongs_to_cloud and not is_fast_network


def identification(node: Node) -> str:
    if bus := node.reading("vmbus_id"):
        return f"{node.id} vmbus_id: {bus.value} ({bus.path})"
    return f"{node.id} model: {node.model} (/sys/block/{node.id}/device/model)"


_CARDS = {"MMC": "eMMC", "SD": "an SD card"}
_HDD_CLASSES: tuple[tuple[int, MediumClass], ...] = (
    (6300, "hdd-5400"), (8600, "hdd-7200"), (12500, "hdd-10000"), (65535, "hdd-15000"),
)  # fmt: skip
"""Upper limits in rpm. Unusual rates (5900, 10 520) belong to the nearest class; ``rpm`` keeps the exact number."""


def medium_of(node: Node, host: Host | None = None) -> Medium:
    """Return the medium of a lowest block device, by its fields, its readings and the host."""
    layer_kind, transport = kind(node.kind), node.reading("transport")
    if layer_kind.in_memory:
        return Medium(class_="memory", write_cache="none", reason="kept in memory")
    if transport is not None and transport.value in NETWORK_TRANSPORTS:
        return Medium(class_="network", reason=f"reached over {transport.value} ({transport.path})")
    if layer_kind.networked or link(node.link).networked:
        return Medium(class_="network", reason="reached over a network")
    if node.kind != "disk":
        return Medium(reason=f"the storage behind a {node.kind} device is not visible to this host")
    return _reported_medium(node) or (
        _virtual_medium(node, host or Host()) if is_virtual(node) else _drive_medium(node)
    )


def _reported_medium(node: Node) -> Medium | None:
    model = models.find(node.model)
    if model is not None and model.class_ != "unknown":
        reason = f"the model identifies {model.description} ({_model_source(node)})"
        write_cache = model.write_cache or _cache(node)
        return Medium(class_=model.class_, ephemeral=model.ephemeral, write_cache=write_cache, reason=reason)
    rpm_reading, rpm = node.reading("rpm"), number(node, "rpm")
    if rpm_reading is None or not rpm:
        return None
    class_ = next(class_ for limit, class_ in _HDD_CLASSES if rpm <= limit)
    reason = f"it reports {rotation(rpm)} ({rpm_reading.path})"
    return Medium(class_=class_, rpm=rpm, write_cache=_cache(node), reason=reason)


def _virtual_medium(node: Node, host: Host) -> Medium:
    model = provided_model(node, host)
    if model is not None:
        reason = f"{model.description} ({identification(node)})"
        return Medium(class_=model.class_, ephemeral=model.ephemeral, write_cache=_virtual_cache(node), reason=reason)
    name = f"a {node.link} disk" if link(node.link).virtual else f"{node.model} ({_model_source(node)})"
    flag = "; virtual disks report rotational=1 even on SSDs" if node.rotational else ""
    platform = platforms.find(host.virtualization)
    flush_default = f". {platform.flush_default}" if platform else ""
    reason = f"{name}: the underlying device is not visible to this host{flag}{flush_default}"
    return Medium(write_cache=_virtual_cache(node), reason=reason)


def _virtual_cache(node: Node) -> MediumCache:
    """Return volatile if the disk reports write back, else unknown: a host may hide its cache behind write through."""
    return "volatile" if node.write_cache == "write back" else "unknown"


def _drive_medium(node: Node) -> Medium:
    if node.link == "mmc":
        card = _CARDS.get(node.value("card") or "", "a card")
        reason = f"{card}: flash whose controller reports nothing about power loss"
        return Medium(write_cache=_cache(node), reason=reason)
    if link(node.link).hides_drive:
        bridge = node.reading("usb_bridge")
        bridge_name = f" {bridge.value} ({bridge.path})" if bridge is not None else ""
        return Medium(reason=f"the USB bridge{bridge_name} hides the drive")
    rotational = f"/sys/block/{node.id}/queue/rotational"
    if number(node, "rpm") == 0 or (node.rotational is False and node.link is not None):
        return Medium(class_="ssd", write_cache=_cache(node), reason=f"it does not rotate ({rotational}: 0)")
    if node.rotational:
        reason = f"it rotates ({rotational}: 1), but does not report its speed"
        return Medium(write_cache=_cache(node), reason=reason)
    return Medium(reason="nothing identifies it")


def _model_source(node: Node) -> str:
    return f"/sys/block/{node.id}/device/model: {node.model}"


def _cache(node: Node) -> MediumCache:
    is_on = is_cache_on(node)
    return "unknown" if is_on is None else "volatile" if is_on else "none"
