"""Find tracefs, and create and remove instances in it.

An instance has its own buffer and its own enabled events, so it does not disturb other tracing. ``rmdir`` disables the
events of an instance and removes it. It fails with EBUSY while a process has a file of the instance open, so the
instance of a running process cannot be removed by mistake (kernel: Documentation/trace/ftrace.rst).
"""

import contextlib
import ctypes
import os
from typing import Any

from fstui import proc

PREFIX = "fstui-"
"""Start of the names of fstui's instances."""
FSOPEN, FSCONFIG, FSMOUNT = 430, 431, 432
"""System call numbers since Linux 5.2, the same on every architecture (asm-generic/unistd.h)."""
CLOEXEC = 1
FSCONFIG_CMD_CREATE = 6
KIB, MIB = 1 << 10, 1 << 20
MIN_BYTES, MAX_BYTES, MAX_TOTAL_BYTES = 256 * KIB, 16 * MIB, 256 * MIB
"""Minimum and maximum size of one CPU's buffer, and maximum size of all buffers together. 16 MiB contain about 250 000
events of about 60 bytes."""
MEMORY_DIVISOR = 32
"""All buffers together are at most as large as the available memory divided by this number."""
LIBC = ctypes.CDLL(None, use_errno=True)


class TracefsError(Exception):
    """Tracing is not possible here. The message is one sentence for the user."""


def reason_of(problem: TracefsError | OSError) -> str:
    """Return the reason why tracing is not possible, without the number of an error."""
    if isinstance(problem, TracefsError) or not problem.strerror:
        return str(problem)
    return f"{problem.filename}: {problem.strerror}" if problem.filename else problem.strerror


def find_tracefs() -> str:
    """Return a path to tracefs. If it is not mounted, mount it without a mount point. Raises TracefsError."""
    if os.geteuid() != 0:
        raise TracefsError("only root may trace the kernel")
    if path := mount_point():
        return path
    known_types = proc.read_text("/proc/filesystems").split()
    if known_types and "tracefs" not in known_types:  # the file is missing if /proc is mounted with subset=pid
        raise TracefsError("this kernel has no tracefs")
    try:
        return f"/proc/self/fd/{detached_mount()}"
    except OSError as error:
        raise TracefsError(f"tracefs cannot be mounted: {error.strerror}{likely_cause()}") from error


def mount_point() -> str | None:
    return next((mount.mount_point for mount in proc.mounts() if mount.fstype == "tracefs"), None)


def detached_mount() -> int:
    """Mount tracefs without a mount point (fsmount(2)). Returns a descriptor of its root directory."""
    context = system_call(FSOPEN, b"tracefs", CLOEXEC)
    try:
        system_call(FSCONFIG, context, FSCONFIG_CMD_CREATE, None, None, 0)
        return system_call(FSMOUNT, context, CLOEXEC, 0)
    finally:
        os.close(context)


def system_call(number: int, *arguments: Any) -> int:
    """Make a system call for which libc may have no function yet. Raises OSError."""
    result: int = LIBC.syscall(number, *arguments)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def likely_cause() -> str:
    """Return the likely reason, in brackets, why the kernel refused a request of root."""
    if "[confidentiality]" in proc.read_text("/sys/kernel/security/lockdown"):
        return " (kernel lockdown: confidentiality)"
    return " (a container, or a root without CAP_SYS_ADMIN?)"


class Instance:
    def __init__(self, root: str, name: str) -> None:
        self.path = f"{root}/instances/{name}"
        self.cpus: list[CpuBuffer] = []

    def create(self) -> None:
        """Create the instance. Raises TracefsError."""
        try:
            os.mkdir(self.path)
        except OSError as error:
            raise TracefsError(f"the trace instance cannot be created: {error.strerror}{likely_cause()}") from error

    def remove(self) -> None:
        """Remove the instance. Raises OSError: EBUSY if another process has one of its files open."""
        if self.cpus:
            for cpu in self.cpus:
                os.close(cpu.fd)
            self.cpus = []
            with contextlib.suppress(TracefsError):  # if rmdir fails, the instance at least records no more events
                self.write("tracing_on", "0")
        os.rmdir(self.path)

    def read(self, name: str) -> str:
        with open(f"{self.path}/{name}", encoding="utf-8", errors="replace") as file:
            return file.read()

    def write(self, name: str, value: str, *, append: bool = False) -> None:
        """Write to a file of the instance. Raises TracefsError with the name of the file.

        ``append``: add to a list. Otherwise the kernel first clears the list, which takes effect before the write.
        """
        try:
            # not open(…, "a"), which seeks to the end: a list refuses that
            fd = os.open(f"{self.path}/{name}", os.O_WRONLY | os.O_CLOEXEC | (os.O_APPEND if append else os.O_TRUNC))
            with open(fd, "wb", buffering=0) as file:
                file.write(value.encode("ascii"))
        except OSError as error:
            raise TracefsError(f"the kernel's trace refuses {value!r} in {name}: {error.strerror}") from error

    def open_buffers(self) -> int:
        """Set up the buffers of all CPUs and open them. Returns the size of each in bytes. Raises TracefsError."""
        names = sorted(os.listdir(f"{self.path}/per_cpu"))
        size = bytes_per_cpu(len(names), proc.meminfo().get("MemAvailable", 0))
        self.write("buffer_size_kb", str(size // KIB))
        self.write("options/overwrite", "0")
        self.write("trace_clock", "mono")
        for name in names:
            self.cpus.append(CpuBuffer(f"{self.path}/per_cpu/{name}"))
        return size


class CpuBuffer:
    def __init__(self, path: str) -> None:
        self.stats_path = f"{path}/stats"
        try:
            self.fd = os.open(f"{path}/trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise TracefsError(f"the kernel's trace buffer cannot be read: {error.strerror}") from error

    def lost(self) -> int:
        with open(self.stats_path, encoding="ascii", errors="replace") as file:
            return lost_events(file.read())


def lost_events(stats: str) -> int:
    """Return the sum of the three counters of lost events in per_cpu/cpuN/stats."""
    counts = dict(line.split(":", 1) for line in stats.splitlines() if ":" in line)
    return sum(int(counts.get(name, 0)) for name in ("overrun", "commit overrun", "dropped events"))


def bytes_per_cpu(cpus: int, available_bytes: int) -> int:
    """Return the buffer size of one CPU. ``available_bytes``: the available memory."""
    share_bytes = min(available_bytes // MEMORY_DIVISOR, MAX_TOTAL_BYTES) // cpus
    return max(MIN_BYTES, min(share_bytes, MAX_BYTES))
