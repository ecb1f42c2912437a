"""The run screen: the steps above, both ends below, the finding so far last."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from fstui.model.counters import DeviceCounters
from fstui.model.judgement import TOO_SLOW
from fstui.model.quantities import clock, count, duration_ns, rate, ratio, seconds, size
from fstui.model.settings import Settings
from fstui.model.steps import Latency, Snapshot, Step
from fstui.model.storage import Node, Target
from fstui.report import figures
from fstui.report.findings import leading
from fstui.report.findings import title as finding_title
from fstui.tui.drawing import charts, io_path
from fstui.tui.drawing.cells import (
    Column,
    distinct,
    ends,
    fit,
    fit_middle,
    fit_right,
    heading,
    line,
    row,
    rule,
    shown,
    window,
)
from fstui.tui.iostats import IoStats
from fstui.tui.progress import Progress
from fstui.tui.styles import BAD, FAINT, HEAD, speed_style, step_style, verdict_style

STEPS = (
    Column("STEP", gap=0, cut="middle"),
    Column("OVER TIME", 16, from_width=96, gap=2),
    Column("RATE/S", 9, right=True),
    Column("P50", 8, right=True),
    Column("P99", 8, right=True, from_width=60),
    Column("MAX", 8, right=True, from_width=70),
    Column("FLUSH/SYNC", 10, right=True),
)
ENDS = (
    Column("BOTH ENDS", gap=0),
    Column("WRITES", 9, right=True),
    Column("BYTES", 12, right=True, from_width=66),
    Column("SYNCS", 9, right=True, from_width=54),
    Column("FLUSHES", 12, right=True),
    Column("PER SYNC", 8, right=True, gap=2),
)
NONE = "–"


def title(progress: Progress, simulated: str | None, width: int) -> Text:
    left_s = progress.left_s
    time = "until s" if left_s is None else f"{clock(left_s)} left"
    name = progress.plan.scenario.name
    mark = "  SIMULATED" if simulated else ""
    return ends(
        [" ", ("fstui", HEAD), (mark, HEAD), "  ", (name, HEAD), f"   {io_path.path(progress.target)}"], time, width
    )


def steps(progress: Progress, selected: int | None, width: int, height: int) -> list[Text]:
    """One row per planned step; numbers of the one that runs move in place."""
    columns = shown(STEPS, width - 5)
    counts = progress.counts
    names = distinct([step.name for step in progress.plan.steps], columns[0].width)
    rows = [_step(progress, counts, index, name, columns) for index, name in enumerate(names)]
    return [heading(columns, margin="   "), *window(rows, selected or 0, height - 1)]


def map_rule(progress: Progress, held: bool, width: int) -> Text:
    """Which step the strip shows, what its signs mean, how far it is."""
    index = progress.shown
    kept = "" if not held else "view held: space shows the result" if progress.run else "view held: space goes on"
    if index is None:
        words = f"measuring others for {progress.idle.elapsed_s:.1f} s" if progress.idle else "measuring others first"
        return rule(width, words, kept)
    planned = progress.plan.steps[index]
    name = planned.name
    if (preparing := progress.preparing) and preparing.server_s:
        return rule(width, f"{name} · its server is starting", kept or seconds(preparing.server_s))
    if preparing:
        far = f"{size(preparing.done)} of {size(preparing.total)}" if preparing.total else ""
        return rule(width, f"{name} · writing its file first", kept or far)
    sign = " · p95 of each second" if planned.settings.reports_itself else ""
    limit = f" ╌ limit {duration_ns(planned.limit_ns)}, one turn" if planned.limit_ns and width >= 70 else ""
    return rule(width, f"{name}{sign}{limit}", kept or _far(progress, index))


def both_ends(progress: Progress, width: int, height: int) -> list[Text]:
    """What fstui asked, what each layer counted. The lowest devices always show; the middle gives way.

    A row for each layer from the start, so that nothing has to move when the counting begins.
    """
    columns = shown(ENDS, width - 5)
    seen: Step | Snapshot | None = progress.snapshot
    if seen is None and progress.current is None and progress.done:
        seen = progress.done[max(progress.done)]
    asked_for = progress.plan.steps[progress.shown].settings if progress.shown is not None else Settings()
    layers = [node for node in progress.target.stack[1:] if node.lowest or node.layer == "block"]
    while len(layers) > max(height - 2, 1) and any(not node.lowest for node in layers):
        layers.remove(next(node for node in layers if not node.lowest))
    syncs = 0 if seen is None or (asked_for.reports_itself and progress.snapshot is seen) else seen.syncs
    asked = {"BOTH ENDS": f"{asked_for.operations or 'fstui'} asked"}
    if seen is not None:
        asked |= {"WRITES": count(seen.ops), "SYNCS": count(seen.syncs)}
        asked |= {} if asked_for.reports_itself else {"BYTES": size(seen.bytes)}
    lines = [heading(columns, margin="   "), line("   " + row(columns, asked))]
    for node in layers[: max(height - 2, 1)]:
        counted = next((device for device in seen.counters if device.device == node.id), None) if seen else None
        values = {"BOTH ENDS": _label(node, progress.target)}
        values |= _counted(counted, syncs, asked_for) if counted is not None else {}
        lines.append(line("   " + row(columns, values).rstrip()))
    return lines


def finding(progress: Progress, width: int) -> Text:
    """The worst finding so far, or the operation that is stuck, or why it all ended."""
    if progress.trouble:
        return line((fit(f" ✗ {progress.trouble}", width).rstrip(), BAD))
    stall = progress.snapshot.stall if progress.snapshot else None
    if stall is not None and progress.snapshot is not None:
        waiting = [
            f"{device.device}: {device.in_flight} in flight"
            for device in figures.lowest(progress.snapshot.counters, progress.target)
            if device.in_flight
        ]
        words = f" ▲ {stall.call} in flight for {seconds(stall.elapsed_s)}"
        return line((fit(" · ".join([words, *waiting]), width).rstrip(), BAD))
    if progress.preparing and progress.preparing.silent_s:
        words = f" ▲ writing its file: no answer for {seconds(progress.preparing.silent_s)}"
        return line((fit(words, width).rstrip(), BAD))
    if progress.judgement is None:
        return line((" not judged yet", FAINT))
    worst = leading(progress.judgement)
    if worst is None or worst.verdict is None:
        return _beside(line((" nothing found so far", FAINT)), progress, width)
    glyph, style = verdict_style(worst.verdict)
    words = f"{worst.verdict} so far: {finding_title(worst)}"
    return _beside(line((f" {glyph} ", style), fit(words, width - 3).rstrip()), progress, width)


def _beside(found: Text, progress: Progress, width: int) -> Text:
    """The second answer so far, at the end of the line, where it is too slow."""
    answer = progress.judgement.speed.answer if progress.judgement else "unknown"
    if answer not in TOO_SLOW:
        return found
    glyph, style = speed_style(answer)
    room = width - len(answer) - 4
    if found.cell_len > room:
        found.truncate(room - 1)
        found.append("…")
    return found.append(" " * (room + 1 - found.cell_len)).append(f"{glyph} {answer}", style)


def others(progress: Progress, width: int) -> Text:
    """What others did to the lowest devices while fstui did nothing, and who wrote most meanwhile."""
    idle = progress.idle
    if idle is None or not idle.elapsed_s:
        return line()
    did: dict[str, str] = {}
    for device in figures.lowest(idle.counters, progress.target):
        done = [f"{_per_s(device.writes, idle.elapsed_s)} writes/s"] if device.writes is not None else []
        done += [f"{_per_s(device.flushes, idle.elapsed_s)} flushes/s"] if device.flushes is not None else []
        if done:
            did[device.device] = ", ".join(done)
    names = figures.names_of(idle.writers) if did else ""
    if names:  # first, where the line may be cut
        told = f"others before the start: {'; '.join([names, *(f'{device} {done}' for device, done in did.items())])}"
    else:
        told = "; ".join(f"others on {device} before the start: {done}" for device, done in did.items())
    return line((fit(f"   {told}", width).rstrip(), FAINT))


def busy(stats: dict[str, IoStats], target: Target) -> str:
    """Return what other processes do to the lowest devices now; empty if they do nothing."""
    parts = [
        f"other processes use {node.id} now: {now.writes_per_s or 0:.0f} writes/s"
        + ("" if now.flushes_per_s is None else f", {now.flushes_per_s:.0f} flushes/s")
        for node in target.lowest
        if (now := stats.get(node.id)) and (now.writes_per_s or 0) + (now.flushes_per_s or 0) >= 1
    ]
    return "; ".join(parts)


def percentile(value: Latency | None, field: str) -> str:
    """A percentile in words; a dash where there is none."""
    ns = getattr(value, field) if value else None
    return NONE if ns is None else duration_ns(ns)


def _step(progress: Progress, counts: figures.Counts, index: int, name: str, columns: Sequence[Column]) -> Text:
    planned = progress.plan.steps[index]
    values = {"STEP": name}
    if (step := progress.done.get(index)) is not None:
        glyph, style = step_style(step.status)
        if step.ops and not step.settings.uniform:
            return line(" ", (glyph, style), " " + told(columns, values["STEP"], figures.words(step)))
        if step.ops:
            values |= _numbers(step, step.settings, counts)
        elif reason := figures.failure(step):
            return line(" ", (glyph, style), " " + fit(f"{values['STEP'].rstrip()}: {reason}", _width(columns)))
    elif index == progress.current:
        glyph, style = "▸", HEAD
        if progress.snapshot and not planned.settings.uniform:
            return line(" ", (glyph, style), " " + told(columns, values["STEP"], figures.words(progress.snapshot)))
        if progress.snapshot and planned.settings.reports_itself:
            return line(" ", (glyph, style), " " + _said(columns, values["STEP"], progress.snapshot))
        values |= _numbers(progress.snapshot, planned.settings, counts) if progress.snapshot else {}
    else:
        glyph, style = ("–", FAINT) if planned.skip else ("·", FAINT)
    return line(" ", (glyph, style), " " + row(columns, values))


def _said(columns: Sequence[Column], name: str, seen: Snapshot) -> str:
    """A row of what the program has told last: transactions per second, and the rest in the latencies' place."""
    newest = seen.figures.newest if seen.figures else None
    if newest is None:
        return row(columns, {"STEP": name})
    per_second, words = newest
    at = next(at for at, column in enumerate(columns) if column.title == "RATE/S") + 1
    latencies, flushes = columns[at:-1], columns[-1]
    room = sum(column.gap + column.width for column in latencies)
    between = fit_right(words if cell_len(words) < room else "", room)
    numbers = row(columns[:at], {"STEP": name, "RATE/S": rate(per_second)})
    return numbers + between + " " * (flushes.gap + flushes.width)


