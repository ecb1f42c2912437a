"""bcache: its mode, and which device caches for which (Documentation/admin-guide/bcache.rst)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fstui.inventory.files import Tree
from fstui.model import Reading


def readings(tree: Tree, directory: str) -> tuple[Reading, ...]:
    """``cache_mode``, and ``bcache_state`` (clean, dirty, no cache …)."""
    path = f"{directory}/bcache/cache_mode"
    chosen = re.search(r"\[(\w+)\]", tree.text(path) or "")
    mode = (Reading(what="cache_mode", value=chosen[1], path=path),) if chosen else ()
    state = tree.reading("bcache_state", f"{directory}/bcache/state")
    return (*mode, state) if state is not None else mode


def roles(tree: Tree, slaves: tuple[str, ...]) -> Iterator[tuple[str, Reading]]:
    """The backing device has a cache mode of its own, the caching device a replacement policy."""
    for slave in slaves:
        home = f"/sys/class/block/{slave}/bcache"
        for file, role in (("cache_replacement_policy", "cache"), ("cache_mode", "origin")):
            if tree.exists(f"{home}/{file}"):
                yield slave, Reading(what="role", value=role, path=f"{home}/{file}")
                break
