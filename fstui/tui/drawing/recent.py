"""The last minutes of devices, as the kernel counted them, drawn as charts."""

from __future__ import annotations

from collections.abc import Collection

from rich.text import Text

from fstui.model.quantities import duration_ns, rate
from fstui.tui.drawing import charts
from fstui.tui.drawing.charts import Figure
from fstui.tui.rates import Rate
from fstui.tui.recent import Recent

_FLUSHES: Figure[Rate] = Figure("flushes/s", lambda rate: rate.flushes, rate, 10)
_FLUSH_MS: Figure[Rate] = Figure("a flush takes", lambda rate: rate.ms_per_flush, lambda ms: duration_ns(ms * 1e6), 0.1)
_WRITES: Figure[Rate] = Figure("writes/s", lambda rate: rate.writes, rate, 10)
_WRITE_MS: Figure[Rate] = Figure("a write takes", lambda rate: rate.ms_per_write, lambda ms: duration_ns(ms * 1e6), 0.1)
_READS: Figure[Rate] = Figure("reads/s", lambda rate: rate.reads, rate, 10)
_BUSY: Figure[Rate] = Figure(
    "busy", lambda rate: None if rate.busy is None else min(rate.busy, 1.0), lambda share: f"{share:.0%}", 1, 0.8
)
_BY_COLUMNS = {
    1: (_FLUSHES, _FLUSH_MS, _WRITES, _BUSY, _WRITE_MS, _READS),
    2: (_FLUSHES, _FLUSH_MS, _WRITES, _WRITE_MS, _READS, _BUSY),
    3: (_FLUSHES, _WRITES, _READS, _FLUSH_MS, _WRITE_MS, _BUSY),
}


class Charts:
    """The charts as they were drawn last: between two cells of time they stay as they are."""

    def __init__(self, recent: Recent) -> None:
        self._recent = recent
        self._drawn_for: object = None
        self._texts: list[Text] = []

    def draw(self, devices: Collection[str], width: int, height: int) -> list[Text]:
        """At most so many lines, or none where there is no room or nothing was read twice."""
        newest_ns = self._recent.newest_ns
        if newest_ns is None or not devices or height < charts.LEAST_LINES:
            return []
        space = charts.room(width)
        cell_ns = space.cell_s * 1_000_000_000
        asked = (frozenset(devices), width, height, newest_ns // cell_ns)
        if asked != self._drawn_for:
            self._drawn_for = asked
            series = self._recent.series(devices, newest_ns // cell_ns * cell_ns, cell_ns // 2, 2 * space.cells)
            self._texts = charts.draw(" + ".join(sorted(devices)), _BY_COLUMNS, series, width, height)
        return self._texts
