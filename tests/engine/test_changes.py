"""What changed of a stack while a step was measured."""

from __future__ import annotations

from fstui.engine.changes import changes
from fstui.model.storage import Node, Reading
from tests.factories.box import Box
from tests.factories.looking import look
from tests.factories.storage import block, disk, filesystem

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


def test_a_layer_that_is_gone_is_a_change() -> None:
    assert changes(STACK, STACK[:1]) == ("sda: gone",)


def test_errors_that_were_counted_before_are_none() -> None:
    errors = (Reading(what="errors_count", value="3", path="/sys/fs/ext4/sda/errors_count"),)
    troubled = (filesystem(), disk(state=errors))
    assert changes(troubled, troubled) == ()


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
