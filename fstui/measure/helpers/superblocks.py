"""What a filesystem's own superblock tells: where it ends on its block device, which may be larger than what it holds,
and on which further devices an f2fs lies, which it tells nowhere else.

Read past the page cache, in which a superblock may be older than the filesystem. On the disk (the kernel's
Documentation/filesystems/ext4/super.rst, fs/xfs/libxfs/xfs_format.h, include/uapi/linux/btrfs_tree.h and
include/linux/f2fs_fs.h) ext and f2fs keep theirs at 1 KiB, XFS at 0 and btrfs, which tells of this one of its devices
alone, at 64 KiB.
"""

from __future__ import annotations

import mmap
import os
import struct

PAGE_BYTES = 4096
BTRFS_AT = 65536
EXT_MAGIC, F2FS_MAGIC = 0xEF53, 0xF2F52010
EXT_64BIT = 0x80
F2FS_DEVICES_AT, F2FS_DEVICES, F2FS_PATH_BYTES, F2FS_SEGMENTS_BYTES = 2201, 8, 64, 4
"""``devs`` in its superblock: of each a path, by which the kernel opens it as well, and how large it is."""


def end(device: str) -> int:
    """In bytes. Raises OSError, also where it is of another kind."""
    found = in_page(page(device, 0)) or in_btrfs(page(device, BTRFS_AT))
    if found is None:
        raise OSError(22, "no superblock that is known")
    return found


def f2fs_devices(device: str) -> tuple[str, ...]:
    """The paths of its devices, as mkfs was told them; nothing where it has but one. Raises OSError, also where it is
    no f2fs."""
    superblock = page(device, 0)[1024:]
    if struct.unpack_from("<I", superblock)[0] != F2FS_MAGIC:
        raise OSError(22, "no superblock of f2fs")
    each = F2FS_PATH_BYTES + F2FS_SEGMENTS_BYTES
    starts = range(F2FS_DEVICES_AT, F2FS_DEVICES_AT + F2FS_DEVICES * each, each)
    paths = (superblock[start : start + F2FS_PATH_BYTES].partition(b"\0")[0] for start in starts)
    return tuple(os.fsdecode(path) for path in paths if path)


def page(device: str, offset: int) -> bytes:
    """One page of it; O_DIRECT wants aligned memory."""
    file = os.open(device, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)
    try:
        with mmap.mmap(-1, PAGE_BYTES) as memory:
            read = os.preadv(file, [memory], offset)
            return memory[:read].ljust(PAGE_BYTES, b"\0")
    finally:
        os.close(file)


def in_page(first: bytes) -> int | None:
    """By the first page of a device, as XFS, ext and f2fs write it."""
    if first.startswith(b"XFSB"):
        block_bytes, blocks = struct.unpack_from(">IQ", first, 4)
        return int(block_bytes * blocks)
    at = memoryview(first)[1024:]
    if struct.unpack_from("<I", at)[0] == F2FS_MAGIC:
        return int(struct.unpack_from("<Q", at, 36)[0] << struct.unpack_from("<I", at, 16)[0])
    if struct.unpack_from("<H", at, 0x38)[0] != EXT_MAGIC:
        return None
    low, exponent = struct.unpack_from("<I", at, 4)[0], struct.unpack_from("<I", at, 24)[0]
    wide = struct.unpack_from("<I", at, 0x60)[0] & EXT_64BIT
    high = struct.unpack_from("<I", at, 0x150)[0] if wide else 0
    return int((high << 32 | low) << (10 + exponent))


def in_btrfs(found: bytes) -> int | None:
    """By the page at 64 KiB."""
    return int(struct.unpack_from("<Q", found, 0xD1)[0]) if found[64:72] == b"_BHRfS_M" else None
