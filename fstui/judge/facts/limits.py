"""What rotation allows: a block passes under the head once per turn.

Vendors' data sheets give the revolutions; rewriting one block durably takes one turn at the least, so 5400 rpm allow 90
rewrites a second, 7200 rpm 120, 10 000 rpm 166 and 15 000 rpm 250.
"""

from __future__ import annotations

from fstui.model.storage import Medium

ASSUMED_RPM = 15_000
"""For a hard disk that does not state its revolutions: the fastest that was ever sold."""
SLOWEST_RPM = 5400
"""Of the disks that are named here."""
LOGGED_NS = 473_000
"""The least that a synced write takes on a disk that appends it to a log on its platters, wherever the head is: seen of
the Ultrastar 7K6000 (serverfault.com/questions/857271)."""
NAND_PROGRAM_NS = 200_000
"""What SLC takes to program a page; MLC and TLC take 600 µs and more."""

_RPM = {"hdd-5400": 5400, "hdd-7200": 7200, "hdd-10000": 10_000, "hdd-15000": 15_000}


def rpm(medium: Medium) -> int | None:
    """Revolutions per minute, read or declared; None for what does not rotate or does not say."""
    named = _RPM.get(medium.class_)
    return named and (medium.rpm or named)


def turn_ns(medium: Medium) -> int | None:
    """One turn in ns, the least time between two durable writes of the same block; None without rotation."""
    turns = rpm(medium)
    return None if turns is None else round(60e9 / turns)


def rewrites_per_s(turns_per_minute: int) -> float:
    """Durable rewrites of one block per second, at the most."""
    return turns_per_minute / 60
