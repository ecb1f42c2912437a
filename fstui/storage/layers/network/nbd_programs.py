"""What is peculiar to each nbd server.

qemu-nbd may be told to drop flushes (``cache=unsafe``, qemu-nbd(8)) or to sync each write, as nbdkit may by a filter
(nbdkit-fua-filter(1)); nbd-server's ``copyonwrite`` writes to a file that is removed at the end (nbd-server(1)); and
some plugins of nbdkit keep the disk in its own memory, and its cache filter may be told to forget flushes
(nbdkit-cache-filter(1)). nbd-server leaves a disk without ``flush`` to the page cache,
but with ``sync`` it syncs each write (``nbd_settings``); of others that offer no flush it is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fstui.model.storage import Reading
from fstui.storage.layers.network import nbd_settings
from fstui.storage.layers.readers import Sources
from fstui.storage.layers.sources import processes
from fstui.storage.layers.sources.files import Tree
from fstui.storage.layers.sources.processes import OpenFile
from fstui.storage.layers.targets import held_files
from fstui.storage.layers.targets.held_files import Behind

COPIES = "copyonwrite"
IMAGES = frozenset({"qemu-nbd", "qemu-storage-daemon", "qemu-storage-da"})
"""They serve formats whose files are not as large as the disk."""
_MEMORY_PLUGINS = re.compile(r"/nbdkit-(?:memory|data|pattern)-plugin\.so$", re.M)
_MAPS_BYTES = 1 << 20
_UNSAFE = re.compile(r"--cache[ =]unsafe\b|\bno-flush=on\b")
_CACHE_FILTER = re.compile(r"\0--filter[=\0](?:[^\0]*/nbdkit-)?cache(?:-filter\.so)?\0")
_FORGETS = "cache=unsafe"
_EACH_WRITE = re.compile(r"--cache[ =](?:writethrough|directsync)\b|\bfuamode=force\b")


def without_a_disk(tree: Tree, server: str, program: str, files: Sequence[OpenFile]) -> Behind | None:
    """What it serves where that is no file that lasts, or where no flush gets to it; None where one may."""
    if program == "nbdkit" and not files:
        maps = tree.text(f"/proc/{server}/maps", _MAPS_BYTES) or ""
        return held_files.in_memory(f"memory:nbdkit {server}", "nbdkit") if _MEMORY_PLUGINS.search(maps) else None
    if program == "nbdkit" and _forgets_flushes(processes.words(tree, server)):
        # its cache is a file of its own: which of those that it has open the disk is kept in is not told
        return Behind(readings=(Reading(what="served", value=_FORGETS, path=f"/proc/{server}/cmdline"),))
    copies = [file for file in files if file.name.endswith(f"-{server}.diff")]  # of copyonwrite
    if program == "nbd-server" and copies:
        return Behind(readings=(Reading(what="served", value=COPIES, path=copies[0].descriptor),))
    return None


def _forgets_flushes(words: Sequence[str]) -> bool:
    """By the last word on it, where the filter that heeds it is there."""
    modes = [word for word in words if word.startswith("cache=")]
    return modes[-1:] == [_FORGETS] and _CACHE_FILTER.search("\0".join(("", *words, ""))) is not None


def told(sources: Sources, server: str, program: str, files: Sequence[OpenFile], *, through: bool) -> Iterator[Reading]:
    """What its command line, or its settings, say of flushes. ``through``: the kernel sends it none."""
    line = " ".join(processes.words(sources.tree, server))
    path = f"/proc/{server}/cmdline"
    if program in IMAGES and (unsafe := _UNSAFE.search(line)):
        yield Reading(what="served", value=unsafe[0], path=path)
    if through and _EACH_WRITE.search(line):
        yield Reading(what="server_syncs", value="each write", path=path)
    elif through:
        yield from nbd_settings.readings(sources, server, program, files[0].name if files else "")
