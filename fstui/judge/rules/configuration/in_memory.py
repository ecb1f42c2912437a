"""*not-durable, high confidence*

## What it means
The data ends in memory: tmpfs, ramfs, zram or a RAM disk lies at the bottom of the stack, perhaps below a loop device,
an overlay or a dm device. A power cut or a reboot loses it. Or what it cannot be found or read without is there: a
journal, a log, the metadata of a cache or a pool.

## How it was measured
Read from `/proc/self/mountinfo` and `/sys/block`, following each layer down. Nothing is written for it.

## What it proves, and what not
Where a copy lies elsewhere (the other leg of a mirror, the device behind a read or write-through cache) it is a note.
Else it is certain. How fast syncs return there says nothing about any disk.

## What to do next
Put what must survive on a filesystem that stands on a disk; `fstui list` shows them.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.stack import Aside
from fstui.model.judgement import Finding
from fstui.model.storage import Node
from fstui.storage.layers import kind


@rule(place=20)
def in_memory(case: Case) -> Iterator[Finding]:
    """The bottom of the stack forgets with the power."""
    if not case.stack.forgets:
        yield from _partly(case.stack.in_memory)
    else:
        found = case.stack.forgets
        kinds = words.listed(dict.fromkeys(map(_kind, found)))
        what, lost = _what(tuple(map(case.stack.aside, found)))
        yield Finding(
            rule="in-memory",
            verdict="not-durable",
            confidence="high",
            scope="storage",
            title=f"in memory ({kinds})",
            sentence=f"{what} in memory, {kinds}{case.arrivals.came_to_aside}: a power cut or a reboot loses {lost}.",
            because=tuple(map(_because, found)),
            next=("Put what must survive on a filesystem that stands on a disk: fstui list shows them.",),
        )


def _what(aside: tuple[Aside | None, ...]) -> tuple[str, str]:
    """What is in memory, and what is lost with it: all, or what cannot be found or read without it."""
    first = aside[0]
    if first is None or None in aside:
        return "The data ends", "everything"
    return f"The {first.role} of {words.named(first.layer)} is", "it, and with it what was acknowledged"


def _partly(found: tuple[Node, ...]) -> Iterator[Finding]:
    """Copies, or what an array can do without: nothing that was acknowledged is lost with it."""
    if found:
        where = words.devices(found)
        yield Finding(
            rule="in-memory",
            verdict=None,
            confidence="high",
            scope="storage",
            title=f"in memory, and doubled: {where}",
            sentence=f"{where} is in memory, and what it holds is elsewhere too: a power cut takes it and loses no "
            "data. An array then lacks a member, and the next failure may be the last; a cache begins anew.",
            because=tuple(map(_because, found)),
            next=("Put a disk in its place, or keep to reads there (a read cache).",),
        )


def _kind(node: Node) -> str:
    """ "Disk" would say nothing of one that is memory by its model: its name does."""
    if _is_declared(node):
        return "declared"
    return node.name if node.kind == "disk" else node.kind


def _because(node: Node) -> str:
    if _is_declared(node):
        return f"{node.id}: declared by you to be memory"
    medium = node.medium
    read = medium.because if medium and not medium.declared else ""
    return f"{node.id}: {read or node.because or node.kind}"


def _is_declared(node: Node) -> bool:
    """By the user, of a device that is none by its kind: tmpfs stays memory whatever is said of it."""
    medium = node.medium
    by_its_kind = node.layer != "block" or kind(node.kind).in_memory
    return medium is not None and medium.declared and medium.class_ == "memory" and not by_its_kind
