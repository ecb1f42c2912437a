"""Software RAID (md), and the RAID levels that it shares with dm-raid.

Readings: ``level``, ``journal_mode``, ``consistency_policy``, and ``written_behind`` for each member that writes do not
wait for. See Documentation/admin-guide/md.rst.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from fstui.model.storage import Node, Reading, SyncPath
from fstui.storage.layers.forwarding import (
    COPY,
    LATER_WRITES,
    LOGGED_FIRST,
    NOTHING,
    PARITY,
    SOMETIMES,
    Forwarded,
    Member,
    by_role,
)
from fstui.storage.layers.kinds import LayerKind, SkippedSync, Spread
from fstui.storage.layers.readers import DeviceReader, LayerDescription, without_none
from fstui.storage.tree import integer

_SPREADS: dict[str, Spread] = {"linear": "one", "raid1": "raid1", "raid10": "raid10"}
_PARITY = {"raid4": 1, "raid5": 1, "raid6": 2}
"""Members that an array of that level can lose."""
_MISSING = ("degraded", "missing_members")
"""Readings of md and of dm-raid whose value is the number of missing members."""


class Array(LayerKind, frozen=True, kw_only=True):
    """The row of an array with a known level. Without a level it is treated like a stripe."""

    def spread(self, node: Node) -> Spread:
        return _SPREADS.get(node.value("level") or "", "stripe")

    def tolerated_failures(self, node: Node, members: int) -> int:
        """Return how many more members may fail. ``members`` of a mirror does not include missing members."""
        if not (parity := _parity(node)):
            return super().tolerated_failures(node, members)
        return max(0, parity - _missing_members(node))

    def forwards(self, node: Node, member: Member, roles: Collection[str | None], filesystem: Node) -> Forwarded:
        """Return what the member gets. With a journal, a sync causes flushes at the journal only.

        The members are flushed later, when the journal frees space (drivers/md/raid5-cache.c). Measured: 173 syncs
        caused 173 flushes at the journal and none at the members.
        """
        if "journal" in roles:
            return LOGGED_FIRST if member.role == "journal" else SOMETIMES
        return by_role(member.role, PARITY) if _parity(node) else super().forwards(node, member, roles, filesystem)


def _parity(node: Node) -> int:
    return _PARITY.get(node.value("level") or "", 0)


def _missing_members(node: Node) -> int:
    """Return how many members are missing, as md or dm-raid reports."""
    return sum(integer(reading.value) or 0 for reading in (*node.state, *node.readings) if reading.what in _MISSING)


_RUNNING_ACTIONS = frozenset({"resync", "recover", "reshape", "check", "repair"})
_STOPPED_STATES = frozenset({"clear", "inactive", "suspended", "readonly", "broken"})
_MIRRORS = frozenset({"raid1", "raid10"})
_WITHOUT_PARITY = frozenset({"linear", "raid0", "raid1"})


class MdReader(DeviceReader):
    def read(self, name: str) -> LayerDescription:
        directory, slaves = f"/sys/block/{name}/md", self.slaves(name)
        return LayerDescription(
            below=slaves,
            readings=(
                *self._settings(directory),
                *self._written_behind(directory, slaves),
                *self.queue_readings(name),
            ),
            state=tuple(self._trouble(directory, slaves)),
            identity=self.tree.word(f"{directory}/uuid") or "",
            roles=dict(self._roles(directory, slaves)),
        )

    def _settings(self, directory: str) -> tuple[Reading, ...]:
        names = ("level", "journal_mode", "consistency_policy")
        return without_none(self.tree.reading(what, f"{directory}/{what}") for what in names)

    def _written_behind(self, directory: str, slaves: tuple[str, ...]) -> Iterator[Reading]:
        """Yield write-mostly members of a mirror whose bitmap has a backlog: writes do not wait for them (md(4))."""
        if not self.tree.integer(f"{directory}/bitmap/backlog"):
            return
        for slave in slaves:
            path = f"{directory}/dev-{slave}/state"
            if "write_mostly" in (self.tree.word(path) or "").split(","):
                yield Reading(what="written_behind", value=slave, path=path)

    def _roles(self, directory: str, slaves: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        member = "mirror leg" if self.tree.word(f"{directory}/level") in _MIRRORS else "stripe"
        for slave in slaves:
            state = (self.tree.word(f"{directory}/dev-{slave}/state") or "").split(",")
            yield slave, next((role for role in ("journal", "spare") if role in state), member)

    def _trouble(self, directory: str, slaves: tuple[str, ...]) -> Iterator[Reading]:
        """Yield readings of missing or faulty members, of a running action such as a resync, and of a stopped array."""
        yield from without_none([self.tree.reading("degraded", f"{directory}/degraded", unless=("0",))])
        for slave in slaves:
            path = f"{directory}/dev-{slave}/state"
            if "faulty" in (self.tree.word(path) or "").split(","):
                yield Reading(what="faulty", value=slave, path=path)
        yield from without_none(
            [
                self.tree.reading("sync_action", f"{directory}/sync_action", only=_RUNNING_ACTIONS),
                self.tree.reading("array_state", f"{directory}/array_state", only=_STOPPED_STATES),
            ]
        )


class Md(Array, frozen=True, kw_only=True):
    def sync_of(self, node: Node) -> tuple[SyncPath, str]:
        """Return what happens to a sync. With a journal, a flush goes there first (drivers/md/raid5-cache.c)."""
        policy = node.value("consistency_policy")
        if node.reading("journal_mode") is not None and (policy is None or "journal" in policy):
            return "passes", "a flush goes to the journal, then to the members"
        return super().sync_of(node)

    def skipped_sync(self, node: Node) -> SkippedSync | None:
        """Return ``consistency_policy`` if it is a partial parity log.

        Then a flush is acknowledged at once, and the members are flushed later (drivers/md/raid5-ppl.c). 56 syncs
        reached two members as 30 and 26 flushes (Linux 6.12).
        """
        policy = node.reading("consistency_policy")
        if policy is None or policy.value != "ppl":
            return None
        return SkippedSync(
            reading=policy,
            how="set up",
            option="a partial parity log (ppl)",
            misses="flush before the answer",
            means="is answered before the members are flushed",
            undo="Switch the members' write caches off ('hdparm -W 0 DEVICE'), or use drives with power-loss "
            "protection. Removing the log instead opens the write hole.",
            flushed_later=True,
        )

    def may_add_bytes(self, node: Node) -> bool:
        """Return whether the level writes parity, or writes a block to two members, as RAID10 does."""
        return node.value("level") not in _WITHOUT_PARITY

    def forwards(self, node: Node, member: Member, roles: Collection[str | None], filesystem: Node) -> Forwarded:
        """Return what the member gets.

        A faulty member gets nothing. A member that is written behind gets copies that no sync waits for. With a partial
        parity log, the driver flushes the members later, not once for each flush.
        """
        if member.id in (trouble.value for trouble in node.state if trouble.what == "faulty"):
            return NOTHING
        if member.id in (reading.value for reading in node.readings if reading.what == "written_behind"):
            return COPY
        if self.skipped_sync(node) is not None:
            return by_role(member.role, LATER_WRITES)
        return super().forwards(node, member, roles, filesystem)


KINDS = (
    Md(
        name="md",
        device_names="md",
        sync="passes",
        because="a flush goes to every member",
        settings=("level", "journal_mode"),
    ),
)
DEVICES = MdReader
