"""Measured in another cgroup: probes join the io cgroup of a process, and its limits hold for them (``--like``)."""

from __future__ import annotations

from pathlib import Path

from fstui.model.errors import Refused
from fstui.model.host import Process
from fstui.storage import cgroups, process
from fstui.storage.layers.sources.files import Tree


class AnotherCgroup:
    """The io cgroup of a process."""

    def __init__(self, pid: int, root: Path = Path("/")) -> None:
        """Raises Refused where there is no such process, or where its cgroup cannot be joined."""
        self.process: Process = process.read_process_of(pid, root)
        groups = Tree(root).text(f"/proc/{pid}/cgroup") or ""
        self._members = cgroups.members_file(Tree(root), groups)
        if self._members is None:
            raise Refused(f"process {pid}: its io cgroup cannot be found: is the cgroup filesystem mounted?")
        self._check()

    def join(self, pid: int) -> None:
        """Put a process of ours into that cgroup (cgroups(7)). Raises OSError."""
        assert self._members is not None
        Path(self._members).write_text(str(pid))

    def _check(self) -> None:
        assert self._members is not None
        try:
            with Path(self._members).open("a"):
                pass
        except OSError as error:
            raise Refused(
                f"process {self.process.pid} ({self.process.name or '?'}): its cgroup cannot be joined: "
                f"{self._members}: {error.strerror}. Run as root."
            ) from None
