"""What of a stack became another while a step ran, or is about to, or was switched and switched back: then no count of
that step means what it seems to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Protocol

from fstui.model.storage import Node, Target
from fstui.storage.layers import kind
from fstui.storage.layers.filesystems.btrfs import EXCLUSIVE
from fstui.storage.layers.stacked.dm_reader import PVMOVE
from fstui.storage.layers.zfs.datasets import REPLAY

CACHE_MODE = "cache_mode"
_READINGS = (
    *("barrier", "data", "volatile", "sync", "sync_option", "compress", "dax", "level"),
    *(CACHE_MODE, "cache_type", "dio"),
    REPLAY,
)
"""Readings that rules of counting rest on."""
COUNTING = "iostats"
_OUT = ("degraded", "faulty")
"""State of an array whose members differ from those that were counted on: one that failed gets nothing more."""
_MOVES = frozenset({EXCLUSIVE, PVMOVE})
"""Work under way by which data lies elsewhere a moment later, or in two places: what arrives at each is not known."""


LISTEN_S = 0.05
"""So often it is asked whether anything was written to."""


class Listening(Protocol):
    """Who hears what is written to."""

    def written(self) -> frozenset[str]:
        """The paths since this was last asked."""

    def now(self, stack: tuple[Node, ...]) -> tuple[Node, ...]:
        """That stack, with what can be read in an instant as it is now."""

    def close(self) -> None:
        """No more is heard."""


class Meanwhile:
    """The stack of one run as it is seen again and again, and whether something was written that it was read from."""

    def __init__(self, before: tuple[Node, ...], look: Callable[[], tuple[Node, ...]], listening: Listening) -> None:
        """``before``: as the run began; ``look``: as it is now, empty where it is gone."""
        self._before = self._last = before
        self._look, self._listening = look, listening
        self._seen = [before]
        self._written: set[str] = set()

    async def follow(self) -> None:
        """Listen, until it is cancelled."""
        try:
            while True:
                self._listen()
                await asyncio.sleep(LISTEN_S)
        finally:
            self._listening.close()

    def begin(self) -> None:
        """A step begins: nothing has happened to it yet."""
        if self._listening.written():
            self._last = self._look()
        self._listening.now(self._last)  # what came back between two steps is of neither
        self._seen, self._written = [self._last], set()

    def end(self) -> tuple[str, ...]:
        """It has ended: what became of the stack, a line each."""
        self._listen()
        self._last = self._look()
        counting = (node for node in self._before if _counting_of(node) in self._written)
        switched = changes(self._before, *self._seen, self._last)
        return (*switched, *(f"{node.id}: {COUNTING} was written to" for node in counting))

    @property
    def newly(self) -> tuple[Node, ...]:
        """The stack as it was last seen, where layers hold data that held none before the run: they were not there, or
        were a spare or out, or a cache that held copies."""
        known = set(map(_placed, self._before))
        return self._last if any(_placed(node) not in known for node in self._last) else ()

    def _listen(self) -> None:
        self._written |= self._listening.written()
        now = self._listening.now(self._last)
        if now != self._seen[-1]:
            self._seen.append(now)


def changes(*seen: tuple[Node, ...]) -> tuple[str, ...]:
    """One line for each thing that changed, or is changing: ``sda: write cache write back → write through``.

    ``seen``: the stack before the run and as it was found since, empty where its filesystem is gone from there;
    whatever was switched back stands in the line twice.
    """
    later = [{node.id: node for node in stack} for stack in seen[1:] if stack]
    gone = (f"{seen[0][0].id}: gone",) if seen[0] and not all(seen[1:]) else ()
    lines = (line for node in seen[0] for line in _changed(node, [stack.get(node.id) for stack in later]))
    return (*gone, *lines)


def still_there(before: Target, now: Target) -> tuple[Node, ...]:
    """The stack as it is now; nothing where another filesystem was mounted over: what is measured stays where it was.

    A btrfs whose first member was replaced tells another source.
    """
    places = [(target.mount_point, target.fstype) for target in (before, now)]
    same = before.source == now.source or not kind(before.fstype).needs_device
    return now.stack if places[0] == places[1] and same else ()


def _changed(before: Node, later: list[Node | None]) -> Iterator[str]:
    there = [node for node in later if node is not None]
    if len(there) < len(later):
        yield f"{before.id}: gone"
        return
    for named in zip(_said(before), *map(_said, there), strict=True):
        values = [value for value, _ in groupby(value for _, value in named)]
        if len(values) > 1:
            yield f"{before.id}: {named[0][0]} {' → '.join(values)}"
    moves = (work for node in there for work in node.state if work.what in _MOVES)
    yield from dict.fromkeys(f"{before.id}: {work.what} {work.value}" for work in moves)


def _placed(node: Node) -> tuple[object, ...]:
    out = tuple(told for told in node.state if told.what in _OUT)
    mode = node.reading(CACHE_MODE)
    return node.id, frozenset(node.below), frozenset(node.below_roles.items()), out, mode and mode.value


def _counting_of(node: Node) -> str | None:
    found = node.reading(COUNTING)
    return found.path if found else None


def _said(node: Node) -> Iterator[tuple[str, str]]:
    yield "write cache", node.write_cache or "not stated"
    yield "FUA", "yes" if node.fua else "no"
    yield "counted", "yes" if node.counted else "no"
    yield "stands on", " ".join(sorted(node.below)) or "nothing"
    for what in _READINGS:
        found = node.reading(what)
        yield what, found.value if found else "not stated"
    for what in _OUT:
        yield what, " ".join(told.value for told in node.state if told.what == what) or "no"
