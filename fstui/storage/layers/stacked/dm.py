"""Device-mapper devices, by target (Documentation/admin-guide/device-mapper).

Every user can read names in sysfs, which identify most targets. Root can read the table, which identifies all targets
(``dm_tables``).
Readings: ``target``, ``cache_mode`` (dm-cache), ``level``, ``missing_members`` and ``written_behind`` (dm-raid),
``writes_past`` (cleaner | metadata_only: writes that bypass a dm-writecache), ``persistent`` (yes | no: whether the
store of a snapshot survives a reboot).
"""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property

import msgspec

from fstui.model.storage import Node, Reading, SyncPath
from fstui.storage import tool_output
from fstui.storage.layers.forwarding import ALL, ONE_PATH, ONLY_READ, REQUEST_CLONES, SOMETIMES, Forwarded
from fstui.storage.layers.kinds import LayerKind
from fstui.storage.layers.readers import DeviceReader, LayerDescription, with_readings, without_none
from fstui.storage.layers.stacked import dm_tables
from fstui.storage.layers.stacked.bcache import CacheKind
from fstui.storage.layers.stacked.dm_tables import DmTable
from fstui.storage.layers.stacked.md import WRITTEN_BEHIND, Array
from fstui.storage.tool_output import Command


class DmTarget(LayerKind, frozen=True, kw_only=True):
    sync: SyncPath = "passes"
    reason: str = "forwards a flush"
    repeats_commits: bool = True
    """The device-mapper core splits a write with REQ_PREFLUSH into empty flushes and then the write. The first empty
    flush inherits the write's REQ_FUA, so a device without FUA is flushed once more (drivers/md/dm.c:
    alloc_tio; block/blk-flush.c). An append on ext4 causes 3 flushes instead of 2 (Linux 6.1, 6.12), and data=journal 4
    instead of 3 (6.12)."""

    def commands(self, nodes: Sequence[Node], sources: Sequence[str]) -> tuple[Command, ...]:
        return (dm_tables.COMMAND,)


def is_request_based(node: Node) -> bool | None:
    """Return whether the device is request-based, as only multipath can be; None: unknown.

    A request-based device sends clones of whole requests to its paths. A flush reaches the driver of the path even if
    the path's queue is set to write through (block/blk-mq.c: blk_insert_cloned_request).
    """
    return {"yes": True, "no": False}.get(node.value("request_based") or "")


class Multipath(DmTarget, frozen=True, kw_only=True):
    """dm-multipath. If it is request-based, it counts flushes itself, and the kernel counts none at its paths."""

    def forwards(self, node: Node, member: str, filesystem: Node) -> Forwarded:
        return REQUEST_CLONES if is_request_based(node) is not False else ONE_PATH


# of two bases, msgspec uses the defaults of the first
class Raid(DmTarget, Array, frozen=True, kw_only=True): ...


class CacheTarget(DmTarget, CacheKind, frozen=True, kw_only=True):
    may_cache: bool = True


class ReadOnlyOrigin(DmTarget, frozen=True, kw_only=True):
    """The kind of a target that sends all writes and flushes to one device, and only reads its origin: dm-snapshot
    (drivers/md/dm-snap.c: snapshot_map), dm-thin (admin-guide/device-mapper/thin-provisioning.rst)."""

    def forwards(self, node: Node, member: str, filesystem: Node) -> Forwarded:
        by_member_role = {"cow": ALL, "pool": ALL, "origin": ONLY_READ}
        # without an origin, the pool is the only layer below
        return ALL if len(node.below) == 1 else by_member_role.get(node.below_roles.get(member, ""), SOMETIMES)


PVMOVE = "pvmove"
"""A reading of the state of a device that LVM uses to move volumes to another disk (pvmove(8))."""


