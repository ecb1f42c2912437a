"""What a drive itself says of its write cache, asked by root: ``drive_cache`` (on | off, now), ``vwc`` (present |
absent, NVMe). SATA, SAS and USB drives are asked through hdparm and smartctl, NVMe drives through nvme.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from fstui.model.storage import Node, Reading
from fstui.storage.layers.devices.nvme import controller_of
from fstui.storage.layers.sources.claims import Claims, Command, answer, line, missing

_HDPARM = re.compile(r"write-caching =\s+([01]) ")
_SMARTCTL = re.compile(r"^Write cache is:\s+(Enabled|Disabled)", re.MULTILINE)
_FEATURE = re.compile(r"Current value:\s*(?:0x)?([0-9a-fA-F]+)")


def commands(node: Node) -> tuple[Command, ...]:
    """What to ask about that disk; nothing where no tool would know."""
    if node.link == "nvme" and node.id.startswith("nvme"):
        controller = controller_of(node.id)  # a path has no device file of its own: ask its controller
        device = f"/dev/nvme{controller}" if controller is not None else f"/dev/{node.id}"
        return ("nvme", "id-ctrl", device, "-o", "json"), ("nvme", "get-feature", device, "-f", "6")
    device = f"/dev/{node.id}"
    if not node.id.startswith("sd"):
        return ()
    # -n standby: do not wake a drive that sleeps
    return ("hdparm", "-W", device), ("smartctl", "-n", "standby", "-g", "wcache", device)


def told(node: Node, claims: Claims) -> tuple[Reading, ...]:
    """The drive's own word on its write cache: ``vwc``, ``drive_cache``; else ``missing``, with the reason."""
    asked = commands(node)
    found: list[Reading] = []
    for command in asked:
        output = answer(claims, command)
        reading = _read(command, output) if output is not None else None
        if reading is not None and all(reading.what != earlier.what for earlier in found):
            found.append(reading)
    if asked and not any(reading.what == "drive_cache" for reading in found) and not _has_none(found):
        what = "the drive's own word on its write cache"
        found.append(missing(what, asked, claims, unasked="root only, or not asked yet"))
    return tuple(found)


def _has_none(found: Iterable[Reading]) -> bool:
    """A drive without a volatile cache has no state of one to tell."""
    return any((reading.what, reading.value) == ("vwc", "absent") for reading in found)


def _read(command: Command, output: str) -> Reading | None:
    path = line(command)
    if command[:2] == ("nvme", "id-ctrl"):
        present = _vwc(output)
        return None if present is None else Reading(what="vwc", value="present" if present else "absent", path=path)
    if command[0] == "nvme" and (value := _FEATURE.search(output)):
        return Reading(what="drive_cache", value="on" if int(value[1], 16) & 1 else "off", path=path)
    if match := _HDPARM.search(output) or _SMARTCTL.search(output):
        return Reading(what="drive_cache", value="on" if match[1] in ("1", "Enabled") else "off", path=path)
    return None


def _vwc(output: str) -> bool | None:
    """Bit 0 of VWC in Identify Controller: a volatile write cache is present (NVM Express base specification)."""
    try:
        value = json.loads(output)["vwc"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return bool(value & 1) if isinstance(value, int) else None
