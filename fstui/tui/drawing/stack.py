"""A stack as a tree, each layer with what it does to a flush."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from rich.text import Text

from fstui.model.quantities import short_size
from fstui.model.storage import Node, Target
from fstui.report.layers import called, link, unread
from fstui.tui.drawing.cells import Run, fit, line
from fstui.tui.styles import BAD, DOUBT, FAINT


def tree(target: Target, width: int, edges: Mapping[str, str] | None = None) -> list[Text]:
    """Topmost first. A layer that two others stand on is drawn once.

    ``edges``: by layer, what goes over the edge that leads to it.
    """
    if not target.stack:
        return []
    seen: set[str] = set()
    lines: list[Text] = []

    def draw(node: Node, role: str, lead: str, beneath: str, stopped: bool) -> None:
        seen.add(node.id)
        top = node is target.stack[0]
        if edges and (over := edges.get(node.id)):
            sign = ("╳ ", BAD) if stopped else ("│ ", "")
            lines.append(line(lead[:-2], sign, (fit(over, width - cell_len(lead)).rstrip(), FAINT)))
        words = ",".join(target.mount_options) if top else _facts(node, role)
        name = target.fstype if top else _name(node)
        lines.extend(_layer(f"{lead}{name}  {words}", _note(node, stopped), width))
        for reading in node.state:
            lines.append(line(f"{beneath}  ", (f"! {reading.what} {reading.value}", DOUBT)))
        for missing in unread(node):
            lines.append(line((fit(f"{beneath}  not read: {missing}", width).rstrip(), FAINT)))
        below = [target.node(name) for name in node.below if name not in seen]
        for number, layer in enumerate(below, 1):
            branch, more = ("└ ", "  ") if number == len(below) else ("├ ", "│ ")
            if layer.id not in seen:
                serves = node.below_roles.get(layer.id, "")
                draw(layer, serves, beneath + branch, beneath + more, stopped or node.sync == "stops")

    draw(target.stack[0], "", "  ", "  ", False)
    return lines


def lowest(nodes: Sequence[Node]) -> str:
    """The bottom of a stack in one word or two: ``sdb hdd-7200``, ``4 × ssd-plp``, ``memory``."""
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
    """``/srv/data · ext4 › sda1 › sda``: the directory, the filesystem, the layers below."""
    below = layers(target)
    return " · ".join(part for part in (target.path, target.fstype) if part) + (f" › {below}" if below else "")


def layers(target: Target) -> str:
    """``dm-2 › sdb``: what the filesystem stands on."""
    return " › ".join(_name(node) for node in target.stack[1:] if node.layer != "remote")


def _layer(left: str, note: Run, width: int) -> list[Text]:
    # the note is worth more than the end of a list of options
    column = max(min(width * 51 // 80, width - cell_len(note[0])), 36)
    if width < 70:
        return [line(fit(left, width)), line("      ", note)] if note[0] else [line(fit(left, width))]
    return [line(fit(left, column - 1) + " ", (fit(note[0], width - column).rstrip(), note[1]))]


def _name(node: Node) -> str:
    """The kernel's name of a block device, the kind of a filesystem further down, what a person says of the rest."""
    names = {"block": node.id, "filesystem": node.kind, "memory": node.id.partition(":")[2]}
    return names.get(node.layer) or node.name


def _note(node: Node, stopped: bool) -> Run:
    if node.sync == "stops" and stopped:
        return f"· {node.because}", FAINT
    if node.sync == "stops":
        return f"✗ flush stops here: {node.because}", BAD
    if node.lowest and node.write_cache:
        cache = "on" if node.write_cache == "write back" else "off"
        fua = {True: ", FUA", False: ", no FUA", None: ""}[node.fua]
        return f"· write cache {cache}{fua}", ""
    if node.sync == "passes":
        return "· would pass it on" if stopped else "· passes it on", FAINT
    return (f"? {node.because}", "") if node.because else ("", "")


def _facts(node: Node, role: str) -> str:
    medium = node.medium
    kind = called(node)
    facts = [
        role,
        node.model or (node.name if node.name != _name(node) and node.name != node.id else ""),
        "" if _name(node).startswith(kind) else kind,
        link(node),
        f"{medium.rpm} rpm" if medium and medium.rpm else "",
        medium.class_ if medium and not medium.rpm and medium.class_ != "unknown" else "",
        short_size(node.size_bytes) + "iB" if node.size_bytes and node.layer == "block" and not node.model else "",
    ]
    return ", ".join(fact.strip() for fact in dict.fromkeys(facts) if fact)


def _class(node: Node) -> str:
    if node.medium and node.medium.class_ != "unknown":
        return node.medium.class_
    return node.link or ""
