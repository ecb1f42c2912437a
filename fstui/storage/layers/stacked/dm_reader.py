"""Reads device-mapper devices: by their names for every user, by their tables for root."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import msgspec

from fstui.model.storage import Node, Reading
from fstui.storage.layers.readers import Device, DeviceReader, Role, with_readings
from fstui.storage.layers.sources import claims
from fstui.storage.layers.stacked import dm_names, dm_tables
from fstui.storage.layers.stacked.dm_tables import Table

PVMOVE = "pvmove"


class DmReader(DeviceReader):
    """Reads device-mapper devices."""

    def read(self, name: str) -> Device:
        directory, slaves = f"/sys/block/{name}/dm", self.slaves(name)
        uuid = self.tree.word(f"{directory}/uuid") or ""
        label = self.tree.word(f"{directory}/name") or name
        names = {slave: self.tree.word(f"/sys/block/{slave}/dm/name") or "" for slave in slaves}
        kind = dm_names.kind(uuid, names.values())
        target = Reading(what="target", value=kind.removeprefix("dm-"), path=f"{directory}/uuid")
        roles = ((slave, dm_names.role(kind, name), f"/sys/block/{slave}/dm/name") for slave, name in names.items())
        return Device(
            kind=kind,
            label=dm_names.lvm_name(label) if uuid.startswith("LVM-") else label,
            below=slaves,
            readings=(
                *((target,) if kind != "dm" else ()),
                *self._requests(name, kind),
                *self.queue(name),
            ),
            state=tuple(self._trouble(directory, label)),
            identity=uuid,
            roles=tuple((slave, Reading(what="role", value=role, path=path)) for slave, role, path in roles if role),
        )

    def _trouble(self, directory: str, label: str) -> Iterator[Reading]:
        """It is suspended, or the mirror by which LVM moves volumes from one disk to another (pvmove(8))."""
        suspended = self.tree.reading("suspended", f"{directory}/suspended")
        if suspended is not None and suspended.value == "1":
            yield suspended
        if dm_names.moves(label):
            yield Reading(what=PVMOVE, value="under way", path=f"{directory}/name")

    def _requests(self, name: str, kind: str) -> tuple[Reading, ...]:
        """``request_based`` (yes | no): multipath is, unless its table says ``queue_mode bio``."""
        if kind not in ("dm", "dm-multipath"):
            return ()
        path = f"/sys/block/{name}/mq"
        return (Reading(what="request_based", value="yes" if self.tree.exists(path) else "no", path=path),)

    def asked(self, node: Node, roles: tuple[Role, ...]) -> tuple[Node, tuple[Role, ...]]:
        """By its table, which knows the true target, and more of what the devices below do than their names."""
        name = dm_names.unmangled(self.tree.word(f"/sys/block/{node.id}/dm/name") or "")
        table = self._tables.get(name)
        if table is None:
            return with_readings(node, self._missing), roles
        rest = tuple(reading for reading in node.readings if reading.what != "target")
        changed = msgspec.structs.replace(node, kind=table.kind, readings=(*table.readings, *rest))
        told = dm_tables.named_roles(table, self.sources.names.of)
        by_name = roles if table.kind == node.kind else ()
        return changed, tuple({**dict(by_name), **dict(told)}.items())

    @cached_property
    def _tables(self) -> Mapping[str, Table]:
        return dm_tables.read(self.sources.claims)

    @cached_property
    def _missing(self) -> tuple[Reading, ...]:
        """Says so where the tables were not read."""
        if claims.answer(self.sources.claims, dm_tables.COMMAND) is not None:
            return ()
        asked, unasked = [dm_tables.COMMAND], "root only, or not asked yet"
        return (claims.missing("the device-mapper table", asked, self.sources.claims, unasked),)
