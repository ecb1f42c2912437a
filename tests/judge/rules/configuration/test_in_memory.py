"""Data that ends in memory, wherever it hides."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fstui.model.storage import Medium, Node, Target
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, on_disk, on_loop, readings, target

CACHE = {"fast": "cache", "sda": "origin"}
TMPFS = filesystem("tmpfs", below=("memory:tmpfs",))
MEMORY = Node(id="memory:tmpfs", layer="memory", kind="tmpfs", name="memory", lowest=True)
IN_TMPFS = Node(id="mount:/", layer="filesystem", kind="tmpfs", name="/", below=("memory:tmpfs",))


@pytest.mark.parametrize(
    "stack",
    [
        target(TMPFS, MEMORY),
        target(filesystem("ramfs", below=())),
        on_disk(filesystem(below=("zram0",)), disk("zram0", kind="zram", write_cache="write through", counted=False)),
        on_disk(filesystem(below=("ram0",)), disk("ram0", kind="ram", write_cache=None, counted=False)),
        target(*on_loop(IN_TMPFS).stack[:4], MEMORY),
        target(filesystem("overlay", below=("mount:/",)), IN_TMPFS, MEMORY),
        target(filesystem(below=("dm-0",)), block("dm-0", "dm-linear", "zram0"), disk("zram0", kind="zram")),
        on_disk(filesystem(), disk(medium=Medium(class_="memory", declared=True))),
    ],
    ids=["tmpfs", "ramfs", "zram", "brd", "loop in tmpfs", "overlay on tmpfs", "dm on zram", "declared"],
)
def test_in_memory_wherever_it_hides(stack: Target) -> None:
    judgement = verdict(stack)
    assert rules(judgement) == {"in-memory"}
    found = finding(judgement, "in-memory")
    assert (found.verdict, found.confidence) == ("not-durable", "high")
    assert len(found.because) == 1


def test_a_disk_that_is_memory_by_its_model_is_named() -> None:
    stack = on_disk(filesystem(), disk(medium=Medium(class_="memory", because="the model says so")))
    assert finding(verdict(stack), "in-memory").title == "in memory (sda)"


def test_what_was_declared_to_be_memory_is_said_to_be_so() -> None:
    declared = on_disk(filesystem(), disk(medium=Medium(class_="memory", declared=True)))
    found = finding(verdict(declared), "in-memory")
    assert (found.title, found.because) == ("in memory (declared)", ("sda: declared by you to be memory",))
    zram = on_disk(filesystem(below=("zram0",)), disk("zram0", kind="zram", medium=Medium(class_="memory")))
    assert finding(verdict(zram), "in-memory").title == "in memory (zram)"


def test_a_loop_in_memory_gets_its_flushes_and_is_still_not_durable() -> None:
    judgement = verdict(target(*on_loop(IN_TMPFS).stack[:4], MEMORY), step(device="loop0"))
    assert judgement.verdict == "not-durable"
    assert rules(judgement) == {"in-memory"}


def test_memory_that_is_declared_to_be_a_disk_is_not_said_to_be_declared_memory() -> None:
    medium = Medium(class_="hdd-7200", declared=True, because="declared by you: medium hdd-7200")
    found = finding(verdict(target(TMPFS, replace(MEMORY, medium=medium))), "in-memory")
    assert "declared" not in " ".join((found.title, *found.because))


@pytest.mark.parametrize(("level", "degraded", "found"), [
    ("raid5", "1", "not-durable"), ("raid5", "0", None), ("raid6", "1", None), ("raid6", "2", "not-durable"),
    ("raid1", "1", None),
])  # fmt: skip
def test_an_array_that_lacks_a_member_can_do_without_fewer(level: str, degraded: str, found: str | None) -> None:
    """A mirror that lacks one has those that are left, one of which is a disk."""
    state = readings(degraded=degraded) if degraded != "0" else ()
    array = block("md0", "md", "sda", "sdb", "zram0", readings=readings(level=level), state=state)
    stack = target(filesystem(below=("md0",)), array, disk(), disk("sdb"), disk("zram0", kind="zram"))
    assert finding(verdict(stack), "in-memory").verdict == found


@pytest.mark.parametrize(("members", "found"), [(("zram0",), "not-durable"), (("zram0", "sda"), None)])
def test_the_only_member_left_of_a_raid10_is_in_memory(members: tuple[str, ...], found: str | None) -> None:
    """Of one with far copies it is not read which members hold the same."""
    array = block("md0", "md", *members, readings=readings(level="raid10"))
    stack = target(filesystem(below=("md0",)), array, disk("zram0", kind="zram"), *(disk() for _ in members[1:]))
    assert finding(verdict(stack), "in-memory").verdict == found


@pytest.mark.parametrize(("told", "found"), [({"missing_members": "1"}, "not-durable"), ({}, None)])
def test_so_can_one_of_device_mapper(told: dict[str, str], found: str | None) -> None:
    array = block("dm-0", "dm-raid", "sda", "zram0", readings=readings(level="raid5", **told))
    stack = target(filesystem(below=("dm-0",)), array, disk(), disk("zram0", kind="zram"))
    assert finding(verdict(stack), "in-memory").verdict == found


@pytest.mark.parametrize(("missing", "found"), [(1, "not-durable"), (0, None)])
def test_the_last_copy_of_a_btrfs_mirror_is_in_memory(missing: int, found: str | None) -> None:
    top = filesystem("btrfs", below=("zram0", "sda")[: 2 - missing], level="raid1", metadata_level="raid1")
    mirror = replace(top, state=readings(missing="1") * missing)
    stack = target(mirror, disk("zram0", kind="zram"), *(disk() for _ in range(1 - missing)))
    assert finding(verdict(stack), "in-memory").verdict == found


@pytest.mark.parametrize(("roles", "said"), [
    ({"zram0": "metadata", "sda": "data"}, "The metadata of dm-0 is in memory, zram: a power cut or a reboot loses it"),
    ({"zram0": "data", "sda": "metadata"}, "The data ends in memory, zram: a power cut or a reboot loses everything."),
])  # fmt: skip
def test_metadata_in_memory_is_not_said_to_be_the_data(roles: dict[str, str], said: str) -> None:
    pool = block("dm-0", "dm-thin-pool", "zram0", "sda", below_roles=roles)
    stack = target(filesystem(below=("dm-0",)), pool, disk("zram0", kind="zram"), disk())
    assert finding(verdict(stack), "in-memory").sentence.startswith(said)


def test_memory_that_holds_both_is_said_to_hold_the_data() -> None:
    roles = {"dm-1": "metadata", "dm-2": "data"}
    volumes = (block("dm-1", "dm-linear", "zram0"), block("dm-2", "dm-linear", "zram0"))
    pool = block("dm-0", "dm-thin-pool", "dm-1", "dm-2", below_roles=roles)
    stack = target(filesystem(below=("dm-0",)), pool, *volumes, disk("zram0", kind="zram"))
    assert finding(verdict(stack), "in-memory").sentence.startswith("The data ends in memory, zram:")


def test_a_cache_in_memory_is_not_said_to_be_an_array() -> None:
    roles = {"sda": "origin", "ram0": "cache"}
    cache = replace(
        block("dm-0", "dm-cache", "sda", "ram0", readings=readings(cache_mode="writethrough")), below_roles=roles
    )
    found = finding(verdict(target(filesystem(below=("dm-0",)), cache, disk(), disk("ram0", kind="ram"))), "in-memory")
    assert found.verdict is None
    assert "a cache begins anew" in found.sentence
