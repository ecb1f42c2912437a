"""The plan screen: the scenarios above, what the selected one will do below."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod

import msgspec
from rich.cells import cell_len
from rich.text import Text

from fstui.model.declaration import Declaration
from fstui.model.plan import Plan
from fstui.model.quantities import clock, counted, short_size, size
from fstui.model.storage import Target
from fstui.report.figures import power_cut_writes, writes_at_most
from fstui.report.latency_map import LogScale
from fstui.report.scenarios import BY_HAND
from fstui.runs import power_cut
from fstui.runs.scenarios import Form, Scenario, Setting
from fstui.tui import choices
from fstui.tui.choices import Choices
from fstui.tui.drawing import charts, io_path
from fstui.tui.drawing.cells import Column, ends, fit, line, rule, shown, styled_row, window, wrapped
from fstui.tui.styles import BAD, DOUBT, FAINT, HEAD, HEAT
from fstui.tui.widgets.table import Rows

CURSOR = "reverse"
"""Within a matrix."""

_BAR = 12
_MUCH, _FEWEST_STEPS = 10, 3
"""A tenth of the room that is free; fewer steps of many make no picture."""
_SECONDS, _BYTES = LogScale(1, 3600), LogScale(1 << 20, 1 << 40)
"""Of the bars: a second to an hour, 1 MiB to 1 TiB."""
COLUMNS = (
    Column("SCENARIO", 15),
    Column("ANSWERS"),
    Column("TIME", 7, right=True),
    Column("LASTS", _BAR, gap=2, from_width=103),
    Column("WRITES", 9, right=True, from_width=63),
    Column("TAKES", _BAR, gap=2, from_width=103),
)


class Offer(msgspec.Struct, frozen=True):
    """A scenario, or the power-cut check, and what the planner says of it here: an outlook, or the sentence why not."""

    name: str
    """What it is run by."""
    form: Form
    outlook: Outlook | None = None
    plan: Plan | None = None
    """Of a scenario: what can be run."""
    refusal: str = ""


class Cursor(msgspec.Struct, frozen=True):
    """Where the user is: ``setting`` is None in the list of scenarios."""

    scenario: int = 0
    setting: int | None = None
    option: int = 0
    """Within a matrix."""


def title(directory: str, target: Target | None, simulated: str | None, width: int) -> Text:
    free = f"{short_size(target.space.free_bytes)} free" if target and target.space else ""
    device = next((node.model for node in target.lowest if node.model), "") if target else ""
    where = io_path.path(target) if target else directory
    name = ("fstui", HEAD), ("  SIMULATED" if simulated else "", HEAD)
    return ends([" ", *name, "  plan   ", where, f" {device}" if device else ""], free, width)


def scenarios(offers: Sequence[Offer], width: int, room_bytes: int | None = None) -> Rows:
    """Return a row for each scenario with what it costs. ``room_bytes``: what is free there."""
    columns = shown(COLUMNS, width - 1)
    cells = {}
    for at, offer in enumerate(offers):
        values = {"SCENARIO": offer.name, "ANSWERS": offer.form.question}
        if offer.outlook:
            values["TIME"] = offer.outlook.time
            values["WRITES"] = offer.outlook.writes
        elif offer.refusal:
            values["TIME"] = "–"
            values["WRITES"] = "refused"
        styles = {"LASTS": HEAT[0], "TAKES": _taking(offer.plan, room_bytes), "WRITES": FAINT if offer.refusal else ""}
        cells[str(at)] = styled_row(columns, values | _cost(offer.plan), styles)
    return Rows(columns, cells, {"LASTS": "1 s … 1 h", "TAKES": "1 M … 1 T"})


def _cost(plan: Plan | None) -> dict[str, str]:
    """Bars for how long it takes and how much it writes."""
    if plan is None:
        return {}
    lasts = "" if plan.seconds is None else charts.bar(plan.seconds, _SECONDS, _BAR)
    return {"LASTS": lasts, "TAKES": charts.bar(plan.max_bytes or 0, _BYTES, _BAR)}


def _taking(plan: Plan | None, room_bytes: int | None) -> str:
    """Another colour where it is much of what is free."""
    much = plan is not None and room_bytes is not None and (plan.max_bytes or 0) * _MUCH > room_bytes
    return DOUBT if much else HEAT[0]


def detail(
    offer: Offer | None, chosen: Choices, cursor: Cursor, *, read: Target | None, busy: str, width: int, height: int
) -> list[Text]:
    """What it does, its settings, what stands in the way, how much it writes, and the same as a command.

    ``read`` is the target as this box sees it, without what the user declares. Where the room is short, the
    description gives way first, then the blank lines, then the settings far from the cursor.
    """
    if offer is None:
        return [rule(width)]
    about = wrapped(" ".join(offer.form.help.split()), width - 2, indent="  ")
    blocks = [
        _setting(offer, chosen, name, read=read, option=cursor.option if index == cursor.setting else None, width=width)
        for index, name in enumerate(choices.rows(offer.form))
    ]
    settings = [part for block in blocks for part in block]
    tail = _tail(offer, busy, width)
    room = height - 1 - len(settings) - len(tail)
    if len(about) + 2 > room and len(about) > 2:
        about = [*about[:1], _cut_short(about[1], width - 2)]
    blank = [line()] if len(about) + 2 <= room else []
    spare = max(height - 1 - len(about) - len(tail), 3)
    lines = [
        rule(width, offer.name, offer.outlook.extent if offer.outlook else ""),
        *(line(part) for part in about),
        *blank,
        *window(settings, _line_of(cursor, blocks), spare, chosen=False),
        *blank,
        *tail,
    ]
    return [*lines, *_pictures(offer.plan, read, width, height - len(lines))]


def _pictures(plan: Plan | None, read: Target | None, width: int, height: int) -> list[Text]:
    """How far each step's data comes, then what it goes down through, where there is room for them."""
    if plan is None or read is None or not read.stack:
        return []
    steps = [(step.name, step.settings) for step in plan.steps if not step.skip]
    fits = steps[: max(height - 3, 0)]
    left_out = len(steps) - len(fits)
    if not fits or (left_out and len(fits) < _FEWEST_STEPS):
        return []
    title = rule(width, io_path.EXPECTED_REACH, io_path.REACH_LEGEND)
    drawn = [line(), title, *io_path.reach_lines(fits, read, width)]
    if left_out:
        return [*drawn[:-1], line((f"  … {left_out + 1} more steps", FAINT))]
    tree = [line(), rule(width, "I/O path"), *io_path.tree(read, width)]
    return [*drawn, *tree] if len(drawn) + len(tree) <= height else drawn


