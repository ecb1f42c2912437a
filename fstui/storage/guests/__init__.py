"""Find the virtual machines on this host by their processes: QEMU with or without libvirt or Proxmox, Firecracker,
cloud-hypervisor.

Reading a process's arguments or following the path of an image can hang in the kernel, so ``read_guests`` runs in a
child process, with a thread for each guest.
"""

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
from fstui.storage.mounts import MAX_MOUNTS_BYTES, read_mounts, visible_mounts
from fstui.storage.tree import BlockDeviceNames, Tree

TIMEOUT_S = 3.0
"""Time limit for all guests together."""
_PROGRAM = re.compile(r"\.?qemu-system-.*|qemu-kvm|qemu:.*|kvm|firecracker|cloud-hyperviso.*")
"""Names of programs, and of processes, which have at most 15 characters. NixOS puts a dot before the names of programs
that it wraps. libvirt can name a process after its guest."""
_MAX_FILE_BYTES = 1 << 18
_MAX_GUESTS, _MAX_DISKS, _MAX_DIGITS = 512, 256, 15


def find_pids(root: Path = Path("/")) -> tuple[int, ...]:
    """Return the pids of processes that have the name of a virtual machine monitor. This cannot hang."""
    tree = Tree(root)
    pids = sorted(int(name) for name in tree.names("/proc") if name.isdecimal())
    return tuple(pid for pid in pids if any(map(_PROGRAM.fullmatch, _names(tree, pid))))[:_MAX_GUESTS]


def _names(tree: Tree, pid: int) -> tuple[str, str]:
    program = (tree.link(f"/proc/{pid}/exe") or "").removesuffix(" (deleted)")
    return tree.stripped(f"/proc/{pid}/comm") or "", program.rpartition("/")[2]


def read_guests(pids: Sequence[int], root: Path = Path("/")) -> tuple[Guest, ...]:
    """Return the virtual machines among these processes, including those that could not be read in time."""
    reader = GuestReader(root)
    guests: dict[int, Guest | None] = {}

    def read_guest(pid: int) -> None:
        try:
            guests[pid] = reader.guest(pid)
        # the process controls this data, so it may be malformed; report QEMU, which is the most common hypervisor
        except (AttributeError, KeyError, TypeError, ValueError, OSError):
            guests[pid] = Guest(pid=pid, hypervisor="qemu", trouble="the description of its disks could not be parsed")

    threads = [threading.Thread(target=read_guest, args=(pid,), daemon=True) for pid in pids]
    deadline = time.monotonic() + TIMEOUT_S
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    timeout_message = f"its process could not be read within {TIMEOUT_S:g} s"
    results = (guests.get(pid, Guest(pid=pid, hypervisor="qemu", trouble=timeout_message)) for pid in pids)
    return tuple(guest for guest in results if guest is not None)


