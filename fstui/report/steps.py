"""The measured steps as plain text: a table of them, and one in a line."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len

from fstui.model.quantities import duration_ns, rate, ratio
from fstui.model.steps import Step
from fstui.report import figures
from fstui.report.figures import Counts
from fstui.report.text import NONE, WIDTH, columns, wrap

HEADER = ("STEP", "RATE/S", "P50", "P99", "MAX", "FLUSH/SYNC", "BYTES")


def table(measured: Iterable[Step], counts: Counts) -> list[str]:
    """The table of steps; beneath it, what has no rate, and why some of them did not finish."""
    rows = list(measured)
    known = [HEADER, *(cells(step, counts) for step in rows)]
    taken = sum(2 + max(cell_len(row[at]) for row in known) for at in range(1, len(HEADER)))
    table = columns([part for row in known for part in _folded(row, WIDTH - taken)], "<>>>>>>")
    notes = [f"{step.name}: {words}" for step in rows if (words := figures.words(step))]
    notes += [f"{step.name} {step.status}: {figures.failure(step)}" for step in rows if figures.failure(step)]
    return table + [part for note in notes for part in ["", *wrap(note, WIDTH)]]


def _folded(row: tuple[str, ...], width: int) -> list[tuple[str, ...]]:
    """A row whose name is longer than that, on several lines."""
    name, *numbers = row
    first, *more = wrap(name, width) or [""]
    return [(first, *numbers), *((f"  {line}", *[""] * len(numbers)) for line in more)]


def line(step: Step, counts: Counts) -> str:
    """One step in one line: ``fdatasync 840/s · p50 1.2 ms  p99 5.9 ms  max 28 ms · 1.00 flushes per sync``."""
    if not step.ops:
        return f"{step.name}: {step.status}" + (f", {figures.failure(step)}" if figures.failure(step) else "")
    status = "" if step.status == "finished" else f" · {step.status} {figures.failure(step)}".rstrip()
    if not step.settings.uniform:
        return f"{step.name}: {figures.words(step) or 'too short to tell'}{status}"
    _, per_s, p50, p99, longest, per_sync, _ = cells(step, counts)
    flushed = "" if per_sync == NONE else f" · {per_sync} flushes per sync"
    return f"{step.name} {per_s}/s · p50 {p50}  p99 {p99}  max {longest}{flushed}{status}"


def cells(step: Step, counts: Counts) -> tuple[str, ...]:
    """Name, rate, p50, p99, max, flushes per sync, bytes that arrived for each byte written."""
    rated = step.settings.uniform
    latency = step.latency_ns if rated else None
    per_sync = counts.flushes_per_sync(step, step.settings)
    arrived = counts.bytes_ratio(step)
    return (
        step.name,
        rate(step.rate_per_s) if step.ops and rated else NONE,
        duration_ns(latency.p50) if latency else NONE,
        duration_ns(latency.p99) if latency and latency.p99 is not None else NONE,
        duration_ns(latency.max) if latency else NONE,
        NONE if per_sync is None else ratio(per_sync),
        NONE if arrived is None else ratio(arrived),
    )
