"""The report of ``fstui check``: one row for each filesystem, then the problems, then what was left out."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from fstui.model.judgement import TOO_SLOW
from fstui.model.quantities import counted, duration_ns, rate, seconds, size
from fstui.model.run import Run
from fstui.report.documents import CheckDocument, Unchecked
from fstui.report.findings import FREE_OF_DEFECTS, leading_finding, next_steps, title
from fstui.report.sections import (
    Cell,
    Report,
    Row,
    Section,
    Value,
    cell_text,
    glyph_cell,
    number_cell,
    speed_cell,
    verdict_cell,
)
from fstui.report.text import GLYPHS, NONE, simulation_warning, speed_line

_HEADER = ("", "FILESYSTEM", "VERDICT", "CONFIDENCE", "COMMITS/S", "P99", "SPEED", "FINDING")
_RECORDS = (
    "filesystem", "run", "verdict", "confidence", "commits_per_s", "p99_ns", "speed", "flag", "next", "trouble",
)  # fmt: skip
MAX_NAMES = 3


class CheckRow(NamedTuple):
    name: str
    run: Run | None
    trouble: str = ""


class Check(NamedTuple):
    rows: Sequence[CheckRow]
    left_out: Mapping[str, Sequence[str]]
    """The filesystems that were not checked, by the reason."""
    elapsed_s: float

    @property
    def left_out_lines(self) -> tuple[str, ...]:
        return tuple(f"{_first_names(names)}: {reason}" for reason, names in self.left_out.items())

    @property
    def unchecked(self) -> tuple[Unchecked, ...]:
        return tuple(
            Unchecked(filesystem=name, reason=reason) for reason, names in self.left_out.items() for name in names
        )


def check_report(check: Check) -> Report:
    simulated = (_simulated(check),) if _simulated(check) else ()
    sections = (
        Section(lines=simulated),
        Section("", _HEADER, tuple(map(_cells, check.rows)), tuple(_notes(check))),
        *(section for row in check.rows for section in _explanation(row)),
        Section("Not checked", lines=check.left_out_lines),
    )
    runs = tuple(row.run for row in check.rows if row.run)
    values = (_RECORDS, *map(_record, check.rows))
    document = CheckDocument(
        elapsed_s=check.elapsed_s,
        runs=runs,
        failed=tuple(Unchecked(filesystem=row.name, reason=row.trouble) for row in check.rows if not row.run),
        left_out=check.unchecked,
    )
    return Report(_headline(check), sections, document, values, runs)


def line(row: CheckRow) -> str:
    if row.run is None:
        return f"{row.name}: not checked: {row.trouble}"
    _, name, word, confidence, per_s, p99, speed_answer, _ = map(cell_text, _cells(row))
    simulated = " · SIMULATED" if row.run.simulated else ""
    status = f" · {row.run.status_text}" if row.run.time_limit_s is not None else ""
    head = f"{name}: {GLYPHS[row.run.verdict]} {word}, {confidence} confidence"
    return f"{head} · {per_s} commits/s, p99 {p99} · {speed_answer}{status}{simulated}"


def limit_sentence(run: Run) -> str:
    """Return a sentence about what was measured before the time limit ended the run; empty if no limit ended it."""
    if run.time_limit_s is None:
        return ""
    parts = [
        f"{step.name}: {counted(step.ops, 'operation')} in {seconds(step.elapsed_s)}"
        if step.elapsed_s
        else f"{step.name}: no operation, because its file was not prepared within {seconds(step.prepare_s)}"
        for step in run.steps
        if step.elapsed_s or step.status == "stopped"
    ]
    until_then = f"Until then, {'; '.join(parts)}" if parts else "Nothing was measured until then"
    return f"The time limit of {seconds(run.time_limit_s)} ended this measurement. {until_then}."


def next_step(run: Run) -> str:
    """Return the first thing to do; empty if the storage has no defect and is not slow."""
    return "" if _is_sound(run) else next(iter(next_steps(run)), "")


def _is_sound(run: Run) -> bool:
    return run.verdict in FREE_OF_DEFECTS and run.speed.answer not in TOO_SLOW


def _notes(check: Check) -> Iterator[str]:
    yield "A check can prove that storage is not durable. Only a power cut shows whether acknowledged data survives."
    sound = [row.run.id for row in check.rows if row.run and not row.run.simulated and _is_sound(row.run)]
    if sound:
        name, where = (sound[0], "") if len(check.rows) == 1 else ("RUN", " ('fstui history' lists the runs)")
        yield f"Details: fstui show {name}{where}"


def _cells(row: CheckRow) -> Row:
    run = row.run
    if run is None:
        return "?", row.name, "not checked", "", Cell(NONE, numeric=True), Cell(NONE, numeric=True), "", row.trouble
    per_s, p99_ns = _durable_rate(run)
    return (
        glyph_cell(run.verdict),
        row.name,
        verdict_cell(run.verdict),
        run.confidence,
        number_cell(per_s, rate),
        number_cell(p99_ns, duration_ns),
        speed_cell(run.speed.answer),
        _flag(run),
    )


def _durable_rate(run: Run) -> tuple[float | None, float | None]:
    """Return the durable commits per second, and their p99 in ns."""
    step = next((step for step in run.steps if step.syncs and step.latency_ns), None)
    return (step.rate_per_s, step.latency_ns.p99) if step and step.latency_ns else (None, None)


def _flag(run: Run) -> str:
    finding = leading_finding(run)
    return title(finding) if finding else ""


def _explanation(row: CheckRow) -> Iterator[Section]:
    run = row.run
    if run is None:
        return
    slow = run.speed.answer in TOO_SLOW
    container = next((finding for finding in run.findings if finding.rule == "container-layer"), None)
    heading = f"{GLYPHS[run.verdict]} {row.name}"
    limit = filter(None, [limit_sentence(run)])
    if run.verdict in FREE_OF_DEFECTS and not slow:
        lines = (*limit, *([container.sentence] if container else []))
        if lines:
            yield Section(heading, lines=lines, points=(("next", container.next if container else ()),))
        return
    lines = (*limit, run.sentence, *([speed_line(run.speed)] if slow else []))
    more = () if run.simulated else (f"fstui show {run.id}",)  # a simulated run is not saved
    points = (("next", tuple(filter(None, [next_step(run)]))), ("more", more))
    yield Section(heading, lines=lines, points=points, style=run.verdict)


def _simulated(check: Check) -> str:
    simulated = next((row.run.simulated for row in check.rows if row.run and row.run.simulated), None)
    return simulation_warning(simulated) if simulated else ""


def _first_names(names: Sequence[str]) -> str:
    hidden = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {hidden} more" if hidden > 0 else "")


def _headline(check: Check) -> str:
    written_bytes = sum(row.run.written_bytes for row in check.rows if row.run)
    checked = counted(sum(row.run is not None for row in check.rows), "filesystem")
    outcome = "written and removed" if not _simulated(check) else "written to a simulated disk"
    return f"{checked} checked in {seconds(check.elapsed_s)}, {size(written_bytes)} {outcome}"


def _record(row: CheckRow) -> tuple[Value, ...]:
    run = row.run
    if run is None:
        return row.name, "", "", "", None, None, "", "", "", row.trouble
    per_s, p99_ns = _durable_rate(run)
    per_s = None if per_s is None else round(per_s, 1)
    return (
        row.name, run.id, run.verdict, run.confidence, per_s, p99_ns, run.speed.answer, _flag(run), next_step(run),
        limit_sentence(run),
    )  # fmt: skip
