"""The report of one run: whether the storage is durable and fast, then findings, steps, and explanations."""

from collections.abc import Iterator, Sequence

import msgspec

from fstui.judge.words import command
from fstui.model.quantities import count, counted, duration_ns, percent, seconds, size
from fstui.model.run import Run
from fstui.model.settings import UnknownSettings
from fstui.model.steps import Latency, Step
from fstui.model.storage import Node
from fstui.report import database_details, databases, figures, fit, io_path, latency_map, references, replicas
from fstui.report.database_details import notes
from fstui.report.findings import judged_steps, judges_one_step, leading_finding, ordered, title
from fstui.report.sections import Report, Row, Section, Value, glyph_cell, right_cell, verdict_cell
from fstui.report.stack import medium, stack_line
from fstui.report.text import NONE, moment, simulation_warning, speed_line, unsaved_reason, verdict_line

_FINDINGS = ("", "FINDING", "VERDICT", "CONFIDENCE", "WHAT")
FILESYSTEM_PREFIX = "The filesystem below: "
_LATENCIES = (("latency", "latency_ns"), ("write", "write_ns"), ("sync", "sync_ns"))


def run_report(run: Run, saved_to: str | None = None) -> Report:
    name = f"{run.scenario_name or 'no scenario'} on {run.target_path or 'no storage'}"
    counts = figures.Counts(run)
    answers = tuple(_answers(run))
    maps = ((step.name, latency_map.svg(run, step)) for step in run.steps if step.settings.uniform)
    latency_maps = tuple((name, shapes) for name, shapes in maps if shapes)
    sections = (
        Section(lines=tuple(_head(run))),
        *answers,
        *fit.sections(run),
        _findings(run),
        _steps(run, counts),
        io_path.section(run),
        Section("Latencies", figures=latency_maps),
        *(section for section in tables(run) if section not in answers),
        Section(lines=notes(run)),
        references.run_references(run),
        Section(lines=tuple(_tail(run))),
        Section("These could not be removed: run 'fstui clean'", drawn=run.left_behind),
        Section(drawn=tuple(_saved(run, saved_to))),
    )
    return Report(name, sections, run, _records(run, counts), (run,))


def tables(run: Run) -> list[Section]:
    sections = [*databases.tables(run), database_details.table(run), *replicas.tables(run)]
    return [section for section in sections if not section.empty]


def _head(run: Run) -> Iterator[str]:
    host = f"{run.host.hostname}, Linux {run.host.kernel}" if run.host.hostname else ""
    parts = (host, moment(run.started_at), seconds(run.elapsed_s), run.status_text, f"run {run.id}")
    yield from filter(None, (stack_line(run.target), " · ".join(filter(None, parts))))
    if run.simulated:
        yield simulation_warning(run.simulated)


def _answers(run: Run) -> Iterator[Section]:
    """Yield the sections on durability and speed. In a test of replicas, a section on lost transactions comes first."""
    replica_answer = replicas.headline(run)
    if replica_answer:
        yield replica_answer
        yield from replicas.tables(run)
    finding = leading_finding(run)
    points = (("because", finding.evidence), ("next", finding.next)) if finding else ()
    lines = tuple(filter(None, (speed_line(run.speed), run.sentence)))
    yield Section(verdict_title(run), lines=lines or ("No step was judged.",), points=points, style=run.verdict)
    speed = run.speed
    if speed.sentence:
        points = (("because", speed.evidence), ("next", speed.next))
        yield Section("Is it slow?", lines=(speed.sentence,), points=points, style=speed.answer)


def verdict_title(run: Run) -> str:
    """Return the verdict. In a test of replicas, it is only about the filesystem below the servers."""
    prefix = FILESYSTEM_PREFIX if replicas.headline(run) else ""
    return f"{prefix}{verdict_line(run.verdict, run.confidence)}"


def _findings(run: Run) -> Section:
    rows: list[Row] = []
    for finding in ordered(run):
        one_step = judges_one_step(finding)
        verdict = None if one_step else finding.verdict
        word = verdict_cell(verdict) if verdict else "note"
        confidence = "" if one_step else finding.confidence
        rows.append((glyph_cell(verdict), finding.rule, word, confidence, title(finding)))
    return Section(counted(len(rows), "finding"), _FINDINGS, tuple(rows))


