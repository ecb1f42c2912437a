import pytest

from fstui.model.counters import DeviceCounters, difference
from fstui.storage.counters import read_counters
from tests.factories.box import Box
from tests.factories.looking import edges, look, read

MOUNTSTATS = """\
device /dev/vda mounted on / with fstype ext4
device filer:/vol1 mounted on /srv/with\\040blank with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,rsize=1048576
\tage:\t120
\tbytes:\t10 20 30 40 50 {sent} 7 8
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\tper-op statistics
\t       READ: 5 5 0 1 1 1 1 1 0
\t      WRITE: {writes} {writes} 0 1 1 1 1 1 0
\t     COMMIT: {commits} {commits} 0 1 1 1 1 1 0
device other:/ mounted on /other with fstype nfs statvers=1.1
\t     COMMIT: 99999 1 0
"""


def test_fuseblk_has_program_and_disk(box: Box) -> None:
    box.disk("sdb", files={"device/model": "USB DISK"})
    box.mount("/dev/sdb", "/srv", "fuseblk")
    assert edges(look(box)) == {"mount:/srv": ("remote:/dev/sdb",), "remote:/dev/sdb": ("sdb",), "sdb": ()}


@pytest.mark.parametrize(("fstype", "words"), [
    ("cifs", "requests a flush from the server"), ("virtiofs", "virtiofsd"), ("fuse.sshfs", "fsync succeeds"),
    *((fstype, "") for fstype in ("nfs", "nfs4", "9p", "hostfs", "ceph", "fuse")),
])  # fmt: skip
def test_remote_filesystem_ends_at_its_server(box: Box, fstype: str, words: str) -> None:
    box.mount("filer:/vol1", "/srv", fstype)
    top, server = look(box).stack
    assert (server.layer, server.name, server.lowest, server.sync) == ("remote", "filer:/vol1", True, "unknown")
    assert top.sync == "unknown" and words in top.reason


def test_nfs_options_and_commits(box: Box) -> None:
    box.mount("filer:/vol1", r"/srv/with\040blank", "nfs4", super_options="rw,vers=4.2,hard,proto=tcp")
    box.write("/proc/self/mountstats", MOUNTSTATS.format(sent=1000, writes=3, commits=2))
    found = look(box, "/srv/with blank")
    top = found.stack[0]
    told = {what: read(top, what)[0] for what in ("vers", "hard", "sync_option", "commit_count")}
    assert told == {"vers": "4.2", "hard": "hard", "sync_option": "async", "commit_count": "2"}
    before = read_counters(found.stack, box.root)
    box.write("/proc/self/mountstats", MOUNTSTATS.format(sent=5096, writes=8, commits=2))
    assert difference(before, read_counters(found.stack, box.root)) == (
        DeviceCounters(device="mount:/srv/with blank", writes=5, written_bytes=4096, commits=0),
    )


@pytest.mark.parametrize(("options", "sync", "hard"), [
    ("rw,soft,sync", "sync", "soft"), ("rw,softerr", "async", "soft"), ("rw,hard", "async", "hard"),
])  # fmt: skip
def test_nfs_options(box: Box, options: str, sync: str, hard: str) -> None:
    box.mount("filer:/vol1", "/srv", "nfs", super_options=options)
    top = look(box).stack[0]
    assert (read(top, "sync_option")[0], read(top, "hard")[0]) == (sync, hard)
    assert top.reading("commit_count") is None
    assert top.sync == "unknown"


def test_nfs_without_statistics_counts_nothing(box: Box) -> None:
    box.mount("filer:/vol1", "/srv", "nfs4")
    assert read_counters(look(box).stack, box.root).devices == ()


def test_nostrictsync_stops_flushes(box: Box) -> None:
    box.mount("//nas/share", "/srv", "cifs", super_options="rw,vers=3.1.1,nostrictsync")
    top = look(box).stack[0]
    assert read(top, "strict_sync")[0] == "no"
    assert (top.sync, "nostrictsync" in top.reason) == ("stops", True)
