"""Runs beside each other, readable at 80 columns: who is who, then a bar for each of them in each step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from fstui.model.quantities import duration_ns, rate, ratio
from fstui.model.steps import Step
from fstui.report import figures, sides
from fstui.report.sides import Ratio, Side
from fstui.report.text import columns

_PARTS = " ▏▎▍▌▋▊▉"
_LEAD = 4


class Ranked(NamedTuple):
    """A side's step beside the first side's."""

    side: Side
    step: Step
    times: Ratio
    cheats: bool
    """It is faster than one that is durable, and leaves out what that one waits for."""

    @property
    def told(self) -> str:
        """How many times as fast; of what is no faster, only does less, that."""
        return "not durable" if self.cheats else str(self.times)


def meaning(found: Sequence[Side]) -> str:
    """What an interval is worth; empty where there is none."""
    fewest = min((len(side.rounds) for side in found), default=0)
    if len(found) < 2 or fewest < 2:
        return ""
    chance = 2 ** (fewest - 1)
    return (
        f"(low–high): the ratios of {fewest} rounds; chance alone sets such an interval beside 1 once in {chance} times"
    )


def place(side: Side) -> str:
    """``/srv/data · ext4 › sda1 › sda``"""
    path, stack = side.run.target.path if side.run.target else "", figures.stack_line(side.run.target)
    return f"{path} · {stack}" if stack else path


def ranking(found: Sequence[Side], name: str) -> list[Ranked]:
    """Fastest first; empty where fewer than two have measured that step, and one did so only once."""
    measured = [(side, one.step) for side in found if (one := side.step(name)) and side.rates(name)]
    if not measured or (len(measured) < 2 and len(measured[0][0].rounds) < 2):
        return []
    first = measured[0][0]
    slowest = min((step.rate_per_s for side, step in measured if side.durable), default=None)
    ranked = []
    for side, step in measured:
        times = sides.ratio(first, side, name)
        cheats = bool(slowest and step.syncs and not side.durable and step.rate_per_s > slowest)
        ranked += [Ranked(side, step, times, cheats)] if times else []
    return sorted(ranked, key=lambda one: -one.step.rate_per_s)


def remarks(ranked: Sequence[Ranked]) -> Iterator[str]:
    """What is faster because it leaves out the work is no faster; and what is too close to tell."""
    for one in ranked:
        if one.cheats:
            faster = "the faster one" if one is ranked[0] else "faster than some"
            honest = next(other for other in reversed(ranked) if other.side.durable)
            times = f"{ratio(one.step.rate_per_s / honest.step.rate_per_s)} × {honest.side.letter}"
            yield f"! {one.side.letter}, {faster}, is not durable: it leaves out what the others wait for ({times})"
        elif one.times.undecided:
            yield f"= {one.side.letter}: no difference is seen in {one.times.rounds} rounds, the interval holds 1"


def spread(side: Side, name: str) -> str:
    """Lowest and highest rate of several rounds."""
    rates = side.rates(name).values()
    return f"{rate(min(rates))}–{rate(max(rates))}/s" if len(rates) > 1 else ""


def bars(name: str, ranked: Sequence[Ranked], width: int) -> Iterator[str]:
    """A bar for each side in a step, no wider than that."""
    alone = len(ranked) == 1
    most = max(one.step.rate_per_s for one in ranked)
    told = columns([_beside(name, one, alone=alone) for one in ranked], ">><<")
    room = max(width - _LEAD - max(map(cell_len, told)) - 1, 8)
    for one, beside in zip(ranked, told, strict=True):
        drawn = bar(one.step.rate_per_s / most, room)
        yield f"{one.side.letter} {drawn}{' ' * (room - cell_len(drawn))} {beside}"


def _beside(name: str, one: Ranked, *, alone: bool) -> tuple[str, ...]:
    p99 = one.step.latency_ns.p99 if one.step.latency_ns else None
    times = spread(one.side, name) if alone else one.told
    return f"{rate(one.step.rate_per_s)}/s", times, "p99" if p99 else "", duration_ns(p99) if p99 else ""


def bar(share: float, width: int) -> str:
    """So much of that many cells, in eighths; never nothing."""
    eighths = max(round(share * width * 8), 1)
    return "█" * (eighths // 8) + _PARTS[eighths % 8].strip()
