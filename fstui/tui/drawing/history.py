"""The saved runs: a row for each, how their storage has done from run to run, and what the chosen one says."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from msgspec.structs import replace
from rich.cells import cell_len
from rich.text import Text

from fstui.model.quantities import rate
from fstui.model.run import Run
from fstui.report import history as report
from fstui.report.findings import leading
from fstui.report.text import moment
from fstui.runs.history import ALTERED, Summary
from fstui.tui.drawing import charts
from fstui.tui.drawing.cells import (
    Column,
    fit,
    fit_left,
    fit_right,
    line,
    rule,
    shown,
    wrapped,
)
from fstui.tui.drawing.cells import Run as Words
from fstui.tui.styles import DOUBT, FAINT, HEAD, HEAT, not_bold, speed_style, verdict_style, verdict_word
from fstui.tui.widgets.table import Rows, row_cells

_BAR, _LONG_BAR, _VERY_WIDE, _RATE = 8, 30, 150, 6
COLUMNS = (
    Column("", 1),
    Column("WHEN", 12),
    Column("VERDICT", 11, gap=2),
    Column("SLOW?", 7, gap=2, from_width=89),
    Column("SCENARIO", 14, gap=2, from_width=63),
    Column("RATE/S", _RATE, gap=1, right=True),
    Column("BAR", _BAR, gap=1, from_width=73),
    Column("TARGET", gap=2, cut="left"),
    Column("RUN", 6, gap=2, from_width=95),
    Column("HOST", 12, gap=2, from_width=107),
    Column("NOTE", 28, gap=2, from_width=121),
)
_LEAST_PICTURE = 6
_LABEL = 9
_WIDEST_BAR = 14
_ENDS = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
"""Of the rates' axis."""
NO_RATE = "It has no rate, so that it is no part of a trend."
_NOT_SAID = {"simulated"}
"""Remarks that a target's path says, too."""


def rows(runs: Sequence[Summary], width: int) -> Rows:
    """Return a row for each run, by its path. The title of the bars names their scale."""
    bar = _LONG_BAR if width >= _VERY_WIDE else _BAR
    columns = shown([replace(one, width=bar) if one.title == "BAR" else one for one in COLUMNS], width - 1)
    scale = charts.scale_around(one.rate_per_s for one in runs)
    cells, day = {}, ""
    for one in runs:
        drawn = charts.bar(one.rate_per_s, scale, bar)
        cells[one.path] = _row(one, columns, drawn, same_day=one.started_at[:10] == day)
        day = one.started_at[:10]
    return Rows(columns, cells, {"BAR": f"{_short(scale.low)}…{_short(scale.high)}"})


