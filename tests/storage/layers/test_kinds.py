import importlib
import pkgutil
from collections import Counter

import pytest

import fstui.storage.layers
from fstui.model.storage import Node, Reading
from fstui.storage.layers import LayerKind, kind

MODULES = [
    importlib.import_module(found.name)
    for found in pkgutil.walk_packages(fstui.storage.layers.__path__, "fstui.storage.layers.")
]
ROWS = [row for module in MODULES for row in getattr(module, "KINDS", ())]


def node(kind_: str, below_roles: dict[str, str] | None = None, **readings: str) -> Node:
    found = tuple(Reading(what=what, value=value, path="/read") for what, value in readings.items())
    return Node(id="x", layer="block", kind=kind_, name="x", readings=found, below_roles=below_roles or {})


def test_every_kind_is_in_one_module() -> None:
    assert [name for name, times in Counter(row.name for row in ROWS).items() if times > 1] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_kind_is_found_by_name(row: LayerKind) -> None:
    assert kind(row.name) is row


def test_unknown_kind_has_cautious_row() -> None:
    unknown = kind("newfs")
    assert (unknown.sync, unknown.adds_bytes, unknown.rewrites_in_place) == ("unknown", True, False)
    assert unknown.may_compress(node("newfs"))
    assert unknown.expected_of_backing(node("newfs")) is None


def test_fuse_program_is_of_kind_fuse() -> None:
    assert kind("fuse.sshfs") is kind("fuse")
    assert kind("fuse.lxcfs").pseudo


@pytest.mark.parametrize(
    ("level", "spread", "adds_bytes"),
    [("linear", "one", False), ("raid0", "stripe", False), ("raid1", "raid1", False), ("raid10", "raid10", True),
     ("raid5", "stripe", True)],
)  # fmt: skip
def test_array_spreads_by_level(level: str, spread: str, adds_bytes: bool) -> None:
    array = node("md", level=level)
    assert (kind("md").spread(array), kind("md").may_add_bytes(array)) == (spread, adds_bytes)
    assert kind("dm-raid").spread(node("dm-raid", level=level)) == spread
