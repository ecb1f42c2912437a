"""Boxes beside their equals: the same layers on the same model at the same provider. Which is not as they are, and why?

A rate is odd where it lies further from its equals' median than 3.5 times their MAD, scaled to a standard deviation
(Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993), and by a quarter at the least: in a fleet that is very
even, a hundredth would be odd too, and of no use to anybody. Logarithms are compared: half is as far as double.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import exp, log
from statistics import median
from typing import NamedTuple

from fstui.fleet.boxes import Box
from fstui.judge.words import capital
from fstui.model.judgement import VERDICTS
from fstui.model.quantities import rate

FAR, LEAST, SCALED = 3.5, 1.25, 1.4826
ENOUGH = 4
"""Equals: fewer have no distribution."""
MAJORITY = 0.75
"""Of the equals: what so many have in common is how they are set."""
MOST_REASONS = 3
_CACHE = {"write back": "on", "write through": "off"}
_TELLING = ("write cache", "barrier", "stubs syncs", "io limit", "state", "dio", "medium")
"""Reasons that explain a rate are named before others."""


class Spread(NamedTuple):
    """How one step went on several boxes."""

    step: str
    boxes: int
    least: float
    median: float
    mad: float
    most: float


class Group(NamedTuple):
    """Boxes that stand on the same."""

    layers: str
    model: str
    cache: str
    kernel: str
    cloud: str
    boxes: tuple[Box, ...]
    spreads: tuple[Spread, ...]

    @property
    def words(self) -> str:
        """What they stand on."""
        named = (self.model, f"cache {self.cache}" if self.cache else "", self.kernel, self.cloud)
        return " · ".join(filter(None, (self.layers, *named)))


class Oddity(NamedTuple):
    """One box, and how it is unlike its equals."""

    box: Box
    sentence: str
    ratio: float | None = None
    """To the median of its equals; None where it is a verdict."""


def groups(boxes: Iterable[Box]) -> list[Group]:
    """By what they stand on, the largest first."""
    found: dict[tuple[str, ...], list[Box]] = {}
    for box in boxes:
        found.setdefault((box.layers, box.model, box.cache, box.kernel, box.cloud), []).append(box)
    made = [_group(tuple(members)) for members in found.values()]
    return sorted(made, key=lambda group: -len(group.boxes))


def _group(boxes: tuple[Box, ...]) -> Group:
    first = boxes[0]
    return Group(first.layers, first.model, first.cache, first.kernel, first.cloud, boxes, tuple(_spreads(boxes)))


def odd_rates(boxes: Sequence[Box]) -> list[Oddity]:
    """Those that are slower, or faster, than their equals; the furthest first."""
    found = [odd for members in _equals(boxes).values() for odd in _odd_ones(members)]
    return sorted(found, key=lambda odd: -abs(log(odd.ratio or 1.0)))


def worse_verdicts(boxes: Sequence[Box]) -> list[Oddity]:
    """Those whose verdict is worse than that of most of their equals; where they are alone, of all."""
    judged = [box for box in boxes if box.verdict]
    usual_of_all = _usual(judged)
    found = []
    for members in _equals(judged).values():
        usual = _usual(members) if len(members) > 2 else usual_of_all
        them = f"its {len(members) - 1} equals" if len(members) > 2 else "most others"
        worse = [box for box in members if box.rank < usual]
        common = _Common([box for box in members if box.rank == usual]) if worse else None
        for box in worse:
            why = "; ".join(common.reasons(box)) if common else ""
            said = f"{box.verdict} ({box.confidence}), {them} {VERDICTS[usual]}: {box.sentence or box.flag}"
            found.append(Oddity(box, f"{said}{f' {capital(why)}.' if why else ''}"))
    return sorted(found, key=lambda odd: (odd.box.rank, odd.box.node))


def ratio_to_equals(boxes: Sequence[Box]) -> dict[tuple[str, str], float]:
    """By box and place: its rates beside its equals' medians, in the median over its steps."""
    found = {}
    for members in _equals(boxes).values():
        medians = {spread.step: spread.median for spread in _spreads(members)}
        for box in members if len(members) > 1 else ():
            ratios = [one.per_s / medians[one.step] for one in box.rates if medians.get(one.step)]
            if ratios:
                found[box.node, box.place] = median(ratios)
    return found


def _equals(boxes: Iterable[Box]) -> dict[tuple[str, ...], list[Box]]:
    """Neither settings nor kernel part them: these may be why one of them differs."""
    found: dict[tuple[str, ...], list[Box]] = {}
    for box in boxes:
        found.setdefault((box.layers, box.model, box.cloud), []).append(box)
    return found


