"""What a stack was read from is listened to: that somebody wrote there shows, also where it is as it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from fstui.model.storage import Node, Reading
from fstui.storage.settings_watch import SettingsWatch
from tests.factories.box import Box
from tests.factories.looking import look

CACHE, COUNTING = "/sys/block/sda/queue/write_cache", "/sys/block/sda/queue/iostats"


@pytest.fixture
def stack(box: Box) -> tuple[Node, ...]:
    box.disk("sda")
    box.mount("/dev/sda", "/srv", "ext4")
    return look(box).stack


@pytest.fixture
def watch(box: Box, stack: tuple[Node, ...]) -> Iterator[SettingsWatch]:
    made = SettingsWatch(stack, box.root)
    yield made
    made.close()


def test_whoever_writes_is_heard_once(box: Box, watch: SettingsWatch) -> None:
    assert watch.written() == frozenset()
    box.write(COUNTING, "1")
    assert watch.written() == {COUNTING}
    assert watch.written() == frozenset()


def test_to_read_is_not_to_write(box: Box, watch: SettingsWatch) -> None:
    look(box)
    assert watch.written() == frozenset()


def test_a_write_cache_is_told_as_it_is_now(box: Box, stack: tuple[Node, ...], watch: SettingsWatch) -> None:
    box.write(CACHE, "write through")
    assert [node.write_cache for node in watch.now(stack)] == [None, "write through"]


def test_counting_is_told_as_it_is_now(box: Box, stack: tuple[Node, ...], watch: SettingsWatch) -> None:
    assert watch.now(stack) == stack and stack[1].counted
    box.write(COUNTING, "0")
    assert not watch.now(stack)[1].counted


def test_barriers_that_no_option_tells_of_stay_as_they_were_read(stack: tuple[Node, ...], watch: SettingsWatch) -> None:
    """A filesystem may be made with barriers off (tune2fs -o nobarrier)."""
    top = replace(stack[0], readings=(Reading(what="barrier", value="nobarrier", path="/proc/fs/ext4/sda/options"),))
    assert watch.now((top, *stack[1:]))[0] == top


def test_after_it_was_closed_nothing_is_heard(box: Box, watch: SettingsWatch) -> None:
    watch.close()
    box.write(CACHE, "write through")
    assert watch.written() == frozenset()


def test_settings_that_are_not_there_are_not_waited_for(box: Box, stack: tuple[Node, ...]) -> None:
    nowhere = SettingsWatch(stack, box.root / "nowhere")
    assert nowhere.written() == frozenset()
    nowhere.close()


def test_what_a_device_stands_on_is_told_as_it_is_now(box: Box) -> None:
    """bcache's cache is detached and attached by a write to a file that nothing was read from."""
    box.disks("sda", "sdb")
    box.md("md0", "raid1", ("sda", "sdb"))
    box.mount("/dev/md0", "/srv", "ext4", device=box.number_of["md0"])
    stack = look(box).stack
    watch = SettingsWatch(stack, box.root)
    assert watch.now(stack) == stack
    slave = box.root / "sys/block/md0/slaves/sdb"
    slave.rename(box.root / "sdb")
    alone = watch.now(stack)
    assert alone[1].below == ("sda",)
    (box.root / "sdb").rename(slave)
    assert watch.now(alone) == stack
    watch.close()


def test_a_member_that_was_taken_away_and_put_back_between_two_looks_is_left_out_once(box: Box) -> None:
    """Its link in sysfs is another inode: md --re-add, btrfs device remove and add."""
    box.disks("sda", "sdb")
    for name in ("sda", "sdb"):
        box.link(f"/sys/fs/btrfs/5f1c/devices/{name}", f"../../../../block/{name}")
    box.mount("/dev/sda", "/srv", "btrfs", device="0:44")
    stack = look(box).stack
    watch = SettingsWatch(stack, box.root)
    assert watch.now(stack) == stack
    link = box.root / "sys/fs/btrfs/5f1c/devices/sdb"
    link.rename(box.root / "old")  # its inode is still in use, so the new one is another
    box.link("/sys/fs/btrfs/5f1c/devices/sdb", "../../../../block/sdb")
    alone = watch.now(stack)
    assert alone[0].below == ("sda",)
    assert watch.now(alone) == stack
    watch.close()


def test_work_that_moves_the_data_of_a_btrfs_is_told_while_it_lasts(box: Box) -> None:
    box.disk("sda")
    box.link("/sys/fs/btrfs/5f1c/devices/sda", "../../../../block/sda")
    box.write("/sys/fs/btrfs/5f1c/exclusive_operation", "none")
    box.mount("/dev/sda", "/srv", "btrfs", device="0:44")
    stack = look(box).stack
    watch = SettingsWatch(stack, box.root)
    box.write("/sys/fs/btrfs/5f1c/exclusive_operation", "balance")
    during = watch.now(stack)
    assert [told.value for told in during[0].state] == ["balance"]
    box.write("/sys/fs/btrfs/5f1c/exclusive_operation", "none")
    assert watch.now(during) == stack
    watch.close()
