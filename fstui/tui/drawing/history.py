"""The history: a row for each saved run, a chart of the runs on one storage, and the verdict of the selected run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from rich.text import Text

from fstui.model.judgement import VERDICTS
from fstui.model.quantities import counted, rate
from fstui.model.run import Run
from fstui.report import history as report
from fstui.report.findings import leading_finding
from fstui.report.latency_map import LogScale
from fstui.report.text import moment, verdict_label
from fstui.runs.history import ALTERED, Summary
from fstui.tui.drawing import charts
from fstui.tui.drawing.cells import Card, Column, drawn_width, fit, fit_columns, line, paragraph, rule
from fstui.tui.styles import AREA, WARNING, FAINT, speed_style, verdict_style
from fstui.tui.widgets.lines import UNBOUNDED
from fstui.tui.widgets.table import TableContent, row_cells

_BAR_WIDTH, _RATE_WIDTH, _MAX_TARGET = 8, 6, 40
_NARROW, _WIDE, _VERY_WIDE = 73, 107, 150
COLUMNS = (
    Column("", 1),
    Column("WHEN", 12),
    Column("VERDICT", 11, gap=2),
    Column("SPEED", 7, gap=2, from_width=89),
    Column("SCENARIO", 14, gap=2, from_width=63),
    Column("STEP", 16, gap=2, cut="middle", from_width=_WIDE),
    Column("RATE/S", _RATE_WIDTH, gap=1, right=True),
    Column("BAR", _BAR_WIDTH, gap=1, from_width=_NARROW),
    Column("TARGET", gap=2, cut="left"),
    Column("RUN", 6, gap=2, from_width=95),
    Column("HOST", 12, gap=2, from_width=121),
    Column("NOTE", 28, gap=2, from_width=121),
)
_MIN_PICTURE_LINES = 8
_AXIS_CELLS = 8
_MIN_TREND_ROWS, _MAX_TREND_ROWS, _CARD_LINES = 4, 36, 5
"""Lines of the bars of a trend; lines of a card besides them: its frame, a sentence and the labels of the bars."""
_LABEL_CELLS, _DATED_BAR_CELLS, _MAX_BAR_CELLS = 8, 23, 24
"""Minimum widths of a bar whose label contains the rate, and the date as well; maximum width of a bar."""


def rows(runs: Sequence[Summary], width: int) -> TableContent:
    """Return a row for each run; its path is the key. The title of the bars names their scale."""
    columns: Sequence[Column] = COLUMNS
    if width >= _VERY_WIDE:  # the bars take the cells that paths leave
        widths = {"BAR": 0, "TARGET": min(max((drawn_width(_where(run)) for run in runs), default=0), _MAX_TARGET)}
        columns = tuple(replace(column, width=widths.get(column.title, column.width)) for column in COLUMNS)
    columns = fit_columns(columns, width)
    scale = charts.scale_around(run.rate_per_s for run in runs)
    bar = next((column.width for column in columns if column.title == "BAR"), 0)
    rows = {run.path: partial(_row, run, columns, scale, bar) for run in runs}
    return TableContent(columns, rows, {"BAR": f"{_power_of_ten(scale.low)}…{_power_of_ten(scale.high)}"})


def earlier_runs(runs: Sequence[Summary], width: int, height: int) -> list[Text]:
    """Draw the runs on one filesystem, without target, id, host and note."""
    if not runs:
        return [rule(width, "earlier runs"), *paragraph("No run on this filesystem is saved.", width)]
    left_out = ("TARGET", "RUN", "HOST", "NOTE")
    columns = [
        replace(column, from_width=0, width=0 if column.title == "STEP" else column.width)
        for column in COLUMNS
        if column.title not in left_out
    ]
    fitting = fit_columns(columns, width - 4)
    scale = charts.scale_around(run.rate_per_s for run in runs)
    heads = row_cells(fitting, {column.title: column.title for column in fitting if column.title != "BAR"}, {})
    drawn = [Text("").join(_row(run, fitting, scale, _BAR_WIDTH)) for run in runs[: height - 2]]
    table = [
        line(("   " + "".join(head.plain for head in heads), FAINT)),
        *(line("   ").append(text) for text in drawn),
    ]
    return [rule(width, "earlier runs", f"{len(runs)} on this filesystem"), *table]


def rate_of(runs: Sequence[Summary], width: int) -> str:
    """Name the step that all rates belong to, unless a column shows it or the rates belong to different steps."""
    names = {run.rate_of for run in runs if run.rate_per_s}
    return f"rates of {names.pop()}" if _NARROW <= width < _WIDE and len(names) == 1 else ""


def sorted_by(runs: Sequence[Summary], title: str) -> list[Summary]:
    """Sort by the column of that title: times and rates from the highest, verdicts from the worst, texts by letter."""
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


def trend(summaries: Sequence[Summary], chosen: Summary, width: int, rows: int) -> list[Text]:
    """Draw how the rate changed in the runs of a series, all but the chosen one dimmed; nothing for a single run."""
    runs = next((runs for runs in report.series(summaries) if chosen in runs), [])
    if len(runs) < 2:
        return []
    times = f"{runs[-1].rate_per_s / runs[0].rate_per_s:.2f} × the first"
    title = rule(width, f"{chosen.rate_of} by run", f"{counted(len(runs), 'finished run')}, the last {times}")
    return [title, *_bars(runs, chosen, width, rows)]


def trends(summaries: Sequence[Summary], height: int, columns: int) -> list[Card]:
    """Return a card for each series of at least two runs: a sentence and bars. Together the cards fill ``height``."""
    repeated = [runs for runs in report.series(summaries) if len(runs) > 1]
    room = height // -(-len(repeated) // columns) if repeated else 0
    rows = min(max(room - _CARD_LINES, _MIN_TREND_ROWS), _MAX_TREND_ROWS)

    def draw(sentences: Sequence[str], runs: Sequence[Summary], width: int) -> list[Text]:
        words = [part for sentence in sentences for part in paragraph(sentence, width)]
        return [*words, *_bars(runs, None, width, rows)]

    sections = map(report.trend, repeated)
    return [(part.title, partial(draw, part.lines, runs)) for part, runs in zip(sections, repeated, strict=True)]


def _bars(runs: Sequence[Summary], chosen: Summary | None, width: int, rows: int) -> list[Text]:
    """Draw a bar for each of the last runs, on an axis from zero. If one is chosen, the others are dimmed."""
    room = width - _AXIS_CELLS - 1
    recent = runs[-(room // 2) :]
    cells = min(room // len(recent), _MAX_BAR_CELLS)
    end = charts.round_up(max(run.rate_per_s for run in recent))
    eighths = [max(round(run.rate_per_s / end * 8 * rows), 1) for run in recent]
    styles = [AREA if chosen in (None, run) else f"dim {AREA}" for run in recent]
    lines = []
    for row in reversed(range(rows)):
        tick = {rows - 1: _rate(end), 0: "0"}.get(row, "")
        axis = f"{tick:>{_AXIS_CELLS - 2}} {'┤' if tick else '│'}"
        bars = (f"{charts.block(full, row) * (cells - 1)} " for full in eighths)
        lines.append(line((axis, FAINT), *zip(bars, styles, strict=True)))
    labels = (_bar_label(run, cells) for run in recent)
    lines.append(line(" " * _AXIS_CELLS, *((fit(words, cells), style) for words, style in labels)))
    return lines


def _bar_label(run: Summary, cells: int) -> tuple[str, str]:
    glyph, style = verdict_style(run.verdict)
    rate_words = f" {_rate(run.rate_per_s)}" if cells >= _LABEL_CELLS else ""
    when = f"  {moment(run.started_at, '%d %b %H:%M')}" if cells >= _DATED_BAR_CELLS else ""
    return f"{glyph}{rate_words}{when}", style


def selected_run(summary: Summary, run: Run | None, width: int, height: int, *, whole: bool) -> list[Text]:
    """Draw the verdict, speed, next steps, evidence and a heat map. Unless ``whole``, cut evidence that is too long."""
    if run is None:
        return [rule(width, summary.id or "unreadable", moment(summary.started_at)), *_summary_lines(summary, width)]
    from fstui.tui.drawing import result  # noqa: PLC0415  not needed for the first frame

    measured = f"{summary.rate_of} {rate(summary.rate_per_s)}/s · " if summary.rate_per_s else ""
    lines = [
        rule(width, f"{summary.id}  {_target(summary)}", measured + moment(summary.started_at)),
        result.verdict(run, width),
        *result.speed(run, width),
    ]
    step = next((step for step in run.steps if step.name == summary.rate_of), None)
    room = height - len(lines)
    words = result.explanation(run, leading_finding(run), width, UNBOUNDED if whole else room - _MIN_PICTURE_LINES)
    if whole or room - len(words) >= _MIN_PICTURE_LINES:
        return [*lines, *words, *result.picture(run, step, width, max(room - len(words), _MIN_PICTURE_LINES))]
    return [*lines, *result.explanation(run, leading_finding(run), width, room)]


def file_lines(summary: Summary, width: int) -> list[Text]:
    words = summary.unreadable or (f"{summary.path}: {ALTERED}" if summary.altered else summary.path)
    words = f"“{summary.note}” {words}" if summary.note else words
    return paragraph(words, width, " ")


def _row(summary: Summary, columns: Sequence[Column], scale: LogScale, bar: int) -> list[Text]:
    word, verdict = report.answer(summary)
    glyph, style = verdict_style(verdict if summary.verdict else None)
    values = {
        "": glyph,
        "WHEN": moment(summary.started_at, "%d %b %H:%M"),
        "VERDICT": "unreadable" if summary.unreadable else word if summary.verdict else "",
        "SPEED": summary.speed or "",
        "SCENARIO": summary.scenario,
        "STEP": summary.rate_of if summary.rate_per_s else "",
        "TARGET": _where(summary),
        "RATE/S": _rate(summary.rate_per_s) if summary.rate_per_s else "",
        "BAR": charts.bar(summary.rate_per_s, scale, bar),
        "RUN": summary.id,
        "HOST": summary.hostname,
        "NOTE": summary.note,
    }
    styles = {"": style, "VERDICT": style, "BAR": AREA}
    if summary.speed in ("slow", "stalls"):
        styles["SPEED"] = speed_style(summary.speed)[1]
    return row_cells(columns, values, styles)


def _where(summary: Summary) -> str:
    remarks = [word for word in report.remarks(summary) if word != "simulated" or not _path_says_simulated(summary)]
    return (summary.target or Path(summary.path).name) + (f" ({', '.join(remarks)})" if remarks else "")


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
    """Return a rate, in thousands if it would be cut otherwise: memory reaches a million syncs per second."""
    words = rate(per_s)
    return words if len(words) <= _RATE_WIDTH else f"{per_s / 1e3:.0f}k"


def _power_of_ten(per_s: float) -> str:
    return f"{per_s / 1e6:g}M" if per_s >= 1e6 else f"{per_s / 1e3:g}k" if per_s >= 1e3 else f"{per_s:g}"
