"""What stands beneath the list of filesystems: the selected one, its last minutes, and what was measured there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from rich.text import Text

from fstui.model.activity import HostActivity
from fstui.model.counters import Counters
from fstui.model.quantities import duration_ns, rate
from fstui.model.storage import Target
from fstui.report import trend
from fstui.report.text import moment
from fstui.runs.history import Summary
from fstui.tui.drawing import charts, storage
from fstui.tui.drawing.cells import fit, line
from fstui.tui.drawing.charts import MIN_AREA_LINES, Figure
from fstui.tui.drawing.storage import Entry
from fstui.tui.rates import Rate, Recent
from fstui.tui.styles import FAINT, verdict_style


class Beneath:
    """Kept from look to look; the first frame comes without."""

    def __init__(self, hostname: str) -> None:
        self._recent = Recent()
        self._charts = Charts(self._recent)
        self.runs: Sequence[Summary] = ()
        """The saved ones."""
        self._hostname = hostname

    def add(self, now: Counters) -> None:
        self._recent.add(now)

    def draw(
        self, entry: Entry | None, rates: Mapping[str, Rate], at_work: HostActivity, size: tuple[int, int]
    ) -> list[Text]:
        """The numbers stand on the edges of the stack, and the last minutes below it, where there is room."""
        width, height = size
        target = entry.target if entry else None
        runs = earlier_lines(of_target(self.runs, target, self._hostname), width) if target else []
        compact = storage.detail(entry, rates, at_work, width, before=runs)
        if entry is None:
            return compact
        whole = storage.detail(entry, rates, at_work, width, before=runs, edges=True)
        lines = whole if height - len(whole) >= MIN_AREA_LINES + 1 else compact
        devices = {node.id for node in entry.devices if node.id in rates}
        return [*lines, *self._charts.draw(devices, width, height - len(lines))]


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
        if newest_ns is None or not devices or height < charts.MIN_AREA_LINES:
            return []
        space = charts.layout(width)
        cell_ns = space.cell_s * 1_000_000_000
        asked = (frozenset(devices), width, height, newest_ns // cell_ns)
        if asked != self._drawn_for:
            self._drawn_for = asked
            series = self._recent.series(devices, newest_ns // cell_ns * cell_ns, cell_ns // 2, 2 * space.cells)
            self._texts = charts.areas(" + ".join(sorted(devices)), _BY_COLUMNS, series, width, height)
        return self._texts


_MOST, _MOST_BARS = 3, 12


def of_target(summaries: Sequence[Summary], target: Target, hostname: str) -> list[Summary]:
    """Those of this storage on this box."""
    wanted = (target.identity, hostname)
    return [one for one in summaries if one.identity and (one.identity, one.hostname) == wanted]


def earlier_lines(summaries: Sequence[Summary], width: int, most: int = _MOST) -> list[Text]:
    """One for each scenario, the newest first; nothing where nothing was run."""
    drawn: list[Text] = []
    for runs in trend.series(summaries)[:most]:
        last, recent = runs[-1], runs[-_MOST_BARS:]
        glyph, style = verdict_style(last.verdict)
        words = (
            f" {last.verdict}   {last.scenario}: {last.rate_of} {rate(last.rate_per_s)}/s   {moment(last.started_at)}"
        )
        if len(runs) > 1:
            words += f"   {trend.bars(recent)} {last.rate_per_s / runs[0].rate_per_s:.2f} × the first of {len(runs)}"
        head = "" if drawn else "runs"
        drawn.append(line((f"  {head:<6}", FAINT), (glyph, style), fit(words, width - 9).rstrip()))
    return drawn
