"""One row per step, for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import msgspec

from fstui.model import Latency, Run, Step
from fstui.quantities import plain
from fstui.report import figures, oltp

_PARTS = (("latency", "latency_ns"), ("write", "write_ns"), ("sync", "sync_ns"))


def render(run: Run) -> str:
    """A header and a row per step. Empty: it was not counted or cannot be told. Units stand in the names."""
    text = io.StringIO()
    rows = [dict(_row(run, step)) for step in run.steps]
    names = list(rows[0]) if rows else [name for name, _ in _row(run, Step(name="", probe=""))]
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _row(run: Run, step: Step) -> Iterator[tuple[str, object]]:
    yield "run", plain(run.id)
    yield "scenario", plain(run.scenario.name) if run.scenario else ""
    yield "target", plain(run.target.path) if run.target else ""
    yield "name", plain(step.name)
    yield "status", step.status
    for name in ("ops", "syncs", "bytes", "writers", "elapsed_s"):
        yield name, getattr(step, name)
    yield "rate_per_s", step.rate_per_s if figures.rated(step.probe) else None
    for prefix, field in _PARTS:
        latency: Latency | None = getattr(step, field)
        for figure in msgspec.structs.fields(Latency):
            yield f"{prefix}_{figure.name}_ns", getattr(latency, figure.name) if latency else None
    yield "flushes", figures.flushes(step, run.target)
    yield "flushes_per_sync", _rounded(figures.flushes_per_sync(step, run.target))
    yield "device_bytes", figures.written_bytes(step, run.target)
    yield "bytes_ratio", _rounded(figures.bytes_ratio(step, run.target))
    yield "stalls", step.stalls.count
    yield "stalled_s", step.stalls.lost_s
    if oltp.measured(run):
        yield from oltp.csv_cells(step)
    yield "error", figures.failure(step)
    yield "verdict", run.verdict


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
