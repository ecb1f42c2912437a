"""The list of filesystems: the lowest device of each, what it does now, and whether its configuration is durable."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from functools import cached_property

import msgspec
from rich.text import Text

from fstui.model.host import Inventory
from fstui.model.judgement import VERDICTS, Finding, Judgement, Verdict
from fstui.model.quantities import counted, short_size
from fstui.model.storage import Node, Target
from fstui.report import findings
from fstui.report.stack import in_memory, stack_line
from fstui.tui.drawing import io_path
from fstui.tui.drawing.cells import Column, heading, line, row, shown, title_line, window
from fstui.tui.iostats import IoStats, together
from fstui.tui.styles import HEAD, verdict_style

COLUMNS = (
    Column("MOUNT", gap=0, cut="left"),
    Column("TYPE", 5),
    Column("FREE", 6, right=True),
    Column("LOWEST DEVICE", 13, gap=2, from_width=66),
    Column("I/O PATH", 40, gap=2, from_width=150),
    Column("R/S", 5, right=True, from_width=110),
    Column("W/S", 5, right=True, from_width=60),
    Column("MB/S", 7, right=True, from_width=110),
    Column("MS/W", 7, right=True, from_width=110),
    Column("FL/S", 5, right=True),
    Column("MS/FL", 7, right=True, from_width=76),
    Column("BUSY", 5, right=True, from_width=110),
    Column("FLAG", 12, gap=2),
)
SORTS = ("flag", "mount", "writes")


class Entry(msgspec.Struct, frozen=True, dict=True):
    """One row: a filesystem, or a device that no mounted filesystem uses."""

    target: Target | None
    device: Node | None = None
    judgement: Judgement | None = None
    judged: bool = True

    @property
    def key(self) -> str:
        """The identity by which the cursor follows its row."""
        return f"{self.target.mount_point}\0{self.target.source}" if self.target else self.name

    @property
    def name(self) -> str:
        return self.target.mount_point if self.target else self.device.id if self.device else ""

    @property
    def in_memory(self) -> bool:
        """Its type keeps data in memory only, as tmpfs does: no defect of this host."""
        return self.target is not None and in_memory(self.target)

    @property
    def devices(self) -> tuple[Node, ...]:
        """The devices whose counters are shown."""
        return self.target.lowest if self.target else (self.device,) if self.device else ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings, worst first, notes last."""
        return self.judgement.findings if self.judgement else ()

    @cached_property
    def verdict(self) -> Verdict | None:
        """The verdict on the configuration alone; None if no defect is known."""
        return findings.verdict(self.target, self.judgement) if self.target else None

    @property
    def flag(self) -> str:
        """The reason for the verdict in one or two words."""
        if self.target and self.target.silent_s is not None:
            return f"silent {self.target.silent_s:.0f} s"
        if not self.target:
            return "no fs"
        if not self.judged:
            return "…"
        named = findings.first(self.judgement)
        return named.rule.replace("-", " ") if named else ""

    @property
    def severity(self) -> tuple[int, bool]:
        return findings.severity(self.target, self.judgement) if self.target else (len(VERDICTS), False)


def entries(
    inventory: Inventory,
    judgements: Mapping[str, Judgement] | None,
    stats: Mapping[str, IoStats],
    *,
    pseudo: bool = False,
    words: str = "",
    sort: str = "flag",
) -> list[Entry]:
    """Return the rows in their order.

    ``judgements`` is None before the configurations were judged. ``words`` must occur in the mount point, the type,
    the source or a device.
    """
    known = judgements or {}
    filesystems = [
        Entry(target, judgement=known.get(target.mount_point), judged=judgements is not None)
        for target in inventory.filesystems
        if pseudo or not target.pseudo
    ]
    found = [entry for entry in filesystems if not words or words.lower() in _haystack(entry)]
    if sort == "mount":
        found.sort(key=lambda entry: entry.name)
    elif sort == "writes":
        found.sort(key=lambda entry: -(stats_of(entry, stats).writes_per_s or 0))
    else:
        found.sort(key=lambda entry: entry.severity)
    unused = [Entry(None, device=node) for node in inventory.unused]
    return found + [entry for entry in unused if not words or words.lower() in _haystack(entry)]


