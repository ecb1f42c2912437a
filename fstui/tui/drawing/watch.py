"""The watch: who waits in this second, the last minutes as charts, what the devices did, and what it comes to."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace
from rich.text import Text

from fstui.model.quantities import clock, duration_ns, rate, size
from fstui.model.storage import Target
from fstui.model.watch import Watched
from fstui.report import watch
from fstui.tui.drawing import charts, io_path
from fstui.tui.drawing.cells import Column, ends, heading, line, row, rule, shown, wrapped
from fstui.tui.drawing.charts import Figure
from fstui.tui.styles import FAINT, HEAD
from fstui.tui.waited import LastMinutes, Waited

WAITS = (
    Column("PROGRAM", 18, gap=0),
    Column("SYNCS/S", 7, right=True),
    Column("P50", 7, right=True),
    Column("P99", 7, right=True, from_width=76),
    Column("MAX", 7, right=True, from_width=96),
    Column("DEVICE", 7, right=True, from_width=66),
    Column("CPU ≤", 6, right=True, from_width=96),
    Column("WAITS", 6, right=True, from_width=60),
    Column("FILE", gap=2, cut="middle"),
)
_WIDE, _LONG_NAME = 110, 36
"""From so many cells on programs' names have so many."""
DEVICES = (
    Column("DEVICE", gap=0),
    Column("WRITES/S", 8, right=True),
    Column("BYTES/S", 9, right=True, from_width=60),
    Column("P50 W", 8, right=True, from_width=66),
    Column("FLUSHES/S", 9, right=True),
    Column("P50 FL", 8, right=True, gap=2),
    Column("P99 FL", 8, right=True, from_width=70),
    Column("FUA", 6, right=True, from_width=76),
)
_DEVICE_CELLS = ("DEVICE", "WRITES/S", "BYTES/S", "P50 W", "FLUSHES/S", "P50 FL", "P99 FL", "FUA")
WRITERS = (Column("PROGRAM", gap=0), Column("WRITTEN/S", 10, right=True))
_SYNC_NS: Figure[Waited] = Figure("a sync takes", lambda one: one.sync_ns, duration_ns, 1e5)
_LONGEST_NS: Figure[Waited] = Figure("the longest sync", lambda one: one.longest_sync_ns, duration_ns, 1e5)
_SYNCS: Figure[Waited] = Figure("syncs/s", lambda one: one.syncs_per_s, rate, 10)
_FLUSH_MS: Figure[Waited] = Figure("a flush takes", lambda one: one.ms_per_flush, lambda ms: duration_ns(ms * 1e6), 0.1)
_FLUSHES: Figure[Waited] = Figure("flushes/s", lambda one: one.flushes_per_s, rate, 10)
_WRITES: Figure[Waited] = Figure("writes/s", lambda one: one.writes_per_s, rate, 10)
_BY_COLUMNS = {
    1: (_SYNC_NS, _FLUSH_MS, _SYNCS, _LONGEST_NS, _FLUSHES, _WRITES),
    2: (_SYNC_NS, _FLUSH_MS, _LONGEST_NS, _SYNCS, _FLUSHES, _WRITES),
    3: (_SYNC_NS, _LONGEST_NS, _FLUSH_MS, _SYNCS, _FLUSHES, _WRITES),
}


class View(msgspec.Struct, frozen=True):
    target: Target
    untraced: str | None = None
    second: Watched = Watched()
    """The latest."""
    sentence: str = ""
    elapsed_s: float = 0.0
    begun: bool = False


def title(view: View, simulated: str | None, width: int) -> Text:
    where = f"   {io_path.path(view.target)}"
    mark = "  SIMULATED" if simulated else ""
    return ends([" ", ("fstui", HEAD), (mark, HEAD), "  ", ("watch", HEAD), where], clock(view.elapsed_s), width)


def waits(view: View, width: int) -> list[Text]:
    """Who waited, the longest first; where only /proc can be read, who wrote most."""
    if view.untraced:
        why = wrapped(f"not traced by the kernel: {view.untraced}", width - 2, indent=" ")
        return [*(line((part, FAINT)) for part in why), *_writers(view.second, width)]
    named = WAITS[0] if width < _WIDE else replace(WAITS[0], width=_LONG_NAME)
    columns = shown((named, *WAITS[1:]), width - 2)
    per_s = max(view.second.elapsed_s, 1e-9)
    rows = [watch.waiting_cells(each, per_s) for each in view.second.waits]
    quiet = "  nobody waits for it" if view.begun else "  the kernel's trace is being set up"
    return _table(columns, watch.WAITS, rows) if rows else [heading(columns), line((quiet, FAINT))]


def minutes(last: LastMinutes, width: int, height: int) -> list[Text]:
    """How it came to this; nothing where there is no room."""
    space = charts.layout(width)
    series = last.series(space.cell_s, 2 * space.cells)
    return charts.areas("all together", _BY_COLUMNS, series, width, height)


def devices(view: View, width: int) -> list[Text]:
    """What each did, with its own times, and the journals' commits."""
    per_s = max(view.second.elapsed_s, 1e-9)
    columns = shown(DEVICES, width - 2)
    journals = [line(f"  {watch.journal(each, per_s)}") for each in view.second.commits]
    rows = [watch.device_cells(each, per_s) for each in view.second.devices]
    table = _table(columns, _DEVICE_CELLS, rows)
    return [rule(width, "devices", "nothing written"), *table, *journals]


def sentence(view: View, width: int) -> list[Text]:
    return [rule(width), *(line((part, HEAD)) for part in wrapped(view.sentence, width - 1, indent=" "))]


def _writers(second: Watched, width: int) -> list[Text]:
    columns = shown(WRITERS, width - 2)
    per_s = max(second.elapsed_s, 1e-9)
    rows = [(f"{each.name} ({each.pid})", size(each.written_bytes / per_s)) for each in second.writers]
    return _table(columns, ("PROGRAM", "WRITTEN/S"), rows)


def _table(columns: Sequence[Column], titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[Text]:
    lines = [line("  " + row(columns, dict(zip(titles, cells, strict=True)))) for cells in rows]
    return [heading(columns), *lines]
