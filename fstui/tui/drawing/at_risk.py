"""What a power cut would lose: a table of files and new names (directory entries), and a table of programs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import PurePath

import msgspec
from msgspec.structs import replace
from rich.text import Text

from fstui.model.at_risk import AtRisk, FileAtRisk, ProgramAtRisk
from fstui.model.quantities import clock, count, counted, seconds, size
from fstui.model.storage import Target
from fstui.report import at_risk
from fstui.report.text import NONE
from fstui.tui.drawing import io_path
from fstui.tui.drawing.cells import Column, colour_meters, line, paragraph, plain_meter, rule, table, title_line
from fstui.tui.styles import FAINT, HEAD

_BAR, _BAR_CELLS, _CACHE = " ", 8, "≤ IN CACHE"
ROWS = (
    Column("PROGRAM", 18, gap=0, cut="middle"),
    Column("≤ UNWRITTEN", 11, right=True, gap=2),
    Column(_CACHE, 10, right=True, gap=2),
    Column(_BAR, _BAR_CELLS, gap=2, from_width=100),
    Column("OLDEST", 8, right=True, gap=2, from_width=58),
    Column("SYNCS", 7, right=True, from_width=88),
    Column("FILES", 5, right=True, gap=2, from_width=50),
    Column("WHERE", gap=2, cut="left"),
)
PROGRAMS = (
    Column("PROGRAM", 20, gap=0, cut="middle"),
    Column("≤ BYTES", 9, right=True, gap=2),
    Column("NAMES", 5, right=True, gap=2),
    Column("OLDEST", 8, right=True, gap=2),
    Column("SYNCS", 6, right=True, gap=2, from_width=56),
    Column("NOTE", gap=2, from_width=56),
)
_WIDE_SCREEN, _LONG_NAME_WIDTH, _NEVER = 100, 24, 10_000


class RiskView(msgspec.Struct, frozen=True):
    target: Target
    state: AtRisk | None = None
    caveats: tuple[str, ...] = ()


def title(view: RiskView, width: int) -> Text:
    elapsed = clock(view.state.elapsed_s) if view.state else ""
    return title_line("at risk", io_path.path(view.target), elapsed, width)


def total(view: RiskView, width: int) -> list[Text]:
    words = at_risk.total(view.state) if view.state else "Looking at the open files …"
    return paragraph(words, width, " ", HEAD)


def rows(view: RiskView, width: int) -> list[Text]:
    """Draw the files at risk of each program and directory, the most bytes first, then new names, then caveats."""
    state, groups = view.state or AtRisk(), defaultdict[object, list[FileAtRisk]](list)
    for file in state.files:
        if file.bytes or file.direct:
            groups[file.programs, PurePath(file.path).parent, file.direct].append(file)
    files = sorted(groups.values(), key=lambda group: -_bytes(group))
    max_bytes = _bytes(files[0]) if files else 0
    cells = [_files(group, max_bytes) for group in files]
    cells += [
        (row.program, counted(row.count, "name"), "", "", seconds(row.oldest_s), "", "", row.where)
        for row in sorted(state.names, key=lambda row: -row.count)
        if row.directory
    ]
    has_cache = any(file.cached_bytes for file in state.files)
    columns = [column if has_cache or column.title != _CACHE else replace(column, from_width=_NEVER) for column in ROWS]
    columns[0] = replace(columns[0], width=_LONG_NAME_WIDTH if width >= _WIDE_SCREEN else columns[0].width)
    drawn = table(columns, cells, width)
    colour_meters(drawn)
    if view.state and not cells:
        drawn.append(line(("   no file on this filesystem has bytes at risk", FAINT)))
    if unknown := sum(row.count for row in state.names if not row.directory):
        drawn.append(line((f"   {counted(unknown, 'new name')} in directories whose paths are not known", FAINT)))
    return drawn + [part for words in view.caveats for part in paragraph(words, width, style=FAINT)]


def _bytes(files: Sequence[FileAtRisk]) -> int:
    return sum(file.bytes for file in files)


def _files(group: Sequence[FileAtRisk], max_bytes: int) -> tuple[str, ...]:
    file, *other_files = group
    program, *other_programs = file.programs or ("ended",)
    return (
        f"{program} +{len(other_programs)}" if other_programs else program,
        size(sum(each.dirty_bytes for each in group)),
        size(sum(each.cached_bytes for each in group)),
        plain_meter(_bytes(group) / max_bytes, _BAR_CELLS) if max_bytes else "",
        at_risk.age(max(group, key=lambda each: each.oldest_s or 0.0)),
        NONE if file.syncs is None else count(sum(each.syncs or 0 for each in group)),
        count(len(group)),
        str(PurePath(file.path).parent) + " (O_DIRECT)" * file.direct if other_files else file.where,
    )


def programs(view: RiskView, width: int, height: int) -> list[Text]:
    """Draw a row for each program that would lose bytes, the most first, then those that would lose only names.

    A row of the latter stands for all processes of one name. The last row says how many programs did not fit.
    """
    groups = defaultdict[str, list[ProgramAtRisk]](list)
    for program in (view.state or AtRisk()).programs:
        if program.bytes or program.names or program.direct_files:
            groups[program.who if program.bytes or program.direct_files else program.program].append(program)
    exposed = sorted(groups.values(), key=lambda group: (-group[0].bytes, -sum(program.names for program in group)))
    room = height - 2
    shown = exposed if len(exposed) <= room else exposed[: max(room - 1, 0)]
    drawn = [rule(width, "if the power failed now"), *table(PROGRAMS, map(_program, shown), width)]
    if len(exposed) > len(shown):
        hidden = sum(map(len, exposed[len(shown) :]))
        drawn.append(line((f"   … {counted(hidden, 'more program')} with less at risk", FAINT)))
    return drawn if exposed else []


def _program(group: Sequence[ProgramAtRisk]) -> tuple[str, ...]:
    first, names = group[0], sum(program.names for program in group)
    ages = [age_s for each in group for age_s in (each.oldest_s, each.oldest_name_s) if age_s is not None]
    sign = "≥ " if first.bytes and first.at_least else ""
    return (
        first.who if len(group) == 1 else f"{first.program or 'ended'} ({len(group)} processes)",
        size(first.bytes) if first.bytes else NONE,
        count(names) if names else NONE,
        sign + seconds(max(ages)) if ages else NONE,
        NONE if first.syncs is None else count(sum(program.syncs or 0 for program in group)),
        at_risk.note(first),
    )
