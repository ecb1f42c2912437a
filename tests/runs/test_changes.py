import msgspec

from fstui.model.storage import Node, Reading
from fstui.runs.changes import changes, current_stack
from tests.factories.box import Box
from tests.factories.looking import look
from tests.factories.storage import block, disk, filesystem, readings, target

STACK = (filesystem(), disk())


def test_nothing_changed() -> None:
    assert changes(STACK, STACK) == ()


def test_settings_that_affect_flushes_are_compared() -> None:
    after = (filesystem(barrier="nobarrier", below=("sda", "sdb")), disk(write_cache="write through"))
    assert changes(STACK, after) == (
        "mount:/srv: below sda → sda sdb",
        "mount:/srv: barrier barrier → nobarrier",
        "sda: write cache write back → write through",
    )


def test_a_setting_that_was_switched_back_is_reported() -> None:
    through = (filesystem(), disk(write_cache="write through"))
    assert changes(STACK, through, STACK, STACK) == ("sda: write cache write back → write through → write back",)


def test_a_deleted_backing_file_is_a_change() -> None:
    """Its data will be lost together with the loop device."""
    files = ("/a.img", "/a.img (deleted)")
    before, after = ((block("loop0", "loop", readings=readings(backing_file=file)),) for file in files)
    assert changes(before, before, after) == ("loop0: backing_file /a.img → /a.img (deleted)",)


def test_a_layer_that_is_gone_is_a_change() -> None:
    assert changes(STACK, STACK[:1]) == ("sda: gone",)


def test_a_filesystem_that_is_gone_is_reported_alone() -> None:
    switched = tuple(msgspec.structs.replace(node, write_cache="write through") for node in STACK)
    gone, *others = changes(STACK, switched, STACK, ())
    assert gone == f"{STACK[0].id}: gone"
    assert others and all("write back → write through → write back" in line for line in others if "sda:" in line)
    assert changes(STACK, STACK, ()) == (gone,)


def test_earlier_error_counts_are_not_a_change() -> None:
    errors = (Reading(what="errors_count", value="3", path="/sys/fs/ext4/sda/errors_count"),)
    troubled = (filesystem(), disk(state=errors))
    assert changes(troubled, troubled) == ()


def test_a_failed_member_is_a_change(box: Box) -> None:
    """It stays among the members of the array until it is removed."""
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
    assert "dm-0: below dm-1 → sdb" in changes(during, ended)


def test_a_filesystem_mounted_over_the_target_is_a_change(box: Box) -> None:
    box.disks("sda", "sdb")
    box.mount("/dev/sda", "/srv", "ext4")
    before = look(box)
    assert current_stack(before, look(box)) == before.stack
    box.mount("/dev/sdb", "/srv", "ext4")
    assert current_stack(before, look(box)) == ()
    box.mount("tmpfs", "/srv", "tmpfs")
    assert current_stack(before, look(box)) == ()


def test_a_btrfs_may_have_another_member_as_source(box: Box) -> None:
    before = msgspec.structs.replace(target(filesystem("btrfs", below=("sda",)), disk()), source="/dev/sda")
    now = target(filesystem("btrfs", below=("sdb",)), disk("sdb"))
    assert current_stack(before, msgspec.structs.replace(now, source="/dev/sdb")) == now.stack
