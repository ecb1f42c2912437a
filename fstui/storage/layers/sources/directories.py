"""Whether two paths lead to one directory, by what a child saw of both: its inode and its times, which no copy has all
of. To 100 ns: SMB counts no finer (MS-DTYP FILETIME)."""

from __future__ import annotations

import re
from typing import NamedTuple

from fstui.storage.layers.sources import claims
from fstui.storage.layers.sources.claims import Claims, Command

_FORMAT = "--format=%i %.9Y %.9Z %.9W"
_TIME = r"(\d{1,12}\.\d{7})\d\d"
_SEEN = re.compile(rf"(\d{{1,20}}) {_TIME} {_TIME}(?: {_TIME})?")


class Seen(NamedTuple):
    """A directory. Times are seconds, as their digits."""

    inode: int
    modified: str
    changed: str
    born: float
    """When it was made (statx(2)); 0 where its filesystem does not tell."""


def lying_at(path: str) -> Command:
    """Looks at a directory of this box."""
    return ("stat", _FORMAT, "--", path)


def seen_at(path: str) -> Command:
    """Looks at a remote one, by its server's newest word."""
    return ("stat", "--cached=never", _FORMAT, "--", path)


def seen(answers: Claims, asked: Command) -> Seen | None:
    """What was found so; None where nobody looked, or nothing lies there."""
    found = _SEEN.fullmatch((claims.answer(answers, asked) or "").strip())
    return found and Seen(int(found[1]), found[2], found[3], float(found[4] or 0))


def is_shown_by(there: Seen, shown: Seen) -> bool | None:
    """The directory that another filesystem shows as its own, where it may have an inode of that one; None where that
    cannot be told of one that is written to meanwhile."""
    if there.born and shown.born and there.born != shown.born:
        return False
    if (there.modified, there.changed) == (shown.modified, shown.changed):
        return True
    known = bool(there.born and shown.born)  # many may have been made in the same tick of the clock
    return None if known or there.inode == shown.inode else False
