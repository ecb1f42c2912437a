"""The history: a row for each saved run, a chart of the runs on one storage, and the verdict of the selected run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from rich.text import Text

from fstui.model.judgement import VERDICTS
from fstui.model.quantities import rate
from fstui.model.run import Run
from fstui.report import history as report
from fstui.report.findings import leading
from fstui.report.latency_map import LogScale
from fstui.report.text import moment, verdict_word
from fstui.runs.history import ALTERED, Summary
from fstui.tui.drawing import charts
from fstui.tui.drawing.cells import Column, line, paragraph, rule, shown
from fstui.tui.drawing.report import section_lines
from fstui.tui.styles import AREA, DOUBT, FAINT, speed_style, verdict_style
from fstui.tui.widgets.lines import UNBOUNDED
from fstui.tui.widgets.table import TableContent, row_cells

_BAR, _LONG_BAR, _VERY_WIDE, _RATE = 8, 30, 150, 6
COLUMNS = (
    Column("", 1),
    Column("WHEN", 12),
    Column("VERDICT", 11, gap=2),
    Column("SPEED", 7, gap=2, from_width=89),
    Column("SCENARIO", 14, gap=2, from_width=63),
    Column("RATE/S", _RATE, gap=1, right=True),
    Column("BAR", _BAR, gap=1, from_width=73),
    Column("TARGET", gap=2, cut="left"),
    Column("RUN", 6, gap=2, from_width=95),
    Column("HOST", 12, gap=2, from_width=107),
    Column("NOTE", 28, gap=2, from_width=121),
)
_MIN_PICTURE = 8


def rows(runs: Sequence[Summary], width: int) -> TableContent:
    """Return a row for each run; its path is the key. The title of the bars names their scale."""
    bar = _LONG_BAR if width >= _VERY_WIDE else _BAR
    columns = shown([replace(one, width=bar) if one.title == "BAR" else one for one in COLUMNS], width - 1)
    scale = charts.scale_around(one.rate_per_s for one in runs)
    rows = {one.path: partial(_row, one, columns, scale, bar) for one in runs}
    return TableContent(columns, rows, {"BAR": f"{_power_of_ten(scale.low)}…{_power_of_ten(scale.high)}"})


def in_order(runs: Sequence[Summary], title: str) -> list[Summary]:
    """Sort by the column of that title: times and rates from the highest, verdicts from the worst, texts by letter."""
    newest_first = sorted(runs, key=lambda one: one.started_at, reverse=True)
    keys: dict[str, Callable[[Summary], Any]] = {
        "": lambda one: VERDICTS.index(one.verdict) if one.verdict else len(VERDICTS),
        "SPEED": lambda one: one.speed or "",
        "SCENARIO": lambda one: one.scenario,
        "RATE/S": lambda one: -one.rate_per_s,
        "TARGET": lambda one: one.target,
        "RUN": lambda one: one.id,
        "HOST": lambda one: one.hostname,
        "NOTE": lambda one: (not one.note, one.note),
    }
    keys |= {"VERDICT": keys[""], "BAR": keys["RATE/S"]}
    return sorted(newest_first, key=keys[title]) if title in keys else newest_first


def trend(summaries: Sequence[Summary], chosen: Summary, width: int) -> list[Text]:
    """Return how the rate changed in the runs of the same scenario on the same storage; nothing for a single run."""
    runs = next((one for one in report.series(summaries) if chosen in one), [])
    if len(runs) < 2:
        return []
    return [rule(width, f"{chosen.rate_of} by run"), *section_lines(report.trend(runs)._replace(title=""), width)]


def selected(summary: Summary, run: Run | None, width: int, height: int) -> list[Text]:
    """Return the verdict of a run, whether it is slow, what to do next and why, with a picture of its step below."""
    if run is None:
        return [rule(width, summary.id or "unreadable", moment(summary.started_at)), *_in_short(summary, width)]
    from fstui.tui.drawing import result  # noqa: PLC0415  not needed for the first frame

    lines = [
        rule(width, f"{summary.id}  {_target(summary)}", moment(summary.started_at)),
        result.verdict(run, width),
        *result.speed(run, width),
        *result.explanation(run, leading(run), width, UNBOUNDED),
    ]
    step = next((step for step in run.steps if step.name == summary.rate_of), None)
    return [*lines, *result.picture(run, step, width, max(height - len(lines), _MIN_PICTURE))]


def file(summary: Summary, width: int) -> list[Text]:
    words = summary.unreadable or (f"{summary.path}: {ALTERED}" if summary.altered else summary.path)
    words = f"“{summary.note}” {words}" if summary.note else words
    return paragraph(words, width - 2, " ", FAINT)


def _row(summary: Summary, columns: Sequence[Column], scale: LogScale, bar: int) -> list[Text]:
    word, known = report.answer(summary)
    glyph, style = verdict_style(known if summary.verdict else None)
    remarks = [one for one in report.remarks(summary) if one != "simulated" or not _path_says_simulated(summary)]
    values = {
        "": glyph,
        "WHEN": moment(summary.started_at, "%d %b %H:%M"),
        "VERDICT": "unreadable" if summary.unreadable else word if summary.verdict else "",
        "SPEED": summary.speed or "",
        "SCENARIO": summary.scenario,
        "TARGET": (summary.target or Path(summary.path).name) + (f" ({', '.join(remarks)})" if remarks else ""),
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


def _in_short(summary: Summary, width: int) -> list[Text]:
    if summary.unreadable:
        return paragraph(summary.unreadable, width - 2, "  ", DOUBT)
    if summary.verdict is None:
        return []
    glyph, style = verdict_style(summary.verdict)
    return [line(" ", (f"{glyph} {verdict_word(summary.verdict)}", style))]


def _path_says_simulated(one: Summary) -> bool:
    return bool(one.simulated) and one.target.startswith("/simulated/")


def _target(one: Summary) -> str:
    target = one.target or Path(one.path).name
    return target if not one.simulated or _path_says_simulated(one) else f"{target} SIMULATED"


def _rate(per_s: float) -> str:
    """Return a rate, in thousands if it would be cut otherwise: memory reaches a million syncs per second."""
    words = rate(per_s)
    return words if len(words) <= _RATE else f"{per_s / 1e3:.0f}k"


def _power_of_ten(per_s: float) -> str:
    return f"{per_s / 1e6:g}M" if per_s >= 1e6 else f"{per_s / 1e3:g}k" if per_s >= 1e3 else f"{per_s:g}"
