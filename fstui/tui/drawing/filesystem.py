"""The selected filesystem: its I/O path, who uses it, its findings, its last minutes and the runs saved for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from fstui.model.activity import HostActivity, RunningDatabase
from fstui.model.guests import Guest
from fstui.model.host import Inventory
from fstui.model.judgement import Finding
from fstui.model.quantities import duration_ns, percent, rate, size
from fstui.model.storage import Target
from fstui.report.text import moment
from fstui.tui.drawing import io_path
from fstui.tui.drawing.cells import Run, fit, labelled, line, rule, wrapped
from fstui.tui.drawing.storage import BUSY_MUCH, StorageEntry, number
from fstui.tui.iostats import IoStats, Recent, joined, together
from fstui.tui.styles import AREA, BAD, DOUBT, FAINT, HEAD, verdict_style

if TYPE_CHECKING:
    from fstui.runs.history import Summary

_MAX_WRITERS = 4
_MAX_SCENARIOS, _MAX_BARS = 3, 12
_INDENT = " " * 8
_NO_DEFECT = "The configuration shows no defect. Run a scenario here to test the storage."


def detail(
    entry: StorageEntry | None,
    stats: Mapping[str, IoStats],
    activity: HostActivity,
    width: int,
    *,
    runs: Sequence[Summary] = (),
    inventory: Inventory | None = None,
) -> list[Text]:
    if entry is None:
        return [rule(width), line("  No filesystem matches the filter. Press Esc to show all.")]
    lines = [rule(width, entry.name, "nothing written")]
    edges = {device: _edge(now) for device, now in stats.items()}
    target = entry.target
    if target:
        lines += [*io_path.tree(target, width, edges), *_users(target, activity, width)]
        if target.silent_s is not None:
            lines += [line(), *_silence(target, target.silent_s, width)]
    elif entry.guest and inventory:
        lines += _guest(entry.guest, inventory, width)
    elif device := entry.device:
        lines += [line(f"  {device.id}  {io_path.lowest((device,))}: no mounted filesystem uses it")]
        if device.id in edges:
            words, style = edges[device.id]
            lines += [line((fit(f"  {words}", width), style))]
    lines += _saved_runs(runs, width) if runs else []
    if target and entry.judgement and not entry.findings and target.silent_s is None:
        lines += [line(), *(line((part, FAINT)) for part in wrapped(_NO_DEFECT, width - 1, indent="  "))]
    for finding in entry.findings:
        lines += [line(), *_finding(finding, width)]
    return lines


def last_minutes(
    entry: StorageEntry, stats: Mapping[str, IoStats], recent: Recent[Mapping[str, IoStats]], width: int, height: int
) -> Sequence[Text]:
    from fstui.tui.drawing import charts  # noqa: PLC0415  it loads the judge, which the first frame does not need

    if height < charts.MIN_AREA_LINES:
        return ()
    devices = sorted({node.id for node in entry.devices if node.id in stats})
    room = charts.layout(width)
    series = tuple(
        joined(together(sample[device] for device in devices if device in sample) for sample in samples)
        if samples
        else None
        for samples in recent.series(room.cell_s, 2 * room.cells)
    )
    return charts.areas(" + ".join(devices), charts.OF_DEVICES, series, width, height)


def of_target(summaries: Sequence[Summary], target: Target, hostname: str) -> list[Summary]:
    """Return the saved runs on this filesystem of this host."""
    return [one for one in summaries if one.identity and (one.identity, one.hostname) == (target.identity, hostname)]


def _guest(guest: Guest, inventory: Inventory, width: int) -> Iterator[Text]:
    from fstui.report import guests  # noqa: PLC0415  the first frame knows no virtual machine
    from fstui.tui.drawing.report import section_lines  # noqa: PLC0415

    about = (f"{guests.TITLES[guest.hypervisor]}, process {guest.pid}", f"Read from {guest.read_from}.")
    for section in guests.sections((guest,), inventory):
        yield from section_lines(section._replace(title=section.title if section.style else ""), width)
        yield line()
    yield from (line((part, FAINT)) for words in about for part in wrapped(words, width - 1, indent="  "))


def _edge(now: IoStats) -> Run:
    parts = [
        "" if now.busy is None else f"{percent(now.busy)} busy",
        "flushes not counted"
        if now.flushes is None
        else f"{number(now.flushes_per_s)} flushes/s{_at(now.ms_per_flush)}",
        f"{number(now.writes_per_s)} writes/s{_at(now.ms_per_write)}",
        "" if now.bytes_per_s is None else f"{size(now.bytes_per_s)}/s",
        f"{number(now.reads_per_s)} reads/s",
        "" if now.in_flight is None else f"{now.in_flight} in flight",
    ]
    return ", ".join(filter(None, parts)), DOUBT if (now.busy or 0) >= BUSY_MUCH else AREA


def _at(ms: float | None) -> str:
    return "" if ms is None else f" at {duration_ns(ms * 1e6)}"


def _users(target: Target, activity: HostActivity, width: int) -> Iterator[Text]:
    here = [each for each in activity.writers if target.mount_point in each.mounts]
    named = [f"{each.name} ({each.pid}) {size(_rounded(each.bytes_per_s))}/s" for each in here[:_MAX_WRITERS]]
    if named:
        words = ", ".join(named) + ("; run fstui as root to see other users' processes" if activity.hidden else "")
        for part in wrapped(words, width - 1, indent=_INDENT, first="  who   "):
            yield line((part, FAINT))
    for database in activity.databases:
        if target.mount_point in database.mounts:
            yield from _database(database, width)


def _rounded(bytes_per_s: float) -> int:
    """Round to two digits, because every change is sent to the terminal."""
    return round(float(f"{bytes_per_s:.1e}"))


def _database(database: RunningDatabase, width: int) -> Iterator[Text]:
    settings = ", ".join(f"{name} = {value}" for name, value in sorted(database.variables.items()))
    words = f"{database.name} ({database.pid}) keeps its data in {database.data_directory}: "
    words += settings or "no durability setting was changed at its start"
    for part in wrapped(words, width - 1, indent=_INDENT, first="  data  "):
        yield line(part)
    for reason in database.unsafe_settings:
        for part in wrapped(f"✗ a commit may be lost: {reason}", width - 1, indent=_INDENT + "  ", first=_INDENT):
            yield line((part, BAD))


def _silence(target: Target, silent_s: float, width: int) -> list[Text]:
    words = (
        f"{target.source} has not answered for {silent_s:.0f} s: its server or its disk hangs. A run there would hang "
        "too."
    )
    return [line(part) for part in wrapped(words, width - 1, indent="    ", first="  ? ")]


def _finding(finding: Finding, width: int) -> list[Text]:
    glyph, style = verdict_style(finding.verdict)
    word = f"{finding.verdict}, {finding.confidence}" if finding.verdict else "note"
    first, *more = wrapped(f"{word}   {finding.sentence or finding.title}", width - 1, indent="    ")
    end = 4 + len(word)
    return [
        line("  ", (f"{glyph} ", style), (first[4:end], style or HEAD), first[end:]),
        *map(line, more),
        *labelled([part.partition(": ")[::2] for part in finding.because], "because", width, indent=4),
        *labelled([(step, "") for step in finding.next], "next", width, indent=4),
    ]


def _saved_runs(summaries: Sequence[Summary], width: int) -> list[Text]:
    """Draw the newest run of each scenario, newest first."""
    from fstui.report import history  # noqa: PLC0415  the first frame draws no runs

    drawn: list[Text] = []
    for runs in history.series(summaries)[:_MAX_SCENARIOS]:
        last = runs[-1]
        glyph, style = verdict_style(last.verdict)
        speed = f"{last.rate_of} {rate(last.rate_per_s)}/s"
        words = f" {last.verdict}   {last.scenario}: {speed}   {moment(last.started_at)}"
        if len(runs) > 1:
            change = last.rate_per_s / runs[0].rate_per_s
            words += f"   {history.bars(runs[-_MAX_BARS:])} {change:.2f} × the first of {len(runs)}"
        drawn.append(line((f"  {'' if drawn else 'runs':<6}", FAINT), (glyph, style), fit(words, width - 9).rstrip()))
    return drawn
