"""A comparison as data, for programs and spreadsheets: who is compared, and each step of each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fstui.model.base import Base
from fstui.model.run import Run
from fstui.report import figures, ranking, sides
from fstui.report.sides import Side

SCHEMA = "fstui.comparison/1"


class ComparedSide(Base, frozen=True, kw_only=True):
    """One run, or the rounds of one."""

    letter: str
    runs: tuple[str, ...]
    scenario: str
    target: str
    stack: str
    hostname: str
    started_at: str
    simulated: str | None
    verdict: str
    """The worst of its rounds."""
    confidence: str
    speed: str


class ComparedStep(Base, frozen=True, kw_only=True):
    """A step of one side. Latencies and flushes are those of the round in the middle."""

    step: str
    side: str
    rounds: int
    rate_per_s: float
    lowest_rate_per_s: float
    highest_rate_per_s: float
    p50_ns: int | None
    p99_ns: int | None
    flushes_per_sync: float | None
    times: float
    """As fast as the first side that has the step."""
    times_low: float | None
    times_high: float | None
    faster_but_not_durable: bool


class Comparison(Base, frozen=True, kw_only=True):
    """The document."""

    schema: str = SCHEMA
    sides: tuple[ComparedSide, ...]
    steps: tuple[ComparedStep, ...]


def of_runs(runs: Sequence[Run]) -> Comparison:
    """The runs beside each other."""
    found = sides.of(runs)
    return Comparison(
        sides=tuple(map(_side, found)),
        steps=tuple(step for name in sides.step_names(found) for step in _steps(found, name)),
    )


def _side(side: Side) -> ComparedSide:
    run = side.run
    return ComparedSide(
        letter=side.letter,
        runs=tuple(round_.id for round_ in side.rounds),
        scenario=run.scenario.name if run.scenario else "",
        target=run.target.path if run.target else "",
        stack=figures.stack_line(run.target),
        hostname=run.host.hostname,
        started_at=side.rounds[0].started_at,
        simulated=run.simulated,
        verdict=run.verdict,
        confidence=run.confidence,
        speed=run.speed.answer,
    )


def _steps(found: Sequence[Side], name: str) -> Iterator[ComparedStep]:
    ranked = {one.side.letter: one for one in ranking.ranking(found, name)}
    for side in found:
        rates, measured, one = side.rates(name).values(), side.step(name), ranked.get(side.letter)
        if not rates or measured is None or one is None:
            continue
        latency = measured.step.latency_ns
        yield ComparedStep(
            step=name,
            side=side.letter,
            rounds=len(rates),
            rate_per_s=measured.step.rate_per_s,
            lowest_rate_per_s=min(rates),
            highest_rate_per_s=max(rates),
            p50_ns=latency.p50 if latency else None,
            p99_ns=latency.p99 if latency else None,
            flushes_per_sync=figures.Counts(measured.run).flushes_per_sync(measured.step, measured.step.settings),
            times=one.times.times,
            times_low=one.times.low,
            times_high=one.times.high,
            faster_but_not_durable=one.cheats,
        )
