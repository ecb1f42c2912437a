"""The file under a loop that the kernel calls deleted: how many names it has left, on filesystems of their own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fstui.measure.helpers.claims import run
from tests.real import disks


@pytest.mark.parametrize("fstype", ["ext4", "xfs", "btrfs"])
def test_a_second_hard_link_is_told_from_none(workshop: Path, fstype: str) -> None:
    with disks.on_loop(workshop, fstype) as storage:
        for names_left in (1, 0):
            image, other = storage.directory / "image", storage.directory / "other"
            with disks.loop(image, size_bytes=disks.MIB) as device:
                os.link(image, other)
                image.unlink()
                if not names_left:
                    other.unlink()
                assert run(["open_by_handle_at", f"/dev/{device}"]) == {"output": f"{names_left}\n"}
                image.touch()  # for the loop's own end
            other.unlink(missing_ok=True)


def test_of_a_subvolume_too(workshop: Path) -> None:
    with disks.on_loop(workshop, "btrfs") as storage:
        disks.sh("btrfs", "-q", "subvolume", "create", storage.directory / "sub")
        image = storage.directory / "sub" / "image"
        with disks.loop(image, size_bytes=disks.MIB) as device:
            image.unlink()
            assert run(["open_by_handle_at", f"/dev/{device}"]) == {"output": "0\n"}
            image.touch()


def test_where_its_path_leads_nowhere_nobody_knows(workshop: Path) -> None:
    with disks.on_loop(workshop) as storage, disks.loop(workshop / "image", size_bytes=disks.MIB) as device:
        assert storage.device != device
        assert "error" in run(["open_by_handle_at", "/dev/loop-none"])
