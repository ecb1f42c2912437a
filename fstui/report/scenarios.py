"""What can be run, or led through, for ``fstui scenarios``."""

from __future__ import annotations

from collections.abc import Sequence

from fstui.model.plan import Plan
from fstui.model.quantities import clock, counted, typed_size
from fstui.powercut import plan as power_cut
from fstui.report.figures import power_cut_writes, writes_at_most
from fstui.report.sections import Cell, Report, Section, right
from fstui.runs.scenario import Form, Scalar, Scenario, Setting

_HEADER = ("SCENARIO", "ANSWERS", "TIME", "WRITES")
BY_HAND = "by hand"


def of_scenarios(planned: Sequence[tuple[Scenario, Plan]], cut: power_cut.Plan) -> Report:
    """Name, question, duration, and what it writes at most. The last one no command runs."""
    rows = [(scenario.name, scenario.question, _time(plan), writes_at_most(plan)) for scenario, plan in planned]
    rows.append((power_cut.NAME, power_cut.FORM.question, BY_HAND, power_cut_writes(cut)))
    led = f"{power_cut.NAME} needs a person and another machine: 'fstui powercut --help' says how."
    cells = tuple((name, question, right(time), right(writes)) for name, question, time, writes in rows)
    document = [
        {"name": scenario.name, "question": scenario.question, "seconds": plan.seconds, "max_bytes": plan.max_bytes}
        for scenario, plan in planned
    ]
    records = Section(
        "", ("name", "question", "seconds", "max_bytes"),
        tuple(tuple(Cell("", each) for each in one.values()) for one in document),
    )  # fmt: skip
    return Report("", (Section("", _HEADER, cells), Section("", lines=(led,))), document, records)


def of_scenario(scenario: Scenario, plan: Plan) -> Report:
    """One scenario: what it asks, its steps, and the settings that can be changed."""
    takes = f"{counted(len(plan.steps), 'step')}, {_time(plan)} in all, writes {writes_at_most(plan)}"
    return _of_form(scenario, takes, [step.name for step in plan.steps], plan.command)


def of_power_cut(cut: power_cut.Plan) -> Report:
    """The same of the check that is led through by hand."""
    lasts = clock(cut.settings.seconds) if cut.settings.seconds else "until the power goes"
    takes = f"{counted(len(cut.ways), 'way')} at the same time, {lasts}, writes {power_cut_writes(cut)}"
    return _of_form(power_cut.FORM, takes, list(map(str, cut.ways)), power_cut.write_command("DIR", {}))


def _of_form(form: Form, takes: str, steps: Sequence[str], command: str) -> Report:
    settings = {key: _setting(setting) for key, setting in form.settings.items()}
    document = {
        "name": form.name, "title": form.title, "question": form.question, "help": form.help, "steps": steps,
        "settings": {key: {"value": form.settings[key].value, "help": words} for key, (_, words) in settings.items()},
        "command": command,
    }  # fmt: skip
    rows = tuple((key, Cell(shown, shown), words) for key, (shown, words) in settings.items())
    sections = (
        Section("", lines=(" ".join(f"{form.question} {form.help}".split()),)),
        Section(takes, lines=tuple(steps)),
        Section("Settings, changed with --set KEY=VALUE", ("KEY", "VALUE", "MEANING"), rows),
        Section("", drawn=(command,)),
    )
    return Report(f"{form.name}: {form.title}", sections, document)


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
