"""Which devices a sync waits for."""

from __future__ import annotations

from typing import Any

import pytest

from fstui.judge import Case
from fstui.model.run import Evidence
from fstui.model.storage import Medium, Node, Reading, Target
from tests.factories.storage import block, disk, filesystem, on_disk, on_loop, readings, target

FAST, SLOW = Medium(class_="ssd-plp", write_cache="plp"), Medium(class_="hdd-7200")


def ids(where: Target) -> list[str]:
    return [node.id for node in Case(Evidence(target=where)).commit_devices]


def pool(*below: Node, **dataset: str) -> Target:
    """A ZFS pool whose devices tell their roles."""
    top = filesystem("zfs", "/tank", below=("pool:tank",), **dataset)
    vdevs = tuple(node.id for node in below if not node.id.startswith("leg"))
    return target(top, Node(id="pool:tank", layer="pool", kind="zpool", name="tank", below=vdevs), *below)


def of_role(name: str, role: str | None, **changes: Any) -> Node:
    return disk(name, readings=readings(role=role) if role else (), **changes)


def cached(kind: str = "bcache", *, roles: tuple[str | None, str | None] = ("cache", "origin"), **told: str) -> Target:
    fast, slow = of_role("sda", roles[0], medium=FAST), of_role("sdb", roles[1], medium=SLOW)
    top = block("cached0", kind, "sda", "sdb", readings=readings(**told))
    return target(filesystem(below=("cached0",)), top, fast, slow)


def test_a_plain_disk_answers_itself() -> None:
    assert ids(on_disk()) == ["sda"]
    assert ids(on_loop()) == ["sda"]


@pytest.mark.parametrize(
    ("mode", "who"),
    [("writeback", ["sda"]), ("writethrough", ["sdb"]), ("writearound", ["sdb"]), ("none", ["sdb"])],
)
def test_a_cache_answers_where_it_writes_back(mode: str, who: list[str]) -> None:
    assert ids(cached(cache_mode=mode)) == who


def test_where_the_mode_or_the_roles_are_not_known_nobody_is_named() -> None:
    assert ids(cached()) == []
    assert ids(cached(roles=(None, None), cache_mode="writeback")) == []


def test_a_writecache_has_one_mode() -> None:
    assert ids(cached("dm-writecache")) == ["sda"]
    assert ids(cached("dm-writecache", writes_past="cleaner")) == []  # some blocks may be in it still


def test_the_metadata_of_a_cache_holds_no_commit() -> None:
    top = block("dm-0", "dm-cache", "sda", "sdb", "sdc", readings=readings(cache_mode="writeback"))
    below = (of_role("sda", "cache"), of_role("sdb", "origin"), of_role("sdc", "metadata"))
    assert ids(target(filesystem(below=("dm-0",)), top, *below)) == ["sda"]


def test_data_and_metadata_of_a_thin_pool_on_one_disk_still_name_that_disk() -> None:
    thin = block("dm-0", "dm-thin-pool", "dm-1", "dm-2")
    below = (
        block("dm-1", "dm-linear", "sda", readings=readings(role="metadata")),
        block("dm-2", "dm-linear", "sda", readings=readings(role="data")),
    )
    assert ids(target(filesystem(below=("dm-0",)), thin, *below, disk())) == ["sda"]


def test_the_log_device_of_a_pool_answers_its_syncs() -> None:
    devices = of_role("sda", None, medium=SLOW), of_role("sdb", "slog", medium=FAST), of_role("sdc", "l2arc")
    assert ids(pool(*devices)) == ["sdb"]
    assert Case(Evidence(target=pool(*devices))).commit_media == {"ssd-plp"}


def test_logbias_throughput_writes_past_the_log_device() -> None:
    devices = of_role("sda", None), of_role("sdb", "slog"), of_role("sdc", "l2arc")
    assert ids(pool(*devices, logbias="throughput")) == ["sda", "sdb"]


def test_a_mirrored_log_is_two_devices() -> None:
    mirror = Node(
        id="vdev:mirror-1", layer="pool", kind="mirror", name="mirror-1", below=("leg1", "leg2"),
        readings=(Reading(what="role", value="slog", path="zpool status"),),
    )  # fmt: skip
    assert ids(pool(of_role("sda", None), mirror, of_role("leg1", "slog"), of_role("leg2", "slog"))) == ["leg1", "leg2"]


def test_a_graph_that_turns_in_a_circle_ends() -> None:
    assert ids(target(filesystem(below=("a",)), block("a", "dm-linear", "b"), block("b", "dm-linear", "a"))) == []
