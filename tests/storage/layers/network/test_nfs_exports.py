"""An NFS server that is this very box: what it exports, and how."""

from __future__ import annotations

import pytest

from fstui.judge.facts.stack import Stack
from fstui.model.storage import Target
from fstui.storage.layers.network.own_servers import flags_at
from fstui.storage.layers.sources.claims import UNASKED, Answer, Claims, line
from fstui.storage.layers.sources.directories import seen_at
from fstui.storage.layers.sources.sockets import CONNECTIONS
from fstui.storage.questions import commands
from fstui.storage.survey import survey
from tests.factories.box import Box
from tests.factories.evidence import finding, rules, verdict
from tests.factories.looking import edges, look, read
from tests.factories.steps import step

VOLUMES = """\
NV SERVER   PORT DEV          FSID                              FSC
v4 0a000001  801 0:61         4000:0                            no
v4 {server} {port} 0:60         7:0                               no
"""
EXPORTS = """\
# Version 1.1
# Path Client(Flags) # IPs
{path}\t{client}(rw,no_root_squash,{flags},wdelay,no_subtree_check,fsid=7,sec=1)
"""
DIRECTORY = "12 1795448016.648079866 1795448016.648079866\n"
WORDS = ("always", "standard")
PAIR = (("/srv", "sync"), ("/srv/data", "async"))
ADDRESSES = """\
Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 10.9.0.0
        /24 link UNICAST
     |-- 10.9.0.7
        /32 host LOCAL
     |-- 10.9.0.255
        /32 link BROADCAST
"""


def serve(box: Box, flags: str, *, server: str = "7f000001", port: str = " 801", path: str = "/srv/data") -> None:
    box.write("/proc/net/nfsfs/volumes", VOLUMES.format(server=server, port=port))
    box.write("/proc/net/fib_trie", ADDRESSES)
    box.write("/proc/fs/nfsd/exports", EXPORTS.format(path=path, client="*", flags=flags))
    box.mount("127.0.0.1:/srv/data", "/srv", "nfs4", device="0:60", super_options="rw,vers=4.2,hard")


@pytest.mark.parametrize("server", ["7f000001", "0a090007", "0" * 31 + "1"])
def test_a_server_of_this_box_that_answers_at_once_is_told_by_its_own_exports(box: Box, server: str) -> None:
    serve(box, "async", server=server)
    seen = look(box)
    assert read(seen.stack[0], "export") == ("async", "/proc/fs/nfsd/exports")
    assert seen.stack[0].sync == "stops"
    found = finding(verdict(seen), "syncs-not-sent")
    assert found.verdict == "not-durable"
    assert "is exported with async" in found.sentence


def test_an_export_that_says_sync_is_named_and_nobody_is_accused(box: Box) -> None:
    serve(box, "sync")
    found = verdict(look(box))
    assert read(look(box).stack[0], "export")[0] == "sync"
    assert (found.verdict, "syncs-not-sent" in rules(found)) == ("cannot-tell", False)


@pytest.mark.parametrize("elsewhere", [
    {"server": "0a090008"}, {"server": "0a0900ff"}, {"port": " 802"}, {"path": "/srv/other"}, {"path": "/srv/data/sub"},
    {"path": "/srv/dat"},
], ids=str)  # fmt: skip
def test_another_server_another_port_and_another_directory_are_not_this_export(
    box: Box, elsewhere: dict[str, str]
) -> None:
    serve(box, "async", **elsewhere)
    assert look(box).stack[0].reading("export") is None


def test_clients_that_are_told_different_things_leave_it_open(box: Box) -> None:
    serve(box, "async")
    text = EXPORTS.format(path="/srv/data", client="10.0.0.0/8", flags="sync")
    box.write("/proc/fs/nfsd/exports", EXPORTS.format(path="/srv/data", client="*", flags="async") + text)
    assert look(box).stack[0].reading("export") is None


def test_the_nearest_export_counts_and_the_way_down_to_it_is_none(box: Box) -> None:
    serve(box, "async", path="/srv")
    way = EXPORTS.format(path="/", client="*", flags="sync,v4root")
    box.write("/proc/fs/nfsd/exports", way + EXPORTS.format(path="/srv", client="*", flags="async"))
    assert read(look(box).stack[0], "export")[0] == "async"


def test_a_path_of_nfs4_begins_at_the_export_that_is_its_root(box: Box) -> None:
    serve(box, "sync", path="/elsewhere")
    root = "/export\t*(rw,sync,fsid=0,sec=1)\n/export/srv/data\t*(rw,async,sec=1)\n"
    box.write("/proc/fs/nfsd/exports", root)
    box.mount("/dev/sda", "/export/srv/data", "ext4")
    assert read(look(box).stack[0], "export")[0] == "async"


