"""Syncs that the kernel refuses, tried while the devices are watched."""

from __future__ import annotations

import asyncio
import os
import threading
import time

import pytest

from fstui.runs import own_syncs
from fstui.runs.idle import IdleWatch
from fstui.runs.machine.local import LocalMachine
from tests.factories.runs import target


async def test_the_kernel_refuses_each() -> None:
    counts = await own_syncs.futile_syncs(0.2)
    assert set(counts) == {"fsync", "fdatasync"}
    assert all(tried and answered == 0 for tried, answered in counts.values())


async def test_seldom_since_each_stands_in_an_audit_log() -> None:
    began = time.monotonic()
    counts = await own_syncs.futile_syncs(0.2)
    assert sum(tried for tried, _ in counts.values()) <= 25 * (time.monotonic() - began) + 1


async def test_a_lapse_of_a_tenth_of_a_second_is_met(monkeypatch: pytest.MonkeyPatch) -> None:
    """As by a library that leaves syncs out for a tenth of each second: a quick step may lie between two of them."""
    kernels, began = os.fsync, time.monotonic()

    def lapsing(fd: int) -> None:
        if (time.monotonic() - began) % 1 >= 0.1:
            kernels(fd)

    monkeypatch.setattr("fstui.runs.own_syncs.os.fsync", lapsing)
    idle = IdleWatch(LocalMachine(), target().stack)
    await idle.watch(1.0, asyncio.Event())
    tried, answered = idle.seen.futile_syncs["fsync"]
    assert 0 < answered < tried
    assert idle.seen.futile_syncs["fdatasync"][1] == 0


async def test_a_sync_of_all_filesystems_is_not_asked_for_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a library makes of each takes its time."""
    monkeypatch.setattr("fstui.runs.own_syncs.os.fsync", lambda fd: time.sleep(0.05))
    tried, answered = (await own_syncs.futile_syncs(0.4))["fsync"]
    assert 1 <= tried == answered <= 2


async def test_one_that_waits_for_a_server_that_is_gone_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that makes sync(2) of each, and a mount that does not answer."""
    gone = threading.Event()
    monkeypatch.setattr("fstui.runs.own_syncs.os.fsync", lambda fd: gone.wait(60))
    began = time.monotonic()
    assert await own_syncs.futile_syncs(0.2) == {"fsync": (0, 0), "fdatasync": (0, 0)}
    assert time.monotonic() - began < 30
    gone.set()


async def test_where_no_thread_can_be_started_time_passes_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("fstui.runs.own_syncs.Thread.start", refused)
    assert await own_syncs.futile_syncs(0.0) == {"fsync": (0, 0), "fdatasync": (0, 0)}


async def test_without_proc_time_passes_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(path: str, flags: int) -> int:
        raise FileNotFoundError(path)

    monkeypatch.setattr("fstui.runs.own_syncs.os.open", missing)
    assert await own_syncs.futile_syncs(0.0) == {}
