"""Detect that anything was mounted, unmounted, plugged in or removed.

For mounts, ``Watch`` polls mountinfo (poll(2)). For devices, it compares their names. If udev runs, it also
reads udev's events. udev sends an event when it knows the properties of a new device, and when a medium or a property
changes.
"""

import contextlib
import os
import select
from pathlib import Path
from typing import Any

from fstui.proc import MOUNTINFO
from fstui.storage.mounts import MAX_MOUNTS_BYTES
from fstui.storage.tree import UDEV_DATABASE, Tree

_MAX_EVENTS_PER_CALL = 10_000


class Watch:
    def __init__(self, root: Path = Path("/")) -> None:
        self._tree = Tree(root)
        self._mountinfo: int | None = None
        """None if the tree is not the real one, if mountinfo could not be opened, or after ``close``."""
        if self._tree.is_real:
            with contextlib.suppress(OSError):
                self._mountinfo = os.open(MOUNTINFO, os.O_RDONLY | os.O_CLOEXEC)
        self._events: Any = _udev_events() if self._tree.is_real and self._tree.exists(UDEV_DATABASE) else None
        self._last_state = self._state()

    def has_changed(self) -> bool:
        """Return whether anything changed since the last call, or since the watch began."""
        # read all sources each time, so that the next call does not report the same change again
        mounts_changed, udev_reported = self._mounts_changed(), self._udev_reported()
        earlier, self._last_state = self._last_state, self._state()
        return mounts_changed or udev_reported or earlier != self._last_state

    def close(self) -> None:
        self._events = None
        if self._mountinfo is not None:
            os.close(self._mountinfo)
            self._mountinfo = None

    def _state(self) -> tuple[tuple[str, ...], bytes]:
        """Return the names of the block devices, and the mounts if mountinfo cannot be polled."""
        mounts = self._tree.data(MOUNTINFO, MAX_MOUNTS_BYTES) if self._mountinfo is None else None
        return self._tree.names("/sys/class/block"), mounts or b""

    def _mounts_changed(self) -> bool:
        """Return whether something was mounted, remounted or unmounted in this namespace since the last call."""
        if self._mountinfo is None:
            return False
        poll = select.poll()
        poll.register(self._mountinfo, select.POLLPRI | select.POLLERR)
        return bool(poll.poll(0))

    def _udev_reported(self) -> bool:
        """Return whether udev reported a block device since the last call. Empties the queue of events."""
        has_reported = False
        for _ in range(_MAX_EVENTS_PER_CALL if self._events is not None else 0):
            try:
                if self._events.poll(0) is None:
                    break
            except OSError:  # ENOBUFS: the kernel dropped events because there were too many
                pass
            has_reported = True
        return has_reported


def _udev_events() -> Any:
    """Listen to udev's events about block devices. Return None where that is impossible, as in containers."""
    try:
        import pyudev  # noqa: PLC0415  27 ms, and useless where no udev runs

        monitor = pyudev.Monitor.from_netlink(pyudev.Context(), source="udev")
        monitor.filter_by("block")
        monitor.start()
    except (ImportError, OSError):
        return None
    return monitor