def begin(rows: Sequence[Entry], directory: str | None) -> int:
    """Return the row where the cursor starts: the filesystem of the directory, else the first not in memory."""
    if directory is not None:
        path = posixpath.join(posixpath.abspath(directory), "")
        above = [
            at for at, entry in enumerate(rows) if entry.target and path.startswith(posixpath.join(entry.name, ""))
        ]
        if above:
            return max(above, key=lambda at: len(rows[at].name))
    return next((at for at, entry in enumerate(rows) if not entry.in_memory), 0)


def stats_of(entry: Entry, stats: Mapping[str, IoStats]) -> IoStats:
    """Return what the lowest devices of a filesystem do together."""
    return together(stats[node.id] for node in entry.devices if node.id in stats)


def title(inventory: Inventory, rows: Sequence[Entry], simulated: str | None, width: int) -> Text:
    host = inventory.host
    kind = f"{host.virtualization} guest" if host.virtualization else "real hardware"
    filesystems = [entry for entry in rows if entry.target]
    flagged = sum(1 for entry in filesystems if entry.verdict) if all(entry.judged for entry in filesystems) else "…"
    summary = f"{counted(len(filesystems), 'filesystem')} · {flagged} flagged"
    if width < 70:
        summary = f"{flagged} of {len(filesystems)} flagged"
    mark = f"SIMULATED {simulated}" if simulated else ""
    return title_line("", f"{host.hostname} · Linux {host.kernel} · {kind}", summary, width, mark)


def table(rows: Sequence[Entry], stats: Mapping[str, IoStats], selected: int, width: int, height: int) -> list[Text]:
    """Draw the heading and the rows that fit, including the selected one."""
    columns = shown(COLUMNS, width - 3)

    def draw(at: int) -> Text:
        return _row(rows[at], columns, stats_of(rows[at], stats), at == selected)

    return [heading(columns, margin="   "), *window(len(rows), draw, selected, height - 1)]


def table_lines(rows: Sequence[Entry]) -> int:
    """Return the lines that the whole table takes."""
    return 1 + len(rows)


def hint(inventory: Inventory, pseudo: bool, sort: str, words: str) -> str:
    hidden = sum(1 for target in inventory.filesystems if target.pseudo)
    parts = [] if pseudo or not hidden else [f"{counted(hidden, 'pseudo filesystem')} hidden"]
    if words:
        parts.append(f"filter: {words}")
    if sort != "flag":
        parts.append(f"sorted by {sort}")
    if not inventory.host.udev:
        parts.append("no udev database: names from /sys")
    return " " + " · ".join(parts)


def _row(entry: Entry, columns: Sequence[Column], now: IoStats, selected: bool) -> Text:
    glyph, style = verdict_style(entry.verdict)
    space = entry.target.space if entry.target else None
    bytes_ = space.free_bytes if space else entry.device.size_bytes if entry.device else None
    values = {
        "MOUNT": entry.name,
        "TYPE": entry.target.fstype if entry.target else "",
        "FREE": "–" if bytes_ is None else short_size(bytes_),
        "LOWEST DEVICE": io_path.lowest(entry.devices),
        "I/O PATH": stack_line(entry.target),
        "R/S": number(now.reads_per_s),
        "W/S": number(now.writes_per_s),
        "MB/S": "–" if now.bytes_per_s is None else f"{now.bytes_per_s / 1e6:.1f}",
        "MS/W": _ms(now.ms_per_write),
        "FL/S": number(now.flushes_per_s),
        "MS/FL": _ms(now.ms_per_flush),
        "BUSY": "–" if now.busy is None else f"{now.busy:.0%}",
        "FLAG": entry.flag,
    }
    words = row(columns, values)
    return line(("▌" if selected else " ", HEAD), (f"{glyph} ", style), (words, HEAD if selected else ""))


def _haystack(entry: Entry) -> str:
    target = entry.target
    parts = [entry.name, *(node.id for node in entry.devices), *(node.model or "" for node in entry.devices)]
    if target:
        parts += [target.fstype, target.source]
    return " ".join(parts).lower()


def number(value: float | None) -> str:
    if value is None:
        return "–"
    if value >= 99_999.5:
        return f"{value / 1e3:.0f}k"
    return f"{value:.1f}" if 0 < value < 0.95 else f"{value:.0f}"


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}" if value < 100 else f"{value:.0f}"
