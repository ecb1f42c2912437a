"""Pools and datasets, from made-up output of zpool and zfs in the documented formats (zpool-status(8))."""

import pytest

from fstui.model.counters import difference
from fstui.model.storage import Target
from fstui.storage.counters import read_counters
from fstui.storage.survey import survey
from fstui.storage.tool_output import ToolOutput, ToolOutputs
from tests.factories.box import Box
from tests.factories.looking import edges, read, roles, target, trouble

STATUS = "zpool status -L -P tank"
GET = "zfs get -H -p -o name,property,value,source sync,logbias tank/db"
ASHIFT = "zpool get -H -p -o name,property,value,source ashift tank"
HEALTHY = """\
  pool: tank
 state: ONLINE
  scan: scrub repaired 0B in 00:12:33 with 0 errors on Sun Nov  8 00:36:34 2026
config:

\tNAME                STATE     READ WRITE CKSUM
\ttank                ONLINE       0     0     0
\t  mirror-0          ONLINE       0     0     0
\t    /dev/sda1       ONLINE       0     0     0
\t    /dev/sdb1       ONLINE       0     0     0
\tlogs\t
\t  /dev/nvme0n1p1    ONLINE       0     0     0
\tcache
\t  /dev/nvme0n1p2    ONLINE       0     0     0
\tspares
\t  /dev/sdc          AVAIL

errors: No known data errors
"""
DEGRADED = """\
  pool: tank
 state: DEGRADED
status: One or more devices could not be used.
  scan: resilver in progress since Fri Nov 20 10:00:00 2026
\t1.2T / 4.0T scanned, 500G issued
config:

\tNAME                                   STATE     READ WRITE CKSUM
\ttank                                   DEGRADED     0     0     0
\t  raidz1-0                             DEGRADED     0     0     0
\t    /dev/sda1                          ONLINE       0     0     0
\t    replacing-1                        DEGRADED     0     0     0
\t      /dev/disk/by-id/gone             UNAVAIL      0     0     0  was /dev/sdx1
\t      /dev/sdb1                        ONLINE       3     0     0  (resilvering)
\t  mirror-1                             ONLINE       0     0     0
\t    /dev/sdc                           ONLINE       0     0     0
\t    /srv/disk.img                      ONLINE       0     0     0
\tlogs
\t  mirror-2                             ONLINE       0     0     0
\t    /dev/nvme0n1p1                     ONLINE       0     0     0
\t    /dev/nvme0n1p2                     ONLINE       0     0     0

errors: No known data errors
"""
PROPERTIES = "tank/db\tsync\tdisabled\tinherited from tank\ntank/db\tlogbias\tthroughput\tlocal\n"


@pytest.fixture
def pool(box: Box) -> Box:
    for name in ("sda", "sdb"):
        box.disk(name)
        box.partition(name, 1)
    box.disk("sdc")
    box.disk("nvme0n1", "pci0000:00/nvme/nvme0")
    for number in (1, 2):
        box.partition("nvme0n1", number)
    box.mount("tank/db", "/db", "zfs", super_options="rw,xattr,noacl")
    return box


def seen(box: Box, **answers: str) -> Target:
    commands = {"status": STATUS, "properties": GET, "ashift": ASHIFT}
    found: ToolOutputs = {commands[name]: ToolOutput(output=output) for name, output in answers.items()}
    return target(survey(box.root, found), "/db")


def kstat(dataset: str, commits: int) -> str:
    return f"""\
28 1 0x01 26 7072 5214787391 73405258558961
name                            type data
dataset_name                    7    {dataset}
writes                          4    1000
zil_commit_count                4    {commits}
zil_commit_writer_count         4    7"""


def test_pool_has_vdevs_with_roles(pool: Box) -> None:
    found = seen(pool, status=HEALTHY)
    shape = edges(found)
    assert shape["mount:/db"] == ("pool:tank",)
    assert shape["pool:tank"] == ("vdev:tank/mirror-0", "nvme0n1p1", "nvme0n1p2", "sdc")
    assert shape["vdev:tank/mirror-0"] == ("sda1", "sdb1")
    known = {node.id: node.below_roles for node in found.stack if node.below_roles}
    assert known == {
        "pool:tank": {"nvme0n1p1": "slog", "nvme0n1p2": "l2arc", "sdc": "spare"},
        "vdev:tank/mirror-0": {"sda1": "mirror leg", "sdb1": "mirror leg"},
    }  # a role belongs to the layer directly above
    kinds = [(node.layer, node.kind) for node in found.stack[1:3]]
    assert kinds == [("pool", "zpool"), ("pool", "mirror")]
    assert trouble(found.node("pool:tank")) == []
    assert {node.id for node in found.lowest} == {"sda", "sdb", "sdc", "nvme0n1"}


