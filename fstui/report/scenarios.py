"""What can be run, for ``fstui scenarios``."""

from __future__ import annotations

from collections.abc import Sequence

from fstui.model import Plan
from fstui.quantities import clock, counted, plain, typed_size
from fstui.report.figures import writes_at_most
from fstui.report.text import WIDTH, columns, hanging, wrap
from fstui.scenario import Scalar, Scenario, Setting

_HEADER = ("SCENARIO", "ANSWERS", "TIME", "WRITES")


def render(planned: Sequence[tuple[Scenario, Plan]]) -> str:
    """One line each: name, question, duration, and what it writes at most."""
    rows = [
        (plain(scenario.name), plain(scenario.question), _time(plan), writes_at_most(plan))
        for scenario, plan in planned
    ]
    return "\n".join(columns([_HEADER, *rows], "<<>>")) + "\n"


def detail(scenario: Scenario, plan: Plan) -> str:
    """One scenario: what it asks, its steps, and the settings that can be changed."""
    lines = [
        f"{plain(scenario.name)}: {plain(scenario.title)}",
        *(f"  {line}" for line in wrap(" ".join(f"{scenario.question} {scenario.help}".split()), WIDTH - 2)),
        "",
        f"{counted(len(plan.steps), 'step')}, {_time(plan)} in all, writes {writes_at_most(plan)}",
        *(f"  {plain(step.name)}" for step in plan.steps),
        "",
        "Settings, changed with --set KEY=VALUE",
        *hanging([("  " + plain(key), *_setting(setting)) for key, setting in scenario.settings.items()]),
        "",
        plain(plan.command),
    ]
    return "\n".join(lines) + "\n"


def _setting(setting: Setting) -> tuple[str, str]:
    values = setting.value if isinstance(setting.value, list) else [setting.value]
    allowed = ""
    if setting.choices:
        allowed = f" ({', '.join(_typed(setting, choice) for choice in setting.choices)})"
    elif setting.min is not None and setting.max is not None:
        allowed = f" ({_typed(setting, setting.min)} to {_typed(setting, setting.max)})"
    unit = "" if setting.unit == "bytes" else plain(setting.unit)
    return f"{','.join(_typed(setting, value) for value in values)} {unit}".rstrip(), plain(setting.help) + allowed


def _typed(setting: Setting, value: Scalar) -> str:
    """What the user would type."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return plain(value)
    return typed_size(int(value)) if setting.unit == "bytes" else f"{value:.12g}"


def _time(plan: Plan) -> str:
    return "until stopped" if plan.seconds is None else clock(plan.seconds)
