"""What a power cut would lose: the files, the new names, and a sentence for each program."""

from __future__ import annotations

import msgspec
from rich.text import Text

from fstui.model.at_risk import AtRisk
from fstui.model.quantities import clock, count, seconds
from fstui.model.storage import Target
from fstui.report import at_risk
from fstui.tui.drawing import io_path
from fstui.tui.drawing.cells import Column, line, paragraph, rule, table, title_line
from fstui.tui.styles import FAINT, HEAD

FILES = (
    Column("PROGRAM", 20, gap=0),
    Column("≤ UNWRITTEN", 13, right=True),
    Column("≤ IN CACHE", 10, right=True),
    Column("OLDEST", 9, right=True),
    Column("PEAK", 9, right=True, from_width=96),
    Column("MAX AGE", 9, right=True, from_width=104),
    Column("SYNCS", 9, right=True, from_width=88),
    Column("FILE", gap=2, cut="middle"),
)
NAMES = (
    Column("PROGRAM", 20, gap=0),
    Column("NEW NAMES", 13, right=True),
    Column("OLDEST", 10, right=True),
    Column("DIRECTORY NOT SYNCED", gap=2, cut="middle"),
)


class RiskView(msgspec.Struct, frozen=True):
    """The content of the screen."""

    target: Target
    state: AtRisk | None = None
    sentences: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()


def title(view: RiskView, width: int) -> Text:
    elapsed = clock(view.state.elapsed_s) if view.state else ""
    return title_line("at risk", io_path.path(view.target), elapsed, width)


def files(view: RiskView, width: int) -> list[Text]:
    """Draw the files with most at risk first, then the directories with new names."""
    if view.state is None:
        return [line(("  looking at the open files …", FAINT))]
    found = table(FILES, map(at_risk.file_cells, view.state.files), width)
    if not view.state.files:
        found.append(line(("  no program has written to a file on this filesystem", FAINT)))
    if view.state.names:
        names = [(one.program, count(one.count), seconds(one.oldest_s), one.where) for one in view.state.names]
        found += [line(), *table(NAMES, names, width)]
    return found


def sentences(view: RiskView, width: int) -> list[Text]:
    """Draw a sentence for each program, and what could not be seen."""
    found = [rule(width, "if the power failed now")]
    for words in view.sentences:
        sentence = paragraph(words, width - 1, " ")
        sentence[0].stylize(HEAD, 0, words.find(": ") + 1)
        found += sentence
    return found + [part for words in view.limits for part in paragraph(words, width - 1, " ", FAINT)]
