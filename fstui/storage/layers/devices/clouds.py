"""Disks that a cloud provides: whose, of what kind, and what their provider documents of what was written to them.

Recognised without a network, by two names that must agree: that of the box in DMI (``Host.cloud``: Amazon EC2, Google
Compute Engine, Azure's chassis asset tag …), and that of the disk: its NVMe model, its SCSI vendor and model, or the
place of its controller on Hyper-V's bus. Both are words that anybody can set who runs a hypervisor, so they are as good
as whoever runs it, and no better. What each provider documents stands in models.toml, with its source.
"""

from __future__ import annotations

from fstui.model.host import Host
from fstui.model.storage import Node
from fstui.storage.layers.devices import models
from fstui.storage.layers.devices.models import Model
from fstui.storage.layers.facts import word

__all__ = ["DMI", "Model", "name_line", "named", "provided"]

DMI = "/sys/class/dmi/id"


def named(node: Node) -> Model | None:
    """What the disk calls itself, where that is a cloud's."""
    bus, unit = word(node, "vmbus_id"), word(node, "lun")
    by_bus = models.on_vmbus(f"{bus.value} lun {unit.value if unit else '?'}") if bus else None
    row = by_bus or models.known(node.model)
    return row if row is not None and row.cloud is not None else None


def provided(node: Node, host: Host) -> Model | None:
    """The same, where the box calls itself that provider's, too."""
    row = named(node)
    return row if row is not None and row.cloud == host.cloud else None


def name_line(node: Node) -> str:
    """By what name the disk was recognised, and where that stands."""
    bus = word(node, "vmbus_id")
    if bus is not None:
        return f"{node.id} vmbus_id: {bus.value} ({bus.reading.path})"
    return f"{node.id} model: {node.model} (/sys/block/{node.id}/device/model)"
