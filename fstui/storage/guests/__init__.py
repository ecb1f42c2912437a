"""The virtual machines that run on this host, from their processes: QEMU with or without libvirt or Proxmox,
Firecracker, cloud-hypervisor.

Reading a process's arguments or following the path of an image can hang in the kernel, so ``read_guests`` runs in a
child process, with a thread for each guest.
"""

from __future__ import annotations

import os
import re
import stat
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from fstui import proc
from fstui.model.guests import Guest, GuestDisk
from fstui.storage.guests import microvms, qemu, sockets
from fstui.storage.mounts import read_mounts, visible
from fstui.storage.tree import BlockDeviceNames, Tree

TIMEOUT_S = 3.0
_PROGRAM = re.compile(r"\.?qemu-system-.*|qemu-kvm|qemu:.*|kvm|firecracker|cloud-hyperviso.*")
"""Names of processes, which have at most 15 characters, and of programs. NixOS puts a dot before the names of programs
that it wraps; libvirt can name a process after its guest."""
_BYTES, _MOUNTS_BYTES = 1 << 18, 64 << 20
_MAX_GUESTS, _MAX_DISKS, _MAX_DIGITS = 512, 256, 15


def running(root: Path = Path("/")) -> tuple[int, ...]:
    """Return the processes that have the name of a virtual machine monitor. This cannot hang."""
    tree = Tree(root)
    pids = sorted(int(name) for name in tree.names("/proc") if name.isdecimal())
    return tuple(pid for pid in pids if any(map(_PROGRAM.fullmatch, _names(tree, pid))))[:_MAX_GUESTS]


def _names(tree: Tree, pid: int) -> tuple[str, str]:
    program = (tree.link(f"/proc/{pid}/exe") or "").removesuffix(" (deleted)")
    return tree.word(f"/proc/{pid}/comm") or "", program.rpartition("/")[2]


def read_guests(pids: Sequence[int], root: Path = Path("/")) -> tuple[Guest, ...]:
    """Return the virtual machines among these processes, also those that do not answer in time."""
    reader = GuestReader(root)
    found: dict[int, Guest | None] = {}

    def read(pid: int) -> None:
        try:
            found[pid] = reader.guest(pid)
        # the process chose what was read, so any of it may be malformed; QEMU is assumed
        except (AttributeError, KeyError, TypeError, ValueError, OSError):
            found[pid] = Guest(pid=pid, hypervisor="qemu", trouble="what it says of its disks was not understood")

    threads = [threading.Thread(target=read, args=(pid,), daemon=True) for pid in pids]
    until = time.monotonic() + TIMEOUT_S
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    silent = f"its process did not answer within {TIMEOUT_S:g} s"
    guests = [found.get(pid, Guest(pid=pid, hypervisor="qemu", trouble=silent)) for pid in pids]
    return tuple(guest for guest in guests if guest is not None)


