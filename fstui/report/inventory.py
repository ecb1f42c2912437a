"""What is here: filesystems with their stacks and flags, for ``fstui list``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from rich.cells import cell_len

from fstui.model.documents import encode
from fstui.model.host import Inventory
from fstui.model.judgement import Finding, Judgement
from fstui.model.quantities import counted, seconds, short_size
from fstui.model.storage import Node, Target
from fstui.report import figures, json
from fstui.report.characters import page
from fstui.report.findings import first, flags, severity, verdict
from fstui.report.glyphs import GLYPHS
from fstui.report.text import NONE, WIDTH, because, columns, cut_left, cut_right, labelled, wrap

_HEADER = ("", "MOUNT", "FREE", "STACK", "MEDIUM", "FLAG")

_LEAST_MOUNT = 16

Judgements = Mapping[str, Judgement]
"""By mount point."""


def render(inventory: Inventory, judgements: Judgements, width: int | None = None) -> str:
    """The filesystems that can hold files, the worst first; then each flag with its reason; then what is unused."""
    shown = [target for target in inventory.filesystems if not target.pseudo]
    shown.sort(key=lambda target: severity(target, judgements.get(target.mount_point)))
    lines = [_host(inventory, shown), ""]
    lines += _table([_HEADER, *(_row(target, judgements) for target in shown)], width)
    for mount_points, found in _reasons(shown, judgements):
        lines += ["", *_flag(mount_points, found)]
    if inventory.unused:
        lines += ["", "Devices without a mounted filesystem", *_unused(inventory.unused)]
    hidden = len(inventory.filesystems) - len(shown)
    if hidden:
        lines += ["", f"{counted(hidden, 'pseudo filesystem')} hidden"]
    return page(lines)


def document(inventory: Inventory, judgements: Judgements) -> bytes:
    """The inventory as JSON, each filesystem with its ``findings``; pseudo filesystems included."""
    content: dict[str, Any] = msgspec.json.decode(encode(inventory))
    for target, filesystem in zip(inventory.filesystems, content["filesystems"], strict=True):
        found = judgements.get(target.mount_point)
        filesystem["findings"] = msgspec.json.decode(encode(found))["findings"] if found else []
    return json.indented(content)


def _host(inventory: Inventory, shown: Sequence[Target]) -> str:
    host = inventory.host
    kind = f"{host.virtualization} guest" if host.virtualization else ""
    parts = [host.hostname, f"Linux {host.kernel}" if host.kernel else "", kind]
    return " · ".join([*filter(None, parts), counted(len(shown), "filesystem")])


def _table(rows: Sequence[tuple[str, ...]], width: int | None) -> list[str]:
    """On a terminal that is too narrow each stack stands below its mount point, of which the beginning gives way."""
    lines = columns(rows, "<<><<<")
    if width is None or max(map(cell_len, lines)) <= width:
        return lines
    beside = [(glyph, free, medium, flag) for glyph, _, free, _, medium, flag in rows]
    room = max(width - max(map(cell_len, columns(beside, "<><<"))) - 2, _LEAST_MOUNT)
    cut = [(glyph, cut_left(mount, room), free, medium, flag) for glyph, mount, free, _, medium, flag in rows]
    drawn: list[str] = []
    for line, row, (_, mount, _, stack, _, flag) in zip(columns(cut, "<<><<"), cut, rows, strict=True):
        whole = cell_len(line) <= width
        drawn.append(line if whole else cut_right(line, width))
        if row is not cut[0]:
            below = stack if row[1] == mount else f"{mount} · {stack}"
            drawn += [f"     {part}" for part in wrap(below if whole else f"{below} · {flag}", width - 5)]
    return drawn


def _row(target: Target, judgements: Judgements) -> tuple[str, ...]:
    judgement = judgements.get(target.mount_point)
    worst, named = verdict(target, judgement), first(judgement)
    flag = named.title if named else ""
    if target.silent_s is not None:
        flag = f"silent for {seconds(target.silent_s)}"
    return (
        GLYPHS[worst] if worst else "",
        target.mount_point,
        short_size(target.space.free_bytes) if target.space else NONE,
        figures.stack_line(target) or target.fstype,
        " + ".join(dict.fromkeys(_medium(node) for node in target.lowest)) or NONE,
        flag,
    )


def _medium(node: Node) -> str:
    medium = node.medium
    if medium and medium.class_ != "unknown":
        return medium.class_ + (" (declared)" if medium.declared else "")
    return node.link or node.layer


def _reasons(shown: Sequence[Target], judgements: Judgements) -> list[tuple[list[str], Finding]]:
    """Each flag once, with all the mount points of which it says the same."""
    reasons: dict[tuple[str, str], tuple[list[str], Finding]] = {}
    for target in shown:
        if verdict(target, judgements.get(target.mount_point)) is None:
            continue
        for found in flags(judgements.get(target.mount_point)):
            mount_points, _ = reasons.setdefault((found.rule, found.sentence or found.title), ([], found))
            mount_points.append(target.mount_point)
    return list(reasons.values())


def _flag(mount_points: Sequence[str], found: Finding) -> Iterator[str]:
    glyph = GLYPHS[found.verdict] if found.verdict else " "
    yield from wrap(f"{glyph} {', '.join(mount_points)}: {found.verdict}, {found.confidence} ({found.rule})", WIDTH)
    yield from (f"  {line}" for line in wrap(found.sentence or found.title, WIDTH - 2))
    yield from because(found.because)
    yield from labelled("next", found.next)


def _unused(nodes: Sequence[Node]) -> list[str]:
    return columns(
        [
            (
                "",
                n.name,
                n.kind,
                short_size(n.size_bytes) if n.size_bytes else NONE,
                n.model or "",
            )
            for n in nodes
        ],
        "<<<><",
    )
