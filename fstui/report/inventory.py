"""The report of ``fstui list``: filesystems with their stacks and defects."""

from collections.abc import Mapping, Sequence

from msgspec.structs import asdict

from fstui.model.host import Inventory
from fstui.model.judgement import Finding, Judgement
from fstui.model.quantities import counted, seconds, short_size
from fstui.model.storage import Node, Target
from fstui.report import guests
from fstui.report.documents import ListDocument, ListedFilesystem
from fstui.report.findings import flag, flags, severity, trouble, verdict, worst_finding
from fstui.report.sections import Report, Row, Section, Value, glyph_cell, number_cell
from fstui.report.stack import health, medium, stack_line
from fstui.report.text import GLYPHS, NONE

_HEADER = ("", "MOUNT", "FREE", "STACK", "MEDIUM", "FLAG")

Judgements = Mapping[str, Judgement]
"""By mount point."""
_RECORDS = ("mount_point", "fstype", "source", "free_bytes", "stack", "medium", "verdict", "rule", "flag")


def inventory_report(inventory: Inventory, judgements: Judgements) -> Report:
    """Return the filesystems that store files, worst first; then the reasons for defects, virtual machines, the
    health of drives, and unused devices."""
    filesystems = [target for target in inventory.filesystems if not target.pseudo]
    filesystems.sort(key=lambda target: severity(target, judgements.get(target.mount_point)))
    hidden = len(inventory.filesystems) - len(filesystems)
    sections = (
        Section("", _HEADER, tuple(_row(target, judgements) for target in filesystems)),
        *(_defect_section(*defect) for defect in _defects(filesystems, judgements)),
        *guests.sections(inventory.guests, inventory),
        _health(inventory),
        _unused(inventory.unused),
        Section(lines=(f"{counted(hidden, 'pseudo filesystem')} hidden",) if hidden else ()),
    )
    values = (_RECORDS, *(_record(target, judgements) for target in inventory.filesystems))
    return Report(_title(inventory, filesystems), sections, _document(inventory, judgements), values)


def _document(inventory: Inventory, judgements: Judgements) -> ListDocument:
    """Return the inventory with the findings of each filesystem, including pseudo filesystems."""
    return ListDocument(
        host=inventory.host,
        process=inventory.process,
        filesystems=tuple(
            ListedFilesystem(**asdict(target), findings=judgement.findings if judgement else ())
            for target in inventory.filesystems
            for judgement in [judgements.get(target.mount_point)]
        ),
        unused=inventory.unused,
        guests=inventory.guests,
    )


def _title(inventory: Inventory, filesystems: Sequence[Target]) -> str:
    host = inventory.host
    kind = f"{host.virtualization} guest" if host.virtualization else ""
    parts = [host.hostname, f"Linux {host.kernel}" if host.kernel else "", kind]
    return " · ".join([*filter(None, parts), counted(len(filesystems), "filesystem")])


def _row(target: Target, judgements: Judgements) -> Row:
    judgement = judgements.get(target.mount_point)
    finding = flag(target, judgement)
    reason = ", ".join(filter(None, (trouble(target), finding.title if finding else "")))
    if target.silent_s is not None:
        reason = f"no answer for {seconds(target.silent_s)}"
    return (
        glyph_cell(verdict(target, judgement)),
        target.mount_point,
        number_cell(target.space.free_bytes if target.space else None, short_size),
        stack_line(target) or target.fstype,
        _media(target) or NONE,
        reason,
    )


def _record(target: Target, judgements: Judgements) -> tuple[Value, ...]:
    judgement = judgements.get(target.mount_point)
    finding = worst_finding(judgement)
    free = target.space.free_bytes if target.space else None
    return (
        target.mount_point, target.fstype, target.source, free, stack_line(target), _media(target),
        verdict(target, judgement), finding.rule if finding else None, finding.title if finding else None,
    )  # fmt: skip


def _media(target: Target) -> str:
    unknown = ((node, f"unknown ({node.link})" if node.link else node.layer) for node in target.lowest)
    return " + ".join(dict.fromkeys(medium(node) or text for node, text in unknown))


def _defects(filesystems: Sequence[Target], judgements: Judgements) -> list[tuple[list[str], Finding]]:
    defects: dict[tuple[str, str], tuple[list[str], Finding]] = {}
    for target in filesystems:
        if verdict(target, judgements.get(target.mount_point)) is None:
            continue
        for finding in flags(judgements.get(target.mount_point)):
            mount_points, _ = defects.setdefault((finding.rule, finding.sentence or finding.title), ([], finding))
            mount_points.append(target.mount_point)
    return list(defects.values())


def _defect_section(mount_points: Sequence[str], finding: Finding) -> Section:
    sign = GLYPHS[finding.verdict] if finding.verdict else " "
    title = f"{sign} {', '.join(mount_points)}: {finding.verdict}, {finding.confidence} confidence ({finding.rule})"
    points = (("because", finding.evidence), ("next", finding.next))
    return Section(title, lines=(finding.sentence or finding.title,), points=points, style=finding.verdict or "")


def _health(inventory: Inventory) -> Section:
    devices = {node.id: node for target in inventory.filesystems for node in target.lowest}
    devices |= {node.id: node for node in inventory.unused}
    rows = tuple((node.name, node.model or "", health(node)) for node in devices.values() if health(node))
    return Section("Health reported by the drives", ("DEVICE", "MODEL", "HEALTH"), rows)


def _unused(nodes: Sequence[Node]) -> Section:
    rows = tuple((n.name, n.kind, number_cell(n.size_bytes, short_size), n.model or "") for n in nodes)
    return Section("Devices without a mounted filesystem", ("DEVICE", "KIND", "SIZE", "MODEL"), rows)
