"""A child of ours that shall not be in anybody's way (``--idle``)."""

from __future__ import annotations

import psutil

NICE = 19


def yield_to_others(pid: int) -> None:
    """Put it into the idle I/O class and at the lowest priority for a CPU; what it starts from now on inherits both.

    ioprio_set(2): the class counts where the disk's scheduler heeds it. Raises OSError where that is refused.
    """
    process = psutil.Process(pid)
    try:
        process.nice(NICE)
        process.ionice(psutil.IOPRIO_CLASS_IDLE)
    except psutil.Error as refused:
        raise OSError(None, f"--idle: {refused}") from None
