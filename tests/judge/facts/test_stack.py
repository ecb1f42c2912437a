"""The levels of a stack, where flushes are dropped, and which devices a sync waits for."""

from typing import Any

import pytest
from msgspec.structs import replace

from fstui.judge.facts.stack import Stack
from fstui.model.storage import Medium, Node, Target
from fstui.storage.layers.facts import DEVICE_UNSEEN
from tests.factories.storage import block, disk, filesystem, on_disk, on_loop, on_pool, readings, target


def levels(where: Target) -> list[tuple[str, list[str]]]:
    return [(level.filesystem.id, [node.id for node in level.devices]) for level in Stack(where).levels]


@pytest.mark.parametrize(
    ("above", "below", "dropped"),
    [
        ("write back", "write back", False),
        ("write through", "write back", True),
        ("write back", "write through", True),
        (None, "write back", False),
        (None, None, None),
    ],
)
def test_write_through_anywhere_on_the_path_drops_flushes(
    above: str | None, below: str | None, dropped: bool | None
) -> None:
    crypt = block("dm-0", "dm-crypt", "sda", write_cache=above)
    stack = Stack(target(filesystem(below=("dm-0",)), crypt, disk(write_cache=below)))
    (level,) = stack.levels
    assert stack.drops_flushes(level, level.devices[0]) is dropped


def test_path_that_does_not_exist_is_an_unseen_device() -> None:
    assert Stack(on_disk(replace(filesystem(), readings=readings(**{DEVICE_UNSEEN: "/dev/sdz"})))).has_unseen_devices
    assert not Stack(on_disk()).has_unseen_devices and not Stack(None).has_unseen_devices


@pytest.mark.parametrize(
    ("devices", "claims"),
    [
        ((disk(fua=False), disk("sdb", fua=True, readings=readings(role="log"))), False),
        ((disk(fua=True), disk("sdb", fua=False, readings=readings(role="journal"))), True),
        ((disk(fua=True), disk("sdb", fua=False)), None),
        ((disk(fua=True), block("sdb", "partition", "sdc"), disk("sdc", fua=True)), True),
        ((disk(fua=True), block("sdb", "partition", "sdc"), disk("sdc", fua=False)), None),
        ((disk(fua=True), block("sdb", "md", "sdc", "sdd"), disk("sdc", fua=True), disk("sdd", fua=True)), None),
        ((disk(fua=True),), None),
    ],
    ids=["a log apart", "a journal apart", "one of two", "a partition's disk", "a disk without", "an array", "unseen"],
)
def test_fua_is_claimed_by_the_data_devices(devices: tuple[Node, ...], claims: bool | None) -> None:
    (level,) = Stack(target(filesystem("xfs", below=("sda", "sdb")), *devices)).levels
    assert level.claims_fua is claims


FAST, SLOW = Medium(class_="ssd-plp", write_cache="plp"), Medium(class_="hdd-7200")


def ids(where: Target) -> list[str]:
    return [node.id for node in Stack(where).commit_devices]


def of_role(name: str, role: str | None, **changes: Any) -> Node:
    return disk(name, readings=readings(role=role) if role else (), **changes)


def cached(kind: str = "bcache", *, roles: tuple[str | None, str | None] = ("cache", "origin"), **read: str) -> Target:
    fast, slow = of_role("sda", roles[0], medium=FAST), of_role("sdb", roles[1], medium=SLOW)
    top = block("cached0", kind, "sda", "sdb", readings=readings(**read))
    return target(filesystem(below=("cached0",)), top, fast, slow)


def with_metadata() -> Target:
    top = block("dm-0", "dm-cache", "sda", "sdb", "sdc", readings=readings(cache_mode="writeback"))
    below = (of_role("sda", "cache"), of_role("sdb", "origin"), of_role("sdc", "metadata"))
    return target(filesystem(below=("dm-0",)), top, *below)


def thin_pool() -> Target:
    """Return a pool with data and metadata on one disk."""
    roles = {"dm-1": "metadata", "dm-2": "data"}
    below = [block(name, "dm-linear", "sda", readings=readings(role=role)) for name, role in roles.items()]
    return target(filesystem(below=("dm-0",)), block("dm-0", "dm-thin-pool", *roles), *below, disk())


MIRRORED_LOG = Node(
    id="vdev:mirror-1",
    layer="pool",
    kind="mirror",
    name="mirror-1",
    below=("member1", "member2"),
    readings=readings(role="slog"),
)
POOL = (of_role("sda", None), of_role("sdb", "slog"), of_role("sdc", "l2arc"))


@pytest.mark.parametrize(
    ("where", "devices"),
    [
        (on_disk(), ["sda"]),
        (on_loop(), ["sda"]),
        (cached(cache_mode="writeback"), ["sda"]),
        (cached(cache_mode="writethrough"), ["sdb"]),
        (cached(cache_mode="writearound"), ["sdb"]),
        (cached(cache_mode="none"), ["sdb"]),
        (cached(), []),
        (cached(roles=(None, None), cache_mode="writeback"), []),
        (cached("dm-writecache"), ["sda"]),
        (cached("dm-writecache", writes_past="cleaner"), []),  # some blocks may be in it still
        (with_metadata(), ["sda"]),
        (thin_pool(), ["sda"]),
        (on_pool(*POOL, logbias="throughput"), ["sda", "sdb"]),
        (
            on_pool(POOL[0], MIRRORED_LOG, of_role("member1", "slog"), of_role("member2", "slog")),
            ["member1", "member2"],
        ),
    ],
)
def test_sync_waits_for_these_devices(where: Target, devices: list[str]) -> None:
    assert ids(where) == devices


def test_circular_stack_ends() -> None:
    circle = target(filesystem(below=("a",)), block("a", "dm-linear", "b"), block("b", "dm-linear", "a"))
    assert ids(circle) == [] and len(levels(circle)) == 1
    through_a_mount = target(filesystem(below=("a",)), block("a", "dm-linear", "mount:/srv"))
    assert len(levels(through_a_mount)) == 1
