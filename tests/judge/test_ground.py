"""The storage that users have, from the kernel's files to the verdict, with all flushes and with none.

Storage with all flushes is never reported as not durable. Missing flushes are reported wherever a device counts them
and is expected to receive them. Storage that cannot be seen inside gets low confidence at best.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import pytest

from fstui.model.judgement import Judgement
from fstui.storage.claims import Answer, Claims
from fstui.storage.survey import survey
from tests.factories.box import Box
from tests.factories.evidence import quiet, rules, verdict
from tests.factories.looking import target
from tests.factories.steps import step

ISCSI = "platform/host3/session1/target3:0:0/3:0:0:0"
UAS = "pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host4/target4:0:0/4:0:0:0"
NVME = "pci0000:00/0000:00:1f.0/nvme/nvme{}"
HYPERV = (
    "LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/MSFT1000:00/fd1d2cbd-ce7c-535c-966b-eb5f811c95f0/host0/target0:0:0/0:0:0:0"
)
CONSISTENT, PLAUSIBLE, CANNOT_TELL = ("consistent", "low"), ("plausible", "low"), ("cannot-tell", "low")
UNKNOWN = ("cannot-tell", "medium")
NOT_TRUSTED = ("not-durable", "high")
Counts = Mapping[str, float | None]
Said = tuple[str, str]


class Ground(NamedTuple):
    """A made-up host, and the verdicts there."""

    build: Callable[[Box], str | None]
    """Creates it and returns the output of ``dmsetup table``."""
    honest: Counts
    """Flushes per sync by device; None if it counts none."""
    said: Said
    dropping: Said = NOT_TRUSTED
    """If no flush arrives."""


def judged(box: Box, table: str | None, counts: Counts, mount_point: str = "/srv") -> Judgement:
    claims: Claims = {"dmsetup table": Answer(output=table)} if table else {}
    here = survey(box.root, claims)
    where = target(here, mount_point)
    whole = step(flushes=dict(counts), rate=900)
    return verdict(where, whole, host=here.host, idle=quiet(*counts))


def on(
    name: str, home: str = "virtual", write_cache: str = "write back", *, fua: int = 0, rotational: int = 0
) -> Callable[[Box], None]:
    def build(box: Box) -> None:
        box.disk(name, home, write_cache=write_cache, fua=fua, rotational=rotational)
        box.mount(f"/dev/{name}", "/srv", "ext4")

    return build


def nvme_over_tcp(box: Box) -> None:
    box.device("nvme0n1", "virtual/nvme-subsystem/nvme-subsys0")
    box.disk("nvme0c0n1", "virtual/nvme-fabrics/ctl/nvme0", files={"device/transport": "tcp"})
    box.mount("/dev/nvme0n1", "/srv", "xfs")


def of_another_kind(table: str) -> Callable[[Box], str]:
    """ext4 on a device-mapper target that is not supported; without a table, nothing tells which one it is."""

    def build(box: Box) -> str:
        box.disk("sda")
        box.dm("dm-0", "x", "", ("sda",))
        box.mount("/dev/mapper/x", "/srv", "ext4", device=box.number_of["dm-0"])
        return table.format(box.number_of["sda"])

    return build


def drbd(box: Box) -> None:
    box.disk("sda")
    box.device("drbd0", slaves=("sda",), iostats=0)
    box.mount("/dev/drbd0", "/srv", "ext4")


def nvdimm(box: Box) -> None:
    box.device("pmem0", "LNXSYSTM:00/LNXSYBUS:00/ACPI0012:00/ndbus0/region0/pfn0.1", fua=1)
    box.mount("/dev/pmem0", "/srv", "ext4", super_options="rw,dax=always")


def on_filesystem(fstype: str) -> Callable[[Box], None]:
    def build(box: Box) -> None:
        box.disk("sda")
        box.mount("/dev/sda", "/srv", fstype)

    return build


def volume_in_a_pod(box: Box) -> None:
    """The root is an overlay; the persistent volume is a bind mount without a device node in /dev."""
    box.write("/proc/cpuinfo", "flags : hypervisor")
    box.write("/sys/class/dmi/id/sys_vendor", "Amazon EC2")
    model = f"{'Amazon Elastic Block Store':40}"
    box.disk("nvme1n1", NVME.format(1), write_cache="write through", files={"device/model": model})
    lower = "lowerdir=/snapshots/3/fs,upperdir=/var/lib/containerd/snapshots/9/fs,workdir=/var/lib/containerd/work"
    box.mount("overlay", "/", "overlay", super_options=f"rw,{lower}")
    box.mount("/dev/nvme1n1", "/srv", "ext4")


def volume_without_sysfs(box: Box) -> None:
    box.mount("overlay", "/", "overlay")
    box.mount("/dev/sdb", "/srv", "ext4", device="8:16")


def wsl(box: Box) -> None:
    box.write("/proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2")
    box.disk("sdc", HYPERV, files={"device/vendor": "Msft    ", "device/model": "Virtual Disk    "})
    box.mount("/dev/sdc", "/srv", "ext4")
    box.mount(r"C:\134", "/mnt/c", "9p", super_options="rw,aname=drvfs;path=C:\\134,trans=fd")


def docker(box: Box) -> None:
    box.disk("sda")
    box.mount("/dev/sda", "/", "ext4")
    box.mount("overlay", "/srv", "overlay", super_options="rw,upperdir=/var/lib/docker/overlay2/ab/diff")


GROUNDS = {
    "Ceph RBD": Ground(on("rbd0", write_cache="write through"), {"rbd0": 0}, PLAUSIBLE, PLAUSIBLE),
    "iSCSI": Ground(on("sda", ISCSI), {"sda": 1}, CONSISTENT),
    "iSCSI, write through": Ground(on("sda", ISCSI, "write through"), {"sda": 0}, CANNOT_TELL, CANNOT_TELL),
    "NVMe/TCP": Ground(nvme_over_tcp, {"nvme0c0n1": 1}, CONSISTENT),
    "eMMC with a cache": Ground(on("mmcblk0", "platform/mmc0/mmc_host/mmc0/mmc0:0001"), {"mmcblk0": 1}, CONSISTENT),
    "SD card": Ground(
        on("mmcblk0", "platform/mmc1/mmc_host/mmc1/mmc1:aaaa", "write through"), {"mmcblk0": 0},
        CANNOT_TELL, CANNOT_TELL,
    ),
    "USB-UAS": Ground(on("sda", UAS), {"sda": 1}, CONSISTENT),
    "DRBD": Ground(drbd, {"sda": 1}, UNKNOWN, UNKNOWN),
    "a target that nothing tells": Ground(of_another_kind(""), {"sda": 0}, UNKNOWN, UNKNOWN),
    "dm-integrity": Ground(of_another_kind("x: 0 4096 integrity {} 0 32 J 0"), {"sda": 1}, UNKNOWN, UNKNOWN),
    "dm-vdo": Ground(of_another_kind("x: 0 4096 vdo V4 {} 1048576 4096 32768 16380"), {"sda": 1}, UNKNOWN, UNKNOWN),
    "NVDIMM with DAX": Ground(nvdimm, {"pmem0": None}, UNKNOWN, UNKNOWN),
    "flash (mtdblock)": Ground(on("mtdblock5", "platform/spi0.0/mtd/mtd5"), {"mtdblock5": 1}, UNKNOWN, UNKNOWN),
    "nbd": Ground(on("nbd0"), {"nbd0": 1}, UNKNOWN, UNKNOWN),
    "exFAT": Ground(on_filesystem("exfat"), {"sda": 1}, UNKNOWN, UNKNOWN),
    "JFS": Ground(on_filesystem("jfs"), {"sda": 1}, UNKNOWN, UNKNOWN),
    "an EBS volume in a pod": Ground(volume_in_a_pod, {"nvme1n1": 0}, PLAUSIBLE, PLAUSIBLE),
    "a pod's volume without sysfs": Ground(volume_without_sysfs, {}, CANNOT_TELL, CANNOT_TELL),
    "WSL2": Ground(wsl, {"sdc": 1}, CONSISTENT),
    "Docker's overlay": Ground(docker, {"sda": 1}, CONSISTENT),
}  # fmt: skip


@pytest.mark.parametrize("ground", GROUNDS.values(), ids=GROUNDS.keys())
def test_durable_storage_is_neither_accused_nor_praised(box: Box, ground: Ground) -> None:
    judgement = judged(box, ground.build(box), ground.honest)
    assert (judgement.verdict, judgement.confidence) == ground.said


@pytest.mark.parametrize("ground", GROUNDS.values(), ids=GROUNDS.keys())
def test_dropped_flushes_are_missed_where_they_are_expected(box: Box, ground: Ground) -> None:
    none = {name: None if count is None else 0 for name, count in ground.honest.items()}
    judgement = judged(box, ground.build(box), none)
    assert (judgement.verdict, judgement.confidence) == ground.dropping


@pytest.mark.parametrize(("fstype", "source"), [("virtiofs", "share"), ("9p", r"C:\134"), ("fuse.fuse-overlayfs", "x")])
def test_remote_filesystem_gives_cannot_tell(box: Box, fstype: str, source: str) -> None:
    box.mount(source, "/srv", fstype)
    judgement = judged(box, None, {})
    assert (judgement.verdict, "remote-filesystem" in rules(judgement)) == ("cannot-tell", True)


def test_windows_drive_in_wsl_gives_cannot_tell(box: Box) -> None:
    wsl(box)
    judgement = judged(box, None, {"sdc": 1}, "/mnt/c")
    assert (judgement.verdict, "remote-filesystem" in rules(judgement)) == ("cannot-tell", True)
