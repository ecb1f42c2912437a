"""What is here: filesystems with their stacks and flags, for ``fstui list``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from fstui.model import VERDICTS, Finding, Inventory, Judgement, Node, Target, encode
from fstui.quantities import counted, plain, seconds, short_size
from fstui.report import figures
from fstui.report.glyphs import GLYPHS
from fstui.report.text import NONE, WIDTH, because, columns, labelled, wrap

_HEADER = ("", "MOUNT", "FREE", "STACK", "MEDIUM", "FLAG")

Judgements = Mapping[str, Judgement]
"""By mount point."""


def render(inventory: Inventory, judgements: Judgements) -> str:
    """The filesystems that can hold files, the worst first; then each flag with its reason; then what is unused."""
    shown = sorted((target for target in inventory.filesystems if not target.pseudo), key=_worst_first(judgements))
    lines = [_host(inventory, shown), ""]
    lines += columns([_HEADER, *(_row(target, judgements) for target in shown)], "<<><<<")
    for mount_points, found in _reasons(shown, judgements):
        lines += ["", *_flag(mount_points, found)]
    if inventory.unused:
        lines += ["", "Devices without a mounted filesystem", *_unused(inventory.unused)]
    hidden = len(inventory.filesystems) - len(shown)
    if hidden:
        lines += ["", f"{counted(hidden, 'pseudo filesystem')} hidden"]
    return "\n".join(lines) + "\n"


def document(inventory: Inventory, judgements: Judgements) -> bytes:
    """The inventory as JSON, each filesystem with its ``findings``; pseudo filesystems included."""
    content: dict[str, Any] = msgspec.json.decode(encode(inventory))
    for target, filesystem in zip(inventory.filesystems, content["filesystems"], strict=True):
        found = judgements.get(target.mount_point)
        filesystem["findings"] = msgspec.json.decode(encode(found))["findings"] if found else []
    return msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"


def flags(judgement: Judgement | None) -> tuple[Finding, ...]:
    """What the configuration alone decides: the findings with a verdict worse than ``cannot-tell``, worst first."""
    if judgement is None:
        return ()
    bad = ("lost", "not-durable", "suspicious")
    return tuple(sorted((f for f in judgement.findings if f.verdict in bad), key=lambda f: bad.index(f.verdict or "")))


def _host(inventory: Inventory, shown: Sequence[Target]) -> str:
    host = inventory.host
    kind = f"{plain(host.virtualization)} guest" if host.virtualization else ""
    parts = [plain(host.hostname), f"Linux {plain(host.kernel)}" if host.kernel else "", kind]
    return " · ".join([*filter(None, parts), counted(len(shown), "filesystem")])


def _row(target: Target, judgements: Judgements) -> tuple[str, ...]:
    found = flags(judgements.get(target.mount_point))
    glyph = GLYPHS[found[0].verdict] if found and found[0].verdict else ""
    flag = plain(found[0].title) if found else ""
    if target.silent_s is not None:
        glyph, flag = "?", f"silent for {seconds(target.silent_s)}"
    return (
        glyph,
        plain(target.mount_point),
        short_size(target.space.free_bytes) if target.space else NONE,
        figures.stack_line(target) or plain(target.fstype),
        " + ".join(dict.fromkeys(_medium(node) for node in target.lowest)) or NONE,
        flag,
    )


def _medium(node: Node) -> str:
    known = node.medium.class_ if node.medium and node.medium.class_ != "unknown" else None
    return known or plain(node.link or node.layer)


def _worst_first(judgements: Judgements) -> Callable[[Target], int]:
    def rank(target: Target) -> int:
        found = flags(judgements.get(target.mount_point))
        return VERDICTS.index(found[0].verdict) if found and found[0].verdict else len(VERDICTS)

    return rank


def _reasons(shown: Sequence[Target], judgements: Judgements) -> list[tuple[list[str], Finding]]:
    """Each flag once, with all the mount points of which it says the same."""
    reasons: dict[tuple[str, str], tuple[list[str], Finding]] = {}
    for target in shown:
        for found in flags(judgements.get(target.mount_point)):
            mount_points, _ = reasons.setdefault((found.rule, found.sentence or found.title), ([], found))
            mount_points.append(plain(target.mount_point))
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
            ("", plain(n.name), n.kind, short_size(n.size_bytes) if n.size_bytes else NONE, plain(n.model or ""))
            for n in nodes
        ],
        "<<<><",
    )
