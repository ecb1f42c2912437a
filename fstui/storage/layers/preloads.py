"""Libraries whose one purpose is to leave syncs out: libeatmydata, nosync and their kin."""

from __future__ import annotations

import re

PATTERN = r"eatmydata|no-?f?sync|fsync-?(off|disable|stub)|fake-?f?sync|disable-?f?sync"
"""Searched in a library's file name, whatever the case. A probe is handed it: it can import nothing of this."""
_STUBS = re.compile(PATTERN, re.IGNORECASE)


def stubs_syncs(path: str) -> bool:
    """The library of that path is one of them. Its directory says nothing."""
    return _STUBS.search(path.rpartition("/")[2]) is not None
