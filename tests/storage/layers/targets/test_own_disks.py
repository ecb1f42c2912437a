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


@pytest.mark.parametrize(("address", "uuid", "found"), [
    ("traddr=127.0.0.1,trsvcid=4420,src_addr=127.0.0.1", "6c1d9c4e", True),
    ("traddr=::1,trsvcid=4420", "6c1d9c4e", True),
    ("traddr=10.9.8.7,trsvcid=4420", "6c1d9c4e", False),
    ("traddr=10.9.8.7,trsvcid=4420,host_traddr=127.0.0.1", "6c1d9c4e", False),
    ("trsvcid=4420,host_traddr=127.0.0.1,traddr=10.9.8.7", "6c1d9c4e", False),
    ("traddr=127.0.0.1,trsvcid=4420", "another", False),
    ("", "6c1d9c4e", False), ("traddr=127.0.0.1,trsvcid=4420", "", False),
])  # fmt: skip
def test_and_over_the_network_where_it_leads_to_this_box_and_to_that_namespace(
    box: Box, address: str, uuid: str, found: bool
) -> None:
    """The name of a subsystem is whatever somebody chose, and another box may have chosen the same."""
    box.mount("tmpfs", "/dev/shm", "tmpfs")
    home = "/sys/kernel/config/nvmet/subsystems/nqn.mine/namespaces/1"
    box.write(f"{home}/device_path", "/dev/shm/disk")
    box.write(f"{home}/device_uuid", "6c1d9c4e" if uuid else "")
    files: dict[str, str | bytes] = {"nsid": "1", "uuid": uuid, "device/transport": "tcp", "device/address": address}
    box.disk("nvme0n1", "virtual/nvme-fabrics/ctl/nvme0", files={**files, "device/subsysnqn": "nqn.mine"})
    box.mount("/dev/nvme0n1", "/srv", "ext4")
    assert edges(look(box))["nvme0n1"] == (("file:/dev/shm/disk",) if found else ())
