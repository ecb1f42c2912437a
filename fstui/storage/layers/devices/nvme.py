"""NVMe: controllers, multipath heads and their paths, from /sys/block and /sys/class/nvme-subsystem.

Readings: ``transport`` (pcie, tcp, rdma, fc, loop), ``ana_state`` of a path, ``iopolicy`` of a head. A path device has
the numbers of the subsystem, the controller and the namespace in its name (``nvme0c1n1``), and no device file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

from fstui.model.storage import Node, Reading
from fstui.storage.layers.kinds import LayerKind
from fstui.storage.layers.readers import DeviceReader, LayerDescription, without_none
from fstui.storage.tree import Tree

NETWORKED = frozenset({"tcp", "rdma", "fc"})
"""Transports over a network."""
PRIVATE = NETWORKED | {"loop"}
"""Transports of a fabric of the user, which answer within tens of microseconds."""
_NAME = re.compile(r"nvme(\d+)(?:c(\d+))?n(\d+)$")
_SUBSYSTEM = re.compile(r"/(nvme-subsys\d+)/")


def controller_of(name: str) -> str | None:
    """Return the controller of a path device; None for any other device."""
    match = _NAME.fullmatch(name)
    return match[2] if match is not None else None


def nvme_device(node: Node) -> str | None:
    """Return the device file to ask about an NVMe drive, for a path that of its controller; None for another drive."""
    if node.link != "nvme" or not node.id.startswith("nvme"):
        return None
    controller = controller_of(node.id)
    return f"/dev/{node.id}" if controller is None else f"/dev/nvme{controller}"


def readings(tree: Tree, name: str) -> tuple[Reading, ...]:
    """Return ``transport`` of a drive's controller, and ``ana_state`` of a path."""
    directory = f"/sys/block/{name}"
    state = tree.reading("ana_state", f"{directory}/ana_state") if controller_of(name) is not None else None
    return without_none([tree.reading("transport", f"{directory}/device/transport"), state])


class HeadReader(DeviceReader):
    """Reads multipath heads."""

    def recognises(self, name: str) -> bool:
        return name in self._paths

    def hides(self, name: str) -> bool:
        return controller_of(name) is not None

    def read(self, name: str) -> LayerDescription:
        paths = self._paths[name]
        return LayerDescription(
            below=paths,
            readings=(*self._policy(name), *self.queue(name)),
            identity=self.tree.word(f"/sys/block/{name}/wwid") or "",
            roles=dict.fromkeys(paths, "path"),
        )

    def _policy(self, name: str) -> tuple[Reading, ...]:
        subsystem = _SUBSYSTEM.search(self.tree.link(f"/sys/block/{name}") or "")
        path = f"/sys/class/nvme-subsystem/{subsystem[1]}/iopolicy" if subsystem else ""
        return without_none([self.tree.reading("iopolicy", path) if path else None])

    @cached_property
    def _paths(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for name in sorted(self.sources.names.wholes):
            match = _NAME.fullmatch(name)
            if match and match[2] is not None:
                head = f"nvme{match[1]}n{match[3]}"
                found[head] = (*found.get(head, ()), name)
        return found


KINDS = (
    LayerKind(
        name="nvme-multipath",
        layer="block",
        device_names="nvme",
        sync="passes",
        because="a flush takes one of the paths",
        accounting="none",  # in older kernels; its paths count
        adds_bytes=False,
        spreads="path",
    ),
)
DEVICES = HeadReader
