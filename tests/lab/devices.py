"""QEMU's arguments for the disks of a machine, and the names by which the guest finds them."""

import zlib
from collections.abc import Mapping
from pathlib import Path

from tests.lab.machine import Disk

CONTROLLERS = {
    "scsi": ("virtio-scsi-pci,id=scsi",),
    "megasas": ("megasas,id=megasas",),
    "usb": ("qemu-xhci,id=usb",),
    "uas": ("qemu-xhci,id=xhci", "usb-uas,id=uas,bus=xhci.0"),
    "sd": ("sdhci-pci",),
}


def controllers(disks: Mapping[str, Disk]) -> list[str]:
    """Return the arguments of each controller once, however many disks use it."""
    return [
        word
        for bus in dict.fromkeys(disk.bus for disk in disks.values())
        for controller in CONTROLLERS.get(bus, ())
        for word in ("-device", controller)
    ]


def path_names(name: str, disk: Disk) -> list[str]:
    """Return the names of the disk's paths. The first has the name of the disk."""
    return [name, *(f"{name}_{number}" for number in range(2, disk.paths + 1))]


def serial_numbers(name: str, disk: Disk) -> list[str]:
    """Return the serial numbers by which the guest finds the disk. An SD card and a shared directory have none."""
    if disk.bus == "sd" or disk.shared:
        return []
    return [name] if disk.bus == "nvme" else path_names(name, disk)


def device_words(name: str, disk: Disk, server: Path) -> list[str]:
    """Return QEMU's arguments for one disk."""
    if disk.shared:
        device = f"vhost-user-fs-pci,chardev={name},tag={name}"
        return ["-chardev", f"socket,id={name},path={server}", "-device", device]
    drive = f"driver=nbd,node-name={name},server.type=unix,server.path={server}"
    if disk.paths == 1:
        devices = [_device(name, disk, name)]
    else:
        devices = _nvme_paths(name, disk) if disk.bus == "nvme" else _scsi_paths(name, disk)
    return ["-blockdev", drive, *(word for device in devices for word in ("-device", device))]


def _device(name: str, disk: Disk, serial: str) -> str:
    options = f"drive={name},serial={serial},write-cache={'on' if disk.write_cache else 'off'}"
    rotation = f",rotation_rate={disk.rpm}" if disk.rpm else ""
    return {
        "nvme": f"nvme,{options}",
        # With config-wce off, the guest cannot switch on a write cache that is not reported.
        "virtio": f"virtio-blk-pci,config-wce=off,{options}",
        "scsi": f"scsi-hd,bus=scsi.0,dpofua={'on' if disk.fua else 'off'},{options}{rotation}",
        "megasas": f"scsi-hd,bus=megasas.0,{options}{rotation}",
        "ahci": f"ide-hd,{options}{rotation}",
        "usb": f"usb-storage,bus=usb.0,{options}",
        "uas": f"scsi-hd,bus=uas.0,{options}{rotation}",
        "sd": f"sd-card,drive={name}",
    }[disk.bus]


def _scsi_paths(name: str, disk: Disk) -> list[str]:
    """Return one device per path, with a common world wide name by which multipath-tools find the disk."""
    wide = f"wwn={0x5000C50000000000 + zlib.crc32(name.encode()):#x},share-rw=on"
    return [f"{_device(name, disk, path)},{wide}" for path in path_names(name, disk)]


def _nvme_paths(name: str, disk: Disk) -> list[str]:
    """Return a subsystem with one controller per path and one shared namespace."""
    controllers = [f"nvme,id={path},serial={name},subsys={name}-all" for path in path_names(name, disk)]
    cached = f"write-cache={'on' if disk.write_cache else 'off'}"
    return [f"nvme-subsys,id={name}-all", *controllers, f"nvme-ns,bus={name},nsid=1,drive={name},{cached}"]


def memory(disks: Mapping[str, Disk], size_mib: int) -> list[str]:
    """Return QEMU's options for the guest's memory, which the server of a shared directory must be able to map."""
    if any(disk.shared for disk in disks.values()):
        shared = f"memory-backend-memfd,id=memory,size={size_mib}M,share=on"
        return ["-m", str(size_mib), "-object", shared, "-numa", "node,memdev=memory"]
    return ["-m", str(size_mib)]
