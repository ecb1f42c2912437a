import re

import pytest

from fstui.storage.layers.devices import platforms


@pytest.mark.parametrize("row", platforms.table(), ids=lambda row: row.name)
def test_every_platform_says_what_it_does_and_who_can_tell(row: platforms.Platform) -> None:
    for pattern in filter(None, (row.dmi, row.release, row.model, row.source_pattern)):
        assert re.compile(pattern)
    assert row.how_to_check.endswith(".") and not row.flush_default.endswith(".") and row.recognised_by and row.source
    assert row.documented_durability is None or not row.drops_flushes


@pytest.mark.parametrize(("kind", "name", "model", "service"), [
    ("nfs4", "filer:/x", None, "nfs"), ("nfs4", "fs-1.efs.eu-west-1.amazonaws.com:/", None, "efs"),
    ("disk", "sda", "IET     VIRTUAL-DISK", "longhorn"), ("disk", "nvme0n1", "Mayastor NVMe controller", "mayastor"),
    ("drbd", "drbd0", None, "drbd"), ("pxd", "pxd!pxd1", None, "portworx"), ("cifs", "//nas/x", None, None),
])  # fmt: skip
def test_service_is_recognised(kind: str, name: str, model: str | None, service: str | None) -> None:
    found = platforms.service(kind, name, model)
    assert (found.name if found else None) == service
