import pytest

from fstui.model.storage import Node, Target
from fstui.storage.layers.kinds import sync_of
from fstui.storage.survey import commands, survey
from fstui.storage.tool_output import ToolOutput
from tests.factories.box import Box
from tests.factories.evidence import finding, rules, verdict
from tests.factories.looking import edges, look, read, roles, target
from tests.factories.steps import step
from tests.storage.layers.zfs.test_zpool import status

GET = "zfs get -H -p -o name,property,value,source sync,logbias tank/vm/data"


@pytest.fixture
def volume(box: Box) -> Box:
    """Return ext4 on one of two volumes, linked as udev does."""
    for name, link in (("zd0", "tank/other"), ("zd16", "tank/vm/data")):
        box.device(name)
        box.link(f"/dev/zvol/{link}", f"{'../' * (link.count('/') + 2)}{name}")
    box.mount("/dev/zd16", "/srv", "ext4")
    return box


def zvol(found: Target) -> Node:
    return next(node for node in found.stack if node.kind == "zvol")


def seen(box: Box, sync: str) -> Node:
    told = f"tank/vm/data\tsync\t{sync}\tlocal\ntank/vm/data\tlogbias\tlatency\tdefault\n"
    return zvol(target(survey(box.root, tool_outputs={GET: ToolOutput(output=told)}), "/srv"))


def test_volume_name_and_properties(volume: Box) -> None:
    inventory = survey(volume.root)
    node = zvol(target(inventory, "/srv"))
    assert (node.id, node.name) == ("zd16", "tank/vm/data")
    assert read(node, "volume") == ("tank/vm/data", "/dev/zvol/tank/vm/data")
    assert tuple(GET.split()) in commands(inventory)


@pytest.mark.parametrize(("sync", "path"), [("disabled", "stops"), ("standard", "passes"), ("always", "passes")])
def test_sync_property_decides_what_a_flush_does(volume: Box, sync: str, path: str) -> None:
    node = seen(volume, sync)
    assert read(node, "sync") == (sync, "zfs get sync tank/vm/data (local)")
    assert sync_of(node)[0] == path


def test_volume_without_links_or_answers(box: Box) -> None:
    box.device("zd0")
    box.mount("/dev/zd0", "/srv", "ext4")
    node = zvol(look(box))
    assert (node.name, node.reading("sync"), sync_of(node)[0]) == ("zd0", None, "unknown")


def on_pool(box: Box) -> Target:
    """Return the volume on a pool of a disk and a log device."""
    box.disks("sda", "sdl")
    return look(box, tool_outputs={"zpool status -L -P tank": ToolOutput(output=status("sda logs sdl"))})


def test_volume_is_on_the_devices_of_its_pool(volume: Box) -> None:
    assert ("zpool", "status", "-L", "-P", "tank") in commands(survey(volume.root))
    found = on_pool(volume)
    assert edges(found) == {
        "mount:/srv": ("zd16",), "zd16": ("pool:tank",), "pool:tank": ("sda", "sdl"), "sda": (), "sdl": (),
    }  # fmt: skip
    assert roles(found) == {"sdl": "slog"}


@pytest.mark.parametrize("parameter", ["zfs_nocacheflush", "zil_nocacheflush"])
def test_nocacheflush_applies_to_volumes(volume: Box, parameter: str) -> None:
    volume.write(f"/sys/module/zfs/parameters/{parameter}", "1\n")
    found = finding(verdict(on_pool(volume)), "barriers-off")
    assert (found.verdict, found.confidence) == ("not-durable", "high")
    assert f": 'echo 0 > /sys/module/zfs/parameters/{parameter}'." in found.next[0]


@pytest.mark.parametrize("flushes", [0.0, 1.0, 2.0])
def test_flushes_of_a_volume_at_its_pool_are_unknown(volume: Box, flushes: float) -> None:
    """A flush with nothing to commit requests nothing from the pool."""
    counted = step(flushes={"sda": 0.0, "sdl": flushes})
    assert not rules(verdict(on_pool(volume), counted)) & {"flushes-missing", "bytes-missing"}
