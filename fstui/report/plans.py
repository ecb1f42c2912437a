"""The reports of scenarios and of plans: what can be run, and what a run will do."""

from collections.abc import Iterator, Sequence

from msgspec.structs import astuple

from fstui.measure.kinds.sysbench import Sysbench
from fstui.model.forms import Form, Scalar, Setting
from fstui.model.plan import Plan
from fstui.model.quantities import clock, counted, exact_size, seconds, short_size
from fstui.model.storage import Target
from fstui.powercut import plan as power_cut
from fstui.report.documents import ScenarioDocument, ScenarioRow, ScenariosDocument, ScenarioSetting
from fstui.report.figures import BY_HAND, power_cut_writes, write_volume_text
from fstui.report.sections import Report, Section, right_cell
from fstui.report.stack import stack_line
from fstui.runs.scenarios import Scenario

_SCENARIOS = ("SCENARIO", "QUESTION", "TIME", "WRITES")
_SETTINGS = ("KEY", "VALUE", "MEANING")
_IDLE = "a scheduler that supports I/O classes: BFQ, or mq-deadline since Linux 5.14 (queue/scheduler)"


def scenarios_report(planned: Sequence[tuple[Scenario, Plan]], cut: power_cut.PowerCutPlan) -> Report:
    rows = [(scenario.name, scenario.question, _time(plan), write_volume_text(plan)) for scenario, plan in planned]
    rows.append((power_cut.NAME, power_cut.FORM.question, BY_HAND, power_cut_writes(cut)))
    power_cut_hint = f"{power_cut.NAME} needs a second host and a power cut: see 'fstui powercut --help'."
    plan_hint = "The plan for a directory omits programs that are not installed: see 'fstui run SCENARIO DIR --plan'."
    cells = tuple((name, question, right_cell(time), right_cell(writes)) for name, question, time, writes in rows)
    listed = tuple(
        ScenarioRow(name=scenario.name, question=scenario.question, seconds=plan.seconds, max_bytes=plan.max_bytes)
        for scenario, plan in planned
    )
    values = (ScenarioRow.__struct_fields__, *map(astuple, listed))
    sections = (Section("", _SCENARIOS, cells), Section(lines=(power_cut_hint, plan_hint)))
    return Report("", sections, ScenariosDocument(scenarios=listed), values)


def scenario_report(scenario: Scenario, plan: Plan) -> Report:
    duration = "until stopped" if plan.seconds is None else f"{clock(plan.seconds)} in total"
    summary = f"{counted(len(plan.steps), 'step')}, {duration}, writes {write_volume_text(plan)}"
    return _form_report(scenario, summary, [step.name for step in plan.steps], plan.command)


def power_cut_report(cut: power_cut.PowerCutPlan) -> Report:
    duration = clock(cut.settings.seconds) if cut.settings.seconds else "until the power is cut"
    writes = power_cut_writes(cut)
    summary = f"{counted(len(cut.combinations), 'kind')} of writes at the same time, {duration}, writes {writes}"
    return _form_report(power_cut.FORM, summary, list(map(str, cut.combinations)), power_cut.write_command("DIR", {}))


def plan_report(plan: Plan, target: Target) -> Report:
    rows = tuple(
        (right_cell(str(number)), step.name, f"skipped: {step.skip}" if step.skip else step.settings.probe)
        for number, step in enumerate(plan.steps, 1)
    )
    options: dict[str, list[int]] = {}
    for number, step in enumerate(plan.steps, 1):
        if not step.skip and step.settings.server_options:
            options.setdefault(", ".join(step.settings.server_options), []).append(number)
    option_lines = tuple(f"step {', '.join(map(str, steps))}: {words}" for words, steps in options.items())
    head = plan_head(plan, target)
    sections = (
        head._replace(title=""),
        Section("", ("#", "STEP", "PROBE"), rows),
        Section("The servers that fstui starts get these options", lines=option_lines),
    )
    return Report(head.title, sections, plan)


def plan_head(plan: Plan, target: Target) -> Section:
    """Return the command that repeats the run, where it writes, and how much."""
    title = f"{plan.scenario.name}: {plan.question}"
    return Section(title, drawn=(plan.command,), points=(("server", tuple(_server(plan))), *_amounts(plan, target)))


def _amounts(plan: Plan, target: Target) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield "next to" if plan.server else "into", (f"{target.path} ({stack_line(target)})",)
    media = {node.medium.reason for node in target.lowest if node.medium and node.medium.declared}
    yield "which is", tuple(sorted(media))
    yield (
        "takes",
        ("until stopped" if plan.seconds is None else f"about {seconds(plan.seconds)}, longer on slow storage",),
    )
    peak = short_size(plan.peak_bytes, "iB")
    yield "writes", (f"{write_volume_text(plan)}, uses at most {peak} at any time; everything is removed at the end",)
    limit = plan.rate_limit
    limits = []
    if limit.bytes_per_s:
        limits.append(f"at most {short_size(limit.bytes_per_s, 'iB')}/s, plus what the filesystem adds")
    if limit.idle:
        limits.append(f"idle I/O class and nice 19. The class takes effect only with {_IDLE}")
    if limits:
        limits.append("the speed of the storage is not judged")
    yield "limits", tuple(limits)


def _server(plan: Plan) -> Iterator[str]:
    if plan.server is None:
        return
    settings = [step.settings for step in plan.steps if isinstance(step.settings, Sysbench) and not step.skip]
    yield plan.server
    yield from plan.server_says
    yield (
        f"a new database there: writes ≤ {short_size(plan.server_bytes, 'iB')}, at most "
        f"{short_size(plan.server_peak_bytes, 'iB')} at any time"
    )
    tables = ", then ".join(dict.fromkeys(setting.tables_in_words for setting in settings))
    yield f"{tables}; dropped at the end"
    yield "the server's replicas, if any, receive all these writes"


def _form_report(form: Form, summary: str, steps: Sequence[str], command: str) -> Report:
    settings = {key: _setting(setting) for key, setting in form.settings.items()}
    document = ScenarioDocument(
        name=form.name,
        title=form.title,
        question=form.question,
        help=form.help,
        steps=tuple(steps),
        settings={
            key: ScenarioSetting(value=form.settings[key].value, help=words) for key, (_, words) in settings.items()
        },
        command=command,
    )
    rows = tuple((key, default, words) for key, (default, words) in settings.items())
    sections = (
        Section(lines=(" ".join(f"{form.question} {form.help}".split()),)),
        Section(summary, lines=tuple(steps)),
        Section("Settings, changed with --set KEY=VALUE", _SETTINGS, rows),
        Section(drawn=(command,)),
    )
    return Report(f"{form.name}: {form.title}", sections, document)


def _setting(setting: Setting) -> tuple[str, str]:
    """Return the default as the user would type it, and the meaning with the permitted values."""
    values = setting.value if isinstance(setting.value, list) else [setting.value]
    allowed = ""
    if setting.choices:
        allowed = f" ({', '.join(_as_typed(setting, choice) for choice in setting.choices)})"
    elif setting.min is not None and setting.max is not None:
        allowed = f" ({_as_typed(setting, setting.min)} to {_as_typed(setting, setting.max)})"
    unit = "" if setting.unit == "bytes" else setting.unit
    return f"{','.join(_as_typed(setting, value) for value in values)} {unit}".rstrip(), setting.help + allowed


def _as_typed(setting: Setting, value: Scalar) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value
    return exact_size(int(value)) if setting.unit == "bytes" else f"{value:.12g}"


def _time(plan: Plan) -> str:
    return "no end" if plan.seconds is None else clock(plan.seconds)
