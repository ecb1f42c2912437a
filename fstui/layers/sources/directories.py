"""Whether two paths lead to one directory, by what a child saw of both: its inode and its times, which no copy has all
of. To 100 ns: SMB counts no finer (MS-DTYP FILETIME)."""

from __future__ import annotations

import re
from typing import NamedTuple

from fstui.layers.sources import claims
from fstui.layers.sources.claims import Claims, Command

_SEEN = re.compile(r"(\d{1,20}) (\d{1,12}\.\d{7})\d\d (\d{1,12}\.\d{7})\d\d")


class Seen(NamedTuple):
    """A directory."""

    inode: int
    modified: str
    """In seconds, as its digits."""
    changed: str


def seen_at(path: str) -> Command:
    """Inode, time of modification and time of change of a directory; of a remote one, by its server's newest word."""
    return ("stat", "--cached=never", "--format=%i %.9Y %.9Z", "--", path)


def seen(answers: Claims, path: str) -> Seen | None:
    """What lies at that path; None where nobody looked, or nothing lies there."""
    found = _SEEN.fullmatch((claims.answer(answers, seen_at(path)) or "").strip())
    return found and Seen(int(found[1]), found[2], found[3])
