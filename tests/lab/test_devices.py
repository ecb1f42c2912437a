"""QEMU's arguments for the disks of a machine."""

from pathlib import Path

from tests.lab.devices import device_words, serial_numbers
from tests.lab.machine import load


def test_two_paths_are_one_disk_with_two_names() -> None:
    scsi = device_words("a", load("multipath").disks["a"], Path("/a.sock"))
    nvme = device_words("a", load("nvme-multipath").disks["a"], Path("/a.sock"))
    assert [word.partition("serial=")[2].partition(",")[0] for word in scsi if "scsi-hd" in word] == ["a", "a_2"]
    assert len({word.partition("wwn=")[2] for word in scsi if "scsi-hd" in word}) == 1
    assert sum(word.startswith("nvme-ns") for word in nvme) == 1
    assert sum(word.startswith("nvme,") for word in nvme) == 2


def test_guest_waits_for_disks_with_serial_numbers() -> None:
    assert serial_numbers("a", load("nvme-multipath").disks["a"]) == ["a"]
    assert serial_numbers("a", load("sd-card").disks["a"]) == []
