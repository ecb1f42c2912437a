"""Who waits for which file on this box: what of the kernel's trace tells it."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path

from fstui.model.errors import Refused
from fstui.model.storage import Target
from fstui.storage.layers import kind
from fstui.storage.mounts import holder, read_mounts
from fstui.storage.tree import Tree
from fstui.trace.child import WatchTrace

_BOOT = ("/boot", "/efi", "/boot/efi")
"""Hardly ever synced: for them alone no system call is recorded."""


async def waits(target: Target | None, pid: int | None, here: Sequence[Target]) -> WatchTrace:
    """Of that filesystem alone, or of all that are here. Raises Refused, Untraceable."""
    if pid is not None and not _runs(pid):
        raise Refused(f"process {pid}: there is none")
    device = _device_number(target.path) if target else None
    calls = any(map(_needs_calls, (target,) if target else here))
    return await WatchTrace.start(secrets.token_hex(3), pid=pid, device=device, calls=calls)


def _runs(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def _needs_calls(target: Target) -> bool:
    """Its own trace events do not tell when its syncs end, and the files are no other filesystem's."""
    row = kind(target.fstype)
    written = not (target.pseudo or row.in_memory or row.read_only or "ro" in target.mount_options)
    return written and not (row.sync_ends_traced or row.over_filesystem or target.mount_point in _BOOT)


def _device_number(path: str) -> int | None:
    """The device of the filesystem that holds a resolved path, as the kernel holds it."""
    mounts = {mount.mount_point: mount for mount in read_mounts(Tree(Path("/")))}
    found = holder(path, mounts)
    if found is None:
        return None
    major, minor = map(int, found.device.split(":"))
    return major << 20 | minor
