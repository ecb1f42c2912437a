"""What is made on a target is noted in the ledger before, and struck out after: by a child, as the home may hang."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

from fstui.measure.children import CALL_S, NoAnswer, in_child
from fstui.state import ledger, paths

_NOTE_S = 10.0
_Result = TypeVar("_Result")


async def in_home(function: Callable[..., _Result], *arguments: object, timeout_s: float = CALL_S) -> _Result:
    """Call a function that reads or writes the state directory, in a child process. Raises NoAnswer, which names it."""
    return await in_child(function, *arguments, timeout_s=timeout_s, where=str(paths.state_dir()))


async def note(run: str, kind: ledger.Kind, what: str, mount_point: str = "", device: str = "") -> ledger.Entry:
    """Write the entry and sync it. Raises OSError: then do not make the thing.

    Who is cancelled meanwhile makes nothing, and so leaves no entry.
    """
    entering = partial(ledger.enter, run, kind, what, mount_point, pid=os.getpid(), device=device)
    writing = asyncio.ensure_future(in_child(entering, timeout_s=_NOTE_S, where=str(paths.ledger_dir())))
    try:
        return await asyncio.shield(writing)
    except asyncio.CancelledError:
        await asyncio.wait({writing})
        if not writing.cancelled() and writing.exception() is None:
            await strike_out(writing.result())
        raise
    except NoAnswer as silence:
        raise OSError(errno.ETIMEDOUT, silence.reason, str(paths.ledger_dir())) from None


async def strike_out(*entries: ledger.Entry) -> None:
    """These things are gone. An entry that cannot be struck out is found again by the next start, its thing not."""
    with suppress(OSError, NoAnswer):
        await in_child(_strike_out, entries, timeout_s=_NOTE_S)


async def strike_out_gone(*entries: ledger.Entry) -> None:
    """Of these, what is no longer there."""
    with suppress(OSError, NoAnswer):
        await in_child(_strike_out_gone, entries, timeout_s=_NOTE_S)


def _strike_out(entries: tuple[ledger.Entry, ...]) -> None:
    for entry in entries:
        ledger.settled(entry)


def _strike_out_gone(entries: tuple[ledger.Entry, ...]) -> None:
    _strike_out(tuple(entry for entry in entries if not os.path.lexists(entry.what)))
