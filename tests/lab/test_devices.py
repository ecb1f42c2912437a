"""What QEMU is told of a machine's disks, and what stands behind those that have no server of blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from tests.lab.backing import Backing
from tests.lab.devices import device_words, memory, serial_numbers
from tests.lab.machine import Disk, load


def test_two_paths_are_one_disk_with_two_names() -> None:
    scsi = device_words("a", load("multipath").disks["a"], Path("/a.sock"))
    nvme = device_words("a", load("nvme-multipath").disks["a"], Path("/a.sock"))
    assert [word.partition("serial=")[2].partition(",")[0] for word in scsi if "scsi-hd" in word] == ["a", "a_2"]
    assert len({word.partition("wwn=")[2] for word in scsi if "scsi-hd" in word}) == 1
    assert sum(word.startswith("nvme-ns") for word in nvme) == 1
    assert sum(word.startswith("nvme,") for word in nvme) == 2


def test_a_disk_is_waited_for_by_the_names_that_the_guest_can_see() -> None:
    assert serial_numbers("a", load("nvme-multipath").disks["a"]) == ["a"]
    assert serial_numbers("a", load("sd-card").disks["a"]) == []


@pytest.mark.parametrize(
    ("cache", "honest", "left"), [("writeback", False, b"new"), ("unsafe", False, b"old"), ("unsafe", True, b"new")]
)
def test_persistent_memory_keeps_what_it_was_given_unless_it_is_a_copy_that_goes_with_the_power(
    cache: Literal["writeback", "unsafe"], honest: bool, left: bytes, tmp_path: Path
) -> None:
    backing = Backing(tmp_path, {"a": Disk(bus="nvdimm", cache=cache, size_mib=1)})
    backing.file("a").write_bytes(b"old")
    backing.start(honest=honest)
    with backing.held("a").open("r+b") as memory:
        memory.write(b"new")
    backing.kill()
    backing.start()
    assert backing.held("a").read_bytes() == left


def test_persistent_memory_is_the_hosts_file_with_room_beside_the_guests_own_memory() -> None:
    disk = Disk(bus="virtio-pmem", size_mib=256)
    assert "memory-backend-file,id=a,mem-path=/a.held,size=256M,share=on" in device_words("a", disk, Path("/a.sock"))
    assert "maxmem" in memory({"a": disk}, 1024)[1]
    assert memory({"a": Disk(bus="scsi")}, 1024) == ["-m", "1024"]


def test_a_disk_of_zones_is_a_namespace_with_the_serial_number_of_its_controller() -> None:
    controller, namespace = device_words("a", Disk(bus="nvme", zone_mib=16), Path("/a.sock"))[3::2]
    assert controller == "nvme,id=a-controller,serial=a"
    assert "zoned.zone_size=16M" in namespace
