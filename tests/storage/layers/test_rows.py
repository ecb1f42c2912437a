import pytest

from tests.factories.box import Box
from tests.factories.looking import look, only_device, trouble


def test_zram_and_brd_are_memory(box: Box) -> None:
    for name in ("zram0", "ram0"):
        box.device(name, write_cache="write through", iostats=0)
        box.mount(f"/dev/{name}", f"/{name}", "ext4")
    for name in ("zram0", "ram0"):
        (lowest,) = look(box, f"/{name}").lowest
        assert (lowest.id, lowest.sync, lowest.counted) == (name, "stops", False)
        assert lowest.medium is not None
        assert lowest.medium.class_ == "memory"


@pytest.mark.parametrize("fstype", ["tmpfs", "ramfs", "devtmpfs"])
def test_filesystem_in_memory(box: Box, fstype: str) -> None:
    box.mount(fstype, "/srv", fstype)
    top, memory = look(box).stack
    assert (top.layer, top.sync, memory.layer, memory.sync) == ("filesystem", "stops", "memory", "stops")
    assert memory.lowest


def test_scsi_debug_is_memory(box: Box) -> None:
    home = "pseudo_0/adapter0/host2/target2:0:0/2:0:0:0"
    box.disk("sda", home, files={"device/vendor": "Linux   ", "device/model": "scsi_debug      "})
    node = only_device(box)
    assert node.medium and node.medium.class_ == "memory"


def test_read_only_filesystem_is_in_no_trouble(box: Box) -> None:
    box.disk("sr0")
    box.mount("/dev/sr0", "/srv", "iso9660", options="rw", super_options="ro")
    assert trouble(look(box).stack[0]) == []
