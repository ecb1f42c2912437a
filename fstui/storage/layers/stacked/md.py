"""Software RAID (md), and the RAID levels that it shares with dm-raid.

Readings: ``level``, ``journal_mode``, ``consistency_policy``, ``written_behind``. See Documentation/admin-guide/md.rst.
"""

from fstui.model.storage import Node, Reading, SyncPath
from fstui.storage.layers.forwarding import (
    LATER_WRITES,
    LOGGED_FIRST,
    NOTHING,
    PARITY,
    SOMETIMES,
    Forwarded,
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
WRITTEN_BEHIND = "written_behind"
"""A reading of md and of dm-raid: how many writes may be missing on the write-mostly members of a mirror (md(4))."""


class Array(LayerKind, frozen=True, kw_only=True):
    """The kind of an array. An array whose level is unknown is treated like a stripe."""

    def spread(self, node: Node) -> Spread:
        return _SPREADS.get(node.value("level") or "", "stripe")

    def tolerated_failures(self, node: Node, members: int) -> int:
        """Return how many more members may fail. ``members`` of a mirror does not include missing members."""
        if not (parity := _parity(node)):
            return super().tolerated_failures(node, members)
        counts = (reading.value for reading in (*node.state, *node.readings) if reading.what in _MISSING)
        return max(0, parity - sum(integer(count) or 0 for count in counts))

    def forwards(self, node: Node, member: str, filesystem: Node) -> Forwarded:
        """Return what is forwarded to the member. With a journal, a sync causes flushes at the journal only.

        The members are flushed later, when the journal frees space (drivers/md/raid5-cache.c). Measured: 173 syncs
        caused 173 flushes at the journal and none at the members.
        """
        role = node.below_roles.get(member)
        if "journal" in node.below_roles.values():
            return LOGGED_FIRST if role == "journal" else SOMETIMES
        return by_role(role, PARITY) if _parity(node) else super().forwards(node, member, filesystem)


def _parity(node: Node) -> int:
    return _PARITY.get(node.value("level") or "", 0)


_RUNNING_ACTIONS = frozenset({"resync", "recover", "reshape", "check", "repair"})
_STOPPED_STATES = frozenset({"clear", "inactive", "suspended", "readonly", "broken"})
_MIRRORS = frozenset({"raid1", "raid10"})
_SETTINGS = ("level", "journal_mode", "consistency_policy")
_ROLE_FLAGS = ("journal", "spare")
"""Flags of members that hold no data. The roles have the same names."""
_LEVELS_WITHOUT_EXTRA_BYTES = frozenset({"linear", "raid0", "raid1"})


class MdReader(DeviceReader):
    def read(self, name: str) -> LayerDescription:
        directory, slaves = f"/sys/block/{name}/md", self.slaves(name)
        flags = {slave: (self.tree.stripped(_state_file(directory, slave)) or "").split(",") for slave in slaves}
        settings = [self.tree.reading(what, f"{directory}/{what}") for what in _SETTINGS]
        if any("write_mostly" in words for words in flags.values()):
            settings.append(self.tree.reading(WRITTEN_BEHIND, f"{directory}/bitmap/backlog", unless=("0",)))
        member = "mirror leg" if self.tree.stripped(f"{directory}/level") in _MIRRORS else "stripe"
        state = (
            self.tree.reading("degraded", f"{directory}/degraded", unless=("0",)),
            *(
                Reading(what="faulty", value=slave, path=_state_file(directory, slave))
                for slave, words in flags.items()
                if "faulty" in words
            ),
            self.tree.reading("sync_action", f"{directory}/sync_action", only=_RUNNING_ACTIONS),
            self.tree.reading("array_state", f"{directory}/array_state", only=_STOPPED_STATES),
        )
        return LayerDescription(
            below=slaves,
            readings=(*without_none(settings), *self.queue_readings(name)),
            state=without_none(state),
            identity=self.tree.stripped(f"{directory}/uuid") or "",
            roles={slave: next((role for role in _ROLE_FLAGS if role in flags[slave]), member) for slave in slaves},
        )


def _state_file(directory: str, slave: str) -> str:
    return f"{directory}/dev-{slave}/state"


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
            option_verb="set up",
            option="a partial parity log (ppl)",
            skipped_request="flush before the acknowledgement",
            effect="is acknowledged before the members are flushed",
            undo="Switch the members' write caches off ('hdparm -W 0 DEVICE'), or use drives with power-loss "
            "protection. Removing the log instead opens the write hole.",
            flushed_later=True,
        )

    def may_add_bytes(self, node: Node) -> bool:
        """Return whether the level writes parity, or writes a block to two members, as RAID10 does."""
        return node.value("level") not in _LEVELS_WITHOUT_EXTRA_BYTES

    def forwards(self, node: Node, member: str, filesystem: Node) -> Forwarded:
        """Return what is forwarded to the member.

        A faulty member receives nothing. With a partial parity log, the driver flushes the members later, not once for
        each flush.
        """
        if member in (trouble.value for trouble in node.state if trouble.what == "faulty"):
            return NOTHING
        if self.skipped_sync(node) is not None:
            return by_role(node.below_roles.get(member), LATER_WRITES)
        return super().forwards(node, member, filesystem)


KINDS = (
    Md(
        name="md",
        name_prefix="md",
        reader=MdReader,
        sync="passes",
        reason="a flush goes to every member",
        settings=("level", "journal_mode"),
        unsupported_readings=(WRITTEN_BEHIND,),
    ),
)
