"""How many names the file under a loop device has left, where the kernel calls it deleted: it says so of the name that
the loop was set up with, and a second hard link keeps the file.

The loop tells its file's filesystem and inode (LOOP_GET_STATUS64, loop(4)). An inode is reached without a name by a
file handle made up for it (open_by_handle_at(2)): ext4, f2fs and btrfs take one without the inode's generation. XFS
does not, and tells the link count of any inode itself (XFS_IOC_FSBULKSTAT_SINGLE, ioctl_xfs_fsbulkstat(2)).
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct
from collections.abc import Iterator

LOOP_GET_STATUS64, STATUS_BYTES = 0x4C05, 232
BULKSTAT_SINGLE = 0xC0205866
"""_IOWR('X', 102, struct xfs_fsop_bulkreq) where a pointer has 8 bytes; elsewhere it is refused."""
O_PATH_FLAGS = os.O_PATH | os.O_CLOEXEC
MAX_HANDLE_BYTES, AT_EMPTY_PATH = 128, 0x1000
INO32_GEN, BTRFS = 1, 0x4D
"""Types of handles (include/linux/exportfs.h): FILEID_INO32_GEN, FILEID_BTRFS_WITHOUT_PARENT."""
LIBC = ctypes.CDLL(None, use_errno=True)


class Handle(ctypes.Structure):
    """struct file_handle."""

    _fields_ = (("size", ctypes.c_uint), ("type", ctypes.c_int), ("content", ctypes.c_ubyte * MAX_HANDLE_BYTES))


class BulkRequest(ctypes.Structure):
    """struct xfs_fsop_bulkreq."""

    _fields_ = (
        ("inode", ctypes.c_void_p), ("count", ctypes.c_int), ("found", ctypes.c_void_p), ("number", ctypes.c_void_p),
    )  # fmt: skip


def links(device: str) -> int:
    """Of the file under that loop device. Raises OSError where nobody can say."""
    filesystem, inode = status(device)
    with open(f"/sys/block/{os.path.basename(device)}/loop/backing_file", encoding="utf-8") as said:
        path = said.read()
    for directory in above(path.rstrip("\n")):
        beside = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if os.fstat(beside).st_dev == filesystem:
                return links_of(beside, filesystem, inode)
        finally:
            os.close(beside)
    raise FileNotFoundError(2, "its filesystem is not where its path leads to")


def status(device: str) -> tuple[int, int]:
    """The number of the filesystem that its file lies on, and the file's inode."""
    loop = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
    try:
        told = fcntl.ioctl(loop, LOOP_GET_STATUS64, bytes(STATUS_BYTES))
    finally:
        os.close(loop)
    filesystem, inode = struct.unpack_from("=QQ", told)
    return filesystem, inode


def above(path: str) -> Iterator[str]:
    """The directories that lead to a file and are there, the nearest first."""
    while path not in ("/", ""):
        path = os.path.dirname(path)
        if os.path.isdir(path):
            yield path


def links_of(beside: int, filesystem: int, inode: int) -> int:
    """Of an inode on the filesystem of an open directory. Raises OSError."""
    known = handle_of(beside)
    if known.type == BTRFS:
        (subvolume,) = struct.unpack_from("=Q", bytes(known.content), 8)
        content = struct.pack("=QQI", inode, subvolume, 0)
    elif known.type == INO32_GEN and not is_xfs(beside, inode):
        content = struct.pack("=II", inode, 0)
    else:
        return links_by_bulkstat(beside, inode)
    handle = Handle(len(content), known.type)
    ctypes.memmove(handle.content, content, len(content))
    file = succeeded(LIBC.open_by_handle_at(beside, ctypes.byref(handle), O_PATH_FLAGS))
    try:
        found = os.fstat(file)
    finally:
        os.close(file)
    if (found.st_dev, found.st_ino) != (filesystem, inode):
        raise OSError(116, "another file answers")
    return found.st_nlink


def is_xfs(directory: int, inode: int) -> bool:
    """With inodes of 32 bits its handles look like those of ext4."""
    try:
        links_by_bulkstat(directory, inode)
    except OSError:
        return False
    return True


def handle_of(directory: int) -> Handle:
    """The one that the kernel gives for an open directory."""
    handle, mount = Handle(MAX_HANDLE_BYTES), ctypes.c_int()
    succeeded(LIBC.name_to_handle_at(directory, b"", ctypes.byref(handle), ctypes.byref(mount), AT_EMPTY_PATH))
    return handle


def links_by_bulkstat(directory: int, inode: int) -> int:
    """As XFS tells it: the number of the inode, its mode and its links come first."""
    wanted, number, found = ctypes.c_uint64(inode), ctypes.c_int(), ctypes.create_string_buffer(256)
    request = BulkRequest(ctypes.addressof(wanted), 1, ctypes.addressof(found), ctypes.addressof(number))
    succeeded(LIBC.ioctl(directory, ctypes.c_ulong(BULKSTAT_SINGLE), ctypes.byref(request)))
    told, _, count = struct.unpack_from("=QHH", found.raw)
    if told != inode:
        raise OSError(116, "another file answers")
    return int(count)


def succeeded(result: int) -> int:
    """What a call of libc returned. Raises OSError."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