def _spreads(boxes: Iterable[Box]) -> Iterator[Spread]:
    rates: dict[str, list[float]] = {}
    for box in boxes:
        for one in box.rates:
            if one.per_s > 0:
                rates.setdefault(one.step, []).append(one.per_s)
    for step, each in rates.items():
        middle = median(each)
        yield Spread(step, len(each), min(each), middle, median(abs(one - middle) for one in each), max(each))


class _Off(NamedTuple):
    """How far a box is off in one step."""

    log_ratio: float
    step: str
    median_per_s: float
    mad_per_s: float


def _odd_ones(members: Sequence[Box]) -> Iterator[Oddity]:
    """Each box once, by the step in which it is furthest off. One that is odd is no measure of how others are set."""
    furthest: dict[int, _Off] = {}
    for at, off in _all_off(members):
        if at not in furthest or abs(off.log_ratio) > abs(furthest[at].log_ratio):
            furthest[at] = off
    common = _Common([box for at, box in enumerate(members) if at not in furthest]) if furthest else None
    for at, off in furthest.items():
        box, times = members[at], exp(off.log_ratio)
        why = "; ".join(common.reasons(box)) if common else ""
        sentence = (
            f"{_times(times)} × its {len(members) - 1} equals in {off.step} ({rate(times * off.median_per_s)}/s, "
            f"their median {rate(off.median_per_s)}/s, MAD {rate(off.mad_per_s)}/s)"
        )
        yield Oddity(box, f"{sentence}: {why}" if why else f"{sentence}; nothing that was read explains it", times)


def _all_off(members: Sequence[Box]) -> Iterator[tuple[int, _Off]]:
    """Every box in every step in which it is too far from the median."""
    logs: dict[str, dict[int, float]] = {}
    for at, box in enumerate(members):
        for one in box.rates:
            if one.per_s > 0:
                logs.setdefault(one.step, {})[at] = log(one.per_s)
    for step, each in logs.items():
        if len(each) > ENOUGH:
            middle = median(each.values())
            mad = median(abs(one - middle) for one in each.values())
            limit = max(FAR * SCALED * mad, log(LEAST))
            offs = {at: value - middle for at, value in each.items()}
            for at, off in offs.items():
                if abs(off) > limit:
                    yield at, _Off(off, step, exp(middle), exp(middle) * mad)


class _Common:
    """How most of some boxes are set."""

    def __init__(self, boxes: Sequence[Box]) -> None:
        self._boxes = len(boxes)
        values: dict[str, Counter[str]] = {}
        for box in boxes:
            for fact, value in box.facts.items():
                values.setdefault(fact, Counter())[value] += 1
        self._facts = {fact: counted.most_common(1)[0] for fact, counted in values.items()}
        self._having = {fact: counted.total() for fact, counted in values.items()}
        self._notes = Counter(rule for box in boxes for rule in box.notes)

    def reasons(self, box: Box) -> list[str]:
        """What is set otherwise there, what is most telling first."""
        if not self._boxes:
            return []
        enough = MAJORITY * self._boxes
        found = []
        for fact, (value, number) in self._facts.items():
            if number >= enough and box.facts.get(fact, "") != value:
                found.append((fact, _said(fact, box.facts.get(fact, ""), value)))
        for fact, here in box.facts.items():
            if self._having.get(fact, 0) <= self._boxes - enough:
                found.append((fact, _said(fact, here, "")))
        found += [(rule, title) for rule, title in box.notes.items() if self._notes[rule] < self._boxes - enough]
        found.sort(key=lambda pair: not any(word in pair[0] for word in _TELLING))
        return list(dict.fromkeys(words for _, words in found))[:MOST_REASONS]


def _said(fact: str, here: str, theirs: str) -> str:
    if fact.endswith("write cache") and here in _CACHE and theirs in _CACHE:
        return f"its {fact} is {_CACHE[here]}, theirs is {_CACHE[theirs]}"
    if not theirs:
        return f"its {fact} is {here}, theirs have none"
    return f"its {fact} is {here}, theirs {theirs}" if here else f"it has no {fact}, theirs is {theirs}"


def _usual(boxes: Iterable[Box]) -> int:
    """The verdict in the middle, by its rank."""
    ranks = sorted(box.rank for box in boxes)
    return ranks[len(ranks) // 2] if ranks else 0


def _times(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 0.095 else f"{ratio:.1f}" if ratio < 99.5 else f"{ratio:.0f}"
