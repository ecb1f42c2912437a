"""RAID levels, as md and dm-raid name them."""

from __future__ import annotations

from collections.abc import Collection

from fstui.model.storage import Node
from fstui.storage.layers.facts import one_of
from fstui.storage.layers.handing import AT_TIMES, LOGGED_FIRST, PARITY, Handed, Member, by_role
from fstui.storage.layers.kinds import Kind, Spread
from fstui.storage.layers.sources.files import integer

_SPREADS: dict[str, Spread] = {"linear": "one", "raid1": "raid1", "raid10": "raid10"}
_PARITY = {"raid4": 1, "raid5": 1, "raid6": 2}
"""Members that an array of that level can do without."""
_TOO_FEW = ("degraded", "missing_members")


class Array(Kind, frozen=True, kw_only=True):
    """The row of an array whose level is read; like a stripe where no mirror is known."""

    def spread(self, node: Node) -> Spread:
        level = one_of(node, "level", _SPREADS)
        return level.value if level is not None else "stripe"

    def tolerates(self, node: Node, members: int) -> int:
        """Of what parity stands for less where members are missing already; of a mirror those are not among them."""
        return max(0, parity - _missing(node)) if (parity := _parity(node)) else super().tolerates(node, members)

    def hands(self, node: Node, member: Member, beside: Collection[str | None], filesystem: Node) -> Handed:
        """Beside a journal, in which each write is logged and flushed, an empty flush ends here, and the members are
        flushed when the journal makes room (drivers/md/raid5-cache.c). Measured: 173 syncs were 173 flushes at the
        journal and none at the members."""
        if "journal" in beside:
            return LOGGED_FIRST if member.role == "journal" else AT_TIMES
        return by_role(member.role, PARITY) if _parity(node) else super().hands(node, member, beside, filesystem)


def _parity(node: Node) -> int:
    level = one_of(node, "level", _PARITY)
    return level.value if level is not None else 0


def _missing(node: Node) -> int:
    """``degraded``: by how many members it has too few (Documentation/admin-guide/md.rst); of dm-raid, those that its
    table has a dash for."""
    return sum(integer(told.value) or 0 for told in (*node.state, *node.readings) if told.what in _TOO_FEW)