def test_pool_reports_faulty_disk_and_scan(pool: Box) -> None:
    found = seen(pool, status=DEGRADED)
    shape = edges(found)
    assert shape["vdev:tank/raidz1-0"] == ("sda1", "vdev:tank/replacing-1")
    assert shape["vdev:tank/replacing-1"] == ("vdev:tank//dev/disk/by-id/gone", "sdb1")
    assert shape["vdev:tank/mirror-1"] == ("sdc", "file:/srv/disk.img")
    assert trouble(found.node("pool:tank")) == [("state", "DEGRADED"), ("scan", "resilver in progress")]
    assert trouble(found.node("vdev:tank/replacing-1")) == [
        ("state", "DEGRADED"), ("state of /dev/disk/by-id/gone", "UNAVAIL"),
        ("errors of /dev/sdb1", "read 3 write 0 checksum 0"),
    ]  # fmt: skip
    assert roles(found)["vdev:tank/mirror-2"] == "slog"
    assert (roles(found)["nvme0n1p1"], roles(found)["nvme0n1p2"]) == ("slog", "slog")
    assert roles(found)["vdev:tank/mirror-1"] == "stripe"


def test_property_names_its_source(pool: Box) -> None:
    top = seen(pool, properties=PROPERTIES).stack[0]
    assert read(top, "sync") == ("disabled", "zfs get sync tank/db (inherited from tank)")
    assert read(top, "logbias") == ("throughput", "zfs get logbias tank/db (local)")
    assert (top.sync, top.reason) == ("stops", "sync=disabled: every sync returns immediately")


@pytest.mark.parametrize("value", ["standard", "always"])
def test_dataset_passes_syncs(pool: Box, value: str) -> None:
    assert seen(pool, properties=f"tank/db\tsync\t{value}\tdefault").stack[0].sync == "passes"


def test_properties_of_other_datasets_are_ignored(pool: Box) -> None:
    assert seen(pool, properties="tank\tsync\tdisabled\tlocal").stack[0].reading("sync") is None


def test_missing_answers_are_reported(pool: Box) -> None:
    found = target(survey(pool.root, {STATUS: ToolOutput(error="no answer for 2 s")}), "/db")
    top, bottom = found.stack
    assert read(bottom, "missing") == ("the pool's devices: no answer for 2 s", STATUS)
    assert read(top, "missing")[0] == "the dataset's properties: not read yet"
    assert (bottom.lowest, bottom.sync, top.sync) == (True, "unknown", "unknown")


def test_pool_has_ashift(pool: Box) -> None:
    found = seen(pool, ashift="tank\tashift\t12\tlocal\n")
    assert read(found.node("pool:tank"), "ashift") == ("12", "zpool get ashift tank (local)")


@pytest.mark.parametrize("parameter", ["zfs_nocacheflush", "zil_nocacheflush"])
def test_nocacheflush_stops_flushes(pool: Box, parameter: str) -> None:
    path = f"/sys/module/zfs/parameters/{parameter}"
    pool.write(path, "1")
    found = seen(pool, status=HEALTHY)
    bottom = found.node("pool:tank")
    assert (bottom.sync, bottom.reason) == ("stops", f"{parameter}=1")
    assert read(found.stack[0], "barrier") == ("nobarrier", path)
    assert read(bottom, parameter) == ("1", path)


def test_commits_are_counted_per_dataset(pool: Box) -> None:
    pool.write("/proc/spl/kstat/zfs/tank/objset-0x36", kstat("tank", 5))
    pool.write("/proc/spl/kstat/zfs/tank/objset-0x81", kstat("tank/db", 100))
    path = "/proc/spl/kstat/zfs/tank/objset-0x81"
    found = seen(pool)
    assert read(found.stack[0], "zil_commit_count") == ("100", path)
    before = read_counters(found.stack, pool.root)
    pool.write(path, kstat("tank/db", 140))
    moved = {device.device: device for device in difference(before, read_counters(found.stack, pool.root))}
    assert (moved["mount:/db"].commits, moved["mount:/db"].flushes) == (40, None)


def test_older_versions_count_for_the_host(pool: Box) -> None:
    pool.write(
        "/proc/spl/kstat/zfs/zil", "22 1 0x01 13 624 1 2\nname type data\nzil_commit_count                4    9"
    )
    assert read(seen(pool).stack[0], "zil_commit_count") == ("9", "/proc/spl/kstat/zfs/zil")


@pytest.mark.parametrize("output", [
    "", "no pools available", "  pool: \nconfig:\n", "  pool: tank\nconfig:\n\t\t\n\tNAME\n\t        deep ONLINE 0 0 0",
    "  pool: tank\nconfig:\n\tlogs\n\t\x1b[31m ONLINE", "\nconfig:" * 50,
])  # fmt: skip
def test_invalid_status_is_ignored(pool: Box, output: str) -> None:
    found = seen(pool, status=output)
    assert found.stack[1].id == "pool:tank"
    assert roles(found) == {}
