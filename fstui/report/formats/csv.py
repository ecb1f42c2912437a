"""One row per step, for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import msgspec

from fstui.model.run import Run
from fstui.model.settings import UnknownSettings
from fstui.model.steps import Latency, Step
from fstui.report import figures, oltp, replicas, waits
from fstui.report.characters import escape_controls
from fstui.report.sections import Report, value

ENDING = "csv"
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
_PARTS = (("latency", "latency_ns"), ("write", "write_ns"), ("sync", "sync_ns"))


def render(run: Run, saved_to: str | None = None) -> str:
    """A header and a row per step. Empty: it was not counted or cannot be told. Units stand in the names."""
    text = io.StringIO()
    counts = figures.Counts(run)
    rows = [dict(_row(run, counts, step)) for step in run.steps]
    nothing = Step(name="", settings=UnknownSettings())
    names = list(rows[0]) if rows else [name for name, _ in _row(run, counts, nothing)]
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: spreadsheet_safe(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def render_report(report: Report, width: int | None = None) -> str:
    """The table of the report, its values as programs read them, without columns that have no name."""
    table = report.table
    named = [at for at, name in enumerate(table.header) if name]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([spreadsheet_safe(table.header[at].lower()) for at in named])
    writer.writerows([spreadsheet_safe(value(row[at])) for at in named] for row in table.rows)
    return text.getvalue()


def _row(run: Run, counts: figures.Counts, step: Step) -> Iterator[tuple[str, object]]:
    yield "run", run.id
    yield "scenario", run.scenario.name if run.scenario else ""
    yield "target", run.target.path if run.target else ""
    yield "name", step.name
    yield "status", step.status
    for name in ("ops", "syncs", "bytes", "writers", "elapsed_s"):
        yield name, getattr(step, name)
    yield "rate_per_s", step.rate_per_s if step.settings.uniform else None
    for prefix, field in _PARTS:
        latency: Latency | None = getattr(step, field)
        for figure in msgspec.structs.fields(Latency):
            yield f"{prefix}_{figure.name}_ns", getattr(latency, figure.name) if latency else None
    yield "flushes", _whole(counts.flushes(step, step.settings))
    yield "flushes_per_sync", _rounded(counts.flushes_per_sync(step, step.settings))
    yield "device_bytes", _whole(counts.written_bytes(step))
    yield "bytes_ratio", _rounded(counts.bytes_ratio(step))
    yield "stalls", step.stalls.count
    yield "stalled_s", step.stalls.lost_s
    if oltp.measured(run):
        yield from oltp.csv_cells(step)
        yield from waits.csv_cells(step)
    if replicas.measured(run):
        yield from replicas.csv_cells(step)
    yield "error", figures.failure(step)
    yield "verdict", run.verdict
    yield "speed", run.speed.answer


def spreadsheet_safe(value: object) -> object:
    """A name that a spreadsheet would calculate is marked as text, with its apostrophe."""
    if not isinstance(value, str):
        return value
    text = escape_controls(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
