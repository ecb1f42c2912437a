"""Whether a drive has its write cache on, and whether what is in the cache survives a power cut.

Root can read two values from the drive itself, with hdparm or smartctl (SATA, SAS, USB) or nvme (NVMe): ``drive_cache``
(on | off, the current setting) and ``vwc`` (present | absent, NVMe only).
"""

import json
import re
from contextlib import suppress
from typing import NamedTuple

from fstui.model.storage import Node, Reading
from fstui.storage.layers.devices.links import link
from fstui.storage.layers.devices.nvme import nvme_device
from fstui.storage.tool_output import Command, ToolOutputs, command_line, missing_reading, output_of

_SAFE_MEDIA = frozenset({"ssd-plp", "optane"})
_RAID_DRIVERS = frozenset({
    "3w-9xxx", "3w-sas", "3w-xxxx", "aacraid", "hpsa", "hptiop", "ipr", "ips", "megaraid", "megaraid_legacy",
    "megaraid_sas", "mpi3mr", "mvumi", "myrb", "myrs", "pmcraid", "smartpqi", "stex",
})  # fmt: skip
"""Drivers (drivers/scsi) of controllers that may have a cache with a battery. The controllers use the cache for volumes
only, not for disks that are passed through."""
_VOLUME_GRADES = frozenset({"raid", "array", "virtual", "cloud"})
"""Grades of models that are not single drives."""
_CACHE_VALUES = {
    "drive_cache": {"on": True, "off": False},
    "vwc": {"present": True, "absent": False},
    "cache_type": {"write back": True, "write through": False},
    "ID_ATA_WRITE_CACHE_ENABLED": {"1": True, "0": False},
}
"""Readings about the volatile write cache. True: the value means that there is a cache that may be on."""


class CacheReport(NamedTuple):
    is_on: bool
    reading: Reading


def _report(node: Node, what: str) -> CacheReport | None:
    reading = node.reading(what)
    if reading is None or reading.value not in _CACHE_VALUES[what]:
        return None
    return CacheReport(_CACHE_VALUES[what][reading.value], reading)


def volatile_cache(node: Node) -> CacheReport | None:
    """Return what the best source reports about the device's volatile write cache; None: unknown.

    The sources, best first: the drive itself; the driver, whose reading may be a "temporary" setting; udev, which read
    the setting when the drive was found. ``vwc`` only shows that an NVMe drive has a cache, not that it is on.
    """
    for what in ("drive_cache", "vwc"):
        if report := _report(node, what):
            return report
    if driver := node.reading("cache_type"):
        return CacheReport(driver.value.removeprefix("temporary ").startswith("write back"), driver)
    return _report(node, "ID_ATA_WRITE_CACHE_ENABLED")


def is_cache_on(node: Node) -> bool | None:
    """Return whether the volatile write cache is on; None if that is unknown. What the drive itself reports decides."""
    report = volatile_cache(node)
    if report is None:
        return None if node.write_cache is None else node.write_cache == "write back"
    if report.reading.what == "vwc" and report.is_on:
        return None if node.write_cache == "write through" else True
    if report.reading.what in {"drive_cache", "vwc"}:
        return report.is_on
    return report.is_on or node.write_cache == "write back"


def has_protected_cache(node: Node) -> bool:
    """Return whether the write cache (of a controller, an array, or a drive with capacitors) survives a power cut."""
    is_array = node.value("grade") == "array"
    return is_array or has_controller_cache(node) or (node.medium is not None and node.medium.write_cache == "plp")


def is_safe_drive(node: Node) -> bool:
    """Return whether the drive loses nothing even without a flush, by its model or as declared by the user.

    A RAID controller is safe only if the user declares it: its battery may be dead, and its model does not show that.
    """
    medium = node.medium
    if medium is None or (medium.class_ == "raid-cache" and not medium.declared):
        return False
    return medium.class_ in _SAFE_MEDIA or medium.write_cache == "plp"


def is_optane(node: Node) -> bool:
    return node.medium is not None and node.medium.class_ == "optane"


def outlives_power_cut(node: Node) -> bool:
    """Return whether the device loses nothing in a power cut, by its model or as declared. It may ignore flushes."""
    return has_protected_cache(node) or is_safe_drive(node)


def has_controller_cache(node: Node) -> bool:
    """Return whether the device is behind a RAID controller whose cache may have a battery, by model or as declared."""
    return node.medium is not None and node.medium.class_ == "raid-cache"


def is_behind_raid_controller(node: Node) -> bool:
    """Return whether the device is a volume of a RAID controller, by its model or driver, or as declared."""
    by_driver = node.value("controller") in _RAID_DRIVERS and is_hidden_by_controller(node)
    return has_controller_cache(node) or node.value("grade") == "raid" or by_driver


