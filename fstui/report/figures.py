"""Figures and words that all formats and screens share."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fstui.judge import Case
from fstui.judge import words as judges_words
from fstui.judge.facts.step_counts import StepCounts
from fstui.model.counters import DeviceCounters, DeviceTimes
from fstui.model.host import OtherWriter
from fstui.model.plan import Plan
from fstui.model.quantities import count, counted, duration_ns, rate, ratio, short_size, size
from fstui.model.run import Evidence
from fstui.model.settings import Settings
from fstui.model.steps import Latency, Snapshot, Step
from fstui.model.storage import Target
from fstui.powercut import plan as power_cut
from fstui.report.text import NONE

BY_HAND = "by hand"
"""The duration of a power cut, which a person makes."""
PER_TRANSACTION = "/tx"
"""This stands after the flushes per transaction, in a column of flushes per sync."""

HIGH_AND_LOW = "high: each commit is durable; low: a power cut loses the last commits"
"""What the names of database steps mean."""


def figures_text(step: Step | Snapshot) -> str:
    """Return the figures that this kind of step reports instead of a rate, or an empty string."""
    return step.figures.text if step.figures else ""


def lowest_counters(counters: Iterable[DeviceCounters], target: Target | None) -> tuple[DeviceCounters, ...]:
    names = {node.id for node in target.lowest} if target else set()
    return tuple(device for device in counters if device.device in names)


class Counts(StepCounts):
    """The judge's counts of flushes and bytes for each step of a run."""

    def __init__(self, evidence: Evidence) -> None:
        super().__init__(Case(evidence))


def step_notes(steps: Sequence[Step], counts: Counts, header: Sequence[str]) -> list[str]:
    """Return notes below the table of steps: why counts are missing, and what the names of database steps mean."""
    notes = []
    unknown_flushes = any(step.syncs and counts.flushes_per_sync(step, step.settings) is None for step in steps)
    unknown_bytes = "W-AMP" in header and any(counts.bytes_ratio(step) is None for step in steps)
    columns = ["FLUSH/SYNC"] * unknown_flushes + ["W-AMP"] * unknown_bytes
    if columns and (shared := judges_words.join_words(counts.shared_devices(steps))):
        without_syncs = unknown_flushes and any(step.ops and not step.syncs for step in steps)
        no_syncs = "no syncs, or " if without_syncs else ""
        reason = f"fstui's share is unknown, because other processes or layers also wrote to {shared}"
        notes.append(f"{NONE} in {', '.join(columns)}: {no_syncs}{reason}")
    if any(step.settings.needs_server and {"high", "low"} & set(step.name.split()) for step in steps):
        notes.append(HIGH_AND_LOW)
    return notes


def counter_cells(device: DeviceCounters, syncs: int, settings: Settings) -> tuple[str, str, str, str]:
    per_sync = device.flushes / syncs if device.flushes is not None and syncs and settings.uniform else None
    return (
        NONE if device.writes is None else count(device.writes),
        NONE if device.written_bytes is None else size(device.written_bytes),
        "not counted" if device.flushes is None else count(device.flushes),
        per_sync_text(per_sync, settings),
    )


def per_sync_text(flushes: float | None, settings: Settings) -> str:
    """Return flushes per sync, or ``3.14/tx``: fstui does not see how often a database syncs in a transaction."""
    unit = PER_TRANSACTION if settings.operation_name else ""
    return NONE if flushes is None else f"{ratio(flushes)}{unit}"


JUDGED = "*"
"""This stands after the name of a step that the verdict is based on, unless it is based on all steps."""
JUDGED_LEGEND = f"{JUDGED} the verdict is based on these steps"
STEP_HEADER = ("STEP", "RATE/S", "P50", "P99", "MAX", "FLUSH/SYNC", "W-AMP")


PERCENTILES = {"P50": "p50", "P90": "p90", "P99": "p99", "P99.9": "p99_9", "MAX": "max"}


def percentile(times: Latency | DeviceTimes | None, name: str) -> str:
    ns = getattr(times, name) if times else None
    return NONE if ns is None else duration_ns(ns)


