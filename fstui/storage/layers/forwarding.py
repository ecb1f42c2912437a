"""What a layer forwards to each layer below it: flushes, FUA writes, bytes.

The kernel's rules: device mapper and md send an empty flush to every device below (``num_flush_bios``,
``md_flush_request``), and a write only to the devices that hold its block. If there are several paths, each request
takes one of them. Each member of a mirror gets a copy. Some requests are sent only with commits, or when a cache
decides to send them, so their number cannot be predicted.
"""

from typing import Literal, NamedTuple

Delivery = Literal["each", "shared", "sometimes", "never"]
"""``each``: every member gets the request. ``shared``: one of the members gets it, by its offset or in turn.
``sometimes``: it is not known how often a member gets such requests. ``never``: none; of data, at most extra copies."""


class Forwarded(NamedTuple):
    flushes: Delivery
    fua_writes: Delivery
    bytes: Delivery
    copies: int = 1
    """If the members share the writes: the minimum number of members that receive each write."""
    is_only_read: bool = False
    """The layer below holds data, but nothing is written to it, so no flush is expected."""
    flushed_with_writes: bool = False
    """The layer below is flushed with each write that it gets, and never otherwise. If it gets only a part of the
    writes, the number of its flushes is therefore unknown."""


ALL = Forwarded("each", "each", "each")
"""A copy of everything: a member of a mirror, or the only layer below."""
PART = Forwarded("each", "shared", "shared")
"""Every flush and a share of the writes: a stripe, a segment."""
TWO_COPIES = Forwarded("each", "shared", "shared", copies=2)
"""RAID10: every flush; each write goes to at least two members."""
FAST_DEVICE = Forwarded("each", "each", "shared")
"""The fast device of a cache that always writes to the slow device later. It gets each flush and each FUA write."""
PARITY = Forwarded("each", "sometimes", "shared")
"""RAID 4, 5 and 6: what a FUA write becomes depends on the stripe cache."""
ONE_PATH = Forwarded("shared", "shared", "shared")
"""One of several paths."""
SOME_WRITES = Forwarded("each", "sometimes", "sometimes")
"""A disk of a RAID-Z group: every flush, and an unknown part of the writes."""
INTENT_LOG = Forwarded("shared", "shared", "sometimes")
"""ZFS writes its log to one vdev after the other, and flushes those that it wrote to."""
COPY = Forwarded("each", "sometimes", "never")
"""The fast device of a write-through cache. It gets every flush, and copies of data that no sync waits for."""
CACHED_BLOCK_LIST = Forwarded("sometimes", "sometimes", "never")
"""The list of cached blocks in a cache that holds only copies. If it is lost, the data is still on the slow device."""
LATER_WRITES = Forwarded("sometimes", "sometimes", "shared")
"""A share of the writes, some time after a sync: the slow device of a cache, or a member of an array with
a partial parity log."""
REQUEST_CLONES = Forwarded("sometimes", "shared", "shared")
"""A path below request-based dm-multipath. It receives clones of requests, in which the kernel counts no flushes."""
SOMETIMES = Forwarded("sometimes", "sometimes", "sometimes")
"""Journals, logs and metadata: only some commits write to them."""
ONLY_READ = SOMETIMES._replace(is_only_read=True)
LOGGED_FIRST = Forwarded("each", "each", "each", flushed_with_writes=True)
"""The journal of an array: every write is written and flushed there before it is acknowledged."""
NOTHING = Forwarded("never", "never", "never")

_BY_ROLE = {
    "spare": NOTHING,
    "l2arc": NOTHING,
    "journal": SOMETIMES,
    "log": SOMETIMES,
    "metadata": SOMETIMES,
    "special": SOMETIMES,
}


def by_role(role: str | None, default: Forwarded) -> Forwarded:
    """Return what a layer with this role gets; ``default`` for roles of layers that hold the data."""
    return _BY_ROLE.get(role or "", default)
