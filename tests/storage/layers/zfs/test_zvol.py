"""Volumes of a ZFS pool: their names, and what a flush of one is worth."""

from __future__ import annotations

import pytest

from fstui.model.storage import Node, Target
from fstui.storage.claims import Answer
from fstui.storage.layers.kinds import sync_of
from fstui.storage.survey import commands, survey
from tests.factories.box import Box
from tests.factories.evidence import finding, rules, verdict
from tests.factories.looking import edges, look, read, roles, target
from tests.factories.steps import step

GET = "zfs get -H -p -o name,property,value,source sync,logbias tank/vm/data"


@pytest.fixture
def volume(box: Box) -> Box:
    """ext4 on one volume of two, as udev links them."""
    for name, link in (("zd0", "tank/other"), ("zd16", "tank/vm/data")):
        box.device(name)
        box.link(f"/dev/zvol/{link}", f"{'../' * (link.count('/') + 2)}{name}")
    box.mount("/dev/zd16", "/srv", "ext4")
    return box


def zvol(found: Target) -> Node:
    return next(node for node in found.stack if node.kind == "zvol")


def seen(box: Box, sync: str) -> Node:
    told = f"tank/vm/data\tsync\t{sync}\tlocal\ntank/vm/data\tlogbias\tlatency\tdefault\n"
    return zvol(target(survey(box.root, claims={GET: Answer(output=told)}), "/srv"))


def test_its_name_is_that_of_its_link_and_its_properties_are_asked_for(volume: Box) -> None:
    inventory = survey(volume.root)
    node = zvol(target(inventory, "/srv"))
    assert (node.id, node.name) == ("zd16", "tank/vm/data")
    assert read(node, "volume") == ("tank/vm/data", "/dev/zvol/tank/vm/data")
    assert tuple(GET.split()) in commands(inventory)


@pytest.mark.parametrize(("sync", "path"), [("disabled", "stops"), ("standard", "passes"), ("always", "passes")])
def test_what_a_flush_of_it_is_worth(volume: Box, sync: str, path: str) -> None:
    node = seen(volume, sync)
    assert read(node, "sync") == (sync, "zfs get sync tank/vm/data (local)")
    assert sync_of(node)[0] == path


def test_without_links_or_answers_nothing_is_told(box: Box) -> None:
    box.device("zd0")
    box.mount("/dev/zd0", "/srv", "ext4")
    node = zvol(look(box))
    assert (node.name, node.reading("sync"), sync_of(node)[0]) == ("zd0", None, "unknown")


STATUS = """\
  pool: tank
 state: ONLINE
config:

\tNAME          STATE     READ WRITE CKSUM
\ttank          ONLINE       0     0     0
\t  /dev/{disk}      ONLINE       0     0     0
\tlogs
\t  /dev/sdl      ONLINE       0     0     0

errors: No known data errors
"""


def on_pool(box: Box, disk: str) -> Target:
    """The volume on a pool of that disk, with a log of its own."""
    box.disk("sdl")
    answers = {"zpool status -L -P tank": Answer(output=STATUS.format(disk=disk))}
    return target(survey(box.root, claims=answers), "/srv")


def test_below_it_lie_the_devices_of_its_pool(volume: Box) -> None:
    volume.disk("sda")
    assert ("zpool", "status", "-L", "-P", "tank") in commands(survey(volume.root))
    found = on_pool(volume, "sda")
    assert edges(found) == {
        "mount:/srv": ("zd16",), "zd16": ("pool:tank",), "pool:tank": ("sda", "sdl"), "sda": (), "sdl": (),
    }  # fmt: skip
    assert roles(found) == {"sdl": "slog"}


def test_a_volume_of_a_pool_in_memory_forgets(volume: Box) -> None:
    volume.device("ram0")
    assert finding(verdict(on_pool(volume, "ram0")), "in-memory").verdict == "not-durable"


@pytest.mark.parametrize("parameter", ["zfs_nocacheflush", "zil_nocacheflush"])
def test_a_module_that_drops_flushes_drops_those_of_a_volume_too(volume: Box, parameter: str) -> None:
    volume.disk("sda")
    volume.write(f"/sys/module/zfs/parameters/{parameter}", "1\n")
    found = finding(verdict(on_pool(volume, "sda")), "barriers-off")
    assert (found.verdict, found.confidence) == ("not-durable", "high")
    assert found.next[0].startswith(f"echo 0 > /sys/module/zfs/parameters/{parameter}")


@pytest.mark.parametrize("flushes", [0.0, 1.0, 2.0])
def test_what_reaches_its_pool_for_a_sync_is_open(volume: Box, flushes: float) -> None:
    """A flush with nothing to commit asks the pool for nothing."""
    volume.disk("sda")
    counted = step(flushes={"sda": 0.0, "sdl": flushes})
    assert not rules(verdict(on_pool(volume, "sda"), counted)) & {"flushes-missing", "bytes-missing"}
