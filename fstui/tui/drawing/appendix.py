"""What a result has besides its findings and steps: is it slow, databases, its place among published rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.text import Text

from fstui.model.run import Run
from fstui.report import by_second, oltp, pivot, ruler, since, way_down
from fstui.report.text import columns, table
from fstui.tui.drawing.cells import fit, labelled, line, wrapped
from fstui.tui.glyphs import FAINT, HEAD

_UNFOLDED = 1_000
IS_IT_SLOW = "is-it-slow"


class Section(NamedTuple):
    """One row beneath the steps, and what it shows when it is chosen."""

    title: str
    lines: Callable[[int], list[Text]]
    """For a width."""
    page: str = ""
    """The rule's page that explains it."""


def sections(run: Run, before: Run | None = None) -> list[Section]:
    """Empty where nothing but findings and steps is to be said. ``before``: the run that it is again."""
    found = [Section(since.headline(before, run), _changed(before, run))] if before else []
    found += [Section(f"is it slow? {run.speed.title}", _slow(run), IS_IT_SLOW)] if run.speed.sentence else []
    if way := way_down.of_run(run):
        found.append(Section(way_down.title(way[0]), _way(way[1])))
    found += [Section(table.title, _drawn(table)) for table in pivot.tables(run)]
    found += [Section(table.title, _drawn(table)) for table in by_second.tables(run)]
    if notes := pivot.notes(run):
        found.append(Section("about these servers", lambda width: _paragraphs(notes, width)))
    if placed := ruler.of_run(run, _UNFOLDED):
        found.append(Section(placed[0], lambda width: [line(f" {part}") for part in ruler.of_run(run, width - 2)]))
    return found


def row(section: Section, width: int, *, selected: bool) -> Text:
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
        return [*_paragraphs([table.title, *table.legend], width), line((lead + head, FAINT)), *body]

    return draw


def _changed(before: Run, run: Run) -> Callable[[int], list[Text]]:
    return lambda width: [line(f"   {part}") for part in table(since.rows(before, run), "<>>>", width - 4)]


def _way(lines: Sequence[way_down.Line]) -> Callable[[int], list[Text]]:
    return lambda width: [line(fit(f"   {part.text}", width).rstrip()) for part in lines]


def _slow(run: Run) -> Callable[[int], list[Text]]:
    speed = run.speed

    def draw(width: int) -> list[Text]:
        pairs = [part.partition(": ")[::2] for part in speed.because]
        steps = labelled([(step, "") for step in speed.next], "next", width)
        return [*_paragraphs([speed.sentence], width), *labelled(pairs, "because", width), *steps]

    return draw


def _paragraphs(sentences: list[str], width: int) -> list[Text]:
    return [line(part) for sentence in sentences for part in wrapped(sentence, width - 1)]
