"""The content of a report: titled tables and sentences, the same in every format.

A command builds one `Report` and passes it to `fstui.report.formats.render_report`. Its text is not markup: each format
escapes its own special characters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fstui.model.judgement import Answer, Verdict
from fstui.report.text import GLYPHS, NONE, SPEED_GLYPHS, speed_word

if TYPE_CHECKING:  # importing it would delay the first screen
    from fstui.model.run import Run

Value = str | int | float | bool | None


class Cell(NamedTuple):
    text: str
    style: str = ""
    """The class in HTML: a verdict, or an answer to "is it slow?"."""
    numeric: bool = False
    """Whether the cell is aligned to the right, as a number or a missing number."""


Row = tuple[Cell | str, ...]


class Section(NamedTuple):
    title: str = ""
    header: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    lines: tuple[str, ...] = ()
    points: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Lists of sentences, each with its label: ``because``, ``next``."""
    drawn: tuple[Cell | str, ...] = ()
    """Lines of a drawing, in which every space counts."""
    figures: tuple[tuple[str, str], ...] = ()
    """Captions with SVG drawings, shown in HTML only."""
    style: str = ""
    """The class of the title: a verdict or an answer."""
    labelled: bool = False
    """Whether the first column names the row, and the others are aligned to the right. On a narrow terminal, columns
    that do not fit follow in another table, with the names repeated."""
    only_in_documents: bool = False
    """Whether the section is shown in Markdown and HTML only, because it is too long for a terminal."""
    only_on_terminal: bool = False
    """Whether the section is not shown in Markdown and HTML, because it names what only they show."""

    @property
    def empty(self) -> bool:
        return not (self.rows or self.lines or any(lines for _, lines in self.points) or self.drawn or self.figures)


class Report(NamedTuple):
    title: str
    sections: tuple[Section, ...]
    document: object
    records: Sequence[Sequence[Value]] = ()
    """The content for CSV: the names of the columns, then their values. Without records, it is the first table."""
    runs: tuple[Run, ...] = ()
    """The runs in the report: Prometheus shows their figures, HTML contains their documents."""

    @property
    def filled_sections(self) -> list[Section]:
        return [section for section in self.sections if not section.empty]

    @property
    def text_sections(self) -> list[Section]:
        """The sections that are not empty in a format without SVG drawings."""
        return [section for section in self.sections if not section._replace(figures=()).empty]


def number_cell(value: float | None, format_number: Callable[[float], str]) -> Cell:
    """Return a formatted number (see ``fstui.model.quantities``), or a dash if it is missing."""
    return Cell(NONE if value is None else format_number(value), numeric=True)


def right_cell(text: str) -> Cell:
    return Cell(text, numeric=True)


def glyph_cell(verdict: Verdict | None) -> Cell:
    return Cell(GLYPHS[verdict] if verdict else "", verdict or "")


def verdict_cell(word: Verdict | None, *remarks: str) -> Cell:
    """Return a verdict with remarks: ``suspicious · stopped``."""
    return Cell(" · ".join([word or NONE, *remarks]), word or "")


def speed_cell(answer: Answer | None) -> Cell:
    return Cell(f"{SPEED_GLYPHS[answer]} {speed_word(answer)}" if answer else NONE, answer or "")


def cell_text(cell: Cell | str) -> str:
    return cell if isinstance(cell, str) else cell.text


def cell_style(cell: Cell | str) -> str:
    return "" if isinstance(cell, str) else cell.style


def alignment(section: Section) -> str:
    if section.labelled:
        return "<" + ">" * (len(section.header) - 1)
    columns = zip(*section.rows, strict=True)
    return "".join(">" if any(isinstance(cell, Cell) and cell.numeric for cell in cells) else "<" for cells in columns)
