"""Disks of this very box's own iSCSI target in user space (tgtd), and the files that it keeps them in.

tgtadm(8) tells of each target's units what their stores are. A disk is followed where its session leads to this box
alone, and a tgtd at the other end of some connection of this network namespace has a file of that name and of the
disk's size open (``held_files``). Readings of the disk: ``own_session`` (its target, and its unit), ``store`` (O_DSYNC:
``bsoflags=sync``, each write is made durable before it is answered), ``served`` (bstype=aio, of a file).

tgtd syncs its file for SYNCHRONIZE CACHE and for a write marked FUA (usr/bs_rdwr.c), but leaves both out for a store of
kind aio (usr/bs_aio.c; 0 flushes below for 50 syncs): its writes are O_DIRECT, which is enough only on a block device
without a cache.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from fstui.model.storage import Node, Reading
from fstui.storage.layers.readers import Sources
from fstui.storage.layers.sources import claims, processes
from fstui.storage.layers.sources.claims import Command, Question
from fstui.storage.layers.sources.sockets import CONNECTIONS, connections
from fstui.storage.layers.targets import held_files, scsi_target
from fstui.storage.layers.targets.held_files import Behind, HeldFiles

TARGETS: Command = ("tgtadm", "--lld", "iscsi", "--mode", "target", "--op", "show")
_PROGRAM = "tgtd"
_SESSION = "own_session"
_UNIT = re.compile(r"/\d+:\d+:\d+:(\d+)/block/")
_LINE = re.compile(r"(Target \d+|\s+LUN|\s+Backing store type|\s+Backing store path|\s+Backing store flags): ?(.*)")


class Store(NamedTuple):
    """What a unit is kept in."""

    path: str
    kind: str
    flags: frozenset[str]


def questions(node: Node) -> Iterator[Question]:
    """What must be known of the server of such a disk."""
    if node.reading(_SESSION) is not None:
        yield from (Question(command, root=True) for command in (TARGETS, CONNECTIONS))
    yield from held_files.questions(node)


def stores(said: str) -> Mapping[str, Store]:
    """What tgtadm told, by target and unit."""
    found: dict[str, Store] = {}
    target = unit = type_ = path = ""
    for line in said.split("\n"):
        told = _LINE.fullmatch(line)
        match told[1].split()[-1] if told else "":
            case "LUN":
                unit = told[2] if told else ""
            case "type":
                type_ = told[2] if told else ""
            case "path":
                path = told[2] if told else ""
            case "flags":
                found[f"{target}/{unit}"] = Store(path, type_, frozenset((told[2] if told else "").split()))
            case "":
                pass
            case _:
                target = told[2] if told else ""
    return found


class TgtDisks:
    """Those that this box has, as they are in one survey."""

    def __init__(self, sources: Sources) -> None:
        self._sources, self._tree = sources, sources.tree
        self._held = HeldFiles(sources)

    def behind(self, name: str, path: str) -> Behind:
        """What that disk stands on; nothing of one that is not known to be this box's. ``path``: where it hangs in
        /sys/devices."""
        session, unit = scsi_target.own_session(self._tree, path), _UNIT.search(path)
        if session is None or unit is None:
            return Behind()
        number = session.rpartition("/")[2]
        target = self._tree.word(f"{session}/iscsi_session/{number}/targetname") or ""
        first = Reading(what=_SESSION, value=f"{target}/{unit[1]}", path=f"{session}/iscsi_session/{number}/targetname")
        store = self._stores.get(first.value)
        files = [file for file in self._files if store is not None and file.name == store.path]
        asked = held_files.asked(files)
        found = self._held.lies(files[0]) if files else None
        if store is None or found is None or found.size_bytes != self._held.size_bytes(name):
            return Behind(readings=(first, *asked))
        behind = self._held.behind(files[0], found)
        return behind._replace(readings=(first, *asked, *behind.readings, *_told(store, behind)))

    @cached_property
    def _stores(self) -> Mapping[str, Store]:
        return stores(claims.answer(self._sources.claims, TARGETS) or "")

    @cached_property
    def _files(self) -> tuple[processes.OpenFile, ...]:
        """What the servers of that name have open."""
        far = {server for each in connections(self._sources.claims) for server in each.far}
        servers = (server for server in sorted(far) if processes.program(self._tree, server) == _PROGRAM)
        return tuple(file for server in servers for file in self._held.of(server, ""))


def _told(store: Store, behind: Behind) -> Iterator[Reading]:
    if store.kind == "aio" and behind.others:
        yield Reading(what="served", value="bstype=aio", path=claims.line(TARGETS))
    elif "sync" in store.flags:
        yield Reading(what="store", value=scsi_target.EACH_WRITE, path=claims.line(TARGETS))
