"""Compare runs: which run is faster, by how much, and whether the difference may be chance.

A side is a run, or the interleaved rounds of a run. The rate of a side in a step is the median of its rounds. The
other figures come from the middle round (of an even number of rounds, from the slower of the two in the middle).

Rounds with the same number form a pair. The interval of a ratio is the range of the ratios of all pairs. With n pairs,
it misses the true median 1 time in 2^(n-1): with 5 pairs, 1 time in 16. This holds for any distribution (David and
Nagaraja, Order Statistics, 2003, 7.1).
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import product
from statistics import median
from string import ascii_uppercase
from typing import NamedTuple

import msgspec

from fstui.judge.words import join_words, range_text
from fstui.model.judgement import NOT_DURABLE, SPEEDS, VERDICTS, Answer
from fstui.model.quantities import counted, rate
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.report.figures import Counts, percentile
from fstui.report.sections import Section
from fstui.report.stack import stack_line
from fstui.report.text import NONE, moment

MAX_SIDES = len(ascii_uppercase)
_EIGHTHS_OF_CELL = " ▏▎▍▌▋▊▉"
_NOISE = 1.1
"""Rates that differ by less than this factor count as equal."""
_MIN_WITH_TWO_DECIMALS = 0.1
"""Ratios below this one are shown with two significant digits, the others with at most three."""


class StepRound(NamedTuple):
    run: Run
    step: Step
    """A copy of the step, with the median rate of all rounds in place of its own rate."""

    @property
    def measured(self) -> Step:
        """The step as this round measured it. Its flush counts belong to this rate, not to the median."""
        return next(step for step in self.run.steps if step.name == self.step.name)


class Side(NamedTuple):
    """The rounds of one run in their order. A single run is one round."""

    letter: str
    rounds: tuple[Run, ...]

    @property
    def run(self) -> Run:
        """The round with the worst verdict."""
        return min(self.rounds, key=lambda run: VERDICTS.index(run.verdict))

    @property
    def speed(self) -> Answer:
        """The worst answer of all rounds."""
        return min((run.speed.answer for run in self.rounds), key=SPEEDS.index)

    @property
    def name(self) -> str:
        """``k3f9a1``, or ``k3f9a1 ×5`` with several rounds."""
        first_id = self.rounds[0].id
        return first_id if len(self.rounds) == 1 else f"{first_id} ×{len(self.rounds)}"

    @property
    def may_be_durable(self) -> bool:
        """False if the verdict says that acknowledged writes can be lost."""
        return self.run.verdict not in NOT_DURABLE

    @property
    def location(self) -> str:
        """``/srv/data · ext4 › sda1 › sda``"""
        return " · ".join(filter(None, (self.run.target_path, stack_line(self.run.target))))

    def step(self, name: str) -> StepRound | None:
        rounds = [StepRound(run, step) for run in self.rounds for step in run.steps if step.name == name]
        rated = [round_ for round_ in rounds if round_.step.rate_per_s]
        ordered = sorted(rated or rounds, key=lambda round_: round_.step.rate_per_s)
        if not ordered:
            return None
        middle = ordered[(len(ordered) - 1) // 2]
        median_rate = median(round_.step.rate_per_s for round_ in ordered)
        return middle._replace(step=msgspec.structs.replace(middle.step, rate_per_s=median_rate))

    def rates(self, name: str) -> dict[int, float]:
        """Return the operations per second in each round that measured the step, by the number of the round."""
        return {
            run.round.number if run.round else 1: step.rate_per_s
            for run in self.rounds
            for step in run.steps
            if step.name == name and step.rate_per_s and step.settings.uniform
        }

    def spread(self, name: str) -> str:
        rates = self.rates(name).values()
        return f"{rate(min(rates))}–{rate(max(rates))}/s" if len(rates) > 1 else ""


class Ratio(msgspec.Struct, frozen=True):
    """The ratio of two rates, with its interval if there are several rounds or steps."""

    factor: float = msgspec.field(name="times")
    low: float | None = None
    high: float | None = None
    rounds: int = 1
    paired: bool = False
    """Whether the rounds alternated, so that each round is compared with the round of the same number."""

    @property
    def undecided(self) -> bool:
        return self.low is not None and self.high is not None and self.low <= 1 <= self.high

    def __str__(self) -> str:
        interval = "" if self.low is None or self.high is None else f" ({_digits(self.low)}–{_digits(self.high)})"
        return f"{_digits(self.factor)} ×{interval}"


def _digits(factor: float) -> str:
    return rate(float(f"{factor:.3g}")) if factor >= _MIN_WITH_TWO_DECIMALS else f"{factor:#.2g}"


class Rank(NamedTuple):
    side: Side
    step: Step
    ratio: Ratio

    @property
    def is_lossy(self) -> bool:
        """Whether the syncs of this step make nothing durable, so that its rate does not count."""
        return self.step.syncs > 0 and not self.side.may_be_durable


class Comparison:
    """Runs side by side, in the order in which they were named. At most ``MAX_SIDES`` sides are compared."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._counts: dict[int, Counts] = {}
        grouped: dict[object, list[Run]] = {}
        for index, run in enumerate(runs):
            key = (run.round.series, run.round.side) if run.round else index
            grouped.setdefault(key, []).append(run)
        ordered = (sorted(rounds, key=lambda run: run.round.number if run.round else 0) for rounds in grouped.values())
        self.sides = [Side(letter, tuple(rounds)) for letter, rounds in zip(ascii_uppercase, ordered, strict=False)]

    def counts(self, run: Run) -> Counts:
        return self._counts.setdefault(id(run), Counts(run))

    @cached_property
    def step_names(self) -> list[str]:
        return list(dict.fromkeys(step.name for side in self.sides for run in side.rounds for step in run.steps))

    @cached_property
    def trust(self) -> tuple[str, str]:
        """How far the ratios can be trusted: the start of an answer that is less certain, and a note."""
        rankings = [ranking for name in self.step_names if len(ranking := self.comparable(name)) > 1]
        ranks = [rank for ranking in rankings for rank in ranking]
        if not ranks:
            return "", ""
        intervals = [rank.ratio for rank in ranks if rank.ratio.low is not None]
        if not intervals:
            note = "Ratios of single runs have no confidence interval and may be chance."
            return "With one run of each, ", note
        if not all(interval.paired for interval in intervals):
            note = (
                "(low–high): the ratios of the rounds. The rounds of the runs did not alternate, so a change of the "
                "machine between the runs also appears as a difference."
            )
            return "In rounds that did not alternate, ", note
        rounds = min(interval.rounds for interval in intervals)
        chance = f"If both were equally fast, at most 1 interval in {2 ** (rounds - 1)} would not contain 1."
        return "", f"(low–high): the ratios of {rounds} rounds. {chance}"

    def lead(self, name: str) -> Ratio | None:
        """Return the ratio of the fastest side to the next one in a step; None if it was not clearly faster."""
        return _lead(self.comparable(name), name)

    @cached_property
    def step_with_largest_lead(self) -> str | None:
        leads = {name: lead.factor for name in self.step_names if (lead := self.lead(name))}
        return max(leads, key=leads.__getitem__, default=None)

    @property
    def answer(self) -> str:
        """Which sides are not durable, in how many steps each side was fastest, and by what ratio to A.

        It also says whether that may be chance. Where A was fastest, the ratio is that of the next side.
        """
        first, lossy, durability = self.sides[0], self._excluded, ""
        if lossy:
            be, their = ("is", "its") if len(lossy) == 1 else ("are", "their")
            durability = f"{join_words(lossy)} {be} not durable: {their} rates with syncs do not count. "
        compared = 0
        wins: dict[str, list[str]] = {}
        factors: dict[str, list[float]] = {}
        for name in self.step_names:
            ranking = self.comparable(name)
            if len(ranking) < 2:
                continue
            compared += 1
            fastest, following, *_ = ranking
            if _lead(ranking, name):
                wins.setdefault(fastest.side.letter, []).append(name)
                if any(rank.side is first for rank in ranking):
                    ratio = (following if fastest.side is first else fastest).ratio
                    factors.setdefault(fastest.side.letter, []).append(ratio.factor)
        if len(self.sides) < 2:
            return ""
        if not compared:
            return durability.rstrip() or "The runs have no step in common, so nothing is compared."
        if not wins:
            return f"{durability}No clear difference in {counted(compared, 'step')}."
        parts: list[str] = []
        verb, following_name = (" was faster", "B") if len(self.sides) == 2 else (" was fastest", "the next")
        for letter, names in sorted(wins.items(), key=lambda win: -len(win[1])):
            subject = f"{following_name}: " if letter == first.letter else ""
            repeated_verb, total_text = ("", "") if parts else (verb, f" of {counted(compared, 'step')}")
            times = factors.get(letter, [])
            ends = " to ".join(dict.fromkeys(_digits(end(times)) for end in (min, max) if times))
            ratio_text = f" ({subject}{ends} × A)" if ends else ""
            parts.append(f"{letter}{repeated_verb} in {len(names)}{total_text}{ratio_text}")
        unclear = compared - sum(map(len, wins.values()))
        condition, _ = self.trust
        return f"{durability}{condition}{', '.join(parts)}{f'; undecided in {unclear}' if unclear else ''}."

    def ranking(self, name: str) -> list[Rank]:
        """Return the sides that measured a step, the fastest first. The ratios are those to the first of them."""
        measured = [(side, middle.step) for side in self.sides if (middle := side.step(name)) and side.rates(name)]
        ranked = [Rank(side, step, ratio) for side, step in measured if (ratio := ratio_of(measured[0][0], side, name))]
        return sorted(ranked, key=lambda rank: -rank.step.rate_per_s)

    def comparable(self, name: str) -> list[Rank]:
        """Return the ranking without the rates that do not count."""
        return [rank for rank in self.ranking(name) if not (self._excluded and rank.is_lossy)]

    def ratios(self, name: str) -> dict[str, Ratio]:
        """Return the ratio of each side by its letter; empty if the rate of the first side does not count."""
        first = min((rank.side.letter for rank in self.ranking(name)), default="")
        ratios = {rank.side.letter: rank.ratio for rank in self.comparable(name)}
        return ratios if first in ratios and len(ratios) > 1 else {}

    @cached_property
    def _excluded(self) -> list[str]:
        """The letters of the sides that are not durable; empty if no side is durable, so the rates can be compared."""
        lossy = [side.letter for side in self.sides if not side.may_be_durable]
        return lossy if len(lossy) < len(self.sides) else []


