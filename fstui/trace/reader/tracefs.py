"""Where tracefs is, and an instance of our own in it: a buffer and enabled events that disturb nobody's tracing.

``rmdir`` takes an instance back with all that was enabled in it, and answers EBUSY while somebody has one of its files
open: so a living tracer's instance cannot be removed by mistake (kernel: Documentation/trace/ftrace.rst).
"""

from __future__ import annotations

import contextlib
import ctypes
import os

from fstui import proc

INSTANCES = "/sys/kernel/tracing/instances"
"""Where an instance is looked for where tracefs is mounted as usual: its name in sentences and in the ledger."""
FSOPEN, FSCONFIG, FSMOUNT = 430, 431, 432
"""System call numbers, the same on every architecture (asm-generic/unistd.h), from Linux 5.2 on."""
CLOEXEC = 1
FSCONFIG_CMD_CREATE = 6
KIB, MIB = 1 << 10, 1 << 20
LEAST_BYTES, MOST_BYTES, MOST_OF_ALL_BYTES = 256 * KIB, 16 * MIB, 256 * MIB
"""Of a buffer of one CPU, and of all together. A flush takes some 60 bytes: 16 MiB hold 250 000."""
SHARE_OF_MEMORY = 32


class Untraceable(Exception):  # noqa: N818  a sentence, not a fault
    """Why nothing can be traced here, in one sentence."""


def find() -> str:
    """A path to tracefs. Raises Untraceable.

    Where it is not mounted, a mount of our own that hangs nowhere: nobody sees it, and it ends with us.
    """
    if os.geteuid() != 0:
        raise Untraceable("only root may trace the kernel")
    mounted = mount_point()
    if mounted:
        return mounted
    if "tracefs" not in words_of("/proc/filesystems"):
        raise Untraceable("this kernel has no tracefs")
    try:
        return f"/proc/self/fd/{detached_mount()}"
    except OSError as error:
        raise Untraceable(f"tracefs cannot be mounted: {error.strerror}{usual_cause()}") from error


def mount_point() -> str | None:
    """Return where tracefs is mounted, or None."""
    return next((mount.mount_point for mount in proc.mounts() if mount.fstype == "tracefs"), None)


def detached_mount() -> int:
    """Mount tracefs nowhere; the file descriptor of its root. fsopen(2), fsconfig(2), fsmount(2)."""
    context = system_call(FSOPEN, b"tracefs", CLOEXEC)
    try:
        system_call(FSCONFIG, context, FSCONFIG_CMD_CREATE, None, None, 0)
        return system_call(FSMOUNT, context, CLOEXEC, 0)
    finally:
        os.close(context)


def system_call(number: int, *arguments: int | bytes | None) -> int:
    """A system call that libc may not know yet. Raises OSError."""
    answer: int = ctypes.CDLL(None, use_errno=True).syscall(number, *arguments)
    if answer < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return answer


def usual_cause() -> str:
    """What commonly stands behind a refusal to root."""
    with contextlib.suppress(OSError):
        if "[confidentiality]" in words_of("/sys/kernel/security/lockdown"):
            return " (kernel lockdown: confidentiality)"
    return " (a container, or a root without CAP_SYS_ADMIN?)"


def words_of(path: str) -> list[str]:
    with open(path, encoding="ascii", errors="replace") as file:
        return file.read().split()


class Instance:
    """A directory below ``instances``."""

    def __init__(self, root: str, name: str) -> None:
        self.path = f"{root}/instances/{name}"
        self.cpus: list[Cpu] = []

    def make(self) -> None:
        """Raises Untraceable; then nothing of it is left."""
        try:
            os.mkdir(self.path)
        except OSError as error:
            raise Untraceable(f"no trace instance can be made: {error.strerror}{usual_cause()}") from error

    def remove(self) -> None:
        """Take it back. Raises OSError: EBUSY where another process has a file of it open."""
        if self.cpus:
            for cpu in self.cpus:
                os.close(cpu.fd)
            self.cpus = []
            with contextlib.suppress(Untraceable):  # where it has to stay it does nothing any more
                self.write("tracing_on", "0")
        os.rmdir(self.path)  # of somebody who lives, it goes on recording

    def read(self, name: str) -> str:
        with open(f"{self.path}/{name}", encoding="utf-8", errors="replace") as file:
            return file.read()

    def write(self, name: str, value: str) -> None:
        """Set one of its files. Raises Untraceable, with the file's name."""
        try:
            with open(f"{self.path}/{name}", "w", encoding="ascii") as file:
                file.write(value)
        except OSError as error:
            raise Untraceable(f"the kernel's trace refuses {value!r} in {name}: {error.strerror}") from error

    def open_buffers(self) -> int:
        """Size the buffers and open each CPU's. Full, they keep what they hold, and count what they drop.

        Returns the bytes of one. Raises Untraceable.
        """
        names = sorted(os.listdir(f"{self.path}/per_cpu"))
        size = bytes_per_cpu(len(names), available_bytes())
        self.write("buffer_size_kb", str(size // KIB))
        self.write("options/overwrite", "0")
        self.write("trace_clock", "mono")
        for name in names:
            self.cpus.append(Cpu(f"{self.path}/per_cpu/{name}"))
        return size


class Cpu:
    """One CPU's buffer."""

    def __init__(self, path: str) -> None:
        self.stats_path = f"{path}/stats"
        try:
            self.fd = os.open(f"{path}/trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise Untraceable(f"the kernel's trace buffer cannot be read: {error.strerror}") from error

    def lost(self) -> int:
        """Events that found no room so far: no count of theirs can be trusted."""
        with open(self.stats_path, encoding="ascii", errors="replace") as file:
            return lost_events(file.read())


def lost_events(stats: str) -> int:
    """The three lines of per_cpu/cpuN/stats that count what is missing."""
    counts = dict(line.split(":", 1) for line in stats.splitlines() if ":" in line)
    return sum(int(counts.get(name, 0)) for name in ("overrun", "commit overrun", "dropped events"))


def available_bytes() -> int:
    """Memory that can be had without swapping: /proc/meminfo."""
    words = words_of("/proc/meminfo")
    return int(words[words.index("MemAvailable:") + 1]) * KIB if "MemAvailable:" in words else 0


def bytes_per_cpu(cpus: int, available: int) -> int:
    """As much as 16 MiB, but all together a small part of the memory, however many CPUs there are."""
    share = min(available // SHARE_OF_MEMORY, MOST_OF_ALL_BYTES) // cpus
    return max(LEAST_BYTES, min(share, MOST_BYTES))
