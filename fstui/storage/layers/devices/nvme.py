"""NVMe: controllers, multipath heads and their paths, from /sys/block and /sys/class/nvme-subsystem.

A path device has the numbers of the subsystem, the controller and the namespace in its name (``nvme0c1n1``), and no
device file. A drive's reading ``transport`` (pcie, tcp, rdma, fc, loop) comes from its controller.
"""

import re
from collections.abc import Mapping
from functools import cached_property

from fstui.model.storage import Node
from fstui.storage.layers.kinds import LayerKind
from fstui.storage.layers.readers import DeviceReader, LayerDescription

NETWORK_TRANSPORTS = frozenset({"tcp", "rdma", "fc"})
LOCAL_TRANSPORTS = NETWORK_TRANSPORTS | {"loop"}
"""Transports within the user's own network or host, with a round trip of tens of microseconds."""
_NAME = r"nvme(\d+)(?:c(\d+))?n(\d+)$"


def controller_of(name: str) -> str | None:
    """Return the number of the controller of a path device; None for any other device."""
    match = re.fullmatch(_NAME, name)
    return match[2] if match is not None else None


def nvme_device(node: Node) -> str | None:
    """Return the device file of an NVMe drive, or of the controller of a path device; None for any other device."""
    if node.link != "nvme" or not node.id.startswith("nvme"):
        return None
    controller = controller_of(node.id)
    return f"/dev/{node.id}" if controller is None else f"/dev/nvme{controller}"


def device_file(drive: Node) -> str:
    """Return the file that tools such as smartctl open."""
    return nvme_device(drive) or f"/dev/{drive.id}"


class HeadReader(DeviceReader):
    """Reads multipath heads: devices that have path devices."""

    def recognises(self, name: str) -> bool:
        return name in self._paths

    def read(self, name: str) -> LayerDescription:
        paths = self._paths[name]
        return LayerDescription(
            below=paths,
            readings=self.queue_readings(name),
            identity=self.tree.stripped(f"/sys/block/{name}/wwid") or "",
            roles=dict.fromkeys(paths, "path"),
        )

    @cached_property
    def _paths(self) -> Mapping[str, tuple[str, ...]]:
        paths: dict[str, tuple[str, ...]] = {}
        for name in sorted(self.sources.names.whole_devices):
            match = re.fullmatch(_NAME, name)
            if match and match[2] is not None:
                head = f"nvme{match[1]}n{match[3]}"
                paths[head] = (*paths.get(head, ()), name)
        return paths


KINDS = (
    LayerKind(
        name="nvme-multipath",
        name_prefix="nvme",
        reader=HeadReader,
        sync="passes",
        reason="a flush takes one of the paths",
        accounting="none",  # older kernels count nothing for a head; its paths are counted
        adds_bytes=False,
        default_spread="path",
    ),
)
