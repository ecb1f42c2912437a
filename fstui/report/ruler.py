"""Published rates on a logarithmic ruler in plain text, compared with the rate of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from math import ceil, floor, log10
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from fstui.judge.references import Placement, Reference, placed
from fstui.model.quantities import counted, rate, size
from fstui.model.run import OwnReference, Run
from fstui.report.documents import ReferencesDocument
from fstui.report.latency_map import LogScale
from fstui.report.sections import Cell, Report, Section, number, records
from fstui.report.text import WIDTH, hanging, wrap

HERE, THERE, OWN, LEADER = "◆", "●", "▲", "·"
_MAX_LINES, _NEAR = 8, 3
"""A longer ruler shows only the nearest rates on either side, the slowest and the fastest."""
_RECORDS = ("operation", "device", "setup", "per_s", "medium", "source")
_NAME, _SHORTEST_NAME, _SOURCE = 28, 10, 4
_DECADES = ("0.01", "0.1", "1", "10", "100", "1 k", "10 k", "100 k", "1 M", "10 M")
_LOWEST_DECADE = -2


class _RulerRow(NamedTuple):
    name: str
    per_s: float
    mark: str
    source: str = ""
    """The number of the source in the list below the ruler."""


def of_run(run: Run, width: int = WIDTH) -> list[str]:
    """Return a ruler for the operation with the most published results; empty if there are none."""
    found = placed(run)
    return lines(found[0], width) if found else []


def lines(placement: Placement, width: int = WIDTH) -> list[str]:
    """Return a heading, the ruler, notes about the published rates, and their sources."""
    shown = _nearest(placement)
    here = _RulerRow(f"here, {size(placement.block_bytes)}", placement.per_s, HERE)
    sources = _Sources([*shown, *placement.own])
    own = [sources.row(reference)._replace(mark=OWN) for reference in placement.own]
    rows = sorted([*map(sources.row, shown), *own, here], key=lambda row: (row.per_s, row.mark == HERE))
    number = len(placement.published)
    left_out = [f"  and {number - len(shown)} more: fstui references"] if len(shown) < number else []
    return [
        *wrap(f"{placement.operation}: {', '.join(_headings(placement))}", width),
        *_ruler(rows, width),
        *left_out,
        *_notes(shown, width),
        *sources.lines(width),
    ]


def _headings(placement: Placement) -> Iterator[str]:
    """Compare with the user's own references, then with the published ones."""
    for own in placement.own:
        yield f"{placement.per_s / own.per_s:.2f} × your own {own.device}"
    if placement.published:
        classes = ", ".join(sorted({reference.medium for reference in placement.published}))
        number = len(placement.published)
        faster = f"faster than {placement.slower} of {number} published rates"
        if placement.per_s < placement.published[0].per_s:
            faster = f"slower than the slowest of {number} published rates"
        unknown = "compared with all media, because the kind of this device is not known"
        yield f"{faster} for {classes}" if placement.media else f"{unknown}: {faster}"


def of_library(references: Sequence[Reference], own: Sequence[OwnReference]) -> Report:
    by_operation = sorted(references, key=lambda reference: (reference.operation.lower(), reference.per_s))
    sources, sections = _Sources(by_operation), [*of_own(own).sections]
    for operation, group in groupby(by_operation, key=lambda reference: reference.operation):
        rows = list(group)
        drawn = (*_ruler([*map(sources.row, rows)], WIDTH - 2), *_notes(rows, WIDTH - 2))
        sections.append(Section(f"{operation}, per second", drawn=drawn))
    sections.append(Section("sources" if references else "", drawn=tuple(sources.lines(WIDTH - 2))))
    values = [(one.operation, one.device, one.setup, one.per_s, one.medium, one.source) for one in by_operation]
    document = ReferencesDocument(own=tuple(own), published=tuple(by_operation))
    return Report("", tuple(sections), document, records(_RECORDS, values))


def of_own(references: Sequence[OwnReference]) -> Report:
    rows = tuple(map(_own_row, references))
    return Report("", (Section("", ("NAME", "OPERATION", "RATE/S", "OF"), rows),), None)


def _own_row(own: OwnReference) -> tuple[Cell | str, ...]:
    where = ", ".join(own.models or own.media) or "any medium"
    which = f"{size(own.block_bytes)}, {counted(own.runs, 'run')}, {where}"
    return f"{OWN} {own.name}", own.operation, number(own.per_s, rate), which


def _ruler(rows: Sequence[_RulerRow], width: int) -> list[str]:
    """Draw a line for each rate: name, rate, source and mark. The marks have at least half of a narrow terminal."""
    names = min(_NAME, max(width // 2 - 12, _SHORTEST_NAME))
    rates = max(len(rate(row.per_s)) for row in rows)
    lead = 2 + names + 1 + rates + 1 + _SOURCE + 1
    scale, columns = _scale([row.per_s for row in rows]), max(width - lead, 2)
    drawn = (
        f"{'▸' if row.mark == HERE else ' '} {_fit(row.name, names)} {rate(row.per_s):>{rates}} "
        f"{row.source:<{_SOURCE}} {LEADER * _column(scale, row.per_s, columns)}{row.mark}"
        for row in rows
    )
    return [" " * lead + _header(scale, columns), *drawn]


def _scale(rates: Sequence[float]) -> LogScale:
    low = max(floor(log10(min(rates))), _LOWEST_DECADE)
    high = min(ceil(log10(max(rates))), _LOWEST_DECADE + len(_DECADES) - 1)
    return LogScale(10.0**low, 10.0 ** max(high, low + 1))


def _column(scale: LogScale, per_s: float, columns: int) -> int:
    return round(scale.position(per_s) * (columns - 1))


def _header(scale: LogScale, columns: int) -> str:
    """Place the name of each decade at its column; the last one ends the line."""
    line = ""
    for exponent in scale.decades():
        name = _DECADES[exponent - _LOWEST_DECADE]
        at = min(_column(scale, 10.0**exponent, columns), columns - len(name))
        if at > len(line) or not line:
            line = line.ljust(at) + name
    return line[:columns]


class _Sources:
    """The sources, numbered in the order of their first use."""

    def __init__(self, references: Iterable[Reference]) -> None:
        found = dict.fromkeys(reference.source for reference in references)
        self._numbers = {source: f"[{number}]" for number, source in enumerate(found, 1)}

    def row(self, reference: Reference) -> _RulerRow:
        marked = "*" if reference.note else ""
        name = ", ".join(filter(None, [reference.device + marked, reference.setup]))
        return _RulerRow(name, reference.per_s, THERE, self._numbers[reference.source])

    def lines(self, width: int) -> list[str]:
        return [f"  {line}" for line in hanging([(number, name) for name, number in self._numbers.items()], width - 2)]


def _notes(references: Iterable[Reference], width: int) -> list[str]:
    notes = dict.fromkeys(f"* {reference.device}: {reference.note}" for reference in references if reference.note)
    return [f"  {line}" for note in notes for line in wrap(note, width - 2)]


def _nearest(placement: Placement) -> tuple[Reference, ...]:
    """Return the slowest, the fastest, and the nearest on either side."""
    every = placement.published
    if len(every) <= _MAX_LINES:
        return every
    at = placement.slower
    near = every[max(at - _NEAR, 0) : at + _NEAR]
    return tuple(reference for reference in every if reference in (every[0], *near, every[-1]))


def _fit(name: str, width: int) -> str:
    return set_cell_size(name if cell_len(name) <= width else name[: width - 1] + "…", width)
