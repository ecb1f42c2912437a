"""What a result has besides its findings and steps: tables of databases, and its place among published rates."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from rich.cells import cell_len
from rich.text import Text

from fstui.model import Run
from fstui.report import oltp, ruler
from fstui.report.text import columns
from fstui.tui.drawing.cells import fit, line, wrapped
from fstui.tui.glyphs import FAINT, HEAD

_UNFOLDED = 1_000


class Section(NamedTuple):
    """One row beneath the steps, and what it shows when it is chosen."""

    title: str
    lines: Callable[[int], list[Text]]
    """For a width."""


def sections(run: Run) -> list[Section]:
    """Empty where nothing but findings and steps is to be said."""
    found = [Section(table.title, _drawn(table)) for table in oltp.tables(run)]
    if notes := oltp.notes(run):
        found.append(Section("about these servers", lambda width: _paragraphs(notes, width)))
    if placed := ruler.of_run(run, _UNFOLDED):
        found.append(Section(placed[0], lambda width: [line(f" {part}") for part in ruler.of_run(run, width - 2)]))
    return found


def row(section: Section, width: int, *, selected: bool) -> Text:
    """The line to choose it by."""
    return line(("▌" if selected else " ", HEAD), "  ", (fit(section.title, width - 3), HEAD if selected else FAINT))


def _drawn(table: oltp.Table) -> Callable[[int], list[Text]]:
    align = "<" + ">" * (len(table.header) - 1)
    whole = columns([table.header, *table.rows], align)
    # where that is too wide, each row's name stands on a line of its own, above its numbers
    numbers = columns([row[1:] for row in (table.header, *table.rows)], align[1:])

    def draw(width: int) -> list[Text]:
        head, *rest = whole if max(map(cell_len, whole)) + 3 < width else numbers
        names = [] if head == whole[0] else [line(f"   {name}") for name, *_ in table.rows]
        drawn = [line(f"     {row}" if names else f"   {row}") for row in rest]
        lead = "     " if names else "   "
        body = [part for pair in zip(names, drawn, strict=True) for part in pair] if names else drawn
        return [*_paragraphs([table.title], width), line((lead + head, FAINT)), *body]

    return draw


def _paragraphs(sentences: list[str], width: int) -> list[Text]:
    return [line(part) for sentence in sentences for part in wrapped(sentence, width - 1)]
