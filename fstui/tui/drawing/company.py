"""Who is at work on a filesystem now: the processes that write there, and the databases whose data lies there."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from fstui.model.at_work import AtWork, DatabaseAtWork
from fstui.model.quantities import size
from fstui.model.storage import Target
from fstui.tui.drawing.cells import line, wrapped
from fstui.tui.glyphs import BAD, FAINT

_MOST = 4
"""Writers that are named."""


def lines(target: Target, at_work: AtWork, width: int) -> list[Text]:
    """Nothing where nobody is."""
    found: list[Text] = []
    if words := _writers(target, at_work):
        found += [line((part, FAINT)) for part in wrapped(words, width - 1, indent=" " * 8, first="  who   ")]
    for database in at_work.databases:
        if target.mount_point in database.mounts:
            found += _database(database, width)
    return found


def _writers(target: Target, at_work: AtWork) -> str:
    here = [each for each in at_work.writers if target.mount_point in each.mounts]
    named = [f"{each.name} ({each.pid}) {size(_rounded(each.bytes_per_s))}/s" for each in here[:_MOST]]
    hidden = "other users' processes are not seen without root" if named and at_work.hidden else ""
    return "; ".join(filter(None, [", ".join(named), hidden]))


def _rounded(bytes_per_s: float) -> int:
    """To two digits: what changes every look is sent every look."""
    return round(float(f"{bytes_per_s:.1e}"))


def _database(database: DatabaseAtWork, width: int) -> Iterator[Text]:
    words = f"{database.name} ({database.pid}) keeps its data in {database.data_directory}: "
    words += ", ".join(f"{name} = {value}" for name, value in sorted(database.variables.items())) or (
        "no setting of its durability is changed where it was started"
    )
    for part in wrapped(words, width - 1, indent=" " * 8, first="  data  "):
        yield line(part)
    for reason in database.losing:
        for part in wrapped(f"✗ a commit may be lost: {reason}", width - 1, indent=" " * 10, first=" " * 8):
            yield line((part, BAD))
