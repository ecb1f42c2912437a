"""What a device-mapper device is, from its name, its uuid and the names of the devices below it.

The table itself is told only by an ioctl to root. The uuid's prefix names the tool that made the device (libdevmapper,
cryptsetup, multipath-tools), LVM's hidden volumes below it name the target.
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
    ("VDO-", "dm-vdo"),
    ("part", "dm-linear"),  # kpartx
    ("stratis-", "dm"),
)
_BY_LVM_SUFFIX = (("-tpool", "dm-thin-pool"), ("-real", "dm-linear"), ("-cow", "dm-linear"), ("-vpool", "dm-vdo"))
_BY_LVM_BELOW = (
    (re.compile(r"_corig$"), "dm-cache"),
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


def lvm_name(name: str) -> str:
    """``data/my-queue`` for ``data-my--queue``: LVM joins with one hyphen and doubles those in the names."""
    match = re.fullmatch(r"((?:[^-]|--)+)-((?:[^-]|--)+)", name)
    if match is None:
        return name
    group, volume = match.groups()
    return f"{group.replace('--', '-')}/{volume.replace('--', '-')}"
