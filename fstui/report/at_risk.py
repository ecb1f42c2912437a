"""The report of ``fstui watch --at-risk``: files, new directory entries, disks, and a sentence for each program."""

from collections.abc import Sequence

from fstui.model.at_risk import AtRisk, AtRiskReport, FileAtRisk, NamesAtRisk, ProgramAtRisk, UnsafeMount
from fstui.model.quantities import count, counted, seconds, size
from fstui.report.sections import Report, Row, Section, number_cell, right_cell
from fstui.report.text import GLYPHS, NONE, verdict_label
from fstui.report.watch import MAX_ROWS, aligned_cells, more_rows, watched_programs
from fstui.trace.at_risk import bytes_in_log, direct_writes

FILE_HEADER = ("PROGRAM", "≤ UNWRITTEN", "≤ IN CACHE", "OLDEST", "PEAK", "MAX AGE", "SYNCS", "FILE")
NAME_HEADER = ("PROGRAM", "NEW NAMES", "OLDEST", "DIRECTORY")
_RECORDS = (
    "programs", "path", "device", "dirty_bytes", "cached_bytes", "oldest_s", "at_least", "most_bytes", "longest_s",
    "syncs", "sync_every_s",
)  # fmt: skip


def at_risk_report(report: AtRiskReport) -> Report:
    """Return the tables and then the sentences, because a terminal shows the end of a long output."""
    at_risk = report.last
    files = tuple(aligned_cells(file_cells(row), last_is_text=True) for row in at_risk.files[:MAX_ROWS])
    unsafe = tuple(Section(warning(each), lines=(each.sentence,), style=each.verdict) for each in report.unsafe)
    no_program = () if unsafe else ("No program was seen with bytes at risk.",)
    sections = (
        *unsafe,
        Section("", FILE_HEADER, files, more_rows(len(at_risk.files))),
        Section("", NAME_HEADER, tuple(map(_name_cells, at_risk.names[:MAX_ROWS])), more_rows(len(at_risk.names))),
        Section(lines=caches(at_risk)),
        Section(lines=report.limits),
        Section(lines=report.sentences[:MAX_ROWS] or no_program),
    )
    rows = (
        (", ".join(row.programs), row.file_label, row.device, row.dirty_bytes, row.cached_bytes, row.oldest_s,
         row.may_be_older, row.most_bytes, row.longest_s, row.syncs, row.sync_every_s)
        for row in at_risk.files
    )  # fmt: skip
    head = f"data at risk in a power cut: {watched_programs(report)}, watched for {seconds(at_risk.elapsed_s)}"
    return Report(head, sections, report, (_RECORDS, *rows))


def file_cells(row: FileAtRisk) -> tuple[str, ...]:
    return (
        program_names(row),
        size(row.dirty_bytes),
        size(row.cached_bytes),
        row.age_text or NONE,
        size(row.most_bytes),
        row.age_text if row.longest_s == row.oldest_s else seconds(row.longest_s),
        NONE if row.syncs is None else count(row.syncs),
        row.file_label,
    )


def program_names(row: FileAtRisk) -> str:
    """Return the first program that has the file open for writing, and the others."""
    first, *others = row.programs or ("a program that has ended",)
    return f"{first} shared with {', '.join(others)}" if others else first


def note(program: ProgramAtRisk) -> str:
    """Return how much of the data at risk is in the file that the program syncs most, and in its O_DIRECT writes."""
    return "; ".join(filter(None, (bytes_in_log(program), direct_writes(program))))


def _name_cells(row: NamesAtRisk) -> Row:
    return row.program, number_cell(row.count, count), right_cell(seconds(row.oldest_s)), row.directory_label


def caches(at_risk: AtRisk) -> tuple[str, ...]:
    return tuple(
        f"{disk.device}: at most {size(disk.not_flushed_bytes)} written since its last flush"
        if disk.volatile
        else f"{disk.device}: no volatile write cache, according to the kernel"
        for disk in at_risk.devices
    )


def warning(mount: UnsafeMount) -> str:
    is_at_risk = "may be at risk" if mount.verdict == "suspicious" else "is at risk"
    label = f"{GLYPHS[mount.verdict]} {verdict_label(mount.verdict)}"
    return f"{label}: even synced data on {mount.mount_point} {is_at_risk}."


def total(at_risk: AtRisk, *, counts_all: bool = True) -> str:
    """Return the totals of the listed files and names. There may be others that the trace did not record.

    ``counts_all``: False if the filesystem can lose synced data, which is not counted.
    """
    exposed = [file for file in at_risk.files if file.bytes]
    parts = []
    if exposed:
        oldest = max(exposed, key=lambda file: file.oldest_s or 0.0)
        amount = size(sum(file.bytes for file in exposed))
        parts.append(f"up to {amount} in {counted(len(exposed), 'listed file')}, oldest {oldest.age_text}")
    if at_risk.names:
        parts.append(counted(sum(row.count for row in at_risk.names), "new name"))
    if at_risk.unsupported:
        return f"At risk: {parts[-1]}." if at_risk.names else ""
    if not counts_all:
        return f"Not synced: {'; '.join(parts)}." if parts else ""
    return f"At risk: {'; '.join(parts)}." if parts else "No counted file or directory entry is at risk."


def summary_line(at_risk: AtRisk, unsafe: Sequence[UnsafeMount] = ()) -> str:
    warnings = "".join(f" · {warning(mount)}" for mount in unsafe)
    exposed = [program for program in at_risk.programs if program.bytes]
    if not exposed:
        return f"nothing {'unsynced' if unsafe else 'at risk'}{warnings}"
    first = exposed[0]
    others = f" · {counted(len(exposed) - 1, 'other program')}" if len(exposed) > 1 else ""
    amount = f"{size(first.bytes)} in {counted(first.files, 'file')}"
    return f"{first.program_label} {amount}, oldest {first.age_text}{others}{warnings}"
