"""Read the health of drives, for root only: of NVMe drives with ``nvme smart-log``, of SATA and SAS drives with
``smartctl``.

Readings: ``critical_warning`` (bits of NVMe), ``smart_status`` (passed | failed), ``backup`` (good | failed: the
capacitors that protect the cache), ``percent_used`` (of the rated endurance), and counts: ``unsafe_shutdowns``,
``media_errors`` (uncorrected), ``pending_sectors``, ``reallocated_sectors``, ``grown_defects`` (SAS).
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from fstui.model.storage import Node, Reading
from fstui.storage.layers.devices.nvme import nvme_device
from fstui.storage.layers.facts import number
from fstui.storage.tool_output import Command, ToolOutputs, command_line, output_of

BACKUP_FAILED = 0x10
"""Bit of the critical warning: "The volatile memory backup device has failed" (NVM Express base specification)."""
_NVME_FIELDS = ("critical_warning", "percent_used", "unsafe_shutdowns", "media_errors")
_ATTRIBUTES = {
    "unsafe_shutdowns": "Unsafe_Shutdown|Unclean_Shutdown|Unexpect(ed)?_(Power|Pwr)_Loss|POR_Recovery",
    "media_errors": "Reported_Uncorrect|Uncorrectable_Error_Cnt",
    "pending_sectors": "^Current_Pending_Sector",
    "reallocated_sectors": "^Reallocated_Sector_Ct",
}
"""The attributes of SATA drives, by the names that smartmontools' drivedb.h gives them."""
_CAPACITOR = "Power_Loss_Cap|Capacitor_Health"
# the names of all readings of this module
HEALTH_READINGS = (*dict.fromkeys((*_NVME_FIELDS, *_ATTRIBUTES)), "smart_status", "backup", "grown_defects")


def health_command(node: Node) -> Command | None:
    if device := nvme_device(node):
        return "nvme", "smart-log", device, "-o", "json"
    if node.id.startswith("sd"):
        # -n standby: do not wake a drive that sleeps
        return "smartctl", "-n", "standby", "--json=c", "-a", f"/dev/{node.id}"
    return None


def health_readings(node: Node, tool_outputs: ToolOutputs) -> tuple[Reading, ...]:
    command = health_command(node)
    if command is None or (output := output_of(tool_outputs, command)) is None:
        return ()
    try:
        document = json.loads(output)
        values = {what: document[what] for what in _NVME_FIELDS} if command[0] == "nvme" else _smartctl_values(document)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return ()
    path = command_line(command)
    return tuple(
        Reading(what=what, value=str(value), path=path)
        for what, value in values.items()
        if isinstance(value, str | int)
    )


def _smartctl_values(document: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if "smart_status" in document:
        values["smart_status"] = "passed" if document["smart_status"]["passed"] else "failed"
    for attribute in document.get("ata_smart_attributes", {}).get("table", ()):
        what = next((what for what, pattern in _ATTRIBUTES.items() if re.search(pattern, attribute["name"])), None)
        if what:
            # in the text "3 (237 447)", only the 3 counts; the number raw.value combines all three
            values.setdefault(what, int(attribute["raw"]["string"].split()[0]))
        if re.search(_CAPACITOR, attribute["name"]):
            values["backup"] = "failed" if attribute["when_failed"] == "now" else "good"
    errors = document.get("scsi_error_counter_log")
    if errors:
        values["media_errors"] = sum(
            errors[kind]["total_uncorrected_errors"] for kind in ("read", "write") if kind in errors
        )
    used = document.get("endurance_used", {}).get("current_percent")
    values["percent_used"] = document.get("scsi_percentage_used_endurance_indicator", used)
    values["grown_defects"] = document.get("scsi_grown_defect_list")
    return values


def backup_failed(node: Node) -> bool:
    """Return whether the drive reports that the capacitor or battery of its cache has failed."""
    return bool((number(node, "critical_warning") or 0) & BACKUP_FAILED) or node.value("backup") == "failed"
