"""A child program that traces: its instances in tracefs, which are in the ledger before they are made."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from typing import Any, Self

from fstui.measure.children import Child
from fstui.state import ledger
from fstui.state.noting import note
from fstui.trace.instances import path_of

READY_S = 10.0
END_S = 10.0


class Untraceable(Exception):  # noqa: N818  a sentence, not a fault
    """Why there is no trace, in one sentence."""


class TracingChild:
    """It takes its instances down when its stdin closes, also because fstui was killed."""

    def __init__(self, child: Child, entry: ledger.Entry) -> None:
        self._child = child
        self._entry = entry

    @classmethod
    async def _start(cls, name: str, module: str, *arguments: str, **told: Any) -> Self:
        """``name``: of the instance, and the beginning of the names of its others. Raises Untraceable."""
        if os.geteuid() != 0:
            raise Untraceable("only root may trace the kernel")
        try:
            child = await Child.start(module, *arguments)
            entry = await note(name, "trace", path_of(name))
        except OSError as error:  # the child ends with its stdin
            raise Untraceable(f"it cannot be begun: {error.filename or 'its program'}: {error.strerror}") from error
        started = cls(child, entry)
        started._say(name=name, entry=str(ledger.path_of(entry)), **told)
        answer = await started._answer(READY_S)
        if "ready" not in answer:
            await started.stop()
            raise Untraceable(answer["error"])
        return started

    async def stop(self) -> str | None:
        """Have the instances taken down. Returns None, or the sentence that says that they are still there."""
        status = await self._child.end(END_S, "home")
        if status is None:
            self._child.abandon()
        return None if status == 0 else f"{self._entry.what}: not removed; `fstui clean` tries again"

    def _say(self, **line: Any) -> None:
        self._child.send(json.dumps(line))

    async def _answer(self, timeout_s: float) -> dict[str, Any]:
        line = b""
        with contextlib.suppress(TimeoutError):
            line = await asyncio.wait_for(self._child.read_line(), timeout_s)
        answer: dict[str, Any] = json.loads(line or b'{"error": "the program that reads the trace has ended"}')
        return answer
