"""Parse /proc: processes, mounts and counters of the host. fstui and its child programs share this module.

Standard library only. Names may contain bytes that are not UTF-8; they are decoded as surrogates.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

MOUNTINFO = "/proc/self/mountinfo"
FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""PROC_PID_INIT_INO of the kernel's linux/proc_ns.h. All other pid namespaces are below this one."""
_OCTAL_ESCAPE = re.compile(rb"\\([0-3][0-7]{2})")
LOOP_WORKER = "+loop"
"""Part of the name of a kernel worker while it serves a loop device: ``kworker/u8:5+loop0``."""
ON_FROZEN = " (frozen filesystem)"
"""This stands after the name of a system call that waits for the end of a freeze."""
_GENERIC_CALLS = {
    46: "ftruncate", 47: "fallocate", 56: "openat", 64: "write", 66: "writev", 68: "pwrite64", 70: "pwritev",
    81: "sync", 82: "fsync", 83: "fdatasync", 227: "msync", 267: "syncfs", 287: "pwritev2",
}  # fmt: skip
SYSTEM_CALLS = {
    "x86_64": {
        1: "write", 18: "pwrite64", 20: "writev", 26: "msync", 74: "fsync", 75: "fdatasync", 77: "ftruncate",
        162: "sync", 257: "openat", 285: "fallocate", 296: "pwritev", 306: "syncfs", 328: "pwritev2",
    },
    "aarch64": _GENERIC_CALLS,
    "riscv64": _GENERIC_CALLS,
}.get(os.uname().machine, {})  # fmt: skip
"""The calls that write, sync or create a file, by their number in /proc/PID/syscall. The first argument of a call that
writes or syncs one file is its descriptor. Empty if the numbers are not known here."""
_IO_BYTES = rb"(?m)^read_bytes: (\d+)\nwrite_bytes: (\d+)"
_DELETED = " (deleted)"
_CGROUP_V1_LIMITS = ("read_bps", "write_bps", "read_iops", "write_iops")
WRITE_LIMITS = ("wbps", "wiops", "write_bps", "write_iops")
"""The names of limits for writes: the first two are those of cgroup v2."""
_MEMINFO_LINE = re.compile(r"^(\w+):\s+(\d{1,15}) kB", re.MULTILINE)
_STUB_NAMES = r"eatmydata|no-?f?sync|fsync-?(off|disable|stub)|fake-?f?sync|disable-?f?sync"
_DEVICE_NUMBER = r"\d{1,7}:\d{1,7}"


class Stat(NamedTuple):
    """Fields of /proc/PID/stat (proc_pid_stat(5)). Times are clock ticks."""

    name: str
    state: str
    parent: int
    flags: int
    cpu_ticks: int
    """CPU time in user mode and in the kernel."""
    threads: int
    start: int
    """Start time since boot. Together with the pid it identifies a process."""


class Mount(NamedTuple):
    """One line of mountinfo (proc_pid_mountinfo(5)). ``number``: the mount ID; ``parent``: that of the parent mount."""

    number: int
    parent: int
    device: str
    """``major:minor`` of the filesystem; an anonymous 0:n for btrfs, network and memory filesystems."""
    root: str
    """The mounted directory of the filesystem; not ``/`` for a bind mount."""
    mount_point: str
    options: tuple[str, ...]
    fstype: str
    source: str
    super_options: tuple[str, ...]
    """Options of the filesystem, which all mounts of the filesystem share."""
    line: int = 0
    """The index of the line in mountinfo. The later of two mounts has the higher index, but not always a higher ID."""

    @property
    def all_options(self) -> tuple[str, ...]:
        """Options of the mount, then the further options of the filesystem."""
        return tuple(dict.fromkeys(self.options + self.super_options))

    def option(self, name: str) -> str | None:
        """Return the value of ``name=value`` among the filesystem's options, or None."""
        prefix = name + "="
        return next((option.removeprefix(prefix) for option in self.super_options if option.startswith(prefix)), None)


def pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def stat(pid: int) -> Stat | None:
    data = _read(f"/proc/{pid}/stat")
    # the name is in brackets, and may contain brackets itself, so it ends at the last bracket
    before, bracket, after = data.rpartition(b")")
    words = after.split()
    if not bracket or len(words) < 20:
        return None
    return Stat(
        name=os.fsdecode(before.partition(b"(")[2]),
        state=words[0].decode(),
        parent=int(words[1]),
        flags=int(words[6]),
        cpu_ticks=int(words[11]) + int(words[12]),
        threads=int(words[17]),
        start=int(words[19]),
    )


