"""Persistent memory, by who found it and what the platform says of it."""

from __future__ import annotations

import pytest

from fstui.storage.layers.devices.caches import protected_cache
from tests.factories.box import Box
from tests.factories.looking import only, read

NFIT = "LNXSYSTM:00/LNXSYBUS:00/ACPI0012:00/ndbus0/region0"
VIRTIO = "pci0000:00/0000:00:04.0/virtio2/ndbus0/region0"
E820 = "platform/e820_pmem/ndbus0/region0"


def pmem(box: Box, region: str, provider: str, domain: str = "", *, place: str = "pfn0.1") -> None:
    box.device("pmem0", f"{region}/{place}", fua=1)
    box.write(f"/sys/devices/{region.rpartition('/')[0]}/provider", provider)
    if domain:
        box.write(f"/sys/devices/{region}/persistence_domain", domain)


@pytest.mark.parametrize(("region", "named", "sync", "words"), [
    (NFIT, "ACPI.NFIT memory_controller", "passes", "what has reached the memory controller outlives"),
    (NFIT, "ACPI.NFIT cpu_cache", "passes", "what has reached the CPU's caches outlives"),
    (NFIT, "ACPI.NFIT", "unknown", "does not say"), (VIRTIO, "virtio-pmem", "passes", "the host sync the file"),
    (E820, "e820", "unknown", "plain memory looks so"),
])  # fmt: skip
def test_what_a_sync_is_worth_there(box: Box, region: str, named: str, sync: str, words: str) -> None:
    provider, _, domain = named.partition(" ")
    pmem(box, region, provider, domain)
    node = only(box)
    assert read(node, "provider") == (provider, f"/sys/devices/{region.rpartition('/')[0]}/provider")
    assert (node.kind, node.sync, node.counted) == ("pmem", sync, False)
    assert words in node.because
    assert protected_cache(node) is (provider == "ACPI.NFIT")


def test_a_region_that_says_something_else_is_not_believed(box: Box) -> None:
    pmem(box, NFIT, "ACPI.NFIT", "moon")
    assert only(box).sync == "unknown"


def test_without_a_bus_nothing_is_said(box: Box) -> None:
    box.device("pmem0")
    node = only(box)
    assert (node.reading("provider"), node.sync) == (None, "unknown")
