"""What changed of a stack while a step was measured."""

from __future__ import annotations

import asyncio

import msgspec

from fstui.model.storage import Node, Reading
from fstui.runs.changes import Meanwhile, changes, still_there
from tests.factories.box import Box
from tests.factories.looking import look
from tests.factories.storage import block, disk, filesystem, readings, target

STACK = (filesystem(), disk())


def test_nothing_changed() -> None:
    assert changes(STACK, STACK) == ()


def test_what_rules_of_counting_rest_on_is_compared() -> None:
    after = (filesystem(barrier="nobarrier", below=("sda", "sdb")), disk(write_cache="write through"))
    assert changes(STACK, after) == (
        "mount:/srv: stands on sda → sda sdb",
        "mount:/srv: barrier barrier → nobarrier",
        "sda: write cache write back → write through",
    )


def test_what_was_switched_back_is_told() -> None:
    through = (filesystem(), disk(write_cache="write through"))
    assert changes(STACK, through, STACK, STACK) == ("sda: write cache write back → write through → write back",)


class Played:
    """Hears what it is told to, and finds the stacks that it is given."""

    def __init__(self, *stacks: tuple[Node, ...]) -> None:
        self.heard: set[str] = set()
        self.looked = asyncio.Event()
        self._stacks = iter(stacks)

    def written(self) -> frozenset[str]:
        heard, self.heard = self.heard, set()
        return frozenset(heard)

    def now(self, stack: tuple[Node, ...]) -> tuple[Node, ...]:
        self.looked.set()
        return next(self._stacks, stack)

    def close(self) -> None:
        pass


COUNTED = (filesystem(), disk(readings=readings(iostats="1")))


def test_counting_that_was_written_to_is_told_though_it_is_as_it_was() -> None:
    played = Played()
    meanwhile = Meanwhile(COUNTED, lambda: COUNTED, played)
    meanwhile.begin()
    played.heard = {reading.path for reading in COUNTED[1].readings if reading.what == "iostats"}
    assert meanwhile.end() == ("sda: iostats was written to",)
    meanwhile.begin()
    assert meanwhile.end() == ()


async def test_what_was_switched_back_is_seen_while_the_step_runs() -> None:
    through = (filesystem(), disk(write_cache="write through"))
    played = Played(STACK, through)
    meanwhile = Meanwhile(STACK, lambda: STACK, played)
    meanwhile.begin()
    following = asyncio.ensure_future(meanwhile.follow())
    await played.looked.wait()
    following.cancel()
    await asyncio.wait({following})
    assert meanwhile.end() == ("sda: write cache write back → write through → write back",)


def test_what_came_back_just_before_the_end_is_told_and_before_the_beginning_not() -> None:
    apart = (filesystem(below=()), disk())
    meanwhile = Meanwhile(STACK, lambda: STACK, Played(apart, STACK, STACK, apart))
    meanwhile.begin()
    assert meanwhile.end() == ()
    meanwhile.begin()
    assert meanwhile.end() == ("mount:/srv: stands on sda → nothing → sda",)


def test_a_layer_that_is_gone_is_a_change() -> None:
    assert changes(STACK, STACK[:1]) == ("sda: gone",)


def test_where_the_filesystem_is_gone_what_it_stood_on_is_not_said_to_be() -> None:
    switched = tuple(msgspec.structs.replace(node, write_cache="write through") for node in STACK)
    gone, *others = changes(STACK, switched, STACK, ())
    assert gone == f"{STACK[0].id}: gone"
    assert others and all("write back → write through → write back" in line for line in others if "sda:" in line)
    assert changes(STACK, STACK, ()) == (gone,)


def test_errors_that_were_counted_before_are_none() -> None:
    errors = (Reading(what="errors_count", value="3", path="/sys/fs/ext4/sda/errors_count"),)
    troubled = (filesystem(), disk(state=errors))
    assert changes(troubled, troubled) == ()


def test_a_member_that_fails_gets_nothing_more(box: Box) -> None:
    """It stays among the array's slaves until somebody removes it."""
    box.disks("sda", "sdb")
    box.md("md0", "raid10", ("sda", "sdb"), **{"degraded": "0", "dev-sdb/state": "in_sync"})
    box.mount("/dev/md0", "/srv", "ext4", device=box.number_of["md0"])
    before = look(box).stack
    box.write("/sys/block/md0/md/degraded", "1")
    box.write("/sys/block/md0/md/dev-sdb/state", "faulty")
    assert changes(before, look(box).stack) == ("md0: degraded no → 1", "md0: faulty no → sdb")


