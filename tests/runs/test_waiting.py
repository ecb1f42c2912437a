"""How long a server may take to start, and that the wait is told."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from fstui.databases.throwaway import START_S, start_limit_s
from fstui.runs import runner
from fstui.runs.runner import sync_s, with_progress
from tests.factories.samples import LATENCY, SYNCED, UNSYNCED


async def test_the_wait_is_told_until_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_TICK_S", 0.001)
    told: list[float] = []
    enough = asyncio.Event()

    async def work() -> str:
        await enough.wait()
        return "started"

    def tell(waited_s: float) -> None:
        told.append(waited_s)
        if len(told) == 3:
            enough.set()

    assert await with_progress(work(), tell) == "started"
    assert told[0] == 0.0 and told == sorted(told)


async def test_whoever_stops_waiting_ends_the_work() -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    task = asyncio.ensure_future(with_progress(work(), lambda waited_s: None))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    assert ended.is_set()


def test_a_slow_disk_is_given_the_time_that_its_syncs_take() -> None:
    slow = replace(SYNCED, latency_ns=replace(LATENCY, mean=100_000_000))
    assert sync_s([SYNCED, slow, UNSYNCED]) == 0.1
    assert start_limit_s(sync_s([slow])) > START_S + 752 * 0.1
    assert start_limit_s(sync_s([])) == START_S
