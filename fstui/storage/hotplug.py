"""Whether anything was mounted, unmounted, plugged in or removed.

For mounts, this uses the kernel's flag. For devices, it uses udev's events if udev runs, so that udev's properties
exist when the survey looks; otherwise it compares their names.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import select
from pathlib import Path
from typing import Any

from fstui.proc import MOUNTINFO
from fstui.storage.tree import DATABASE, Tree

_LIMIT_BYTES = 64 << 20
_EVENTS_AT_ONCE = 10_000


class Watch:
    """Poll it with ``changed``. Close it when done."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._tree = Tree(root)
        self._mounts = _MountFlag() if self._tree.real else None
        self._monitor = _monitor() if self._tree.real and self._tree.exists(DATABASE) else None
        self._seen = self._state()

    def changed(self) -> bool:
        """Return whether anything changed since the last call, or since the watch began."""
        mounted = self._mounts is not None and self._mounts.raised()
        plugged = self._events()
        before, self._seen = self._seen, self._state()
        return mounted or plugged or before != self._seen

    def close(self) -> None:
        if self._mounts is not None:
            self._mounts.close()
        self._monitor = None

    def _state(self) -> str:
        """Return a fingerprint of what events do not report."""
        return fingerprint(self._root, mounts=self._mounts is None or not self._mounts.there)

    def _events(self) -> bool:
        """Return whether udev reported any block device. Takes all waiting events."""
        if self._monitor is None:
            return False
        seen = False
        for _ in range(_EVENTS_AT_ONCE):
            try:
                device = self._monitor.poll(0)
            except OSError:  # ENOBUFS: the kernel dropped some of too many events
                seen = True
                continue
            if device is None:
                break
            seen = True
        return seen


def fingerprint(root: Path = Path("/"), *, mounts: bool = True) -> str:
    """Return a hash of the mounts and of the names of the block devices: two small reads."""
    tree = Tree(root)
    digest = hashlib.sha256((tree.data(MOUNTINFO, _LIMIT_BYTES) or b"") if mounts else b"")
    for name in tree.names("/sys/class/block"):
        digest.update(b"\0" + name.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _monitor() -> Any:
    """Listen to udev's events about block devices; None if that is not possible (containers)."""
    try:
        import pyudev  # noqa: PLC0415  27 ms, and useless where no udev runs

        monitor = pyudev.Monitor.from_netlink(pyudev.Context(), source="udev")
        monitor.filter_by("block")
        monitor.start()
    except (ImportError, OSError):
        return None
    return monitor


class _MountFlag:
    """Whether anything was mounted, remounted or unmounted in this mount namespace."""

    def __init__(self) -> None:
        self._mountinfo: int | None = None
        with contextlib.suppress(OSError):
            self._mountinfo = os.open(MOUNTINFO, os.O_RDONLY | os.O_CLOEXEC)

    @property
    def there(self) -> bool:
        return self._mountinfo is not None

    def raised(self) -> bool:
        """Return whether it was raised since the last call, or since the beginning."""
        if self._mountinfo is None:
            return False
        poll = select.poll()
        poll.register(self._mountinfo, select.POLLPRI | select.POLLERR)
        return bool(poll.poll(0))

    def close(self) -> None:
        if self._mountinfo is not None:
            os.close(self._mountinfo)
            self._mountinfo = None
