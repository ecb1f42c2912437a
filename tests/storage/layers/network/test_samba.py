"""An SMB server that is this very box's Samba."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from fstui.model.judgement import Judgement
from fstui.storage.layers.network.own_servers import flags_at
from fstui.storage.layers.network.samba import CHANGED, CONNECTIONS, FILE, listening, path, strict_sync
from fstui.storage.layers.sources.claims import Answer, Claims, line
from fstui.storage.layers.sources.directories import seen_at
from fstui.storage.layers.sources.sockets import CONNECTIONS as SOCKETS
from fstui.storage.questions import commands
from fstui.storage.survey import survey
from tests.factories.box import Box
from tests.factories.evidence import finding, rules, verdict
from tests.factories.looking import look

BOOTED, TICKS = 1_700_000_000, 4242
STARTED = BOOTED + TICKS // os.sysconf("SC_CLK_TCK")
LISTENER = 'LISTEN 0 50 {}:{} 0.0.0.0:* users:(("{}",pid=802,fd=30))\n'
KERNELS_OWN = "LISTEN 0 64 1.2.3.4:1445 0.0.0.0:*\n"
SAID = "Load smb config files from /etc/samba/smb.conf\nLoaded services file OK.\n{}\n"
DIRECTORY = "12 1795448016.648079866 1795448016.648079866\n"
MOUNTED = "12 1795448016.648079800 1795448016.648079800\n"
CONNECTED = """\
Servers:
1) ConnectionId: 0x1 Hostname: localhost
Local Users To Server: 1 SecMode: 0x1 Req On Wire: 0 Net namespace: {}