class GuestReader:
    """Reads the virtual machines of the host below one root, at one moment."""

    def __init__(self, root: Path) -> None:
        self._root = str(root).rstrip("/")
        self._tree = Tree(root)
        self._names = BlockDeviceNames(self._tree)
        self._mounts = visible(read_mounts(self._tree))

    def guest(self, pid: int) -> Guest | None:
        """Return what is known of a guest; None if the process is not one, or has ended."""
        words = os.fsdecode(self._tree.data(f"/proc/{pid}/cmdline", _BYTES) or b"").rstrip("\0").split("\0")
        if words == [""]:  # a thread of the kernel, or it has ended
            return None
        programs = f"{words[0].rpartition('/')[2]} {' '.join(_names(self._tree, pid))}"
        if "firecracker" in programs:
            guest = microvms.firecracker(pid, words, partial(self._file_of, pid), partial(self._path_of, pid))
        elif "cloud-hyperviso" in programs:
            guest = microvms.cloud_hypervisor(pid, words, partial(self._path_of, pid))
        else:
            guest = self._qemu(pid, words)
        return replace(guest, disks=tuple(self._located(pid, disk) for disk in guest.disks[:_MAX_DISKS]))

    def _qemu(self, pid: int, words: Sequence[str]) -> Guest:
        given = qemu.arguments(words)
        options = dict(given)
        disks, path = qemu.disks(given), qemu.monitor(given)
        by_libvirt = any("/libvirt/" in word or "libvirt-" in word for word in words)
        read_from, unread = "its arguments", "it has no QMP socket"
        if by_libvirt:
            unread = "its QMP monitor belongs to libvirt"
        elif path and sockets.in_use(self._tree, pid, path) is not False:
            unread = f"the QMP monitor {path} is in use, or that is not known"
        elif path:
            unread = f"the QMP monitor {path} gave no answer"
            if answer := sockets.block_devices(self._path_of(pid, path), pid):
                disks, read_from, unread = qemu.with_answer(disks, *answer), f"its arguments and {path}", ""
        number = options.get("id", "")  # Proxmox starts QEMU with "-id 100"
        return Guest(
            pid=pid,
            hypervisor="proxmox" if number.isdecimal() else "libvirt" if by_libvirt else "qemu",
            name=str(qemu.parsed("name", options.get("name", "")).get("guest", "")),
            number=int(number[:_MAX_DIGITS]) if number.isdecimal() else None,
            disks=tuple(disks),
            read_from=f"{read_from}; {unread}: disks that were added later are missing" if unread else read_from,
            trouble=f"the options in {options['readconfig']} were not read" if "readconfig" in options else "",
        )

    def _path_of(self, pid: int, path: str) -> str:
        """Return the path by which this process reaches a path of another process."""
        return f"{self._root}/proc/{pid}/{'root' if path.startswith('/') else 'cwd/'}{path}"

    def _file_of(self, pid: int, path: str) -> bytes | None:
        """Return a file of a process, which may have named a device: None unless it is a regular file."""
        with _looked_up(self._path_of(pid, path)) as fd:
            regular = fd is not None and stat.S_ISREG(os.fstat(fd).st_mode)
            return Tree().data(f"/proc/self/fd/{fd}", _BYTES) if regular else None

    def _located(self, pid: int, disk: GuestDisk) -> GuestDisk:
        """Add the mount point or the device of the image."""
        path = disk.image
        if not path or ":" in path.partition("/")[0]:  # a volume in a network
            return disk
        # only root and the owner of the process may follow /proc/PID/root, so the path itself is tried next
        paths = [self._path_of(pid, path), *([self._root + path] if path.startswith("/") else [])]
        with _looked_up(*paths) as fd:
            if fd is None:
                return disk
            status = os.fstat(fd)
            if stat.S_ISBLK(status.st_mode):
                number = f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
                return replace(disk, device=self._names.of(number))
            return replace(disk, mount_point=self._mount_point(pid, proc.mount_id(fd)))

    def _mount_point(self, pid: int, number: int | None) -> str | None:
        """Return where the process, in its own mount namespace, sees the filesystem of the mount ``number``."""
        mounts = proc.parse_mounts(self._tree.data(f"/proc/{pid}/mountinfo", _MOUNTS_BYTES) or b"")
        of_other = {mount.number: mount.device for mount in mounts}
        of_here = {mount.number: mount.device for mount in self._mounts}
        device = of_other.get(number or 0) or of_here.get(number or 0)
        # if the other process does not have this filesystem, its path leads to another file than the path here
        if device not in of_other.values():
            return None
        same = [mount for mount in self._mounts if mount.device == device]
        same.sort(key=lambda mount: mount.number != number)
        return same[0].mount_point if same else None


@contextmanager
def _looked_up(*paths: str) -> Iterator[int | None]:
    """Yield a descriptor of the first path that exists, without opening the file or device there; else None."""
    with ExitStack() as opened:
        fd = None
        for path in paths:
            with suppress(OSError, ValueError):
                fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
                opened.callback(os.close, fd)
                break
        yield fd
