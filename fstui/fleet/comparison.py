"""Two gathered directories, before and after a change: the same boxes, one beside itself."""

from __future__ import annotations

from collections.abc import Iterator
from math import log
from statistics import median
from typing import NamedTuple

from fstui.fleet.boxes import Box
from fstui.fleet.gathered import Fleet
from fstui.fleet.nodes import folded
from fstui.model.quantities import counted
from fstui.report.characters import page
from fstui.report.glyphs import GLYPHS
from fstui.report.text import NONE, WIDTH, columns, hanging, wrap

MOST_ROWS, MOST_CHANGES = 40, 3
LEAST = 1.1
"""A rate that has changed by less than a tenth is no change to be named."""


class Change(NamedTuple):
    """One box and target, before and after."""

    before: Box
    after: Box
    ratio: float | None
    """Of its rates, after to before, in the median over the steps that both have."""
    set_otherwise: tuple[str, ...]

    @property
    def worse(self) -> bool:
        """Its verdict is."""
        return self.after.rank < self.before.rank

    @property
    def told(self) -> bool:
        """There is something to tell."""
        moved = self.ratio is not None and abs(log(self.ratio)) > log(LEAST)
        return moved or self.before.verdict != self.after.verdict or bool(self.set_otherwise)


def changes(before: Fleet, after: Fleet) -> list[Change]:
    """Of those that are in both; the worst first."""
    known = {(box.node, box.place): box for box in before.boxes}
    found = [_change(known[box.node, box.place], box) for box in after.boxes if (box.node, box.place) in known]
    return sorted(found, key=lambda one: (not one.worse, one.ratio if one.ratio is not None else 1.0, one.after.node))


def render(before: Fleet, after: Fleet) -> str:
    """What has changed, box by box; then all of them together, and who is in one of them alone."""
    found = changes(before, after)
    told = [one for one in found if one.told]
    lines = [f"{counted(len(found), 'target')} in both, {len(told)} changed", ""]
    if told:
        header = ("", "BOX", "TARGET", "BEFORE", "AFTER", "RATE", "SET OTHERWISE")
        lines += columns([header, *map(_row, told[:MOST_ROWS])], "<<<<<><")
        lines += [f"and {len(told) - MOST_ROWS} more"] if len(told) > MOST_ROWS else []
    ratios = [one.ratio for one in found if one.ratio is not None]
    if ratios:
        lines += ["", f"rates, after to before: median {median(ratios):.2f} ×, {min(ratios):.2f} to {max(ratios):.2f}"]
    return page([*lines, *_alone(before, after)])


def _change(before: Box, after: Box) -> Change:
    rates = {one.step: one.per_s for one in before.rates if one.per_s > 0}
    ratios = [one.per_s / rates[one.step] for one in after.rates if one.step in rates and one.per_s > 0]
    facts = [
        f"{name} {before.facts.get(name, NONE)} → {after.facts.get(name, NONE)}"
        for name in sorted({*before.facts, *after.facts})
        if before.facts.get(name) != after.facts.get(name)
    ]
    return Change(before, after, median(ratios) if ratios else None, tuple(facts))


def _row(change: Change) -> tuple[str, ...]:
    after = change.after
    more = len(change.set_otherwise) - MOST_CHANGES
    said = "; ".join(change.set_otherwise[:MOST_CHANGES]) + (f" and {more} more" if more > 0 else "")
    return (
        GLYPHS[after.verdict] if after.verdict else "",
        after.node,
        after.place,
        change.before.verdict or NONE,
        after.verdict or NONE,
        f"{change.ratio:.2f} ×" if change.ratio is not None else NONE,
        said,
    )


def _alone(before: Fleet, after: Fleet) -> Iterator[str]:
    for which, one, other in (("before", before, after), ("after", after, before)):
        there = {box.node for box in other.boxes}
        if alone := list(dict.fromkeys(box.node for box in one.boxes if box.node not in there)):
            yield from wrap(f"only {which}: {folded(alone)}", WIDTH)
        if one.about.troubles:
            reasons = [
                (f"{which}, no answer:", f"{node}: {why}") for node, why in list(one.about.troubles.items())[:MOST_ROWS]
            ]
            yield from hanging(reasons)
