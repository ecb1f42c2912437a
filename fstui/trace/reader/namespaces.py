"""In a pid namespace of a container our numbers are not those of the events: the kernel is made to say both.

Writing a thread's oom_score_adj back as it is changes nothing and makes an event that gives its number.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable

from fstui.trace.reader.recording import Recording, Wanted
from fstui.trace.reader.tracefs import Untraceable

EVENT = "oom/oom_score_adj_update"


def outermost_numbers(name: str, threads: Iterable[int]) -> list[int]:
    """The numbers of these threads in the outermost namespace, without those that have ended. Raises Untraceable."""
    recording = Recording(name)
    try:
        recording.enable(Wanted(EVENT, ("pid",), f"common_pid == {recording.thread}"))
        touched = sum(map(touch, threads))
        recording.collect()
        numbers = [int(number) for _, _, (number,) in recording.events(time.monotonic_ns())]
    finally:
        recording.remove()
    if len(numbers) != touched:
        raise Untraceable("this pid namespace's numbers cannot be told from those of the kernel's events")
    return numbers


def touch(thread: int) -> bool:
    with contextlib.suppress(OSError), open(f"/proc/{thread}/oom_score_adj", "r+", encoding="ascii") as file:
        value = file.read()
        file.seek(0)
        file.write(value)
        file.flush()
        return True
    return False
