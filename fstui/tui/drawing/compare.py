"""A comparison of runs: what each run is, a table of all steps, and latency maps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from msgspec.structs import replace
from rich.cells import cell_len
from rich.text import Text

from fstui.report import compare
from fstui.report.comparison import NOT_DURABLE_TEXT as NOT_DURABLE
from fstui.report.comparison import Comparison, ratio_of
from fstui.report.latency_map import LAST_RUN, LogScale
from fstui.report.sections import Report, Section, cell_text, cell_value
from fstui.report.text import NONE
from fstui.tui.drawing import charts, latency
from fstui.tui.drawing.cells import (
    MIN_FRAME_WIDTH,
    Card,
    Column,
    colour_meters,
    fit_columns,
    fit_right,
    headline,
    paragraph,
    plain_meter,
    rule,
    table,
    tell_apart,
)
from fstui.tui.drawing.report import section_lines
from fstui.tui.styles import AREA, BAD, FAINT, HEAD

_BAR_TITLE, _MIN_BAR_WIDTH, _MAX_BAR_WIDTH, _RATIO, _RATIO_WIDTH = " ", 5, 60, "VS A", 8
_MIN_MAP_LINES, _FRAME_LINES, _OTHER_LINES = 8, 2, 2
STEPS = (
    Column("STEP", gap=0, cut="middle"),
    Column("", 1),
    Column("RATE/S", 7, right=True),
    Column(_BAR_TITLE, gap=2, from_width=46),
    Column(_RATIO, right=True),
    Column("P50", 7, right=True, gap=2, from_width=60),
    Column("P99", 7, right=True, gap=2, from_width=60),
    Column("FLUSH/SYNC", 10, right=True, gap=2, from_width=72),
)
_B_RATIO, _HALF_BAR, _LEAD_SCALE = "B VS A", 3, LogScale(1.0, 5.0)
SIDE_BY_SIDE = (
    Column("STEP", gap=0, cut="middle"),
    Column("A RATE/S", 8, right=True),
    Column("B RATE/S", 8, right=True),
    Column(_B_RATIO, right=True),
    Column("A ◂▸ B", 2 * _HALF_BAR, gap=2, from_width=75),
    Column("A P99", 7, right=True, gap=2, from_width=66),
    Column("B P99", 7, right=True, gap=2, from_width=66),
)
"""The columns of two runs on a narrow screen: one row per step, so that more steps fit."""


def blocks(report: Report, height: int = 0) -> list[Card]:
    """Return cards: the runs, the steps, and latency maps of the step whose rates differ most. They fill ``height``."""
    comparison = Comparison(report.runs)
    answer = report.sections[0]  # a headline above the cards
    shown = [section for section in report.filled_sections if section is not answer and not section.only_in_documents]
    legend, *sections = shown
    steps = [section for section in sections if section.header == compare.RANKING_HEADER]
    notes = [note for section in sections if section.title == compare.NOTES_TITLE for note in section.lines]
    other_sections = [section for section in sections if section not in steps and section.title != compare.NOTES_TITLE]

    about_ratios = [note for note in notes if note == comparison.trust.note]
    others = [note for note in notes if note not in about_ratios]

    def draw_notes(shown: Sequence[str], width: int) -> list[Text]:
        return [part for note in shown for part in paragraph(note, width, style=FAINT)]

    def draw(width: int) -> list[Text]:
        side_by_side = width < MIN_FRAME_WIDTH and len(legend.rows) == 2
        rows = (_side_by_side if side_by_side else _steps)(steps, comparison, width)
        above, below = draw_notes(about_ratios, width), draw_notes(others, width)
        return [*section_lines(legend, width), rule(width, "steps"), *above, *rows, *below]

    cards: list[Card] = [("runs", draw)]
    cards += [(section.title, partial(section_lines, section._replace(title=""))) for section in other_sections]

    def draw_maps(width: int) -> list[Text]:
        lines_above = len(headline(" ".join(answer.lines), width, ". "))
        lines_above += sum(len(lines(width)) + _FRAME_LINES for _, lines in cards)
        return _maps(views, width, height - _OTHER_LINES - lines_above)

    return [*cards, ("", draw_maps)] if (views := list(_views(comparison))) else cards


def _views(comparison: Comparison) -> Iterator[tuple[str, latency.LatencyView]]:
    """Yield a name and a view for each side of the step with the largest lead, with a common time axis."""
    if (name := comparison.step_with_largest_lead) is not None:
        middle_rounds = [(side, middle) for side in comparison.sides if (middle := side.step(name))]
        longest_s = max(middle.measured.elapsed_s for _, middle in middle_rounds)
        for side, middle in middle_rounds:
            title = f"{side.letter} {side.name}: {name}, largest difference"
            view = latency.step_view(middle.run, middle.measured)
            marks = tuple(mark for mark in view.marks if mark.name != LAST_RUN)
            yield title, replace(view, marks=marks, length_s=max(longest_s, 1e-3))


def _maps(views: Sequence[tuple[str, latency.LatencyView]], width: int, height: int) -> list[Text]:
    """Draw as many maps side by side as fit, and the others below them."""
    maps_per_row = min(max(width // latency.MIN_WIDTH_WITH_MARKS, 1), len(views))
    rows = [views[start : start + maps_per_row] for start in range(0, len(views), maps_per_row)]
    lines = max(height // len(rows), _MIN_MAP_LINES)
    return [part for row in rows for part in latency.heat_maps(row, width, lines, frame=width >= MIN_FRAME_WIDTH)]


def _steps(steps: Sequence[Section], comparison: Comparison, width: int) -> list[Text]:
    """Draw a row for each side of each step, with bars, and remarks below. ``≈``: no side of two is clearly faster."""
    names = [step.title for step in steps]
    unclear = {step.title for step in steps if len(comparison.sides) == 2 and not comparison.lead(step.title)}
    ratios = [cell_len(cell_text(row[3])) + 2 * (step.title in unclear) for step in steps for row in step.rows]
    widths = {"STEP": min(max(map(cell_len, names), default=0), width * 3 // 10), _RATIO: max([len(_RATIO), *ratios])}
    extra = max(widths[_RATIO] - _RATIO_WIDTH, 0)
    columns = [
        replace(each, width=widths.get(each.title, each.width), from_width=each.from_width and each.from_width + extra)
        for each in STEPS
    ]
    bar_width = next((column.width for column in fit_columns(columns, width - 4) if column.title == _BAR_TITLE), 0)
    if bar_width > _MAX_BAR_WIDTH:  # the numbers stay near their step
        bar_width = _MAX_BAR_WIDTH
        columns = [replace(column, width=bar_width) if column.title == _BAR_TITLE else column for column in columns]
    if bar_width < _MIN_BAR_WIDTH:
        columns = [replace(column, from_width=width) if column.title == _BAR_TITLE else column for column in columns]
    drawn = table(columns, (), width)
    for name, step in zip(tell_apart(names, widths["STEP"]), steps, strict=True):
        fastest = comparison.ranking(step.title)[0].side.letter if comparison.lead(step.title) else None
        for index, (letter, per_s, share, ratio, *figures) in enumerate(step.rows):
            drawn_bar = plain_meter(float(cell_value(share) or 0), bar_width) if cell_text(share) else ""
            shown_ratio = ratio if index or cell_text(ratio) == NOT_DURABLE else ""  # the first side is always 1.00 ×
            if shown_ratio and step.title in unclear:
                shown_ratio = f"≈ {cell_text(ratio)}"
            cells = ("" if index else name, letter, per_s, drawn_bar, shown_ratio, *figures)
            _, row = table(columns, [tuple(map(cell_text, cells))], width)
            colour_meters([row], AREA if letter == fastest else FAINT)
            if shown_ratio:
                row.highlight_words([cell_text(shown_ratio)], FAINT if step.title in unclear else HEAD)
            row.highlight_words([f" {NOT_DURABLE} "], BAD)
            drawn.append(row)
        drawn += _remarks(step, width)
    return drawn


def _side_by_side(steps: Sequence[Section], comparison: Comparison, width: int) -> list[Text]:
    """Draw a row for each step, with remarks below. The rate of a faster side that does not wait for syncs is red."""
    rows: list[tuple[str, ...]] = []
    leads = [_lead(comparison, step.title) for step in steps]
    for step, (lead, _) in zip(steps, leads, strict=True):
        sides = {cell_text(letter): list(map(cell_text, cells)) for letter, *cells in step.rows}
        (a_rate, *_, a_p99, _), (b_rate, *_, b_p99, _) = (
            sides.get(letter, [NONE] * (len(compare.RANKING_HEADER) - 1)) for letter in "AB"
        )
        rows.append((step.title, a_rate, b_rate, lead, _lead_bar(comparison, step.title), a_p99, b_p99))
    wanted = {"STEP": width * 3 // 10 - 1, _B_RATIO: max(map(cell_len, (_B_RATIO, *(lead for lead, _ in leads))))}
    extra = wanted[_B_RATIO] - _RATIO_WIDTH
    columns = [
        replace(head, width=wanted.get(head.title, head.width), from_width=head.from_width and head.from_width + extra)
        for head in SIDE_BY_SIDE
    ]
    step_width = fit_columns(columns, width - 4)[0].width
    names = tell_apart([row[0] for row in rows], step_width)
    drawn = table(columns, [(name, *row[1:]) for name, row in zip(names, rows, strict=True)], width)
    colour_meters(drawn)
    for row, step, (lead, style) in zip(drawn[1:], steps, leads, strict=True):
        row.highlight_words([lead], style)
        for rank in comparison.ranking(step.title)[:1]:
            start = 3 + step_width + (1 + SIDE_BY_SIDE[1].width) * comparison.sides.index(rank.side)
            row.stylize(BAD if rank.not_durable else "", start, start + 1 + SIDE_BY_SIDE[1].width)
    with_remarks = ((row, *_remarks(step, width)) for row, step in zip(drawn[1:], steps, strict=True))
    return [drawn[0], *(part for lines in with_remarks for part in lines)]


def _lead(comparison: Comparison, step_name: str) -> tuple[str, str]:
    """Return the ratio of B to A with its style. ``≈``, faint: neither is clearly faster."""
    ratio = ratio_of(comparison.sides[0], comparison.sides[1], step_name)
    mark = "" if comparison.lead(step_name) else "≈ "
    return (f"{mark}{ratio}", FAINT if mark else HEAD) if ratio else (NONE, "")


def _lead_bar(comparison: Comparison, step_name: str) -> str:
    """Return a bar from the middle to the faster side. A side that is five times as fast fills its half."""
    if (lead := comparison.lead(step_name)) is None:
        return ""
    bar = charts.bar(lead.factor, _LEAD_SCALE, _HALF_BAR)
    if comparison.ranking(step_name)[0].side is comparison.sides[1]:
        return " " * _HALF_BAR + bar
    return fit_right(bar[::-1].replace("╸", "╺"), _HALF_BAR)


def _remarks(step: Section, width: int) -> list[Text]:
    remarks = " · ".join(note for note in step.lines if note[0] != "!")
    return paragraph(remarks, width, "     ", FAINT) if remarks else []