def cache_off_reports(node: Node) -> tuple[str, ...]:
    """Return a line for each source that reports that the volatile write cache is absent or off.

    Return nothing if a source contradicts, or if the kernel sends flushes to the device.
    """
    reports = [report for what in _CACHE_VALUES if (report := _report(node, what))]
    off_readings = [report.reading for report in reports if not report.is_on]
    # an NVMe drive that has a cache and has switched it off is no contradiction
    present_but_off = {report.reading.what: report.is_on for report in reports} == {"vwc": True, "drive_cache": False}
    if node.write_cache == "write back" or (len(off_readings) < len(reports) and not present_but_off):
        return ()
    return tuple(f"{node.id} {reading.what}: {reading.value} ({reading.path})" for reading in off_readings)


def controller_may_cache(node: Node) -> bool:
    """Return whether the controller, one of Areca's, may cache the writes to a disk that it passes through."""
    return node.value("controller") == "arcmsr" and not is_declared(node)


def is_hidden_by_controller(node: Node) -> bool:
    """Return whether a cache may be in front of the device, and it is unknown whether this cache has a battery.

    This applies to an unknown volume of a RAID controller or behind Fibre Channel. A drive that is passed through is
    recognised: it reports its form factor (Linux 5.19), or udev could read its cache setting. On older kernels, a
    SAS drive looks like a volume.
    """
    if is_declared(node) or has_protected_cache(node) or node.value("grade") in _VOLUME_GRADES:
        return False
    if controller_may_cache(node):
        return True
    is_drive = any(node.reading(what) for what in ("grade", "form_factor", "ID_ATA_WRITE_CACHE_ENABLED"))
    return not is_drive and (link(node.link).assume_array or node.value("controller") in _RAID_DRIVERS)


def may_be_protected(node: Node) -> bool:
    """Return whether the device is an SSD that is not in the model table. Such a drive may protect its cache."""
    is_ssd = node.medium is not None and node.medium.class_ == "ssd"
    return is_ssd and not is_declared(node) and node.reading("grade") is None


def is_declared(node: Node) -> bool:
    return node.medium is not None and node.medium.declared


def may_outlive_power_cut(node: Node) -> bool:
    """Return whether the device loses nothing in a power cut, or a controller may hide that it loses nothing."""
    return outlives_power_cut(node) or is_hidden_by_controller(node)


_HDPARM = r"write-caching =\s+([01]) "
_SMARTCTL = r"(?m)^Write(?: cache|back Cache) is:\s+(Enabled|Disabled)"
_FEATURE = r"Current value:\s*(?:0x)?([0-9a-fA-F]+)"


def cache_commands(node: Node) -> tuple[Command, ...]:
    if device := nvme_device(node):
        return ("nvme", "id-ctrl", device, "-o", "json"), ("nvme", "get-feature", device, "-f", "6")
    if not node.id.startswith("sd"):
        return ()
    # -n standby: do not wake a drive that sleeps
    return ("hdparm", "-W", f"/dev/{node.id}"), ("smartctl", "-n", "standby", "-g", "wcache", f"/dev/{node.id}")


def cache_readings(node: Node, tool_outputs: ToolOutputs) -> tuple[Reading, ...]:
    """Return ``vwc`` and ``drive_cache`` as the drive reported them. If the setting is unknown, add ``missing``."""
    commands = cache_commands(node)
    readings: list[Reading] = []
    for command in commands:
        output = output_of(tool_outputs, command)
        reading = _parse(command, output) if output is not None else None
        # of several tools that report the same reading, the first is used
        if reading is not None and all(reading.what != earlier.what for earlier in readings):
            readings.append(reading)
    # vwc=present does not show whether the cache is on
    is_known = any(reading.what == "drive_cache" or reading.value == "absent" for reading in readings)
    if commands and not is_known:
        readings.append(missing_reading("the drive's report of its write cache", commands, tool_outputs))
    return tuple(readings)


def _parse(command: Command, output: str) -> Reading | None:
    path = command_line(command)
    if command[:2] == ("nvme", "id-ctrl"):
        # VWC in Identify Controller, bit 0: a volatile write cache is present (NVM Express base specification)
        with suppress(ValueError, KeyError, TypeError, RecursionError):
            return Reading(what="vwc", value="present" if json.loads(output)["vwc"] & 1 else "absent", path=path)
        return None
    if command[0] == "nvme" and (value := re.search(_FEATURE, output)):
        return Reading(what="drive_cache", value="on" if int(value[1], 16) & 1 else "off", path=path)
    if match := re.search(_HDPARM, output) or re.search(_SMARTCTL, output):
        return Reading(what="drive_cache", value="on" if match[1] in ("1", "Enabled") else "off", path=path)
    return None