@pytest.mark.parametrize(("fstype", "told"), [("nfs4", None), ("nfs", "async")])
def test_a_directory_called_as_an_export_below_that_root_may_be_either(box: Box, fstype: str, told: str | None) -> None:
    """The root may be that of other clients alone; older versions name the directory itself."""
    serve(box, "sync")
    box.write("/proc/fs/nfsd/exports", "/export\t*(rw,sync,fsid=0,sec=1)\n/srv/data\t*(rw,async,sec=1)\n")
    box.mount("/dev/sda", "/srv/data", "ext4")
    box.mount("127.0.0.1:/srv/data", "/mnt", fstype, device="0:60", super_options="rw,hard")
    reading = look(box, "/mnt").stack[0].reading("export")
    assert (reading and reading.value) == told


def test_a_server_named_by_its_sixth_version_address(box: Box) -> None:
    serve(box, "async", server="0" * 31 + "1")
    box.mount("[::1]:/srv/data", "/mnt", "nfs4", device="0:60", super_options="rw,hard")
    assert read(look(box, "/mnt").stack[0], "export")[0] == "async"


def test_a_box_with_many_addresses_knows_its_last(box: Box) -> None:
    serve(box, "async", server="0a090007")
    others = "".join(f"     |-- 10.8.{place >> 8}.{place & 255}\n        /32 link UNICAST\n" for place in range(2000))
    box.write("/proc/net/fib_trie", others + ADDRESSES)
    assert read(look(box).stack[0], "export")[0] == "async"


@pytest.mark.parametrize(("fstype", "mounted", "told"), [
    ("nfs4", (), None), ("nfs4", ("/srv/data",), "async"), ("nfs4", ("/srv",), None), ("nfs", (), "async"),
])  # fmt: skip
def test_nfs4_comes_to_a_nearer_export_only_where_something_is_mounted(
    box: Box, fstype: str, mounted: tuple[str, ...], told: str | None
) -> None:
    """Counted in a guest: below the directory that is exported async, the server flushed all the same."""
    box.write("/proc/net/nfsfs/volumes", VOLUMES.format(server="7f000001", port=" 801"))
    both = (EXPORTS.format(path=path, client="*", flags=flags) for path, flags in PAIR)
    box.write("/proc/fs/nfsd/exports", "".join(both))
    for place in mounted:
        box.mount("/dev/sda", place, "ext4")
    box.mount("127.0.0.1:/srv/data", "/mnt", fstype, device="0:60", super_options="rw,hard")
    reading = look(box, "/mnt").stack[0].reading("export")
    assert (reading and reading.value) == told


@pytest.mark.parametrize(("options", "told"), [("rw,sync", None), ("rw", "async")])
def test_a_filesystem_that_is_mounted_sync_keeps_what_an_async_export_answers_early(
    box: Box, options: str, told: str | None
) -> None:
    serve(box, "async")
    box.mount("/dev/sda", "/srv/data", "ext4", super_options=options)
    box.mount("127.0.0.1:/srv/data", "/mnt", "nfs4", device="0:60", super_options="rw,hard")
    reading = look(box, "/mnt").stack[0].reading("export")
    assert (reading and reading.value) == told


def test_a_dataset_that_is_always_synced_keeps_it_too(box: Box) -> None:
    serve(box, "async")
    box.mount("tank/data", "/srv/data", "zfs")
    box.mount("127.0.0.1:/srv/data", "/mnt", "nfs4", device="0:60", super_options="rw,hard")
    said = {"zfs get -H -p -o name,property,value,source sync tank/data": "tank/data\tsync\t{}\tlocal\n"}
    kept, asked = ({line: Answer(output=text.format(sync)) for line, text in said.items()} for sync in WORDS)
    assert look(box, "/mnt", kept).stack[0].reading("export") is None
    assert read(look(box, "/mnt", asked).stack[0], "export")[0] == "async"


@pytest.mark.parametrize(("flags", "told"), [("--S---------e-------", None), ("----s--------e------", "async")])
def test_a_directory_whose_files_are_each_written_for_good_keeps_it_too(box: Box, flags: str, told: str | None) -> None:
    serve(box, "async")
    box.mount("/dev/sda", "/srv/data", "ext4")
    box.mount("127.0.0.1:/srv/data", "/mnt", "nfs4", device="0:60", super_options="rw,hard")
    said = {line(flags_at("/srv/data")): Answer(output=f"{flags} /srv/data\n")}
    assert said.keys() <= {line(command) for command in commands(survey(box.root), root=False)}
    reading = look(box, "/mnt", said).stack[0].reading("export")
    assert (reading and reading.value) == told


@pytest.mark.parametrize(("answered", "told"), [(0, False), (32, True)])
def test_what_everybody_may_read_is_of_the_namespace_in_which_the_server_answers(
    box: Box, answered: int, told: bool
) -> None:
    serve(box, "async")
    box.write("/proc/net/rpc/nfsd", f"rc 0 0 {answered}\nnet {answered} 0 {answered} 1\nrpc {answered} 0 0 0 0\n")
    assert ("syncs-not-sent" in rules(verdict(look(box)))) is told


