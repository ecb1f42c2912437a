"""From the runner to a face, which may be slower."""

from __future__ import annotations

import asyncio
from collections import deque

from fstui.model.events import Event, StepPreparing, StepProgressed


class Mailbox:
    """Events in order. A face that falls behind gets the newest snapshot only."""

    def __init__(self) -> None:
        self._waiting: deque[Event] = deque()
        self._arrived = asyncio.Event()

    def put(self, event: Event) -> None:
        """Add it, or put it in the place of an unread one of its kind."""
        newest = self._waiting[-1] if self._waiting else None
        if isinstance(event, StepProgressed | StepPreparing) and type(newest) is type(event):
            self._waiting.pop()
        self._waiting.append(event)
        self._arrived.set()

    async def get(self) -> Event:
        """The next one."""
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        return self._waiting.popleft()
