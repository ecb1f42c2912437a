"""The target of a device-mapper device, and the roles of the devices below, from its table or from names.

Only root can read the table (``dmsetup table``). Formats: the kernel's admin-guide/device-mapper (cache, writecache,
thin-provisioning, dm-raid, snapshot, striped, log). dmsetup prints no encryption keys without --showkeys, and none are
kept here.

Without the table, the prefix of the uuid names the tool that created the device (libdevmapper, cryptsetup,
multipath-tools). The target and the roles then follow from the names of LVM's hidden volumes below.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from fstui.model.storage import Reading
from fstui.storage import tool_output
from fstui.storage.tool_output import Command, ToolOutputs
from fstui.storage.tree import integer

COMMAND: Command = ("dmsetup", "table")
PATH = tool_output.command_line(COMMAND)
_LINE = r"(.+?): \d+ \d+ (\S+)(?: (.*))?"
"""``<name>: <start> <length> <target> <arguments>``."""
_NUMBER = r"\d+:\d+"
_CACHE_MODES = frozenset({"writeback", "writethrough", "passthrough"})
_BYPASS_OPTIONS = ("cleaner", "metadata_only")
_MIRRORS = ("raid1", "raid10")
_KINDS = {"striped": "stripe"}
"""Kinds whose name differs from that of the target."""


class Segment(NamedTuple):
    target: str
    words: tuple[str, ...]


class DmTable(NamedTuple):
    kind: str
    readings: tuple[Reading, ...]
    roles: dict[str, str]
    """The role of each device below, by its major:minor."""


def read_tables(tool_outputs: ToolOutputs) -> Mapping[str, DmTable]:
    segments: dict[str, list[Segment]] = {}
    for line in (tool_output.output_of(tool_outputs, COMMAND) or "").split("\n"):
        if match := re.fullmatch(_LINE, line):
            segments.setdefault(match[1], []).append(Segment(match[2], tuple((match[3] or "").split(" "))))
    return {name: _table(lines) for name, lines in segments.items()}


def _table(segments: list[Segment]) -> DmTable:
    # the segments of a volume that are not linear give the kind; fstui knows no kind that consists of several
    main_segment = next((segment for segment in segments if segment.target != "linear"), segments[0])
    targets = dict.fromkeys(segment.target for segment in segments)
    main_targets = [target for target in targets if target != "linear"] or ["linear"]
    values = {"target": ", ".join(targets), **_settings(main_segment)}
    roles = {number: role for segment in segments for number, role in _roles(segment)}
    return DmTable(
        kind="dm-" + "+".join(_KINDS.get(target, target) for target in main_targets),
        readings=tuple(Reading(what=what, value=value, path=PATH) for what, value in values.items()),
        roles=roles,
    )


def _settings(segment: Segment) -> dict[str, str]:
    words = segment.words
    if segment.target == "cache":
        mode = next((word for word in words[4:] if word in _CACHE_MODES), "writeback")  # the kernel's default
        return {"cache_mode": mode}
    if segment.target == "writecache":
        bypass = next((word for word in words[4:] if word in _BYPASS_OPTIONS), None)
        return {} if bypass is None else {"writes_past": bypass}
    if segment.target == "snapshot" and len(words) > 2:  # <origin> <store> <P | PO | N> …
        return {"persistent": "no" if words[2].startswith("N") else "yes"}
    if segment.target == "raid":
        # raid5_ls is raid5 with a layout; a member whose data device is a dash is missing
        parameters, devices = _split(words)
        behind = next((value for name, value in pairwise(parameters) if name == "max_write_behind"), "0")
        missing_members = str(devices[2::2].count("-"))
        # LVM's write-behind is not visible: after lvchange --writebehind 256, the table contains a 0 (Linux 6.12)
        settings = {"level": words[0].partition("_")[0], "missing_members": missing_members, "written_behind": behind}
        return {what: value for what, value in settings.items() if value != "0"}
    return {}


def _roles(segment: Segment) -> Iterator[tuple[str, str]]:
    words, role_by_position = segment.words, _BY_POSITION.get(segment.target)
    if role_by_position is not None:
        yield from ((words[position], role) for position, role in role_by_position.items() if position < len(words))
    elif segment.target == "raid":
        yield from _raid(words)
    elif segment.target in _COMMON_ROLE:
        yield from _with_role(words, _COMMON_ROLE[segment.target])
    elif segment.target == "mirror":
        yield from _mirror(words)


_BY_POSITION: Mapping[str, Mapping[int, str]] = {
    "cache": {0: "metadata", 1: "cache", 2: "origin"},
    "writecache": {1: "origin", 2: "cache"},
    "thin-pool": {0: "metadata", 1: "data"},
    "thin": {0: "pool", 2: "origin"},
    "snapshot": {0: "origin", 1: "cow"},
    "snapshot-origin": {0: "origin"},
}
"""Roles of devices by their positions among the arguments of the target."""
_COMMON_ROLE = {"multipath": "path", "striped": "stripe"}
"""Targets whose devices all have the same role."""


def _raid(words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield roles from ``<type> <#params> <params> <#devices> <metadata0> <device0> …``. A dash stands for a missing
    device. The parameter ``journal_dev`` names a device."""
    parameters, devices = _split(words)
    yield from ((word, "journal") for name, word in pairwise(parameters) if name == "journal_dev")
    yield from _with_role(devices[1::2], "metadata")
    yield from _with_role(devices[2::2], "mirror leg" if words[0].startswith(_MIRRORS) else "stripe")