class DmReader(DeviceReader):
    def read(self, name: str) -> LayerDescription:
        directory, slaves = f"/sys/block/{name}/dm", self.slaves(name)
        uuid = self.tree.stripped(f"{directory}/uuid") or ""
        label = self.tree.stripped(f"{directory}/name") or name
        names = {slave: self.tree.stripped(f"/sys/block/{slave}/dm/name") or "" for slave in slaves}
        kind = dm_tables.kind_by_names(uuid, names.values())
        target = Reading(what="target", value=kind.removeprefix("dm-"), path=f"{directory}/uuid")
        roles = {slave: role for slave, below in names.items() if (role := dm_tables.role_by_name(kind, below))}
        suspended = self.tree.reading("suspended", f"{directory}/suspended", only=("1",))
        is_pvmove = re.search(r"-pvmove\d+$", label)
        pvmove = Reading(what=PVMOVE, value="under way", path=f"{directory}/name") if is_pvmove else None
        return LayerDescription(
            kind=kind,
            label=dm_tables.lvm_name(label) if uuid.startswith("LVM-") else label,
            below=slaves,
            readings=(
                *((target,) if kind != "dm" else ()),
                *self._request_readings(name, kind),
                *self.queue_readings(name),
            ),
            state=without_none([suspended, pvmove]),
            identity=uuid,
            roles=roles,
        )

    def _request_readings(self, name: str, kind: str) -> tuple[Reading, ...]:
        """Return ``request_based`` (yes | no). A multipath device is, unless its table contains ``queue_mode bio``."""
        if kind not in ("dm", "dm-multipath"):
            return ()
        path = f"/sys/block/{name}/mq"
        return (Reading(what="request_based", value="yes" if self.tree.exists(path) else "no", path=path),)

    def with_tool_output(self, node: Node) -> Node:
        """Replace the target and the roles with those from the table, which is more reliable than names.

        Roles by name are kept only if the names identified the right target.
        """
        mangled = self.tree.stripped(f"/sys/block/{node.id}/dm/name") or ""
        # in sysfs, characters that udev rejects are escaped (libdm-common.c)
        name = re.sub(r"\\x([0-9A-Fa-f]{2})", lambda match: chr(int(match[1], 16)), mangled)
        table = self._tables.get(name)
        if table is None:
            has_output = tool_output.output_of(self.sources.tool_outputs, dm_tables.COMMAND) is not None
            missing = tool_output.missing_reading(
                "the device-mapper table", [dm_tables.COMMAND], self.sources.tool_outputs
            )
            return node if has_output else with_readings(node, (missing,))
        readings = (*table.readings, *(reading for reading in node.readings if reading.what != "target"))
        roles = dict(node.below_roles) if table.kind == node.kind else {}
        for number, role in table.roles.items():
            below = self.sources.names.by_number(number)
            if below is not None and below in node.below:
                roles[below] = role
        return msgspec.structs.replace(node, kind=table.kind, readings=readings, below_roles=roles)

    @cached_property
    def _tables(self) -> Mapping[str, DmTable]:
        return dm_tables.read_tables(self.sources.tool_outputs)


_POOL_REASON = "a flush commits the pool's metadata and is forwarded"

KINDS = (
    # for a device whose names do not identify its target
    DmTarget(
        name="dm",
        sync="unknown",
        is_known=False,
        name_prefix="dm-",
        reader=DmReader,
        reason="its target is not known",
        counts_flushes=True,
        may_cache=True,
        may_reduce_bytes=True,
    ),
    DmTarget(name="dm-linear", label="linear", adds_bytes=False),
    DmTarget(name="dm-stripe", label="striped", adds_bytes=False, default_spread="stripe"),
    DmTarget(name="dm-crypt", label="encrypted", reason="encrypts data and forwards a flush", adds_bytes=False),
    Multipath(
        name="dm-multipath",
        reason="a flush takes one of the paths",
        counts_flushes=True,
        adds_bytes=False,
        default_spread="path",
    ),
    DmTarget(name="dm-mirror", default_spread="raid1", dispensable_roles=("log",)),
    Raid(name="dm-raid", dispensable_roles=("metadata",), unsupported_readings=(WRITTEN_BEHIND,)),
    ReadOnlyOrigin(name="dm-thin", reason=_POOL_REASON),
    DmTarget(name="dm-thin-pool", reason=_POOL_REASON),
    ReadOnlyOrigin(name="dm-snapshot", reason="a flush goes to its store"),
    DmTarget(name="dm-snapshot-origin"),
    CacheTarget(name="dm-cache", reason="a flush commits the cache's metadata and is forwarded"),
    CacheTarget(
        name="dm-writecache",
        reason="a flush makes the cache device durable; the origin is written later",
        always_writeback=True,
        unsupported_readings=("writes_past",),
    ),
)
