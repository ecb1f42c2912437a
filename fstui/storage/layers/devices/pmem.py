"""Persistent memory as a block device: NVDIMMs, CXL, virtio-pmem, and memory that is only called so.

``provider`` (ACPI.NFIT | e820 | virtio-pmem …) is the bus that found it, ``persistence_domain`` (memory_controller |
cpu_cache) how far a store must get to outlive a power cut, by the platform's own word: the kernel leaves it out where
the platform says nothing (drivers/nvdimm/region_devs.c; ndctl-list(1)). With DAX a sync writes back the CPU's caches
and sends no flush; without it a flush drains the memory controller's queues, or, of virtio-pmem, has the host sync the
file (drivers/nvdimm/pmem.c, nd_virtio.c). Nothing of that is counted: the driver has no queue of requests.

``e820``: the firmware or the kernel's command line (``memmap=4G!12G``) calls a range persistent; plain memory looks the
same (Documentation/admin-guide/kernel-parameters.txt).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from fstui.model.storage import Node, SyncPath
from fstui.storage.layers.devices import links
from fstui.storage.layers.facts import Fact, one_of, word
from fstui.storage.layers.kinds import Kind
from fstui.storage.layers.readers import Device, DeviceReader, some

_REGION = re.compile(r"((.*/ndbus\d+)/region\d+)/")
_DOMAINS = {"memory_controller": "the memory controller", "cpu_cache": "the CPU's caches"}
_BY_PROVIDER: Mapping[str, tuple[SyncPath, str]] = {
    "virtio-pmem": ("passes", "a flush has the host sync the file behind it; what the host does then is not seen"),
    "e820": ("unknown", "memory that firmware or the kernel's command line calls persistent: plain memory looks so"),
}


def domain(node: Node) -> Fact[str] | None:
    """What a store must reach to outlive a power cut, by the platform's word; None where it says nothing."""
    return one_of(node, "persistence_domain", _DOMAINS)


def persistent(node: Node) -> bool:
    """By the platform's word, or by ACPI's, whose NFIT lists persistent memory alone."""
    provider = word(node, "provider")
    return domain(node) is not None or (provider is not None and provider.value == "ACPI.NFIT")


class PmemReader(DeviceReader):
    """Reads such devices: where they hang names their region and their bus."""

    def read(self, name: str) -> Device:
        place = _REGION.match(links.path_of(self.tree, name))
        found = (
            (
                self.tree.reading("provider", f"{place[2]}/provider"),
                self.tree.reading("persistence_domain", f"{place[1]}/persistence_domain"),
            )
            if place
            else ()
        )
        return Device(self.row.name, name, self.slaves(name), (*some(found), *self.queue(name)))


class Pmem(Kind, frozen=True, kw_only=True):
    """The row of this family."""

    def sync_of(self, node: Node) -> tuple[SyncPath, str]:
        provider, reach = word(node, "provider"), domain(node)
        if provider is not None and provider.value in _BY_PROVIDER:
            return _BY_PROVIDER[provider.value]
        if reach is not None:
            return "passes", f"by the platform's word what has reached {reach.value} outlives a power cut"
        return "unknown", "the platform does not say what outlives a power cut"


KINDS = (Pmem(name="pmem", layer="block", device_names="pmem", accounting="own"),)
DEVICES = PmemReader
