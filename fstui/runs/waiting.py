"""While a step's server is being started: how long that takes, and how long it may."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from fstui.model.steps import Step

_TICK_S = 1.0
_Result = TypeVar("_Result")


async def telling(work: Coroutine[Any, Any, _Result], tell: Callable[[float], None]) -> _Result:
    """What the work comes to; ``tell`` is told once a second how long it has taken so far."""
    task = asyncio.ensure_future(work)
    began = asyncio.get_running_loop().time()
    try:
        tell(0.0)
        while not (await asyncio.wait({task}, timeout=_TICK_S))[0]:
            tell(asyncio.get_running_loop().time() - began)
        return task.result()
    finally:
        if task.cancel():
            await asyncio.wait({task})


def sync_s(steps: Iterable[Step]) -> float:
    """How long a sync took in the slowest step that has synced each write of ours; 0 where there was none."""
    means = (step.latency_ns.mean for step in steps if step.latency_ns and step.ops == step.syncs)
    return max(means, default=0) / 1e9
