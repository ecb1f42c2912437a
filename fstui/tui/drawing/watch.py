"""The watch: the programs that wait, charts of the last minutes, the devices, and the conclusion."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace
from rich.text import Text

from fstui.model.quantities import clock, size
from fstui.model.storage import Target
from fstui.model.watch import Watched
from fstui.report import watch
from fstui.report.text import origin
from fstui.tui.drawing import charts, io_path
from fstui.tui.drawing.cells import Column, heading, line, row, rule, shown, title_line, wrapped
from fstui.tui.iostats import IoStats, Recent, joined
from fstui.tui.styles import FAINT, HEAD

WAITS = (
    Column("PROGRAM", 18, gap=0),
    Column("SYNCS/S", 7, right=True),
    Column("P50", 7, right=True),
    Column("P99", 7, right=True, from_width=76),
    Column("MAX", 7, right=True, from_width=96),
    Column("DEVICE MEAN", 11, right=True, from_width=66),
    Column("CPU WAIT ≤", 10, right=True, from_width=100),
    Column("WAITING", 7, right=True, from_width=60),
    Column("FILE", gap=2, cut="middle"),
)
_WIDE, _LONG_NAME = 100, 28
"""A wide terminal has more cells for the names of programs."""
DEVICES = (
    Column("DEVICE", gap=0),
    Column("WRITES/S", 8, right=True),
    Column("BYTES/S", 9, right=True, from_width=60),
    Column("WRITE P50", 9, right=True, from_width=66),
    Column("FLUSHES/S", 9, right=True),
    Column("FLUSH P50", 9, right=True),
    Column("FLUSH P99", 9, right=True, from_width=70),
    Column("FUA", 6, right=True, from_width=76),
)
WRITERS = (Column("PROGRAM", gap=0), Column("WRITTEN/S", 10, right=True))


class WatchView(msgspec.Struct, frozen=True):
    """The content of the screen. ``second``: the last one. ``untraced``: why the kernel's trace is missing."""

    target: Target
    untraced: str | None = None
    second: Watched = Watched()
    sentence: str = ""
    elapsed_s: float = 0.0
    begun: bool = False


def title(view: WatchView, simulated: str | None, width: int) -> Text:
    mark = origin(simulated).partition(" ")[0]
    return title_line("watch", io_path.path(view.target), clock(view.elapsed_s), width, mark)


def waits(view: WatchView, width: int) -> list[Text]:
    """Draw the programs that waited, longest first. Without the kernel's trace, draw those that wrote most."""
    if view.untraced:
        why = wrapped(f"not traced by the kernel: {view.untraced}", width - 2, indent=" ")
        return [*(line((part, FAINT)) for part in why), *_writers(view.second, width)]
    named = WAITS[0] if width < _WIDE else replace(WAITS[0], width=_LONG_NAME)
    columns = shown((named, *WAITS[1:]), width - 2)
    per_s = max(view.second.elapsed_s, 1e-9)
    rows = [watch.waiting_cells(each, per_s) for each in view.second.waits]
    quiet = "  no program waits for a sync" if view.begun else "  setting up the kernel's trace"
    return _table(columns, watch.WAITS, rows) if rows else [heading(columns), line((quiet, FAINT))]


def minutes(recent: Recent[IoStats], width: int, height: int) -> Sequence[Text]:
    room = charts.layout(width)
    series = tuple(joined(samples) if samples else None for samples in recent.series(room.cell_s, 2 * room.cells))
    return charts.areas("all programs", charts.OF_SYNCS, series, width, height)


def devices(view: WatchView, width: int) -> list[Text]:
    per_s = max(view.second.elapsed_s, 1e-9)
    columns = shown(DEVICES, width - 2)
    journals = [line(f"  {watch.journal(each, per_s)}") for each in view.second.commits]
    rows = [watch.device_cells(each, per_s) for each in view.second.devices]
    table = _table(columns, [column.title for column in DEVICES], rows)
    return [rule(width, "devices", "nothing written to them"), *table, *journals]


def sentence(view: WatchView, width: int) -> list[Text]:
    return [rule(width), *(line((part, HEAD)) for part in wrapped(view.sentence, width - 1, indent=" "))]


def _writers(second: Watched, width: int) -> list[Text]:
    columns = shown(WRITERS, width - 2)
    per_s = max(second.elapsed_s, 1e-9)
    rows = [(f"{each.name} ({each.pid})", size(each.written_bytes / per_s)) for each in second.writers]
    return _table(columns, [column.title for column in WRITERS], rows)


def _table(columns: Sequence[Column], titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[Text]:
    lines = [line("  " + row(columns, dict(zip(titles, cells, strict=True)))) for cells in rows]
    return [heading(columns), *lines]
