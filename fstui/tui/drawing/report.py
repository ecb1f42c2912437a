"""Draw a report with its sections, and the details of a result that are neither findings nor steps."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import NamedTuple

from rich.cells import cell_len
from rich.text import Text

from fstui.model.judgement import NOT_TRUSTED, TOO_SLOW, Finding
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.report import comparison, databases, figures, io_path, references, replicas
from fstui.report import fit as products
from fstui.report import run as report
from fstui.report.database_details import notes
from fstui.report.formats import plain
from fstui.report.sections import Section, cell_style
from fstui.report.text import GLYPHS, SPEED_GLYPHS, speed_word
from fstui.runs.checking import FIT
from fstui.tui.drawing.cells import (
    Card,
    labelled_lines,
    line,
    name_lines,
    paragraph,
    rule,
    selectable_row,
    spread,
)
from fstui.tui.styles import AREA, BAD, FAINT, GOOD, HEAD, KEY, speed_style, verdict_style

IS_IT_SLOW = "is-it-slow"
NEXT = "What to do next"
PART_STYLES = {"": "", "arrived": GOOD, "dropped": BAD, "unknown": ""}
IO_PATH = "I/O path"
_COLOURED_WORDS = {
    **{f"{glyph} {verdict}": verdict_style(verdict)[1] for verdict, glyph in GLYPHS.items()},
    **{f"{glyph} {speed_word(answer)}": speed_style(answer)[1] for answer, glyph in SPEED_GLYPHS.items()},
    **{
        products.ANSWERS["fits"]: GOOD,
        products.ANSWERS["within-limit"]: GOOD,
        products.ANSWERS["does-not-fit"]: speed_style("slow")[1],
    },
}
"""The styles of answers in tables."""
_FULL_PRODUCTS_FROM = 98
"""From this width, the table of products also shows what they recommend, and the consequence of a missed limit."""


class Detail(NamedTuple):
    """One row below the steps of a result, and what it shows when it is selected."""

    title: str
    draw: Callable[[int], list[Text]] = partial(labelled_lines, "", ())
    """Draws it for a width."""
    page: str = ""
    """The rule whose page explains it."""
    answers: bool = False
    """Whether it answers the question of the scenario, or the headline. The result opens with it."""
    is_table: bool = False
    finding: Finding | None = None
    """Drawn instead of ``draw``."""
    step: Step | None = None
    """The step whose latency is shown next to it."""


def card_lines(card: Card, width: int, height: int = 0) -> list[Text]:
    """Draw a card below its title. A first line that repeats the title is left out."""
    title, draw = card
    drawn = list(draw(width))
    if not title:
        return drawn
    repeats_title = bool(drawn) and drawn[0].plain.strip() == title
    return [rule(width, title, style=KEY if title == NEXT else HEAD), *drawn[repeats_title:]]


def section_lines(section: Section, width: int) -> list[Text]:
    """Draw the title in bold, the table or drawing as on the command line, then sentences and labelled points."""
    lines = paragraph(section.title, width, style=HEAD) if section.title else []
    printed = list(plain.lines(section._replace(title="", lines=(), points=()), width - 2))
    inset = "   " if max(map(cell_len, printed), default=0) + 4 <= width else " "
    table = [line(inset + part) for part in printed]
    for text, (words, style) in product(table, _COLOURED_WORDS.items()):
        text.highlight_words([words], style)
    for text in table:
        text.highlight_regex("[▁-▏]+", AREA)
    for text, cell in zip(table[len(table) - len(section.drawn) :], section.drawn, strict=True):
        text.stylize(PART_STYLES.get(cell_style(cell), ""))
    if section.rows:
        table[0].stylize(FAINT)
    lines += table
    lines += [part for sentence in section.lines for part in paragraph(sentence, width)]
    for label, points in section.points:
        lines += labelled_lines(label, points, width)
    return lines


def term_lines(names: Sequence[str], width: int) -> list[Text]:
    """Draw the meanings of terms, with a blank line between two terms."""
    from fstui.report import explanation, glossary  # noqa: PLC0415  not needed for the first frame

    lines: list[Text] = []
    for name in names:
        title = glossary.spelling(name)
        first, *others = explanation.word_lines(name, width - 3, f"{title}  ")
        first.stylize(HEAD, 2, len(title) + 2)
        lines += [line(" ").append_text(first), *(line("   ").append_text(text) for text in others), line()]
    return lines[:-1]


def short_term_lines(names: Sequence[str], width: int) -> list[Text]:
    """Draw one sentence for each term."""
    from fstui.report import glossary  # noqa: PLC0415  not needed for the first frame

    return name_lines([(glossary.spelling(name), glossary.first_sentence(name)) for name in names], width)


def details(run: Run, earlier: Run | None = None) -> list[Detail]:
    """Return the details that are neither findings nor steps, first those that answer the question of the scenario.

    A finding answers it if the acknowledgements are not trusted. ``earlier``: the run that this run repeats.
    """
    extras = []
    is_trusted, is_slow = run.verdict not in NOT_TRUSTED, run.speed.answer in TOO_SLOW
    has_answer = is_trusted and not is_slow
    if earlier:
        changes = comparison.changes_section(earlier, run)
        summed_up = changes._replace(title="", lines=(changes.title,))
        name = f"changes since {comparison.earlier_run_name(earlier)}"
        extras.append(Detail(name, partial(section_lines, summed_up)))
    if run.speed.sentence:
        answers = is_trusted and is_slow
        about_speed = Finding(  # in the form of a finding, so that it is drawn like one
            rule=IS_IT_SLOW, verdict=None, confidence="low", scope="storage", title=run.speed.title,
            sentence=run.speed.sentence, evidence=run.speed.evidence, next=run.speed.next,
        )  # fmt: skip
        extras.append(Detail("is it slow?", page=IS_IT_SLOW, answers=answers, finding=about_speed))
    if run.fit:
        with_threshold, without_threshold = products.sections(run)
        if not with_threshold.empty:
            answers = has_answer and run.scenario_name == FIT
            extras.append(Detail(with_threshold.title, partial(_products, with_threshold), "", answers, is_table=True))
        if not without_threshold.empty:
            extras.append(Detail("commits per second per product", partial(section_lines, without_threshold)))
    lost, written = replicas.tables(run), databases.written_steps(run)
    for section in report.tables(run):
        name, _, remark = section.title.partition(" · ")
        names = [figures.HIGH_AND_LOW] if section.title == databases.DURABLE_AND_NOT else []
        lines = (*filter(None, (remark,)), *section.lines, *names)
        draw = partial(section_lines, section._replace(title="", lines=lines))
        extras.append(
            Detail(name, draw, "", section in lost or has_answer, is_table=True, step=next(iter(written), None))
        )
    path, servers = io_path.section(run), Section(lines=notes(run))
    titled = [(path.title, path._replace(title="")), ("about these servers", servers)]
    titled.append(("published rates", references.run_references(run)))
    extras += [Detail(name, partial(section_lines, section)) for name, section in titled if not section.empty]
    return sorted(extras, key=lambda detail: not detail.answers)


def _products(section: Section, width: int) -> list[Text]:
    """Draw what products require; on a narrow screen without what they recommend, and without the consequences."""
    rows = section.rows
    if width < _FULL_PRODUCTS_FROM:
        rows = tuple((*others, re.sub(", (?:else|recommended) .*", "", str(required))) for *others, required in rows)
    return section_lines(section._replace(title="", rows=rows), width)


def row(detail: Detail, width: int, *, selected: bool, is_open: bool) -> Text:
    remark = "open above" if is_open else "Enter opens" if selected else ""
    text = spread([detail.title], remark, width - 4)
    return selectable_row([(text.plain, FAINT)], selected=selected, glyph=("-" if is_open else "+", FAINT))
