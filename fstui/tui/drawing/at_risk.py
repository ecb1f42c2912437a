"""What a power cut would lose: files and new names (directory entries)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import PurePath
from typing import NamedTuple

import msgspec
from rich.text import Text

from fstui.model.at_risk import AtRisk, FileAtRisk, UnsafeMount
from fstui.model.quantities import clock, count, counted, seconds, short_size, size
from fstui.model.storage import Target
from fstui.report import at_risk
from fstui.report.text import NONE
from fstui.tui.drawing import charts, io_path
from fstui.tui.drawing.cells import (
    Column,
    colour_cell,
    colour_meters,
    headline,
    line,
    paragraph,
    plain_meter,
    relative,
    rule,
    table,
    title_line,
    used_columns,
)
from fstui.tui.drawing.charts import Figure
from fstui.tui.iostats import RecentSamples
from fstui.tui.styles import FAINT, TIME, WARNING, verdict_style

_BAR_CELLS, _MIB, _MIN_CACHE_SHARE = 8, 1 << 20, 0.01
_OF_ONE_PATH = "several closed files of one path: those before the last were renamed or deleted since"
_CELL_S = 5
"""Seconds per cell of the charts. Each new cell costs many bytes to send."""
ROWS = (
    Column("PROGRAM", 24, gap=0, cut="middle"),
    Column("OLDEST", 10, right=True, gap=2, from_width=58),
    Column("≤ BYTES", 10, right=True, gap=2),
    Column("", _BAR_CELLS, gap=2, from_width=100),
    Column("≤ IN CACHE", 10, right=True, gap=2, from_width=84),
    Column("SYNCS", 7, right=True, from_width=50),
    Column("WHERE", gap=2, cut="left"),
)


class RiskView(msgspec.Struct, frozen=True):
    target: Target
    state: AtRisk | None = None
    caveats: tuple[str, ...] = ()
    unsafe: tuple[UnsafeMount, ...] = ()
    used_columns: dict[str, int] = msgspec.field(default_factory=dict)


class Moment(NamedTuple):
    """What was at risk at one time, for the charts."""

    bytes: int
    oldest_s: float
    """A lower bound: the oldest bytes may be older than fstui's first look at their file."""
    names: int | None


def _size(mib: float) -> str:
    """Return an amount with the units of the tables, in at most seven characters: ``9.3 MiB``, ``11 MiB``."""
    text = short_size(mib * _MIB)
    return text if text.endswith("B") else f"{text}iB"


BYTES = Figure("unsynced bytes", lambda moment: moment.bytes / _MIB, _size, 1)
OLDEST = Figure("the oldest, at least", lambda moment: moment.oldest_s, lambda value: f"{value:.0f} s", 10, colour=TIME)
NAMES = Figure("new names", lambda moment: moment.names, count, 4)
_FIGURES = ((BYTES, OLDEST, NAMES), (BYTES, OLDEST), (BYTES, OLDEST, NAMES))
"""The figures to chart in one, two or three columns of charts."""


def moment_of(state: AtRisk) -> Moment:
    return Moment(
        sum(file.bytes for file in state.files),
        max((file.oldest_s or 0.0 for file in state.files), default=0.0),
        sum(row.count for row in state.names) if state.names_recorded else None,
    )


def last_minutes(recent: RecentSamples[Moment], now: Moment | None, width: int, height: int) -> Sequence[Text]:
    """Draw the charts, whose last column is the last second."""
    return charts.last_minutes(
        "over time", _FIGURES, recent, width=width, height=height, cell_s=_CELL_S, now=now, always=(BYTES,)
    )


def title(view: RiskView, width: int) -> Text:
    elapsed = f"watched for {clock(view.state.elapsed_s)}" if view.state else ""
    return title_line("at risk", io_path.path(view.target), elapsed, width)


def total(view: RiskView, width: int) -> list[Text]:
    """Draw the warnings and the sum."""
    lines: list[Text] = []
    for mount in view.unsafe:
        text = f"{at_risk.warning(mount)} {mount.sentence}"
        lines += headline(text, width, ". ", verdict_style(mount.verdict)[1])
    counts = at_risk.total(view.state, counts_all=not lines) if view.state else "Looking at the open files …"
    return lines + headline(counts, width, ", ") if counts or not lines else lines