class GuestReader:
    def __init__(self, root: Path) -> None:
        self._root = str(root).rstrip("/")
        self._tree = Tree(root)
        self._names = BlockDeviceNames(self._tree)
        self._mounts = visible_mounts(read_mounts(self._tree))

    def guest(self, pid: int) -> Guest | None:
        """Return what is known about a guest; None if the process has ended or is a kernel thread."""
        words = os.fsdecode(self._tree.data(f"/proc/{pid}/cmdline", _MAX_FILE_BYTES) or b"").rstrip("\0").split("\0")
        if words == [""]:
            return None
        programs = f"{words[0].rpartition('/')[2]} {' '.join(_names(self._tree, pid))}"
        if "firecracker" in programs:
            guest = microvms.firecracker_guest(pid, words, partial(self._file_of, pid), partial(self._path_of, pid))
        elif "cloud-hyperviso" in programs:
            guest = microvms.cloud_hypervisor_guest(pid, words, partial(self._path_of, pid))
        else:
            guest = self._qemu(pid, words)
        return replace(guest, disks=tuple(self._with_location(pid, disk) for disk in guest.disks[:_MAX_DISKS]))

    def _qemu(self, pid: int, words: Sequence[str]) -> Guest:
        pairs = qemu.arguments(words)
        options = dict(pairs)
        disks, path = qemu.disks(pairs), qemu.monitor_path(pairs)
        is_libvirt = any("/libvirt/" in word or "libvirt-" in word for word in words)
        read_from, qmp_reason = "its arguments", "it has no QMP socket"
        if is_libvirt:
            qmp_reason = "its QMP monitor belongs to libvirt"
        elif path and sockets.is_in_use(self._tree, pid, path) is not False:
            qmp_reason = f"the QMP monitor {path} is or may be in use"
        elif path:
            qmp_reason = f"the QMP monitor {path} gave no answer"
            if answer := sockets.block_devices(self._path_of(pid, path), pid):
                disks, read_from, qmp_reason = qemu.update_disks(disks, *answer), f"its arguments and {path}", ""
        number = options.get("id", "")  # Proxmox starts QEMU with "-id 100"
        return Guest(
            pid=pid,
            hypervisor="proxmox" if number.isdecimal() else "libvirt" if is_libvirt else "qemu",
            name=str(qemu.parse_option("name", options.get("name", "")).get("guest", "")),
            number=int(number[:_MAX_DIGITS]) if number.isdecimal() else None,
            disks=tuple(disks),
            read_from=read_from + (f"; {qmp_reason}: disks that were added later are missing" if qmp_reason else ""),
            trouble=f"the options in {options['readconfig']} were not read" if "readconfig" in options else "",
        )

    def _path_of(self, pid: int, path: str) -> str:
        """Return the path under /proc/PID through which fstui opens a path of that process."""
        return f"{self._root}/proc/{pid}/{'root' if path.startswith('/') else 'cwd/'}{path}"

    def _file_of(self, pid: int, path: str) -> bytes | None:
        """Return the content of a file that the arguments of a process name; None if it is not a regular file."""
        with _path_descriptor(self._path_of(pid, path)) as fd:
            is_regular = fd is not None and stat.S_ISREG(os.fstat(fd).st_mode)
            return Tree().data(f"/proc/self/fd/{fd}", _MAX_FILE_BYTES) if is_regular else None

    def _with_location(self, pid: int, disk: GuestDisk) -> GuestDisk:
        """Add the mount point or the device of the image."""
        path = disk.image
        if not path or ":" in path.partition("/")[0]:  # a network volume
            return disk
        # only root and the owner of the process may follow /proc/PID/root, so the path itself is tried next
        paths = [self._path_of(pid, path), *([self._root + path] if path.startswith("/") else [])]
        with _path_descriptor(*paths) as fd:
            if fd is None:
                return disk
            status = os.fstat(fd)
            if stat.S_ISBLK(status.st_mode):
                number = f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
                return replace(disk, device=self._names.by_number(number))
            return replace(disk, mount_point=self._mount_point(pid, proc.mount_id(fd)))

    def _mount_point(self, pid: int, mount_id: int | None) -> str | None:
        """Return this host's mount point of the filesystem that the process reaches through its mount ``mount_id``."""
        mounts = proc.parse_mounts(self._tree.data(f"/proc/{pid}/mountinfo", MAX_MOUNTS_BYTES) or b"")
        devices_of_process = {mount.number: mount.device for mount in mounts}
        devices_of_host = {mount.number: mount.device for mount in self._mounts}
        device = devices_of_process.get(mount_id or 0) or devices_of_host.get(mount_id or 0)
        # The file may have been opened on this host. If the process does not mount that filesystem, the path leads to a
        # different file there.
        if device not in devices_of_process.values():
            return None
        candidates = [mount for mount in self._mounts if mount.device == device]
        candidates.sort(key=lambda mount: mount.number != mount_id)
        return candidates[0].mount_point if candidates else None


@contextmanager
def _path_descriptor(*paths: str) -> Iterator[int | None]:
    """Yield an O_PATH descriptor of the first path that exists, or None. This opens no file or device."""
    with ExitStack() as stack:
        fd = None
        for path in paths:
            with suppress(OSError, ValueError):
                fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
                stack.callback(os.close, fd)
                break
        yield fd
