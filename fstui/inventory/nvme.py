"""NVMe controllers, multipath heads and their paths, from /sys/block and /sys/class/nvme-subsystem.

A path device is named after the subsystem, the controller and the namespace: ``nvme0c1n1``. It has no device file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from fstui.inventory.files import Tree
from fstui.model import Reading

_NAME = re.compile(r"nvme(\d+)(?:c(\d+))?n(\d+)$")
_SUBSYSTEM = re.compile(r"/(nvme-subsys\d+)/")
NETWORKED = frozenset({"tcp", "rdma", "fc"})
"""Transports that leave the box."""


def is_path(name: str) -> bool:
    """A path device, for which its multipath head stands."""
    match = _NAME.fullmatch(name)
    return match is not None and match[2] is not None


def paths(names: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """The path devices of each multipath head, by the head's kernel name."""
    found: dict[str, tuple[str, ...]] = {}
    for name in sorted(names):
        match = _NAME.fullmatch(name)
        if match and match[2] is not None:
            head = f"nvme{match[1]}n{match[3]}"
            found[head] = (*found.get(head, ()), name)
    return found


def of_head(tree: Tree, name: str) -> tuple[Reading, ...]:
    """How the head chooses among its paths: ``iopolicy``."""
    subsystem = _SUBSYSTEM.search(tree.link(f"/sys/block/{name}") or "")
    if subsystem is None:
        return ()
    reading = tree.reading("iopolicy", f"/sys/class/nvme-subsystem/{subsystem[1]}/iopolicy")
    return (reading,) if reading is not None else ()


def of_disk(tree: Tree, name: str) -> tuple[Reading, ...]:
    """How the controller is reached (``transport``), and for a path its ``ana_state``."""
    directory = f"/sys/block/{name}"
    found = [tree.reading("transport", f"{directory}/device/transport")]
    if is_path(name):
        found.append(tree.reading("ana_state", f"{directory}/ana_state"))
    return tuple(reading for reading in found if reading is not None)
