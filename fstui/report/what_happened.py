"""The report of ``fstui what-happened``: the answer in sentences, a timeline, and a table of figures."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from html import escape
from math import log
from typing import NamedTuple

from msgspec.structs import astuple

from fstui.model.quantities import counted, duration_ns, percent, seconds, size
from fstui.model.recording import Bucket, WhatHappened, is_outside, span
from fstui.report.latency_map import LogScale, round_bounds, ticks
from fstui.report.sections import Report, Row, Section, number_cell, right_cell
from fstui.report.text import NONE, sparkline

TABLE_HEADER = (
    "TIME",
    "DEVICE",
    "A WRITE TAKES",
    "WRITTEN/S",
    "CPU PSI",
    "I/O PSI",
    "MEM PSI",
    "LONGEST WAIT",
    "WHO WAITED",
)
MAX_ROWS = 10
"""A longer table is not shown on a terminal, because the answer would scroll out of view."""
_LEFT, _WIDTH, _HEIGHT, _AXIS_HEIGHT = 70, 780, 80, 22


class Chart(NamedTuple):
    """A figure over time. ``value`` returns the figure of a bucket, or None if it was not recorded."""

    name: str
    value: Callable[[Bucket], float | None]
    format_value: Callable[[float], str]
    logarithmic: bool = False
    full_scale: float | None = None
    """None: a round number of bytes, from the highest value."""

    def peak(self, values: Iterable[float | None]) -> str:
        """Return the highest value; empty if it rounds to 0."""
        peak = self.format_value(max((value for value in values if value), default=0.0))
        return "" if peak.startswith("0") else peak

    def bounds(self, values: Iterable[float | None]) -> LogScale:
        """Return the ends of the axis. They are round values."""
        nonzero = [value for value in values if value]
        top = self.full_scale or max(nonzero, default=1.0)
        if not self.logarithmic:
            unit = self.full_scale or 1024 ** int(log(max(top, 1), 1024))
            return LogScale(0.0, round_bounds(top / unit)[1] * unit)
        return LogScale(round_bounds(min([*nonzero, top / 10]) / 2)[0], round_bounds(top)[1])

    def heights(self, values: Sequence[float | None]) -> list[float | None]:
        """Return each value as a share of the height of the chart."""
        scale = self.bounds(values)
        return [
            value and (scale.position(value) if self.logarithmic else min(value / scale.high, 1.0)) for value in values
        ]


def _format_ms(value: float) -> str:
    return duration_ns(value * 1e6)


def _written_per_s(bucket: Bucket) -> float:
    return bucket.written_bytes / (bucket.recorded_s or 1.0)


CHARTS = (
    Chart("longest wait", lambda bucket: bucket.longest_ms, _format_ms, logarithmic=True),
    Chart("a write takes", lambda bucket: bucket.latency_ms, _format_ms, logarithmic=True),
    Chart("written/s", _written_per_s, size),
    Chart("dirty memory", lambda bucket: bucket.dirty_bytes, size),
    Chart("CPU pressure", lambda bucket: bucket.cpu, percent, full_scale=1.0),
    Chart("I/O pressure", lambda bucket: bucket.io, percent, full_scale=1.0),
    Chart("memory pressure", lambda bucket: bucket.memory, percent, full_scale=1.0),
)


def what_happened_report(answer: WhatHappened) -> Report:
    """Return the incidents, or a sentence if there are none; then charts and the table."""
    lines = [f"{span(each.start, each.end)}: {each.sentence}" for each in answer.incidents] or [answer.sentence]
    heading = "Incidents, the longest waits first" if len(answer.incidents) > 1 else ""
    rows = tuple(map(_row, answer.buckets))
    too_many = len(rows) > MAX_ROWS
    hint = f"Use --format markdown, html, csv or json to see all {counted(len(rows), 'row')}." if too_many else ""
    charts = ((chart.name, svg(chart, answer.buckets, answer.start, answer.end)) for chart in CHARTS)
    figures = tuple((name, shapes) for name, shapes in charts if shapes)
    values = (Bucket.__struct_fields__, *map(astuple, answer.buckets))
    sections = (
        Section(heading, lines=tuple(lines)),
        Section("Not recorded", lines=tuple(_gap_lines(answer))),
        Section(_timeline_title(answer.buckets), drawn=tuple(timeline(answer.buckets)), figures=figures),
        Section("", TABLE_HEADER, rows, only_in_documents=too_many),
        Section(lines=(hint,) if hint else (), only_on_terminal=True),
    )
    return Report(_title(answer), sections, answer, values)


def _title(answer: WhatHappened) -> str:
    """Name yesterday as such: a time of day that is later than now means yesterday."""
    yesterday = datetime.now().date() - timedelta(days=1)
    day = "yesterday, " if datetime.fromtimestamp(answer.start).date() == yesterday else ""
    zone = datetime.fromtimestamp(answer.start).astimezone().tzname() or ""
    return f"{answer.host}, {day}{span(answer.start, answer.end)} {zone}".rstrip()


def _gap_lines(answer: WhatHappened) -> Iterator[str]:
    if answer.recorded and is_outside((answer.start, answer.end), answer.recorded):
        days = {datetime.fromtimestamp(time).date() for time in (answer.start, answer.recorded[0])}
        yield f"Everything except {span(*answer.recorded, with_date=len(days) > 1)}."
    for gap in answer.gaps:
        yield f"{span(gap.start, gap.end)} ({seconds(gap.end - gap.start)}): {gap.reason}."
    yield from answer.notes


def _timeline_title(buckets: Sequence[Bucket]) -> str:
    """Return ``Timeline (writes: vda, loop5, one device per column)``."""
    devices = list(dict.fromkeys(bucket.device for bucket in buckets if bucket.device))
    note = ", one device per column" if len(devices) > 1 else ""
    return f"Timeline (writes: {', '.join(devices)}{note})" if devices else "Timeline"


def timeline(buckets: Sequence[Bucket]) -> Iterator[str]:
    """Yield a line for each figure, with one block for each row of the table, and the times below."""
    if not buckets:
        return
    for chart in CHARTS:
        values = [chart.value(bucket) for bucket in buckets]
        if peak := chart.peak(values):
            yield f"{chart.name:>15} {sparkline(values, chart.full_scale)} peak {peak}"
    first, last = (f"{datetime.fromtimestamp(time):%H:%M:%S}" for time in (buckets[0].start, buckets[-1].end))
    width = max(len(buckets) - len(first), len(last) + 1)  # the last time ends below the last column
    yield f"{'':>15} {first}{last:>{width}}"


def _row(bucket: Bucket) -> Row:
    who = f"{bucket.program}: {bucket.file}" if bucket.program else NONE
    return (
        f"{datetime.fromtimestamp(bucket.start):%H:%M:%S}",
        bucket.device or NONE,
        number_cell(bucket.latency_ms, _format_ms),
        right_cell(size(_written_per_s(bucket))),
        *(number_cell(share, percent) for share in (bucket.cpu, bucket.io, bucket.memory)),
        number_cell(bucket.longest_ms, _format_ms),
        who,
    )


def svg(chart: Chart, buckets: Sequence[Bucket], start: float, end: float) -> str:
    """Draw a bar for each bucket; return an empty string if there is nothing to draw."""
    values = [chart.value(bucket) for bucket in buckets]
    if not any(values):
        return ""
    highest = chart.bounds(values).high
    width_s = max(end - start, 1e-9)
    shapes = []
    for bucket, share in zip(buckets, chart.heights(values), strict=True):
        if not share:
            continue
        x, end_x = (_LEFT + _WIDTH * (time - start) / width_s for time in (bucket.start, bucket.end))
        bar_height = _HEIGHT * share
        width = max(end_x - x - 0.5, 0.5)
        box = f'x="{x:.1f}" y="{_HEIGHT - bar_height:.1f}" width="{width:.1f}" height="{max(bar_height, 1):.1f}"'
        shapes.append(f'<rect {box} class="cell"/>')
    shapes.append(f'<line x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{_HEIGHT}" y2="{_HEIGHT}" class="grid"/>')
    shapes.append(f'<text x="{_LEFT - 6}" y="10" text-anchor="end">{escape(chart.format_value(highest))}</text>')
    times = (f"{datetime.fromtimestamp(start + width_s * part / 4):%H:%M:%S}" for part in range(5))
    shapes += ticks(times, _LEFT, _WIDTH, _HEIGHT + 16)
    view = f"0 0 {_LEFT + _WIDTH + 10} {_HEIGHT + _AXIS_HEIGHT}"
    return f'<svg viewBox="{view}" role="img" aria-label="{escape(chart.name)} over time">{"".join(shapes)}</svg>'
