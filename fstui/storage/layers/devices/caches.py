"""Whether a drive's write cache is on, by whoever knows best; and whether what it holds outlives a power cut."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from fstui.model.storage import Node, Reading
from fstui.storage.claims import Claims, Command, answer, line, missing
from fstui.storage.layers.devices.links import link
from fstui.storage.layers.devices.nvme import controller_of
from fstui.storage.layers.facts import Fact, one_of

_SAFE_DRIVES = frozenset({"ssd-plp", "optane"})
_RAID_DRIVERS = frozenset({
    "3w-9xxx", "3w-sas", "3w-xxxx", "aacraid", "hpsa", "hptiop", "ipr", "ips", "megaraid", "megaraid_legacy",
    "megaraid_sas", "mpi3mr", "mvumi", "myrb", "myrs", "pmcraid", "smartpqi", "stex",
})  # fmt: skip
"""Drivers of controllers that may have a memory with a battery (drivers/scsi), and answer with it for volumes alone."""
_ANSWERS_FOR_DISKS = "arcmsr"
"""The driver of controllers of which a disk that they pass through under its own name may be answered by their cache as
their volumes are: Areca."""
_VOLUMES = frozenset({"raid", "array", "virtual", "cloud"})
"""Grades of what is no single drive, by its name."""


def volatile_cache(node: Node) -> Fact[bool] | None:
    """Whether the device has a volatile write cache and uses it, and who says so; None where nobody does.

    What the drive answers now beats the driver's reading, which "temporary" changes leave behind; and that beats
    udev's, which dates from when the drive was found. An NVMe drive that has a cache and was not asked whether it is
    on is believed to use it, as the kernel does, whatever the kernel was told since.
    """
    for what, meanings in (
        ("drive_cache", {"on": True, "off": False}),
        ("vwc", {"present": True, "absent": False}),
    ):
        if found := one_of(node, what, meanings):
            return found
    if driver := node.reading("cache_type"):
        return Fact(driver.value.removeprefix("temporary ").startswith("write back"), driver)
    return one_of(node, "ID_ATA_WRITE_CACHE_ENABLED", {"1": True, "0": False})


def has_cache(node: Node) -> bool | None:
    """Whether flushes matter there: by the kernel's view, and where it tells none (before Linux 4.7, or a file that
    cannot be read) by the device's own word; None where nobody says."""
    if node.write_cache is not None:
        return node.write_cache == "write back"
    told = volatile_cache(node)
    return told.value if told is not None else None


def has_none(node: Node) -> bool:
    """The drive says that it has no volatile write cache (NVMe)."""
    found = node.reading("vwc")
    return found is not None and found.value == "absent"


def protected_cache(node: Node) -> bool:
    """It has a write cache that is said to outlive a power cut: a controller's battery, an array's or a
    drive's capacitors."""
    medium = node.medium
    array = one_of(node, "grade", {"array": True}) is not None
    told = medium is not None and (medium.class_ == "raid-cache" or medium.write_cache == "plp")
    return array or told


def safe_drive(node: Node) -> bool:
    """The drive itself loses nothing: its cache is protected, or it has none. A RAID controller is another matter."""
    medium = node.medium
    return has_none(node) or (medium is not None and (medium.class_ in _SAFE_DRIVES or medium.write_cache == "plp"))


def safe_medium(node: Node) -> bool:
    """By its model, or the user's word, nothing that it was given can be lost: no matter what it does with a flush.

    A RAID controller's battery may be dead, which no model tells; a drive's word that it has no cache is its word.
    """
    medium = node.medium
    if medium is None or (medium.class_ == "raid-cache" and not medium.declared):
        return False
    return medium.class_ in _SAFE_DRIVES or medium.write_cache == "plp"


def outlives_power_cut(node: Node) -> bool:
    """By its medium: what such a device has, in a cache or not, may be answered at once."""
    medium = node.medium
    return protected_cache(node) or (medium is not None and medium.class_ in _SAFE_DRIVES)


def answers_for_disks(node: Node) -> bool:
    """Its controller's cache may answer for it, although it is called by a drive's own name."""
    told = node.reading("controller")
    return told is not None and told.value == _ANSWERS_FOR_DISKS and not _is_declared(node)


def hidden_by_controller(node: Node) -> bool:
    """A cache with a battery may answer for it, or a drive's own without one: a volume of a name that nobody knows, of
    a RAID controller or by Fibre Channel.

    A drive passed through states its form (Linux 5.19), or answered udev; an older kernel shows a SAS drive like a
    volume.
    """
    grade, controller = node.reading("grade"), node.reading("controller")
    if _is_declared(node) or protected_cache(node) or (grade is not None and grade.value in _VOLUMES):
        return False
    if answers_for_disks(node):
        return True
    drive = grade or node.reading("form_factor") or node.reading("ID_ATA_WRITE_CACHE_ENABLED")
    behind = link(node.link).arrays or (controller is not None and controller.value in _RAID_DRIVERS)
    return behind and drive is None


def _is_declared(node: Node) -> bool:
    return node.medium is not None and node.medium.declared


def may_outlive_power_cut(node: Node) -> bool:
    """What it has in a cache does, or nobody can tell."""
    return outlives_power_cut(node) or hidden_by_controller(node)


_HDPARM = re.compile(r"write-caching =\s+([01]) ")
_SMARTCTL = re.compile(r"^Write cache is:\s+(Enabled|Disabled)", re.MULTILINE)
_FEATURE = re.compile(r"Current value:\s*(?:0x)?([0-9a-fA-F]+)")


def cache_commands(node: Node) -> tuple[Command, ...]:
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


def cache_readings(node: Node, claims: Claims) -> tuple[Reading, ...]:
    """The drive's own word on its write cache: ``vwc``, ``drive_cache``; else ``missing``, with the reason."""
    asked = cache_commands(node)
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
