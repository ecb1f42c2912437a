"""The run screen: the steps, what was requested and what the kernel counted, and the findings so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace
from rich.cells import cell_len
from rich.text import Text

from fstui.model.judgement import FASTEST_STEP, NOT_DURABLE, Verdict
from fstui.model.quantities import clock, count, counted, duration_ns, percent, rate, ratio, seconds, size
from fstui.model.settings import Settings
from fstui.model.steps import Snapshot, Step
from fstui.model.storage import Node, Target
from fstui.report import databases, figures
from fstui.report.findings import FREE_OF_DEFECTS, leading_finding
from fstui.report.findings import title as finding_title
from fstui.report.latency_map import LogScale
from fstui.report.text import NONE, origin, speed_label, verdict_label
from fstui.runs.caution import BUSY_SHARE
from fstui.tui.drawing import charts, io_path, latency
from fstui.tui.drawing.cells import (
    Column,
    StyledText,
    fit,
    fit_columns,
    fit_list,
    fit_middle,
    fit_right,
    heading,
    line,
    paragraph,
    row,
    rule,
    styled_row,
    tell_apart,
    title_line,
    window,
)
from fstui.tui.iostats import IoStats
from fstui.tui.progress import Progress
from fstui.tui.styles import BAD, FAINT, HEAD, TIME, WARNING, speed_style, step_style, verdict_style

CURVE, W_AMP = "P99 OVER TIME", "W-AMP"
STEPS = (
    Column("STEP", gap=0, cut="middle"),
    Column(CURVE, 16, from_width=88, gap=2),
    Column("RATE/S", 9, right=True),
    Column("P50", 8, right=True),
    Column("P99", 8, right=True, from_width=60),
    Column("MAX", 8, right=True, from_width=70),
    Column("FLUSH/SYNC", 10, right=True, gap=2),
)
LAYERS = (
    Column("LAYER", gap=0),
    Column("WRITES", 9, right=True),
    Column("BYTES", 12, right=True, from_width=66),
    Column("SYNCS", 9, right=True, from_width=54),
    Column("FLUSHES", 12, right=True),
    Column("PER SYNC", 8, right=True, gap=2),
)
COUNTER_TITLES = ("WRITES", "BYTES", "FLUSHES", "PER SYNC")
_IDLE_SHARE = 0.01


def title(progress: Progress, simulated: str | None, width: int) -> Text:
    left_s = progress.left_s
    time = "until you press s" if left_s is None else f"{clock(left_s)} left"
    badge = origin(simulated).partition(" ")[0]
    return title_line(progress.plan.scenario.name, io_path.path(progress.target), time, width, badge)


def steps(progress: Progress, width: int, height: int) -> list[Text]:
    """Draw a row for each planned step. The numbers of the running step change in place."""
    names = [step.name for step in progress.plan.steps]
    columns = step_columns(STEPS, names, width - 5)
    names = tell_apart(names, columns[0].width)
    timelines = [latency.timeline(step) for step in progress.finished_steps.values() if step.settings.uniform]
    if progress.snapshot and progress.current_index is not None:
        is_uniform = progress.plan.steps[progress.current_index].settings.uniform
        timelines += [latency.timeline(progress.snapshot)] if is_uniform else []
    scale = charts.p99_scale(timelines)

    def draw(index: int) -> Text:
        return _step(progress, index, names[index], columns, scale)

    return [
        heading(with_scale(columns, scale), width),
        *window(len(names), draw, progress.shown_index or 0, height - 1),
    ]


def step_columns(columns: Sequence[Column], names: Sequence[str], width: int) -> tuple[Column, ...]:
    """Return the columns that fit. The remaining width goes to the curve if there is one, otherwise to the names.

    Long names take the place of the last column, W-AMP.
    """
    longest = max(map(cell_len, names), default=0)
    if width >= columns[1].from_width:
        columns = (replace(columns[0], width=max(longest, 20)), replace(columns[1], width=0), *columns[2:])
    fitting = fit_columns(columns, width)
    is_cut = longest > fitting[0].width and fitting[-1].title == W_AMP
    return fit_columns(columns[:-1], width) if is_cut else fitting


def with_scale(columns: Sequence[Column], scale: LogScale) -> list[Column]:
    """Return the columns of a heading that shows the scale of the curves, if there is room."""
    ends = f"{latency.tick(scale.low)}–{latency.tick(scale.high)}"
    titles = (f"{CURVE} {ends}, gap: no operation ended", f"{CURVE} {ends}", f"P99 {ends}", CURVE)
    return [
        replace(column, title=next((title for title in titles if len(title) <= column.width), CURVE))
        if column.title == CURVE
        else column
        for column in columns
    ]


def map_rule(progress: Progress, pause: str, width: int) -> Text:
    """Draw the heading of the map: the step, its progress, the legend, and what is done before the next step."""
    index = progress.map_index
    if index is None:
        time = f"for {progress.idle.elapsed_s:.1f} s" if progress.idle else "first"
        return rule(width, f"counting other processes' writes {time}", pause)
    preparing = _preparation(progress)
    if preparing and not progress.finished_steps:
        return rule(width, preparing, pause)
    planned = progress.plan.steps[index]
    is_database = planned.settings.reports_own_figures
    newest = _newest_report(progress) if is_database else ""
    limit = f" ╌ limit {duration_ns(planned.limit_ns)}, one revolution" if planned.limit_ns and width >= 70 else ""
    # The parts that change often are on the left, because Textual sends a line again up to its last changed cell.
    title = fit_list(f"{databases.name_with_server(planned)} · {_elapsed(progress, index)}{newest}{limit}", width - 7)
    right = pause or preparing or (latency.P95_NOTE if is_database else "")
    return rule(width, title, right, () if is_database else latency.LEGEND)


def _newest_report(progress: Progress) -> str:
    """Return what a database's clients reported last: `` · now 73.1 tx/s, p95 2.4 ms, 1 260 qps``."""
    figures_ = progress.snapshot.figures if progress.snapshot else None
    newest = figures_.newest_report if figures_ else None
    return f" · now {rate(newest[0])} tx/s, {newest[1]}" if newest else ""


