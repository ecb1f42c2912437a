"""Flash that the kernel drives itself, and flash that is made of memory."""

from __future__ import annotations

import pytest

from fstui.model.storage import Target
from fstui.tui.drawing import stack
from tests.factories.box import Box
from tests.factories.evidence import finding, rules, verdict
from tests.factories.looking import edges, look, only, trouble
from tests.factories.steps import step

RAM = "mtdram test device"
NAND = "NAND simulator partition 0"


def mtd(box: Box, number: int, name: str, kind: str = "nand") -> None:
    home = f"/sys/class/mtd/mtd{number}"
    for file, content in (("name", name), ("type", kind), ("size", str(128 << 20))):
        box.write(f"{home}/{file}", content)


def ubi(box: Box, mtd_number: int, **volume: str) -> None:
    """Volume 3 of UBI device 0."""
    box.write("/sys/class/ubi/ubi0/mtd_num", str(mtd_number))
    box.write("/sys/class/ubi/ubi0/ro_mode", "0")
    for file, content in {"name": "root", "corrupted": "0", **volume}.items():
        box.write(f"/sys/class/ubi/ubi0_3/{file}", content)


@pytest.mark.parametrize("source", ["ubi0:root", "ubi0!root", "ubi:root", "ubi0_3", "/dev/ubi0_3", "ubi3"])
def test_ubifs_stands_on_its_volume_and_that_on_its_flash(box: Box, source: str) -> None:
    mtd(box, 5, "spi0.0")
    ubi(box, 5)
    box.mount(source, "/srv", "ubifs", device="0:44")
    found = look(box)
    assert edges(found) == {"mount:/srv": ("ubi:ubi0_3",), "ubi:ubi0_3": ("mtd:mtd5",), "mtd:mtd5": ()}
    assert (found.lowest[0].kind, found.lowest[0].layer) == ("mtd", "flash")
    drawn = [line.plain.rstrip() for line in stack.tree(found, 80)]
    assert [line.split("·")[0].strip() for line in drawn] == ["ubifs  rw,relatime", "└ ubi0_3 root", "└ mtd5"]


@pytest.mark.parametrize("source", ["ubi0:other", "ubi1_0", "elsewhere"])
def test_a_volume_that_is_not_there_is_not_guessed(box: Box, source: str) -> None:
    ubi(box, 5)
    box.mount(source, "/srv", "ubifs", device="0:44")
    assert edges(look(box)) == {"mount:/srv": ()}


def test_a_corrupted_volume_is_in_trouble(box: Box) -> None:
    mtd(box, 5, "spi0.0")
    ubi(box, 5, corrupted="1")
    box.mount("ubi0:root", "/srv", "ubifs", device="0:44")
    assert trouble(look(box).stack[1]) == [("corrupted", "1")]


def durable_writes(found: Target) -> set[str]:
    return rules(verdict(found, step(flushes=0, share=0)))


@pytest.mark.parametrize(("name", "kind"), [(RAM, "mtdram"), (NAND, "nandsim")])
def test_flash_made_of_memory_is_memory_whatever_stands_on_it(box: Box, name: str, kind: str) -> None:
    mtd(box, 0, name, "ram")
    ubi(box, 0)
    box.device("mtdblock0", request_based=True)
    box.mount("ubi0:root", "/ubifs", "ubifs", device="0:44")
    box.mount("mtd0", "/jffs2", "jffs2", device="31:0")
    box.mount("/dev/mtdblock0", "/ext4", "ext4")
    for place in ("/ubifs", "/jffs2", "/ext4"):
        judged = verdict(look(box, place))
        assert (judged.verdict, finding(judged, "in-memory").title) == ("not-durable", f"in memory ({kind})")


def test_jffs2_does_not_go_through_the_block_device_that_names_it(box: Box) -> None:
    """mtdblock counts nothing of it: it would be accused of dropping every write."""
    mtd(box, 1, "rootfs", "nor")
    box.device("mtdblock1", "platform/spi0.0/mtd/mtd1", request_based=True)
    box.mount("/dev/mtdblock1", "/srv", "jffs2", device="31:1")
    found = look(box)
    assert edges(found) == {"mount:/srv": ("mtd:mtd1",), "mtd:mtd1": ()}
    assert not durable_writes(found) & {"flushes-missing", "bytes-missing"}
    assert verdict(found, step(flushes=0, share=0)).verdict == "cannot-tell"


def test_mtdblock_is_no_ssd_for_not_rotating(box: Box) -> None:
    mtd(box, 1, "rootfs", "nor")
    box.device("mtdblock1", "platform/spi0.0/mtd/mtd1", request_based=True)
    node = only(box)
    assert (node.kind, node.below, node.counted) == ("mtdblock", ("mtd:mtd1",), True)
    box.mount("/dev/mtdblock1", "/srv", "ext4")
    assert [medium.class_ for node in look(box).lowest if (medium := node.medium)] == ["unknown"]


def test_nor_is_one_whose_flash_the_kernel_does_not_show(box: Box) -> None:
    box.device("mtdblock1", "platform/spi0.0/mtd/mtd1", request_based=True)
    box.mount("/dev/mtdblock1", "/srv", "ext4")
    assert [medium.class_ for node in look(box).lowest if (medium := node.medium)] == ["unknown"]