def _lead(ranking: Sequence[Rank], name: str) -> Ratio | None:
    lead = ratio_of(ranking[1].side, ranking[0].side, name) if len(ranking) > 1 else None
    return None if lead is None or (lead.factor < _NOISE if lead.low is None else lead.undecided) else lead


def ratio_of(first: Side, other: Side, name: str) -> Ratio | None:
    """Return the rate of ``other`` divided by the rate of ``first``; None unless both measured the step."""
    if first is other:
        return Ratio(1.0) if first.rates(name) else None
    first_rates, rates = first.rates(name), other.rates(name)
    if not first_rates or not rates:
        return None
    a, b = first.rounds[0].round, other.rounds[0].round
    alternated = a is not None and b is not None and a.series == b.series
    common_rounds = first_rates.keys() & rates.keys() if alternated else set[int]()
    pairs = [(first_rates[number], rates[number]) for number in common_rounds]
    ratios = [other / first for first, other in pairs or product(first_rates.values(), rates.values())]
    factor = median(rates.values()) / median(first_rates.values())
    rounds = len(pairs) or min(len(first_rates), len(rates))
    return Ratio(factor, min(ratios), max(ratios), rounds, bool(pairs)) if rounds > 1 else Ratio(factor)


def bar(share: float, width: int) -> str:
    """Return a bar in eighths of a cell. It is never empty."""
    eighths = max(round(share * width * 8), 1)
    return "█" * (eighths // 8) + _EIGHTHS_OF_CELL[eighths % 8].strip()


def earlier_run_name(before: Run) -> str:
    """Return ``run k3f9a1``; ``the previous run`` if it was simulated, because no saved run has its ID."""
    return "the previous run" if before.simulated else f"run {before.id}"


def headline(before: Run, now: Run) -> str:
    """Return one sentence on how the verdict and the rates changed since an earlier run."""
    same_verdict = before.verdict == now.verdict
    verdict = f"{now.verdict} as before" if same_verdict else f"{before.verdict} before, {now.verdict} now"
    ratios = [step.rate_per_s / earlier.rate_per_s for earlier, step in _pairs(before, now)]
    if not ratios:
        return f"since {earlier_run_name(before)}: {verdict}"
    same_rates = min(ratios) > 1 / _NOISE and max(ratios) < _NOISE
    rates = "rates as before" if same_rates else f"rates {range_text(ratios)} × the earlier ones"
    return f"since {earlier_run_name(before)}: {verdict}; {rates}"


def changes_section(before: Run, now: Run) -> Section:
    """Return a table of the steps that both runs have: before, now, and the ratio of the rates."""
    rows = tuple(
        (step.name, _rate_and_p99(earlier), _rate_and_p99(step), f"{step.rate_per_s / earlier.rate_per_s:.2f} ×")
        for earlier, step in _pairs(before, now)
    )
    return Section(headline(before, now), ("", moment(before.started_at), "now", ""), rows, labelled=True)


def remarks(comparison: Comparison, name: str) -> Iterator[str]:
    """Yield remarks about sides: the range of the rounds, or no clear difference."""
    ratios = comparison.ratios(name)
    for side in comparison.sides:
        if spread := side.spread(name):
            yield f"{side.letter}: median of {len(side.rounds)} rounds, {spread}"
        if (ratio := ratios.get(side.letter)) and ratio.undecided:
            yield f"= {side.letter}: no clear difference in {ratio.rounds} rounds: the interval contains 1"


def _pairs(before: Run, now: Run) -> Iterator[tuple[Step, Step]]:
    for step in now.steps:
        earlier = next((old for old in before.steps if old.name == step.name), None)
        if earlier and earlier.rate_per_s and step.rate_per_s and step.settings.uniform:
            yield earlier, step


def _rate_and_p99(step: Step) -> str:
    p99 = percentile(step.latency_ns, "p99")
    return f"{rate(step.rate_per_s)}/s" + (f", p99 {p99}" if p99 != NONE else "")