def _mirror(words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield roles from ``<log type> <#args> <args> <#mirrors> <device> <offset> …``. For a log on disk, the first of
    ``args`` is its device."""
    arguments, devices = _split(words)
    yield from _with_role(arguments, "log")
    yield from _with_role(devices, "mirror leg")


def _split(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ``words[1]`` arguments, and the words after them, which start with the number of devices."""
    count = integer(words[1]) if len(words) > 1 else None
    return (words[2 : 2 + count], words[2 + count :]) if count is not None and count >= 0 else ((), ())


def _with_role(words: tuple[str, ...], role: str) -> Iterator[tuple[str, str]]:
    return ((word, role) for word in words if re.fullmatch(_NUMBER, word))


_BY_UUID = (
    ("CRYPT-VERITY", "dm-verity"),
    ("CRYPT-INTEGRITY", "dm-integrity"),
    ("CRYPT-SUBDEV", "dm-integrity"),
    ("CRYPT-", "dm-crypt"),
    ("mpath-", "dm-multipath"),
    ("DMRAID-", "dm-raid"),
    ("part", "dm-linear"),  # kpartx
)
"""Kinds by the beginning of the uuid."""
_BY_LVM_SUFFIX = (("-tpool", "dm-thin-pool"), ("-real", "dm-linear"), ("-cow", "dm-linear"), ("-vpool", "dm-vdo"))
"""Kinds of LVM's hidden volumes, by the end of the uuid."""
_BY_LVM_BELOW = (
    (r"_corig$|[_-]cdata$", "dm-cache"),
    (r"_wcorig$", "dm-writecache"),
    (r"-tpool$", "dm-thin"),
    (r"_tdata$", "dm-thin-pool"),
    (r"_(rimage|rmeta)_\d+$", "dm-raid"),
    (r"_mimage_\d+$", "dm-mirror"),
    (r"_imeta$", "dm-integrity"),
    (r"_(vdata|vpool|vpool\d+)$", "dm-vdo"),
    (r"-cow$", "dm-snapshot"),
    (r"-real$", "dm-snapshot-origin"),
)
"""Kinds of LVM's other volumes, by the names of the devices below."""
_LVM_ROLES = (
    (r"[_-]cdata$|_cvol$", "cache"),
    (r"_w?corig$|-real$", "origin"),
    (r"[_-]cmeta$|_tmeta$|_rmeta_\d+$", "metadata"),
    (r"_tdata$", "data"),
    (r"_mimage_\d+$", "mirror leg"),
    (r"_mlog$", "log"),
    (r"-cow$", "cow"),
    (r"-tpool$", "pool"),
)
"""Roles by the names that LVM gives to hidden volumes."""
_KINDS_WITH_ROLES = frozenset({
    "dm-cache", "dm-writecache", "dm-thin", "dm-thin-pool", "dm-raid", "dm-mirror", "dm-snapshot", "dm-snapshot-origin",
})  # fmt: skip


def kind_by_names(uuid: str, names_below: Collection[str]) -> str:
    """Return the kind by names, such as ``dm-crypt``; ``dm`` if the names do not identify it."""
    if not uuid.startswith("LVM-"):
        return next((kind for prefix, kind in _BY_UUID if uuid.startswith(prefix)), "dm")
    by_suffix = (kind for suffix, kind in _BY_LVM_SUFFIX if uuid.endswith(suffix))
    by_names = (kind for pattern, kind in _BY_LVM_BELOW if any(re.search(pattern, name) for name in names_below))
    return next(by_suffix, next(by_names, "dm-linear"))


def lvm_name(name: str) -> str:
    """Return ``data/my-queue`` for ``data-my--queue``. LVM joins names with a hyphen, and doubles hyphens in names."""
    match = re.fullmatch(r"((?:[^-]|--)+)-((?:[^-]|--)+)", name)
    if match is None:
        return name
    group, volume = match.groups()
    return f"{group.replace('--', '-')}/{volume.replace('--', '-')}"


def role_by_name(kind: str, name_below: str) -> str | None:
    """Return the role of a device below by LVM's name for it, or None."""
    if kind == "dm-multipath":
        return "path"
    if kind not in _KINDS_WITH_ROLES:
        return None
    return next((role for pattern, role in _LVM_ROLES if re.search(pattern, name_below)), None)
