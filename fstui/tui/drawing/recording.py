"""The recording: charts over time, and what programs and devices did at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby, pairwise
from math import ceil

import msgspec
from msgspec.structs import replace
from rich.text import Text

from fstui.model.quantities import count, counted, duration_ns, percent, rate, size
from fstui.model.recording import Bucket, DeviceSecond, Incident, RecordedWait, Second, WhatHappened, Window, span
from fstui.report.text import NONE
from fstui.report.what_happened import CHARTS, Chart
from fstui.tui.drawing import charts
from fstui.tui.drawing.cells import (
    Column,
    fit_list,
    fit_right,
    headline,
    line,
    rule,
    table,
    title_line,
    used_columns,
    window,
)
from fstui.tui.styles import AREA, FAINT, HEAD, TIME, WARNING, shades

ZOOMS, _MIN_COLUMNS = (10, 30, 60, 300, 600, 1800, 3600), 20
"""Seconds per column. A chart has at least this many columns if they fit and the recording is long enough."""
_LABEL_WIDTH, _VALUE_WIDTH = 27, 11
"""Width of the name and the axis of a chart, and of its value at the chosen moment."""
_MAX_SECONDS_S, _MIN_SECONDS_WIDTH = 300, 20
"""The times below a shorter chart have seconds if they fit, because several of them may be in the same minute."""
_MIN_CHART_ROWS, _MAX_CHART_ROWS = 2, 16
"""With fewer rows, a chart has no room for its highest value."""
_WIDE_SCREEN, _WIDE_TABLE = 76, 96
WAITS = (
    Column("PROGRAM", 24, gap=0, cut="middle"),
    Column("SYNCS", 8, right=True, gap=2),
    Column("P50", 7, right=True, gap=2, from_width=100),
    Column("MAX", 7, right=True, gap=2),
    Column("WAITED", 7, right=True, gap=2, from_width=60),
    Column("CPU WAIT ≤", 10, right=True, gap=2, from_width=110),
    Column("I/O LIMIT", 11, right=True, gap=2, from_width=72),
    Column("FILE", gap=2, cut="left"),
)
DEVICES = (
    Column("DEVICE", 10, gap=0),
    Column("WRITES/S", 8, right=True, gap=2),
    Column("BYTES/S", 9, right=True, gap=2),
    Column("WRITE", 7, right=True, gap=2),
    Column("READ B/S", 9, right=True, gap=2, from_width=72),
    Column("FLUSHES/S", 9, right=True, gap=2, from_width=51),
    Column("FLUSH", 7, right=True, gap=2, from_width=60),
    Column("IN FLIGHT", 9, right=True, gap=2, from_width=83),
)


class RecordingView(msgspec.Struct, frozen=True):
    what_happened: WhatHappened
    time: float
    start: float
    cell_s: int = ZOOMS[0]
    buckets: dict[int, Bucket] = {}
    """The buckets by column of the chart."""
    second: Second | None = None
    window: Window | None = None
    """``second`` and ``window``: the sums of the records of the chosen column."""
    is_read: bool = False
    """Whether both were read. One that is still None is not in the recording."""
    device: str = ""
    """The device of the charts; empty for the slowest one at each time."""

    @property
    def incidents(self) -> list[Incident]:
        """The incidents by time."""
        return sorted(self.what_happened.incidents, key=lambda incident: incident.middle)

    @property
    def incident(self) -> Incident | None:
        """The incident in the chosen column; of several, the one whose middle is nearest to the chosen moment."""
        begin, end = self.column
        found = [incident for incident in self.what_happened.incidents if incident.start < end and incident.end > begin]
        return min(found, key=lambda incident: abs(incident.middle - self.time), default=None)

    @property
    def cell(self) -> int:
        return int((self.time - self.start) // self.cell_s)

    @property
    def column(self) -> tuple[float, float]:
        """The start and the end of the chosen column."""
        start = self.time // self.cell_s * self.cell_s
        return start, start + self.cell_s


def columns(view: RecordingView, width: int) -> tuple[int, int]:
    """Return the number of columns of a chart, and its width in cells. A short recording has wider columns."""
    cells = max(width - _LABEL_WIDTH - _VALUE_WIDTH - 2, 10)
    recorded = ceil(view.what_happened.end / view.cell_s) - int(view.what_happened.start // view.cell_s)
    return max(min(cells, recorded), 1), cells


def zooms(view: RecordingView, width: int) -> list[int]:
    """Return the seconds per column to choose from."""
    widths = ((zoom, columns(replace(view, cell_s=zoom), width)) for zoom in ZOOMS)
    return [zoom for zoom, (number, cells) in widths if number >= min(_MIN_COLUMNS, cells)] or [ZOOMS[0]]


def title(view: RecordingView, width: int) -> Text:
    place = f"{view.what_happened.host} · {counted(len(view.incidents), 'incident')}"
    return title_line("recording", place, f"▲ {span(*view.column, with_date=True)}", width)


def timeline(view: RecordingView, width: int, height: int, figures: Sequence[Chart] = CHARTS) -> list[Text]:
    """Draw the charts of the figures that are not always 0. Below them are the times and the chosen moment.

    The columns of the incident at the chosen moment have the warning colour.
    """
    number, axis_width = columns(view, width)
    edges = [axis_width * cell // number for cell in range(number + 1)]  # where columns begin, and the end of the last
    cursor = min(max(view.cell, 0), number - 1)
    buckets = [view.buckets.get(cell) for cell in range(number)]
    series = [(chart, [None if each is None else chart.value(each) for each in buckets]) for chart in figures]
    shown = [(chart, values) for chart, values in series if chart.peak(values)]
    if (height - 2) // _MIN_CHART_ROWS < len(shown):  # latencies and pressure show the cause
        shown.sort(key=lambda each: not (each[0].logarithmic or each[0].full_scale))
        shown = shown[: max(height // 3, 1)]
    rows = _chart_rows([chart for chart, _ in shown], max(height - 2, 1))
    device = bucket.device if (bucket := buckets[cursor]) else ""
    incident = view.incident
    legend = [("this incident  ", WARNING)] if incident else []
    lines = [rule(width, f"one column is {_duration(view.cell_s)}", legend=[*legend, (f"▲ {device}".rstrip(), FAINT)])]
    begins = [view.start + cell * view.cell_s for cell in range(number)]
    unusual = [incident is not None and incident.start < at + view.cell_s and incident.end > at for at in begins]
    for (chart, values), chart_rows in zip(shown, rows, strict=True):
        lines += _chart(chart, values, cursor, chart_rows, unusual=unusual, edges=edges)
    has_seconds = number * view.cell_s < _MAX_SECONDS_S and axis_width >= _MIN_SECONDS_WIDTH
    pattern = "%H:%M:%S" if has_seconds else "%H:%M"
    start, time, end = (
        f"{datetime.fromtimestamp(when):{pattern}}"
        for when in (view.start, view.column[0], view.start + number * view.cell_s)
    )
    place = edges[cursor]
    label = f"▲ {time}"
    if place + len(label) > axis_width:
        place, label = max(place - len(time) - 1, 0), f"{time} ▲"
    left, right = f"{start if len(start) < place else '':<{place}}", max(axis_width - place - len(label), 0)
    end = end if len(end) < right else ""
    lines.append(line(" " * _LABEL_WIDTH, (left, FAINT), (label, HEAD), (f"{end:>{right}}", FAINT)))
    return lines


def _chart_rows(shown: Sequence[Chart], height: int) -> list[int]:
    """Distribute the height over charts. A share of the time needs half as many rows as an amount or a latency."""
    small = max(height // max(len(shown), 1) // 2, _MIN_CHART_ROWS)
    large = [chart for chart in shown if not chart.full_scale]
    rows, extra = divmod(height - small * (len(shown) - len(large)), max(len(large), 1))
    return [
        min(small if chart.full_scale else rows + (index < extra), _MAX_CHART_ROWS) for index, chart in enumerate(shown)
    ]


def _chart(
    chart: Chart,
    values: Sequence[float | None],
    cursor: int,
    rows: int,
    *,
    unusual: Sequence[bool],
    edges: Sequence[int],
) -> list[Text]:
    """Draw a chart. Its name and its axis are on the left, its value at the chosen moment is on the right."""
    scale = chart.bounds(values)
    figure = NONE if (value := values[cursor]) is None else chart.format_value(value)
    shades_of_rows = shades(TIME if chart.logarithmic else AREA)
    # the uppermost dot stays blank, so that full charts do not touch
    dots = [0 if share is None else max(round(share * (4 * rows - 1)), 1) for share in chart.heights(values)]
    names = {rows - 1: chart.name, rows - 2: "log scale" if chart.logarithmic else ""}
    ticks = {0: charts.without_zeros(chart.format_value(scale.low)) if scale.low else "0"}
    ticks[rows - 1] = charts.without_zeros(chart.format_value(scale.high))
    lines = []
    for row in reversed(range(rows)):
        style = shades_of_rows[rows < 3 or row * 4 >= rows]
        signs = [
            (charts.braille_cell(filled, filled, row) * (end - begin), WARNING if is_unusual else style)
            for filled, is_unusual, (begin, end) in zip(dots, unusual, pairwise(edges), strict=True)
        ]
        signs[cursor] = (f"│{signs[cursor][0][1:]}", HEAD) if signs[cursor][0].isspace() else signs[cursor]
        name, tick = f"   {names.get(row, '')}", ticks.get(row, "")
        lines.append(
            line(
                (f"{name}{tick:>{_LABEL_WIDTH - 2 - len(name)}} {'┤' if tick else '│'}", FAINT),
                *(("".join(sign for sign, _ in span), style) for style, span in groupby(signs, lambda sign: sign[1])),
                (fit_right(figure if row == rows - 1 else "", _VALUE_WIDTH), HEAD),
            )
        )
    return lines


def waits(view: RecordingView, width: int) -> list[Text]:
    """Draw the programs that waited in the chosen column, and those that read and wrote the most.

    The program of the incident comes first.
    """
    window, incident = view.window, view.incident
    if window is None:
        state = "the programs of this moment were not recorded" if view.is_read else "reading …"
        return [rule(width, "programs that waited"), line((f"   {state}", FAINT))]
    remarks = []
    if window.traced_s is None:
        rows = [line(("   not traced: only root may trace the kernel", FAINT))]
    else:
        affected = (incident.program, incident.file) if incident else None
        ordered = sorted(window.waits, key=lambda wait: (wait.program, wait.file) != affected)
        cells = list(map(_wait_cells, ordered))
        rows = table(used_columns(WAITS, cells, {}), cells, width)
        rows = rows if window.waits else [line(("   no program waited for a sync", FAINT))]
        if any(wait.partly_traced for wait in window.waits):
            remarks.append("≥ traced in part")
        if any(_waited_ms(wait) > 1000 * window.elapsed_s for wait in window.waits):
            remarks.append("WAITED adds up threads")
    return [rule(width, "programs that waited", " · ".join(remarks)), *rows, *_busiest_processes(window, view.second)]


def _waited_ms(wait: RecordedWait) -> int:
    return wait.waited_ms + wait.in_flight_ms


def _wait_cells(wait: RecordedWait) -> tuple[str, ...]:
    return (
        wait.program_label,
        f"≥ {count(wait.syncs)}" if wait.partly_traced else count(wait.syncs),
        duration_ns(wait.p50_us * 1000) if wait.p50_us else NONE,
        _whole_ms(wait.longest_so_far_ms, wait.syncs),
        _whole_ms(_waited_ms(wait), wait.syncs),
        (duration_ns(wait.cpu_ms * 1e6) if wait.cpu_ms else "0 s") if wait.counts_cpu else NONE,
        wait.write_limit,
        wait.file_label,
    )


def _whole_ms(ms: int, syncs: int) -> str:
    """Return a time that was recorded in whole milliseconds."""
    return duration_ns(ms * 1e6) if ms else "< 1 ms" if syncs else NONE


def _busiest_processes(window: Window, second: Second | None) -> list[Text]:
    counted_kib = {device.device: device.written_kib for device in second.devices} if second else {}
    limited = {wait.cgroup for wait in window.waits if wait.write_limit}
    lines = []
    for process in window.processes or ():
        names = [name for name in process.devices if counted_kib.get(name)]
        # the kernel counts whole folios for a process, which may be far more than what it writes
        written = min([process.written, *([sum(counted_kib[name] for name in names) * 1024] if names else [])])
        place = f" to {' + '.join(names)}" if names else ""
        # the limit of a cgroup, which the table shows, is less than what its processes write into memory
        amount = "" if process.cgroup in limited else f" ≤ {size(written / window.elapsed_s)}/s"
        moved = [f"wrote{amount}{place}"] if written else []
        moved += [f"read {size(process.read / window.elapsed_s)}/s"] if process.read else []
        if moved:
            lines.append(line((f"   {process.program} (pid {process.pid}) {', '.join(moved)}", FAINT)))
    return lines


def devices(view: RecordingView, width: int) -> list[Text]:
    """Draw what each device did in the chosen column, and how long processes waited."""
    second = view.second
    title = "devices" if width < _WIDE_TABLE else "devices, all programs"
    if second is None:
        return [rule(width, title, "not recorded" if view.is_read else "reading …")]
    # the device of the charts first, then the busiest ones
    ordered = sorted(second.devices, key=lambda device: (device.device != view.device, -device.writes - device.reads))
    bucket = view.buckets.get(view.cell, Bucket(start=0.0, end=0.0))
    rows = [
        # the chart's figure is longer if the device completed nothing for a while
        _device_cells(device, second.elapsed_s, bucket.latency_ms if device.device == bucket.device else None)
        for device in ordered
    ]
    if view.device and all(device.device != view.device for device in ordered):  # it did nothing in this column
        rows.insert(0, (view.device, *[NONE] * (len(DEVICES) - 1)))
    names = ("CPU", "I/O", "", "memory", "")
    shares = [
        f"{name} {percent(ms / 1000 / second.elapsed_s)}"
        for name, ms in zip(names, second.pressure_ms, strict=True)
        if name and ms is not None
    ]
    pressure = f"pressure: {', '.join(shares) or 'not counted'} · dirty {size(sum(second.memory_kib) * 1024)}"
    drawn = table(used_columns(DEVICES, rows, {}), rows, width) if rows else [line(("   idle", FAINT))]
    if width < _WIDE_SCREEN:
        return [rule(width, title), *drawn, line((f"   {pressure}", FAINT))]
    return [rule(width, title, pressure), *drawn]


def _device_cells(device: DeviceSecond, elapsed_s: float, chart_ms: float | None) -> tuple[str, ...]:
    write_ms = device.ms_per_write if chart_ms is None else chart_ms
    return (
        device.device,
        rate(device.writes / elapsed_s),
        size(device.written_kib * 1024 / elapsed_s),
        duration_ns(write_ms * 1e6) if write_ms else NONE,
        size(device.read_kib * 1024 / elapsed_s),
        rate(device.flushes / elapsed_s),
        duration_ns(device.flush_ms / device.flushes * 1e6) if device.flushes and device.flush_ms else NONE,
        count(device.in_flight),
    )


def sentence(view: RecordingView, width: int) -> list[Text]:
    """Draw the incident at the chosen moment as far as no table shows it, or why there are no records.

    A narrow screen shows only its cause.
    """
    if current := view.incident:
        cause = _cause(current)
        cause = _without_details(cause) if width < _WIDE_TABLE else cause
        return headline(f"{_times(current)}: {_who(current)}{cause}", width, ", while ")
    return headline(sentence_text(view), width, "; ")


def sentence_text(view: RecordingView) -> str:
    """Return the whole sentence of the incident at the chosen moment, or why there are no records."""
    current = view.incident
    gaps = [gap for gap in view.what_happened.gaps if gap.start <= view.time < gap.end]
    number = len(view.what_happened.incidents)
    if current:
        return f"{_times(current)}: {current.sentence}"
    if gaps:
        return f"{span(gaps[0].start, gaps[0].end)}: {gaps[0].reason}."
    text = f"Nothing unusual at this moment. The recording has {counted(number, 'incident')}"
    return text + (" (press n or p)." if number else ".")


def _times(incident: Incident) -> str:
    times = (f"{datetime.fromtimestamp(when):%H:%M:%S}" for when in (incident.start, incident.end))
    return "–".join(dict.fromkeys(times))


def _cause(incident: Incident) -> str:
    """Return the part of the sentence that follows who waited."""
    return incident.sentence.partition("; ")[2]


def _without_details(cause: str) -> str:
    return cause.partition(", while ")[0].partition(". Not ")[0]


def _who(incident: Incident) -> str:
    """Return the program and its longest wait."""
    who = f"{incident.program} (pid {incident.pid})" if incident.pid else incident.program
    return f"{who} waited up to {duration_ns(incident.longest_s * 1e9)}; " if who else ""


def incidents(view: RecordingView, width: int, height: int) -> list[Text]:
    """Draw a row for each of several incidents: the program, its longest wait and the cause. The chosen one is bold."""
    listed = view.incidents

    def draw(index: int) -> Text:
        incident = listed[index]
        cause = _without_details(_cause(incident).rpartition(". So ")[2])
        who = f"{incident.program}, {duration_ns(incident.longest_s * 1e9)}: " if incident.program else ""
        text = fit_list(f"   {span(incident.start, incident.end)}: {who}{cause}", width - 1, " (")
        return line((text, HEAD if incident == view.incident else ""))

    selected = next((index for index, incident in enumerate(listed) if incident.end > view.time), len(listed) - 1)
    title = rule(width, f"{counted(len(listed), 'incident')}, by time", "n, p")
    return [title, *window(len(listed), draw, selected, height - 1)] if len(listed) > 1 else []


def _duration(seconds: int) -> str:
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min" if seconds < 3600 else f"{seconds // 3600} h"


def buckets_by_cell(buckets: Sequence[Bucket], start: float, cell_s: int) -> dict[int, Bucket]:
    return {round((bucket.start - start) / cell_s): bucket for bucket in buckets}
