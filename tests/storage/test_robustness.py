"""A survey never fails, whatever is in /proc and /sys; it leaves out what is not valid."""

import contextlib
import os
from pathlib import Path

from fstui.measure.helpers.tool_output import PROGRAMS
from fstui.model.counters import difference
from fstui.model.documents import encode
from fstui.model.errors import Refused
from fstui.model.storage import Node
from fstui.storage.counters import read_counters
from fstui.storage.hotplug import Watch
from fstui.storage.process import read_process_of
from fstui.storage.survey import commands, survey
from fstui.storage.tool_output import ToolOutput, ToolOutputs
from tests.factories.box import Box

ANSWERS: ToolOutputs = {
    "dmsetup table": ToolOutput(output="vg-lv: 0 8 cache 8:0 8:1 9:0 512 1 writeback smq 0\n"),
    "hdparm -W /dev/sda": ToolOutput(output=" write-caching =  1 (on)\n"),
    "nvme id-ctrl /dev/nvme1 -o json": ToolOutput(output='{"vwc": 1}'),
    "nvme get-feature /dev/nvme1 -f 6": ToolOutput(output="Current value:0x00000001"),
    "zpool status -L -P tank": ToolOutput(
        output="  pool: tank\n state: ONLINE\nconfig:\n\n\ttank  ONLINE  0 0 0\n\t  mirror-0  ONLINE  0 0 0\n"
        "\t    /dev/sda1  ONLINE  0 0 0\n\tlogs\n\t  /dev/sdb  ONLINE  0 0 0\n"
    ),
    "zfs get -H -p -o name,property,value,source sync tank/db": ToolOutput(output="tank/db\tsync\tstandard\tdefault"),
}


def full_box(root: Path) -> Box:
    box = Box(root)
    box.write("/proc/filesystems", "nodev\tproc\nnodev\ttmpfs\n\text4")
    box.write("/proc/cpuinfo", "flags : hypervisor")
    box.write("/proc/self/maps", "00-01 r-xp 00000000 fe:00 132 /usr/lib/libeatmydata.so")
    box.write("/proc/self/cgroup", "0::/")
    box.write("/proc/20/io", "write_bytes: 3")
    files: dict[str, str | bytes] = {
        "device/model": "X", "device/vendor": "Y", "device/state": "running", "device/wwid": "1",
        "device/vpd_pgb1": bytes(64), "device/scsi_disk/0:0:0:0/cache_type": "write back",
    }  # fmt: skip
    box.disk("sda", files=files)
    box.partition("sda", 1)
    box.disk("nvme0n1", "pci0000:00/nvme/nvme0")
    box.md("md0", "raid1", ("sda1",))
    box.dm("dm-0", "vg-lv", "LVM-x", ("md0",))
    box.write(f"{box.device('bcache0', slaves=('dm-0',))}/bcache/cache_mode", "[writeback] none")
    box.write("/sys/fs/btrfs/1-2/devinfo/1/error_stats", "write_errs 0")
    box.link("/sys/fs/btrfs/1-2/devices/nvme0n1", "../x")
    box.write(f"/run/udev/data/b{box.number_of['sda']}", "E:ID_ATA_ROTATION_RATE_RPM=7200")
    box.mount("/dev/bcache0", "/", "ext4")
    box.ext4("bcache0", "rw barrier data=ordered")
    box.mount("/dev/nvme0n1", "/data", "btrfs", device="0:50")
    box.loop("loop0", "/data/disk.img")
    box.mount("/dev/loop0", "/inner", "xfs", super_options="rw,logdev=/dev/sda1")
    box.mount("overlay", "/merged", "overlay", super_options="rw,upperdir=/inner/u,volatile")
    box.mount("filer:/x", "/filer", "nfs4")
    box.mount("tmpfs", "/run", "tmpfs")
    links_and_roles(box)
    remote_and_pools(box)
    return box


