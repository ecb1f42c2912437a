"""Where the syncs of a transaction go: what a server counts of its own files, and what the kernel counts below."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from fstui.measure.kinds.sysbench import FileWaits, SysbenchFigures
from fstui.model.quantities import duration_ns, ratio, short_size
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.report import figures
from fstui.report.databases import DatabaseStep, flushes, measured
from fstui.report.sections import Section
from fstui.report.text import NONE

_HEADER = ("each transaction", "writes", "bytes", "syncs", "mean time")


def table(run: Run) -> Section:
    steps = _that_wrote(run)
    counts = figures.Counts(run)
    rows = tuple(row for number, each in enumerate(steps, 1) for row in _rows(f"#{number}", each, counts))
    legend = tuple(f"#{number} {each.step.name}" for number, each in enumerate(steps, 1))
    return Section("Where the syncs of a transaction go", _HEADER, rows, legend, labelled=True)


def notes(run: Run) -> Iterator[str]:
    steps = _that_wrote(run)
    if steps:
        yield (
            "The server counted the syncs, the kernel counted the flushes at the devices. The sync of a file that "
            "grows also commits the filesystem's journal. More flushes than syncs are therefore normal."
        )
    if any(each.server.synced_by_writes for each in steps):
        yield "Each write to a log that is opened with O_DSYNC is a sync. The table counts it as one."
    if any(each.server.pages_twice_in_data for each in steps):
        yield "MariaDB writes pages twice into ibdata1: the row doublewrite contains the other pages of that file."


def csv_cells(step: Step) -> Iterator[tuple[str, int | None]]:
    waits = _waits(step.figures) if isinstance(step.figures, SysbenchFigures) else ()
    found = {each.file: each for each in waits}
    for file in ("redo log", "binary log", "doublewrite", "WAL", "data"):
        name = file.lower().replace(" ", "_")
        yield f"{name}_writes", found[file].writes if file in found else None
        yield f"{name}_syncs", found[file].syncs if file in found else None


def _that_wrote(run: Run) -> list[DatabaseStep]:
    return [each for each in measured(run) if each.step.ops and any(waits.writes for waits in each.figures.waits)]


def _waits(figures: SysbenchFigures) -> tuple[FileWaits, ...]:
    """Return what the server counted, plus one sync for each write to a file that is opened with O_DSYNC."""
    opened = figures.server.synced_by_writes if figures.server else frozenset()
    return tuple(_with_writes_as_syncs(waits) if waits.file in opened else waits for waits in figures.waits)


def _with_writes_as_syncs(waits: FileWaits) -> FileWaits:
    if waits.writes is None:
        return waits
    sync_ns = None if waits.write_ns is None else waits.write_ns + (waits.sync_ns or 0)
    return replace(waits, syncs=waits.writes + (waits.syncs or 0), sync_ns=sync_ns)


def _rows(number: str, each: DatabaseStep, counts: figures.Counts) -> Iterator[tuple[str, ...]]:
    ops = each.step.ops
    counted = _waits(each.figures)
    for waits in counted:
        if waits.writes or waits.syncs:
            took = duration_ns(waits.sync_ns / waits.syncs) if waits.sync_ns and waits.syncs else NONE
            size = NONE if waits.bytes is None else short_size(round(waits.bytes / ops))
            yield f"{number} {waits.file}", _each(waits.writes, ops), size, _each(waits.syncs, ops), took
    syncs = [waits.syncs for waits in counted if waits.syncs is not None]
    yield f"{number} all syncs", "", "", ratio(sum(syncs) / ops), ""
    arrived = counts.written_bytes(each.step) if each.server.on_target else None
    size = NONE if arrived is None else short_size(round(arrived / ops))
    yield f"{number} flushes below", "", size, flushes(counts, each), ""


def _each(number: int | None, ops: int) -> str:
    return NONE if number is None else ratio(number / ops)