def test_root_knows_that_our_namespace_exports_nothing(box: Box) -> None:
    serve(box, "async")
    box.write("/proc/net/rpc/nfsd.export/content", "#path domain(flags)\n")
    assert look(box).stack[0].reading("export") is None


def on(
    box: Box, *, fstype: str = "ext4", seen: str = DIRECTORY, source: str = "/srv/data", more: Claims = UNASKED
) -> Target:
    """A mount at /mnt of what lies at /srv/data, and what stat says of both."""
    serve(box, "sync", path=source)
    box.disk("sda")
    box.mount("/dev/sda", "/srv/data", fstype, super_options="rw,nobarrier" if fstype == "btrfs" else "rw")
    box.mount(f"127.0.0.1:{source}", "/mnt", "nfs4", device="0:60", super_options="rw,hard")
    said = {line(seen_at("/mnt")): Answer(output=seen), line(seen_at(source)): Answer(output=DIRECTORY)}
    assert said.keys() <= {line(command) for command in commands(survey(box.root), root=False)}
    return look(box, "/mnt", {**said, **more})


def test_what_this_box_exports_from_memory_is_in_memory(box: Box) -> None:
    found = on(box, fstype="tmpfs")
    assert edges(found)["remote:127.0.0.1:/srv/data on mount:/srv/data"] == ("mount:/srv/data",)
    judged = verdict(found)
    assert (judged.verdict, finding(judged, "in-memory").title) == ("not-durable", "in memory (tmpfs)")


@pytest.mark.parametrize(("owner", "verdict_"), [
    ("", "not-durable"), ('users:(("ganesha.nfsd",pid=802,fd=5))', "not-durable"),
    ('users:(("socat",pid=803,fd=5))', "cannot-tell"),
], ids=["the kernel", "a server of this box", "what hands on"])  # fmt: skip
def test_a_copy_of_one_image_behind_a_forwarded_port_is_not_followed(box: Box, owner: str, verdict_: str) -> None:
    for number, program in (("802", "/usr/bin/ganesha.nfsd"), ("803", "/usr/bin/socat")):
        box.link(f"/proc/{number}/exe", program)
    talk = f"tcp ESTAB 0 0 127.0.0.1:701 127.0.0.1:2049 \ntcp ESTAB 0 0 127.0.0.1:2049 127.0.0.1:701 {owner}\n"
    found = on(box, fstype="tmpfs", more={line(CONNECTIONS): Answer(output=talk)})
    assert verdict(found).verdict == verdict_


def test_what_this_box_exports_without_barriers_has_none(box: Box) -> None:
    judged = verdict(on(box, fstype="btrfs"))
    assert (judged.verdict, judged.findings[0].rule) == ("not-durable", "barriers-off")


def test_what_it_exports_from_a_disk_is_no_reason_for_praise(box: Box) -> None:
    found = on(box)
    assert [node.id for node in Stack(found).lowest] == ["remote:127.0.0.1:/srv/data on mount:/srv/data"]
    judged = verdict(found, step(flushes={"sda": 0}))
    assert (judged.verdict, judged.findings[0].rule) == ("cannot-tell", "remote-filesystem")


@pytest.mark.parametrize("seen", [
    "", "13 1795448016.648079866 1795448016.648079866\n", "12 1795448016.648079866 1795448017.648079866\n",
    "stat: unrecognized option",
])  # fmt: skip
def test_another_directory_of_that_name_is_not_followed(box: Box, seen: str) -> None:
    """The server's mount namespace is another, or another filesystem was mounted there later."""
    found = on(box, fstype="tmpfs", seen=seen)
    assert edges(found)["remote:127.0.0.1:/srv/data"] == ()
    assert verdict(found).verdict == "cannot-tell"


def test_whether_it_was_followed_makes_no_other_storage_of_it(box: Box) -> None:
    followed = on(box)
    assert followed.identity == look(box, "/mnt").identity
    assert edges(followed) != edges(look(box, "/mnt"))


def test_where_the_servers_filesystem_is_not_mounted_root_reads_its_cache(box: Box) -> None:
    serve(box, "async")
    box.write("/proc/net/rpc/nfsd.export/content", EXPORTS.format(path="/srv/data", client="*", flags="async"))
    box.write("/proc/fs/nfsd/exports", "")
    assert read(look(box).stack[0], "export") == ("async", "/proc/net/rpc/nfsd.export/content")


@pytest.mark.parametrize(("listening", "port", "told"), [
    ("tcp 20490\nudp 20490", "500a", True), ("tcp 20490\ntcp 2049", " 801", True),
    ("tcp 20490", " 801", False), ("", " 801", False),
])  # fmt: skip
def test_the_kernels_server_is_where_it_listens(box: Box, listening: str, port: str, told: bool) -> None:
    """A program may serve on the usual port, beside exports that the kernel still knows of."""
    serve(box, "async", port=port)
    box.write("/proc/fs/nfsd/portlist", listening)
    assert ("syncs-not-sent" in rules(verdict(look(box)))) is told
