"""The I/O path below a filesystem: its layers as a tree, and how far down the data of each step gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from fstui.model.quantities import rotation, short_size
from fstui.model.storage import Node, Target
from fstui.report.stack import health, kind_label, link, stack_line, unreadable_properties
from fstui.tui.drawing.cells import StyledText, drawn_width, fit, fit_list, line, paragraph, rule
from fstui.tui.styles import BAD, FAINT, GOOD, WARNING

if TYPE_CHECKING:
    from fstui.model.plan import Plan
    from fstui.model.settings import Settings
    from fstui.report.reach import DataPlace, Reach
    from fstui.runs.simulation import SimulationParameters

_MIN_NOTE_COLUMN = 36
_MAX_NAME_WIDTH, _MIN_PLACE_WIDTH = 24, 13
_SURVIVAL = {True: ("✓", "green"), False: ("✗", "yellow"), None: ("?", "")}

EXPECTED_REACH = "where data should be after a call"
"""Title for real storage: a layer that loses data is drawn as if it did what it reports."""
ACTUAL_REACH = "where data is after a call"
"""Title for simulated storage, whose behaviour is known."""
POSSIBLE_REACH = "where data can be"
"""Title above the places alone."""
REACH_LEGEND = "✓ kept, ✗ lost in a power cut"


def tree(target: Target, width: int, edges: Mapping[str, StyledText] | None = None) -> list[Text]:
    """Draw the layers from top to bottom, each with what it does to a flush."""
    if not target.stack:
        return []
    visited: set[str] = set()
    lines: list[Text | tuple[str, StyledText]] = []  # other lines, and layers as pairs of a name and a note

    def draw(node: Node, role: str, lead: str, indent: str, stopped: bool) -> None:
        visited.add(node.id)
        top = node is target.stack[0]
        if edges and node.id in edges:
            (text, style), sign = edges[node.id], ("╳ ", BAD) if stopped else ("│ ", "")
            lines.append(line(lead[:-2], sign, (fit_list(text, width - cell_len(lead)), style)))
        facts = ",".join(target.mount_options) if top else _facts(node, role)
        name = target.fstype if top else _name(node)
        lines.append((f"{lead}{name}  {facts}", _note(node, stopped)))
        for reading in node.state:
            lines.append(line(f"{indent}  ", (f"! {reading.what} {reading.value}", WARNING)))
        if reported := health(node):
            lines.extend(paragraph(f"reports: {reported}", width, f"{indent}  ", FAINT))
        for missing in unreadable_properties(node):
            lines.append(line((fit(f"{indent}  not read: {missing}", width).rstrip(), FAINT)))
        children = [target.node(name) for name in node.below if name not in visited]
        for number, layer in enumerate(children, 1):
            branch, gap = ("└ ", "  ") if number == len(children) else ("├ ", "│ ")
            if layer.id not in visited:
                layer_role = node.below_roles.get(layer.id, "")
                draw(layer, layer_role, indent + branch, indent + gap, stopped or node.sync == "stops")

    draw(target.stack[0], "", "   ", "   ", False)
    widest = max(drawn_width(row[0]) for row in lines if isinstance(row, tuple))
    return [part for row in lines for part in ([row] if isinstance(row, Text) else _layer(*row, widest, width))]


def stop(target: Target) -> str:
    """Return which layer stops flushes, and why; empty if none does."""
    return next((f"Flushes stop at {_name(node)} ({node.reason})" for node in target.stack if node.sync == "stops"), "")


def lowest_label(nodes: Sequence[Node]) -> str:
    """Name the lowest devices in one or two words: ``sdb hdd-7200``, ``4 × ssd-plp``, ``memory``."""
    if not nodes:
        return "–"
    if len(nodes) > 1:
        classes = {_class(node) for node in nodes}
        return f"{len(nodes)} × {classes.pop() or 'devices'}" if len(classes) == 1 else f"{len(nodes)} devices"
    node = nodes[0]
    if node.layer in ("memory", "remote"):
        return node.name if node.layer == "remote" else "memory"
    return f"{node.id} {_class(node)}".strip()


def path(target: Target) -> str:
    """Return the directory and the stack: ``/srv/data · ext4 › sda1 › sda``."""
    return " · ".join(filter(None, (target.path, stack_line(target) or target.fstype)))


def reach_lines(
    steps: Sequence[tuple[str, Settings]],
    target: Target,
    width: int,
    *,
    actual: SimulationParameters | None = None,
) -> list[Text]:
    """Draw the data places, and for each step a bar to the place its data reaches. ``actual``: a simulated disk."""
    from fstui.report.reach import actual_reach, places, reach  # noqa: PLC0415  the first screen does not draw it

    all_places = places(target)
    name_width = min(max((cell_len(name) for name, _ in steps), default=0), _MAX_NAME_WIDTH, (width + 2) // 3)
    bar_width = width - name_width - 6
    last_width = cell_len(all_places[-1].name) + 3
    narrow = max(bar_width // len(all_places), (bar_width - last_width) // max(len(all_places) - 1, 1))
    cells = max((bar_width - 2) // (len(all_places) + 1), min(_MIN_PLACE_WIDTH, narrow))
    titles = [
        (fit(f"{_SURVIVAL[place.survives][0]} {place.name}", cells - 1) + " ", _SURVIVAL[place.survives][1])
        for place in all_places
    ]
    drawn = [line(" " * (name_width + 5), *titles)]
    drawn[0].truncate(width, overflow="crop")
    for name, settings in steps:
        data = reach(settings, target, all_places)
        data = actual_reach(actual, data, all_places) if actual and data else data
        drawn.append(line(f"   {fit(name, name_width)}  ", *_reach_bar(data, all_places, cells, bar_width)))
    return drawn


def expected_path(plan: Plan, target: Target, width: int, actual: SimulationParameters | None = None) -> list[Text]:
    """Draw where data should be after a call of each step, unless that varies, and the I/O path. See `reach_lines`."""
    from fstui.report.reach import places, reach  # noqa: PLC0415  the first screen does not draw it

    if not target.stack:
        return []
    known = [step for step in plan.steps if not step.skip and reach(step.settings, target, places(target))]
    steps = [(step.name, step.settings) for step in known]
    bars = reach_lines(steps, target, width, actual=actual) if steps else []
    title = [rule(width, ACTUAL_REACH if actual else EXPECTED_REACH, REACH_LEGEND)] if steps else []
    return [*title, *bars, rule(width, "I/O path"), *tree(target, width)]


def _reach_bar(data: Reach | None, places: Sequence[DataPlace], cells: int, width: int) -> list[StyledText]:
    if data is None:
        return [(fit("varies within the step", width).rstrip(), FAINT)]
    survives = places[data.reached].survives
    style = BAD if data.stopped else GOOD if survives else WARNING if survives is False else ""
    skipped = "╌" * cells if data.bypasses_cache and data.reached else ""
    end = cells * data.reached + min(cells // 2, 6)
    bar = "━" * max(end - len(skipped), 1) + ("✗" if data.stopped else "◂")
    note_width = width - len(skipped) - len(bar) - 1
    note = f" {fit(data.note, note_width).rstrip()}" if data.note and note_width > 4 else ""
    return [(skipped, FAINT), (bar, style), (note, FAINT)]


def _layer(left: str, note: StyledText, widest: int, width: int) -> list[Text]:
    # The note about flushes matters more than the end of a list of mount options.
    column = max(min(widest + 3, width * 51 // 80, width - cell_len(note[0]) - 1), _MIN_NOTE_COLUMN)
    if width < 70:
        return [line(fit(left, width)), line("      ", note)] if note[0] else [line(fit(left, width))]
    return [line(fit(fit_list(left, column - 1, ","), column), (fit(note[0], width - column).rstrip(), note[1]))]


def _name(node: Node) -> str:
    names = {"block": node.id, "filesystem": node.kind, "memory": node.id.partition(":")[2]}
    return names.get(node.layer) or node.name


def _note(node: Node, stopped: bool) -> StyledText:
    if node.sync == "stops" and stopped:
        return f"· {node.reason}", ""
    if node.sync == "stops":
        return f"✗ passes no flushes on: {node.reason}", BAD
    if node.lowest and node.write_cache:
        cache = "on" if node.write_cache == "write back" else "off"
        fua = {True: ", FUA", False: ", no FUA", None: ""}[node.fua]
        return f"· write cache {cache}{fua}", ""
    if node.sync == "passes":
        return "· would pass flushes on" if stopped else "· passes flushes on", ""
    return (f"? {node.reason}", "") if node.reason else ("", "")


def _facts(node: Node, role: str) -> str:
    medium = node.medium
    kind = kind_label(node)
    facts = [
        role,
        node.model or (node.name if node.name != _name(node) and node.name != node.id else ""),
        "" if _name(node).startswith(kind) else kind,
        link(node),
        rotation(medium.rpm) if medium and medium.rpm else "",
        medium.class_ if medium and not medium.rpm and medium.class_ != "unknown" else "",
        short_size(node.size_bytes, "iB") if node.size_bytes and node.layer == "block" and not node.model else "",
    ]
    return ", ".join(fact.strip() for fact in dict.fromkeys(facts) if fact)


def _class(node: Node) -> str:
    if node.medium and node.medium.class_ != "unknown":
        return node.medium.class_
    return node.link or ""