def chart(summaries: Sequence[Summary], chosen: Summary, width: int, height: int) -> list[Text]:
    """The chosen run among those of the same scenario on the same storage: a bar each, in its verdict's colour."""
    runs = next((one for one in report.series(summaries) if chosen in one), None)
    if runs is None:
        return [rule(width, "trend"), *(line(part) for part in wrapped(NO_RATE, width - 2, indent="  "))]
    cells = width - _LABEL - 2
    recent = _about(runs, chosen, max(cells // 2, 1))
    each = max(min(cells // len(recent), _WIDEST_BAR), 2)
    first, last = runs[0], runs[-1]
    change = f"{last.rate_per_s / first.rate_per_s:.2f} × the first of {len(runs)}" if len(runs) > 1 else ""
    lines = [rule(width, f"{chosen.rate_of}, run by run", change)]
    lines += _upright(recent, chosen, each, max(height - 3, 1)) if height > 3 else []
    return [*lines, _signs(recent, chosen, each), _picked(recent, chosen, each, width)]


def elsewhere(summaries: Sequence[Summary], chosen: Summary, width: int, height: int) -> list[Text]:
    """The newest run of the same step on every storage, the fastest first; nothing where there is but one."""
    newest = [
        one[-1]
        for one in report.series(summaries)
        if (one[-1].scenario, one[-1].rate_of) == (chosen.scenario, chosen.rate_of)
    ]
    newest.sort(key=lambda one: -one.rate_per_s)
    if len(newest) < 2 or height < 3:
        return []
    scale = charts.scale_around(one.rate_per_s for one in newest)
    room = max((width - 4) * 2 // 5, 10)
    name = min(max(cell_len(_where(one)) for one in newest), room)
    cells = width - name - 17
    lines = [rule(width, f"{chosen.scenario} on every storage", "newest runs")]
    for one in newest[: height - 1]:
        here = report.storage(one) == report.storage(chosen)
        glyph, style = verdict_style(one.verdict)
        lines.append(
            line(
                ("▌" if here else " ", HEAD), (f"{glyph} ", style), (fit_left(_where(one), name), HEAD if here else ""),
                (f" {fit_right(rate(one.rate_per_s), 7)}/s ", HEAD if here else ""),
                (charts.bar(one.rate_per_s, scale, cells), not_bold(style)),
            )
        )  # fmt: skip
    return lines


def told(summary: Summary, run: Run | None, width: int, height: int) -> list[Text]:
    """What it says: the word, whether it is slow, the sentence, what to do next, and a picture where there is room."""
    if run is None:
        return [rule(width, summary.id or "unreadable", moment(summary.started_at)), *_in_short(summary, width)]
    from fstui.tui.drawing import result  # noqa: PLC0415  it comes with the judge, after the first frame

    deciding = leading(run)
    lines = [rule(width, f"{summary.id}  {_where(summary)}", moment(summary.started_at))]
    lines += [result.verdict(run, width), *result.speed(run, width)]
    words = result.explanation(run, deciding, width, max(height - len(lines), 3))
    picture = result.step_of(run, deciding)
    room = height - len(lines) - len(words)
    if room < _LEAST_PICTURE and picture and height >= 2 * _LEAST_PICTURE:
        words = words[: max(height - len(lines) - _LEAST_PICTURE, 2)]
        room = height - len(lines) - len(words)
    drawn = result.picture(run, picture, width, room) if room >= _LEAST_PICTURE else []
    return [*lines, *words, *drawn]


def where(summary: Summary, width: int) -> list[Text]:
    words = summary.unreadable or (f"{summary.path}: {ALTERED}" if summary.altered else summary.path)
    words = f"“{summary.note}” {words}" if summary.note else words
    return [line((part, FAINT)) for part in wrapped(words, width - 2, indent=" ")]


def _rate(per_s: float) -> str:
    """Whole, or in thousands where it would be cut: memory does a million a second."""
    words = rate(per_s)
    return words if len(words) <= _RATE else f"{per_s / 1e3:.0f}k"


def _row(summary: Summary, columns: Sequence[Column], bar: str, *, same_day: bool) -> list[Text]:
    glyph, style = verdict_style(summary.verdict)
    remarks = [one for one in report.remarks(summary) if one not in _NOT_SAID or not _says_so(summary)]
    values = {
        "": glyph,
        "WHEN": _day(summary.started_at),
        "VERDICT": "unreadable" if summary.unreadable else summary.verdict or "",
        "SLOW?": summary.speed or "",
        "SCENARIO": summary.scenario,
        "TARGET": (summary.target or Path(summary.path).name) + (f" ({', '.join(remarks)})" if remarks else ""),
        "RATE/S": _rate(summary.rate_per_s) if summary.rate_per_s else "",
        "BAR": bar,
        "RUN": summary.id,
        "HOST": summary.hostname,
        "NOTE": summary.note,
    }
    styles = {"": style, "WHEN": FAINT if same_day else "", "VERDICT": style, "BAR": HEAT[0]}
    if summary.speed in ("slow", "stalls"):
        styles["SLOW?"] = speed_style(summary.speed)[1]
    return row_cells(columns, values, styles)


def _in_short(summary: Summary, width: int) -> list[Text]:
    """Before its document was read, or where it cannot be."""
    if summary.unreadable:
        return [line((part, DOUBT)) for part in wrapped(summary.unreadable, width - 2, indent="  ")]
    if summary.verdict is None:
        return []
    glyph, style = verdict_style(summary.verdict)
    return [line(" ", (f"{glyph} {verdict_word(summary.verdict)}", style))]


def _upright(runs: Sequence[Summary], chosen: Summary, each: int, tall: int) -> list[Text]:
    highest = charts.round_up(max(one.rate_per_s for one in runs), _ENDS)
    signs = charts.columns([one.rate_per_s / highest for one in runs], tall)
    lines = []
    for at, row in enumerate(signs):
        label = rate(highest) if at == 0 else rate(highest / 2) if at == tall // 2 and tall > 3 else ""
        parts: list[Words] = [(f"{label:>{_LABEL - 2}} {'┤' if label else '│'}", FAINT)]
        for one, sign in zip(runs, row, strict=True):
            style = verdict_style(one.verdict)[1]
            parts.append((sign * (each - 1) + " ", style if one is chosen else not_bold(style)))
        lines.append(line(*parts))
    return lines


def _signs(runs: Sequence[Summary], chosen: Summary, each: int) -> Text:
    parts: list[Words] = [(" " * _LABEL, "")]
    for one in runs:
        glyph, style = verdict_style(one.verdict)
        parts.append((fit(" " * ((each - 2) // 2) + glyph, each), style if one is chosen else not_bold(style)))
    return line(*parts)


def _picked(runs: Sequence[Summary], chosen: Summary, each: int, width: int) -> Text:
    """Which bar is the chosen run's, and when that was."""
    at = _LABEL + runs.index(chosen) * each + (each - 2) // 2
    words = f"▲ {moment(chosen.started_at)}, {rate(chosen.rate_per_s)}/s"
    if at + len(words) >= width:
        words = f"{words[2:]} ▲"
        at -= len(words) - 1
    return line(" " * max(at, 0), (words, HEAD))


def _about(runs: Sequence[Summary], chosen: Summary, most: int) -> Sequence[Summary]:
    """The newest, the chosen one among them."""
    end = max(min(runs.index(chosen) + most // 2 + 1, len(runs)), min(most, len(runs)))
    return runs[max(end - most, 0) : end]


def _says_so(one: Summary) -> bool:
    return bool(one.simulated) and one.target.startswith("/simulated/")


def _where(one: Summary) -> str:
    target = one.target or Path(one.path).name
    return target if not one.simulated or _says_so(one) else f"{target} SIMULATED"


def _short(per_s: float) -> str:
    """A power of ten: ``100``, ``10k``."""
    return f"{per_s / 1e6:g}M" if per_s >= 1e6 else f"{per_s / 1e3:g}k" if per_s >= 1e3 else f"{per_s:g}"


def _day(started_at: str) -> str:
    try:
        return datetime.fromisoformat(started_at).strftime("%d %b %H:%M")
    except ValueError:
        return ""
