"""A comparison of runs: what each run is, a table of all steps, and latency maps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from math import ceil

from msgspec.structs import replace
from rich.cells import cell_len
from rich.text import Text

from fstui.report import compare
from fstui.report.comparison import Comparison
from fstui.report.latency_map import LAST_RUN
from fstui.report.sections import Report, Section, cell_text
from fstui.report.text import NONE
from fstui.tui.drawing import latency
from fstui.tui.drawing.cells import (
    MIN_FRAME_WIDTH,
    Card,
    Column,
    fit_columns,
    headline,
    line,
    meter,
    paragraph,
    rule,
    styled_row,
    table,
    tell_apart,
)
from fstui.tui.drawing.report import section_lines
from fstui.tui.drawing.run import cell_styles
from fstui.tui.styles import AREA, FAINT, HEAD

_RATE, _BAR, _RATIO, _RATIO_WIDTH = "RATE/S", "VS BEST", "VS A", 8
_MIN_MAP_LINES, _FRAME_LINES, _OTHER_LINES = 8, 2, 2
STEPS = (
    Column("STEP", gap=0, cut="middle"),
    Column("", 3),
    Column(_RATE, 7, right=True),
    Column(_BAR, gap=2, from_width=46),
    Column(_RATIO, right=True, gap=2),
    Column("P50", 7, right=True, gap=2, from_width=82),
    Column("P99", 7, right=True, gap=2, from_width=60),
    Column("FLUSH/SYNC", 10, right=True, gap=2, from_width=72),
)


def blocks(report: Report, height: int = 0) -> list[Card]:
    """Return cards: the runs, the steps, and latency maps. They fill ``height``."""
    comparison = Comparison(report.runs)
    answer = report.sections[0]  # a headline above the cards
    shown = [section for section in report.text_sections if section is not answer and not section.only_in_documents]
    legend, *sections = shown
    steps = [section for section in sections if section.header == compare.RANKING_HEADER]
    notes = [note for section in sections if section.title == compare.NOTES_TITLE for note in section.lines]
    other_sections = [section for section in sections if section not in steps and section.title != compare.NOTES_TITLE]

    def draw(width: int) -> list[Text]:
        below = [part for note in notes for part in paragraph(note, width, style=FAINT)]
        about_runs = section_lines(legend, width)
        for text, side in product(about_runs, comparison.sides):
            text.highlight_regex(rf"^ *{side.letter}(?= )", _side_style(side.letter))
        return [*about_runs, rule(width, "steps"), *_steps(steps, comparison, width), *below]

    cards: list[Card] = [("runs", draw)]
    cards += [(section.title, partial(section_lines, section._replace(title=""))) for section in other_sections]

    def draw_maps(width: int) -> list[Text]:
        lines_above = len(headline(" ".join(answer.lines), width, ". "))
        lines_above += sum(len(lines(width)) + _FRAME_LINES for _, lines in cards)
        return _maps(views, width, height - _OTHER_LINES - lines_above)

    return [*cards, ("", draw_maps)] if (views := list(_views(comparison))) else cards


def _views(comparison: Comparison) -> Iterator[tuple[str, latency.LatencyView]]:
    """Yield a name and a view of each side for the step with the largest lead, else for the first, on one time axis."""
    lead = comparison.step_with_largest_lead
    common = (name for name in comparison.step_names if all(side.rates(name) for side in comparison.sides))
    if name := lead or next(common, None):
        middle_rounds = [(side, middle) for side in comparison.sides if (middle := side.step(name))]
        longest_s = max(middle.measured.elapsed_s for _, middle in middle_rounds)
        for side, middle in middle_rounds:
            title = f"{side.letter} {side.name}: {name}{', largest difference' if lead else ''}"
            view = latency.step_view(middle.run, middle.measured)
            marks = tuple(mark for mark in view.marks if mark.name != LAST_RUN)
            yield title, replace(view, marks=marks, length_s=max(longest_s, 1e-3))


def _maps(views: Sequence[tuple[str, latency.LatencyView]], width: int, height: int) -> list[Text]:
    """Draw as many maps side by side as fit, and the others below them."""
    maps_per_row = min(max(width // latency.MIN_WIDTH_WITH_MARKS, 1), len(views))
    lines = max(height // ceil(len(views) / maps_per_row), _MIN_MAP_LINES)
    return latency.heat_maps(views, maps_per_row, width, lines, frame=width >= MIN_FRAME_WIDTH)


def _steps(steps: Sequence[Section], comparison: Comparison, width: int) -> list[Text]:
    """Draw a row for each side of each step, with bars, and remarks below. ``≈``: no side of two is clearly faster."""
    names = [step.title for step in steps]
    unclear = {name for name in names if len(comparison.sides) == 2 and not comparison.lead(name)}
    ranks = {(name, rank.side.letter): rank for name in names for rank in comparison.ranking(name)}
    fastest = {name: ranking[0].step.rate_per_s for name in names if (ranking := comparison.comparable(name))}
    ratios = {
        (name, letter): f"{'≈ ' * (name in unclear)}{ratio}"
        for name in names
        for letter, ratio in comparison.ratios(name).items()
    }
    step_width = min(max(map(cell_len, names), default=0), width * 3 // 10)
    ratio_width = max(map(cell_len, (_RATIO, *ratios.values())))
    extra = max(ratio_width - _RATIO_WIDTH, 0)  # long ratios need a wider screen
    widths = {"STEP": step_width, _RATIO: ratio_width}
    columns = [
        replace(each, width=widths.get(each.title, each.width), from_width=each.from_width and each.from_width + extra)
        for each in STEPS
    ]
    if not any(cell_text(row[2]) for step in steps for row in step.rows):  # no rates are compared
        columns = [replace(each, from_width=0) for each in columns if each.title not in {_BAR, _RATIO}]
    bar_width = next((column.width for column in fit_columns(columns, width - 4) if column.title == _BAR), 0)
    if bar_width < len(_BAR):
        columns = [column for column in columns if column.title != _BAR]
    drawn, fitting = table(columns, (), width), fit_columns(columns, width - 4)
    for name, step in zip(tell_apart(names, step_width), steps, strict=True):
        for index, (letter, per_s, drawn_bar, _, *figures) in enumerate(step.rows):
            key = step.title, cell_text(letter)[0]
            rank, colour = ranks.get(key), _side_style(key[1])
            lossy = FAINT if rank and rank.is_lossy else ""
            ratio = ratios.get(key, NONE) if index else ""  # the first side is always 1.00 ×
            share = rank.step.rate_per_s / fastest[step.title] if rank and cell_text(drawn_bar) else 0.0
            bar = meter(share, bar_width, "")[0][0]
            cells = ("" if index else name, letter, per_s, bar, ratio, *figures)
            values = dict(zip((column.title for column in STEPS), map(cell_text, cells), strict=True))
            styles = cell_styles(values, rank.side.run.verdict if rank and lossy else None)
            styles |= {"": colour, _RATE: lossy, _BAR: colour, _RATIO: FAINT if step.title in unclear else HEAD}
            styles |= {"P50": lossy, "P99": lossy}
            drawn.append(line("   ", *styled_row(fitting, values, styles)))
        drawn += _remarks(step, width)
    return drawn


def _side_style(letter: str) -> str:
    return AREA if ord(letter) % 2 else HEAD


def _remarks(step: Section, width: int) -> list[Text]:
    return paragraph(" · ".join(step.lines), width, "     ", FAINT) if step.lines else []