def step_cells(step: Step | Snapshot, settings: Settings, counts: Counts) -> dict[str, str]:
    """Return the figures of a step by the titles of their columns."""
    latency = step.latency_ns if settings.uniform else None
    bytes_ratio = counts.bytes_ratio(step) if isinstance(step, Step) else None
    return {
        "RATE/S": rate(step.rate_per_s) if step.ops and settings.uniform else NONE,
        **{title: percentile(latency, name) for title, name in PERCENTILES.items()},
        "FLUSH/SYNC": per_sync_text(counts.flushes_per_sync(step, settings), settings),
        "W-AMP": NONE if bytes_ratio is None else ratio(bytes_ratio),
    }


def step_line(step: Step, counts: Counts) -> str:
    """Return a step in one line: ``fdatasync 840/s · p50 1.2 ms  p99 5.9 ms  max 28 ms · 1.00 flushes per sync``."""
    if not step.ops:
        return f"{step.name}: {step.status}" + (f", {failure(step)}" if failure(step) else "")
    status = "" if step.status == "finished" else f" · {step.status} {failure(step)}".rstrip()
    if not step.settings.uniform:
        return f"{step.name}: {figures_text(step) or 'too short to tell'}{status}"
    cells, unit = step_cells(step, step.settings, counts), "transaction" if step.settings.operation_name else "sync"
    per_sync = cells["FLUSH/SYNC"]
    flushed = "" if per_sync == NONE else f" · {per_sync.removesuffix(PER_TRANSACTION)} flushes per {unit}"
    times = f"p50 {cells['P50']}  p99 {cells['P99']}  max {cells['MAX']}"
    return f"{step.name} {cells['RATE/S']}/s · {times}{flushed}{status}"


def program_names(writers: Iterable[OtherWriter]) -> str:
    """Name the programs that wrote, most bytes first; kernel workers only if no program is known."""
    programs = list(writers)
    return judges_words.writers([writer for writer in programs if not writer.name.startswith("kworker")] or programs)


def settings_words(settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield ``block 16 KiB``, ``O_DSYNC``, ``4 writers``, but no settings without effect."""
    for key, value in settings.items():
        name = key.removesuffix("_bytes").replace("_", " ")
        if value in ((), {}, "", "none", None, 0) or (key, value) == ("sync_every", 1):
            continue
        if key == "open_flags":
            yield " + ".join(f"O_{flag.upper()}" for flag in value)
        elif key == "writers":
            yield counted(value, "writer")
        elif key == "max_bytes_per_s":
            yield f"at most {size(value)}/s"
        elif key == "prefill":
            yield {"written": "file filled before", "fallocate": "file allocated before"}.get(value, value)
        elif key == "seconds":
            yield f"{value:g} s"
        elif isinstance(value, dict):
            yield from (f"{option} {setting}" for option, setting in value.items())
        elif isinstance(value, int) and not isinstance(value, bool):
            yield f"{name} {size(value) if key.endswith('_bytes') else count(value)}"
        else:
            yield f"{name} {', '.join(value) if isinstance(value, tuple) else value}"


def failure(step: Step) -> str:
    if step.error is None:
        return step.reason or ""
    return f"{step.reason} ({step.error.text})" if step.reason else step.error.text


def write_volume_text(plan: Plan) -> str:
    """Return what a run writes: ``≤ 2.1 GiB`` in total, or ``20 KiB/s`` if it runs until it is stopped."""
    return (
        f"≤ {short_size(plan.max_bytes, 'iB')}"
        if plan.bytes_per_s is None
        else f"{short_size(plan.bytes_per_s, 'iB')}/s"
    )


def power_cut_writes(cut: power_cut.PowerCutPlan) -> str:
    if cut.max_bytes is not None:
        return f"≤ {short_size(cut.max_bytes, 'iB')}"
    return f"{short_size(cut.bytes_per_s, 'iB')}/s" if cut.bytes_per_s else "unlimited"
