"""The storage screen: every filesystem with its lowest device, what it does now, and what already breaks durability."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import msgspec
from rich.text import Text

from fstui.model.activity import HostActivity, RunningDatabase
from fstui.model.host import Inventory
from fstui.model.judgement import VERDICTS, Finding, Judgement, Verdict
from fstui.model.quantities import counted, duration_ns, short_size, size
from fstui.model.storage import Node, Target
from fstui.report import findings
from fstui.report.layers import in_memory
from fstui.tui.drawing import io_path
from fstui.tui.drawing.cells import Column, ends, fit, heading, labelled, line, row, rule, shown, window_of, wrapped
from fstui.tui.rates import Rate, total
from fstui.tui.styles import BAD, FAINT, HEAD, verdict_style

COLUMNS = (
    Column("MOUNT", gap=0, cut="left"),
    Column("TYPE", 5),
    Column("FREE", 6, right=True),
    Column("LOWEST DEVICE", 13, gap=2, from_width=66),
    Column("STANDS ON", 40, gap=2, from_width=150),
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
    """One row: a filesystem, or a device that none stands on."""

    target: Target | None
    device: Node | None = None
    judgement: Judgement | None = None
    judged: bool = True

    @property
    def key(self) -> str:
        """What the cursor holds on to while rows come and go."""
        return f"{self.target.mount_point}\0{self.target.source}" if self.target else self.name

    @property
    def name(self) -> str:
        return self.target.mount_point if self.target else self.device.id if self.device else ""

    @property
    def memory(self) -> bool:
        """It is in memory by its very type, which surprises nobody."""
        return self.target is not None and in_memory(self.target)

    @property
    def devices(self) -> tuple[Node, ...]:
        """What its counters are read from."""
        return self.target.lowest if self.target else (self.device,) if self.device else ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Worst first, notes last."""
        return self.judgement.findings if self.judgement else ()

    @cached_property
    def verdict(self) -> Verdict | None:
        """What is wrong already, before a byte is written; None where nothing is known to be."""
        return findings.verdict(self.target, self.judgement) if self.target else None

    @property
    def flag(self) -> str:
        """The reason in a word or two."""
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
    rates: Mapping[str, Rate],
    *,
    pseudo: bool = False,
    words: str = "",
    sort: str = "flag",
) -> list[Entry]:
    """The rows in their order; ``words`` must occur in the mount point, type, source or a device.

    ``judgements``: None where nothing is judged yet.
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
        found.sort(key=lambda entry: -(rate_of(entry, rates).writes or 0))
    else:
        found.sort(key=lambda entry: entry.severity)
    unused = [Entry(None, device=node) for node in inventory.unused]
    return found + [entry for entry in unused if not words or words.lower() in _haystack(entry)]


def begin(rows: Sequence[Entry], directory: str | None) -> int:
    """Where the cursor starts: on the filesystem of that directory, else on the first not in memory by design."""
    if directory is not None:
        path = posixpath.join(posixpath.abspath(directory), "")
        above = [
            at for at, entry in enumerate(rows) if entry.target and path.startswith(posixpath.join(entry.name, ""))
        ]
        if above:
            return max(above, key=lambda at: len(rows[at].name))
    return next((at for at, entry in enumerate(rows) if not entry.memory), 0)


def rate_of(entry: Entry, rates: Mapping[str, Rate]) -> Rate:
    """What its lowest devices do together."""
    return total(rates[node.id] for node in entry.devices if node.id in rates)


def title(inventory: Inventory, rows: Sequence[Entry], simulated: str | None, width: int) -> Text:
    host = inventory.host
    box = [host.hostname, f"Linux {host.kernel}"]
    box.append(f"{host.virtualization} guest" if host.virtualization else "real hardware")
    filesystems = [entry for entry in rows if entry.target]
    flagged = sum(1 for entry in filesystems if entry.verdict) if all(entry.judged for entry in filesystems) else "…"
    marked = f"{counted(len(filesystems), 'filesystem')} · {flagged} flagged"
    if width < 70:
        marked = f"{flagged} of {len(filesystems)} flagged"
    mark = f"   SIMULATED {simulated}" if simulated else ""
    return ends([" ", ("fstui", HEAD), (mark, HEAD), "   ", " · ".join(box)], marked, width)


def table(rows: Sequence[Entry], rates: Mapping[str, Rate], selected: int, width: int, height: int) -> list[Text]:
    """The heading and the rows that fit, the selected one among them."""
    columns = shown(COLUMNS, width - 3)

    def draw(at: int) -> Text:
        return _row(rows[at], columns, rate_of(rows[at], rates), at == selected)

    return [heading(columns, margin="   "), *window_of(range(len(rows)), draw, selected, height - 1)]


def table_lines(rows: Sequence[Entry]) -> int:
    """How many lines the table has where there is room for all."""
    return 1 + len(rows)


def detail(
    entry: Entry | None,
    rates: Mapping[str, Rate],
    at_work: HostActivity,
    width: int,
    *,
    before: Sequence[Text] = (),
    edges: bool = False,
) -> list[Text]:
    """The selected row's stack, with where a flush stops, and every flag with the path and value it was read from.

    ``before``: what was measured there on other days. ``edges``: what goes over each edge of the stack stands on it,
    instead of a line for each device.
    """
    if entry is None:
        return [rule(width), line("  nothing matches the filter: Esc shows all")]
    lines = [rule(width, entry.name, "nothing written")]
    over = {node: _activity(rate) for node, rate in rates.items()}
    if entry.target:
        lines += io_path.tree(entry.target, width, over if edges else None)
    elif entry.device:
        lines += [line(f"  {entry.device.id}  {io_path.lowest((entry.device,))}: no mounted filesystem stands on it")]
    if not (entry.target and edges):
        devices = (node.id for node in entry.devices if node.id in rates)
        lines += [line((fit(f"  now   {device}: {over[device]}", width), FAINT)) for device in devices]
    if entry.target:
        lines += _company(entry.target, at_work, width)
    lines += before
    if entry.target and entry.target.silent_s is not None:
        lines += [line(), *_silence(entry.target, width)]
    for finding in entry.findings:
        lines += [line(), *_flag(finding, width)]
    return lines


def hint(inventory: Inventory, pseudo: bool, sort: str, words: str) -> str:
    hidden = sum(1 for target in inventory.filesystems if target.pseudo)
    parts = [] if pseudo or not hidden else [f"{counted(hidden, 'pseudo filesystem')} hidden"]
    if words:
        parts.append(f"filter: {words}")
    if sort != "flag":
        parts.append(f"sorted by {sort}")
    if not inventory.host.udev:
        parts.append("no udev database: names from /sys alone")
    return " " + " · ".join(parts)


def _row(entry: Entry, columns: Sequence[Column], now: Rate, selected: bool) -> Text:
    glyph, style = verdict_style(entry.verdict)
    space = entry.target.space if entry.target else None
    bytes_ = space.free_bytes if space else entry.device.size_bytes if entry.device else None
    values = {
        "MOUNT": entry.name,
        "TYPE": entry.target.fstype if entry.target else "",
        "FREE": "–" if bytes_ is None else short_size(bytes_),
        "LOWEST DEVICE": io_path.lowest(entry.devices),
        "STANDS ON": io_path.layers(entry.target) if entry.target else "",
        "R/S": _number(now.reads),
        "W/S": _number(now.writes),
        "MB/S": "–" if now.written_bytes is None else f"{now.written_bytes / 1e6:.1f}",
        "MS/W": _ms(now.ms_per_write),
        "FL/S": _number(now.flushes),
        "MS/FL": _ms(now.ms_per_flush),
        "BUSY": "–" if now.busy is None else f"{now.busy:.0%}",
        "FLAG": entry.flag,
    }
    words = row(columns, values)
    return line(("▌" if selected else " ", HEAD), (f"{glyph} ", style), (words, HEAD if selected else ""))


def _flag(finding: Finding, width: int) -> list[Text]:
    glyph, style = verdict_style(finding.verdict)
    word = f"{finding.verdict}, {finding.confidence}" if finding.verdict else "note"
    sentence = finding.sentence or finding.title
    first, *more = wrapped(f"{word}   {sentence}", width - 1, indent="    ")
    named = 4 + len(word)
    head = line("  ", (f"{glyph} ", style), (first[4:named], style or HEAD), first[named:])
    pairs = [part.partition(": ")[::2] for part in finding.because]
    steps = [(step, "") for step in finding.next]
    return [
        head,
        *(line(part) for part in more),
        *labelled(pairs, "read", width, indent=4),
        *labelled(steps, "next", width, indent=4),
    ]


def _silence(target: Target, width: int) -> list[Text]:
    words = (
        f"{target.source} has not answered for {target.silent_s or 0:.0f} s: its server or its disk hangs. "
        "A run there would hang as well."
    )
    return [line(part) for part in wrapped(words, width - 1, indent="    ", first="  ? ")]


def _activity(now: Rate) -> str:
    parts = [
        "" if now.busy is None else f"{now.busy:.0%} busy",
        f"{_number(now.writes)} writes/s{_each(now.ms_per_write)}",
        "flushes not counted" if now.flushes is None else f"{_number(now.flushes)} flushes/s{_each(now.ms_per_flush)}",
        "" if now.written_bytes is None else f"{size(now.written_bytes)}/s",
        f"{_number(now.reads)} reads/s",
        "" if now.in_flight is None else f"{now.in_flight} in flight",
    ]
    return ", ".join(filter(None, parts))


def _each(ms: float | None) -> str:
    return "" if ms is None else f" of {duration_ns(ms * 1e6)}"


def _haystack(entry: Entry) -> str:
    target = entry.target
    parts = [entry.name, *(node.id for node in entry.devices), *(node.model or "" for node in entry.devices)]
    if target:
        parts += [target.fstype, target.source]
    return " ".join(parts).lower()


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    if value >= 99_999.5:
        return f"{value / 1e3:.0f}k"
    return f"{value:.1f}" if 0 < value < 0.95 else f"{value:.0f}"


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}" if value < 100 else f"{value:.0f}"


_MOST = 4
"""Writers that are named."""


def _company(target: Target, at_work: HostActivity, width: int) -> list[Text]:
    """Nothing where nobody is."""
    found: list[Text] = []
    if words := _writers(target, at_work):
        found += [line((part, FAINT)) for part in wrapped(words, width - 1, indent=" " * 8, first="  who   ")]
    for database in at_work.databases:
        if target.mount_point in database.mounts:
            found += _database(database, width)
    return found


def _writers(target: Target, at_work: HostActivity) -> str:
    here = [each for each in at_work.writers if target.mount_point in each.mounts]
    named = [f"{each.name} ({each.pid}) {size(_rounded(each.bytes_per_s))}/s" for each in here[:_MOST]]
    hidden = "other users' processes are not seen without root" if named and at_work.hidden else ""
    return "; ".join(filter(None, [", ".join(named), hidden]))


def _rounded(bytes_per_s: float) -> int:
    """To two digits: what changes every look is sent every look."""
    return round(float(f"{bytes_per_s:.1e}"))


def _database(database: RunningDatabase, width: int) -> Iterator[Text]:
    words = f"{database.name} ({database.pid}) keeps its data in {database.data_directory}: "
    words += ", ".join(f"{name} = {value}" for name, value in sorted(database.variables.items())) or (
        "no setting of its durability is changed where it was started"
    )
    for part in wrapped(words, width - 1, indent=" " * 8, first="  data  "):
        yield line(part)
    for reason in database.unsafe_settings:
        for part in wrapped(f"✗ a commit may be lost: {reason}", width - 1, indent=" " * 10, first=" " * 8):
            yield line((part, BAD))
