"""The parent's side of the power-cut test's writer: prepare a cut, start the process, wait for its end."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Any, NamedTuple

from fstui import __version__, proc
from fstui.measure.children import Child
from fstui.model.documents import encode
from fstui.model.errors import Refused, local_time
from fstui.model.host import Inventory
from fstui.model.storage import Target
from fstui.powercut.header import PowerCutHeader
from fstui.powercut.log import WriterEnd
from fstui.powercut.plan import PowerCutPlan
from fstui.powercut.records import directory_of
from fstui.state import ledger
from fstui.state.ledger import write_entry_in_child
from fstui.state.workspace import remove_left_behind

_END_TIMEOUT_S = 6.0
"""The writer waits up to 4 s for its own processes."""


class PreparedCut(NamedTuple):
    header: PowerCutHeader
    plan: PowerCutPlan
    on_root: bool
    """Whether the records go to the root filesystem, so that the host may fail to boot."""
    servers: Mapping[str, Any]
    """The settings of the database servers by name: see ``fstui.powercut.server``."""


def prepare_cut(
    plan: PowerCutPlan, target: Target, fsid: int, inventory: Inventory, servers: Mapping[str, Any]
) -> PreparedCut:
    """Prepare a test without writing anything. ``fsid``: statvfs(3) f_fsid of the target's filesystem."""
    run = secrets.token_hex(8)
    header = PowerCutHeader(
        run=run,
        started_at=local_time().isoformat(timespec="seconds"),
        boot=proc.boot_id(),
        host=inventory.host,
        directory=directory_of(target.path, run),
        fsid=fsid,
        target=target,
        scenario=plan.scenario,
        streams=plan.streams,
        version=__version__,
    )
    return PreparedCut(header, plan, is_on_root(target, inventory), servers)


class WriterProcess:
    """The running writer. Its acknowledgements go directly to the stdout of fstui."""

    def __init__(self, cut: PreparedCut, child: Child, entry: ledger.LedgerEntry) -> None:
        self._cut = cut
        self._child = child
        self._entry = entry
        self._is_stopping = False

    @classmethod
    async def start(cls, cut: PreparedCut) -> WriterProcess:
        """Record the directory in the ledger and start the writer. Raises Refused."""
        mount_point = cut.header.target.mount_point
        entry = await write_entry_in_child(cut.header.run, "directory", cut.header.directory, mount_point)
        child = await Child.start("powercut.writer", read_from="stderr")
        child.send(
            json.dumps(
                {
                    "directory": cut.header.directory,
                    "run": cut.header.run,
                    "header": encode(cut.header).decode(),
                    "streams": cut.plan.streams,
                    "seconds": cut.plan.settings.seconds,
                    "pace": cut.plan.settings.pace,
                    "servers": cut.servers,
                }
            )
        )
        return cls(cut, child, entry)

    def stop(self, reason: str) -> None:
        """Send the writer the request to stop. The second call kills it."""
        if self._is_stopping:
            self._child.abandon()
        self._is_stopping = True
        self._child.send(f"stop {reason}")

    async def wait_until_ready(self) -> None:
        """Wait until the writer is ready. If the writer cannot start, remove what it created and raise Refused."""
        report = await self._next_report()
        if report is None or "refused" in report:
            await self._child.reap(_END_TIMEOUT_S)
            leftover = await remove_left_behind(self._entry)
            reason = report["refused"] if report else "its process ended"
            raise Refused(f"{self._cut.header.directory}: {reason.rstrip('.')}." + (f" {leftover}" if leftover else ""))

    async def wait_for_end(self) -> WriterEnd:
        report = await self._next_report()
        await self._child.reap(_END_TIMEOUT_S)
        if report is None or "ended" not in report:
            return WriterEnd("its process was killed", has_failed=True)
        return WriterEnd(report["ended"], report["failed"])

    async def _next_report(self) -> dict[str, Any] | None:
        while line := await self._child.read_line():
            try:
                report = json.loads(line)
            except ValueError:  # a traceback, for example
                continue
            if isinstance(report, dict) and report.keys() & {"ready", "refused", "ended"}:
                return report
        return None


def is_on_root(target: Target, inventory: Inventory) -> bool:
    """Return whether the target is on the root filesystem, even if it is another mount of that filesystem."""
    root = next((filesystem for filesystem in inventory.filesystems if filesystem.mount_point == "/"), None)
    if target.mount_point == "/" or root is None:
        return target.mount_point == "/"
    # two mounts of one filesystem have the same layer below
    below_target, below_root = (filesystem.stack[0].below if filesystem.stack else () for filesystem in (target, root))
    return bool(below_target) and below_target == below_root


def root_warning(target: Target, *, on_root: bool) -> str:
    """Return a warning if the cut may damage the root filesystem; empty if the target does not use it.

    It may hold the target, or for example the backing file of its loop device.
    """
    if on_root:
        where = f"{target.path} is on the root filesystem"
    elif any(node.layer == "filesystem" and node.name == "/" for node in target.stack[1:]):
        where = f"{target.mount_point} is stored on the root filesystem"
    else:
        return ""
    return f"{where}, so this host may not start again."
