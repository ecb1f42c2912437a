"""What a layer hands to each of those below it: of a flush, of a write marked FUA, and of the bytes it is given.

The kernel's own rules: device mapper and md send an empty flush to every device below (``num_flush_bios``,
``md_flush_request``), a write only to those that hold its block; multiple paths take one request each; a mirror gives
each leg a copy. What is handed down only at commits, or as a cache likes, can be neither asked for nor called too much.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

How = Literal["each", "shared", "sometimes", "never"]
"""``each``: every one of them gets it. ``shared``: it goes to one of those that share it, by its place or in turn.
``sometimes``: nobody can say how often."""


class Handed(NamedTuple):
    """To one of the layers below."""

    flushes: How
    forced: How
    """A write marked FUA."""
    bytes: How
    copies: int = 1
    """Of those that share a write, how many get it, at the least."""
    only_read: bool = False
    """It holds data, and nothing of what is written comes to it: no flush is owed there."""
    with_writes: bool = False
    """Its flushes come with the writes that it gets, and with no flush: of a part of them, no flush is owed for each
    sync."""

    def of(self, forced: bool) -> How:
        """How a sync of that kind comes down: as a FUA write, or as an empty flush."""
        return self.forced if forced else self.flushes


class Member(NamedTuple):
    """One of the layers below, by its id, and what it is to the one above."""

    id: str
    role: str | None = None


ALL = Handed("each", "each", "each")
"""A copy of everything: the leg of a mirror, or the only layer below."""
PART = Handed("each", "shared", "shared")
"""Every flush, and its share of the writes: a stripe, a segment, one disk of several."""
HALVES = Handed("each", "shared", "shared", copies=2)
"""RAID10: every flush; a write goes to the two legs that hold its block, or to more of them."""
WRITTEN_LATER = Handed("each", "each", "shared")
"""The fast device of a cache whose slow one is always written later: each FUA write is made durable here."""
PARITY = Handed("each", "sometimes", "shared")
"""RAID4, 5 and 6: what a FUA write becomes there is a matter of the stripe cache."""
ONE_PATH = Handed("shared", "shared", "shared")
"""Whatever takes this way: one of several paths."""
FLUSHES_ONLY = Handed("each", "sometimes", "sometimes")
"""Every flush; of the writes what its cache mode makes of them."""
INTENT_LOG = Handed("shared", "shared", "sometimes")
"""ZFS writes its log to one vdev after the other, and flushes those that it wrote to."""
COPY = Handed("each", "sometimes", "never")
"""Every flush; what is written there is a copy, and nothing waits for it: the fast device of a write-through cache, a
leg that is written behind."""
COPIES_NOTED = Handed("sometimes", "sometimes", "never")
"""Where it keeps which blocks it has copies of: without that, all of them are still on the slow device."""
BYTES_ALONE = Handed("sometimes", "sometimes", "shared")
"""Its share of the writes, and flushes at times: the slow device of such a cache gets them later."""
CLONES = Handed("sometimes", "shared", "shared")
"""One of the paths of a request-based multipath device: whole requests, of which flushes are not counted there."""
AT_TIMES = Handed("sometimes", "sometimes", "sometimes")
"""Journals, logs and metadata: at commits."""
ONLY_READ = AT_TIMES._replace(only_read=True)
"""What a snapshot began with."""
LOGGED_FIRST = Handed("each", "each", "each", with_writes=True)
"""An array's journal: every write with a flush of its own, before it is answered."""
NOTHING = Handed("never", "never", "never")
"""A spare, a read cache."""

_BY_ROLE = {
    "spare": NOTHING,
    "l2arc": NOTHING,
    "journal": AT_TIMES,
    "log": AT_TIMES,
    "metadata": AT_TIMES,
    "special": AT_TIMES,
}


def by_role(role: str | None, otherwise: Handed) -> Handed:
    """What one that serves the layer above as that gets; ``otherwise`` where it holds the data."""
    return _BY_ROLE.get(role or "", otherwise)
