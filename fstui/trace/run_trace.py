"""A trace beside one run: whose flushes its devices are asked for, step by step."""

from __future__ import annotations

import os

import msgspec

from fstui.model.counters import DeviceTrace
from fstui.trace.child import TracingChild, Untraceable

SUM_S = 30.0
"""The child reads what a step has left in the buffers: some microseconds an event."""


class RunTrace(TracingChild):
    """From the beginning of a run to its end."""

    refused: str | None = None

    @classmethod
    async def start(cls, run_id: str, devices: list[str]) -> RunTrace:
        """Record what these block devices are asked for, by us and by others. Raises Untraceable."""
        if not devices:
            raise Untraceable("no block device is below it")
        return await cls._start(run_id, "trace.reader.record", "record", ours=[os.getpid()], devices=devices)

    def begin(self, from_ns: int, ours: tuple[int, ...]) -> None:
        """A stretch of time began (CLOCK_MONOTONIC). ``ours``: processes of others that count as ours."""
        self._say(from_ns=from_ns, ours=list(ours))

    async def end(self, until_ns: int) -> tuple[DeviceTrace, ...] | None:
        """The stretch has ended: what each device was asked for. None where the child has failed."""
        self._say(until_ns=until_ns)
        answer = await self._answer(SUM_S)
        return msgspec.convert(answer["devices"], tuple[DeviceTrace, ...]) if "devices" in answer else None
