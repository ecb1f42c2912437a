"""What a fleet comes to, as titled tables and sentences: every format shows the same ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fstui.fleet.boxes import Box
from fstui.fleet.gathered import Fleet
from fstui.fleet.nodes import folded
from fstui.fleet.oddities import Group, Oddity, groups, odd_rates, ratio_to_equals, worse_verdicts
from fstui.model.judgement import TOO_SLOW, VERDICTS
from fstui.model.quantities import counted, duration_ns, rate, seconds
from fstui.report.glyphs import GLYPHS, SPEEDS
from fstui.report.text import NONE

MOST_ROWS = 40
"""Boxes named one by one: what is left are those that are as their equals."""
MOST_GROUPS = 12
_SENTENCE = 300


class Section(NamedTuple):
    """A table, or sentences, under a title."""

    title: str
    header: tuple[str, ...] = ()
    align: str = ""
    """``<`` or ``>`` for each column."""
    rows: tuple[tuple[str, ...], ...] = ()
    lines: tuple[str, ...] = ()


def headline(fleet: Fleet) -> str:
    """``8 boxes asked, 6 answered in 14.2 s: 4 consistent, 2 not-durable``"""
    asked, silent = len(fleet.about.nodes), len(fleet.about.troubles)
    verdicts = Counter(box.verdict for box in fleet.boxes if box.verdict)
    said = ", ".join(f"{verdicts[each]} {each}" for each in VERDICTS if verdicts[each])
    slow = sum(box.speed in TOO_SLOW for box in fleet.boxes)
    words = ", ".join(filter(None, [said, f"{slow} slow" if slow else ""]))
    answered = f"{counted(asked, 'box')} asked, {asked - silent} answered"
    return f"{answered} in {seconds(fleet.about.elapsed_s)}{f': {words}' if words else ''}"


def sections(fleet: Fleet) -> Iterator[Section]:
    """The answer, what matters most first."""
    boxes = fleet.boxes
    if fleet.about.command in ("watch", "list"):
        yield _spoken(boxes)
    else:
        yield _table(boxes)
        odd = odd_rates(boxes)
        yield Section("Worse than their equals", lines=_sentences(worse_verdicts(boxes)))
        yield Section("Slower or faster than their equals", lines=_sentences(odd))
        yield from _groups(boxes)
    yield Section("Did not answer", lines=_troubles(fleet.about.troubles))
    yield Section("Answered, and ended otherwise", lines=_troubles(fleet.about.remarks))


def _table(boxes: Sequence[Box]) -> Section:
    ratios = ratio_to_equals(boxes)
    ranked = sorted(boxes, key=_severity)
    shown = ranked[:MOST_ROWS]
    header = ("", "BOX", "TARGET", "VERDICT", "SURE", "COMMITS/S", "P99", "× EQUALS", "SLOW?", "FLAG")
    more = len(ranked) - len(shown)
    lines = (f"and {more} more, no worse than the last: --format csv has all of them",) if more else ()
    rows = tuple(_row(box, ratios.get((box.node, box.place))) for box in shown)
    return Section("", header, "<<<<<>>><<", rows, lines)


def _severity(box: Box) -> tuple[int, int, str]:
    slow = list(SPEEDS).index(box.speed) if box.speed else len(SPEEDS)
    return box.rank, slow, box.node


def _row(box: Box, ratio: float | None) -> tuple[str, ...]:
    first = box.commits
    remarks = [*([box.stopped] if box.stopped else []), *(["altered"] if box.altered else [])]
    return (
        GLYPHS[box.verdict] if box.verdict else "",
        box.node,
        box.place,
        " · ".join([box.verdict or NONE, *remarks]),
        box.confidence,
        rate(first.per_s) if first else NONE,
        duration_ns(first.p99_ns) if first and first.p99_ns is not None else NONE,
        f"{ratio:.2f}" if ratio is not None else NONE,
        f"{SPEEDS[box.speed]} {box.speed}" if box.speed else NONE,
        box.flag,
    )


def _spoken(boxes: Sequence[Box]) -> Section:
    rows = tuple(
        (
            GLYPHS[box.verdict] if box.verdict else "",
            box.node,
            box.sentence,
            box.speed_title if box.speed in TOO_SLOW else "",
        )
        for box in sorted(boxes, key=_severity)
    )
    return Section("", ("", "BOX", "SAYS", "SLOW?"), "<<<<", rows)


def _sentences(found: Sequence[Oddity]) -> tuple[str, ...]:
    return tuple(f"{odd.box.node}{_place(odd.box)}: {odd.sentence}"[:_SENTENCE] for odd in found[:MOST_ROWS])


def _place(box: Box) -> str:
    return f" {box.place}" if box.place else ""


def _groups(boxes: Sequence[Box]) -> Iterator[Section]:
    found = groups(boxes)
    for group in found[:MOST_GROUPS]:
        yield _group(group)
    if left := found[MOST_GROUPS:]:
        number = sum(len(group.boxes) for group in left)
        yield Section("", lines=(f"{len(left)} smaller groups with {number} boxes: --format json has them",))


def _group(group: Group) -> Section:
    names = dict.fromkeys(box.node for box in group.boxes)
    title = f"{len(names)} × {group.words}: {folded(names)}"
    header = ("STEP", "BOXES", "LEAST/S", "MEDIAN/S", "MAD", "MOST/S")
    rows = tuple(
        (one.step, str(one.boxes), rate(one.least), rate(one.median), rate(one.mad), rate(one.most))
        for one in group.spreads
    )
    return Section(title, header, "<>>>>>", rows)


def _troubles(troubles: dict[str, str]) -> tuple[str, ...]:
    """Each reason once, with all the boxes that it holds for."""
    by_reason: dict[str, list[str]] = {}
    for node, reason in troubles.items():
        by_reason.setdefault(reason, []).append(node)
    return tuple(f"{folded(nodes)}: {reason}" for reason, nodes in by_reason.items())
