"""Boxes beside their equals: the same layers on the same model at the same provider. Which is not as they are, and why?

A rate is odd where it lies further from its equals' median than 3.5 times their MAD, scaled to a standard deviation
(Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993), and by a quarter at the least: in a fleet that is very
even, a hundredth would be odd too, and of no use to anybody. Logarithms are compared: half is as far as double.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import log
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
    log_mad: float
    """Of the logarithms: half is as far as double."""


class Group(NamedTuple):
    """Hosts on the same layers and the same model at the same provider: equals.

    Neither settings nor kernel part them: these may be why one of them differs.
    """

    layers: str
    model: str
    cloud: str
    boxes: tuple[Box, ...]

    @property
    def cache(self) -> str:
        """Every write cache setting among them."""
        return _values(box.cache for box in self.boxes)

    @property
    def kernel(self) -> str:
        """Every kernel among them."""
        return _values(box.kernel for box in self.boxes)

    @property
    def words(self) -> str:
        """What they have in common."""
        named = (self.model, f"cache {self.cache}" if self.cache else "", self.kernel, self.cloud)
        return " · ".join(filter(None, (self.layers, *named)))

    @property
    def spreads(self) -> tuple[Spread, ...]:
        """How each step went, without hosts that drop syncs."""
        rates: dict[str, list[float]] = {}
        for box in self.boxes:
            for one in box.rates if box.comparable else ():
                if one.per_s > 0:
                    rates.setdefault(one.step, []).append(one.per_s)
        return tuple(_spread(step, each) for step, each in rates.items())


class Oddity(NamedTuple):
    """One box, and how it is unlike its equals."""

    box: Box
    sentence: str
    ratio: float | None = None
    """To the median of its equals; None where it is a verdict."""


def groups(boxes: Iterable[Box]) -> list[Group]:
    """Return the groups, the largest first."""
    found: dict[tuple[str, str, str], list[Box]] = {}
    for box in boxes:
        found.setdefault((box.layers, box.model, box.cloud), []).append(box)
    made = [Group(*key, tuple(members)) for key, members in found.items()]
    return sorted(made, key=lambda group: -len(group.boxes))


def odd_rates(boxes: Sequence[Box]) -> list[Oddity]:
    """Return the hosts that are slower or faster than their equals, the furthest first."""
    found = [odd for group in groups(boxes) for odd in _odd_ones(group)]
    return sorted(found, key=lambda odd: -abs(log(odd.ratio or 1.0)))


def ratio_to_equals(boxes: Sequence[Box]) -> dict[tuple[str, str], float]:
    """Return the ratio to the equals' median by host and place, in the step in which the host is furthest off."""
    offs = (off for group in groups(boxes) for off in _furthest(group))
    return {(off.box.node, off.box.place): off.ratio for off in offs}


def _odd_ones(group: Group) -> Iterator[Oddity]:
    """An odd host does not show how the others are set."""
    offs = _furthest(group)
    odd = [off for off in offs if off.odd]
    common = _Common([off.box for off in offs if not off.odd]) if odd else None
    for off in odd:
        why = "; ".join(common.reasons(off.box)) if common else ""
        spread = off.spread
        sentence = (
            f"{_times(off.ratio)} × its {spread.boxes - 1} equals in {spread.step} ({rate(off.per_s)}/s, "
            f"their median {rate(spread.median)}/s, MAD {rate(spread.mad)}/s)"
        )
        yield Oddity(
            off.box, f"{sentence}: {why}" if why else f"{sentence}; nothing that was read explains it", off.ratio
        )


class _Off(NamedTuple):
    """How far a host is from the median of one step."""

    box: Box
    per_s: float
    spread: Spread

    @property
    def ratio(self) -> float:
        return self.per_s / self.spread.median

    @property
    def odd(self) -> bool:
        limit = max(FAR * SCALED * self.spread.log_mad, log(LEAST))
        return self.spread.boxes > ENOUGH and abs(log(self.ratio)) > limit


def _furthest(group: Group) -> list[_Off]:
    """Return each comparable host in the step in which it is furthest off; nothing where it has no equals."""
    spreads = {spread.step: spread for spread in group.spreads if spread.boxes > 1}
    found = []
    for box in group.boxes:
        rates = [one for one in box.rates if box.comparable and one.per_s > 0 and one.step in spreads]
        offs = [_Off(box, one.per_s, spreads[one.step]) for one in rates]
        if offs:
            found.append(max(offs, key=lambda off: (off.odd, abs(log(off.ratio)))))
    return found


def _spread(step: str, rates: Sequence[float]) -> Spread:
    middle = median(rates)
    log_mad = median(abs(log(one / middle)) for one in rates)
    return Spread(step, len(rates), min(rates), middle, median(abs(one - middle) for one in rates), max(rates), log_mad)


def _values(each: Iterable[str]) -> str:
    return " or ".join(filter(None, dict.fromkeys(each)))


def worse_verdicts(boxes: Sequence[Box]) -> list[Oddity]:
    """Those whose verdict is worse than that of most of their equals; where they are alone, of all."""
    judged = [box for box in boxes if box.verdict]
    usual_of_all = _usual(judged)
    found = []
    for group in groups(judged):
        members = group.boxes
        usual = _usual(members) if len(members) > 2 else usual_of_all
        them = f"its {len(members) - 1} equals" if len(members) > 2 else "most others"
        worse = [box for box in members if box.rank < usual]
        common = _Common([box for box in members if box.rank == usual]) if worse else None
        for box in worse:
            why = "; ".join(common.reasons(box)) if common else ""
            said = f"{box.verdict} ({box.confidence}), {them} {VERDICTS[usual]}: {box.sentence or box.flag}"
            found.append(Oddity(box, f"{said}{f' {capital(why)}.' if why else ''}"))
    return sorted(found, key=lambda odd: (odd.box.rank, odd.box.node))


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