def _steps(run: Run, counts: figures.Counts) -> Section:
    rows: list[Row] = []
    judged = judged_steps(run)
    for step in run.steps:
        cells = figures.step_cells(step, step.settings, counts)
        numbers = [cells[title] for title in figures.STEP_HEADER[1:]]
        name = step.name + (f"\xa0{figures.JUDGED}" if step.name in judged else "")  # never alone in a line
        if set(numbers) != {NONE} or not figures.figures_text(step):
            rows.append((name, *map(right_cell, numbers)))
    notes = [figures.JUDGED_LEGEND] if judged else []
    notes += [
        f"{step.name}: {text}{' (MiB of unsynced data)' * ('/MiB' in text)}"
        for step in run.steps
        if (text := figures.figures_text(step))
    ]
    notes += [
        f"{step.name}: ended after {count(step.ops)} operations in {duration_ns(step.elapsed_s * 1e9)}, as planned"
        for step in run.steps
        if step.status == "finished" and step.settings.ends_early(step.ops)
    ]
    steps_by_failure: dict[str, list[str]] = {}
    for step in run.steps:
        if reason := figures.failure(step):
            status = "" if step.status == "finished" else f" {step.status}"
            steps_by_failure.setdefault(f"{status}: {reason}", []).append(step.name)
    for reason, names in steps_by_failure.items():
        common = len(names) == len(run.steps) > 1
        notes.append(f"{'all steps' if common else ', '.join(map(command, names)) if names[1:] else names[0]}{reason}")
    if any(step.settings.operation_name and counts.flushes_per_sync(step, step.settings) for step in run.steps):
        notes.append(f"{figures.PER_TRANSACTION} in FLUSH/SYNC: flushes per transaction, which may sync several times")
    notes += figures.step_notes(run.steps, counts, figures.STEP_HEADER)
    return Section("", figures.STEP_HEADER, tuple(rows), tuple(notes))


def _tail(run: Run) -> Iterator[str]:
    if run.wear_bytes:
        devices = ", ".join(f"{device} {size(amount)}" for device, amount in sorted(run.wear_bytes.items()))
        requested = size(run.written_bytes)
        yield f"Written: {requested} by fstui. The devices received from all processes: {devices}."
    if parts := [(step, step.traced_part) for step in run.steps if step.traced_part]:
        share = sum(part.elapsed_s for _, part in parts) / sum(step.elapsed_s for step, _ in parts)
        traced = f"{percent(share)} of the time of {counted(len(parts), 'step')}"
        yield f"The kernel's trace slows fast steps down, so it ran for only {traced}."
    if devices := "; ".join(map(_device, run.target.lowest)) if run.target else "":
        yield f"Devices: {devices} · fstui {run.version}"


def _saved(run: Run, saved_to: str | None) -> Iterator[str]:
    if saved_to:
        yield f"saved {saved_to}"
    elif run.simulated:
        yield f"not saved: {unsaved_reason(run.simulated)}"


def _device(node: Node) -> str:
    words = " ".join(filter(None, [node.model, medium(node)]))
    if not words:
        return f"medium of {node.name}: unknown"
    return words if words == node.name else f"{node.name}: {words}"


def _records(run: Run, counts: figures.Counts) -> Sequence[Sequence[Value]]:
    rows = [dict(_record(run, counts, step)) for step in run.steps]
    names = rows[0] if rows else dict(_record(run, counts, Step(name="", settings=UnknownSettings())))
    return tuple(names), *(tuple(row.values()) for row in rows)


def _record(run: Run, counts: figures.Counts, step: Step) -> Iterator[tuple[str, Value]]:
    yield "run", run.id
    yield "scenario", run.scenario_name
    yield "target", run.target_path
    yield "name", step.name
    yield "status", step.status
    for name in ("ops", "syncs", "bytes", "writers", "elapsed_s"):
        yield name, getattr(step, name)
    yield "rate_per_s", step.rate_per_s if step.settings.uniform else None
    for prefix, field in _LATENCIES:
        latency: Latency | None = getattr(step, field)
        for figure in msgspec.structs.fields(Latency):
            yield f"{prefix}_{figure.name}_ns", getattr(latency, figure.name) if latency else None
    yield "flushes", _round(counts.flushes(step, step.settings))
    yield "flushes_per_sync", _round(counts.flushes_per_sync(step, step.settings), 4)
    yield "device_bytes", _round(counts.written_bytes(step))
    yield "bytes_ratio", _round(counts.bytes_ratio(step), 4)
    yield "stalls", step.stalls.count
    yield "stalled_s", step.stalls.lost_s
    if databases.database_steps(run):
        yield from databases.csv_cells(step)
        yield from database_details.csv_cells(step)
    if replicas.replica_steps(run):
        yield from replicas.csv_cells(step)
    yield "error", figures.failure(step)
    yield "verdict", run.verdict
    yield "speed", run.speed.answer


def _round(value: float | None, digits: int | None = None) -> float | None:
    return None if value is None else round(value, digits)
