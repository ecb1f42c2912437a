"""A SCSI disk's caching mode page, as disks send it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fstui.measure.helpers.caching_page import in_page, is_on

BLOCK = bytes.fromhex("0000000000000200")
PAGE = bytes.fromhex("08121400ffff0000ffffffff8014000000000000")
OFF = bytes.fromhex("08121000ffff0000ffffffff8014000000000000")


@pytest.mark.parametrize("blocks", [b"", BLOCK, 2 * BLOCK])
@pytest.mark.parametrize(("page", "on"), [(PAGE, True), (OFF, False), (b"\x88" + PAGE[1:], True)])
def test_the_page_stands_behind_its_header_and_the_blocks(blocks: bytes, page: bytes, on: bool) -> None:
    short = bytes((3 + len(blocks) + len(page), 0, 0x10, len(blocks)))
    long = bytes((0, 6 + len(blocks) + len(page), 0, 0x10, 0, 0, 0, len(blocks)))
    assert in_page(short + blocks + page, 4, 3) is on
    assert in_page(long + blocks + page, 8, 7) is on


@pytest.mark.parametrize(
    "answer", [b"", bytes(64), bytes((3, 0, 0, 0)), bytes((7, 0, 0, 0)) + b"\x0a\x12\x14", b"\3\0\0\xff"]
)
def test_what_is_no_such_page_tells_nothing(answer: bytes) -> None:
    with pytest.raises(OSError, match="tells nothing"):
        in_page(answer, 4, 3)


def test_what_is_no_scsi_disk_refuses(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="Inappropriate"):
        is_on(str(tmp_path / "file"))
