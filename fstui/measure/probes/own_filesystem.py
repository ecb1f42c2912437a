"""A filesystem of our own in a file, mounted where nobody but us and what we start sees it, and cut like a power cut.

All of it needs root. It is gone with our last process, also by kill -9: the mount goes with its namespace
(mount_namespaces(7)), the loop device with the mount (``LO_FLAGS_AUTOCLEAR``, loop(4)).
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import shutil
import socket
import struct
import subprocess

CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
MS_NOSUID, MS_NODEV, MS_REC, MS_SLAVE = 1 << 1, 1 << 2, 1 << 14, 1 << 19
LOOP_CTL_GET_FREE, LOOP_CONFIGURE, LO_FLAGS_AUTOCLEAR = 0x4C82, 0x4C0A, 4
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
SHUTDOWN, NO_LOG_FLUSH = 0x8004587D, 2
"""``EXT4_IOC_SHUTDOWN``, the same as ``XFS_IOC_GOINGDOWN``: from now on nothing is written any more, and what the
journal had not written is not written either (linux/fs/ext4/ioctl.c, ext4_force_shutdown)."""
PLACES = ("/media", "/mnt", "/srv")
"""Directories that every user may walk through; what others have there is hidden from us and our servers alone."""
FSTYPE = "ext4"
ATTEMPTS = 20
"""A loop device that was free may be somebody else's a moment later."""


def _check(result: int, call: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def set_apart() -> str:
    """From now on what we mount is ours alone, and so is 127.0.0.1. The directory to mount in. Raises OSError."""
    libc = _libc()
    _check(libc.unshare(CLONE_NEWNS | CLONE_NEWNET), "unshare")
    _check(libc.mount(None, b"/", None, ctypes.c_ulong(MS_REC | MS_SLAVE), None), "mount")
    place = next((place for place in PLACES if os.path.isdir(place)), None)
    if place is None:
        raise OSError(errno.ENOENT, f"none of {', '.join(PLACES)} is here to mount in")
    flags = ctypes.c_ulong(MS_NOSUID | MS_NODEV)
    _check(libc.mount(b"fstui", place.encode(), b"tmpfs", flags, b"mode=755,size=1m"), "mount")
    _loopback_up()
    return place


def _loopback_up() -> None:
    """netdevice(7)"""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        asked = struct.pack("16sH14x", b"lo", 0)
        (flags,) = struct.unpack_from("H", fcntl.ioctl(any_socket, SIOCGIFFLAGS, asked), 16)
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))


def make_image(path: str, size_bytes: int) -> None:
    """An empty filesystem in a new file. Raises OSError."""
    with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600), "wb") as file:
        file.truncate(size_bytes)
    mkfs = shutil.which(f"mkfs.{FSTYPE}", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if mkfs is None:
        raise OSError(errno.ENOENT, f"mkfs.{FSTYPE} is missing: apt-get install e2fsprogs")
    done = subprocess.run([mkfs, "-q", "-F", path], capture_output=True, check=False)
    if done.returncode:
        raise OSError(errno.EIO, f"mkfs.{FSTYPE}: {done.stderr.decode(errors='replace').strip()}")


def copy_image(source: str, path: str) -> None:
    """With its holes left out. Raises OSError."""
    with open(source, "rb") as there, open(os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as here:
        size, at = os.fstat(there.fileno()).st_size, 0
        here.truncate(size)
        while at < size:
            try:
                at = os.lseek(there.fileno(), at, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:  # nothing but a hole to the end
                    return
                raise
            hole = os.lseek(there.fileno(), at, os.SEEK_HOLE)
            while at < hole:
                at += os.copy_file_range(there.fileno(), here.fileno(), hole - at, at, at)


def mount(image: str, directory: str, options: str = "") -> None:
    """Raises OSError. Its journal is replayed, as after any cut."""
    os.makedirs(directory, 0o755, exist_ok=True)
    with open(image, "r+b") as file:
        device = _loop(file.fileno())
        flags = ctypes.c_ulong(MS_NOSUID | MS_NODEV)
        source = f"/dev/loop{device[1]}".encode()
        try:
            _check(_libc().mount(source, directory.encode(), FSTYPE.encode(), flags, options.encode()), "mount")
        finally:
            os.close(device[0])


def _loop(image: int) -> tuple[int, int]:
    """A loop device over that file, held, and its number. Raises OSError."""
    for _ in range(ATTEMPTS):
        control = os.open("/dev/loop-control", os.O_RDWR | os.O_CLOEXEC)
        number = fcntl.ioctl(control, LOOP_CTL_GET_FREE)
        os.close(control)
        held = os.open(f"/dev/loop{number}", os.O_RDWR | os.O_CLOEXEC)
        # struct loop_config (linux/loop.h): fd, block_size, a loop_info64 with lo_flags at 52, eight reserved words
        asked = struct.pack("II52xI176x64x", image, 0, LO_FLAGS_AUTOCLEAR)
        try:
            fcntl.ioctl(held, LOOP_CONFIGURE, asked)
        except OSError as error:
            os.close(held)
            if error.errno != errno.EBUSY:
                raise
        else:
            return held, number
    raise OSError(errno.EBUSY, "no loop device is free")


def cut_power(directory: str) -> None:
    """All that the kernel holds of that filesystem and has not written is lost. Raises OSError."""
    held = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.ioctl(held, SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
    finally:
        os.close(held)


def sync(directory: str) -> None:
    """All of it is on its disk. Raises OSError."""
    held = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _check(_libc().syncfs(held), "syncfs")
    finally:
        os.close(held)


def unmount(directory: str) -> None:
    """Raises OSError."""
    _check(_libc().umount2(directory.encode(), 0), "umount")
