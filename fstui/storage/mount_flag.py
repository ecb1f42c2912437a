"""The kernel's flag that something was mounted, remounted or unmounted in our mount namespace."""

from __future__ import annotations

import contextlib
import os
import select

from fstui.storage.layers.sources.mounts import MOUNTINFO


class MountFlag:
    """/proc/self/mountinfo becomes readable with an exception (proc_pid_mountinfo(5)). Close it when done."""

    def __init__(self) -> None:
        self._mountinfo: int | None = None
        with contextlib.suppress(OSError):
            self._mountinfo = os.open(MOUNTINFO, os.O_RDONLY | os.O_CLOEXEC)

    @property
    def there(self) -> bool:
        """It can be asked."""
        return self._mountinfo is not None

    def raised(self) -> bool:
        """Since this was last asked, or since the beginning."""
        if self._mountinfo is None:
            return False
        poll = select.poll()
        poll.register(self._mountinfo, select.POLLPRI | select.POLLERR)
        return bool(poll.poll(0))

    def close(self) -> None:
        """Give it back."""
        if self._mountinfo is not None:
            os.close(self._mountinfo)
            self._mountinfo = None
