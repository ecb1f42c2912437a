import importlib
import pkgutil

import pytest

import fstui.storage.layers
from fstui.storage.layers import LayerKind, kind
from tests.factories.storage import block, readings

MODULES = [
    importlib.import_module(found.name)
    for found in pkgutil.walk_packages(fstui.storage.layers.__path__, "fstui.storage.layers.")
]
ROWS = [row for module in MODULES for row in getattr(module, "KINDS", ())]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_kind_is_found_by_name(row: LayerKind) -> None:
    assert kind(row.name) is row


def test_unknown_kind_has_cautious_row() -> None:
    unknown = kind("newfs")
    assert (unknown.sync, unknown.adds_bytes, unknown.rewrites_in_place) == ("unknown", True, False)
    assert unknown.may_compress(block("x", "newfs"))
    assert unknown.flushes_per_backing_fsync(block("x", "newfs")) is None


def test_fuse_program_is_of_kind_fuse() -> None:
    assert kind("fuse.sshfs") is kind("fuse")
    assert kind("fuse.lxcfs").pseudo


@pytest.mark.parametrize(
    ("level", "spread", "adds_bytes"),
    [("linear", "one", False), ("raid0", "stripe", False), ("raid1", "raid1", False), ("raid10", "raid10", True),
     ("raid5", "stripe", True)],
)  # fmt: skip
def test_array_spreads_by_level(level: str, spread: str, adds_bytes: bool) -> None:
    array = block("x", "md", readings=readings(level=level))
    assert (kind("md").spread(array), kind("md").may_add_bytes(array)) == (spread, adds_bytes)
    assert kind("dm-raid").spread(array) == spread