def _preparation(progress: Progress) -> str:
    """Return what fstui does before the next step begins; empty if the step runs or nothing is prepared."""
    preparing = progress.preparing
    if preparing is None or progress.current_index is None:
        return ""
    name = progress.plan.steps[progress.current_index].name
    if preparing.server_s:
        return f"{name} · starting the server {seconds(preparing.server_s)}"
    share = f" {size(preparing.done)} of {size(preparing.total)}" if preparing.total else ""
    return f"{name} · preparing the file{share}"


def requested_and_counted(progress: Progress, width: int, height: int, *, others: bool = True) -> list[Text]:
    """Draw what fstui requested, what each layer counted, and what ``others`` (other processes) wrote before the run.

    The numbers of the previous step stay, dimmed, until a step has its first ones.
    """
    step: Step | Snapshot | None = progress.snapshot
    settings = progress.plan.steps[progress.shown_index].settings if progress.shown_index is not None else Settings()
    name, style = settings.operation_name or "requested", ""
    if step is not None and step.latency_ns and not step.ops:
        step = None  # operations returned, but their number up to the last reading of the counters is not known yet
    if step is None and progress.finished_steps:
        step = progress.finished_steps[max(progress.finished_steps)]
        settings = step.settings
        if progress.current_index is not None:
            name, style = ", ".join(filter(None, ("previous step", settings.operation_name))), FAINT
    hidden = "SYNCS" if settings.reports_own_figures else ""  # fstui does not know the server's syncs
    columns = fit_columns([column for column in LAYERS if column.title != hidden], width - 5)
    layers = [node for node in progress.target.stack[1:] if node.lowest or node.layer == "block"]
    idle_lines = _other_writers(progress, width) if others else []
    max_layers = max(height - 2 - len(idle_lines), 1)
    while len(layers) > max_layers and any(not node.lowest for node in layers):
        layers.remove(next(node for node in layers if not node.lowest))
    syncs = step.syncs if step else 0
    has_ratio = bool(syncs) and settings.uniform
    shared = has_ratio and _is_shared(progress, step, settings)
    requested = name
    if step is not None and settings.reports_own_figures:
        requested = f"{name}: {count(step.ops)}"
    elif step is not None:
        counts = {"WRITES": count(step.ops), "BYTES": size(step.bytes), "SYNCS": count(step.syncs)}
        requested = row(columns, {"LAYER": name, **counts})
    last = "PER TRX" if settings.operation_name else columns[-1].title
    lines = [heading([*columns[:-1], replace(columns[-1], title=last)], width), line(("   " + requested, style))]
    for node in layers[:max_layers]:
        device = next((device for device in step.counters if device.device == node.id), None) if step else None
        values = {"LAYER": _label(node, progress.target)}
        if step is not None and device is not None:
            is_shared = shared or (has_ratio and progress.counts.others_flushed(node, device, step.elapsed_s))
            cells = figures.counter_cells(device, 0 if is_shared else syncs, settings)
            values |= dict(zip(COUNTER_TITLES, cells, strict=True))
            values |= {"PER SYNC": "+ others"} if is_shared else {}
        lines.append(line(("   " + row(columns, values).rstrip(), style)))
    return lines + idle_lines


