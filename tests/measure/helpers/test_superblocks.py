"""Where a filesystem ends, by what mkfs writes."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from fstui.measure.helpers import superblocks

MIB, F2FS = 1 << 20, b"\x10\x20\xf5\xf2"


def image(path: Path, *fields: tuple[int, bytes]) -> str:
    content = bytearray(128 * 1024)
    for at, value in fields:
        content[at : at + len(value)] = value
    path.write_bytes(content)
    return str(path)


def ext(blocks: int, exponent: int, *, wide: bool) -> tuple[tuple[int, bytes], ...]:
    low, high = blocks & 0xFFFFFFFF, blocks >> 32
    return (
        (1024 + 4, struct.pack("<I", low)), (1024 + 24, struct.pack("<I", exponent)), (1024 + 0x38, b"\x53\xef"),
        (1024 + 0x60, struct.pack("<I", 0x80 if wide else 0)), (1024 + 0x150, struct.pack("<I", high or 7)),
    )  # fmt: skip


@pytest.mark.parametrize(("fields", "end"), [
    (ext(25600, 2, wide=False), 100 * MIB),
    (ext(102400, 0, wide=False), 100 * MIB),
    (ext((1 << 32) + 1, 2, wide=True), 4096 * ((1 << 32) + 1)),
    (((0, b"XFSB" + struct.pack(">IQ", 4096, 76800)),), 300 * MIB),
    (((1024, F2FS), (1040, struct.pack("<I", 12)), (1060, struct.pack("<Q", 25600))), 100 * MIB),
    (((65536 + 64, b"_BHRfS_M"), (65536 + 0xD1, struct.pack("<Q", 256 * MIB))), 256 * MIB),
], ids=["ext4", "ext4 with blocks of 1 KiB", "ext4 beyond 16 TiB", "XFS", "f2fs", "btrfs"])  # fmt: skip
def test_each_filesystem_tells_its_end(tmp_path: Path, fields: tuple[tuple[int, bytes], ...], end: int) -> None:
    assert superblocks.end(image(tmp_path / "image", *fields)) == end


def test_what_is_not_known_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no superblock"):
        superblocks.end(image(tmp_path / "image"))


def test_f2fs_names_its_devices(tmp_path: Path) -> None:
    names = b"/dev/sda", b"/dev/disk/by-id/z" + b"9" * 40, *(b"/dev/nvme%dn1" % at for at in range(6))
    devices = tuple((1024 + 2201 + 68 * at, name) for at, name in enumerate(names))
    assert superblocks.f2fs_devices(image(tmp_path / "image", (1024, F2FS), *devices)) == tuple(map(os.fsdecode, names))
    assert superblocks.f2fs_devices(image(tmp_path / "one", (1024, F2FS))) == ()
    with pytest.raises(OSError, match="no superblock of f2fs"):
        superblocks.f2fs_devices(image(tmp_path / "other", *ext(25600, 2, wide=False)))
