"""A program on a simulated box, run as fast as it goes."""

from __future__ import annotations

from typing import Any

from fstui.measure.kinds.base import StepSettings
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.simulate.box import Box
from fstui.simulate.parameters import load
from fstui.simulate.programs import Done, program

CHUNK_NS = 50e6


def box(disk: str, **changes: Any) -> Box:
    """``disk_platter_rpm=5400`` would be no name: dots are written as two underscores."""
    return Box(load(disk, {key.replace("__", "."): value for key, value in changes.items()}))


def run(on: Box, asked: StepSettings) -> tuple[float, list[Done]]:
    """Operations per second, and all that was handed over."""
    work = program(on, asked)
    assert work is not None
    work.begin()
    done: list[Done] = []
    while not work.over:
        until_ns = on.now_ns + CHUNK_NS
        done += work.until(until_ns)
        on.now_ns = max(until_ns, work.ended_ns)
    ops = sum(len(each.marks) // each.parts for each in done)
    return ops * 1e9 / (work.ended_ns - work.started_ns), done


def rate(on: Box, **asked: Any) -> float:
    """Of writes of 4 KiB that are synced one by one."""
    usual: dict[str, Any] = {"seconds": 1.0, "file_bytes": 1 << 20, "offsets": "same"}
    return run(on, SyncWrites(**(usual | asked)))[0]
