"""The report of ``fstui watch``: which programs wait, what the devices did, and the conclusion."""

import errno
import os
from collections.abc import Iterator

from fstui.model.at_risk import AtRiskReport
from fstui.model.judgement import TOO_SLOW, Answer
from fstui.model.quantities import count, counted, duration_ns, percent, rate, seconds, size
from fstui.model.watch import FileWaits, JournalCommits, LostWrite, WatchCounts, WatchedDevice, WatchReport
from fstui.report.figures import percentile
from fstui.report.sections import Report, Row, Section, Value, right_cell
from fstui.report.text import NONE, speed_line

MAX_ROWS = 20
_ANSWERS: dict[Answer, str] = {"stalls": "Yes, it stalls", "slow": "Yes", "unknown": "Not known", "normal": "No"}
WAIT_HEADER = ("PROGRAM", "SYNCS/S", "P50", "P99", "MAX", "DEVICE MEAN", "CPU WAIT ≤", "WAITING", "FILE")
_RECORDS = ("program", "pid", "syncs", "waited_ns", "p50_ns", "p99_ns", "device_ns", "cpu_ns", "file")
DEVICE_HEADER = ("DEVICE", "WRITES/S", "BYTES/S", "WRITE P50", "FLUSHES/S", "FLUSH P50", "FLUSH P99", "FUA")


def watch_report(report: WatchReport) -> Report:
    """Return the tables, and the conclusion last, where a terminal shows it."""
    total = report.total
    shown = total.waits[:MAX_ROWS]
    waits = tuple(aligned_cells(waiting_cells(row, total.elapsed_s), last_is_text=True) for row in shown)
    writers = tuple(
        (f"{w.name} ({w.pid})", right_cell(f"{size(w.written_bytes / total.elapsed_s)}")) for w in total.writers
    )
    devices = tuple(aligned_cells(device_cells(device, total.elapsed_s)) for device in total.devices)
    journals = (journal(commits, total.elapsed_s) for commits in total.commits)
    notes = (*journals, *_notes(total), *map(_lost_write, report.errors))
    sections = (
        Section("", WAIT_HEADER, waits, more_rows(len(total.waits))),
        Section("", ("PROGRAM", "WRITTEN/S"), writers),
        Section("", DEVICE_HEADER, devices, notes),
        Section(lines=(report.sentence, *two_answers(report))),
    )
    return Report(_head(report), sections, report, tuple(_records(total)))


def _records(total: WatchCounts) -> Iterator[tuple[Value, ...]]:
    yield _RECORDS
    for row in total.waits:
        times = (row.latency_ns.p50, row.latency_ns.p99) if row.latency_ns else (None, None)
        yield row.program_label, row.pid, row.syncs, row.waited_ns, *times, row.device_ns, row.cpu_ns, row.file_label


def more_rows(rows: int) -> tuple[str, ...]:
    hidden = rows - MAX_ROWS
    return (f"… and {counted(hidden, 'row')} more: --format json lists all",) if hidden > 0 else ()


def aligned_cells(texts: tuple[str, ...], *, last_is_text: bool = False) -> Row:
    """Align all cells except the first to the right, and except the last if it is text."""
    first, *cells = texts
    return (first, *map(right_cell, cells[:-1]), cells[-1]) if last_is_text else (first, *map(right_cell, cells))


def two_answers(report: WatchReport) -> Iterator[str]:
    """Yield whether the storage is durable and whether it is slow. Documents of older versions contain neither."""
    if report.durability:
        yield report.durability
        yield f"Is it slow? {_ANSWERS[report.speed.answer]}: {report.speed.title}. {report.speed.sentence}".rstrip()


def conclusion(report: WatchReport) -> str:
    return f"{report.sentence} {speed_line(report.speed) if report.speed.answer in TOO_SLOW else ''}".rstrip()


def line(second: WatchCounts) -> str:
    row = next((row for row in second.waits if not row.kernel), None)
    flushes = sum(device.flushes or 0 for device in second.devices)
    devices = f"{rate(flushes / second.elapsed_s)} flushes/s" if second.devices else "devices idle"
    if row is None:
        return f"no program waits · {devices}"
    p50 = percentile(row.latency_ns, "p50")
    syncs = f"{rate(row.syncs / second.elapsed_s)} syncs/s of {row.file_label}, p50 {p50}"
    return f"{row.program_label} {syncs} · {devices}"


def _head(report: WatchReport) -> str:
    simulated = f"SIMULATED {report.simulated}: " if report.simulated else ""
    untraced = f"; not traced by the kernel: {report.untraced}" if report.untraced else ""
    return f"{simulated}watched {watched_programs(report)} for {seconds(report.total.elapsed_s)}{untraced}"


def watched_programs(report: WatchReport | AtRiskReport) -> str:
    return f"process {report.pid}" if report.pid is not None else report.mount_point or "all programs"


def waiting_cells(row: FileWaits, elapsed_s: float) -> tuple[str, ...]:
    times, share = row.latency_ns, row.waited_ns / 1e9 / elapsed_s
    return (
        row.program_label,
        rate(row.syncs / elapsed_s) if row.syncs else "0",
        percentile(times, "p50"),
        percentile(times, "p99"),
        percentile(times, "max"),
        duration_ns(row.device_ns) if row.device_ns else NONE,
        percent(row.cpu_ns / row.waited_ns) if row.waited_ns else NONE,
        percent(share, 1 if share < 10 else 0),  # many threads together; the column has 7 characters
        row.file_label,
    )


def device_cells(device: WatchedDevice, elapsed_s: float) -> tuple[str, ...]:
    def per_s(number: int | None) -> str:
        return rate(number / elapsed_s) if number is not None else NONE

    written_per_s = size(device.written_bytes / elapsed_s) if device.written_bytes is not None else NONE
    return (
        device.device,
        per_s(device.writes),
        written_per_s,
        percentile(device.write_ns, "p50"),
        per_s(device.flushes),
        percentile(device.flush_ns, "p50"),
        percentile(device.flush_ns, "p99"),
        count(device.fua) if device.fua is not None else NONE,
    )


def journal(commits: JournalCommits, elapsed_s: float) -> str:
    longest = f", {duration_ns(commits.latency_ns.max)} at most" if commits.latency_ns else ""
    rates = f"{rate(commits.count / elapsed_s)} commits/s, p50 {percentile(commits.latency_ns, 'p50')}"
    return f"journal of {commits.device}: {rates}{longest}"


def _notes(total: WatchCounts) -> Iterator[str]:
    if total.lost:
        yield f"the kernel's buffers were full and lost {counted(total.lost, 'event')}: the rates are lower bounds"
    if total.traced_s < 0.95 * total.elapsed_s and total.waits:
        share = total.traced_s / total.elapsed_s
        yield f"device times and FUA cover {percent(share)} of the time, because there were too many events"
    for row in total.waits:
        for number, times in row.failed.items():
            yield f"{row.program_label}: {counted(times, 'sync')} of {row.file_label} failed: {os.strerror(number)}"


def _lost_write(error: LostWrite) -> str:
    reported = f"reported {counted(error.returned, 'time')}" if error.returned else "not reported to any program"
    name = errno.errorcode.get(error.errno, str(error.errno))
    return f"a write of inode {error.inode} on {error.device or '?'} failed with {name}: {reported}"