def waits_for_thaw(wait_channel: str) -> bool:
    """Return whether a thread waits for the end of a freeze. ``wait_channel``: its /proc/PID/wchan.

    A call that changes a frozen filesystem waits for a per-CPU semaphore (kernel: sb_start_write), and so does a store
    to a mapped file. Other waits for such semaphores are short, for example while a process moves to another cgroup.
    """
    return wait_channel == "percpu_rwsem_wait"


def threads(pid: int) -> list[int]:
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


def children(pid: int) -> list[int]:
    """Return the children of a process's first thread; none if this kernel cannot list them (CONFIG_PROC_CHILDREN)."""
    return [int(child) for child in read_text(f"/proc/{pid}/task/{pid}/children").split()]


def written_bytes(pid: int) -> int | None:
    """Return how many bytes a process has written to disks so far, or None without permission."""
    amounts = io_bytes(pid)
    return amounts and amounts[1]


def io_bytes(pid: int) -> tuple[int, int] | None:
    """Return how many bytes a process has read from and written to disks so far, or None without permission."""
    match = re.search(_IO_BYTES, _read(f"/proc/{pid}/io"))
    return (int(match[1]), int(match[2])) if match else None


def mount_id(fd: int | str, pid: int | str = "self", *, writable: bool = False) -> int | None:
    """Return the mount ID of an open file; None if unknown or, with ``writable``, if it is open only for reading."""
    info = fields(f"/proc/{pid}/fdinfo/{fd}")
    if "mnt_id" not in info or (writable and not int(info.get("flags", "0"), 8) & os.O_ACCMODE):
        return None
    return int(info["mnt_id"])


def mapped_files(maps: str) -> list[str]:
    paths = (line.partition("/")[2] for line in maps.split("\n"))
    return list(dict.fromkeys(f"/{path.removesuffix(_DELETED)}" for path in paths if path))


def preloaded_libraries(environ: str) -> list[str]:
    """Return the libraries that LD_PRELOAD names in a /proc/PID/environ file."""
    match = re.search(r"(?:^|\0)LD_PRELOAD=([^\0]*)", environ)
    return [path for path in re.split("[ :]", match[1]) if path] if match else []


def mounts(pid: int | None = None) -> Iterator[Mount]:
    """Yield the mounts in the mount namespace of a process (by default this process), in the order of mountinfo."""
    return parse_mounts(_read(MOUNTINFO if pid is None else f"/proc/{pid}/mountinfo"))


def parse_mounts(data: bytes) -> Iterator[Mount]:
    """Yield the mounts in a mountinfo file. Malformed lines are skipped."""
    number = 0
    for line in data.split(b"\n"):
        if mount := _parse_mount(line, number):
            number += 1
            yield mount


def stubs_syncs(path: str) -> bool:
    """Return whether the name of a library's file shows that the library disables syncs (libeatmydata, nosync …)."""
    return re.search(_STUB_NAMES, path.rpartition("/")[2], re.IGNORECASE) is not None


class IoLimit(NamedTuple):
    """An I/O limit of a cgroup. ``what``: device and quantity (``253:0 wiops``); ``path``: the file with the limit."""

    what: str
    value: str
    path: str


def cgroups(text: str) -> dict[str, str]:
    """Return the cgroup for each controller from a /proc/PID/cgroup file. The key of the unified hierarchy is empty."""
    lines = [line.split(":", 2) for line in text.split("\n") if line.count(":") >= 2]
    return {controller: path for _, controllers, path in lines for controller in controllers.split(",")}


def io_cgroup(text: str) -> str | None:
    """Return the cgroup whose I/O limits apply, from a /proc/PID/cgroup file: the cgroup of the blkio controller (v1).
    If there is none, return the cgroup of the unified hierarchy (v2)."""
    by_controller = cgroups(text)
    return by_controller.get("blkio", by_controller.get(""))


def io_limits(mounts_: Iterable[Mount], text: str, read: Callable[[str], str]) -> Iterator[IoLimit]:
    """Yield the I/O limits that apply to a process. ``text``: its /proc/PID/cgroup. ``read`` returns a file's text."""
    by_controller = cgroups(text)
    for mount in mounts_:
        if mount.fstype == "cgroup2" and "" in by_controller:
            for directory in cgroup_directories(mount, by_controller[""]):
                yield from _v2_limits(read, directory)
        elif mount.fstype == "cgroup" and "blkio" in mount.super_options and "blkio" in by_controller:
            for directory in cgroup_directories(mount, by_controller["blkio"]):
                yield from _v1_limits(read, directory)