def _line_of(cursor: Cursor, blocks: Sequence[Sequence[Text]]) -> int:
    """Which line of all the settings the cursor stands on: a matrix has several."""
    if cursor.setting is None:
        return 0
    block = blocks[cursor.setting]
    within = (at for at, text in enumerate(block) if any(span.style == CURSOR for span in text.spans))
    return sum(map(len, blocks[: cursor.setting])) + next(within, 0)


def _cut_short(text: str, width: int) -> str:
    """Whole words and an ellipsis."""
    while cell_len(text) + 2 > width and " " in text.strip():
        text = text.rstrip().rpartition(" ")[0]
    return text.rstrip(" .") + " …"


def _tail(offer: Offer, busy: str, width: int) -> list[Text]:
    """Why it cannot be; else who else is at work, what is left out, what it writes, and the command."""
    if offer.refusal:
        return [line((part, BAD)) for part in wrapped(offer.refusal, width - 2, "    ", "  ✗ ")]
    lines = []
    if busy:
        lines += [line((part, DOUBT)) for part in wrapped(f"{busy}. Measured first, 1 s.", width - 2, "    ", "  ! ")]
    if offer.outlook is None:
        return lines
    for left_out in offer.outlook.skipped:
        lines += [line(part) for part in wrapped(left_out, width - 2, "    ", "  – ")]
    lines += [line(part) for part in wrapped(offer.outlook.amount, width - 2, indent="  ")]
    return lines + [line((part, FAINT)) for part in wrapped(offer.outlook.command, width - 2, "    ", "  $ ")]