def rows(view: RiskView, width: int, max_files: int) -> list[Text]:
    """Draw the files at risk, the most bytes first, then new names, notes, caveats.

    Closed files that had the same path share a row. If there are more than ``max_files`` files, the files of a program
    in one directory share a row. The greatest age and the most bytes have the warning colour.
    """
    state, groups = view.state or AtRisk(), defaultdict[object, list[FileAtRisk]](list)
    at_risk_files = [file for file in state.files if file.bytes or file.direct]
    for file in at_risk_files:
        place = PurePath(file.path).parent if len(at_risk_files) > max_files else (file.path, file.closed)
        groups[file.programs, place, file.direct].append(file)
    files = sorted(groups.values(), key=lambda group: -_bytes(group))
    max_bytes = _bytes(files[0]) if len(files) > 1 else 0  # a single bar compares nothing
    # ≤ BYTES includes the bytes in the cache. They have a column only if they are a part that matters
    has_cache = sum(file.cached_bytes for file in state.files) > _MIN_CACHE_SHARE * _bytes(state.files)
    cells = [_file_cells(group, max_bytes, has_cache=has_cache) for group in files]
    cells += [
        (row.program, seconds(row.oldest_s), counted(row.count, "name"), "", "", "", row.directory_label)
        for row in sorted(state.names, key=lambda row: -row.count)
        if row.directory
    ]
    cells = [(*figures, relative(path, view.target.mount_point)) for *figures, path in cells]
    drawn = table(used_columns(ROWS, cells, view.used_columns), cells, width)
    colour_meters(drawn)
    if len(files) > 1:
        oldest = max(range(len(files)), key=lambda index: _oldest(files[index]).oldest_s or 0.0)
        for index, text in ((oldest, _oldest(files[oldest]).age_text), (0, size(max_bytes))):
            colour_cell(drawn[index + 1], text, WARNING)
    if view.state and not cells:
        state_of_files = "unsynced bytes; synced bytes are not counted" if view.unsafe else "bytes at risk"
        drawn.append(line((f"   no file on this filesystem has {state_of_files}", FAINT)))
    if unknown := sum(row.count for row in state.names if not row.directory):
        drawn.append(line((f"   {counted(unknown, 'new name')} in directories whose paths are not known", FAINT)))
    notes = [_OF_ONE_PATH] if any(map(_have_one_path, files)) else []
    notes += [f"{program.program_label}: {words}" for program in state.programs if (words := at_risk.note(program))]
    return drawn + [part for sentence in (*notes, *view.caveats) for part in paragraph(sentence, width, style=FAINT)]


def path(view: RiskView, width: int) -> list[Text]:
    caches = at_risk.caches(view.state) if view.state else ()
    lines = [part for sentence in caches for part in paragraph(sentence, width, style=FAINT)]
    return [rule(width, "I/O path"), *io_path.tree(view.target, width), *lines]


def _bytes(files: Sequence[FileAtRisk]) -> int:
    return sum(file.bytes for file in files)


def _oldest(files: Sequence[FileAtRisk]) -> FileAtRisk:
    return max(files, key=lambda file: file.oldest_s or 0.0)


def _have_one_path(files: Sequence[FileAtRisk]) -> bool:
    return len(files) > 1 and len({file.path for file in files}) == 1


def _file_cells(group: Sequence[FileAtRisk], max_bytes: int, *, has_cache: bool) -> tuple[str, ...]:
    file, *other_files = group
    program, *other_programs = file.programs or ("ended",)
    return (
        f"{program} +{len(other_programs)}" if other_programs else program,
        _oldest(group).age_text or NONE,
        size(_bytes(group)),
        plain_meter(_bytes(group) / max_bytes, _BAR_CELLS) if max_bytes else "",
        size(sum(each.cached_bytes for each in group)) if has_cache else NONE,
        NONE if file.syncs is None else count(sum(each.syncs or 0 for each in group)),
        _group_label(group) if other_files else file.file_label,
    )


def _group_label(group: Sequence[FileAtRisk]) -> str:
    file, direct = group[0], ", O_DIRECT" * group[0].direct
    if _have_one_path(group):
        return f"{file.path} ({len(group)} closed{direct})"
    return f"{PurePath(file.path).parent} ({counted(len(group), 'file')}{direct})"
