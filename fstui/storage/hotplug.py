"""Whether anything was mounted, unmounted, plugged in or removed, from the kernel's flag and the devices' names."""

from __future__ import annotations

import contextlib
import os
import select
from pathlib import Path

from fstui.proc import MOUNTINFO
from fstui.storage.tree import Tree

_LIMIT_BYTES = 64 << 20


class Watch:
    """Poll it with ``changed``. Close it when done."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._tree = Tree(root)
        self._mountinfo: int | None = None
        """Open for the kernel's flag, which a made-up tree does not have."""
        if self._tree.real:
            with contextlib.suppress(OSError):
                self._mountinfo = os.open(MOUNTINFO, os.O_RDONLY | os.O_CLOEXEC)
        self._seen = self._state()

    def changed(self) -> bool:
        """Return whether anything changed since the last call, or since the watch began."""
        before, self._seen = self._seen, self._state()
        return self._flag_is_raised() or before != self._seen

    def close(self) -> None:
        if self._mountinfo is not None:
            os.close(self._mountinfo)
            self._mountinfo = None

    def _state(self) -> tuple[tuple[str, ...], bytes]:
        """Return the names of the block devices, and the mounts if there is no flag for them."""
        mounts = self._tree.data(MOUNTINFO, _LIMIT_BYTES) if self._mountinfo is None else None
        return self._tree.names("/sys/class/block"), mounts or b""

    def _flag_is_raised(self) -> bool:
        """Return whether something was mounted, remounted or unmounted in this namespace since the last call."""
        if self._mountinfo is None:
            return False
        poll = select.poll()
        poll.register(self._mountinfo, select.POLLPRI | select.POLLERR)
        return bool(poll.poll(0))
