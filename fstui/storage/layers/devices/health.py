"""What an NVMe drive reports of its health: the log page that ``nvme smart-log`` prints. Root only.

Readings: ``critical_warning`` (bits), ``percent_used`` of its rated endurance, ``unsafe_shutdowns``, ``media_errors``.
"""

from __future__ import annotations

import json

from fstui.model.storage import Node, Reading
from fstui.storage.claims import Claims, Command, answer, line
from fstui.storage.layers.devices.nvme import controller_of
from fstui.storage.layers.facts import number

BACKUP_FAILED = 0x10
"""Bit of the critical warning: "The volatile memory backup device has failed" (NVM Express base specification)."""
HEALTH = ("critical_warning", "percent_used", "unsafe_shutdowns", "media_errors")


def health_command(node: Node) -> Command | None:
    if node.link != "nvme" or not node.id.startswith("nvme"):
        return None
    controller = controller_of(node.id)
    device = f"/dev/nvme{controller}" if controller is not None else f"/dev/{node.id}"
    return "nvme", "smart-log", device, "-o", "json"


def health_readings(node: Node, claims: Claims) -> tuple[Reading, ...]:
    command = health_command(node)
    output = answer(claims, command) if command is not None else None
    if command is None or output is None:
        return ()
    try:
        found = json.loads(output)
        values = [(what, found[what]) for what in HEALTH]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ()
    path = line(command)
    return tuple(Reading(what=what, value=str(value), path=path) for what, value in values if isinstance(value, int))


def backup_failed(node: Node) -> Reading | None:
    """Return the reading that says that the capacitor or battery of the drive's cache has failed."""
    fact = number(node, "critical_warning")
    return fact.reading if fact is not None and int(fact.value) & BACKUP_FAILED else None
