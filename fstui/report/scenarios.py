"""What can be run, or led through, for ``fstui scenarios``."""

from __future__ import annotations

from collections.abc import Sequence

from fstui.model.plan import Plan
from fstui.model.quantities import clock, counted, typed_size
from fstui.powercut import plan as power_cut
from fstui.report.characters import page
from fstui.report.figures import power_cut_writes, writes_at_most
from fstui.report.text import WIDTH, hanging, table, wrap
from fstui.runs.scenario import Form, Scalar, Scenario, Setting

_HEADER = ("SCENARIO", "ANSWERS", "TIME", "WRITES")
BY_HAND = "by hand"


def render(planned: Sequence[tuple[Scenario, Plan]], cut: power_cut.Plan, width: int | None = None) -> str:
    """One line each: name, question, duration, and what it writes at most. The last one no command runs."""
    rows = [(scenario.name, scenario.question, _time(plan), writes_at_most(plan)) for scenario, plan in planned]
    rows.append((power_cut.NAME, power_cut.FORM.question, BY_HAND, power_cut_writes(cut)))
    led = f"{power_cut.NAME} needs a person and another machine: 'fstui powercut --help' says how."
    return page([*table([_HEADER, *rows], "<<>>", width), "", led])


def detail(scenario: Scenario, plan: Plan) -> str:
    """One scenario: what it asks, its steps, and the settings that can be changed."""
    takes = f"{counted(len(plan.steps), 'step')}, {_time(plan)} in all, writes {writes_at_most(plan)}"
    return _detail(scenario, [takes, *(f"  {step.name}" for step in plan.steps)], plan.command)


def power_cut_detail(cut: power_cut.Plan) -> str:
    """The same of the check that is led through by hand."""
    lasts = clock(cut.asked.seconds) if cut.asked.seconds else "until the power goes"
    takes = f"{counted(len(cut.ways), 'way')} at the same time, {lasts}, writes {power_cut_writes(cut)}"
    return _detail(power_cut.FORM, [takes, *(f"  {way}" for way in cut.ways)], power_cut.write_command("DIR", {}))


def _detail(form: Form, takes: Sequence[str], command: str) -> str:
    lines = [
        f"{form.name}: {form.title}",
        *(f"  {line}" for line in wrap(" ".join(f"{form.question} {form.help}".split()), WIDTH - 2)),
        "",
        *takes,
        "",
        "Settings, changed with --set KEY=VALUE",
        *hanging([("  " + key, *_setting(setting)) for key, setting in form.settings.items()]),
        "",
        command,
    ]
    return page(lines)


def _setting(setting: Setting) -> tuple[str, str]:
    values = setting.value if isinstance(setting.value, list) else [setting.value]
    allowed = ""
    if setting.choices:
        allowed = f" ({', '.join(_typed(setting, choice) for choice in setting.choices)})"
    elif setting.min is not None and setting.max is not None:
        allowed = f" ({_typed(setting, setting.min)} to {_typed(setting, setting.max)})"
    unit = "" if setting.unit == "bytes" else setting.unit
    return f"{','.join(_typed(setting, value) for value in values)} {unit}".rstrip(), setting.help + allowed


def _typed(setting: Setting, value: Scalar) -> str:
    """What the user would type."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value
    return typed_size(int(value)) if setting.unit == "bytes" else f"{value:.12g}"


def _time(plan: Plan) -> str:
    return "until stopped" if plan.seconds is None else clock(plan.seconds)
