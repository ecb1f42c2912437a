"""A comparison of runs: which was faster, what each run is, and a table of all steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from msgspec.structs import replace
from rich.cells import cell_len
from rich.text import Text

from fstui.report import compare, latency_map
from fstui.report.comparison import Comparison
from fstui.report.sections import Report, Section, text, value
from fstui.tui.drawing import latency
from fstui.tui.drawing.cells import Card, Column, colour_meters, distinct, paragraph, plain_meter, rule, shown, table
from fstui.tui.drawing.report import section_lines
from fstui.tui.styles import AREA, DOUBT, FAINT

_BAR, _RATIO = " ", 8
_MIN_MAP_LINES, _FRAME_LINES, _OTHER_LINES = 18, 2, 4
STEPS = (
    Column("STEP", gap=0, cut="middle"),
    Column("", 1),
    Column("RATE/S", 7, right=True),
    Column(_BAR, gap=2, from_width=46),
    Column("RATIO", right=True),
    Column("P50", 7, right=True, gap=2, from_width=60),
    Column("P99", 7, right=True, gap=2, from_width=60),
    Column("FLUSH/SYNC", 10, right=True, gap=2, from_width=72),
)


def blocks(report: Report, height: int = 0) -> list[Card]:
    """Return what each run is, all steps, and maps of the step that differs most. Maps fill the screen's ``height``."""
    legend, *sections = [section for section in report.shown_as_text[1:] if not section.only_in_documents]
    steps = [section for section in sections if section.header == compare.STEP]
    other_sections = [section for section in sections if section not in steps]
    return [
        ("runs", lambda width: [*_legend(legend, width), rule(width, "steps"), *_steps(steps, width)]),
        *_maps(Comparison(report.runs), height),
        *((section.title, partial(section_lines, section._replace(title=""))) for section in other_sections),
    ]


def _legend(runs: Section, width: int) -> list[Text]:
    common = (part for words in runs.lines for part in paragraph(words, width, style=FAINT))
    return [*section_lines(runs._replace(lines=()), width), *common]


def _maps(comparison: Comparison, height: int) -> Iterator[Card]:
    """Yield a heat map for each side, all with the same axis."""
    if (name := comparison.widest) is None:
        return
    medians = [(side, median) for side in comparison.sides if (median := side.step(name))]
    views = [latency.step_view(median.run, median.measured) for _, median in medians]
    axis = latency_map.axis([point for view in views for point in view.timeline])
    lines = max((height - _OTHER_LINES) // len(views) - _FRAME_LINES, _MIN_MAP_LINES)
    for (side, _), view in zip(medians, views, strict=True):
        yield f"{side.letter} {side.name}: {name}", partial(latency.heat_map, view, height=lines, axis=axis)


def _steps(steps: Sequence[Section], width: int) -> list[Text]:
    """Draw a row for each side of each step, with bars that fill the free width, and remarks below."""
    names = [step.title for step in steps]
    ratios = [cell_len(text(row[3])) for step in steps for row in step.rows]
    widths = {"STEP": min(max(map(cell_len, names), default=0), width * 3 // 10), "RATIO": max(ratios, default=0)}
    wider = max(widths["RATIO"] - _RATIO, 0)
    columns = [
        replace(head, width=widths.get(head.title, head.width), from_width=head.from_width and head.from_width + wider)
        for head in STEPS
    ]
    room = next((column.width for column in shown(columns, width - 4) if column.title == _BAR), 0)
    drawn = table(columns, (), width)
    for name, step in zip(distinct(names, widths["STEP"]), steps, strict=True):
        for index, (letter, per_s, share, times, *figures) in enumerate(step.rows):
            drawn_bar = plain_meter(float(value(share) or 0), room) if text(share) else ""
            cells = ("" if index else name, letter, per_s, drawn_bar, times if index else "", *figures)
            _, row = table(columns, [tuple(map(text, cells))], width)
            colour_meters([row], AREA if index else f"dim {AREA}")
            drawn.append(row)
        if remarks := " · ".join(note for note in step.lines if note[0] != "!"):
            drawn += paragraph(remarks, width, "     ", FAINT)
        drawn += [part for note in step.lines if note[0] == "!" for part in paragraph(note, width, "     ", DOUBT)]
    return drawn
