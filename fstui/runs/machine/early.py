"""A probe's process that is there before its words: it starts while the server of its step is being made."""

from __future__ import annotations

import contextlib

from fstui.measure.children import REAP_S, Child
from fstui.model.settings import Settings


async def start_probe(settings: Settings) -> Child:
    """Its process, which waits for its words. Raises OSError."""
    return await Child.start(f"measure.probes.{settings.probe}", own_session=settings.own_session)


class EarlyProbe:
    """One at most. Without words it does nothing, and it ends when it is no longer wanted."""

    def __init__(self) -> None:
        self._child: Child | None = None
        self._wanted: tuple[str, bool] | None = None

    async def start(self, settings: Settings) -> None:
        """Where it cannot, it is started when it is needed, and says then what is wrong."""
        if self._wanted != _wanted(settings):
            await self.end()
            with contextlib.suppress(OSError):
                self._child = await start_probe(settings)
                self._wanted = _wanted(settings)

    def take(self, settings: Settings) -> Child | None:
        """The one for such a step, whose end is the taker's affair from now on; None where there is none."""
        if self._wanted != _wanted(settings):
            return None
        child, self._child, self._wanted = self._child, None, None
        return child

    async def end(self) -> None:
        """Have it go."""
        child, self._child, self._wanted = self._child, None, None
        if child is not None and await child.reap(REAP_S) is None:
            child.abandon()


def _wanted(settings: Settings) -> tuple[str, bool]:
    return settings.probe, settings.own_session
