"""A run as plain text, for a terminal, a log or a ticket: the word, the sentence, because, next, then the tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.cells import cell_len

from fstui.model import Finding, Plan, PlannedStep, Run, Step, Target
from fstui.quantities import plain, seconds, short_size
from fstui.report import figures, oltp, ruler
from fstui.report.glyphs import GLYPHS
from fstui.report.text import (
    NONE,
    WIDTH,
    because,
    columns,
    hanging,
    labelled,
    moment,
    step_cells,
    verdict_words,
    wrap,
)

STEP_HEADER = ("STEP", "RATE/S", "P50", "P99", "MAX", "FLUSH/SYNC", "BYTES")


def render(run: Run, saved_to: str | None = None) -> str:
    """The whole result; ``saved_to`` is the file it can be read from again."""
    lines = [*_head(run), *_verdict(run), "", *_findings(run), *steps(run.steps, run.target)]
    for table in oltp.tables(run):
        shown = columns([table.header, *table.rows], "<" + ">" * (len(table.header) - 1))
        lines += ["", *wrap(table.title, WIDTH), *shown]
    lines += [part for note in oltp.notes(run) for part in ["", *wrap(note, WIDTH)]]
    if placed := ruler.of_run(run):
        lines += ["", *placed]
    if run.left_behind:
        lines += ["", "Could not be removed, see 'fstui clean':", *(f"  {plain(path)}" for path in run.left_behind)]
    if saved_to:
        lines += ["", f"saved {plain(saved_to)}"]
    return "\n".join(lines) + "\n"


def steps(measured: Iterable[Step], target: Target | None) -> list[str]:
    """The table of steps; beneath it, what has no rate, and why some of them did not finish."""
    rows = list(measured)
    cells = [STEP_HEADER, *(step_cells(step, target) for step in rows)]
    taken = sum(2 + max(cell_len(row[at]) for row in cells) for at in range(1, len(STEP_HEADER)))
    table = columns([part for row in cells for part in _folded(row, WIDTH - taken)], "<>>>>>>")
    notes = [f"{plain(step.name)}: {words}" for step in rows if (words := figures.growth(step.figures))]
    notes += [f"{plain(step.name)} {step.status}: {figures.failure(step)}" for step in rows if figures.failure(step)]
    return table + [part for note in notes for part in ["", *wrap(note, WIDTH)]]


def _folded(row: tuple[str, ...], width: int) -> list[tuple[str, ...]]:
    """A row whose name is longer than that, on several lines."""
    name, *numbers = row
    first, *more = wrap(name, width) or [""]
    return [(first, *numbers), *((f"  {line}", *[""] * len(numbers)) for line in more)]


def step_line(step: Step, target: Target | None) -> str:
    """One step in one line: ``fdatasync 840/s · p50 1.2 ms  p99 5.9 ms  max 28 ms · 1.00 flushes per sync``."""
    if not step.ops:
        return f"{plain(step.name)}: {step.status}" + (f", {figures.failure(step)}" if figures.failure(step) else "")
    status = "" if step.status == "finished" else f" · {step.status} {figures.failure(step)}".rstrip()
    if not figures.rated(step.probe):
        return f"{plain(step.name)}: {figures.growth(step.figures) or 'too short to tell'}{status}"
    _, per_s, p50, p99, longest, per_sync, _ = step_cells(step, target)
    flushed = "" if per_sync == NONE else f" · {per_sync} flushes per sync"
    return f"{plain(step.name)} {per_s}/s · p50 {p50}  p99 {p99}  max {longest}{flushed}{status}"


def plan(planned: Plan, target: Target) -> str:
    """What a run will do, before it does it."""
    listed = hanging([(f"{at:>2}", *_planned(step)) for at, step in enumerate(planned.steps, 1)])
    return "\n".join([*plan_head(planned, target), "", *listed]) + "\n"


def plan_head(planned: Plan, target: Target) -> list[str]:
    """The question, where it writes, how long, how much, and the command that does it again."""
    lasts = "until it is stopped" if planned.seconds is None else f"about {seconds(planned.seconds)}"
    return [
        f"{plain(planned.scenario.name)}: {plain(planned.question)}",
        f"  into      {plain(target.path)} ({figures.stack_line(target)})",
        f"  takes     {lasts}",
        f"  writes    {figures.writes_at_most(planned)}, at most {short_size(planned.room_bytes)} of it there at a "
        f"time; {'it stays until it is verified' if planned.by_hand else 'all is removed at the end'}",
        f"  again     {plain(planned.command)}",
    ]


def _head(run: Run) -> Iterator[str]:
    scenario = plain(run.scenario.name) if run.scenario else "no scenario"
    target = plain(run.target.path) if run.target else ""
    stack = figures.stack_line(run.target)
    yield f"{scenario}   {target} · {stack}" if stack else f"{scenario}   {target}"
    where = f"{plain(run.host.hostname)} · {plain(run.host.kernel)} · " if run.host.hostname else ""
    status = "" if run.status == "finished" else f" · {run.status}"
    yield f"{where}{moment(run.started_at)} · {seconds(run.elapsed_s)}{status} · run {plain(run.id)}"
    if run.simulated:
        yield f"SIMULATED: {plain(run.simulated)}. None of this was measured on storage."
    yield ""


def _verdict(run: Run) -> Iterator[str]:
    yield verdict_words(run.verdict, run.confidence)
    yield from (f"  {line}" for line in wrap(run.sentence, WIDTH - 2))
    if found := figures.leading(run):
        yield from because(found.because)
        yield from labelled("next", found.next)


def _findings(run: Run) -> list[str]:
    if not run.findings:
        return []
    found = f"{len(run.findings)} finding" + ("s" if len(run.findings) > 1 else "")
    return [found, *hanging([finding_row(finding) for finding in run.findings]), ""]


def finding_row(finding: Finding) -> tuple[str, str, str, str, str]:
    """Glyph, rule, verdict or ``note``, confidence, title."""
    glyph = GLYPHS[finding.verdict] if finding.verdict else " "
    return glyph, plain(finding.rule), finding.verdict or "note", finding.confidence, figures.finding_title(finding)


def _planned(step: PlannedStep) -> tuple[str, str]:
    return plain(step.name), f"skipped: {plain(step.skip)}" if step.skip else plain(step.probe)
