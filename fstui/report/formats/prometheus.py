"""Metrics for the textfile collector of Prometheus' node exporter (``--output /…/fstui.prom``), text format 0.0.4.

Every value has the labels scenario and target, so that the files of several runs can be combined. A value that was not
measured is left out; it is never 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from fstui.model.judgement import VERDICTS
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.report import figures
from fstui.report.characters import escape_controls, page
from fstui.report.sections import Report
from fstui.report.text import SPEEDS

ENDING = "prom"
_QUANTILES = (("0.5", "p50"), ("0.9", "p90"), ("0.95", "p95"), ("0.99", "p99"), ("0.999", "p99_9"), ("1", "max"))

Labels = dict[str, str]


class Value(NamedTuple):
    """One line of a metric."""

    value: float
    labels: Labels = {}  # noqa: RUF012  it is never changed
    part: str = ""
    """The suffix of a summary: ``_sum``, ``_count``."""


class Metric(NamedTuple):
    """Values under one name, which ends with their unit."""

    name: str
    help: str
    values: Iterable[Value]
    kind: str = "gauge"


def render(report: Report, width: int | None = None) -> str:
    metrics: dict[str, list[str]] = {}
    for run in report.runs:
        for metric in _metrics(run):
            values = list(_lines(metric, _of_run(run)))
            if values:
                metrics.setdefault(metric.name, _head(metric)).extend(values)
    return page(line for lines in metrics.values() for line in lines)


def _metrics(run: Run) -> Iterator[Metric]:
    verdicts = [Value(each == run.verdict, {"verdict": each, "confidence": run.confidence}) for each in VERDICTS]
    yield Metric("fstui_verdict", "1 for the verdict of the run, 0 for all others.", verdicts)
    speeds = [Value(each == run.speed.answer, {"speed": each}) for each in SPEEDS if run.speed.title]
    yield Metric("fstui_speed", "1 for the speed of the storage, 0 for all other answers.", speeds)
    yield Metric("fstui_run_started_timestamp_seconds", "Start of the run.", _started(run))
    yield Metric("fstui_run_duration_seconds", "Duration of the run.", [Value(run.elapsed_s)])
    yield Metric("fstui_run_written_bytes", "Bytes written by the run.", [Value(run.written_bytes)])
    wear = [Value(written, {"device": device}) for device, written in run.wear_bytes.items()]
    yield Metric("fstui_run_wear_bytes", "Bytes written to a lowest device during the run, by all processes.", wear)
    uniform = [step for step in run.steps if step.ops and step.settings.uniform]
    rates = [Value(step.rate_per_s, _of(step)) for step in uniform]
    yield Metric("fstui_step_operations_per_second", "Operations per second, syncs included.", rates)
    latencies = [value for step in uniform for value in _latency(step)]
    yield Metric("fstui_step_latency_seconds", "Of an operation; quantile 1 is the maximum.", latencies, "summary")
    yield Metric("fstui_step_flushes_per_sync", "Flushes that reached the device for each sync.", _flushes(run))


def _started(run: Run) -> Iterator[Value]:
    try:
        yield Value(datetime.fromisoformat(run.started_at).timestamp())
    except ValueError:  # a document that fstui did not write
        return


def _latency(step: Step) -> Iterator[Value]:
    if (latency := step.latency_ns) is None:
        return
    for quantile, field in _QUANTILES:
        if (ns := getattr(latency, field)) is not None:
            yield Value(ns / 1e9, _of(step) | {"quantile": quantile})
    yield Value(latency.mean * step.ops / 1e9, _of(step), "_sum")
    yield Value(step.ops, _of(step), "_count")


def _flushes(run: Run) -> Iterator[Value]:
    counts = figures.Counts(run)
    for step in run.steps:
        if (per_sync := counts.flushes_per_sync(step, step.settings)) is not None:
            yield Value(per_sync, _of(step))


def _of(step: Step) -> Labels:
    return {"step": step.name}


def _of_run(run: Run) -> Labels:
    """Return the labels of every value. Simulated results are labelled."""
    scenario, target = run.scenario.name if run.scenario else "", run.target.path if run.target else ""
    return {"scenario": scenario, "target": target} | ({"simulated": run.simulated} if run.simulated else {})


def _head(metric: Metric) -> list[str]:
    return [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind}"]


def _lines(metric: Metric, common: Labels) -> Iterator[str]:
    for value, labels, part in metric.values:
        pairs = ",".join(f'{name}="{_escaped(text)}"' for name, text in (common | labels).items())
        yield f"{metric.name}{part}{{{pairs}}} {float(value)!r}"


def _escaped(text: str) -> str:
    return escape_controls(text).replace("\\", "\\\\").replace('"', '\\"')
