"""What a unit of money buys: operations of each step, the durable ones told from the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fstui.model.judgement import NOT_DURABLE
from fstui.model.quantities import count
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.report.text import NONE

_HOUR_S = 3600


def rows(runs: Sequence[Run], per_hour: Mapping[str, float]) -> Iterator[tuple[str, ...]]:
    """A column for each run; ``per_hour`` by the run's id. None of those that have no price."""
    yield "for 1.00 of the price", *(run.id for run in runs)
    yield "price an hour", *(f"{per_hour[run.id]:g}" if run.id in per_hour else NONE for run in runs)
    for name in dict.fromkeys(step.name for run in runs for step in run.steps):
        steps = [next((step for step in run.steps if step.name == name), None) for run in runs]
        if any(step and step.rate_per_s and step.settings.uniform for step in steps):
            yield from _step(name, runs, steps, per_hour)


def _step(
    name: str, runs: Sequence[Run], steps: Sequence[Step | None], per_hour: Mapping[str, float]
) -> Iterator[tuple[str, ...]]:
    word = next((step.settings.operations for step in steps if step and step.settings.operations), "writes")
    bought = [_bought(run, step, per_hour) for run, step in zip(runs, steps, strict=True)]
    yield f"{name}: {word}", *(NONE if number is None else count(round(number)) for number in bought)
    kept = [
        number if number is not None and step and _is_durable(run, step) else None
        for number, run, step in zip(bought, runs, steps, strict=True)
    ]
    if any(number is not None for number in kept):
        yield "  of these durable", *(NONE if number is None else count(round(number)) for number in kept)


def _bought(run: Run, step: Step | None, per_hour: Mapping[str, float]) -> float | None:
    price = per_hour.get(run.id)
    return step.rate_per_s * _HOUR_S / price if step and step.ops and price else None


def _is_durable(run: Run, step: Step) -> bool:
    """Each was synced, on storage that is not known to leave syncs out."""
    return 0 < step.ops <= step.syncs and run.verdict not in NOT_DURABLE
