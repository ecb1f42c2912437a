"""Draw what the commands print: a report with its sections, and what a result has besides findings and steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from rich.text import Text

from fstui.model.run import Run
from fstui.report import by_second, formats, oltp, pivot, ruler, sections, since, way_down
from fstui.report.glyphs import GLYPHS
from fstui.report.sections import Report
from fstui.tui.drawing.cells import fit, labelled, line, wrapped
from fstui.tui.styles import FAINT, HEAD, verdict_style

_UNFOLDED = 1_000
IS_IT_SLOW = "is-it-slow"


class Section(NamedTuple):
    """One row below the steps of a result, and what it shows when it is selected."""

    title: str
    lines: Callable[[int], list[Text]]
    """For a width."""
    page: str = ""
    """The rule's page that explains it."""


def report_lines(report: Report, width: int) -> list[Text]:
    """Return every section of a report, with a blank line between two of them."""
    drawn = [section_lines(section, width) for section in report.in_words]
    return [text for block in drawn for text in (*block, line())][:-1]


def section_lines(section: sections.Section, width: int) -> list[Text]:
    """Return the title in bold, the table or drawing as the command prints it, then sentences and labelled points."""
    lines = [line((part, HEAD)) for part in wrapped(section.title, width - 1, " ")] if section.title else []
    plain = sections.Section(header=section.header, rows=section.rows, side_by_side=section.side_by_side)
    printed = formats.render_report(formats.PLAIN, Report("", (plain,), None), width - 2)
    table = [line(f" {part}") for part in str(printed).splitlines()]
    for verdict, glyph in GLYPHS.items():
        for text in table:
            text.highlight_words([f"{glyph} {verdict}"], verdict_style(verdict)[1])
    if table:
        table[0].stylize(FAINT)
    lines += table
    lines += [line(f" {part}") for part in section.drawn]
    lines += [line(part) for sentence in section.lines for part in wrapped(sentence, width - 1, " ")]
    for label, points in section.points:
        lines += labelled([point.partition(": ")[::2] for point in points], label, width)
    return lines


def sections_of(run: Run, before: Run | None = None) -> list[Section]:
    """Return what a result has besides findings and steps. ``before``: the run that this run repeats."""
    found = []
    if before:
        header, *rows = since.rows(before, run)
        changes = sections.Section(header=header, rows=_numbers(rows))
        found.append(Section(since.headline(before, run), _drawn(changes)))
    if run.speed.sentence:
        points = (("because", run.speed.because), ("next", run.speed.next))
        why = sections.Section(lines=(run.speed.sentence,), points=points)
        found.append(Section(f"is it slow? {run.speed.title}", _drawn(why), IS_IT_SLOW))
    if way := way_down.of_run(run):
        title, parts = way_down.title(way[0]), tuple(part.text for part in way[1])
        found.append(Section(title, _drawn(sections.Section(drawn=parts))))
    found += [Section(table.title, _drawn(_of_table(table))) for table in (*pivot.tables(run), *by_second.tables(run))]
    if notes := pivot.notes(run):
        found.append(Section("about these servers", _drawn(sections.Section(lines=tuple(notes)))))
    if placed := ruler.of_run(run, _UNFOLDED):
        found.append(Section(placed[0], lambda width: [line(f" {part}") for part in ruler.of_run(run, width - 2)]))
    return found


def row(section: Section, width: int, *, selected: bool) -> Text:
    return line(("▌" if selected else " ", HEAD), "  ", (fit(section.title, width - 3), HEAD if selected else FAINT))


def _drawn(section: sections.Section) -> Callable[[int], list[Text]]:
    return lambda width: section_lines(section, width)


def _of_table(table: oltp.Table) -> sections.Section:
    return sections.Section(table.title, table.header, _numbers(table.rows), table.legend)


def _numbers(rows: Iterable[Sequence[str]]) -> tuple[tuple[sections.Cell | str, ...], ...]:
    return tuple((name, *map(sections.right, others)) for name, *others in rows)
