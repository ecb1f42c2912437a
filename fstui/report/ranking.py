"""Runs beside each other so that it can be read at 80 columns: who is who, then a bar for each run and step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import ascii_uppercase
from typing import NamedTuple

from rich.cells import cell_len

from fstui.model.judgement import NOT_DURABLE
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.quantities import duration_ns, rate
from fstui.report import figures
from fstui.report.glyphs import GLYPHS
from fstui.report.text import columns, moment, wrap

_PARTS = " ▏▎▍▌▋▊▉"
_LEAD, _TOLD = 4, 40


class _Ran(NamedTuple):
    letter: str
    run: Run
    step: Step


def lines(runs: Sequence[Run], width: int) -> list[str]:
    """A letter for each run, then its steps with bars, the first run's rate as the measure; a blank line between."""
    if len(runs) > len(ascii_uppercase):
        return []
    named = list(zip(ascii_uppercase, runs, strict=False))
    found = list(_legend(named, width))
    for name in dict.fromkeys(step.name for run in runs for step in run.steps):
        if len(ran := _ran(named, name)) > 1:
            found += ["", *_step(name, ran, width)]
    return found


def _legend(named: Sequence[tuple[str, Run]], width: int) -> Iterator[str]:
    rows = [
        (letter, run.id, f"{GLYPHS[run.verdict]} {run.verdict}", moment(run.started_at), run.host.hostname)
        for letter, run in named
    ]
    for row, (_, run) in zip(columns(rows, "<<<<<"), named, strict=True):
        yield row
        path, stack = run.target.path if run.target else "", figures.stack_line(run.target)
        yield from (f"   {part}" for part in wrap(f"{path} · {stack}" if stack else path, width - 3))


def _ran(named: Sequence[tuple[str, Run]], name: str) -> list[_Ran]:
    found = ((letter, run, next((step for step in run.steps if step.name == name), None)) for letter, run in named)
    return [_Ran(letter, run, step) for letter, run, step in found if step and step.rate_per_s and step.settings.alike]


def _step(name: str, ran: Sequence[_Ran], width: int) -> Iterator[str]:
    most, first = max(one.step.rate_per_s for one in ran), ran[0].step.rate_per_s
    room = max(width - _LEAD - _TOLD, 8)
    yield name
    for one in sorted(ran, key=lambda one: -one.step.rate_per_s):
        drawn = bar(one.step.rate_per_s / most, room)
        told = f"{rate(one.step.rate_per_s)}/s"
        times = one.step.rate_per_s / first
        p99 = one.step.latency_ns.p99 if one.step.latency_ns else None
        beside = f" {told:>12} {times:>8.2f} ×" + (f"  p99 {duration_ns(p99)}" if p99 else "")
        yield f"  {one.letter} {drawn}{' ' * (room - cell_len(drawn))}{beside}"
    if warning := _warning(ran):
        yield from (f"  {part}" for part in wrap(warning, width - 2))


def bar(share: float, width: int) -> str:
    """So much of that many cells, in eighths; never nothing."""
    eighths = max(round(share * width * 8), 1)
    return "█" * (eighths // 8) + _PARTS[eighths % 8].strip()


def _warning(ran: Sequence[_Ran]) -> str:
    """What is faster because it leaves out the work is no faster."""
    fastest = max(ran, key=lambda one: one.step.rate_per_s)
    if fastest.run.verdict not in NOT_DURABLE or not fastest.step.syncs:
        return ""
    others = [one for one in ran if one.run.verdict not in NOT_DURABLE]
    return (
        f"! {fastest.letter}, the faster one, is not durable: it leaves out what the others wait for" if others else ""
    )
