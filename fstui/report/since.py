"""What changed between a run and the same run again."""

from __future__ import annotations

from collections.abc import Iterator

from fstui.model.quantities import duration_ns, rate
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.report.text import moment

_MUCH = 1.1
"""By less than a tenth any two runs differ."""


def headline(before: Run, now: Run) -> str:
    """In one sentence: the verdict, and how the rates moved."""
    verdict = f"{before.verdict} then, {now.verdict} now" if before.verdict != now.verdict else f"{now.verdict} as then"
    times = [now_.rate_per_s / then.rate_per_s for then, now_ in _pairs(before, now)]
    if not times:
        return f"since run {before.id}: {verdict}"
    low, high = min(times), max(times)
    moved = "rates as then" if low > 1 / _MUCH and high < _MUCH else f"rates {low:.2f} to {high:.2f} × of then"
    return f"since run {before.id}: {verdict}; {moved}"


def rows(before: Run, now: Run) -> list[tuple[str, str, str, str]]:
    """A heading, and each step that both have: what it did then, now, and how many times as fast."""
    head = ("", moment(before.started_at), "now", "")
    return [head, *(_row(then, now_) for then, now_ in _pairs(before, now))]


def _pairs(before: Run, now: Run) -> Iterator[tuple[Step, Step]]:
    for step in now.steps:
        then = next((each for each in before.steps if each.name == step.name), None)
        if then and then.rate_per_s and step.rate_per_s and step.settings.uniform:
            yield then, step


def _row(then: Step, now: Step) -> tuple[str, str, str, str]:
    return now.name, _told(then), _told(now), f"{now.rate_per_s / then.rate_per_s:.2f} ×"


def _told(step: Step) -> str:
    p99 = step.latency_ns.p99 if step.latency_ns else None
    return f"{rate(step.rate_per_s)}/s" + (f", p99 {duration_ns(p99)}" if p99 else "")
