"""DRBD as 8.4 and 9 tell it: 8.4's lines are those of 8.4.11 on Linux 6.12."""

from __future__ import annotations

from pathlib import Path

import pytest

from fstui.model.storage import Node, Target
from fstui.storage.counters import read_counters
from fstui.storage.layers import kind
from fstui.storage.layers.handing import Member
from fstui.storage.layers.stacked.drbd import DEBUGFS, PROC
from fstui.storage.survey import survey
from tests.factories.box import Box
from tests.factories.looking import edges, read, roles, target, trouble

HEAD = "version: 8.4.11 (api:1/proto:86-101)\nsrcversion: 637677C4EAFCF5D1D5446B0"
COUNTS = "    ns:0 nr:0 dw:567873 dr:4027 al:8 bm:0 lo:0 pe:0 ua:0 ap:0 ep:1 wo:{} oos:524236"
PEER = f"{DEBUGFS}/resources/data/connections/{{}}/0/proc_drbd"


@pytest.fixture
def box(tmp_path: Path) -> Box:
    """ext4 on drbd0, on sda."""
    box = Box(tmp_path)
    box.disk("sda")
    box.device("drbd0", slaves=("sda",), iostats=0)
    box.mount("/dev/drbd0", "/srv", "ext4")
    return box


def told(box: Box, line: str, ordering: str = "f", minor: int = 0) -> None:
    """8.4's file; the device is the second of two, after a gap."""
    other = " 7: cs:Connected ro:Secondary/Primary ds:UpToDate/UpToDate A r-----"
    lines = [HEAD, f"{minor:2}: {line}", COUNTS.format(ordering), "", other, COUNTS.format("d")]
    box.write(PROC, "\n".join(lines))


def of_peer(box: Box, peer: str, line: str) -> None:
    """One file of 9's; its write ordering is a number."""
    counts = "    ns:0 nr:0 dw:4 dr:12 al:1 bm:0 lo:0 pe:[0;0] ua:0 ap:[0;0] ep:1 wo:2 oos:0"
    box.write(PEER.format(peer), f" 0: {line}\n{counts}\n\tblocked on activity log: 0/0/0")


def drbd(box: Box) -> Node:
    return look(box).node("drbd0")


def look(box: Box) -> Target:
    return target(survey(box.root), "/srv")


def test_what_version_8_tells_everybody(box: Box) -> None:
    told(box, "cs:Connected ro:Primary/Secondary ds:UpToDate/UpToDate C r-----")
    node = drbd(box)
    assert (node.kind, node.name, node.below, trouble(node)) == ("drbd", "drbd0", ("sda",), [])
    assert read(node, "connection") == ("Connected", PROC)
    assert read(node, "node_role") == ("Primary/Secondary", PROC)
    assert read(node, "disk_state") == ("UpToDate/UpToDate", PROC)
    assert read(node, "protocol") == ("C", PROC)
    assert read(node, "write_ordering") == ("flush", PROC)
    assert edges(look(box)) == {"mount:/srv": ("drbd0",), "drbd0": ("sda",), "sda": ()}


def test_version_9_tells_root_of_every_peer(box: Box) -> None:
    box.write(PROC, "version: 9.2.12 (api:2/proto:118-122)\nTransports (api:21): tcp (9.2.12)")
    box.link(f"{DEBUGFS}/minors/0", "../resources/data/volumes/0")
    of_peer(box, "berlin", "cs:Established ro:Primary/Secondary ds:UpToDate/UpToDate C r-----")
    of_peer(box, "oslo", "cs:Off ro:Primary/Unknown ds:UpToDate/DUnknown A r-----")
    node = drbd(box)
    assert node.name == "data/0"
    assert read(node, "resource") == ("data/0", f"{DEBUGFS}/minors/0")
    assert [(it.value, it.path) for it in node.readings if it.what == "connection"] == [
        ("Established", PEER.format("berlin")),
        ("Off", PEER.format("oslo")),
    ]
    assert read(node, "write_ordering") == ("flush", PEER.format("berlin"))
    assert trouble(node) == [("connection", "Off")]


def test_version_9_tells_others_nothing(box: Box) -> None:
    box.write(PROC, "version: 9.2.12 (api:2/proto:118-122)\nTransports (api:21): tcp (9.2.12)")
    node = drbd(box)
    assert read(node, "missing") == ("DRBD's state: 8.4 tells it to everybody, 9 to root", PROC)
    assert (node.sync, node.because) == ("passes", "a flush goes to the disk below")


