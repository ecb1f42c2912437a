"""Volumes of a ZFS pool: their names, and what a flush of one is worth."""

from __future__ import annotations

import pytest

from fstui.inventory.questions import commands
from fstui.inventory.survey import survey
from fstui.layers.kinds import sync_of
from fstui.layers.sources.claims import Answer
from fstui.model.storage import Node, Target
from tests.factories.box import Box
from tests.factories.looking import look, read, target

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
