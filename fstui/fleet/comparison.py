"""Compare two gathered directories, before and after a change, host by host."""

from __future__ import annotations

from collections.abc import Iterator
from math import log
from statistics import median
from typing import NamedTuple

from fstui.fleet.boxes import Box
from fstui.fleet.gathered import Fleet
from fstui.fleet.nodes import folded
from fstui.fleet.report import by_reason
from fstui.model.quantities import counted
from fstui.report.comparison import Ratio
from fstui.report.sections import Cell, Report, Section, glyph, verdict
from fstui.report.text import NONE

MOST_ROWS, MOST_CHANGES = 40, 3
LEAST, LEAST_OF_ONE = 1.25, 2.0
"""Smaller changes of a rate are not named; one step alone has no interval, and such a figure varies more."""


class Change(NamedTuple):
    """One host and target, before and after."""

    before: Box
    after: Box
    ratio: Ratio | None
    """Of its rates, after to before: the median over the steps that both have, and their interval."""
    set_otherwise: tuple[str, ...]

    @property
    def worse(self) -> bool:
        """The verdict became worse."""
        return self.after.rank < self.before.rank

    @property
    def moved(self) -> bool:
        """The rates changed by more than they vary."""
        if self.ratio is None or self.ratio.undecided:
            return False
        return abs(log(self.ratio.times)) > log(LEAST if self.ratio.rounds > 1 else LEAST_OF_ONE)

    @property
    def told(self) -> bool:
        """There is a change to show."""
        return self.moved or self.before.verdict != self.after.verdict or bool(self.set_otherwise)


def changes(before: Fleet, after: Fleet) -> list[Change]:
    """Return the targets that are in both, the worst first."""
    known = {(box.node, box.place): box for box in before.boxes}
    found = [_change(known[box.node, box.place], box) for box in after.boxes if (box.node, box.place) in known]
    return sorted(found, key=lambda one: (not one.worse, one.ratio.times if one.ratio else 1.0, one.after.node))


def report_of(before: Fleet, after: Fleet) -> Report:
    """Return the changes host by host, then of all hosts together, then the hosts that are in one of them alone."""
    found = changes(before, after)
    told = [one for one in found if one.told]
    header = ("", "BOX", "TARGET", "BEFORE", "AFTER", "RATE", "SET OTHERWISE")
    more = (f"and {len(told) - MOST_ROWS} more",) if len(told) > MOST_ROWS else ()
    ratios = [one.ratio.times for one in found if one.ratio]
    rates = (
        (f"rates, after to before: median {median(ratios):.2f} ×, {min(ratios):.2f} to {max(ratios):.2f}",)
        if ratios
        else ()
    )
    sections = (
        Section("", header, tuple(map(_row, told[:MOST_ROWS])), more),
        Section("", lines=rates),
        *_alone("before", before, after),
        *_alone("after", after, before),
    )
    return Report(
        f"{counted(len(found), 'target')} in both, {len(told)} changed",
        sections,
        [_document(one) for one in found],
        Section("", header, tuple(map(_row, told))),
    )


def _change(before: Box, after: Box) -> Change:
    rates = {one.step: one.per_s for one in before.rates if one.per_s > 0}
    each = [one.per_s / rates[one.step] for one in after.rates if one.step in rates and one.per_s > 0]
    facts = tuple(
        f"{name} {before.facts.get(name, NONE)} → {after.facts.get(name, NONE)}"
        for name in sorted({*before.facts, *after.facts})
        if before.facts.get(name) != after.facts.get(name)
    )
    ratio = Ratio(median(each), min(each), max(each), len(each)) if len(each) > 1 else Ratio(each[0]) if each else None
    return Change(before, after, ratio, facts)


def _row(change: Change) -> tuple[Cell | str, ...]:
    more = len(change.set_otherwise) - MOST_CHANGES
    said = "; ".join(change.set_otherwise[:MOST_CHANGES]) + (f" and {more} more" if more > 0 else "")
    times = change.ratio.times if change.ratio else None
    return (
        glyph(change.after.verdict),
        Cell(change.after.node, change.after.node),
        Cell(change.after.place, change.after.place),
        verdict(change.before.verdict),
        verdict(change.after.verdict),
        Cell(str(change.ratio or NONE), times, numeric=True),
        Cell(said, "; ".join(change.set_otherwise)),
    )


def _document(change: Change) -> dict[str, object]:
    return {
        "box": change.after.node,
        "target": change.after.place,
        "before": change.before.verdict,
        "after": change.after.verdict,
        "ratio": change.ratio._asdict() if change.ratio else None,
        "set_otherwise": change.set_otherwise,
        "changed": change.told,
        "worse": change.worse,
    }


def _alone(which: str, one: Fleet, other: Fleet) -> Iterator[Section]:
    there = {box.node for box in other.boxes}
    if alone := list(dict.fromkeys(box.node for box in one.boxes if box.node not in there)):
        yield Section("", lines=(f"only {which}: {folded(alone)}",))
    yield Section(f"{which}, no answer", lines=by_reason(one.about.troubles)[:MOST_ROWS])
