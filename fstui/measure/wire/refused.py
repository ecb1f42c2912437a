"""A sync of what cannot be synced: the engine tries it while it waits, its probes beside their work."""

from __future__ import annotations

from collections.abc import Callable


def is_refused(call: Callable[[int], object], fd: int) -> bool:
    """As the kernel does; one that succeeds was answered in its place."""
    try:
        call(fd)
    except OSError:
        return True
    return False
