"""What /proc tells root of another process (proc(5))."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from fstui.storage.layers.sources.files import Tree, integer

_PARENT, _STARTED = 1, 19
"""In /proc/PID/stat, after the name: the parent, and ticks since the box began (fields 4 and 22)."""
_ACCESS, _APPEND = 0o3, 0o2000
_MAX_FILES = 4096


class OpenFile(NamedTuple):
    """A file that a process has open for writing."""

    descriptor: str
    """The link to it in /proc, which leads there from any mount namespace."""
    name: str


def program(tree: Tree, number: str) -> str:
    """The name of its program's file."""
    return (tree.link(f"/proc/{number}/exe") or "").rpartition("/")[2].removesuffix(" (deleted)")


def words(tree: Tree, number: str) -> tuple[str, ...]:
    """Its command line."""
    return tuple((tree.text(f"/proc/{number}/cmdline") or "").rstrip("\0").split("\0"))


def parent(tree: Tree, number: str) -> str:
    """Empty where it is gone."""
    return "".join(_stat(tree, number)[_PARENT : _PARENT + 1])


def started_s(tree: Tree, number: str) -> float | None:
    """When it began, in seconds as files are dated."""
    booted = re.search(r"^btime (\d+)$", tree.text("/proc/stat") or "", re.M)
    ticks = integer("".join(_stat(tree, number)[_STARTED : _STARTED + 1]))
    booted_s = integer(booted[1] if booted else None)
    return None if booted_s is None or ticks is None else booted_s + ticks / os.sysconf("SC_CLK_TCK")


def sees_our_files(tree: Tree, number: str) -> bool:
    """A path means to it what it means to us."""
    return all(tree.link(f"/proc/{number}/{what}") == tree.link(f"/proc/self/{what}") for what in ("ns/mnt", "root"))


def has_open(tree: Tree, number: str, path: str) -> bool:
    """It has what lies at that path open."""
    home = f"/proc/{number}/fd"
    return any(tree.link(f"{home}/{name}") == path for name in tree.names(home)[:_MAX_FILES])


def written_files(tree: Tree, number: str) -> Iterator[OpenFile]:
    """What it has open for writing, logs and its standard streams left out."""
    home = f"/proc/{number}/fd"
    for name in tree.names(home)[:_MAX_FILES]:
        link = tree.link(f"{home}/{name}") or ""
        told = re.match(r"pos:\t\d+\nflags:\t(0[0-7]{1,11})\n", f"{tree.text(f'/proc/{number}/fdinfo/{name}') or ''}\n")
        flags = int(told[1], 8) if told else 0
        if name not in ("0", "1", "2") and link.startswith("/") and flags & _ACCESS and not flags & _APPEND:
            yield OpenFile(f"{home}/{name}", link)


def _stat(tree: Tree, number: str) -> list[str]:
    return (tree.text(f"/proc/{number}/stat") or "").rpartition(") ")[2].split()