@pytest.mark.parametrize(
    ("line", "because"),
    [
        (
            "cs:Connected ro:Primary/Secondary ds:UpToDate/UpToDate C r-----",
            "a flush goes to the disk below; by then the peer has written the data (protocol C)",
        ),
        (
            "cs:SyncSource ro:Primary/Secondary ds:UpToDate/Inconsistent B r-----",
            "a flush goes to the disk below; by then the peer has the data in memory (protocol B)",
        ),
        (
            "cs:Connected ro:Primary/Secondary ds:UpToDate/UpToDate A r-----",
            "a flush goes to the disk below; by then the peer may not have the data yet (protocol A)",
        ),
        (
            "cs:WFConnection ro:Primary/Unknown ds:UpToDate/DUnknown C r-----",
            "a flush goes to the disk below; no peer is connected",
        ),
        (
            "cs:StandAlone ro:Primary/Unknown ds:UpToDate/DUnknown   r----s",
            "a flush goes to the disk below; no peer is connected",
        ),
    ],
)
def test_what_a_flush_is_worth_is_said_by_protocol(box: Box, line: str, because: str) -> None:
    told(box, line)
    assert (drbd(box).sync, drbd(box).because) == ("passes", because)


def test_the_weakest_promise_of_several_peers_counts(box: Box) -> None:
    box.link(f"{DEBUGFS}/minors/0", "../resources/data/volumes/0")
    of_peer(box, "berlin", "cs:Established ro:Primary/Secondary ds:UpToDate/UpToDate C r-----")
    of_peer(box, "oslo", "cs:Established ro:Primary/Secondary ds:UpToDate/UpToDate A r-----")
    assert drbd(box).because.endswith("the peer may not have the data yet (protocol A)")


def test_without_a_disk_of_its_own_it_is_a_network_device(box: Box) -> None:
    box.device("drbd1")
    box.mount("/dev/drbd1", "/far", "ext4")
    told(box, "cs:Connected ro:Primary/Secondary ds:Diskless/UpToDate C r-----", minor=1)
    node = target(survey(box.root), "/far").node("drbd1")
    assert node.sync == "unknown"
    assert node.medium is not None
    assert node.medium.class_ == "network"
    assert trouble(node) == [("disk_state", "Diskless/UpToDate")]


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ("cs:StandAlone ro:Primary/Unknown ds:UpToDate/DUnknown   r-----", [("connection", "StandAlone")]),
        (
            "cs:SyncTarget ro:Primary/Primary ds:Inconsistent/UpToDate C r-----",
            [("connection", "SyncTarget"), ("disk_state", "Inconsistent/UpToDate")],
        ),
        ("cs:Connected ro:Primary/Secondary ds:UpToDate/UpToDate C s-----", [("io", "suspended")]),
    ],
)
def test_what_keeps_it_from_being_two_good_copies(box: Box, line: str, state: list[tuple[str, str]]) -> None:
    told(box, line)
    assert trouble(drbd(box)) == state


@pytest.mark.parametrize(("letter", "ordering"), [("f", "flush"), ("d", "drain"), ("n", "none"), ("b", "barrier")])
def test_how_it_orders_what_a_peer_sends(box: Box, letter: str, ordering: str) -> None:
    told(box, "cs:Connected ro:Primary/Secondary ds:UpToDate/UpToDate C r-----", letter)
    assert read(drbd(box), "write_ordering") == (ordering, PROC)


@pytest.mark.parametrize(
    ("metadata_sectors", "told", "handed"),
    [(262144, {"sda": "data", "sdb": "metadata"}, ("each", "sometimes")), (2097152, {}, ("sometimes", "sometimes"))],
    ids=["smaller", "it might hold the data"],
)
def test_a_metadata_device_is_not_asked_for_every_flush(
    tmp_path: Path, metadata_sectors: int, told: dict[str, str], handed: tuple[str, str]
) -> None:
    """8.4.11 with a metadata device of its own: of 500 syncs 500 came as flushes to the disk, and none to the other."""
    box = Box(tmp_path)
    box.disk("sda")
    box.device("sdb", request_based=True, sectors=metadata_sectors)
    box.device("drbd0", slaves=("sda", "sdb"))
    box.mount("/dev/drbd0", "/srv", "ext4")
    found = look(box)
    assert roles(found) == told
    ways = (Member(name, told.get(name)) for name in ("sda", "sdb"))
    beside = tuple(told.get(name) for name in ("sda", "sdb"))
    assert tuple(kind("drbd").hands(found.stack[1], way, beside, found.stack[0]).flushes for way in ways) == handed


def test_it_counts_though_its_queue_says_that_it_does_not(box: Box) -> None:
    """8.4.11: iostats is 0, and stat counts every bio; flushes are counted by the disk below."""
    counters = read_counters([drbd(box)], box.root).device("drbd0")
    assert counters is not None
    assert (counters.writes, counters.flushes) == (200, None)


def test_nonsense_is_no_reading(box: Box) -> None:
    box.write(PROC, f"{HEAD}\n 0: cs:Unconfigured\n 1: cs:\xff ro:/ ds:")
    assert read(drbd(box), "missing")[0].startswith("DRBD's state")
