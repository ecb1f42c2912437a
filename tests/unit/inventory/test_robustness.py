"""Whatever stands in /proc and /sys, a survey answers; what does not make sense is left out."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fstui.inventory.counters import difference, read_counters
from fstui.inventory.process import read_write_bytes
from fstui.inventory.survey import survey
from fstui.inventory.watch import fingerprint
from fstui.model import Node, encode
from tests.unit.inventory.trees import Box


def full_box(root: Path) -> Box:
    """One of everything."""
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
    return box


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return full_box(tmp_path_factory.mktemp("box")).root


def files_of(root: Path) -> list[str]:
    return sorted(os.path.relpath(os.path.join(base, name), root) for base, _, names in os.walk(root) for name in names)


def look_at_everything(root: Path) -> None:
    inventory = survey(root)
    nodes: list[Node] = [node for target in inventory.filesystems for node in target.stack]
    counters = read_counters([*nodes, *inventory.unused], root)
    difference(counters, counters)
    assert encode(inventory)
    assert encode(counters)
    read_write_bytes(root)
    fingerprint(root)
    for target in inventory.filesystems:
        ids = {node.id for node in target.stack}
        assert all(below in ids for node in target.stack for below in node.below)


damage = st.one_of(
    st.just(b""),
    st.binary(max_size=200),
    st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.sampled_from(
        [b"-1\n", b"9" * 5000, b"\0", b"\xff\xfe\n", b"/" * 3000, b"\n" * 100, b"a b c d e f - g h\n", b"\xb2"]
    ),
    st.just(b"1 " * 40000),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_files_never_raise(pristine: Path, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory) / "box"
        shutil.copytree(pristine, root, symlinks=True)
        for name in data.draw(st.lists(st.sampled_from(files_of(root)), max_size=8, unique=True)):
            path = root / name
            content = data.draw(st.one_of(st.none(), damage, st.just(b"directory")))
            path.unlink()
            if content == b"directory":
                path.mkdir()
            elif content is not None:
                path.write_bytes(content)
        look_at_everything(root)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(st.binary(max_size=80).map(lambda line: b"31 1 8:0 / /x rw - " + line), max_size=5), rest=damage)
def test_damaged_mountinfo_never_raises(pristine: Path, lines: list[bytes], rest: bytes) -> None:
    (pristine / "proc/self/mountinfo").write_bytes(b"\n".join([*lines, rest]))
    look_at_everything(pristine)


def test_an_empty_root_is_an_empty_box(tmp_path: Path) -> None:
    inventory = survey(tmp_path)
    assert (inventory.filesystems, inventory.unused) == ((), ())


def test_a_fifo_in_place_of_a_file_does_not_hold_the_survey(tmp_path: Path) -> None:
    box = full_box(tmp_path)
    stat = tmp_path / "sys/block/sda/stat"
    stat.unlink()
    os.mkfifo(stat)
    look_at_everything(box.root)


def test_each_mount_point_is_a_target_once(tmp_path: Path) -> None:
    box = full_box(tmp_path)
    mount_points = [target.mount_point for target in survey(box.root).filesystems]
    assert sorted(mount_points) == ["/", "/data", "/filer", "/inner", "/merged", "/run"]
