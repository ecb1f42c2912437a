"""The history: a row for each saved run, charts of runs on one filesystem, and the verdict of the selected run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from functools import partial
from itertools import takewhile
from math import ceil, sqrt
from pathlib import Path
from statistics import median
from typing import Any

from msgspec.structs import replace
from rich.text import Text

from fstui.model.documents import ALTERED
from fstui.model.judgement import NOT_TRUSTED, VERDICTS, Answer
from fstui.model.quantities import counted, rate, ratio
from fstui.model.run import Run
from fstui.report import history as report
from fstui.report.findings import leading_finding
from fstui.report.latency_map import LogScale
from fstui.report.text import NONE, cut_left, moment, speed_word, verdict_label
from fstui.runs.history import Summary
from fstui.tui.drawing import charts
from fstui.tui.drawing.cells import (
    Column,
    colour_meters,
    drawn_width,
    fit_columns,
    fit_list,
    fit_right,
    line,
    paragraph,
    plain_meter,
    row,
    rule,
    styled_row,
    window,
)
from fstui.tui.styles import AREA, FAINT, HEAD, KEY, WARNING, speed_style, verdict_style
from fstui.tui.widgets.lines import UNBOUNDED
from fstui.tui.widgets.table import TableContent, row_cells

_BAR_WIDTH, _MAX_BAR_WIDTH, _RATE_WIDTH = 30, 60, 6
_MAX_WIDTHS = {"SCENARIO": 24, "STEP": 24, "HOST": 12, "NOTE": 28}
_NARROW, _WIDE, _VERY_WIDE = 73, 107, 150
"""Widths in cells at which a table gets more columns."""
COLUMNS = (
    Column("", 1),
    Column("WHEN", 12),
    Column("VERDICT", 11, gap=2),
    Column("SPEED", 8, gap=2, from_width=_NARROW),
    Column("SCENARIO", 14, gap=2, from_width=63),
    Column("STEP", 16, gap=2, cut="middle", from_width=_WIDE),
    Column("RATE/S", _RATE_WIDTH, gap=1, right=True),
    Column("BAR", _BAR_WIDTH, gap=1, from_width=_VERY_WIDE),
    Column("× PRIOR", 7, gap=1, right=True, from_width=_WIDE),
    Column("RUN", 6, gap=2, from_width=_VERY_WIDE),
    Column("TARGET", gap=2, cut="left"),
    Column("HOST", 12, gap=2, from_width=121),
    Column("NOTE", 28, gap=2, from_width=121),
)
SERIES = (
    Column("", 1),
    Column("SCENARIO", 18, gap=2, from_width=_NARROW),
    Column("STEP", 16, gap=2, cut="middle", from_width=_WIDE),
    Column("RUNS", 4, gap=2, right=True),
    Column("FIRST/S", 7, gap=2, right=True),
    Column("LAST/S", 6, gap=2, right=True),
    Column("CHANGE", 7, gap=2, right=True),
    Column("OLD→NEW", 7, gap=2, from_width=_NARROW),
    Column("TARGET", gap=2, cut="left"),
)
TREND = (
    Column("WHEN", 15),
    Column("VERDICT", 11, gap=2, from_width=_WIDE),
    Column("SPEED", 8, gap=2, from_width=60),
    Column("RATE/S", _RATE_WIDTH, gap=2, right=True),
    Column("VS FIRST", 8, gap=2, right=True),
    Column("RUN", 6, gap=2, from_width=_WIDE),
    Column("NOTE", 28, gap=2, from_width=_WIDE),
    Column("BAR", gap=2),
)
_MARK = "*"
_MAX_RATES = 7
"""The number of runs whose rates are drawn in a row, oldest first."""
_BAD_SPEEDS: tuple[Answer, ...] = ("slow", "stalls")
_MIN_PICTURE_LINES, _MIN_LINES_WITH_PICTURE = 6, 12
"""Height of the smallest heat map, and of the smallest part that shows one: the next step comes first."""
_MIN_CHART_WIDTH, _MIN_CHART_LINES = 34, 6
_POINT, _CHOSEN_POINT = "●", "◆"


def rows(runs: Sequence[Summary], saved: Sequence[Summary], marked: Collection[str], width: int) -> TableContent:
    """Return a row for each run; its path is the key. The title of the BAR column is the range of its scale.

    ``saved``: the runs with whose rates these are compared. ``marked``: the ids of the runs that are marked for a
    comparison.
    """
    # one run of each set of settings; narrow columns have no room for the settings
    variants = list({f"{run.scenario} {run.settings}": run for run in runs}.values()) if width >= _WIDE else []
    columns = fit_columns(_sized_columns(runs, variants) if variants else COLUMNS, width)
    scale = charts.scale_around(run.rate_per_s for run in runs)
    series = {run.path: runs for runs in report.series(saved) for run in runs}
    rows = {
        run.path: partial(_row, run, columns, scale, variants, series.get(run.path, ()), is_marked=run.id in marked)
        for run in runs
    }
    return TableContent(columns, rows, {"BAR": charts.ends(scale)})


def _sized_columns(runs: Sequence[Summary], variants: Sequence[Summary]) -> list[Column]:
    """Return columns as wide as their texts. Leave out HOST if all runs have the same, and NOTE if none has one."""
    hosts = {run.hostname for run in runs}
    texts = {
        "SCENARIO": {_scenario(run, variants) for run in variants},
        "STEP": {run.rate_of for run in runs},
        "HOST": hosts if len(hosts) > 1 else {""},
        "NOTE": {run.note for run in runs},
    }
    widths = {title: min(max(map(drawn_width, shown)), _MAX_WIDTHS[title]) for title, shown in texts.items()}
    widths = {title: needed and max(needed, len(title)) for title, needed in widths.items()}
    shown = (column for column in COLUMNS if column.title not in ("STEP", "HOST", "NOTE") or widths[column.title])
    return [replace(column, width=widths.get(column.title, column.width)) for column in shown]


def earlier_runs(runs: Sequence[Summary], width: int, height: int) -> list[Text]:
    """Draw the runs on one filesystem."""
    if not runs:
        return [rule(width, "earlier runs"), *paragraph("No run on this filesystem is saved.", width)]
    columns, drawn, _ = rows(runs[: height - 2], runs, (), width - 4)
    return [
        rule(width, "earlier runs", f"{len(runs)} on this filesystem"),
        line((f"   {row(columns, {column.title: column.title for column in columns})}", FAINT)),
        *(line("   ").append_text(Text("").join(cells())) for cells in drawn.values()),
    ]


def sorted_by(runs: Sequence[Summary], title: str) -> list[Summary]:
    """Sort by a column: newest time first, highest rate first, worst verdict first, texts alphabetically."""
    newest_first = sorted(runs, key=lambda run: run.started_at, reverse=True)
    keys: dict[str, Callable[[Summary], Any]] = {
        "": lambda run: VERDICTS.index(run.verdict) if run.verdict else len(VERDICTS),
        "SPEED": lambda run: run.speed or "",
        "SCENARIO": lambda run: run.scenario,
        "STEP": lambda run: run.rate_of,
        "RATE/S": lambda run: -run.rate_per_s,
        "TARGET": lambda run: run.target,
        "RUN": lambda run: run.id,
        "HOST": lambda run: run.hostname,
        "NOTE": lambda run: (not run.note, run.note),
    }
    keys |= {"VERDICT": keys[""], "BAR": keys["RATE/S"]}
    return sorted(newest_first, key=keys[title]) if title in keys else newest_first


def trend(runs: Sequence[Summary], saved: Sequence[Summary], chosen: Summary, width: int, height: int) -> list[Text]:
    """Draw a row for each run of a series, the newest first, and charts of its steps. ``saved``: all saved runs.

    Without room for charts, the rows have bars.
    """
    name, notes = f"{chosen.rate_of}/s of {_scenario(chosen, saved)}", "ratios of single runs may be chance"
    others = report.runs_with_other_settings(chosen, saved)
    notes += f" · without {counted(others, 'run')} with other settings" if others else ""
    title = rule(width, name, fit_list(notes, width - len(name) - 10, " · "))
    top, newest_first = charts.round_up(max(run.rate_per_s for run in runs)), runs[::-1]
    rows_height = min(len(runs) + 2, height // 2)
    charts_height = height - rows_height if width >= _WIDE and height < UNBOUNDED else 0
    drawn_charts = _trend_charts(runs, chosen, width, charts_height)
    columns = fit_columns(TREND[:-1] if drawn_charts else TREND, width - 4)
    bar = min(columns[-1].width, _MAX_BAR_WIDTH)

    def draw(index: int) -> Text:
        run = newest_first[index]
        glyph, glyph_style = _glyph(run)
        style = verdict_style(run.verdict)[1]
        values = {
            "WHEN": moment(run.started_at, "%d %b %H:%M:%S"),
            "VERDICT": report.answer(run)[0],
            "SPEED": _speed(run),
            "RATE/S": _rate(run.rate_per_s),
            "BAR": plain_meter(run.rate_per_s / top, bar),
            "VS FIRST": "" if run == runs[0] else f"{run.rate_per_s / runs[0].rate_per_s:.2f} ×",
            "RUN": run.id,
            "NOTE": run.note,
        }
        styles = {"VERDICT": style, "SPEED": _speed_style(run)}
        mark, text_style = ("▸", HEAD) if run == chosen else (" ", "")  # the cursor is in the table above
        cells = [(text, style or text_style) for text, style in styled_row(columns, values, styles)]
        drawn = line((mark, KEY), (f"{glyph} ", glyph_style), *cells)
        colour_meters([drawn])
        return drawn

    titles = {column.title: column.title for column in columns} | {"BAR": f"0…{_rate(top)}"}
    rows = window(len(runs), draw, newest_first.index(chosen), height - len(drawn_charts) - 2)
    return [title, line((f"   {row(columns, titles)}", FAINT)), *rows, *drawn_charts]


def _trend_charts(runs: Sequence[Summary], chosen: Summary, width: int, height: int) -> list[Text]:
    """Draw the rate of each step by date, with a point for each run. Return nothing if there is no room."""
    names = list(runs[-1].rates_per_s)
    square, max_columns = ceil(sqrt(len(names))), max(width // _MIN_CHART_WIDTH, 1)
    # one column more than rows if that fills the last row
    columns = min(square if len(names) % (square + 1) else square + 1, max_columns)
    rows = (height - 2) // _MIN_CHART_LINES
    if rows < 1:
        return []
    cells = charts.cells_of(width, columns)
    try:
        times = [datetime.fromisoformat(run.started_at).timestamp() for run in runs]
    except ValueError:  # a document that was altered
        return []
    begin, length = min(times), max(max(times) - min(times), 1)
    places = [round((time - begin) / length * (2 * cells - 1)) for time in times]

    def chart(name: str) -> charts.Chart:
        known = [(place, run) for place, run in zip(places, runs, strict=True) if name in run.rates_per_s]
        values: list[float | None] = [None] * (2 * cells)
        for place, run in known:
            values[place] = run.rates_per_s[name]
        now, oldest = chosen.rates_per_s.get(name), known[0][1].rates_per_s[name]
        remark = f"{rate(now)}  {now / oldest:.2f} ×" if now else NONE
        points = tuple((place, _CHOSEN_POINT if run is chosen else _POINT) for place, run in known)
        return charts.Chart(charts.Figure(name, float, _rate, 0), tuple(values), remark, points)

    shown = tuple(map(chart, names[: rows * columns]))
    hidden = f"{len(names) - len(shown)} more in a larger window" if len(shown) < len(names) else ""
    notes = " · ".join(filter(None, (f"{_CHOSEN_POINT} the selected run, × compared with the first", hidden)))
    first, last = (moment(run.started_at, "%d %b %H:%M") for run in (runs[0], runs[-1]))
    axis = f"{first}{fit_right(last, cells - len(first))}"
    drawn = charts.chart_grid(shown, axis, columns, width, height - 1)
    return [rule(width, "rate per second by date", notes), *drawn]


def series_rows(series: Sequence[Sequence[Summary]], width: int) -> TableContent:
    """Return a row for each series of runs; the path of its last run is the key."""
    columns, lasts = fit_columns(SERIES, width), [runs[-1] for runs in series]
    return TableContent(columns, {runs[-1].path: partial(_series_row, runs, lasts, columns) for runs in series})


def _series_row(runs: Sequence[Summary], lasts: Sequence[Summary], columns: Sequence[Column]) -> list[Text]:
    first, last = runs[0], runs[-1]
    glyph, style = _glyph(last)
    rates = _rate(first.rate_per_s), _rate(last.rate_per_s), f"{last.rate_per_s / first.rate_per_s:.2f} ×"
    line_of_rates = charts.blocks([run.rate_per_s for run in runs[-_MAX_RATES:]])
    cells = (glyph, _scenario(last, lasts), last.rate_of, str(len(runs)), *rates, line_of_rates, _target(last))
    values = {column.title: cell for column, cell in zip(SERIES, cells, strict=True)}
    return row_cells(columns, values, {"": style, "OLD→NEW": AREA})


def selected_run(summary: Summary, run: Run | None, width: int, height: int, *, all_evidence: bool) -> list[Text]:
    """Draw the verdict, speed, next steps, evidence and a heat map. Unless ``all_evidence``, cut long evidence."""
    if run is None:
        return [rule(width, summary.id or "unreadable", moment(summary.started_at)), *_summary_lines(summary, width)]
    from fstui.tui.drawing import result  # noqa: PLC0415  not needed for the first frame

    lines = [
        rule(width, f"{summary.id}  {_target(summary)}", moment(summary.started_at)),
        result.verdict(run, width),
        *result.speed(run, width),
    ]
    step = next((step for step in run.steps if step.name == summary.rate_of), None)
    height_left = height - len(lines)
    has_timeline = step is not None and bool(step.timeline)
    has_picture = has_timeline and (all_evidence or height_left >= _MIN_LINES_WITH_PICTURE)
    if all_evidence:
        height_left = UNBOUNDED
    elif has_picture:
        height_left -= max(height_left * 4 // 7, _MIN_PICTURE_LINES)
    lines += result.explanation(run, leading_finding(run), width, height_left, brief=not all_evidence)
    if has_picture:
        lines += result.picture(run, step, width, max(height - len(lines), _MIN_PICTURE_LINES))
    return lines


def marked_line(run: Summary, width: int) -> Text:
    """Draw a run that is marked for a comparison: its row may not be visible."""
    measured = f"{run.rate_of} {rate(run.rate_per_s)}/s" if run.rate_per_s else ""
    mark = f" {_MARK} {run.id}  "
    text = "  ".join((moment(run.started_at, "%d %b %H:%M"), run.scenario, measured, ""))
    return line((mark, KEY), text, cut_left(_target(run), width - drawn_width(mark + text) - 1))


def note_lines(summary: Summary, width: int, *, in_table: bool) -> list[Text]:
    """Draw the note, unless the table shows it in full."""
    is_shown = in_table and len(summary.note) <= _MAX_WIDTHS["NOTE"]
    parts = (
        f"“{summary.note}”" if summary.note and not is_shown else "",
        f"{summary.path}: {ALTERED}" if summary.altered else "",
    )
    return paragraph(" ".join(filter(None, parts)), width, " ") if any(parts) else []


def _row(
    summary: Summary,
    columns: Sequence[Column],
    scale: LogScale,
    variants: Sequence[Summary],
    series: Sequence[Summary],
    *,
    is_marked: bool,
) -> list[Text]:
    earlier_rates = [run.rate_per_s for run in takewhile(lambda run: run.path != summary.path, series)]
    verdict_text, verdict = report.answer(summary)
    style = verdict_style(verdict if summary.verdict else None)[1]
    glyph, glyph_style = _glyph(summary)
    values = {
        "": _MARK if is_marked else glyph,
        "WHEN": moment(summary.started_at, "%d %b %H:%M"),
        "VERDICT": "unreadable" if summary.unreadable else verdict_text if summary.verdict else "",
        "SPEED": _speed(summary),
        "SCENARIO": _scenario(summary, variants),
        "STEP": summary.rate_of if summary.rate_per_s else "",
        "TARGET": _target_with_remarks(summary, next((each.width for each in columns if each.title == "TARGET"), 0)),
        "RATE/S": _rate(summary.rate_per_s) if summary.rate_per_s else "",
        "BAR": charts.bar(summary.rate_per_s, scale, _BAR_WIDTH),
        "× PRIOR": ratio(summary.rate_per_s / median(earlier_rates)) if earlier_rates else "",
        "RUN": summary.id,
        "HOST": summary.hostname,
        "NOTE": summary.note,
    }
    styles = {"": KEY if is_marked else glyph_style, "VERDICT": style, "BAR": AREA, "SPEED": _speed_style(summary)}
    return row_cells(columns, values, styles)


def _glyph(summary: Summary) -> tuple[str, str]:
    """Return the sign of the verdict, or of the speed if only the speed is bad."""
    _, verdict = report.answer(summary)
    if summary.speed in _BAD_SPEEDS and verdict not in NOT_TRUSTED:
        return speed_style(summary.speed)
    return verdict_style(verdict if summary.verdict else None)


def _speed(summary: Summary) -> str:
    return speed_word(summary.speed) if summary.speed else ""


def _speed_style(summary: Summary) -> str:
    return speed_style(summary.speed)[1] if summary.speed in _BAD_SPEEDS else ""


def _scenario(run: Summary, variants: Sequence[Summary]) -> str:
    return f"{run.scenario} {report.own_settings(run, variants)}".rstrip()


def _target_with_remarks(summary: Summary, width: int = UNBOUNDED) -> str:
    """Return the target and remarks such as ``(stopped)``. If this is too long, cut only the target."""
    remarks = [word for word in report.remarks(summary) if word != "simulated" or not _path_says_simulated(summary)]
    text = f" ({', '.join(remarks)})" if remarks else ""
    return cut_left(summary.target or Path(summary.path).name, max(width - len(text), 1)) + text


def _summary_lines(summary: Summary, width: int) -> list[Text]:
    if summary.unreadable:
        return paragraph(summary.unreadable, width, style=WARNING)
    if summary.verdict is None:
        return []
    glyph, style = verdict_style(summary.verdict)
    return [line(" ", (f"{glyph} {verdict_label(summary.verdict)}", style))]


def _path_says_simulated(summary: Summary) -> bool:
    return bool(summary.simulated) and summary.target.startswith("/simulated/")


def _target(summary: Summary) -> str:
    target = summary.target or Path(summary.path).name
    return target if not summary.simulated or _path_says_simulated(summary) else f"{target} SIMULATED"


def _rate(per_s: float) -> str:
    """Return a rate, in thousands if it is too long for the column: memory reaches a million syncs per second."""
    text = rate(per_s)
    return text if len(text) <= _RATE_WIDTH else f"{per_s / 1e3:.0f}k"