def links_and_roles(box: Box) -> None:
    usb = "pci0000:00/usb2/2-1"
    box.disk("sdb", f"{usb}/2-1:1.0/host4/target4:0:0/4:0:0:0")
    for file in ("speed", "idVendor", "product"):
        box.write(f"/sys/devices/{usb}/{file}", "5000")
    box.write("/sys/class/ata_link/link1/sata_spd", "6.0 Gbps")
    box.disk("vda", "pci0000:00/virtio1", files={"device/features": "01" * 32, "cache_type": "write back"})
    box.device("nvme1n1", "virtual/nvme-subsystem/nvme-subsys1")
    files: dict[str, str | bytes] = {"device/transport": "tcp"}
    box.disk("nvme1c1n1", "pci0000:00/0000:01:00.0/nvme/nvme1", files=files)
    box.write("/sys/devices/pci0000:00/0000:01:00.0/current_link_speed", "8.0 GT/s PCIe")
    box.write("/sys/devices/pci0000:00/0000:01:00.0/current_link_width", "4")
    for file, word in (("dev-sda1/state", "in_sync"), ("bitmap/location", "+8"), ("consistency_policy", "bitmap")):
        box.write(f"/sys/block/md0/md/{file}", word)
    box.write("/sys/class/block/sda1/bcache/cache_mode", "[writeback]")
    box.write("/sys/fs/ext4/bcache0/journal_task", "512")
    box.write("/proc/512/comm", "jbd2/sdb")
    box.mount("/dev/nvme1n1", "/fast", "ext4")


def remote_and_pools(box: Box) -> None:
    stats = (
        "device filer:/x mounted on /filer with fstype nfs4 statvers=1.1\n\tbytes: 1 2 3 4 5 6\n\tWRITE: 3\n\tCOMMIT: 2"
    )
    box.write("/proc/self/mountstats", stats)
    box.write("/proc/spl/kstat/zfs/tank/objset-0x36", "dataset_name 7 tank/db\nzil_commit_count 4 9")
    box.write("/proc/spl/kstat/zfs/zil", "zil_commit_count 4 9")
    box.write("/sys/module/zfs/parameters/zfs_nocacheflush", "0")
    box.mount("tank/db", "/db", "zfs")
    box.mount("//nas/x", "/share", "cifs", super_options="rw,nostrictsync")
    box.mount("cgroup2", "/sys/fs/cgroup", "cgroup2")
    box.write("/proc/self/cgroup", "0::/a/b")
    box.write("/sys/fs/cgroup/a/b/io.max", "8:0 wiops=100 rbps=max")
    box.write("/proc/self/status", "Seccomp:\t2")
    box.write("/proc/21/comm", "mysqld")
    box.write("/proc/21/maps", "00-01 r-xp 0 0:0 0 /usr/lib/libeatmydata.so")


def files_of(root: Path) -> list[str]:
    return sorted(os.path.relpath(os.path.join(base, name), root) for base, _, names in os.walk(root) for name in names)


def look_at_everything(root: Path, answers: ToolOutputs = ANSWERS) -> None:
    inventory = survey(root, answers)
    assert all(command[0] in PROGRAMS for command in commands(inventory, as_root=True))
    nodes: list[Node] = [node for target in inventory.filesystems for node in target.stack]
    counters = read_counters([*nodes, *inventory.unused], root)
    difference(counters, counters)
    assert encode(inventory)
    assert encode(counters)
    Watch(root).has_changed()
    with contextlib.suppress(Refused):
        read_process_of(21, root)
    for target in inventory.filesystems:
        ids = {node.id for node in target.stack}
        assert all(below in ids for node in target.stack for below in node.below)


def test_empty_root_gives_empty_inventory(tmp_path: Path) -> None:
    inventory = survey(tmp_path)
    assert (inventory.filesystems, inventory.unused) == ((), ())


def test_fifo_does_not_block_the_survey(tmp_path: Path) -> None:
    box = full_box(tmp_path)
    stat = tmp_path / "sys/block/sda/stat"
    stat.unlink()
    os.mkfifo(stat)
    look_at_everything(box.root)
