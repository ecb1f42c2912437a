"""Draw a report with its sections, and the details of a result that are neither findings nor steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import NamedTuple

from rich.cells import cell_len
from rich.text import Text

from fstui.model.run import Run
from fstui.report import comparison, io_path, references
from fstui.report import fit as products
from fstui.report import run as report
from fstui.report.database_details import notes
from fstui.report.formats import plain
from fstui.report.sections import Section
from fstui.report.text import GLYPHS, SPEED_GLYPHS
from fstui.tui.drawing.cells import fit, labelled_lines, line, name_lines, paragraph, selectable_row, side_by_side
from fstui.tui.styles import AREA, FAINT, HEAD, speed_style, verdict_style

IS_IT_SLOW = "is-it-slow"
IO_PATH = "I/O path"
_TERM_WIDTH, _TERM_TEXT_WIDTH, _TERM_COLUMN_FROM, _TWO_TERMS_FROM = 20, 110, 100, 145
"""From these widths, a term has a column of its own, and two terms are side by side."""


class Detail(NamedTuple):
    """One row below the steps of a result, and what it shows when it is selected."""

    title: str
    draw: Callable[[int], list[Text]]
    """Draws it for a width."""
    page: str = ""
    """The rule whose page explains it."""


def section_lines(section: Section, width: int) -> list[Text]:
    """Draw the title in bold, the table or drawing as on the command line, then sentences and labelled points."""
    lines = paragraph(section.title, width, style=HEAD) if section.title else []
    printed = list(plain.lines(section._replace(title="", lines=(), points=()), width - 2))
    inset = "   " if max(map(cell_len, printed), default=0) + 4 <= width else " "
    table = [line(inset + part) for part in printed]
    for verdict, glyph in GLYPHS.items():
        for text in table:
            text.highlight_words([f"{glyph} {verdict}"], verdict_style(verdict)[1])
    for text, answer in product(table, SPEED_GLYPHS):
        glyph, style = speed_style(answer)
        text.highlight_words([f"{glyph} {answer}"], style)
    for text in table:
        text.highlight_regex("[▁-▏]+", AREA)
    if section.rows:
        table[0].stylize(FAINT)
    lines += table
    lines += [part for sentence in section.lines for part in paragraph(sentence, width)]
    for label, points in section.points:
        lines += labelled_lines([point.partition(": ")[::2] for point in points], label, width)
    return lines


def term_lines(names: Sequence[str], width: int) -> list[Text]:
    """Draw the meanings of terms, with a blank line between two terms; two terms side by side if there is room."""
    columns = 2 if width >= _TWO_TERMS_FROM else 1
    lines: list[Text] = []
    for start in range(0, len(names), columns):
        terms = [_term(name, width // columns) for name in names[start : start + columns]]
        lines += [*side_by_side(terms, width // columns), line()]
    return lines[:-1]


def short_term_lines(names: Sequence[str], width: int) -> list[Text]:
    """Draw one sentence for each term."""
    from fstui.report import glossary  # noqa: PLC0415  not needed for the first frame

    return name_lines([(glossary.spelling(name), glossary.first_sentence(name)) for name in names], width)


def _term(name: str, width: int) -> list[Text]:
    from fstui.report import explanation, glossary  # noqa: PLC0415  not needed for the first frame

    title = fit(glossary.spelling(name), _TERM_WIDTH - 2)
    if width < _TERM_COLUMN_FROM:
        title = title.rstrip()
        first, *others = explanation.word_lines(name, width - 3, f"{title}  ")
        first.stylize(HEAD, 2, len(title) + 2)
        return [line(" ").append_text(first), *(line("   ").append_text(text) for text in others)]
    texts = explanation.word_lines(name, min(width - _TERM_WIDTH, _TERM_TEXT_WIDTH))
    leads = [title, *[" " * len(title)] * (len(texts) - 1)]
    return [line("   ", (lead, HEAD)).append_text(text) for lead, text in zip(leads, texts, strict=True)]


def details(run: Run, earlier: Run | None = None) -> list[Detail]:
    """Return the details that are neither findings nor steps. ``earlier``: the run that this run repeats."""
    extras = []
    if earlier:
        changes = comparison.changes_section(earlier, run)
        summed_up = changes._replace(title="", lines=(changes.title,))
        name = f"changes since {comparison.earlier_run_name(earlier)}"
        extras.append(Detail(name, partial(section_lines, summed_up)))
    if run.speed.sentence:
        points = (("because", run.speed.evidence), ("next", run.speed.next))
        reasons = Section(lines=(run.speed.sentence,), points=points)
        extras.append(Detail("is it slow?", partial(section_lines, reasons), IS_IT_SLOW))
    if run.fit:
        with_threshold, without_threshold = products.sections(run)
        if not with_threshold.empty:
            extras.append(Detail(with_threshold.title, partial(section_lines, with_threshold._replace(title=""))))
        if not without_threshold.empty:
            extras.append(Detail("commits per second per product", partial(section_lines, without_threshold)))
    servers = Section("about these servers", lines=notes(run))
    titled = [(IO_PATH, io_path.section(run)), *((section.title, section) for section in report.tables(run))]
    titled += [(servers.title, servers), ("published rates", references.run_references(run))]
    return extras + [Detail(name, partial(section_lines, section)) for name, section in titled if not section.empty]


def row(detail: Detail, width: int, *, selected: bool) -> Text:
    return selectable_row([(fit(detail.title, width - 4), FAINT)], selected=selected, glyph=("+", FAINT))
