"""What a device-mapper device is, from its name, its uuid and the names of the devices below it.

The table itself is told only to root (``dm_tables``). The uuid's prefix names the tool that made the device
(libdevmapper, cryptsetup, multipath-tools), LVM's hidden volumes below it name the target and their own part in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_BY_UUID = (
    ("CRYPT-VERITY", "dm-verity"),
    ("CRYPT-INTEGRITY", "dm-integrity"),
    ("CRYPT-SUBDEV", "dm-integrity"),
    ("CRYPT-", "dm-crypt"),
    ("mpath-", "dm-multipath"),
    ("DMRAID-", "dm-raid"),
    ("part", "dm-linear"),  # kpartx
)
_BY_LVM_SUFFIX = (("-tpool", "dm-thin-pool"), ("-real", "dm-linear"), ("-cow", "dm-linear"), ("-vpool", "dm-vdo"))
_BY_LVM_BELOW = (
    (re.compile(r"_corig$|[_-]cdata$"), "dm-cache"),
    (re.compile(r"_wcorig$"), "dm-writecache"),
    (re.compile(r"-tpool$"), "dm-thin"),
    (re.compile(r"_tdata$"), "dm-thin-pool"),
    (re.compile(r"_(rimage|rmeta)_\d+$"), "dm-raid"),
    (re.compile(r"_mimage_\d+$"), "dm-mirror"),
    (re.compile(r"_imeta$"), "dm-integrity"),
    (re.compile(r"_(vdata|vpool|vpool\d+)$"), "dm-vdo"),
    (re.compile(r"-cow$"), "dm-snapshot"),
    (re.compile(r"-real$"), "dm-snapshot-origin"),
)
_LVM_ROLES = (
    (re.compile(r"[_-]cdata$|_cvol$"), "cache"),
    (re.compile(r"_w?corig$|-real$"), "origin"),
    (re.compile(r"[_-]cmeta$|_tmeta$|_rmeta_\d+$"), "metadata"),
    (re.compile(r"_tdata$"), "data"),
    (re.compile(r"_mimage_\d+$"), "mirror leg"),
    (re.compile(r"_mlog$"), "log"),
    (re.compile(r"-cow$"), "cow"),
    (re.compile(r"-tpool$"), "pool"),
)
_WITH_ROLES = frozenset({
    "dm-cache", "dm-writecache", "dm-thin", "dm-thin-pool", "dm-raid", "dm-mirror", "dm-snapshot", "dm-snapshot-origin",
})  # fmt: skip


_MANGLED = re.compile(r"\\x([0-9A-Fa-f]{2})")


def unmangled(name: str) -> str:
    """As dmsetup prints a name that has other letters than udev takes (libdm-common.c: unmangle_string)."""
    return _MANGLED.sub(lambda found: chr(int(found[1], 16)), name)


def kind(uuid: str, names_below: Iterable[str]) -> str:
    """The target, as ``dm-crypt``; plain ``dm`` where nothing tells it."""
    if uuid.startswith("LVM-"):
        return _lvm_kind(uuid, tuple(names_below))
    return next((kind for prefix, kind in _BY_UUID if uuid.startswith(prefix)), "dm")


def _lvm_kind(uuid: str, names_below: tuple[str, ...]) -> str:
    for suffix, kind in _BY_LVM_SUFFIX:
        if uuid.endswith(suffix):
            return kind
    for pattern, kind in _BY_LVM_BELOW:
        if any(pattern.search(name) for name in names_below):
            return kind
    return "dm-linear"


def moves(label: str) -> bool:
    """LVM names the mirror of a move so, which is there only while it lasts."""
    return re.search(r"-pvmove\d+$", label) is not None


def lvm_name(name: str) -> str:
    """``data/my-queue`` for ``data-my--queue``: LVM joins with one hyphen and doubles those in the names."""
    match = re.fullmatch(r"((?:[^-]|--)+)-((?:[^-]|--)+)", name)
    if match is None:
        return name
    group, volume = match.groups()
    return f"{group.replace('--', '-')}/{volume.replace('--', '-')}"


def role(kind: str, name_below: str) -> str | None:
    """What a device below is for, from LVM's name for it; None where the name does not say."""
    if kind == "dm-multipath":
        return "path"
    if kind not in _WITH_ROLES:
        return None
    return next((role for pattern, role in _LVM_ROLES if pattern.search(name_below)), None)
