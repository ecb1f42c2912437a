"""Disks of this very box's own SCSI target, and what is behind them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from fstui.model.storage import Target
from fstui.storage.host import read_host
from fstui.storage.layers.sources.claims import Answer, Claims, line
from fstui.storage.layers.sources.files import SMALL_BYTES, Tree
from fstui.storage.layers.targets.scsi_target import size_at
from fstui.storage.questions import commands
from fstui.storage.survey import Graph, survey
from tests.factories.box import Box
from tests.factories.evidence import finding, verdict
from tests.factories.looking import edges, look
from tests.factories.steps import step

ROOT = "/sys/kernel/config/target"
CORE = f"{ROOT}/core"
LOOPED = "tcm_loop_0/tcm_loop_adapter_0/host2/target2:0:1/2:0:1:0"
SESSION = "platform/host3/session1"
SERIAL = "7a0b1c2d-3e4f-5061-7283-94a5b6c7d8e9"
ID = "naa.60014057a0b1c2d3e4f5061728394a5b"
FILE_INFO = (
    "Status: ACTIVATED  Max Queue Depth: 128  SectorSize: 512  HwMaxSectors: 16384\n"
    "        TCM FILEIO ID: 0        File: {}  Size: 1073741824  Mode: {} Async: 0"
)
DEVICE_INFO = (
    "Status: ACTIVATED  Max Queue Depth: 256  SectorSize: 512  HwMaxSectors: 2560\n"
    "        iBlock device: {}  UDEV PATH: /dev/{}  readonly: 0\n"
    "        Major: {} Minor: {}  CLAIMED: IBLOCK"
)


@pytest.fixture(autouse=True)
def disk_and_memory(box: Box) -> None:
    box.disk("vda", "pci0000:00/0000:00:02.0/virtio1")
    box.mount("/dev/vda", "/", "ext4")
    box.mount("tmpfs", "/dev/shm", "tmpfs")


def store(box: Box, driver: str, info: str = "") -> None:
    box.write(f"{CORE}/{driver}/disk/info", info)
    box.write(f"{CORE}/{driver}/disk/wwn/vpd_unit_serial", f"T10 VPD Unit Serial Number: {SERIAL}")


def looped_back(box: Box, driver: str, cache: str = "write through") -> None:
    port = f"{ROOT}/loopback/naa.5001405000000001/tpgt_1"
    box.write(f"{port}/address", "2:0:1")
    box.link(f"{port}/lun/lun_0/disk", f"../../../../../../target/core/{driver}/disk")
    box.write(f"{port}/lun/lun_0/alua_tg_pt_gp", "")
    sda(box, LOOPED, cache)


def over_iscsi(box: Box, address: str, wwid: str = ID) -> None:
    connection = f"/sys/devices/{SESSION}/connection1:0/iscsi_connection/connection1:0"
    box.write(f"{connection}/address", address)
    sda(box, f"{SESSION}/target3:0:0/3:0:0:0", "write through", wwid)


def sda(box: Box, home: str, cache: str, wwid: str = ID) -> None:
    files: dict[str, str | bytes] = {"device/vendor": "LIO-ORG", "device/model": "FILEIO", "device/wwid": wwid}
    box.disk("sda", home, files=files, write_cache=cache)
    box.mount("/dev/sda", "/srv", "ext4")


def there(file: str, size_bytes: int = 1 << 30) -> Claims:
    """A file of the disk's size lies at its path."""
    return {line(size_at(file)): Answer(output=f"{size_bytes}\n")}


def on_a_file(box: Box, file: str, mode: str = "O_DSYNC", cache: str = "write through") -> Target:
    store(box, "fileio_0", FILE_INFO.format(file, mode))
    looped_back(box, "fileio_0", cache)
    return look(box, claims=there(file))


def test_a_target_whose_file_is_in_memory_is_memory(box: Box) -> None:
    found = on_a_file(box, "/dev/shm/disk")
    assert edges(found)["sda"] == ("file:/dev/shm/disk",)
    judged = verdict(found)
    assert (judged.verdict, finding(judged, "in-memory").title) == ("not-durable", "in memory (tmpfs)")


def test_the_kernels_ram_disk_behind_a_target_is_memory(box: Box) -> None:
    store(box, "rd_mcp_0")
    looped_back(box, "rd_mcp_0")
    assert verdict(look(box)).verdict == "not-durable"


def test_each_write_to_a_file_opened_with_odsync_is_kept(box: Box) -> None:
    """It writes through by right: the disk below with its cache on contradicts nothing."""
    found = on_a_file(box, "/var/disk.img")
    assert (edges(found)["sda"], found.node("sda").sync) == (("file:/var/disk.img",), "passes")
    assert verdict(found, step(flushes={"sda": 0, "vda": 1.5})).verdict == "cannot-tell"


def test_a_buffered_file_that_is_told_of_no_flush_stays_in_the_page_cache(box: Box) -> None:
    """``emulate_write_cache`` was set to 0 behind its back."""
    judged = verdict(on_a_file(box, "/var/disk.img", "Buffered-WCE"))
    assert (judged.verdict, judged.findings[0].rule) == ("not-durable", "write-through-override")


@pytest.mark.parametrize(("mode", "cache"), [("O_DSYNC", "write through"), ("Buffered-WCE", "write back")])
def test_a_targets_file_may_lie_on_a_filesystem_without_barriers(box: Box, mode: str, cache: str) -> None:
    box.ext4("vda", "rw nobarrier")
    judged = verdict(on_a_file(box, "/var/disk.img", mode, cache))
    assert (judged.verdict, judged.findings[0].rule) == ("not-durable", "barriers-off")


