"""Storage that fstui does not support or cannot see, from the kernel's files to the verdict.

It is never reported, whether flushes arrive or not. Supported storage is in setups.toml.
"""

from collections.abc import Callable

import pytest

from fstui.model.judgement import Judgement
from fstui.model.storage import Medium
from fstui.storage.survey import survey
from fstui.storage.tool_output import ToolOutput
from tests.factories.box import Box
from tests.factories.evidence import METAL, quiet, rules, verdict
from tests.factories.looking import target
from tests.factories.steps import own_time, step
from tests.factories.storage import disk, filesystem, on_disk


def judged(box: Box, table: str | None, flushes: dict[str, float | None]) -> Judgement:
    here = survey(box.root, {"dmsetup table": ToolOutput(output=table)} if table else {})
    return verdict(target(here, "/srv"), step(flushes=flushes, rate=900), host=here.host, idle=quiet(*flushes))


def on(name: str, home: str = "virtual", fstype: str = "ext4") -> Callable[[Box], None]:
    def build(box: Box) -> None:
        box.disk(name, home)
        box.mount(f"/dev/{name}", "/srv", fstype)

    return build


def of_another_kind(table: str) -> Callable[[Box], str]:
    """ext4 on a device-mapper target that is not supported; without a table, nothing tells which one it is."""

    def build(box: Box) -> str:
        box.disk("sda")
        box.dm("dm-0", "x", "", ("sda",))
        box.mount("/dev/mapper/x", "/srv", "ext4", device=box.number_of["dm-0"])
        return table.format(box.number_of["sda"])

    return build


def nvdimm(box: Box) -> None:
    box.device("pmem0", "LNXSYSTM:00/LNXSYBUS:00/ACPI0012:00/ndbus0/region0/pfn0.1", fua=1)
    box.mount("/dev/pmem0", "/srv", "ext4", super_options="rw,dax=always")


def synced_writes(box: Box) -> None:
    box.disk("sda")
    box.mount("/dev/sda", "/srv", "ext4", super_options="rw,sync")


def write_behind(box: Box) -> None:
    box.disks("sda", "sdb")
    box.md("md0", "raid1", ("sda", "sdb"), **{"dev-sdb/state": "in_sync,write_mostly"})
    box.write("/sys/block/md0/md/bitmap/backlog", "256")
    box.mount("/dev/md0", "/srv", "ext4")


@pytest.mark.parametrize(
    ("build", "device"),
    [
        (of_another_kind(""), "sda"),
        (of_another_kind("x: 0 4096 integrity {} 0 32 J 0"), "sda"),
        (of_another_kind("x: 0 4096 vdo V4 {} 1048576 4096 32768 16380"), "sda"),
        (of_another_kind("x: 0 4096 snapshot-merge {} 8:16 P 8"), "sda"),
        (of_another_kind("x: 0 4096 writecache s 8:16 {} 4096 1 cleaner"), "sda"),
        (of_another_kind("x: 0 8 raid raid1 5 0 write_mostly 0 max_write_behind 9 2 - {} - 8:16"), "sda"),
        (of_another_kind("x: 0 8 linear {0} 0\nx: 8 8 striped 1 128 {0} 8\nx: 16 8 zero"), "sda"),
        (synced_writes, "sda"),
        (write_behind, "sda"),
        (nvdimm, "pmem0"),
        (on("mtdblock5", "platform/spi0.0/mtd/mtd5"), "mtdblock5"),
        (on("nbd0"), "nbd0"),
        (on("sda", fstype="exfat"), "sda"),
        (on("sda", fstype="jfs"), "sda"),
    ],
    ids=[
        "a target that nothing tells", "dm-integrity", "dm-vdo", "a snapshot that is merged", "a cleaner's cache",
        "dm-raid write-behind", "segments of several targets",
        "mounted with sync", "write-behind", "NVDIMM with DAX", "flash", "nbd", "exFAT", "JFS",
    ],
)  # fmt: skip
@pytest.mark.parametrize("flushes", [0, 1])
def test_unsupported_storage_gives_cannot_tell(
    box: Box, build: Callable[[Box], str | None], device: str, flushes: float
) -> None:
    judgement = judged(box, build(box), {device: None if build is nvdimm else flushes})
    assert (judgement.verdict, judgement.confidence) == ("cannot-tell", "medium")


def test_unsupported_setting_of_a_disk_that_works_gives_cannot_tell() -> None:
    """The disk itself takes a revolution for each sync, which would otherwise make the verdict confident."""
    turning = disk(medium=Medium(class_="hdd-7200", rpm=7200, write_cache="volatile", declared=True))
    same = own_time(step("same block", offsets="same", rate=119), 8)
    for top, expected in (
        (filesystem(), ("consistent", "medium")),
        (filesystem(sync_flag="S"), ("cannot-tell", "medium")),
    ):
        judgement = verdict(on_disk(top, turning), same, host=METAL, idle=quiet("sda"))
        assert (judgement.verdict, judgement.confidence) == expected, judgement.sentence


def test_volume_of_a_pod_without_sysfs_gives_cannot_tell(box: Box) -> None:
    box.mount("overlay", "/", "overlay")
    box.mount("/dev/sdb", "/srv", "ext4", device="8:16")
    judgement = judged(box, None, {})
    assert (judgement.verdict, judgement.confidence) == ("cannot-tell", "low")


@pytest.mark.parametrize(
    ("fstype", "source", "options"),
    [
        ("virtiofs", "share", "rw"),
        ("9p", r"C:\134", "rw,aname=drvfs;path=C:\\134,trans=fd"),  # a drive of Windows in WSL
        ("fuse.fuse-overlayfs", "x", "rw"),
    ],
)
def test_remote_filesystem_gives_cannot_tell(box: Box, fstype: str, source: str, options: str) -> None:
    box.mount(source, "/srv", fstype, super_options=options)
    judgement = judged(box, None, {})
    assert (judgement.verdict, "remote-filesystem" in rules(judgement)) == ("cannot-tell", True)
