"""In what state device-mapper devices are, as ``dmsetup status`` prints it to root: a pool that is full, a snapshot
that overflowed, a cache that failed or holds nothing.

Formats: the kernel's admin-guide/device-mapper (thin-provisioning, snapshot, cache, writecache). Without ``--noflush``
a pool would commit its metadata before it answers (dm-thin.c: pool_status).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fstui.model.storage import Reading
from fstui.storage.layers.sources import claims
from fstui.storage.layers.sources.claims import Claims, Command

COMMAND: Command = ("dmsetup", "status", "--noflush")
PATH = claims.line(COMMAND)
_LINE = re.compile(r"(.+?): \d+ \d+ (\S+)(?: (.*))?")
_TROUBLE: Mapping[str, frozenset[str]] = {
    "thin-pool": frozenset({"out_of_data_space", "ro", "needs_check", "Fail", "Error"}),
    "thin": frozenset({"Fail", "Error"}),
    "cache": frozenset({"ro", "needs_check", "Fail", "Error"}),
    "snapshot": frozenset({"Invalid", "Overflow", "Unknown"}),
    "snapshot-merge": frozenset({"Invalid", "Overflow", "Unknown", "Merge failed"}),
}
"""Words that say what is wrong, by target."""


class Status(NamedTuple):
    """What one device says."""

    trouble: tuple[Reading, ...] = ()
    readings: tuple[Reading, ...] = ()


def read(found: Claims) -> Mapping[str, Status]:
    """By name; empty where none was told."""
    lines = map(_LINE.fullmatch, (claims.answer(found, COMMAND) or "").split("\n"))
    segments: dict[str, list[Status]] = {}
    for line in filter(None, lines):
        segments.setdefault(line[1], []).append(_status(line[2], line[3] or ""))
    return {name: _together(each) for name, each in segments.items()}


def _together(segments: Sequence[Status]) -> Status:
    """Of a device of several segments: whatever is wrong, and what is true of each."""
    first = segments[0]
    return Status(
        trouble=tuple(dict.fromkeys(trouble for each in segments for trouble in each.trouble)),
        readings=first.readings if all(each.readings == first.readings for each in segments) else (),
    )


def _status(target: str, told: str) -> Status:
    words = told.split(" ")
    wrong = [word for word in dict.fromkeys((told, *words)) if word in _TROUBLE.get(target, ())]
    # writecache: <error> <blocks> <free blocks> …
    written = words if target == "writecache" and len(words) > 2 else None
    if written is not None and written[0] != "0":
        wrong.append(f"error {written[0]}")
    empty = written is not None and written[1] == written[2] and not wrong
    return Status(
        trouble=tuple(Reading(what="status", value=word, path=PATH) for word in wrong),
        readings=(Reading(what="cached_blocks", value="0", path=PATH),) if empty else (),
    )
