"""Metrics for the textfile collector of Prometheus' node exporter (``--output /…/fstui.prom``), text format 0.0.4.

Every value has the labels scenario and target, so that the files of several runs can be combined. A value that was not
measured is left out; it is never 0.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple, get_args

from fstui.model.judgement import SPEEDS, VERDICTS, Confidence
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.report import figures
from fstui.report.characters import escape_controls, join_lines
from fstui.report.sections import Report

EXTENSION = "prom"
_QUANTILES = (("0.5", "p50"), ("0.9", "p90"), ("0.95", "p95"), ("0.99", "p99"), ("0.999", "p99_9"), ("1", "max"))

Labels = dict[str, str]


class Value(NamedTuple):
    value: float
    labels: Labels = {}  # noqa: RUF012  it is never changed
    suffix: str = ""
    """Of a summary: ``_sum`` or ``_count``."""


def render(report: Report, width: int | None = None) -> str:
    metrics: dict[str, list[str]] = {}
    for run in report.runs:
        for name, kind, help_text, values in _metrics(run):
            lines = [_line(f"{name}{value.suffix}", value, _run_labels(run)) for value in values]
            if lines:
                metrics.setdefault(name, [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"]).extend(lines)
    return join_lines(line for lines in metrics.values() for line in lines)


def _metrics(run: Run) -> Iterator[tuple[str, str, str, Iterable[Value]]]:
    """Yield name, type, help and values of each metric. A name ends with the unit."""
    verdicts = [Value(name == run.verdict, {"verdict": name}) for name in VERDICTS]
    yield "fstui_verdict", "gauge", "1 for the verdict of the run, 0 for all others.", verdicts
    confidences = [Value(name == run.confidence, {"confidence": name}) for name in get_args(Confidence)]
    yield "fstui_confidence", "gauge", "1 for the confidence of the verdict, 0 for all others.", confidences
    speeds = [Value(speed == run.speed.answer, {"speed": speed}) for speed in SPEEDS if run.speed.title]
    yield "fstui_speed", "gauge", "1 for the speed of the storage, 0 for all other answers.", speeds
    yield "fstui_run_started_timestamp_seconds", "gauge", "Start of the run.", _started(run)
    yield "fstui_run_duration_seconds", "gauge", "Duration of the run.", [Value(run.elapsed_s)]
    yield "fstui_run_written_bytes", "gauge", "Bytes written by the run.", [Value(run.written_bytes)]
    wear = [Value(written_bytes, {"device": device}) for device, written_bytes in run.wear_bytes.items()]
    yield "fstui_run_wear_bytes", "gauge", "Bytes written to a lowest device during the run, by all processes.", wear
    uniform = [step for step in run.steps if step.ops and step.settings.uniform]
    rates = [Value(step.rate_per_s, {"step": step.name}) for step in uniform]
    yield "fstui_step_operations_per_second", "gauge", "Operations per second, syncs included.", rates
    latencies = [value for step in uniform for value in _latency(step)]
    yield "fstui_step_latency_seconds", "summary", "Latency of an operation; quantile 1 is the maximum.", latencies
    yield "fstui_step_flushes_per_sync", "gauge", "Flushes that reached the device for each sync.", _flushes(run)


def _started(run: Run) -> Iterator[Value]:
    try:
        yield Value(datetime.fromisoformat(run.started_at).timestamp())
    except ValueError:  # a document that fstui did not write
        return


def _latency(step: Step) -> Iterator[Value]:
    if (latency := step.latency_ns) is None:
        return
    step_label = {"step": step.name}
    for quantile, field in _QUANTILES:
        if (ns := getattr(latency, field)) is not None:
            yield Value(ns / 1e9, step_label | {"quantile": quantile})
    yield Value(latency.mean * step.ops / 1e9, step_label, "_sum")
    yield Value(step.ops, step_label, "_count")


def _flushes(run: Run) -> Iterator[Value]:
    counts = figures.Counts(run)
    for step in run.steps:
        if (per_sync := counts.flushes_per_sync(step, step.settings)) is not None:
            yield Value(per_sync, {"step": step.name})


def _run_labels(run: Run) -> Labels:
    """Return the labels of all values. The values of a simulated run have one more label."""
    labels = {"scenario": run.scenario_name, "target": run.target_path}
    return labels | ({"simulated": run.simulated} if run.simulated else {})


def _line(name: str, value: Value, run_labels: Labels) -> str:
    pairs = ",".join(f'{label}="{_escaped(text)}"' for label, text in (run_labels | value.labels).items())
    return f"{name}{{{pairs}}} {float(value.value)!r}"


def _escaped(text: str) -> str:
    return escape_controls(text).replace("\\", "\\\\").replace('"', '\\"')
