"""bcache: ``cache_mode``, ``bcache_state``, and which device caches for which.

Documentation/admin-guide/bcache.rst.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fstui.layers.cached import Cached
from fstui.layers.readers import Device, DeviceReader, Role, some
from fstui.model.storage import Reading


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
        """``cache_mode``, and ``bcache_state`` (clean, dirty, no cache …)."""
        path = f"{directory}/cache_mode"
        chosen = re.search(r"\[(\w+)\]", self.tree.text(path) or "")
        mode = Reading(what="cache_mode", value=chosen[1], path=path) if chosen else None
        return some([mode, self.tree.reading("bcache_state", f"{directory}/state")])

    def _roles(self, slaves: tuple[str, ...]) -> Iterator[Role]:
        """The backing device has a cache mode of its own, the caching device a replacement policy."""
        for slave in slaves:
            home = f"/sys/class/block/{slave}/bcache"
            for file, role in (("cache_replacement_policy", "cache"), ("cache_mode", "origin")):
                if self.tree.exists(f"{home}/{file}"):
                    yield slave, Reading(what="role", value=role, path=f"{home}/{file}")
                    break


KINDS = (
    Cached(
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
