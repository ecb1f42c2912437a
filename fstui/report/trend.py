"""How each storage has done from run to run, by the saved ones: a line for each scenario on each of them."""

from __future__ import annotations

from collections.abc import Sequence

from fstui.model.quantities import counted, rate
from fstui.report.glyphs import GLYPHS
from fstui.report.sections import Cell, Report, Section
from fstui.report.text import moment
from fstui.state.runs import Summary

_BLOCKS = "▁▂▃▄▅▆▇█"
_SHOWN = 40
"""Runs in a line, the newest."""


def of_summaries(summaries: Sequence[Summary]) -> Report:
    """Newest storage first; empty where nothing was run twice."""
    repeated = [one for one in series(summaries) if len(one) > 1]
    document = [
        {"target": one[-1].target, "scenario": one[-1].scenario, "step": one[-1].rate_of, "runs": one}
        for one in repeated
    ]  # fmt: skip
    return Report("", tuple(map(_told, repeated)), document, _records(repeated))


def _records(repeated: Sequence[Sequence[Summary]]) -> Section:
    rows = tuple(
        tuple(
            Cell("", each)
            for each in (run.target, run.scenario, run.rate_of, run.id, run.started_at, run.rate_per_s, run.verdict)
        )
        for runs in repeated
        for run in runs
    )
    return Section("", ("target", "scenario", "step", "run", "started_at", "rate_per_s", "verdict"), rows)


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


def _told(runs: Sequence[Summary]) -> Section:
    first, last, recent = runs[0], runs[-1], runs[-_SHOWN:]
    simulated = " · SIMULATED" if last.simulated else ""
    rates = [run.rate_per_s for run in runs]
    words = (
        f"{counted(len(runs), 'run')} since {moment(first.started_at)}: {rate(rates[0])}/s first, "
        f"{rate(rates[-1])}/s last ({rates[-1] / rates[0]:.2f} ×), {rate(min(rates))} to {rate(max(rates))}/s"
    )
    verdicts = "".join(GLYPHS[run.verdict or "cannot-tell"] for run in recent)
    title = f"{last.target} · {last.scenario} · {last.rate_of}{simulated}"
    return Section(title, lines=(words,), drawn=(bars(recent), verdicts))
