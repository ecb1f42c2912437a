"""Probes of this host: their processes, the cgroup that they join, and their priority."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from fstui.measure.children import Child
from fstui.measure.wire.frames import Frame, Samples
from fstui.model.errors import Refused
from fstui.model.host import Process
from fstui.storage import process
from fstui.storage.tree import Tree

_NICE = 19


class LocalProbe:
    """A probe in a child process."""

    def __init__(self, child: Child) -> None:
        self.child = child

    @property
    def pid(self) -> int | None:
        return self.child.pid

    def frames(self) -> AsyncIterator[Frame | Samples]:
        return self.child.read_frames()

    def go(self) -> None:
        self.child.send("go")

    def stop(self) -> None:
        self.child.send("stop")

    async def finish(self, timeout_s: float) -> int | None:
        status = await self.child.reap(timeout_s)
        if status is None:
            self.child.abandon()
        return status


class OtherCgroup:
    """The I/O cgroup of a process (``--like``)."""

    def __init__(self, pid: int, root: Path = Path("/")) -> None:
        """Raises Refused if there is no such process, or if its cgroup cannot be joined."""
        self.process: Process = process.read_process_of(pid, root)
        groups = Tree(root).text(f"/proc/{pid}/cgroup") or ""
        self._members = process.members_file(Tree(root), groups)
        if self._members is None:
            raise Refused(f"process {pid}: its I/O cgroup cannot be found. Is the cgroup filesystem mounted?")
        try:
            with Path(self._members).open("a"):
                pass
        except OSError as error:
            raise Refused(
                f"process {pid} ({self.process.name or '?'}): its cgroup cannot be joined: "
                f"{self._members}: {error.strerror}. Run as root."
            ) from None

    def join(self, pid: int) -> None:
        """Move a process of fstui into that cgroup (cgroups(7)). Raises OSError."""
        assert self._members is not None
        Path(self._members).write_text(str(pid))


def make_idle(pid: int) -> None:
    """Put a process into the idle I/O class and give it the lowest CPU priority (``--idle``), which children inherit.

    The I/O class has an effect only if the disk's scheduler supports it (ioprio_set(2)). Raises OSError.
    """
    import psutil  # noqa: PLC0415  it is seldom needed and takes time to import

    process = psutil.Process(pid)
    try:
        process.nice(_NICE)
        process.ionice(psutil.IOPRIO_CLASS_IDLE)
    except psutil.Error as refused:
        raise OSError(None, f"--idle: {refused}") from None
