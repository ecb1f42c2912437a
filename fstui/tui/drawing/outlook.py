"""What a scenario, or the power-cut check, would take here, in words."""

from __future__ import annotations

from collections import Counter
from math import prod

import msgspec

from fstui.model.plan import Plan
from fstui.model.quantities import clock, counted, size
from fstui.report.figures import power_cut_writes, writes_at_most
from fstui.report.scenarios import BY_HAND
from fstui.runs import power_cut
from fstui.runs.scenarios import Scenario
from fstui.tui import choices
from fstui.tui.choices import Choices


class Outlook(msgspec.Struct, frozen=True):
    """What it would take here, in words."""

    time: str
    writes: str
    extent: str
    """How many steps, how long each."""
    skipped: tuple[str, ...]
    """What is left out, and why."""
    amount: str
    command: str


def of_plan(scenario: Scenario, plan: Plan, chosen: Choices, directory: str) -> Outlook:
    """Of a scenario's plan."""
    reasons = Counter(step.skip for step in plan.steps if step.skip)
    amount = f"{size(plan.bytes_per_s)} a second" if plan.bytes_per_s else f"at most {size(plan.max_bytes)}"
    return Outlook(
        time="until s" if plan.seconds is None else clock(plan.seconds),
        writes=writes_at_most(plan),
        extent=_extent(scenario, plan, chosen),
        skipped=tuple(f"{count} skipped: {reason}" for reason, count in reasons.items()),
        amount=f"Writes {amount} into {directory.rstrip('/')}/.fstui-…, then removes it.{_on_server(plan)}",
        command=plan.command,
    )


def _on_server(plan: Plan) -> str:
    if plan.server is None:
        return ""
    return f" On {plan.server}: at most {size(plan.server_bytes)} into a database of its own, then drops it."


def power_cut_outlook(cut: power_cut.Plan, chosen: Choices, directory: str) -> Outlook:
    """Of the check that no runner can do."""
    each_second = f"{size(cut.bytes_per_s)} a second" if cut.bytes_per_s else "as much as it can"
    amount = each_second if cut.max_bytes is None else f"at most {size(cut.max_bytes)}"
    place = f"{directory.rstrip('/')}/{power_cut.PREFIX}…"
    return Outlook(
        time=BY_HAND,
        writes=power_cut_writes(cut),
        extent=f"{counted(len(cut.ways), 'way')} × {counted(cut.asked.writers, 'writer')}",
        skipped=(),
        amount=f"Writes {amount} into {place}, which stays until it is verified.",
        command=power_cut.write_command(directory, chosen.of(power_cut.FORM)),
    )


def _extent(scenario: Scenario, plan: Plan, chosen: Choices) -> str:
    """``7 steps × 2 s``; of a matrix ``2 × 2 = 4 steps × 10 s``."""
    steps = [step for step in plan.steps if not step.skip]
    sides = [
        len(choices.values(setting, chosen.of(scenario).get(name)))
        for name, setting in scenario.settings.items()
        if isinstance(setting.value, list)
    ]
    product = f"{' × '.join(map(str, sides))} = " if len(sides) > 1 and prod(sides) == len(plan.steps) else ""
    lengths = {step.settings.seconds for step in steps}
    each = f" × {lengths.pop():g} s" if len(lengths) == 1 else ""
    return f"{product}{len(steps)} step{'s' if len(steps) != 1 else ''}{each}"
