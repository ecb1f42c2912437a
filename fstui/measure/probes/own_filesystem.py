"""A filesystem in a file that only this process and its children see. It can stop as if its power had been cut.

Requires root. When the last of these processes has ended, even by kill -9, the mount disappears with its namespace
(mount_namespaces(7)), and the loop device with the mount (autoclear, loop(4)).
"""

import ctypes
import errno
import fcntl
import os
import shutil
import socket
import struct
import subprocess

from fstui.measure.wire.stdio import die_with_parent

CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
MS_NOSUID, MS_NODEV, MS_REC, MS_SLAVE = 1 << 1, 1 << 2, 1 << 14, 1 << 19
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
EXT4_IOC_SHUTDOWN, NO_LOG_FLUSH = 0x8004587D, 2
"""After this ioctl the filesystem writes nothing more, not even pending blocks of its journal (fs/ext4/ioctl.c,
ext4_force_shutdown)."""
MOUNT_POINTS = ("/media", "/mnt", "/srv")
"""Directories that every user may enter. This process and its children see a tmpfs on the first that exists."""
_LIBC = ctypes.CDLL(None, use_errno=True)
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def _check(result: int, call: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")


def _run(package: str, *argv: str) -> None:
    """Run a program. Raises OSError with the error of the program."""
    program = shutil.which(argv[0], path=PATH)
    if program is None:
        raise OSError(errno.ENOENT, f"{argv[0]} is missing: apt-get install {package}")
    process = subprocess.run([program, *argv[1:]], capture_output=True, check=False, preexec_fn=die_with_parent)
    if process.returncode:
        raise OSError(errno.EIO, f"{argv[0]}: {process.stderr.decode(errors='replace').strip()}")


def isolate_process() -> str:
    """Give this process its own mounts and its own 127.0.0.1. Return a directory for mount points. Raises OSError."""
    _check(_LIBC.unshare(CLONE_NEWNS | CLONE_NEWNET), "unshare")
    _check(_LIBC.mount(None, b"/", None, ctypes.c_ulong(MS_REC | MS_SLAVE), None), "mount")
    directory = next((directory for directory in MOUNT_POINTS if os.path.isdir(directory)), None)
    if directory is None:
        raise OSError(
            errno.ENOENT, f"none of {', '.join(MOUNT_POINTS)} exists, and the filesystem must be mounted in one"
        )
    flags = ctypes.c_ulong(MS_NOSUID | MS_NODEV)
    _check(_LIBC.mount(b"fstui", directory.encode(), b"tmpfs", flags, b"mode=755,size=1m"), "mount")
    # turn on the loopback interface, which is down in a new network namespace. Any socket will do (netdevice(7))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14x", b"lo", 0)
        (flag,) = struct.unpack_from("H", fcntl.ioctl(any_socket, SIOCGIFFLAGS, request), 16)
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flag | IFF_UP))
    return directory


def create_image(path: str, size_bytes: int) -> None:
    with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600), "wb") as file:
        file.truncate(size_bytes)
    _run("e2fsprogs", "mkfs.ext4", "-q", "-F", path)


def copy_image(source: str, path: str) -> None:
    _run("coreutils", "cp", "--sparse=auto", "--reflink=auto", source, path)


def mount(image: str, directory: str, *options: str) -> None:
    """Mount the image. The filesystem replays its journal first. Raises OSError."""
    os.makedirs(directory, 0o755, exist_ok=True)
    # -n: do not record the mount in /run, which belongs to the host
    _run("mount", "mount", "-n", "-t", "ext4", "-o", ",".join(("loop", "nosuid", "nodev", *options)), image, directory)


def cut_power(directory: str) -> None:
    """Discard everything that the kernel has not yet written to the image. Raises OSError."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.ioctl(fd, EXT4_IOC_SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
    finally:
        os.close(fd)


def sync(directory: str) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _check(_LIBC.syncfs(fd), "syncfs")
    finally:
        os.close(fd)


def unmount(directory: str) -> None:
    _check(_LIBC.umount2(directory.encode(), 0), "umount")
