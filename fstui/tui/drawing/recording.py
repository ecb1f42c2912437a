"""The recording: charts over time, and what programs and devices did at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace
from rich.text import Text

from fstui.model.quantities import count, counted, duration_ns, percent, rate, size
from fstui.model.recording import Bucket, DeviceSecond, Incident, RecordedWait, Second, WhatHappened, Window, span
from fstui.report.text import NONE
from fstui.report.what_happened import CHARTS, Chart, incident_line
from fstui.tui.drawing import charts
from fstui.tui.drawing.cells import Column, fit_right, headline, line, paragraph, rule, table, title_line
from fstui.tui.styles import AREA, FAINT, HEAD, TIME, shades

ZOOMS = (10, 60, 600, 3600)
"""Seconds per cell."""
_LABEL_WIDTH, _PEAK_WIDTH = 17, 17
_MAX_CHART_ROWS = 16
_WIDE_SCREEN, _LONG_NAME_WIDTH = 86, 24
WAITS = (
    Column("PROGRAM", 18, gap=0),
    Column("SYNCS", 6, right=True, gap=2),
    Column("P50", 7, right=True, gap=2),
    Column("MAX", 7, right=True, gap=2),
    Column("WAITED", 7, right=True, gap=2, from_width=60),
    Column("CPU WAIT ≤", 10, right=True, gap=2, from_width=100),
    Column("CGROUP", 20, gap=2, cut="left", from_width=110),
    Column("FILE", gap=2, cut="middle"),
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
    answer: WhatHappened
    time: float
    start: float
    cell_s: int = ZOOMS[0]
    buckets: dict[int, Bucket] = {}
    """By the number of the cell."""
    second: Second | None = None
    window: Window | None = None

    @property
    def cell(self) -> int:
        return int((self.time - self.start) // self.cell_s)


def cells(width: int) -> int:
    return max(width - _LABEL_WIDTH - _PEAK_WIDTH - 2, 10)


def title(view: RecordingView, width: int) -> Text:
    moment = f"{datetime.fromtimestamp(view.time):%Y-%m-%d %H:%M:%S}"
    return title_line("recording", view.answer.host, moment, width)


def timeline(view: RecordingView, width: int, height: int) -> list[Text]:
    """Draw the charts, and below them the times and the chosen moment.

    A chart that does not change takes one line, or none if there is little room.
    """
    number, room = cells(width), max(height - 2, 1)
    cursor = min(max(view.cell, 0), number - 1)
    buckets = [view.buckets.get(cell) for cell in range(number)]
    series = [(chart, [None if each is None else chart.value(each) for each in buckets]) for chart in CHARTS]
    changing = [chart for chart, values in series if len({value for value in values if value is not None}) > 1]
    if changing and room < len(changing) + len(CHARTS):
        series = [(chart, values) for chart, values in series if chart in changing]
    rows, extra = divmod(max(room - len(series), 0), max(len(changing), 1))
    lines = [rule(width, f"one column is {_duration(view.cell_s)}")]
    for chart, values in series[:room]:
        wanted = 1 + rows + (changing.index(chart) < extra) if chart in changing else 0
        lines += _chart(chart, values, cursor, min(wanted, _MAX_CHART_ROWS))
    start, time, end = (
        f"{datetime.fromtimestamp(when):%H:%M}" for when in (view.start, view.time, view.start + number * view.cell_s)
    )
    axis = f"{start}{end:>{number - len(start)}}"
    right = axis[cursor + 1 :]
    marked = f" {time}" if not right[: len(time) + 2].strip() else ""
    lines.append(line(" " * _LABEL_WIDTH, (axis[:cursor], FAINT), (f"▲{marked}", HEAD), (right[len(marked) :], FAINT)))
    return lines


def _chart(chart: Chart, values: Sequence[float | None], cursor: int, rows: int) -> list[Text]:
    """Draw a chart with its name, its value at the chosen moment, and its highest value.

    Without rows, draw a thin line, because the value never changes.
    """
    known = [value for value in values if value is not None]
    highest = chart.words(max(known)) if known else NONE
    figure = NONE if (value := values[cursor]) is None else chart.words(value)
    peak = f"peak {highest}" if figure != highest or rows == 1 else ""
    shares, styles = chart.heights(values), shades(TIME if chart.logarithmic else AREA)
    if not rows:
        rows, peak, styles = 1, highest, (FAINT, FAINT, FAINT)
        shares = [None if value is None else 0.0 for value in values]
    # the uppermost eighth stays blank, so that full charts do not touch
    eighths = [None if share is None else max(round(share * (8 * rows - 1)), 1) for share in shares]
    labels = {rows - 2: (figure, HEAD), rows - 1: (chart.name, FAINT)}
    lines = []
    for row in reversed(range(rows)):
        label, style_of_label = labels.get(row, ("", ""))
        blocks = "".join(" " if full is None else charts.block(full, row) for full in eighths)
        style = styles[rows < 3 or row * 4 >= rows]
        lines.append(
            line(
                (f"{label:>{_LABEL_WIDTH - 1}} ", style_of_label),
                (blocks[:cursor], style),
                (blocks[cursor].replace(" ", "│"), HEAD),
                (blocks[cursor + 1 :], style),
                (fit_right(peak if row == rows - 1 else "", _PEAK_WIDTH), FAINT),
            )
        )
    return lines


def waits(view: RecordingView, width: int) -> list[Text]:
    """Draw the programs that waited in the window of the moment, and those that read and wrote the most."""
    window = view.window
    if window is None:
        return [rule(width, "programs that waited"), line(("   the programs of this moment were not recorded", FAINT))]
    remark = f"{window.elapsed_s:.0f} s until {datetime.fromtimestamp(window.at):%H:%M:%S}"
    top = rule(width, "programs that waited", remark)
    if window.traced_s is None:
        rows = [line(("   not traced: only root may trace the kernel", FAINT))]
    else:
        program = WAITS[0] if width < _WIDE_SCREEN else replace(WAITS[0], width=_LONG_NAME_WIDTH)
        rows = table((program, *WAITS[1:]), map(_wait, window.waits), width)
        rows = rows if window.waits else [line(("   no program waited for a sync", FAINT))]
    return [top, *rows, *_busiest_processes(window)]


def _wait(wait: RecordedWait) -> tuple[str, ...]:
    return (
        wait.who,
        count(wait.syncs),
        duration_ns(wait.p50_us * 1000) if wait.p50_us else NONE,
        duration_ns(wait.longest_so_far_ms * 1e6),
        duration_ns(wait.waited_ms * 1e6),
        duration_ns(wait.cpu_ms * 1e6),
        wait.cgroup,
        wait.where,
    )


def _busiest_processes(window: Window) -> list[Text]:
    lines = []
    for process in window.processes or ():
        moved = [
            f"{verb} {size(amount / window.elapsed_s)}/s"
            for verb, amount in (("wrote", process.written), ("read", process.read))
            if amount
        ]
        lines.append(line((f"   {process.program} (pid {process.pid}) {', '.join(moved)}", FAINT)))
    return lines


def devices(view: RecordingView, width: int) -> list[Text]:
    """Draw what each device did in the second of the moment, and how long processes waited."""
    second = view.second
    if second is None:
        return [rule(width, "devices", "not recorded")]
    rows = [_device(device, second.elapsed_s) for device in second.devices]
    names = ("CPU", "I/O", "", "memory", "")
    shares = [
        f"{name} {percent(ms / 1000 / second.elapsed_s)}"
        for name, ms in zip(names, second.pressure_ms, strict=True)
        if name and ms is not None
    ]
    words = (
        f"   pressure: {', '.join(shares) or 'not counted'} · {size(sum(second.memory_kib) * 1024)} not written back"
    )
    drawn = table(DEVICES, rows, width) if rows else []
    remark = f"{second.elapsed_s:.0f} s until {datetime.fromtimestamp(second.at):%H:%M:%S}" if rows else "idle"
    return [rule(width, "devices", remark), *drawn, line((words, FAINT))]


def _device(device: DeviceSecond, elapsed_s: float) -> tuple[str, ...]:
    return (
        device.device,
        rate(device.writes / elapsed_s),
        size(device.written_kib * 1024 / elapsed_s),
        NONE if device.ms_per_write is None else duration_ns(device.ms_per_write * 1e6),
        size(device.read_kib * 1024 / elapsed_s),
        rate(device.flushes / elapsed_s),
        duration_ns(device.flush_ms / device.flushes * 1e6) if device.flushes else NONE,
        count(device.in_flight),
    )


def sentence(view: RecordingView, width: int) -> list[Text]:
    """Draw the incident at the moment, or why there are no records."""
    current = _incidents_at(view)
    gaps = [gap for gap in view.answer.gaps if gap.start <= view.time < gap.end]
    number = len(view.answer.incidents)
    words = f"Nothing unusual at this moment. The recording has {counted(number, 'incident')}"
    words += " (press n or p)." if number else "."
    if current:
        words = f"{_times(current[0])}: {current[0].sentence}"
    elif gaps:
        words = f"{span(gaps[0].start, gaps[0].end)}: {gaps[0].reason}."
    return headline(words, width, "; ")


def incidents(view: RecordingView, width: int) -> list[Text]:
    """Draw all incidents of the recording if there are several. The one at the chosen moment has its sentence above."""
    listed, current = view.answer.incidents, _incidents_at(view)[:1]
    lines = [rule(width, counted(len(listed), "incident"), "n, p")]
    for incident in listed:
        words = f"{_times(incident)}: see above" if incident in current else incident_line(incident)
        lines += paragraph(words, width, style=HEAD if incident in current else "")
    return lines if len(listed) > 1 else []


def _times(incident: Incident) -> str:
    return "–".join(f"{datetime.fromtimestamp(when):%H:%M:%S}" for when in (incident.start, incident.end))


def _incidents_at(view: RecordingView) -> list[Incident]:
    begin, end = view.time, view.time + view.cell_s
    return [incident for incident in view.answer.incidents if incident.start <= end and incident.end >= begin]


def _duration(seconds: int) -> str:
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min" if seconds < 3600 else f"{seconds // 3600} h"


def buckets_by_cell(buckets: Sequence[Bucket], start: float, cell_s: int) -> dict[int, Bucket]:
    return {round((bucket.start - start) / cell_s): bucket for bucket in buckets}
