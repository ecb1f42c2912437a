"""Disks that this very box serves to itself."""

from __future__ import annotations

import pytest

from tests.factories.box import Box
from tests.factories.evidence import verdict
from tests.factories.looking import edges, look


@pytest.mark.parametrize(("power", "home", "verdict_"), [
    ("1", "virtual", "not-durable"), ("0", "virtual", "cannot-tell"), ("1", "pci0000:00/ata1/host0", "cannot-tell"),
])  # fmt: skip
def test_null_blk_may_have_any_name(box: Box, power: str, home: str, verdict_: str) -> None:
    box.write("/sys/kernel/config/nullb/fast/power", power)
    box.disk("fast", home)
    box.mount("/dev/fast", "/srv", "ext4")
    assert verdict(look(box)).verdict == verdict_


@pytest.mark.parametrize(("file", "layers"), [
    ("/dev/shm/disk", ("file:/dev/shm/disk",)), ("/var/disk", ()), ("/dev/vda", ()), ("/dev/elsewhere", ()),
])  # fmt: skip
def test_an_nvme_target_looped_back_is_memory_where_its_file_is(box: Box, file: str, layers: tuple[str, ...]) -> None:
    box.disk("vda", "pci0000:00/0000:00:02.0/virtio1")
    box.mount("/dev/vda", "/", "ext4")
    box.mount("dev", "/dev", "devtmpfs")
    box.mount("tmpfs", "/dev/shm", "tmpfs")
    box.write("/sys/kernel/config/nvmet/subsystems/nqn.mine/namespaces/1/device_path", file)
    files: dict[str, str | bytes] = {"nsid": "1", "device/transport": "loop", "device/subsysnqn": "nqn.mine"}
    box.disk("nvme0n1", "virtual/nvme-fabrics/ctl/nvme0", files=files)
    box.mount("/dev/nvme0n1", "/srv", "ext4")
    assert edges(look(box))["nvme0n1"] == layers