def _numbers(seen: Step | Snapshot, settings: Settings, counts: figures.Counts) -> dict[str, str]:
    per_sync = counts.flushes_per_sync(seen, settings)
    return {
        "OVER TIME": charts.sparkline(seen.timeline, 16),
        "RATE/S": rate(seen.rate_per_s),
        "P50": percentile(seen.latency_ns, "p50"),
        "P99": percentile(seen.latency_ns, "p99"),
        "MAX": percentile(seen.latency_ns, "max"),
        "FLUSH/SYNC": NONE if per_sync is None else ratio(per_sync),
    }


def told(columns: Sequence[Column], name: str, words: str) -> str:
    """A row of a step that has no rate: its name, and its own words in the place of the numbers."""
    first, *numbers = columns
    room = sum(column.gap + column.width for column in numbers)
    return fit_middle(name, first.width) + fit_right(words or NONE, room)


def _label(node: Node, target: Target) -> str:
    below_filesystem = target.stack[0].below if target.stack else ()
    words = "lowest" if node.lowest else target.fstype if node.id in below_filesystem else node.kind
    return f"{node.id}, {words}"


def _counted(device: DeviceCounters, syncs: int, settings: Settings) -> dict[str, str]:
    per_sync = figures.device_flushes_per_sync(device, syncs, settings)
    return {
        "WRITES": NONE if device.writes is None else count(device.writes),
        "BYTES": NONE if device.written_bytes is None else size(device.written_bytes),
        "FLUSHES": "not counted" if device.flushes is None else count(device.flushes),
        "PER SYNC": "" if per_sync is None else ratio(per_sync),
    }


def _far(progress: Progress, index: int) -> str:
    if progress.snapshot is None:
        return "done" if index in progress.done else "starting"
    elapsed, length = progress.snapshot.elapsed_s, progress.snapshot.length_s
    return f"{elapsed:.1f} s" if length is None else f"{elapsed:.1f} of {length:g} s"


def _per_s(value: int | None, elapsed_s: float) -> str:
    return f"{(value or 0) / elapsed_s:.0f}"


def _width(columns: Sequence[Column]) -> int:
    return sum(column.width + column.gap for column in columns)
