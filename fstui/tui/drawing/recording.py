"""The recording: strips of figures over time, and what programs and devices did at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec
from rich.text import Text

from fstui.model.quantities import count, duration_ns, percent, rate, size
from fstui.model.recording import Bucket, DeviceSecond, RecordedWait, Second, WhatHappened, Window, span
from fstui.report.text import NONE, sparkline
from fstui.report.what_happened import CHARTS, line_of
from fstui.tui.drawing.cells import Column, fit_right, line, rule, table, title_line, wrapped
from fstui.tui.styles import AREA, FAINT, HEAD, TIME

ZOOMS = (10, 60, 600, 3600)
"""Seconds of one cell."""
_LABEL, _PEAK = 16, 14
WAITS = (
    Column("PROGRAM", 18, gap=0),
    Column("SYNCS", 6, right=True),
    Column("P50", 7, right=True),
    Column("LONGEST", 7, right=True),
    Column("WAITED", 7, right=True),
    Column("CPU WAIT ≤", 10, right=True, from_width=100),
    Column("CGROUP", 20, gap=2, cut="left", from_width=110),
    Column("FILE", gap=2, cut="middle"),
)
DEVICES = (
    Column("DEVICE", gap=0),
    Column("WRITES/S", 8, right=True),
    Column("BYTES/S", 9, right=True),
    Column("WRITE", 8, right=True),
    Column("READ B/S", 9, right=True, from_width=70),
    Column("FLUSHES/S", 9, right=True),
    Column("FLUSH", 8, right=True),
    Column("IN FLIGHT", 9, right=True, from_width=76),
)


class RecordingView(msgspec.Struct, frozen=True):
    """The content of the screen. ``at``: the chosen moment. ``start``: the time of the first cell."""

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
    """Draw a strip per figure, and the chosen moment below."""
    number = cells(width)
    inside = [view.buckets.get(at) for at in range(number)]
    lines = [rule(width, f"one column is {_length(view.cell_s)}")]
    at = min(max(view.cell, 0), number - 1)
    for chart in CHARTS[: max(height - 2, 1)]:
        values = [None if bucket is None else chart.value(bucket) for bucket in inside]
        most = max((value for value in values if value is not None), default=0.0)
        peak = f"≤ {chart.words(most)}" if most else NONE
        strip = sparkline(values) if most else " " * number
        name, most_words = f"{chart.name:>{_LABEL - 1}} ", fit_right(peak, _PEAK)
        colour = TIME if chart.logarithmic else AREA
        moment = (strip[at : at + 1], HEAD)
        lines.append(line((name, FAINT), (strip[:at], colour), moment, (strip[at + 1 :], colour), (most_words, FAINT)))
    first, last = (f"{datetime.fromtimestamp(at):%H:%M}" for at in (view.start, view.start + number * view.cell_s))
    axis = f"{first}{last:>{number - len(first)}}"
    lines.append(line(" " * _LABEL, (axis[:at], FAINT), ("▲", HEAD), (axis[at + 1 :], FAINT)))
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
        rows = table(WAITS, map(_wait, window.waits), width)
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
    here = [one for one in view.found.incidents if one.start <= view.at + view.cell_s and one.end >= view.at]
    gaps = [gap for gap in view.found.gaps if gap.start <= view.at < gap.end]
    number = len(view.found.incidents)
    words = f"Nothing unusual at this moment. The recording has {number} incident{'' if number == 1 else 's'} (n, p)."
    if here:
        words = line_of(here[0])
    elif gaps:
        words = f"{span(gaps[0].start, gaps[0].end)}: {gaps[0].reason}."
    return [rule(width), *(line((part, HEAD)) for part in wrapped(words, width - 1, indent=" "))]


def _length(seconds: int) -> str:
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min" if seconds < 3600 else f"{seconds // 3600} h"


def numbered(buckets: Sequence[Bucket], start: float, cell_s: int) -> dict[int, Bucket]:
    """Return the buckets by the number of their cell."""
    return {round((bucket.start - start) / cell_s): bucket for bucket in buckets}
