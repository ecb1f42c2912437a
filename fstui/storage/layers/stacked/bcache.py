"""bcache: ``cache_mode``, ``bcache_state``, ``synchronous`` (0: what is in the cache is forgotten at the next start),
and which device caches for which.

Documentation/admin-guide/bcache.rst.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from fstui.model.storage import Node, Reading
from fstui.storage.layers.handing import COPIES_NOTED, COPY, Handed, Member
from fstui.storage.layers.kinds import Unsent
from fstui.storage.layers.readers import Device, DeviceReader, Role, some
from fstui.storage.layers.stacked.cached import Cached


class BcacheReader(DeviceReader):
    """Reads bcache devices."""

    def read(self, name: str) -> Device:
        slaves = self.slaves(name)
        return Device(
            kind=self.row.name,
            label=name,
            below=slaves,
            readings=(*self._own(f"/sys/block/{name}/bcache"), *self.queue(name)),
            identity=self.tree.word(f"/sys/block/{name}/bcache/backing_dev_uuid") or "",
            roles=tuple(self._roles(slaves)),
        )

    def _own(self, directory: str) -> tuple[Reading, ...]:
        """``cache_mode``, ``bcache_state`` (clean, dirty, no cache …), and ``synchronous`` of its cache set."""
        path = f"{directory}/cache_mode"
        chosen = re.search(r"\[(\w+)\]", self.tree.text(path) or "")
        mode = Reading(what="cache_mode", value=chosen[1], path=path) if chosen else None
        synchronous = self.tree.reading(_SYNCHRONOUS, f"{directory}/cache/{_SYNCHRONOUS}")
        return some([mode, self.tree.reading("bcache_state", f"{directory}/state"), synchronous])

    def _roles(self, slaves: tuple[str, ...]) -> Iterator[Role]:
        """The backing device has a cache mode of its own, the caching device a replacement policy."""
        for slave in slaves:
            home = f"/sys/class/block/{slave}/bcache"
            for file, role in (("cache_replacement_policy", "cache"), ("cache_mode", "origin")):
                if self.tree.exists(f"{home}/{file}"):
                    yield slave, Reading(what="role", value=role, path=f"{home}/{file}")
                    break


_SYNCHRONOUS = "synchronous"


class Bcache(Cached, frozen=True, kw_only=True):
    """The row of this family."""

    def unsent(self, node: Node) -> Unsent | None:
        """Without a synchronous cache no flush commits its journal, and the next start throws away what is in it
        (drivers/md/bcache/journal.c: bch_journal; super.c: run_cache_set). 300 syncs were no flush there (Linux
        6.12)."""
        if (told := _unsynced(node)) is None or self._written_later(node) != "origin":
            return None
        return Unsent(
            told=told,
            how="set up",
            option=f"{_SYNCHRONOUS} 0",
            misses="flush",
            means="commits no journal of the cache, whose blocks the next start throws away",
            undo=f"echo 1 > {told.path}, then run again.",
        )

    def hands(self, node: Node, member: Member, beside: Collection[str | None], filesystem: Node) -> Handed:
        found = super().hands(node, member, beside, filesystem)
        return COPIES_NOTED if found == COPY and _unsynced(node) is not None else found


def _unsynced(node: Node) -> Reading | None:
    told = node.reading(_SYNCHRONOUS)
    return told if told is not None and told.value == "0" else None


KINDS = (
    Bcache(
        name="bcache",
        layer="block",
        device_names="bcache",
        sync="passes",
        because="a flush commits the cache's journal and goes to the backing device",
        accounting="own",
        may_cache=True,
        settings=("cache_mode",),
    ),
)
DEVICES = BcacheReader