def _setting(
    offer: Offer, chosen: Choices, name: str, *, read: Target | None, option: int | None, width: int
) -> list[Text]:
    """One line, a matrix more; ``option`` is the cursor's place in it, None where the cursor is elsewhere."""
    selected = option is not None
    style = HEAD if selected else ""
    lead = ("  ▌ " if selected else "    ") + fit(name, 14)
    if name == choices.MEDIUM:
        value, note = _declaration(chosen.declaration, chosen.declaration.medium, _read(read, "class_"))
    elif name == choices.WRITE_CACHE:
        value, note = _declaration(chosen.declaration, chosen.declaration.write_cache, _read(read, "write_cache"))
    else:
        setting, now = offer.form.settings[name], chosen.of(offer.form).get(name)
        if isinstance(setting.value, list) and setting.choices:
            return _boxes(setting, choices.values(setting, now), lead, option, width)
        texts = choices.values(setting, now)
        value = ", ".join(choices.shown(setting, text) for text in texts) + (" s" if setting.unit == "s" else "")
        note = _options(setting, texts) or setting.help
    beside = max(13, cell_len(value) + 2)
    runs = (lead, style), (fit(value, beside), style)
    return [line(*runs, (fit(note, max(width - 19 - beside, 0)).rstrip(), "" if selected else FAINT))]


def _options(setting: Setting, texts: Sequence[str]) -> str:
    shown_ = [
        (choices.as_text(value), choices.shown(setting, choices.as_text(value))) for value in choices.options(setting)
    ]
    return " · ".join(f"[{words}]" if value in texts else words for value, words in shown_)


def _boxes(setting: Setting, now: Sequence[str], lead: str, option: int | None, width: int) -> list[Text]:
    """A matrix: one box per value, on as many lines as it takes."""
    lines, text = [], line((lead, "" if option is None else HEAD))
    for index, value in enumerate(choices.options(setting)):
        words = f"[{'x' if choices.as_text(value) in now else ' '}] {choices.shown(setting, choices.as_text(value))}"
        box = line((words, CURSOR if index == option else ""), "  ")
        if text.cell_len + box.cell_len > width:
            lines.append(text)
            text = line(" " * cell_len(lead))
        text.append_text(box)
    return [*lines, text]


def _declaration(whole: Declaration, said: str | None, read: tuple[str, str]) -> tuple[str, str]:
    value, because = read
    if said is None:
        return value, f"as read   ({because})" if because else "as read"
    return said, f"{'remembered' if whole.remembered else 'declared'}   (read: {value})"


def _read(target: Target | None, field: str) -> tuple[str, str]:
    """What was read of the lowest devices, and from where."""
    mediums = [node.medium for node in target.lowest if node.medium and not node.medium.declared] if target else []
    found = list(dict.fromkeys(str(getattr(medium, field)) for medium in mediums))
    because = mediums[0].because if mediums and field == "class_" else ""
    return (", ".join(found) or "unknown"), because


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
    each_second = f"{size(cut.bytes_per_s)} a second" if cut.bytes_per_s else "as much as it can"
    amount = each_second if cut.max_bytes is None else f"at most {size(cut.max_bytes)}"
    place = f"{directory.rstrip('/')}/{power_cut.PREFIX}…"
    return Outlook(
        time=BY_HAND,
        writes=power_cut_writes(cut),
        extent=f"{counted(len(cut.ways), 'way')} × {counted(cut.settings.writers, 'writer')}",
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
