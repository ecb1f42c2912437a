"""Where the syncs of a transaction go: what the server counts of its own files, and what the kernel counts below."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from fstui.measure.kinds.sysbench import FileWaits, SysbenchFigures
from fstui.model.quantities import duration_ns, ratio, short_size
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.report import figures, oltp
from fstui.report.oltp import NONE, Measured, Table

_HEADER = ("each transaction", "writes", "bytes", "syncs", "one takes")


def table(run: Run) -> Table | None:
    """A row for each kind of file of each step, and one for what reached the devices. None: no server told."""
    told = _told(run)
    if not told:
        return None
    counts = figures.Counts(run)
    rows = [row for number, each in enumerate(told, 1) for row in _rows(f"#{number}", each, counts)]
    legend = tuple(f"#{number} {each.step.name}" for number, each in enumerate(told, 1))
    return Table("Where the syncs of a transaction go", _HEADER, tuple(rows), legend)


def notes(run: Run) -> Iterator[str]:
    """What the table alone would not tell."""
    told = _told(run)
    if told:
        yield (
            "Syncs are the server's own count; the flushes beneath are what the kernel counted at the devices. A sync "
            "of a file that grows commits the filesystem's journal too, so that more flushes arrive than syncs were "
            "asked for."
        )
    if any(each.server.synced_by_writes for each in told):
        yield "A log that is opened with O_DSYNC is synced by each of its writes: the table counts these as syncs."
    if any(each.server.pages_twice_in_data for each in told):
        yield "MariaDB writes pages twice into ibdata1: with the doublewrite stand the other pages of that file."


def csv_cells(step: Step) -> Iterator[tuple[str, int | None]]:
    """The columns of a step in a spreadsheet; empty for what is no database."""
    told = _waits(step.figures) if isinstance(step.figures, SysbenchFigures) else ()
    found = {each.file: each for each in told}
    for file in ("redo log", "binary log", "doublewrite", "WAL", "data"):
        name = file.lower().replace(" ", "_")
        yield f"{name}_writes", found[file].writes if file in found else None
        yield f"{name}_syncs", found[file].syncs if file in found else None


def _told(run: Run) -> list[Measured]:
    """The steps that wrote: a step that only reads has nothing to sync."""
    return [each for each in oltp.measured(run) if each.step.ops and any(waits.writes for waits in each.told.waits)]


def _waits(figures: SysbenchFigures) -> tuple[FileWaits, ...]:
    """What the server counted, plus one sync for each write of a file that is opened with O_DSYNC."""
    opened = figures.server.synced_by_writes if figures.server else frozenset()
    return tuple(_with_writes_as_syncs(waits) if waits.file in opened else waits for waits in figures.waits)


def _with_writes_as_syncs(waits: FileWaits) -> FileWaits:
    """No server counts such a write as a sync."""
    if waits.writes is None:
        return waits
    took = None if waits.write_ns is None else waits.write_ns + (waits.sync_ns or 0)
    return replace(waits, syncs=waits.writes + (waits.syncs or 0), sync_ns=took)


def _rows(number: str, each: Measured, counts: figures.Counts) -> Iterator[tuple[str, ...]]:
    ops = each.step.ops
    counted = _waits(each.told)
    for waits in counted:
        if waits.writes or waits.syncs:
            took = duration_ns(waits.sync_ns / waits.syncs) if waits.sync_ns and waits.syncs else NONE
            yield f"{number} {waits.file}", *_each(waits, ops), took
    syncs = [waits.syncs for waits in counted if waits.syncs is not None]
    yield f"{number} all syncs", "", "", ratio(sum(syncs) / ops), ""
    arrived = counts.written_bytes(each.step) if each.server.on_target else None
    size = NONE if arrived is None else short_size(round(arrived / ops))
    yield f"{number} flushes below", "", size, oltp.flushes(counts, each), ""


def _each(waits: FileWaits, ops: int) -> tuple[str, str, str]:
    writes, bytes_, syncs = waits.writes, waits.bytes, waits.syncs
    return (
        NONE if writes is None else ratio(writes / ops),
        NONE if bytes_ is None else short_size(round(bytes_ / ops)),
        NONE if syncs is None else ratio(syncs / ops),
    )
