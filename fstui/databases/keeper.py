"""The process that makes one throwaway server, keeps it and ends it, and what the ledger knows of it before it does."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from fstui.measure.children import Child
from fstui.state import ledger
from fstui.state.noting import note, strike_out_gone

END_S = 15.0


class Keeper:
    """``measure.helpers.serve``, from its start to its end."""

    def __init__(self, child: Child, noting: asyncio.Future[ledger.Entry]) -> None:
        self.pid = child.pid
        self._child, self._noting = child, noting

    @classmethod
    async def start(cls, run_id: str, what: str, *, own_session: bool) -> Keeper:
        """Raises OSError. ``what``: the data directory that it is going to make, and to remove."""
        noting = asyncio.ensure_future(note(run_id, "server", what))
        try:
            return cls(await Child.start("measure.helpers.serve", own_session=own_session), noting)
        except BaseException:
            noting.cancel()
            await asyncio.wait({noting})
            raise

    async def noted(self) -> None:
        """The ledger has been told, or could not be: ``tell`` says so then."""
        await asyncio.wait({self._noting})

    async def tell(self, told: dict[str, Any]) -> None:
        """What to make, and later what to restart. Raises OSError where the ledger could not be told before."""
        await asyncio.shield(self._noting)
        self._child.send(json.dumps(told))

    async def answer(self) -> dict[str, Any]:
        """What it says next."""
        answer: dict[str, Any] = json.loads(await self._child.read_line() or b'{"error": "its keeper ended"}')
        return answer

    async def end(self) -> bool:
        """Have it end the server and remove what it made; whether it did, in time."""
        self._child.hang_up()
        await asyncio.wait({self._noting})
        if await self._child.reap(END_S) is None:
            self._child.abandon()
            return False
        if not self._noting.cancelled() and self._noting.exception() is None:
            await strike_out_gone(self._noting.result())  # what is not gone stays in the ledger
        return True
