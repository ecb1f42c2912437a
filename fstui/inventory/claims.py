"""What only tools can tell, and most of it only to root: a drive's own word, device-mapper tables, ZFS pools.

They can hang on dead hardware, so a child runs them (``fstui.probes.claims``). Here stands what to ask it, and what a
drive's answers mean; those on tables and pools are read where tables and pools are.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from fstui.model import Inventory, Node, Reading

Command = tuple[str, ...]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a command printed, or why there is no answer."""

    output: str = ""
    error: str | None = None


Claims = Mapping[str, Answer]
"""Answers by command line, as a person would type it: it is also the path of the readings that come of it."""

UNASKED: Claims = {}
TABLES: Command = ("dmsetup", "table")
ZFS_PROPERTIES = ("sync", "logbias", "recordsize", "compression", "primarycache", "atime")

_DATASETS_AT_ONCE = 100
_NVME_PATH = re.compile(r"nvme\d+c(\d+)n\d+$")
_ATA_LINKS = frozenset({"sata", "usb"})
_SCSI_LINKS = frozenset({"sata", "usb", "sas", "scsi"})
_HDPARM = re.compile(r"write-caching =\s+([01]) ")
_SMARTCTL = re.compile(r"^Write cache is:\s+(Enabled|Disabled)", re.MULTILINE)
_FEATURE = re.compile(r"Current value:\s*(?:0x)?([0-9a-fA-F]+)")


class _Question(NamedTuple):
    command: Command
    root: bool
    """Only root is answered."""


def line(command: Command) -> str:
    """The command as it is typed."""
    return shlex.join(command)


def commands(inventory: Inventory, root: bool | None = None) -> tuple[Command, ...]:
    """What to ask about everything that is here. Only read-only commands, and root's only for root."""
    root = os.geteuid() == 0 if root is None else root
    nodes = {node.id: node for target in inventory.filesystems for node in target.stack}
    nodes.update({node.id: node for node in inventory.unused})
    questions = [question for node in nodes.values() for question in _of_drive(node)]
    if any(node.id.startswith("dm-") for node in nodes.values()):
        questions.append(_Question(TABLES, root=True))
    datasets = [target.source for target in inventory.filesystems if target.fstype == "zfs" and target.source]
    questions += [_Question(command, root=False) for command in _of_pools(sorted(set(datasets)))]
    return tuple(question.command for question in questions if root or not question.root)


def decode(answer: Any) -> Claims:
    """One line of the child's; empty where it is not of that shape."""
    try:
        return {str(answer["command"]): msgspec.convert({**answer, "command": None}, Answer)}
    except (TypeError, KeyError, msgspec.ValidationError):
        return {}


def unanswered(asked: Iterable[Command]) -> Claims:
    """What to think of commands until they have answered."""
    return {line(command): Answer(error="no answer") for command in asked}


def answer(claims: Claims, command: Command) -> str | None:
    """What a command printed; None where it gave no answer."""
    found = claims.get(line(command))
    return found.output if found is not None and found.error is None else None


def of_drive(node: Node, claims: Claims) -> tuple[Reading, ...]:
    """The drive's own word on its write cache: ``vwc``, ``drive_cache``; else ``missing``, with the reason."""
    questions = _of_drive(node)
    found: list[Reading] = []
    for question in questions:
        output = answer(claims, question.command)
        reading = _read(question.command, output) if output is not None else None
        if reading is not None and all(reading.what != earlier.what for earlier in found):
            found.append(reading)
    if questions and not any(reading.what == "drive_cache" for reading in found) and not _has_none(found):
        found.append(_missing("the drive's own word on its write cache", questions, claims))
    return tuple(found)


def missing_table(claims: Claims) -> Reading | None:
    """Says so where the device-mapper tables were not read."""
    if answer(claims, TABLES) is not None:
        return None
    return _missing("the device-mapper table", [_Question(TABLES, root=True)], claims)


def _has_none(found: Iterable[Reading]) -> bool:
    """A drive without a volatile cache has no state of one to tell."""
    return any((reading.what, reading.value) == ("vwc", "absent") for reading in found)


def _missing(what: str, questions: list[_Question], claims: Claims) -> Reading:
    errors = {line(question.command): claims.get(line(question.command)) for question in questions}
    given = [(command, found.error or "says nothing of it") for command, found in errors.items() if found is not None]
    # an installed tool's own words are worth more than the absence of another
    given.sort(key=lambda pair: pair[1].endswith("is not installed"))
    command, why = given[0] if given else (line(questions[-1].command), "root only, or not asked yet")
    return Reading(what="missing", value=f"{what}: {why}", path=command)


def _of_drive(node: Node) -> list[_Question]:
    if node.layer != "block" or node.kind not in ("disk", "nvme-path"):
        return []
    if node.link == "nvme" and node.id.startswith("nvme"):
        path = _NVME_PATH.match(node.id)  # a path has no device file of its own: ask its controller
        device = f"/dev/nvme{path[1]}" if path else f"/dev/{node.id}"
        asked: list[Command] = [("nvme", "id-ctrl", device, "-o", "json"), ("nvme", "get-feature", device, "-f", "6")]
    elif node.link in _SCSI_LINKS and node.id.startswith("sd"):
        # -n standby: a sleeping disk is left asleep
        asked = [("hdparm", "-W", f"/dev/{node.id}")] if node.link in _ATA_LINKS else []
        asked.append(("smartctl", "-n", "standby", "-g", "wcache", f"/dev/{node.id}"))
    else:
        asked = []
    return [_Question(command, root=True) for command in asked]


def _of_pools(datasets: list[str]) -> list[Command]:
    pools: dict[str, list[str]] = {}
    for dataset in datasets:
        pools.setdefault(dataset.partition("/")[0], []).append(dataset)
    columns = ("-H", "-p", "-o", "name,property,value,source")
    found: list[Command] = []
    for pool, members in pools.items():
        found.append(("zpool", "status", "-L", "-P", pool))
        found.append(("zpool", "get", *columns, "ashift", pool))
        for start in range(0, len(members), _DATASETS_AT_ONCE):
            asked = members[start : start + _DATASETS_AT_ONCE]
            found.append(("zfs", "get", *columns, ",".join(ZFS_PROPERTIES), *asked))
    return found


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
