"""What a power cut would lose: the files, the new names, and a sentence for each program."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace
from rich.text import Text

from fstui.model.at_risk import AtRisk, FileAtRisk
from fstui.model.quantities import clock, counted, seconds
from fstui.model.storage import Target
from fstui.report import at_risk
from fstui.tui.drawing import io_path
from fstui.tui.drawing.cells import Column, colour_meters, line, paragraph, plain_meter, rule, table, title_line
from fstui.tui.styles import FAINT, HEAD

_BAR, _BAR_CELLS = " ", 8
ROWS = (
    Column("PROGRAM", 18, gap=0, cut="middle"),
    Column("≤ UNWRITTEN", 11, right=True, gap=2),
    Column("≤ IN CACHE", 10, right=True, gap=2),
    Column(_BAR, _BAR_CELLS, gap=2, from_width=100),
    Column("OLDEST", 8, right=True, gap=2, from_width=58),
    Column("PEAK", 9, right=True, from_width=140),
    Column("MAX AGE", 9, right=True, from_width=140),
    Column("SYNCS", 7, right=True, from_width=88),
    Column("FILE", gap=2, cut="middle"),
)
_WIDE_SCREEN, _LONG_NAME_WIDTH = 100, 24


class RiskView(msgspec.Struct, frozen=True):
    target: Target
    state: AtRisk | None = None
    sentences: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()


def title(view: RiskView, width: int) -> Text:
    elapsed = clock(view.state.elapsed_s) if view.state else ""
    return title_line("at risk", io_path.path(view.target), elapsed, width)


def total(view: RiskView, width: int) -> list[Text]:
    words = at_risk.total(view.state) if view.state else "Looking at the open files …"
    return paragraph(words, width - 1, " ", HEAD)


def rows(view: RiskView, width: int) -> list[Text]:
    """Draw the files with most at risk first, then directories with new names, then files with nothing at risk."""
    state = view.state or AtRisk()
    columns = (replace(ROWS[0], width=_LONG_NAME_WIDTH), *ROWS[1:]) if width >= _WIDE_SCREEN else ROWS
    max_bytes = max((row.bytes for row in state.files), default=0)
    cells = [_file(row, max_bytes) for row in state.files if row.bytes or row.direct]
    cells += [
        (row.program, counted(row.count, "name"), "", "", seconds(row.oldest_s), "", "", "", row.where)
        for row in state.names
    ]
    exposed = len(cells)
    cells += [_file(row, max_bytes) for row in state.files if not (row.bytes or row.direct)]
    drawn = table(columns, cells, width)
    colour_meters(drawn)
    for row in drawn[1 + exposed :]:
        row.stylize(FAINT)
    if view.state and not cells:
        drawn.append(line(("  no program has written to a file on this filesystem", FAINT)))
    return drawn


def _file(row: FileAtRisk, max_bytes: int) -> tuple[str, ...]:
    _, unwritten, cached, age, most_bytes, longest, syncs, where = at_risk.file_cells(row)
    first, *others = row.programs or ("ended",)
    bar = plain_meter(row.bytes / max_bytes, _BAR_CELLS) if row.bytes else ""
    return (
        f"{first} +{len(others)}" if others else first,
        unwritten,
        cached,
        bar,
        age,
        most_bytes,
        longest,
        syncs,
        where,
    )


def sentences(view: RiskView, width: int) -> list[Text]:
    lines = [rule(width, "if the power failed now")]
    for words in view.sentences:
        sentence = paragraph(words, width - 1, " ")
        sentence[0].stylize(HEAD, 0, words.find(": ") + 1)
        lines += sentence
    return lines + [part for words in view.limits for part in paragraph(words, width - 1, " ", FAINT)]