def test_a_step_in_the_middle_of_a_replace_is_disturbed(box: Box) -> None:
    box.disks("sda", "sdb")
    for name in ("sda", "sdb"):
        box.link(f"/sys/fs/btrfs/5f1c/devices/{name}", f"../../../../block/{name}")
    box.write("/sys/fs/btrfs/5f1c/exclusive_operation", "device replace")
    box.mount("/dev/sda", "/srv", "btrfs", device="0:44")
    assert changes(look(box).stack, look(box).stack) == ("mount:/srv: exclusive_operation device replace",)
    box.write("/sys/fs/btrfs/5f1c/exclusive_operation", "none")
    assert changes(look(box).stack, look(box).stack) == ()


def test_a_step_in_the_middle_of_a_pvmove_is_disturbed(box: Box) -> None:
    box.disks("sda", "sdb")
    box.dm("dm-1", "vg-pvmove0", "LVM-abcpvmove", ("sda", "sdb"))
    box.dm("dm-0", "vg-data", "LVM-abcdata", ("dm-1",))
    box.mount("/dev/mapper/vg-data", "/srv", "ext4", device=box.number_of["dm-0"])
    during = look(box).stack
    assert changes(during, during) == ("dm-1: pvmove under way",)
    ended: tuple[Node, ...] = (during[0], block("dm-0", "dm-linear", "sdb"), disk("sdb"))
    assert "dm-0: stands on dm-1 → sdb" in changes(during, ended)


def test_what_is_mounted_over_is_not_what_is_measured(box: Box) -> None:
    box.disks("sda", "sdb")
    box.mount("/dev/sda", "/srv", "ext4")
    before = look(box)
    assert still_there(before, look(box)) == before.stack
    box.mount("/dev/sdb", "/srv", "ext4")
    assert still_there(before, look(box)) == ()
    box.mount("tmpfs", "/srv", "tmpfs")
    assert still_there(before, look(box)) == ()


def test_a_btrfs_may_be_named_after_another_member(box: Box) -> None:
    before = msgspec.structs.replace(target(filesystem("btrfs", below=("sda",)), disk()), source="/dev/sda")
    now = target(filesystem("btrfs", below=("sdb",)), disk("sdb"))
    assert still_there(before, msgspec.structs.replace(now, source="/dev/sdb")) == now.stack


def test_layers_that_came_are_told_whole_as_long_as_they_stay() -> None:
    """Their names alone do not say what their caches are told."""
    moved = (filesystem(below=("dm-1",)), block("dm-1", "dm-linear", "sdb", write_cache="write through"), disk("sdb"))
    looks = iter((moved, STACK))
    played = Played()
    meanwhile = Meanwhile(STACK, lambda: next(looks), played)
    meanwhile.begin()
    meanwhile.end()
    assert meanwhile.newly == moved
    meanwhile.begin()
    meanwhile.end()
    assert not meanwhile.newly


def test_a_cache_that_is_written_back_is_told_whole() -> None:
    """It held copies alone."""
    before, now = (
        (block("bcache0", "bcache", readings=readings(cache_mode=mode)),) for mode in ("writethrough", "writeback")
    )
    meanwhile = Meanwhile(before, lambda: now, Played())
    meanwhile.begin()
    meanwhile.end()
    assert meanwhile.newly == now


def test_a_member_that_comes_back_is_told_whole(box: Box) -> None:
    box.disks("sda", "sdb")
    box.md("md0", "raid1", ("sda", "sdb"), **{"dev-sdb/state": "faulty"})
    box.mount("/dev/md0", "/srv", "ext4", device=box.number_of["md0"])
    before = look(box).stack
    meanwhile = Meanwhile(before, lambda: look(box).stack, Played())
    meanwhile.begin()
    meanwhile.end()
    assert not meanwhile.newly
    box.write("/sys/block/md0/md/dev-sdb/state", "in_sync")
    meanwhile.end()
    assert meanwhile.newly == look(box).stack
