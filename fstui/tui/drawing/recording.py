"""The recording: strips of figures over time, and what programs and devices did at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace
from rich.text import Text

from fstui.model.quantities import count, counted, duration_ns, percent, rate, size
from fstui.model.recording import Bucket, DeviceSecond, Incident, RecordedWait, Second, WhatHappened, Window, span
from fstui.report.text import NONE
from fstui.report.what_happened import CHARTS, Chart, line_of
from fstui.tui.drawing import charts
from fstui.tui.drawing.cells import Column, fit_right, line, paragraph, rule, table, title_line
from fstui.tui.styles import AREA, FAINT, HEAD, TIME, shades

ZOOMS = (10, 60, 600, 3600)
"""Seconds of one cell."""
_LABEL, _PEAK = 16, 17
_MAX_ROWS = 8
_WIDE, _LONG_NAME = 86, 24
WAITS = (
    Column("PROGRAM", 18, gap=0),
    Column("SYNCS", 6, right=True),
    Column("P50", 7, right=True),
    Column("MAX", 7, right=True, gap=2),
    Column("WAITED", 7, right=True, from_width=56),
    Column("CPU WAIT ≤", 10, right=True, gap=2, from_width=100),
    Column("CGROUP", 20, gap=2, cut="left", from_width=110),
    Column("FILE", gap=2, cut="middle"),
)
DEVICES = (
    Column("DEVICE", 14, gap=0),
    Column("WRITES/S", 8, right=True),
    Column("BYTES/S", 9, right=True),
    Column("WRITE", 8, right=True),
    Column("READ B/S", 9, right=True, from_width=70),
    Column("FLUSHES/S", 9, right=True, gap=2, from_width=54),
    Column("FLUSH", 8, right=True, from_width=62),
    Column("IN FLIGHT", 9, right=True, gap=2, from_width=83),
)
FIGURES = (
    Column("TIME", 8, gap=0),
    Column("WRITE", 8, right=True),
    Column("WRITTEN/S", 11, right=True),
    Column("CPU PSI", 7, right=True),
    Column("I/O PSI", 7, right=True),
    Column("MEM PSI", 7, right=True),
    Column("MAX", 8, right=True),
    Column("WAITED", gap=2),
)


class RecordingView(msgspec.Struct, frozen=True):
    found: WhatHappened
    at: float
    start: float
    cell_s: int = ZOOMS[0]
    buckets: dict[int, Bucket] = {}
    """By the number of the cell."""
    second: Second | None = None
    window: Window | None = None

    @property
    def cell(self) -> int:
        return int((self.at - self.start) // self.cell_s)


def cells(width: int) -> int:
    return max(width - _LABEL - _PEAK - 2, 10)


def title(view: RecordingView, width: int) -> Text:
    moment = f"{datetime.fromtimestamp(view.at):%Y-%m-%d %H:%M:%S}"
    return title_line("recording", view.found.host, moment, width)


def strips(view: RecordingView, width: int, height: int) -> list[Text]:
    """Draw a track for each figure with the free lines, and below them the times and the chosen moment."""
    number = cells(width)
    at = min(max(view.cell, 0), number - 1)
    tracks = CHARTS[: max(height - 2, 1)]
    rows, more = divmod(max(height - 2, len(tracks)), len(tracks))
    lines = [rule(width, f"one column is {_length(view.cell_s)}")]
    for index, chart in enumerate(tracks):
        lines += _track(view, chart, number, at, min(rows + (index < more), _MAX_ROWS))
    first, now, last = (
        f"{datetime.fromtimestamp(when):%H:%M}" for when in (view.start, view.at, view.start + number * view.cell_s)
    )
    axis = f"{first}{last:>{number - len(first)}}"
    after = axis[at + 1 :]
    marked = f" {now}" if not after[: len(now) + 2].strip() else ""
    lines.append(line(" " * _LABEL, (axis[:at], FAINT), (f"▲{marked}", HEAD), (after[len(marked) :], FAINT)))
    return lines


def _track(view: RecordingView, chart: Chart, number: int, at: int, rows: int) -> list[Text]:
    """Draw one figure over time, with its name, its value at the chosen moment, and its highest value."""
    values = [None if (bucket := view.buckets.get(cell)) is None else chart.value(bucket) for cell in range(number)]
    highest = max((value for value in values if value is not None), default=None)
    peak = NONE if highest is None else f"≤ {chart.words(highest)}"
    peak += f" of {chart.words(chart.whole)}" if chart.whole and highest is not None else ""
    now = NONE if values[at] is None else chart.words(values[at] or 0.0)
    # the uppermost eighth stays blank, so that full tracks do not touch
    eighths = [None if share is None else max(round(share * (8 * rows - 1)), 1) for share in chart.heights(values)]
    shade = shades(TIME if chart.logarithmic else AREA)
    lines = []
    for row in reversed(range(rows)):
        left, right = (
            ((chart.name, FAINT), peak) if row == rows - 1 else ((now, HEAD) if row == rows - 2 else ("", ""), "")
        )
        blocks = "".join(" " if full is None else charts.block(full, row) for full in eighths)
        style = shade[rows < 3 or row * 4 >= rows]
        lines.append(
            line(
                (f"{left[0]:>{_LABEL - 1}} ", left[1]),
                (blocks[:at], style),
                (blocks[at].replace(" ", "│"), HEAD),
                (blocks[at + 1 :], style),
                (fit_right(right, _PEAK), FAINT),
            )
        )
    return lines


def waits(view: RecordingView, width: int) -> list[Text]:
    """Draw the programs that waited in the ten seconds of the moment, and the processes that moved most."""
    window = view.window
    if window is None:
        return [rule(width, "programs that waited"), line(("  the programs of this moment were not recorded", FAINT))]
    remark = f"{window.elapsed_s:.0f} s until {datetime.fromtimestamp(window.at):%H:%M:%S}"
    top = rule(width, "programs that waited", remark)
    if window.traced_s is None:
        rows = [line(("  not traced: only root may trace the kernel", FAINT))]
    else:
        named = WAITS[0] if width < _WIDE else replace(WAITS[0], width=_LONG_NAME)
        rows = table((named, *WAITS[1:]), map(_wait, window.waits), width)
        rows = rows if window.waits else [line(("  no program waited for a sync", FAINT))]
    return [top, *rows, *_movers(window)]


def _wait(one: RecordedWait) -> tuple[str, ...]:
    return (
        one.who,
        count(one.syncs),
        duration_ns(one.p50_us * 1000) if one.p50_us else NONE,
        duration_ns(one.longest_so_far_ms * 1e6),
        duration_ns(one.waited_ms * 1e6),
        duration_ns(one.cpu_ms * 1e6),
        one.cgroup,
        one.where,
    )


def _movers(window: Window) -> list[Text]:
    found = []
    for one in window.processes or ():
        moved = [
            f"{verb} {size(amount / window.elapsed_s)}/s"
            for verb, amount in (("wrote", one.written), ("read", one.read))
            if amount
        ]
        found.append(line((f"  {one.program} ({one.pid}) {', '.join(moved)}", FAINT)))
    return found


def devices(view: RecordingView, width: int) -> list[Text]:
    """Draw what each device did in the second of the moment, and how long processes waited."""
    second = view.second
    if second is None:
        return [rule(width, "devices", "not recorded")]
    rows = [_device(each, second.elapsed_s) for each in second.devices]
    names = ("CPU", "I/O", "", "memory", "")
    shares = [
        f"{name} {percent(ms / 1000 / second.elapsed_s)}"
        for name, ms in zip(names, second.pressure_ms, strict=True)
        if name and ms is not None
    ]
    words = f"  pressure: {', '.join(shares) or 'not counted'} · {size(sum(second.memory_kib) * 1024)} not written back"
    drawn = table(DEVICES, rows, width) if rows else []
    return [rule(width, "devices", "" if rows else "idle"), *drawn, line((words, FAINT))]


def _device(one: DeviceSecond, elapsed_s: float) -> tuple[str, ...]:
    return (
        one.device,
        rate(one.writes / elapsed_s),
        size(one.written_kib * 1024 / elapsed_s),
        NONE if one.ms_per_write is None else duration_ns(one.ms_per_write * 1e6),
        size(one.read_kib * 1024 / elapsed_s),
        rate(one.flushes / elapsed_s),
        duration_ns(one.flush_ms / one.flushes * 1e6) if one.flushes else NONE,
        count(one.in_flight),
    )


def sentence(view: RecordingView, width: int) -> list[Text]:
    """Draw the incident at the moment, or why there are no records."""
    here = _here(view)
    gaps = [gap for gap in view.found.gaps if gap.start <= view.at < gap.end]
    number = len(view.found.incidents)
    words = f"Nothing unusual at this moment. The recording has {number} incident{'' if number == 1 else 's'} (n, p)."
    if here:
        words = line_of(here[0])
    elif gaps:
        words = f"{span(gaps[0].start, gaps[0].end)}: {gaps[0].reason}."
    return paragraph(words, width - 1, " ", HEAD)


def incidents(view: RecordingView, width: int) -> list[Text]:
    """Draw all incidents of the recording; the one at the chosen moment is bold."""
    lines, here = [rule(width, counted(len(view.found.incidents), "incident"), "n, p")], _here(view)
    for one in view.found.incidents:
        lines += paragraph(line_of(one), width - 1, "  ", HEAD if one in here else "")
    return lines


def around(view: RecordingView, width: int, height: int) -> list[Text]:
    """Draw the figures of the columns around the chosen moment, whose own are bold."""
    height = max(height, 3)
    first = max(view.cell - (height - 2) // 2, 0)
    shown = [bucket for cell in range(first, first + height - 2) if (bucket := view.buckets.get(cell))]
    lines = [rule(width, "columns around this moment"), *table(FIGURES, map(_figures, shown), width)]
    for bucket, text in zip(shown, lines[2:], strict=True):
        text.stylize(HEAD if bucket is view.buckets.get(view.cell) else "")
    return lines


def _figures(bucket: Bucket) -> tuple[str, ...]:
    cells = [NONE if (value := chart.value(bucket)) is None else chart.words(value) for chart in CHARTS]
    longest, write, written, _, cpu, io, memory = cells
    time = f"{datetime.fromtimestamp(bucket.start):%H:%M:%S}"
    return time, write, written, cpu, io, memory, longest, bucket.program or ""


def _here(view: RecordingView) -> list[Incident]:
    return [one for one in view.found.incidents if one.start <= view.at + view.cell_s and one.end >= view.at]


def _length(seconds: int) -> str:
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min" if seconds < 3600 else f"{seconds // 3600} h"


def numbered(buckets: Sequence[Bucket], start: float, cell_s: int) -> dict[int, Bucket]:
    return {round((bucket.start - start) / cell_s): bucket for bucket in buckets}
