"""The list of filesystems: the device of each, what it does now, and whether its configuration is durable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec
from msgspec.structs import replace
from rich.text import Text

from fstui.model.activity import RunningDatabase
from fstui.model.guests import Guest
from fstui.model.host import Inventory
from fstui.model.judgement import VERDICTS, Finding, Judgement, Verdict
from fstui.model.quantities import count, counted, duration_ns, short_size
from fstui.model.storage import Node, Target
from fstui.report import findings
from fstui.report.stack import in_memory, stack_line
from fstui.report.text import origin
from fstui.tui.drawing import io_path
from fstui.tui.drawing.cells import (
    Column,
    StyledText,
    cell,
    clickable,
    drawn_width,
    fit_list,
    line,
    meter,
    selectable_row,
    title_line,
    window,
)
from fstui.tui.iostats import DeviceActivity, IoStats, sum_devices, total
from fstui.tui.styles import AREA, BAD, FAINT, TIME, WARNING, verdict_style

_TREND, _MAX_TREND_WIDTH, _MIN_PATH_WIDTH = "FLUSH TIME", 40, 20
_TYPE_WIDTH, _MAX_TYPE_WIDTH = 8, 12
HIGH_USED_SHARE, HIGH_BUSY_SHARE = 0.9, 0.8
"""At or above this share, a bar has the warning colour."""
COLUMNS = (
    Column("MOUNT", gap=0, cut="left"),
    Column("TYPE"),
    Column("USED", 6),
    Column("FREE", 6, right=True),
    Column("ON DEVICE", gap=2),
    Column("I/O PATH", gap=2, cut="middle"),
    Column("BUSY", 6),
    Column("READ/S", 7, right=True),
    Column("WRITE/S", 7, right=True, gap=2),
    Column("MiB/S", 7, right=True),
    Column("W_AWAIT", 7, right=True, gap=2),
    Column("FLUSH/S", 7, right=True),
    Column("F_AWAIT", 7, right=True),
    Column(_TREND, 12, gap=2),
    Column("FLAG", gap=2),
)
_EXPENDABLE = ("READ/S", "MiB/S", "W_AWAIT", _TREND, "WRITE/S", "TYPE", "BUSY", "USED", "ON DEVICE", "F_AWAIT", "FREE")
"""The columns that a narrow screen leaves out, in this order."""
_IO_COLUMNS = ("READ/S", "WRITE/S", "MiB/S", "W_AWAIT", "FLUSH/S", "F_AWAIT", "BUSY", _TREND)
_MEASURED_ROWS = 100
"""The columns are as wide as the texts of this many rows, because there may be thousands of rows."""
SORTS = {"flag": "FLAG", "mount": "MOUNT", "used": "USED", "busy": "BUSY", "writes": "WRITE/S", "flushes": "FLUSH/S"}
"""The name of each order, and the column whose header selects it."""
_HALF_CELL_S, _WIDE_HALF_CELL_S, _WIDE_SCREEN = 10, 4, 110
"""The seconds that half a cell of the trend covers: by default, and on a screen of at least _WIDE_SCREEN columns."""


class StorageEntry(msgspec.Struct, frozen=True, dict=True):
    """One row: a filesystem, a virtual machine, or a device that no filesystem mounted here uses."""

    target: Target | None
    device: Node | None = None
    judgement: Judgement | None = None
    is_judged: bool = True
    guest: Guest | None = None

    @property
    def key(self) -> str:
        """The identity of the row, by which the cursor stays on it."""
        if self.guest:
            return f"\0{self.guest.pid}"
        return f"{self.target.mount_point}\0{self.target.source}" if self.target else self.name

    @property
    def name(self) -> str:
        if self.guest:
            return self.guest.label
        return self.target.mount_point if self.target else self.device.id if self.device else ""

    @property
    def path(self) -> str:
        """The layers, or the filesystems and devices that hold the images of a virtual machine."""
        if self.guest:
            return " + ".join(dict.fromkeys(disk.mount_point or disk.device or "?" for disk in self.guest.disks))
        return stack_line(self.target)

    @property
    def in_memory(self) -> bool:
        """Whether the filesystem keeps data only in memory, as tmpfs does. That is no defect of this host."""
        return self.target is not None and in_memory(self.target)

    @property
    def devices(self) -> tuple[Node, ...]:
        return self.target.devices if self.target else (self.device,) if self.device else ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.judgement.findings if self.judgement else ()

    @cached_property
    def verdict(self) -> Verdict | None:
        """The verdict on the configuration alone; None if no defect is known."""
        if self.guest:
            return "not-durable" if self.guest.lossy_disks else "cannot-tell" if self.guest.trouble else None
        return findings.verdict(self.target, self.judgement) if self.target else None

    @property
    def used_share(self) -> float | None:
        space = self.target.space if self.target else None
        return 1 - space.free_bytes / space.total_bytes if space else None

    @cached_property
    def trouble(self) -> str:
        """Why nothing can be written to the filesystem, in one or two words."""
        return findings.trouble(self.target) if self.target else ""

    @property
    def is_flagged(self) -> bool:
        return bool(self.verdict or self.trouble)

    @cached_property
    def flag(self) -> str:
        """The reason for the verdict in one or two words."""
        if self.target and self.target.silent_s is not None:
            return f"no answer for {self.target.silent_s:.0f} s"
        if self.guest:
            if self.guest.lossy_disks:
                return "flushes ignored"
            return "not read" if self.guest.trouble else ""
        if not self.target:
            return ""
        if not self.is_judged:
            return "…"
        worst = findings.flag(self.target, self.judgement)
        return ", ".join(filter(None, (self.trouble, worst.rule.replace("-", " ") if worst else "")))

    @property
    def severity(self) -> tuple[int, bool]:
        if self.target:
            return findings.severity(self.target, self.judgement)
        return (VERDICTS.index(self.verdict) if self.verdict else len(VERDICTS)), True


_TEXTS: dict[str, Callable[[StorageEntry], str]] = {
    "MOUNT": lambda entry: entry.name,
    "TYPE": lambda entry: entry.target.fstype if entry.target else "vm" if entry.guest else "disk",
    "ON DEVICE": lambda entry: io_path.lowest_label(entry.devices),
    "I/O PATH": lambda entry: entry.path,
    "FLAG": lambda entry: entry.flag,
}
"""The columns of text. The filter searches them even if the screen is too narrow to show them."""


def entries(
    inventory: Inventory,
    judgements: Mapping[str, Judgement] | None,
    stats: Mapping[str, IoStats],
    *,
    pseudo: bool = False,
    text: str = "",
    sort: str = "flag",
) -> list[StorageEntry]:
    """Return the sorted rows that contain each word of ``text``. ``judgements``: None until they are judged."""
    by_mount, words = judgements or {}, text.lower().split()
    filesystems = [
        StorageEntry(target, judgement=by_mount.get(target.mount_point), is_judged=judgements is not None)
        for target in inventory.filesystems
        if pseudo or not target.pseudo
    ]
    guests = [StorageEntry(None, guest=guest) for guest in inventory.guests]
    matching = [entry for entry in (*filesystems, *guests) if _contains(entry, words)]
    orders: dict[str, Callable[[StorageEntry], Any]] = {
        "flag": lambda entry: entry.severity,
        "mount": lambda entry: entry.name,
        "used": lambda entry: -(entry.used_share or 0),
        "busy": lambda entry: -(stats_of(entry, stats).busy or 0),
        "writes": lambda entry: -(stats_of(entry, stats).per_s("writes") or 0),
        "flushes": lambda entry: -(stats_of(entry, stats).per_s("flushes") or 0),
    }
    matching.sort(key=orders[sort])
    unused = [StorageEntry(None, device=node) for node in inventory.unused]
    return matching + [entry for entry in unused if _contains(entry, words)]


def initial_row(rows: Sequence[StorageEntry], databases: Sequence[RunningDatabase] = ()) -> int:
    """Return the row of a database, or the first that is not in memory."""
    database_mounts = {mount for database in databases for mount in database.mounts}
    database_rows = (row for row, entry in enumerate(rows) if entry.target and entry.name in database_mounts)
    rows_on_devices = (row for row, entry in enumerate(rows) if not entry.in_memory)
    return next(database_rows, next(rows_on_devices, 0))


def stats_of(entry: StorageEntry, stats: Mapping[str, IoStats]) -> IoStats:
    return sum_devices(stats[node.id] for node in entry.devices if node.id in stats)


def title(inventory: Inventory, rows: Sequence[StorageEntry], simulated: str | None, width: int) -> Text:
    host = inventory.host
    kind = f"{host.virtualization} guest" if host.virtualization else "real hardware"
    filesystems = [entry for entry in rows if entry.target]
    unused = sum(1 for entry in rows if entry.device)
    guests = sum(1 for entry in rows if entry.guest)
    flagged = sum(1 for entry in rows if entry.is_flagged) if all(entry.is_judged for entry in filesystems) else "…"
    summary = f"{flagged} of {len(filesystems) + guests} flagged"
    if width >= 70:
        extras = f" + {counted(guests, 'VM')}" if guests else ""
        extras += f" + {counted(unused, 'other device')}" if unused else ""
        summary = f"{counted(len(filesystems), 'filesystem')}{extras} · {flagged} flagged"
    kernel = f"Linux {host.kernel} · " if width >= _WIDE_SCREEN else ""
    place = "" if simulated else f"{host.hostname} · {kernel}{kind}"
    return title_line("", place, summary, width, origin(simulated))


def table(
    rows: Sequence[StorageEntry],
    activity: DeviceActivity,
    selected: int,
    *,
    width: int,
    height: int,
    has_counters: bool = True,
) -> list[Text]:
    """Draw the column titles and the rows that fit, including the selected one."""
    columns = _fitting_columns(rows, width - 4, has_counters)
    cells = next((column.width for column in columns if column.title == _TREND), 0)
    half_cell_s = _WIDE_HALF_CELL_S if width >= _WIDE_SCREEN else _HALF_CELL_S
    samples = activity.recent.series(2 * half_cell_s, cells) if cells else []
    drawn: set[tuple[str, ...]] = set()

    def draw(index: int) -> Text:
        entry, devices = rows[index], tuple(node.id for node in rows[index].devices)
        repeated = devices in drawn
        drawn.add(devices)
        trend = "" if repeated else _trend(entry, samples)
        stats = stats_of(entry, activity.stats)
        return _row(entry, columns, stats, trend, repeated=repeated, selected=index == selected)

    return [_column_titles(columns), *window(len(rows), draw, selected, height - 1)]


def hint(inventory: Inventory, pseudo: bool, sort: str, filter_text: str, width: int) -> str:
    hidden = sum(1 for target in inventory.filesystems if target.pseudo)
    parts = [] if pseudo or not hidden else [f"{counted(hidden, 'pseudo filesystem')} hidden"]
    if filter_text:
        parts.append(f"filter: {filter_text}")
    if sort != "flag":
        parts.append(f"sorted by {sort}")
    return fit_list(" " + " · ".join(parts), width, " · ")


def _column_titles(columns: Sequence[Column]) -> Text:
    """Draw the titles of the columns. A click on a title in ``SORTS`` sorts the rows."""
    text, orders = line(("   ", FAINT)), {title: sort for sort, title in SORTS.items()}
    for column in columns:
        title = line((cell(column, column.title), FAINT))
        sort = orders.get(column.title)
        text.append_text(clickable(title, f"sort_by('{sort}')") if sort else title)
    return text


def _fitting_columns(rows: Sequence[StorageEntry], width: int, has_counters: bool) -> list[Column]:
    """Return the columns that fit, as wide as their texts. The path and the trend take the remaining width."""
    longest = {
        title: max([len(title), *(drawn_width(text(entry)) for entry in rows[:_MEASURED_ROWS])])
        for title, text in _TEXTS.items()
    }
    widths = {column.title: column.width or longest[column.title] for column in COLUMNS}
    widths["ON DEVICE"] = min(longest["ON DEVICE"], width // 5)
    widths["TYPE"] = min(longest["TYPE"], _TYPE_WIDTH)
    unusable = ("I/O PATH", *(() if has_counters else _IO_COLUMNS))
    columns = [column for column in COLUMNS if column.title not in unusable]
    for dropped in (None, *_EXPENDABLE):  # None: first try all columns
        columns = [column for column in columns if column.title != dropped]
        free_width = width - sum(widths[column.title] + column.gap for column in columns[1:])
        if free_width >= min(longest["MOUNT"], width // 4):
            break
    widths["MOUNT"] = min(max(free_width, 4), longest["MOUNT"])
    free_width -= widths["MOUNT"]
    for title, max_width in (("ON DEVICE", longest["ON DEVICE"]), ("TYPE", min(longest["TYPE"], _MAX_TYPE_WIDTH))):
        if any(column.title == title for column in columns):  # a long name must not displace other columns
            extra = min(max(max_width - widths[title], 0), free_width)
            widths[title] += extra
            free_width -= extra
    path = COLUMNS[5]
    widths[path.title] = min(longest[path.title], free_width - path.gap)
    if widths[path.title] >= min(longest[path.title], _MIN_PATH_WIDTH):
        columns.insert(5, path)
        free_width -= widths[path.title] + path.gap
    flexible, limit = (_TREND, _MAX_TREND_WIDTH) if has_counters else ("FLAG", width)
    widths[flexible] = min(widths[flexible] + free_width, limit)
    return [replace(column, width=widths[column.title]) for column in columns]


def _trend(entry: StorageEntry, samples: Sequence[Sequence[Mapping[str, IoStats]]]) -> str:
    """Draw how long a flush took in the last minutes."""
    times = [total(stats_of(entry, sample) for sample in part).ms_per_flush if part else None for part in samples]
    if not any(times):
        return ""
    from fstui.tui.drawing import charts  # noqa: PLC0415  it loads the judge, which the first frame does not need

    return charts.blocks(times)


def _row(
    entry: StorageEntry, columns: Sequence[Column], stats: IoStats, trend: str, *, repeated: bool, selected: bool
) -> Text:
    glyph, style = verdict_style(entry.verdict)
    if entry.trouble and not entry.verdict:
        glyph, style = "!", BAD if entry.trouble == "full" else WARNING
    space = entry.target.space if entry.target else None
    values = {title: text(entry) for title, text in _TEXTS.items()} | {
        "FREE": short_size(space.free_bytes) if space else "–" if entry.target else "",
        "READ/S": number(stats.per_s("reads")),
        "WRITE/S": number(stats.per_s("writes")),
        "MiB/S": "–" if (written := stats.per_s("written_bytes")) is None else f"{written / (1 << 20):.1f}",
        "W_AWAIT": _ms(stats.ms_per_write),
        "FLUSH/S": number(stats.per_s("flushes")),
        "F_AWAIT": _ms(stats.ms_per_flush),
        _TREND: trend,
    }
    bars = {"USED": (entry.used_share, HIGH_USED_SHARE), "BUSY": (None if repeated else stats.busy, HIGH_BUSY_SHARE)}
    dim = FAINT if not entry.is_flagged and (entry.in_memory or not entry.target) else ""
    styles = dict.fromkeys(values, dim) | {"FLAG": style or dim, _TREND: TIME}
    if repeated or entry.in_memory or entry.guest:
        values |= dict.fromkeys((*_IO_COLUMNS, "FREE", "ON DEVICE") if entry.guest else _IO_COLUMNS, "")
        styles["ON DEVICE"] = FAINT
    spans: list[StyledText] = []
    for column in columns:
        if column.title in bars:
            share, limit = bars[column.title]
            colour = WARNING if share is not None and share >= limit else AREA
            spans += [(" " * column.gap, ""), *meter(share, column.width, colour)]
        else:
            spans.append((cell(column, values[column.title]), styles[column.title]))
    return selectable_row(spans, selected=selected, glyph=(glyph, style))


def _contains(entry: StorageEntry, words: Sequence[str]) -> bool:
    """Return whether each word occurs in the row's texts, or in the source, models and images, which are not shown."""
    if not words:  # texts of thousands of rows are slow to compose
        return True
    hidden = [entry.target.source] if entry.target else []
    hidden += [name for node in entry.devices for name in (node.id, node.model or "")]
    hidden += [disk.image for disk in entry.guest.disks] if entry.guest else []
    shown = " ".join([*(text(entry) for text in _TEXTS.values()), *hidden]).lower()
    return all(word in shown for word in words)


def number(value: float | None) -> str:
    if value is None:
        return "–"
    if value >= 99_999.5:
        return f"{value / 1e3:.0f}k"
    return f"{value:.1f}" if 0 < value < 0.95 else count(value)


def _ms(value: float | None) -> str:
    return "–" if value is None else duration_ns(value * 1e6)