def _is_shared(progress: Progress, step: Step | Snapshot | None, settings: Settings) -> bool:
    """Return whether other processes also requested flushes, so that the share of fstui is unknown."""
    if isinstance(step, Step) and progress.counts.shared_with_others(step):
        return True
    if step is None or progress.counts.flushes_per_sync(step, settings) is not None:
        return False
    return any(device.flushes is not None for device in figures.lowest_counters(step.counters, progress.target))


def finding(progress: Progress, width: int) -> list[Text]:
    """Draw the reason why the run ended early, or the operation that does not return, or the worst finding so far."""
    if progress.trouble:
        return [line((fit(f" ✗ {progress.trouble}", width).rstrip(), BAD))]
    stall = progress.snapshot.stall if progress.snapshot else None
    if stall is not None and progress.snapshot is not None:
        waiting = [
            f"{device.device}: {counted(device.in_flight, 'request')} in flight"
            for device in figures.lowest_counters(progress.snapshot.counters, progress.target)
            if device.in_flight
        ]
        stalled = f" ▲ {stall.call} has not returned for {seconds(stall.elapsed_s)}"
        return [line((fit(" · ".join([stalled, *waiting]), width).rstrip(), BAD))]
    if progress.preparing and progress.preparing.silent_s:
        stalled = f" ▲ preparing the file: no answer for {seconds(progress.preparing.silent_s)}"
        return [line((fit(stalled, width).rstrip(), BAD))]
    if progress.judgement is None:
        return [line((" not judged yet", FAINT))]
    speed, worst = progress.judgement.speed, leading_finding(progress.judgement)
    glyph, style = speed_style(speed.answer)
    speed_badge = f" {glyph} {speed_label(speed.answer)} "
    more: list[Text] = []
    if worst is None or worst.verdict is None:
        drawn = line((" nothing found so far", FAINT))
    else:
        verdict_glyph, verdict = verdict_style(worst.verdict)
        badge = f" {verdict_glyph} {verdict_label(worst.verdict)} "
        confidence = f" {progress.judgement.confidence} confidence"
        left = max(width - cell_len(badge) - cell_len(speed_badge) - 3, 0)
        drawn = line((badge, f"reverse {verdict}"), fit(confidence, left).rstrip())
        if worst.verdict not in FREE_OF_DEFECTS:  # else the map needs the line more
            more = [line(fit(f" {finding_title(worst)}", width - 1))]
    drawn.append_text(line("  ", (speed_badge, f"reverse {style}")))
    space = width - drawn.cell_len - 2
    title = fit_list(fit_list(speed.title, width, FASTEST_STEP), space)
    if title.endswith("…"):  # name at least the step, because other steps may be far slower
        step = speed.title.partition(", ")[0].rpartition(" ")[0] if speed.answer == "normal" else ""
        title = fit(step, space).rstrip()
    return [drawn.append_text(line(f" {title}")), *more]


def _other_writers(progress: Progress, width: int) -> list[Text]:
    """Draw what other processes did to the lowest devices before the run, and which processes wrote the most."""
    idle = progress.idle
    if idle is None or not idle.elapsed_s:
        return []
    activity = []
    for device in figures.lowest_counters(idle.counters, progress.target):
        numbers = (("writes", device.writes), ("flushes", device.flushes))
        rates = [f"{count(number / idle.elapsed_s)} {what}/s" for what, number in numbers if number]
        if rates:
            activity.append(f"{device.device} {', '.join(rates)}")
    if not activity:
        return []
    parts = [*activity, *([f"by {names}"] if (names := figures.program_names(idle.writers)) else [])]
    return paragraph(f"other processes before the run: {', '.join(parts)}", width, style=FAINT)


