"""A host with many devices and mounts: disks with a partition and a volume each, arrays, many kinds of mounts."""

from pathlib import Path

from fstui.storage.tool_output import ToolOutput, ToolOutputs
from tests.factories.box import Box


def crowd(root: Path, size: int) -> tuple[Box, ToolOutputs]:
    """Make a host of ``size`` devices and mounts. Return it with the output of its tools."""
    box = Box(root)
    tables = []
    disks = size // 6
    for number in range(disks):
        name = f"sd{number}x"
        home = f"pci0000:00/0000:00:1f.2/ata{number}/host{number}/target{number}:0:0/{number}:0:0:0"
        box.disk(name, home, files={"device/model": "INTEL SSDSC2KB48", "device/vendor": "ATA     ",
                                    "device/wwid": f"naa.{number:016x}"})  # fmt: skip
        box.write(f"/sys/class/ata_link/link{number}/sata_spd", "6.0 Gbps")
        partition = box.partition(name, 1)
        below = partition
        if number % 10 == 1:
            below = f"md{number}"
            box.md(below, "raid1", (partition, f"sd{number - 1}x1"))
        box.dm(f"dm-{number}", f"vg-lv{number}", "LVM-" + "a" * 64, (below,))
        tables.append(f"vg-lv{number}: 0 8 linear {box.number_of[below]} 2048")
        box.mount(f"/dev/mapper/vg-lv{number}", f"/srv/{number}", "ext4", device=box.number_of[f"dm-{number}"])
        box.ext4(f"dm-{number}", "rw barrier data=ordered")
    commands = {"dmsetup table": ToolOutput(output="\n".join(tables))}
    return box, {**commands, **_mounts(box, size - 4 * disks - disks // 10, disks)}


def _mounts(box: Box, number_of_mounts: int, disks: int) -> ToolOutputs:
    """Add mounts of many kinds. Return the output of the tools of ZFS."""
    statistics_of_nfs, properties = [], []
    for number in range(number_of_mounts):
        kind, place = number % 4, f"/mnt/{number}"
        if kind == 0:
            box.mount(f"filer:/{number}", place, "nfs4", super_options="rw,vers=4.2,hard")
            head = f"device filer:/{number} mounted on {place} with fstype nfs4 statvers=1.1"
            statistics_of_nfs.append(f"{head}\n\t     WRITE: 1 1\n\t    COMMIT: 1")
        elif kind == 1:
            box.mount("tmpfs", place, "tmpfs")
        elif kind == 2:
            box.mount(f"tank/{number}", place, "zfs")
            kstat = f"dataset_name 7 tank/{number}\nzil_commit_count 4 {number}"
            box.write(f"/proc/spl/kstat/zfs/tank/objset-{number:#x}", kstat)
            properties.append(f"tank/{number}\tsync\tstandard\tdefault")
        else:
            box.mount(f"/dev/sd{number % disks}x1", place, "ext4", root=f"/{number}")
    box.write("/proc/self/mountstats", "\n".join(statistics_of_nfs))
    return {"zfs get sync": ToolOutput(output="\n".join(properties))}
