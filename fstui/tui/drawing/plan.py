"""The plan screen: a row for each scenario, the settings of the selected scenario, and what it will do and write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from math import prod

from msgspec.structs import replace
from rich.cells import cell_len
from rich.text import Text

from fstui.model.declaration import Declaration
from fstui.model.forms import Setting
from fstui.model.plan import Plan
from fstui.model.quantities import clock, counted, short_size, size
from fstui.model.storage import Medium, Target
from fstui.powercut.plan import PowerCutPlan
from fstui.powercut.records import directory_of
from fstui.report.figures import BY_HAND, power_cut_writes, write_volume_text
from fstui.report.latency_map import LogScale
from fstui.report.text import fold, origin
from fstui.tui import offers
from fstui.tui.drawing import charts, io_path
from fstui.tui.drawing.cells import Column, StyledText, fit, fit_columns, line, paragraph, rule, title_line
from fstui.tui.offers import Choices, Offer
from fstui.tui.styles import AREA, BAD, FAINT, WARNING
from fstui.tui.widgets.table import TableContent, row_cells

_BAR_WIDTH, _WIDE_BAR_WIDTH, _WIDE_SCREEN, _VERY_WIDE_SCREEN = 12, 24, 103, 150
_MAX_PROSE_WIDTH = 120
_MIN_TERMS_HEIGHT = 2
"""A rule and a term of one line."""
_BARS = ("DURATION", "BYTES")
_SECONDS, _BYTES = LogScale(1, 3600), LogScale(1 << 20, 1 << 40)
SCENARIOS = (
    Column("SCENARIO", 14),
    Column("QUESTION"),
    Column("STEPS", 24, gap=2, from_width=_VERY_WIDE_SCREEN),
    Column("TIME", 7, right=True),
    Column("DURATION", _BAR_WIDTH, gap=2, from_width=_WIDE_SCREEN),
    Column("WRITES", 9, right=True, from_width=63),
    Column("BYTES", _BAR_WIDTH, gap=2, from_width=_WIDE_SCREEN),
)
SETTINGS = (Column("NAME", 14, gap=3), Column("VALUE", 14), Column("NOTE"))


def title(directory: str, target: Target | None, simulated: str | None, width: int) -> Text:
    free = f"{short_size(target.space.free_bytes, 'iB')} free" if target and target.space else ""
    device = next((node.model for node in target.lowest if node.model), "") if target else ""
    place = io_path.path(target) if target else directory
    badge = origin(simulated).partition(" ")[0]
    return title_line("plan", " · ".join(filter(None, (place, device))), free, width, badge)


def scenarios(offers: Sequence[Offer], choices: Choices, width: int) -> TableContent:
    """Return a row for each scenario with its time and bytes. The key of a row is the index of the scenario."""
    bar = _WIDE_BAR_WIDTH if width >= _VERY_WIDE_SCREEN else _BAR_WIDTH
    name, question, *others = (replace(column, width=bar) if column.title in _BARS else column for column in SCENARIOS)
    if width >= _WIDE_SCREEN:
        name, question = replace(name, gap=3), replace(question, gap=2)
    columns = fit_columns((name, question, *others), width)
    rows = {}
    for index, offer in enumerate(offers):
        start = " Start here." * (index == 0)
        values = {"SCENARIO": offer.name, "QUESTION": offer.form.question + start, "STEPS": extent(offer, choices)}
        styles = {"DURATION": AREA, "BYTES": AREA, "WRITES": FAINT if offer.refusal else ""}
        if offer.refusal:
            values |= {"TIME": "–", "WRITES": "refused"}
        elif isinstance(offer.plan, PowerCutPlan):
            values |= {"TIME": BY_HAND, "WRITES": power_cut_writes(offer.plan)}
        elif plan := offer.plan:
            values |= {"TIME": "no end", "WRITES": write_volume_text(plan)}
            if plan.seconds is not None:  # else it writes so much per second
                values |= {"TIME": clock(plan.seconds), "DURATION": charts.bar(plan.seconds, _SECONDS, bar)}
                values["BYTES"] = charts.bar(plan.max_bytes or 0, _BYTES, bar)
        else:  # its plan is being made
            values["TIME"] = "…"
        rows[str(index)] = partial(row_cells, columns, values, styles)
    return TableContent(columns, rows, {"DURATION": "1 s…1 h", "BYTES": "1 MiB…1 TiB"})


def settings(
    offer: Offer, choices: Choices, cursor: tuple[str, int], target: Target | None, width: int, *, reported: bool = True
) -> TableContent:
    """Return a row for each setting, with its name as key. ``cursor``: the selected setting and option.

    ``reported``: include the medium and the write cache if the user has declared neither.
    """
    shown = offers.row_names(offer.form) if reported or choices.declaration else offer.form.settings
    values = {name: _value(offer, choices, name, target) for name in shown}
    with_arrows = {name: _with_arrows(offer, choices, name, target) for name in values}
    name_head, value_head, note_head = SETTINGS
    value_width = max(map(cell_len, with_arrows.values()))
    columns = fit_columns(
        (
            replace(name_head, width=max(name_head.width, *map(cell_len, values))),
            replace(value_head, width=min(max(value_width, value_head.width), width // 3)),
            note_head,
        ),
        width,
    )

    def draw(name: str) -> list[Text]:
        value, note = values[name]
        setting, option = offer.form.settings.get(name), cursor[1] if name == cursor[0] else None
        if setting and offers.is_matrix(setting):
            drawn = _boxes(setting, choices.values(offer.form, name), option, columns[-1].width)
        else:
            drawn = Text("\n").join(map(line, fold(note, columns[-1].width + 1, " ", " ")))
            has_arrows = option is not None and (setting is None or len(choices.values(offer.form, name)) == 1)
            value = with_arrows[name] if has_arrows else value
        return [*row_cells(columns[:2], {"NAME": name, "VALUE": value}, {}), drawn]

    return TableContent(columns, {name: partial(draw, name) for name in values})


def _value(offer: Offer, choices: Choices, name: str, target: Target | None) -> tuple[str, str]:
    """Return the value of a setting, and its other values or what it means."""
    setting = offer.form.settings.get(name)
    if setting is None:
        return _declaration(choices.declaration, name, target)
    values, allowed = choices.values(offer.form, name), offers.options(setting)
    if offers.is_matrix(setting):
        return f"{len(values)} of {len(allowed)}", ""
    words = [(_text(setting, value), value in values) for value in allowed]
    note = " · ".join(f"[{text}]" if is_chosen else text for text, is_chosen in words) or setting.help
    unit = " s" if setting.unit == "s" and values[-1][-1:].isdigit() else ""  # not after "10m"
    return ", ".join(_text(setting, text) for text in values) + unit, note


def _with_arrows(offer: Offer, choices: Choices, name: str, target: Target | None) -> str:
    """Return a value between arrows. For a number, add the values that the arrows choose: ``1 s ◂ 1.4 s ▸ 2 s``."""
    value, setting = _value(offer, choices, name, target)[0], offer.form.settings.get(name)
    if setting is None or offers.options(setting):
        return f"◂ {value} ▸"
    lower, higher = (
        _value(offer, neighbour, name, target)[0].replace("iB", "") if neighbour != choices else ""
        for neighbour in (choices.with_neighbour(offer.form, name, step) for step in (-1, 1))
    )
    return f"{lower} ◂ {value} ▸ {higher}".strip()


def notes(
    offer: Offer, target: Target | None, activity: StyledText, setting: str, *, width: int, height: int
) -> list[Text]:
    """Draw the reason for a refusal, or what the run writes and its command. Then draw what the scenario measures."""
    prose_width = min(width, _MAX_PROSE_WIDTH)
    reasons = [medium.reason for medium in _media(target) if medium.reason and setting == offers.MEDIUM]
    lines = paragraph(f"Medium: {reasons[0]}.", prose_width) if reasons else []
    pictures: list[Text] = []
    if offer.refusal:
        lines = paragraph(offer.refusal, prose_width, " ✗ ", BAD)
    elif offer.plan and target:
        steps = offer.plan.steps if isinstance(offer.plan, Plan) else ()
        for reason, count in Counter(step.skip for step in steps if step.skip).items():
            lines += paragraph(f"{counted(count, 'step')} skipped: {reason}", prose_width, " – ")
        if stop := io_path.stop(target):
            lines += paragraph(f"{stop}: a power cut may lose synced data.", prose_width, " ✗ ", BAD)
        lines += paragraph(write_amount(offer.plan, target), prose_width)
        lines += paragraph(offer.command, prose_width, " $ ")
        text, style = activity
        lines += paragraph(text, prose_width, " ! " if style == WARNING else "   ", style) if text else []
        pictures = io_path.expected_path(offer.plan, target, width) if isinstance(offer.plan, Plan) else []
        pictures = pictures if len(lines) + len(pictures) // 2 <= height else []  # its first rows alone say little
    help_text = " ".join(offer.form.help.split())
    drawn = [*lines, *pictures, rule(width, "how it measures"), *paragraph(help_text, prose_width)]
    if not (offer.plan or offer.refusal):  # the plan will take the room
        return drawn
    return [*drawn, *_terms(f"{offer.form.question} {help_text}", width, height - len(drawn))]


def _terms(words: str, width: int, height: int) -> list[Text]:
    """Draw as many terms of a text as fit; none if not even the first one does."""
    if height < _MIN_TERMS_HEIGHT:
        return []
    # imported here, because both take 3 MiB of memory and most screens have no space for terms
    from fstui.report.glossary import terms_in  # noqa: PLC0415
    from fstui.tui.drawing.report import term_lines  # noqa: PLC0415

    names = terms_in(words)
    while names:
        drawn = [rule(width, "terms", "g: all terms"), *term_lines(names, width)]
        if len(drawn) <= height:
            return drawn
        names = names[:-1]
    return []


def extent(offer: Offer, choices: Choices) -> str:
    """Return ``7 steps × 2 s + about 7 s overhead``, or ``2 × 2 = 4 steps`` for a matrix; empty without a plan."""
    if offer.plan is None:
        return ""
    if isinstance(offer.plan, PowerCutPlan):
        plan = offer.plan
        return f"{counted(len(plan.combinations), 'kind')} of writes × {counted(plan.settings.writers, 'writer')}"
    steps = [step for step in offer.plan.steps if not step.skip]
    lists = [name for name, setting in offer.form.settings.items() if isinstance(setting.value, list)]
    sides = [len(choices.values(offer.form, name)) for name in lists]
    is_matrix = len(sides) > 1 and prod(sides) == len(offer.plan.steps)
    product = f"{' × '.join(map(str, sides))} = " if is_matrix else ""
    lengths = {step.settings.seconds for step in steps}
    duration = f" × {length:g} s" if len(lengths) == 1 and (length := lengths.pop()) else ""
    rest_s = (offer.plan.seconds or 0) - sum(step.settings.seconds or 0 for step in steps)
    duration += f" + about {rest_s:.0f} s overhead" if duration and rest_s >= 1 else ""
    return f"{product}{counted(len(steps), 'step')}{duration}"


def write_amount(plan: Plan | PowerCutPlan, target: Target) -> str:
    each_second = f"{size(plan.bytes_per_s)} a second" if plan.bytes_per_s else ""
    if isinstance(plan, PowerCutPlan):
        amount = (each_second or "as much as it can") if plan.max_bytes is None else f"at most {size(plan.max_bytes)}"
        directory = directory_of(target.path, "…")
        return f"Writes {amount} into {directory}; after the verification, 'fstui clean' removes it."
    server = ""
    if plan.server is not None:
        server = f" On {plan.server}: writes at most {size(plan.server_bytes)} into its own database, then drops it."
    amount = each_second or f"at most {size(plan.max_bytes)}"
    if target.simulated is not None:
        return f"Simulates writes of {amount}. This host writes nothing."
    tenth_of_free = target.space.free_bytes / 10 if target.space else float("inf")
    directory = f"{target.path.rstrip('/')}/.fstui-…"
    if plan.max_bytes > tenth_of_free:
        share = " (more than a tenth of the free space)" if plan.peak_bytes > tenth_of_free else ""
        space = f"Uses at most {size(plan.peak_bytes)} at any time{share} in {directory}"
        return f"{space}, writes {amount}{'' if each_second else ' in all'}, then removes it.{server}"
    return f"Writes {amount} into {directory}, then removes it.{server}"


def _text(setting: Setting, text: str) -> str:
    return size(int(text)) if setting.unit == "bytes" and text.isdigit() else text


def _boxes(setting: Setting, values: Sequence[str], selected: int | None, width: int) -> Text:
    """Draw a checkbox for each allowed value, in columns on as many lines as they need."""
    boxes = [
        f"{'▸' if index == selected else ' '}[{'x' if value in values else ' '}] {_text(setting, value)}"
        for index, value in enumerate(offers.options(setting))
    ]
    box_width = max(map(cell_len, boxes)) + 1
    per_line = max(width // box_width, 1)
    lines = [boxes[start : start + per_line] for start in range(0, len(boxes), per_line)]
    return Text("\n").join(line(" ", *(fit(box, box_width) for box in part)) for part in lines)


def _declaration(declaration: Declaration, name: str, target: Target | None) -> tuple[str, str]:
    """Return the medium or write cache, declared by the user or else reported by the kernel, and a note."""
    is_medium = name == offers.MEDIUM
    field, value = ("class_", declaration.medium) if is_medium else ("write_cache", declaration.write_cache)
    reported = ", ".join(dict.fromkeys(str(getattr(medium, field)) for medium in _media(target))) or "unknown"
    if value is not None:
        return value, f"{'remembered' if declaration.remembered else 'declared'}   (reported: {reported})"
    return reported, "as reported"


def _media(target: Target | None) -> list[Medium]:
    return [node.medium for node in target.lowest if node.medium and not node.medium.declared] if target else []