def other_activity(stats: dict[str, IoStats], target: Target) -> StyledText:
    """Return a sentence about what other processes do to the lowest devices now, and its style; empty if nothing."""
    parts, style = [], FAINT
    for node in target.lowest:
        io = stats.get(node.id)
        if io is None or ((io.per_s("writes") or 0) + (io.per_s("flushes") or 0) < 1 and (io.busy or 0) < _IDLE_SHARE):
            continue
        activity = [
            "" if io.busy is None else f"{percent(min(io.busy, 1))} busy",
            "" if (writes := io.per_s("writes")) is None else f"{count(writes)} writes/s",
            "" if (flushes := io.per_s("flushes")) is None else f"{count(flushes)} flushes/s",
        ]
        parts.append(f"other processes use {node.id} now: {', '.join(filter(None, activity))}")
        style = WARNING if (io.busy or 0) >= BUSY_SHARE else style
    return "; ".join(parts), style


def _step(progress: Progress, index: int, name: str, columns: Sequence[Column], scale: LogScale) -> Text:
    planned, counts = progress.plan.steps[index], progress.counts
    values = {"STEP": name}
    if (step := progress.finished_steps.get(index)) is not None:
        glyph, style = step_style(step.status)
        if step.ops and not step.settings.uniform:
            return line(" ", (glyph, style), " " + text_row(columns, name, figures.figures_text(step)))
        if step.ops:
            values |= numbers(step, step.settings, counts, columns, scale)
        elif reason := figures.failure(step):
            return line(" ", (glyph, style), " " + fit(f"{name.rstrip()}: {reason}", _width(columns)))
    elif index == progress.current_index:
        glyph, style = "▸", HEAD
        if progress.snapshot and not planned.settings.uniform:
            return line(" ", (glyph, style), " " + text_row(columns, name, figures.figures_text(progress.snapshot)))
        if progress.snapshot:
            values |= numbers(progress.snapshot, planned.settings, counts, columns, scale)
    else:
        glyph, style = ("–", FAINT) if planned.skip else ("·", FAINT)
    running, waiting = index == progress.current_index, step is None
    styles = cell_styles(values, progress.judgement.verdict if progress.judgement else None)
    styles["STEP"] = HEAD if running else FAINT if waiting else ""
    return line(" ", (glyph, style), " ", *styled_row(columns, values, styles))


def cell_styles(values: Mapping[str, str], verdict: Verdict | None) -> dict[str, str]:
    """Return the styles of a step's cells by the titles of their columns. Red: the syncs sent no flush, or stalled."""
    no_flushes = verdict in NOT_DURABLE and values.get("FLUSH/SYNC") == ratio(0)
    stalled = BAD if values.get("STALLS", "0") != "0" else ""
    return {CURVE: TIME, "FLUSH/SYNC": BAD if no_flushes else "", "STALLS": stalled, "MAX": stalled}


def numbers(
    step: Step | Snapshot, settings: Settings, counts: figures.Counts, columns: Sequence[Column], scale: LogScale
) -> dict[str, str]:
    """Return the cells of a step that has a rate, by the titles of their columns."""
    curve = next((column.width for column in columns if column.title == CURVE), 0)
    label = "p95 " if settings.reports_own_figures and curve else ""  # of each second; no other percentile is known
    curve -= len(label)
    if isinstance(step, Snapshot) and step.length_s:  # a running step fills its curve from left to right
        curve = round(curve * min(step.elapsed_s / step.length_s, 1))
    return {
        CURVE: label + charts.sparkline(latency.timeline(step), curve, scale) if curve else "",
        **figures.step_cells(step, settings, counts),
    }


def text_row(columns: Sequence[Column], name: str, text: str) -> str:
    """Draw a step that has no rate: its name, and a text in place of the numbers."""
    first, *others = columns
    return fit_middle(name, first.width) + fit_right(text or NONE, _width(others))


def _label(node: Node, target: Target) -> str:
    below_filesystem = target.stack[0].below if target.stack else ()
    role = "lowest device" if node.lowest else target.fstype if node.id in below_filesystem else node.kind
    return f"{node.id}, {role}"


def _elapsed(progress: Progress, index: int) -> str:
    if index in progress.finished_steps:
        return "done"
    if progress.snapshot is None:
        return "starting"
    elapsed, length = progress.snapshot.elapsed_s, progress.snapshot.length_s
    if length is None or elapsed > length:  # a step goes on until it has enough operations
        return f"{elapsed:.1f} s" + (f", planned {length:g} s" if length else "")
    return f"{elapsed:.1f} of {length:g} s"


def _width(columns: Sequence[Column]) -> int:
    return sum(column.width + column.gap for column in columns)
