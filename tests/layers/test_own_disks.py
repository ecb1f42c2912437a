"""Disks that this very box serves to itself."""

from __future__ import annotations

import pytest

from tests.factories.box import Box
from tests.factories.evidence import finding, verdict
from tests.factories.looking import edges, look

HOME = "tcm_loop_0/tcm_loop_adapter_0/host2/target2:0:1/2:0:1:0"
TARGET = "/sys/kernel/config/target"
INFO = (
    "Status: ACTIVATED  Max Queue Depth: 128  SectorSize: 512  HwMaxSectors: 16384\n"
    "        TCM FILEIO ID: 0        File: {}  Size: 134217728  Mode: O_DSYNC Async: 0"
)


def serve(box: Box, file: str, store: str = "fileio_0") -> None:
    """A disk sda whose file is on tmpfs or on a disk."""
    box.disk("vda", "pci0000:00/0000:00:02.0/virtio1")
    box.mount("/dev/vda", "/", "ext4")
    box.mount("tmpfs", "/dev/shm", "tmpfs")
    port = f"{TARGET}/loopback/naa.5001405000000001/tpgt_1"
    box.write(f"{port}/address", "2:0:1")
    box.write(f"{TARGET}/core/{store}/disk/info", INFO.format(file))
    box.link(f"{port}/lun/lun_0/disk", f"../../../../../../target/core/{store}/disk")
    box.write(f"{port}/lun/lun_0/alua_tg_pt_gp", "")
    box.disk("sda", HOME, files={"device/vendor": "LIO-ORG", "device/model": "FILEIO"}, write_cache="write through")
    box.mount("/dev/sda", "/srv", "ext4")


def test_a_scsi_target_whose_file_is_in_memory_is_memory(box: Box) -> None:
    serve(box, "/dev/shm/disk")
    found = look(box)
    assert edges(found)["sda"] == ("file:/dev/shm/disk",)
    assert found.lowest[0].layer == "memory"
    judged = verdict(found)
    assert (judged.verdict, finding(judged, "in-memory").title) == ("not-durable", "in memory (tmpfs)")


def test_the_kernels_ram_disk_behind_a_target_is_memory(box: Box) -> None:
    serve(box, "", "rd_mcp_0")
    assert verdict(look(box)).verdict == "not-durable"


def test_a_target_on_a_disk_is_left_to_what_the_disk_says(box: Box) -> None:
    """Opened with O_DSYNC it writes through by right: the disk below with its cache on contradicts nothing."""
    serve(box, "/var/disk.img")
    found = look(box)
    assert (edges(found)["sda"], found.lowest[0].id) == ((), "sda")
    assert verdict(found).verdict == "cannot-tell"


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