@pytest.mark.parametrize("flushes", [1, 2, 0])
def test_how_often_a_target_syncs_its_file_is_its_own_affair(box: Box, flushes: int) -> None:
    """A write with FUA is a sync of the file and not a flush of the disk; more flushes are nobody else's."""
    found = on_a_file(box, "/var/disk.img", "Buffered-WCE", "write back")
    judged = verdict(found, step(flushes={"sda": 1, "vda": flushes}))
    assert judged.verdict != "not-durable"
    assert not [each for each in judged.findings if each.rule == "other-writers"]


@pytest.mark.parametrize("claims", [{}, there("/dev/shm/disk", 4096)])
def test_where_no_file_of_its_size_lies_at_the_path_it_is_not_followed(box: Box, claims: Claims) -> None:
    """The target was set up in another mount namespace, or something was mounted there later."""
    store(box, "fileio_0", FILE_INFO.format("/dev/shm/disk", "O_DSYNC"))
    looped_back(box, "fileio_0")
    assert edges(look(box, claims=claims))["sda"] == ()
    assert line(size_at("/dev/shm/disk")) in map(line, commands(survey(box.root), root=False))


def test_a_device_behind_a_target_is_told_by_its_number(box: Box) -> None:
    major, minor = box.number_of["vda"].split(":")
    store(box, "iblock_0", DEVICE_INFO.format("vda", "elsewhere", major, minor))
    looped_back(box, "iblock_0", "write back")
    assert edges(look(box))["sda"] == ("vda",)


def on_a_disk_without_fua(box: Box) -> None:
    major, minor = box.number_of["vda"].split(":")
    store(box, "iblock_0", DEVICE_INFO.format("vda", "elsewhere", major, minor))
    looped_back(box, "iblock_0", "write back")
    box.write(f"/sys/devices/{LOOPED}/block/sda/queue/fua", "1")


def test_a_commit_that_is_forced_comes_to_a_disk_without_fua_as_a_plain_write(box: Box) -> None:
    """XFS with its log on such a target: the data's own disk counts each flush, and the log's has its commits in the
    cache."""
    on_a_disk_without_fua(box)
    box.disk("sdb")
    box.mount("/dev/sdb", "/data", "xfs", super_options="rw,logdev=/dev/sda")
    found = finding(verdict(look(box, "/data")), "fua-dropped")
    assert (found.verdict, found.confidence) == ("not-durable", "high")
    assert "sda says that it takes forced writes" in found.sentence


def test_a_ram_disk_behind_a_target_is_memory(box: Box) -> None:
    box.device("zram0", write_cache="write through")
    major, minor = box.number_of["zram0"].split(":")
    store(box, "iblock_0", DEVICE_INFO.format("zram0", "zram0", major, minor))
    looped_back(box, "iblock_0")
    assert verdict(look(box)).findings[0].title == "in memory (zram)"


@pytest.mark.parametrize(("address", "wwid", "followed"), [
    ("127.0.0.1", ID, True), ("::1", ID, True), ("192.168.7.2", ID, True), ("fd00::7", ID, True),
    ("192.168.7.3", ID, False), ("127.0.0.1", "naa.60014050000000000000000000000000", False),
    ("127.0.0.1", "t10.LIO-ORG", False), ("", ID, False),
])  # fmt: skip
def test_a_session_to_this_box_leads_to_the_store_of_that_id(box: Box, address: str, wwid: str, followed: bool) -> None:
    box.write("/proc/net/fib_trie", "Local:\n     |-- 192.168.7.2\n        /32 host LOCAL")
    box.write("/proc/net/if_inet6", "fd000000000000000000000000000007 02 40 00 80 eth0")
    store(box, "rd_mcp_0")
    over_iscsi(box, address, wwid)
    assert (verdict(look(box)).verdict == "not-durable") is followed


def test_above_a_file_that_takes_each_write_for_good_no_flush_is_owed_either(box: Box) -> None:
    """A multipath device of such disks: each write was a flush at the disk beneath (60 for 60, Linux 6.12)."""
    store(box, "fileio_0", FILE_INFO.format("/dev/vda", "O_DSYNC"))
    looped_back(box, "fileio_0")
    box.dm("dm-0", "mpatha", "mpath-1", ("sda",), write_cache="write through")
    box.mount("/dev/mapper/mpatha", "/data", "ext4", device=box.number_of["dm-0"])
    found = look(box, "/data")
    assert edges(found)["sda"] == ("vda",)
    assert found.node("dm-0").sync == "passes"
    assert "write-through-override" not in {each.rule for each in verdict(found).findings}


class Counting(Tree):
    """Remembers which files were asked for."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.asked: Counter[str] = Counter()

    def data(self, path: str, limit_bytes: int = SMALL_BYTES) -> bytes | None:
        self.asked[path] += 1
        return super().data(path, limit_bytes)


def test_many_disks_ask_each_store_and_each_port_once(box: Box) -> None:
    store(box, "fileio_0", FILE_INFO.format("/var/disk.img", "O_DSYNC"))
    looped_back(box, "fileio_0")
    box.write(f"/sys/devices/{SESSION}/connection1:0/iscsi_connection/connection1:0/address", "127.0.0.1")
    for place in range(3):
        files: dict[str, str | bytes] = {"device/wwid": f"naa.6001405{place:025}"}
        box.disk(f"sdb{place}x", f"{SESSION}/target3:0:{place}/3:0:{place}:0", files=files)
        box.disk(f"sdc{place}x", LOOPED.replace("host2", f"host2{place}"))
    tree = Counting(box.root)
    graph = Graph(tree, (), read_host(box.root))
    graph.build(sorted(graph.devices.names.all))
    found = {path: count for path, count in tree.asked.items() if path.startswith(ROOT) and not path.endswith("/info")}
    assert len(found) == 2
    assert set(found.values()) == {1}
