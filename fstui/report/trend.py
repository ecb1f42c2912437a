"""How each storage has done from run to run, by the saved ones: a line for each scenario on each of them."""

from __future__ import annotations

from collections.abc import Sequence

from fstui.model.quantities import counted, rate
from fstui.report.characters import page
from fstui.report.glyphs import GLYPHS
from fstui.report.text import moment, wrap
from fstui.state.runs import Summary

_BLOCKS = "▁▂▃▄▅▆▇█"
_SHOWN = 40
"""Runs in a line, the newest."""
_WIDTH = 80


def render(summaries: Sequence[Summary], width: int | None = None) -> str:
    """Newest storage first; empty where nothing was run twice."""
    return page(line for one in series(summaries) if len(one) > 1 for line in _told(one, width or _WIDTH))


def series(summaries: Sequence[Summary]) -> list[list[Summary]]:
    """Runs of one scenario on one storage, the same step rated in each, oldest first; the newest series first."""
    found: dict[tuple[str | None, ...], list[Summary]] = {}
    for one in summaries:
        if one.rate_per_s and one.status == "finished":
            found.setdefault((one.scenario, one.rate_of, *storage(one)), []).append(one)
    return [sorted(runs, key=lambda run: run.started_at) for runs in found.values()]


def storage(one: Summary) -> tuple[str | None, ...]:
    """What it was run on: the same for runs of one storage."""
    return one.hostname, one.identity or one.target, one.simulated


def bars(runs: Sequence[Summary]) -> str:
    """A sign for each, as high as its rate beside the highest."""
    most = max(run.rate_per_s for run in runs)
    return "".join(_BLOCKS[round((len(_BLOCKS) - 1) * run.rate_per_s / most)] for run in runs)


def _told(runs: Sequence[Summary], width: int) -> list[str]:
    first, last, recent = runs[0], runs[-1], runs[-_SHOWN:]
    simulated = " · SIMULATED" if last.simulated else ""
    head = f"{last.target} · {last.scenario} · {last.rate_of}{simulated}"
    rates = [run.rate_per_s for run in runs]
    words = (
        f"{counted(len(runs), 'run')} since {moment(first.started_at)}: {rate(rates[0])}/s first, "
        f"{rate(rates[-1])}/s last ({rates[-1] / rates[0]:.2f} ×), {rate(min(rates))} to {rate(max(rates))}/s"
    )
    verdicts = "".join(GLYPHS[run.verdict or "cannot-tell"] for run in recent)
    told = [f"  {part}" for part in wrap(words, width - 2)]
    return [*wrap(head, width), f"  {bars(recent)}", f"  {verdicts}", *told, ""]
