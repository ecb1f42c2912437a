"""The selected filesystem: its I/O path, the programs that use it, findings, the last minutes and saved runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from math import inf
from typing import TYPE_CHECKING

from msgspec.structs import replace
from rich.text import Text

from fstui.model.activity import HostActivity, RunningDatabase
from fstui.model.guests import Guest
from fstui.model.host import Inventory
from fstui.model.judgement import Finding
from fstui.model.quantities import count, duration_ns, percent, rate, size
from fstui.model.storage import Target
from fstui.report.text import moment
from fstui.tui.drawing import io_path
from fstui.tui.drawing.cells import StyledText, fit, fit_list, labelled_lines, line, paragraph, rule, side_by_side
from fstui.tui.drawing.storage import HIGH_BUSY_SHARE, StorageEntry, number
from fstui.tui.iostats import DeviceActivity, IoStats
from fstui.tui.styles import AREA, BAD, FAINT, GOOD, HEAD, WARNING, verdict_style

if TYPE_CHECKING:
    from fstui.report.sections import Report
    from fstui.runs.history import Summary
    from fstui.runs.simulation import SimulationParameters

_MAX_WRITERS = 4
_NAME_WIDTH, _VALUE_WIDTH, MIN_SIDE_BY_SIDE_WIDTH = 18, 20, 148
_PARAMETER_NAMES = {
    "fua": "FUA",
    "bytes": "size",
    "bytes_per_us": "link speed",
    "syscall_us": "system call",
    "ops_per_s": "operations/s",
}
_UNITS: Mapping[str, Callable[[float], str]] = {
    "bytes_per_us": lambda value: f"{size(value * 1e6)}/s",
    "bytes": size,
    "_ms": lambda value: duration_ns(value * 1e6),
    "_us": lambda value: duration_ns(value * 1e3),
    "": lambda value: count(value) if value >= 1 else f"{value:g}",
}
"""How to print a parameter of a simulated disk, by the end of its name."""
_MAX_SCENARIOS, _MAX_BARS, _MIN_CHARTS_HEIGHT, _SMALL_HEIGHT = 3, 12, 8, 20
_NO_DEFECT = "The storage settings show no defect. Run a scenario here to test it."
_READ_ONLY = "The storage settings show no defect. No scenario can run here: the filesystem is mounted read-only."


def detail(
    entry: StorageEntry | None,
    stats: Mapping[str, IoStats],
    activity: HostActivity,
    width: int,
    height: int,
    *,
    runs: Sequence[Summary] = (),
    inventory: Inventory,
) -> list[Text]:
    """Draw the conclusions, the I/O path, the saved runs and the evidence, but not the charts.

    ``height``: 0 for the clipboard. ``runs``: the saved runs of all.
    """
    if entry is None:
        return [rule(width), line("   No filesystem matches the filter. Press Esc to show all.")]
    title, lines = rule(width, entry.name, "fstui writes nothing"), []
    target, findings = entry.target, [_without_place(finding, entry.target) for finding in entry.findings]
    columns = 2 if findings and height and width >= MIN_SIDE_BY_SIDE_WIDTH else 1
    width //= columns
    conclusions = [text for finding in findings for text in _conclusion(finding, width)]
    evidence = [text for finding in findings for text in labelled_lines("because", finding.evidence, width)]
    activity_by_device = {
        node.id: _activity_text(stats[node.id], is_shared=_is_shared(node.id, inventory))
        for node in (target.stack if target else entry.devices)
        if node.id in stats
    }
    if target:
        path = io_path.tree(target, width, activity_by_device)
        if columns == 1 and 0 < height <= 1 + len(conclusions) + len(path):
            path = io_path.tree(target, width)  # the whole path is worth more than numbers
        lines += [*path, *_users(target, stats, activity, width)]
        if target.silent_s is not None:
            hangs = "its server or its disk hangs. A run there would hang too."
            silence = f"{target.source} has not answered for {target.silent_s:.0f} s: {hangs}"
            lines += [line(), *paragraph(silence, width, " ? ")]
    elif entry.guest:
        lines += _guest(entry.guest, inventory, width)
    elif device := entry.device:
        remark = "no filesystem mounted here uses it, but a container may use it"
        lines += [line(f"   {io_path.lowest_label((device,))}: {remark}")]
        if device.id in activity_by_device:
            activity_text, style = activity_by_device[device.id]
            lines += [line((fit_list(f"   {activity_text}", width), style))]
    if own_runs := _runs_on(target, runs, inventory) if target and runs else []:
        lines += _saved_runs(own_runs, width)
    if target and entry.judgement and not entry.findings and target.silent_s is None and not own_runs:
        if entry.trouble == "read-only":
            conclusions = paragraph(_READ_ONLY, width)
        else:
            conclusions = paragraph(_NO_DEFECT, width, " ✓ ")
            conclusions[0].stylize(GOOD, 0, 3)
    if columns > 1:
        return [title, *side_by_side([lines, [*conclusions, *evidence]], width)]
    conclusions += [line()] if conclusions and not 0 < height < _SMALL_HEIGHT else []
    return [title, *conclusions, *lines, *evidence]


def disk(simulated: SimulationParameters, width: int) -> list[Text]:
    """Draw a simulated disk with its parameters in as many columns as fit, and the list of all simulated disks."""
    from fstui.report import teaching  # noqa: PLC0415  only a simulated disk needs it
    from fstui.report.sections import cell_text  # noqa: PLC0415
    from fstui.tui.drawing.report import section_lines  # noqa: PLC0415

    parameters, hints = teaching.disk_report(simulated, truth=False).sections
    card_width = width // 2 if width >= MIN_SIDE_BY_SIDE_WIDTH else width
    parts: dict[str, list[Text]] = {}
    for row in parameters.rows:
        key, value = map(cell_text, row)
        name, value = _parameter(key, value)
        part = key.rpartition(".")[0].removeprefix("disk.").replace(".", " ")
        drawn = parts.setdefault(part, [line((f"   {part}", HEAD))])
        drawn += [line((fit(f"   {name}", _NAME_WIDTH), FAINT), value)] if value else []
    columns: list[list[Text]] = [[] for _ in range(max(card_width // (_NAME_WIDTH + _VALUE_WIDTH), 1))]
    for drawn in parts.values():
        column = min(columns, key=len)
        column += [line(), *drawn] if column else drawn
    parameter_help = f"fstui lessons --disks {simulated.name} lists the names of parameters. {hints.lines[-1]}"
    left = [rule(card_width, simulated.title, "simulated"), *side_by_side(columns, _NAME_WIDTH + _VALUE_WIDTH)]
    left += [line(), *paragraph(parameter_help, card_width, style=FAINT)]
    right = [rule(card_width, "simulated disks")]
    disks, starting = _all_disks().sections
    right += [*section_lines(disks, card_width), line(), *paragraph(starting.lines[0], card_width, style=FAINT)]
    for listed in right:
        listed.stylize(AREA if listed.plain.split()[:1] == [simulated.name] else "")
    return side_by_side([left, right], card_width) if card_width < width else [*left, *right]


def _parameter(key: str, value: str) -> tuple[str, str]:
    """Return a name and a value for people, such as ``seek`` and ``8.5 ms``. The value of 0 is empty."""
    name = key.rpartition(".")[2]
    unit = next((unit for unit in _UNITS if name.endswith(unit)), "")
    label = _PARAMETER_NAMES.get(name) or name.removesuffix(unit).replace("_", " ")
    if not value.replace(".", "", 1).isdecimal():
        return label, {"true": "yes", "false": "no"}.get(value, value)
    number = float(value)
    return label, _UNITS[unit](number) if number else ""


@cache
def _all_disks() -> Report:
    from fstui.report import teaching  # noqa: PLC0415
    from fstui.runs import simulation  # noqa: PLC0415

    return teaching.disks_report(list(map(simulation.load, simulation.names())))


def last_minutes(entry: StorageEntry, activity: DeviceActivity, width: int, height: int) -> Sequence[Text]:
    """Draw what the devices of the filesystem did, and the lowest ones if they are others and there is room."""
    from fstui.tui.drawing import charts  # noqa: PLC0415  it loads the judge, which the first frame does not need

    nodes = (entry.devices, entry.target.lowest if entry.target else ())
    groups = dict.fromkeys(tuple(sorted({node.id for node in part if node.id in activity.stats})) for part in nodes)
    drawn = [group for group in groups if group]
    lines: list[Text] = []
    for index, group in enumerate(drawn):  # an idle device leaves its lines to the next one
        height_left = height - len(lines)
        if height_left // (len(drawn) - index) >= _MIN_CHARTS_HEIGHT:
            height_left //= len(drawn) - index
        lines += charts.device_minutes(" + ".join(group), group, activity.recent, width, height_left)
    return lines


def _guest(guest: Guest, inventory: Inventory, width: int) -> Iterator[Text]:
    from fstui.report import guests  # noqa: PLC0415  the first frame knows no virtual machine
    from fstui.tui.drawing.report import section_lines  # noqa: PLC0415

    about = (f"{guests.TITLES[guest.hypervisor]}, process {guest.pid}", f"Read from {guest.read_from}.")
    for section in guests.sections((guest,), inventory):
        yield from section_lines(section._replace(title=section.title if section.style else ""), width)
        yield line()
    yield from (part for sentence in about for part in paragraph(sentence, width, style=FAINT))


def _is_shared(device: str, inventory: Inventory) -> bool:
    return sum(any(node.id == device for node in target.stack) for target in inventory.filesystems) > 1


def _activity_text(stats: IoStats, *, is_shared: bool) -> StyledText:
    share = "< 1\N{NO-BREAK SPACE}%" if 0 < (stats.busy or 0) < 0.005 else percent(stats.busy or 0)
    parts = [
        "" if stats.busy is None else f"{share} busy",
        "flushes not counted"
        if stats.flushes is None
        else f"{number(stats.per_s('flushes'))} flushes/s{_mean_time(stats.ms_per_flush)}",
        f"{number(stats.per_s('writes'))} writes/s{_mean_time(stats.ms_per_write)}",
        "" if (written := stats.per_s("written_bytes")) is None else f"{size(written)}/s",
        f"{number(stats.per_s('reads'))} reads/s" if stats.reads else "",
        f"{stats.in_flight} in flight" if stats.in_flight else "",
    ]
    users = "all filesystems: " if is_shared else ""
    return users + ", ".join(filter(None, parts)), WARNING if (stats.busy or 0) >= HIGH_BUSY_SHARE else AREA


def _mean_time(ms: float | None) -> str:
    return "" if ms is None else f" at {duration_ns(ms * 1e6)}"


def _users(target: Target, stats: Mapping[str, IoStats], activity: HostActivity, width: int) -> Iterator[Text]:
    users = [writer for writer in activity.writers if target.mount_point in writer.mounts]
    counted = [stats[node.id].per_s("written_bytes") for node in target.devices if node.id in stats]
    device_per_s = sum(filter(None, counted)) if counted and None not in counted else inf
    labels = []
    for writer in users[:_MAX_WRITERS]:
        # the kernel counts whole folios for a process, which may be 25 times what it writes
        is_known = writer.bytes_per_s <= device_per_s
        labels.append(f"{writer.name} ({writer.pid})" + f" {size(_rounded(writer.bytes_per_s))}/s" * is_known)
    if labels:
        yield line(("   who   ", FAINT), fit_list(", ".join(labels), width - 10))
    if labels and activity.hidden:
        yield line(("         run fstui as root to see other users' processes", FAINT))
    for database in activity.databases:
        if target.mount_point in database.mounts:
            yield from _database(database, width)


def _rounded(bytes_per_s: float) -> int:
    """Round to two significant digits, because every change is sent to the terminal."""
    return round(float(f"{bytes_per_s:.1e}"))


def _database(database: RunningDatabase, width: int) -> Iterator[Text]:
    settings = ", ".join(f"{name} = {value}" for name, value in sorted(database.variables.items()))
    sentence = f"{database.name} ({database.pid}) keeps its data in {database.data_directory}: "
    sentence += settings or "no durability setting on its command line. fstui does not read its option files"
    yield from paragraph(sentence, width, "   data  ")
    for reason in database.unsafe_settings:
        yield from paragraph(f"a commit may be lost: {reason}", width, "         ✗ ", BAD)


def _without_place(finding: Finding, target: Target | None) -> Finding:
    """Remove the mount point that the title names: ``ext4 /srv sends`` becomes ``ext4 sends``."""
    place, fstype = (f"{target.fstype} {target.mount_point} ", f"{target.fstype} ") if target else ("", "")
    sentence, *evidence = (text.replace(place, fstype) for text in (finding.sentence, *finding.evidence))
    return replace(finding, sentence=sentence, evidence=tuple(evidence))


def _conclusion(finding: Finding, width: int) -> list[Text]:
    glyph, style = verdict_style(finding.verdict)
    verdict = f"{finding.verdict}, {finding.confidence} confidence" if finding.verdict else "note"
    sentence = paragraph(f"{verdict}   {finding.sentence or finding.title}", width, f" {glyph} ")
    sentence[0].stylize(style or HEAD, 1, 3 + len(verdict))
    return [*sentence, *labelled_lines("next", finding.next, width)]


def _runs_on(target: Target, runs: Sequence[Summary], inventory: Inventory) -> list[Summary]:
    from fstui.report.history import is_run_on  # noqa: PLC0415  the first frame draws no runs

    return [run for run in runs if is_run_on(run, target, inventory.host.hostname)]


def _saved_runs(summaries: Sequence[Summary], width: int) -> list[Text]:
    from fstui.report import history  # noqa: PLC0415  the first frame draws no runs

    drawn: list[Text] = []
    for runs in history.series(summaries)[:_MAX_SCENARIOS]:
        newest = runs[-1]
        glyph, style = verdict_style(newest.verdict)
        speed = f"{newest.rate_of} {rate(newest.rate_per_s)}/s"
        summary = f" {newest.verdict}   {newest.scenario}: {speed}"
        if len(runs) > 1:
            change = newest.rate_per_s / runs[0].rate_per_s
            summary += f"   {history.bars(runs[-_MAX_BARS:])}   {change:.2f} × the first of {len(runs)}"
        summary += f"   {moment(newest.started_at, '%d %b %Y')}"
        drawn.append(
            line((f"   {'' if drawn else 'runs':<6}", FAINT), (glyph, style), fit_list(summary, width - 11, "   "))
        )
    return drawn
