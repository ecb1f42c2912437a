from __future__ import annotations

from fstui.inventory.watch import changed, fingerprint
from tests.unit.inventory.trees import Box


def test_a_mount_and_a_plugged_disk_are_changes_and_writing_is_none(box: Box) -> None:
    path = box.disk("sda")
    box.mount("/dev/sda", "/", "ext4")
    first = fingerprint(box.root)
    box.write(f"{path}/stat", "1 2 3")
    assert not changed(first, box.root)
    box.disk("sdb")
    second = fingerprint(box.root)
    assert second != first
    box.mount("/dev/sdb", "/srv", "ext4")
    assert changed(second, box.root)
