"""What is noted before it is made, and by whom it is not made after all."""

import asyncio

import pytest

from fstui.state import ledger
from fstui.state.noting import note


async def test_who_is_cancelled_meanwhile_leaves_no_entry() -> None:
    noting = asyncio.ensure_future(note("1", "server", "/srv/.fstui-1/server-1"))
    for _ in iter(lambda: bool(ledger.entries()), True):  # then the answer that says so is under way
        await asyncio.sleep(0)
    assert noting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await noting
    assert ledger.entries() == []
