"""What a command prints: titled tables and sentences, the same in every format.

A command builds one `Report` and passes it to `fstui.report.formats.render_report`. Text in it is data: each format
escapes what it must.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fstui.model.judgement import Answer, Verdict
from fstui.model.run import Run
from fstui.report.glyphs import GLYPHS, SPEEDS
from fstui.report.text import NONE

Value = str | int | float | bool | None


class Cell(NamedTuple):
    """The words of a cell for people, and its value for programs."""

    text: str
    value: Value = None
    style: str = ""
    """A verdict or an answer to "is it slow?": its class in HTML."""
    numeric: bool = False
    """Aligned to the right, also where the number is missing."""


class Section(NamedTuple):
    """A title with a table, sentences, or both; left out where it has neither."""

    title: str = ""
    header: tuple[str, ...] = ()
    rows: tuple[tuple[Cell | str, ...], ...] = ()
    lines: tuple[str, ...] = ()
    points: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Lists of sentences, each with its label: ``because``, ``next``."""
    drawn: tuple[str, ...] = ()
    """Lines whose spaces count: a drawing."""
    figures: tuple[tuple[str, str], ...] = ()
    """Captions with SVG drawings, shown in HTML only."""
    style: str = ""
    """Of the title: a verdict or an answer."""
    side_by_side: bool = False
    """The first two columns name a row: on a narrow terminal the others are shown as many at a time as fit."""

    @property
    def empty(self) -> bool:
        """There is nothing to show below the title."""
        return not (self.rows or self.lines or any(found for _, found in self.points) or self.drawn or self.figures)


class Report(NamedTuple):
    """All that a command prints."""

    title: str
    sections: tuple[Section, ...]
    document: object
    """What JSON shows."""
    records: Section | None = None
    """What CSV shows: column names and values; without it the first table."""
    runs: tuple[Run, ...] = ()
    """The runs it is about: Prometheus shows their figures, HTML carries their documents."""

    @property
    def shown(self) -> list[Section]:
        """The sections that have something to show."""
        return [section for section in self.sections if not section.empty]

    @property
    def in_words(self) -> list[Section]:
        """Those that have something to show where there are no figures."""
        return [section for section in self.sections if not section._replace(figures=()).empty]

    @property
    def table(self) -> Section:
        """What CSV shows."""
        return self.records or next((section for section in self.sections if section.rows), Section())


def number(value: float | None, words: Callable[[float], str]) -> Cell:
    """A number in the words of ``fstui.model.quantities``; a dash where it is missing."""
    return Cell(NONE if value is None else words(value), value, numeric=True)


def right(words: str) -> Cell:
    """Words that stand on the right, as numbers do."""
    return Cell(words, words, numeric=True)


def glyph(verdict: Verdict | None) -> Cell:
    """The sign of a verdict, which programs read from the column with its word."""
    return Cell(GLYPHS[verdict] if verdict else "", style=verdict or "")


def verdict(word: Verdict | None, *remarks: str) -> Cell:
    """A verdict with remarks: ``suspicious · stopped``."""
    return Cell(" · ".join([word or NONE, *remarks]), word, word or "")


def speed(answer: Answer | None) -> Cell:
    """The answer to "is it slow?" with its sign."""
    return Cell(f"{SPEEDS[answer]} {answer}" if answer else NONE, answer, answer or "")


def text(cell: Cell | str) -> str:
    """What people read."""
    return cell if isinstance(cell, str) else cell.text


def value(cell: Cell | str) -> Value:
    """What programs read."""
    return cell if isinstance(cell, str) else cell.value


def style(cell: Cell | str) -> str:
    """The class of the cell in HTML."""
    return "" if isinstance(cell, str) else cell.style


def alignment(section: Section) -> str:
    """``<`` or ``>`` for each column; numbers stand on the right."""
    columns = zip(*section.rows, strict=True)
    return "".join(">" if any(_is_numeric(cell) for cell in column) else "<" for column in columns)


def _is_numeric(cell: Cell | str) -> bool:
    return not isinstance(cell, str) and cell.numeric
