"""A trace of everybody: who waits for which file, second by second."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import NamedTuple

import msgspec

from fstui.model.watch import LostWrite, Watched
from fstui.trace.child import TracingChild

SILENT_S = 20.0
"""A child that has said nothing for so long has failed: it speaks every second."""


class Ended(NamedTuple):
    """All that was seen, and the writes that failed behind a program's back."""

    whole: Watched
    errors: tuple[LostWrite, ...]


class WatchTrace(TracingChild):
    """From its beginning to its end."""

    @classmethod
    async def start(cls, name: str, *, pid: int | None, device: int | None, calls: bool) -> WatchTrace:
        """``pid``: it and its children alone. ``device``: of one filesystem, as the kernel numbers it.

        ``calls``: fsync and fdatasync themselves, where a filesystem's own events do not tell all. Raises Untraceable.
        """
        return await cls._start(name, "trace.reader.watch", pid=pid, device=device, calls=calls)

    def end(self) -> None:
        """Have it say what it came to."""
        self._child.hang_up()

    async def seconds(self) -> AsyncIterator[Watched | Ended]:
        """Each second, and after ``end`` all of them."""
        with contextlib.suppress(TimeoutError):
            while line := await asyncio.wait_for(self._child.read_line(), SILENT_S):
                said = json.loads(line)
                if "whole" in said:
                    whole = msgspec.convert(said["whole"], Watched, strict=False)
                    yield Ended(whole, msgspec.convert(said["errors"], tuple[LostWrite, ...]))
                    return
                yield msgspec.convert(said["second"], Watched, strict=False)
