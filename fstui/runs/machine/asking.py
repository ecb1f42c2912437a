"""What is asked of a child because it may hang: free space, and what only tools can tell."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

from fstui.measure.children import Child
from fstui.model.storage import Space
from fstui.storage import claims
from fstui.storage.claims import Claims

START_S = 30.0
"""A program of ours that has not begun by then has no processor to run on. Only what comes later is the storage's."""
SILENT_S = 1.0
"""A filesystem that has not answered statvfs is shown as silent once no other one has answered for so long: thousands
that are asked at once take their time on a busy box."""
TOOLS_S = 7.0
"""The tools' program gives up after 6 s."""


async def tools(commands: tuple[claims.Command, ...]) -> Claims:
    """What the tools said, from a child that is abandoned when it takes too long."""
    answers = dict(claims.unanswered(commands))
    child = await Child.start("measure.helpers.claims")
    child.send(json.dumps(commands))
    for answer in await _said(child, TOOLS_S):
        answers.update(claims.decode(answer))
    return answers


async def free_space(mount_points: list[str]) -> dict[str, Space | None]:
    """What statvfs says, from a child that is abandoned when a mount is silent; None where it is refused."""
    child = await Child.start("measure.helpers.directory", "space")
    for mount_point in mount_points:
        child.send(json.dumps(mount_point))
    child.hang_up()
    return {answer["mount_point"]: _space(answer) for answer in await _said(child, SILENT_S)}


def _space(answer: dict[str, Any]) -> Space | None:
    return None if "error" in answer else Space.stated(answer["total_bytes"], answer["free_bytes"])


async def _said(child: Child, limit_s: float) -> list[Any]:
    """Its answers, until its end or until it has said nothing for so long; its first line says that it has begun."""
    said: list[Any] = []
    try:
        with contextlib.suppress(TimeoutError, ValueError):  # a line that is too long, or no JSON
            await _line(child, START_S)
            while line := await _line(child, limit_s):
                said.append(json.loads(line))
        await child.reap(0.1)
    finally:  # also where who asked is gone
        child.abandon()
    return said


async def _line(child: Child, limit_s: float) -> bytes:
    """Its next one. Raises TimeoutError."""
    async with asyncio.timeout(limit_s):
        return await child.read_line()