def cgroup_directories(mount: Mount, path: str) -> Iterator[str]:
    """Yield the directories of a cgroup and of its ancestors up to the mount. The ancestors' limits apply, too."""
    path = path.removeprefix(mount.root) if mount.root != "/" else path
    while path not in ("", "/"):
        yield f"{mount.mount_point}{'' if path.startswith('/') else '/'}{path}"
        path = path.rpartition("/")[0]
    yield mount.mount_point


def _v2_limits(read: Callable[[str], str], directory: str) -> Iterator[IoLimit]:
    path = f"{directory}/io.max"
    for line in read(path).split("\n"):
        device, *limits = line.split(" ")
        for limit in limits if re.fullmatch(_DEVICE_NUMBER, device) else ():
            what, _, value = limit.partition("=")
            if value.isdecimal():  # not "max"
                yield IoLimit(f"{device} {what}", value, path)


def _v1_limits(read: Callable[[str], str], directory: str) -> Iterator[IoLimit]:
    for what in _CGROUP_V1_LIMITS:
        path = f"{directory}/blkio.throttle.{what}_device"
        for line in read(path).split("\n"):
            device, _, value = line.partition(" ")
            if re.fullmatch(_DEVICE_NUMBER, device) and value.isdecimal():
                yield IoLimit(f"{device} {what}", value, path)


def meminfo(text: str | None = None) -> dict[str, int]:
    """Return the amounts in /proc/meminfo (proc_meminfo(5)) in bytes, by name. ``text``: the file, if already read."""
    amounts = _MEMINFO_LINE.findall(read_text("/proc/meminfo") if text is None else text)
    return {name: int(kib) << 10 for name, kib in amounts}


def pressure_us(resource: str) -> list[int]:
    """Return the µs in which at least one process waited for cpu, io or memory, and those in which all processes did.
    The list is empty if the kernel does not report them."""
    return [int(line.rpartition("total=")[2]) for line in read_text(f"/proc/pressure/{resource}").splitlines()]


def threads_wait_for_cpu(text: str | None = None) -> bool:
    """Return whether other threads are waiting for a CPU now (proc_stat(5)). ``text``: of /proc/stat.

    The thread that reads the file is not counted, because it may displace one that otherwise would not wait.
    """
    lines = (read_text("/proc/stat") if text is None else text).splitlines()
    cpus = sum(line.startswith("cpu") for line in lines) - 1  # the first line is the sum of all CPUs
    return any(line.startswith("procs_running ") and int(line.split()[1]) - 1 > cpus for line in lines)


def boot_id() -> str:
    """Return the id of this boot; empty if it cannot be read."""
    return read_text("/proc/sys/kernel/random/boot_id").strip()


def device_number(text: str) -> int:
    """Return the kernel's internal number of ``major:minor``, as in trace events. stat(2) encodes it differently."""
    major, _, minor = text.partition(":")
    return int(major) << 20 | int(minor)


def kernel_device_number(st_dev: int) -> int:
    """Return the kernel's internal number of a device from its number in stat(2)."""
    return os.major(st_dev) << 20 | os.minor(st_dev)


def unescape(field: bytes) -> str:
    """Return a name without the kernel's escapes, such as ``\\040`` for a space."""
    if b"\\" in field:
        field = _OCTAL_ESCAPE.sub(lambda match: bytes([int(match[1], 8)]), field)
    return os.fsdecode(field)


def _parse_mount(line: bytes, number: int) -> Mount | None:
    before, separator, after = line.partition(b" - ")
    mount, filesystem = before.split(b" "), after.split(b" ")
    if not separator or len(mount) < 6 or len(filesystem) < 3 or not (mount[0].isdigit() and mount[1].isdigit()):
        return None
    return Mount(
        number=int(mount[0][:18]),
        parent=int(mount[1][:18]),
        device=os.fsdecode(mount[2]),
        root=unescape(mount[3]),
        mount_point=unescape(mount[4]),
        options=_options(mount[5]),
        fstype=unescape(filesystem[0]),
        source=unescape(filesystem[1]),
        super_options=_options(b" ".join(filesystem[2:])),
        line=number,
    )


def _options(field: bytes) -> tuple[str, ...]:
    return tuple(unescape(option) for option in field.split(b",") if option)


def fields(path: str) -> dict[str, str]:
    """Return the values in a file with lines ``name: value``, such as /proc/PID/status, by name."""
    pairs = (line.partition(":") for line in read_text(path).split("\n"))
    return {name: value.strip() for name, colon, value in pairs if colon}


def read_text(path: str) -> str:
    return _read(path).decode(errors="replace")


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
