"""What forgets with the power."""

from __future__ import annotations

import pytest

from tests.factories.box import Box
from tests.factories.looking import look, only


def test_zram_and_brd_are_memory_at_the_bottom(box: Box) -> None:
    for name in ("zram0", "ram0"):
        box.device(name, write_cache="write through", iostats=0)
        box.mount(f"/dev/{name}", f"/{name}", "ext4")
    for name in ("zram0", "ram0"):
        (lowest,) = look(box, f"/{name}").lowest
        assert (lowest.id, lowest.sync, lowest.counted) == (name, "stops", False)
        assert lowest.medium is not None
        assert lowest.medium.class_ == "memory"


@pytest.mark.parametrize("fstype", ["tmpfs", "ramfs", "devtmpfs"])
def test_a_filesystem_in_memory_stands_on_memory(box: Box, fstype: str) -> None:
    box.mount(fstype, "/srv", fstype)
    top, memory = look(box).stack
    assert (top.layer, top.sync, memory.layer, memory.sync) == ("filesystem", "stops", "memory", "stops")
    assert memory.lowest


def test_scsi_debug_is_memory_by_its_model(box: Box) -> None:
    home = "pseudo_0/adapter0/host2/target2:0:0/2:0:0:0"
    box.disk("sda", home, files={"device/vendor": "Linux   ", "device/model": "scsi_debug      "})
    node = only(box)
    assert node.medium and node.medium.class_ == "memory"


def test_a_device_of_this_kernel_that_nothing_identifies_is_no_ssd_for_not_rotating(box: Box) -> None:
    box.device("newblk0", request_based=True, rotational=0)
    node = only(box)
    assert node.link == "virtual"
    assert node.medium and node.medium.class_ == "unknown"


def test_what_hangs_nowhere_known_is_no_ssd_for_not_rotating(box: Box) -> None:
    box.device("qblk0", "pci0000:00/0000:07:00.0", request_based=True, rotational=0)
    node = only(box)
    assert node.link is None
    assert node.medium and node.medium.class_ == "unknown"
