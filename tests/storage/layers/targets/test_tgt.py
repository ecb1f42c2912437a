"""Disks of this very box's own iSCSI target in user space."""

from __future__ import annotations

import os

import pytest

from fstui.storage.layers.sources.claims import Answer, Claims, line
from fstui.storage.layers.sources.sockets import CONNECTIONS
from fstui.storage.layers.targets.held_files import lies_at
from fstui.storage.layers.targets.tgt import TARGETS, Store, stores
from fstui.storage.questions import commands
from fstui.storage.survey import survey
from tests.factories.box import Box
from tests.factories.evidence import finding, verdict
from tests.factories.looking import edges, look
from tests.factories.steps import step

SESSION = "platform/host3/session1"
NAME = "iqn.2001-04.com.example:t1"
GIB = 1 << 30
SOCKETS = (
    'tcp   ESTAB 0      0          127.0.0.1:59108    127.0.0.1:3260  users:(("iscsid",pid=842,fd=7)) \n'
    'tcp   ESTAB 0      0          127.0.0.1:3260     127.0.0.1:59108 users:(("tgtd",pid=833,fd=10))  \n'
)


def shown(file: str, flags: str = "", target: str = NAME, kind: str = "rdwr") -> str:
    return (
        f"Target 1: {target}\n    System information:\n        Driver: iscsi\n    LUN information:\n"
        "        LUN: 0\n            Type: controller\n            Backing store type: null\n"
        "            Backing store path: None\n            Backing store flags: \n"
        f"        LUN: 1\n            Type: disk\n            Backing store type: {kind}\n"
        f"            Backing store path: {file}\n            Backing store flags: {flags}\n    Account information:\n"
    )


def told(
    file: str, flags: str = "", *, target: str = NAME, size_bytes: int = GIB, sockets: str = SOCKETS, kind: str = "rdwr"
) -> Claims:
    number = os.makedev(0, 25) if file.startswith("/dev/shm/") else 77
    stat = Answer(output=f"{number} 12 {size_bytes} 1\n")
    return {
        line(TARGETS): Answer(output=shown(file, flags, target, kind)),
        line(CONNECTIONS): Answer(output=sockets),
        **{line(lies_at(path)): stat for path in ("/proc/833/fd/5", file)},
    }


def box_with_disk(box: Box, file: str, address: str = "127.0.0.1", cache: str = "write back") -> None:
    box.disk("vda", "pci0000:00/0000:00:02.0/virtio1")
    box.mount("/dev/vda", "/", "ext4")
    box.mount("tmpfs", "/dev/shm", "tmpfs", device="0:25")
    home = f"/sys/devices/{SESSION}"
    box.write(f"{home}/connection1:0/iscsi_connection/connection1:0/address", address)
    box.write(f"{home}/iscsi_session/session1/targetname", NAME)
    files: dict[str, str | bytes] = {"device/vendor": "IET", "device/model": "VIRTUAL-DISK"}
    box.disk("sda", f"{SESSION}/target3:0:0/3:0:0:1", files=files, write_cache=cache)
    box.mount("/dev/sda", "/srv", "ext4")
    box.link("/proc/833/exe", "/usr/sbin/tgtd")
    box.link("/proc/833/fd/5", file)
    box.write("/proc/833/fdinfo/5", "pos:\t0\nflags:\t0100002\nmnt_id:\t26\n")


def test_what_tgtadm_tells() -> None:
    assert stores(shown("/a b", "sync direct"))[f"{NAME}/1"] == Store("/a b", "rdwr", frozenset({"sync", "direct"}))


def test_a_store_in_memory(box: Box) -> None:
    box_with_disk(box, "/dev/shm/disk")
    found = look(box, claims=told("/dev/shm/disk"))
    assert edges(found)["sda"] == ("file:/dev/shm/disk",)
    assert finding(verdict(found), "in-memory").verdict == "not-durable"


@pytest.mark.parametrize("flushes", [0, 1, 2])
def test_a_store_on_a_disk_is_honest_and_how_often_it_is_synced_is_its_servers_affair(box: Box, flushes: int) -> None:
    box_with_disk(box, "/images/disk")
    judged = verdict(look(box, claims=told("/images/disk")), step(flushes={"sda": 1, "vda": flushes}))
    assert (judged.verdict, judged.confidence) == ("consistent", "low")


def test_a_store_below_no_barriers(box: Box) -> None:
    box.ext4("vda", "rw nobarrier")
    box_with_disk(box, "/images/disk")
    assert verdict(look(box, claims=told("/images/disk"))).findings[0].rule == "barriers-off"


def test_a_store_that_syncs_each_write_is_owed_no_flush_above(box: Box) -> None:
    box_with_disk(box, "/images/disk", cache="write through")
    assert verdict(look(box, claims=told("/images/disk", "sync"))).verdict != "not-durable"
    assert verdict(look(box, claims=told("/images/disk"))).verdict == "not-durable"


@pytest.mark.parametrize(("kind", "file", "accused"), [
    ("aio", "/images/disk", True), ("rdwr", "/images/disk", False), ("aio", "/dev/sdb", False),
])  # fmt: skip
def test_tgtd_syncs_no_file_of_kind_aio(box: Box, kind: str, file: str, accused: bool) -> None:
    box.device("sdb")
    box_with_disk(box, file)
    judged = verdict(look(box, claims=told(file, kind=kind)))
    assert any(each.rule == "syncs-not-sent" for each in judged.findings) is accused


@pytest.mark.parametrize(("address", "claims"), [
    ("10.0.0.3", told("/dev/shm/disk")),
    ("127.0.0.1", told("/dev/shm/disk", target="iqn.another")),
    ("127.0.0.1", told("/dev/shm/disk", size_bytes=GIB // 2)),
    ("127.0.0.1", told("/dev/shm/other")),
    ("127.0.0.1", told("/dev/shm/disk", sockets="")),
], ids=["another box", "another target", "another size", "a file that it does not have", "no connection"])  # fmt: skip
def test_what_is_not_proved_is_not_followed(box: Box, address: str, claims: Claims) -> None:
    box_with_disk(box, "/dev/shm/disk", address)
    assert edges(look(box, claims=claims))["sda"] == ()


def test_it_is_asked_only_where_a_session_leads_here(box: Box) -> None:
    box_with_disk(box, "/dev/shm/disk")
    assert {TARGETS, CONNECTIONS} <= set(commands(survey(box.root), root=True))
    box.write(f"/sys/devices/{SESSION}/connection1:0/iscsi_connection/connection1:0/address", "10.0.0.3")
    assert TARGETS not in commands(survey(box.root), root=True)


def test_it_is_the_same_storage_whether_tools_were_asked_or_not(box: Box) -> None:
    box_with_disk(box, "/images/disk")
    assert look(box).identity == look(box, claims=told("/images/disk")).identity