\tSessions:
\t1) Address: {} Uses: 1 Capability: 0x300047\tSession Status: 1
"""


def serve(
    box: Box,
    *,
    address: str = "127.0.0.1",
    settings: str = "[global]\nstrict sync = no\n[data]\npath = /data/shared\n",
    command: str = "/usr/sbin/smbd --foreground",
    program: str = "/usr/sbin/smbd",
    namespace: str = "mnt:[4026531841]",
    fstype: str = "ext4",
    options: str = "rw",
) -> None:
    box.disk("sda")
    box.mount("tank/data" if fstype == "zfs" else "/dev/sda", "/data", fstype, super_options=options)
    box.mount(
        "//localhost/data",
        "/srv",
        "cifs",
        super_options=f"rw,vers=3.0,serverino,addr={address},port=1445" if address else "rw",
    )
    box.write(FILE, settings)
    box.write("/proc/stat", f"cpu 1 2 3\nbtime {BOOTED}")
    box.write("/proc/802/stat", f"802 (smbd) S 1 {'0 ' * 17}{TICKS} 0 0")
    box.write("/proc/802/cmdline", command.replace(" ", "\0") + "\0")
    box.link("/proc/802/exe", program)
    for number, where in (("self", "mnt:[4026531841]"), ("802", namespace)):
        box.link(f"/proc/{number}/ns/mnt", where)
        box.link(f"/proc/{number}/root", "/")


def told(
    strict: str = "No",
    *,
    program: str = "smbd",
    changed: int = STARTED - 60,
    more: str = "",
    place: str = "/data/shared",
    mounted: str = MOUNTED,
) -> Claims:
    """What ``ss``, ``testparm`` and ``stat`` answer."""
    lines = LISTENER.format("0.0.0.0", 1445, program) + LISTENER.format("[::]", 1445, program) + more
    return {
        line(listening("1445")): Answer(output=lines),
        line(strict_sync("data")): Answer(output=SAID.format(strict)),
        line(CHANGED): Answer(output=f"{changed}\n"),
        line(path("data")): Answer(output=SAID.format(place)),
        line(seen_at("/srv")): Answer(output=mounted),
        line(seen_at("/data/shared")): Answer(output=DIRECTORY),
    }


def judged(box: Box, claims: Claims) -> Judgement:
    return verdict(look(box, claims=claims))


def test_a_samba_of_this_box_that_flushes_nothing_is_told_by_its_own_settings(box: Box) -> None:
    serve(box)
    found = finding(judged(box, told()), "syncs-not-sent")
    assert found.title == "served strict sync = no: no flush is asked for"
    assert "this very box's own Samba" in found.sentence


def test_a_shared_directory_whose_mode_was_changed_later_is_known_by_its_modification(box: Box) -> None:
    """Samba 4.17 gives that for both."""
    serve(box)
    changed = Answer(output="12 1795448016.648079866 1795448099.100000000\n")
    claims = {**told(), line(seen_at("/data/shared")): changed}
    assert finding(judged(box, claims), "syncs-not-sent")
    other = Answer(output="12 1795448016.648079800 1795448050.000000000\n")
    assert "syncs-not-sent" not in rules(judged(box, {**claims, line(seen_at("/srv")): other}))


def test_settings_that_were_put_there_with_an_older_date_are_new(tmp_path: Path) -> None:
    backup = tmp_path / "smb.conf"
    backup.touch()
    os.utime(backup, (0, 0))
    answered = subprocess.run([*CHANGED[:-1], backup], capture_output=True, check=True)
    assert int(answered.stdout) > STARTED


def test_root_asks_for_what_must_be_known_of_the_server(box: Box) -> None:
    serve(box)
    asked = {line(command) for command in commands(survey(box.root), root=True)}
    further = {line(command) for command in commands(survey(box.root, told()), root=True)}
    assert told().keys() <= further
    assert further - asked == {*map(line, (seen_at("/srv"), seen_at("/data/shared"), flags_at("/data/shared")))}
    assert not told().keys() & {line(command) for command in commands(survey(box.root), root=False)}


@pytest.mark.parametrize("claims", [
    {}, told("Yes"), told(program="proxy"), told(changed=STARTED + 1), told("Unknown section data"),
    told(more=LISTENER.format("1.2.3.4", 1445, "other")), told(more=KERNELS_OWN),
    {**told(), line(CHANGED): Answer(error="no such file")}, told(place="/data/%U"), told(place="/elsewhere"),
    told(mounted=MOUNTED.replace("12", "13", 1)), told(mounted=MOUNTED.replace("6480798", "6480797")),
])  # fmt: skip
def test_what_cannot_be_read_for_certain_accuses_nobody(box: Box, claims: Claims) -> None:
    serve(box)
    assert "syncs-not-sent" not in rules(judged(box, claims))


@pytest.mark.parametrize("server", [
    {"address": "10.1.2.3"}, {"address": ""}, {"command": "/usr/sbin/smbd -s /etc/other.conf"},
    {"command": "/usr/sbin/smbd -Ds /etc/other.conf"},
    {"command": "/usr/sbin/smbd --configfile=/etc/other.conf"}, {"command": "/usr/sbin/smbd --option=strictsync=yes"},
    {"program": "/usr/local/samba/sbin/smbd"}, {"namespace": "mnt:[4026532999]"},
    {"settings": "[global]\n  include = registry\n"}, {"settings": "[global]\nconfig backend = registry\n"},
])  # fmt: skip
def test_a_server_that_may_read_other_settings_is_not_followed(box: Box, server: dict[str, str]) -> None:
    serve(box, **server)
    assert "syncs-not-sent" not in rules(judged(box, told()))


@pytest.mark.parametrize(("file", "content"), [
    ("/proc/802/stat", f"802 (smbd) S 1 {'0 ' * 17}odd 0 0"), ("/proc/802/stat", "802 (smbd) S"),
    ("/proc/stat", f"btime {'9' * 5000}"), ("/proc/stat", "btime soon"),
], ids=["no number", "cut off", "too many digits", "no time"])  # fmt: skip
def test_odd_times_are_none(box: Box, file: str, content: str) -> None:
    serve(box)
    box.write(file, content)
    assert "syncs-not-sent" not in rules(judged(box, told()))


@pytest.mark.parametrize(("fstype", "options", "always"), [
    ("ext4", "rw,sync", ""), ("zfs", "rw,xattr", "tank/data\tsync\talways\tlocal\n"),
])  # fmt: skip
def test_what_keeps_each_write_by_itself_needs_no_flush(box: Box, fstype: str, options: str, always: str) -> None:
    serve(box, fstype=fstype, options=options)
    properties = {"zfs get -H -p -o name,property,value,source sync tank/data": Answer(output=always)}
    found = judged(box, {**told(), **properties})
    assert (found.verdict, "syncs-not-sent" in rules(found)) == ("cannot-tell", False)


def test_a_dataset_that_keeps_what_is_synced_is_asked_for_nothing(box: Box) -> None:
    serve(box, fstype="zfs")
    assert "syncs-not-sent" in rules(judged(box, told()))


@pytest.mark.parametrize(("address", "namespace", "accused"), [
    ("127.0.0.1", "4026531840", True), ("127.0.0.1", "4026532999", False), ("10.1.2.3", "4026532999", True),
])  # fmt: skip
def test_an_own_address_of_another_network_namespace_is_another_server(
    box: Box, address: str, namespace: str, accused: bool
) -> None:
    serve(box)
    box.link("/proc/self/ns/net", "net:[4026531840]")
    box.write(CONNECTIONS, CONNECTED.format(namespace, address))
    assert ("syncs-not-sent" in rules(judged(box, told()))) is accused


@pytest.mark.parametrize(("servers", "accused"), [(1, True), (2, False)])
def test_a_kernel_that_tells_no_namespace_must_have_as_many_connections_here(
    box: Box, servers: int, accused: bool
) -> None:
    """Linux 6.1: a Samba of another network namespace served the same directory, and flushed."""
    serve(box)
    box.write(CONNECTIONS, servers * "1) ConnectionId: 0x1 Hostname: localhost\n\t1) Address: 127.0.0.1 Uses: 1\n")
    here = (
        "tcp   ESTAB 0      0               127.0.0.1:51640    127.0.0.1:1445 \n"
        'tcp   ESTAB 0      0               127.0.0.1:1445    127.0.0.1:51640 users:(("smbd",pid=802,fd=33))\n'
    )
    assert ("syncs-not-sent" in rules(judged(box, {**told(), line(SOCKETS): Answer(output=here)}))) is accused


@pytest.mark.parametrize(("place", "namespace", "verdict_"), [
    ("/data/shared", "mnt:[4026531841]", "not-durable"), ("/data/shared", "mnt:[4026532999]", "cannot-tell"),
    ("/%S/shared", "mnt:[4026531841]", "not-durable"), ("/%m/shared", "mnt:[4026531841]", "cannot-tell"),
], ids=["proved", "a container's server", "a known variable", "an unknown one"])  # fmt: skip
def test_what_a_share_is_kept_in_is_followed_where_its_server_is_ours(
    box: Box, place: str, namespace: str, verdict_: str
) -> None:
    serve(box, fstype="tmpfs", namespace=namespace)
    found = judged(box, told("Yes", place=place))
    assert found.verdict == verdict_
    assert ("in-memory" in rules(found)) is (verdict_ == "not-durable")


def test_where_something_is_mounted_within_the_share_nobody_knows_which_holds_it(box: Box) -> None:
    serve(box, fstype="tmpfs")
    box.mount("/dev/sda", "/data/shared/sub", "ext4")
    assert judged(box, told("Yes")).verdict == "cannot-tell"
