"""A run as Markdown, fit for a ticket."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from fstui.judge.words import capital
from fstui.model.quantities import count, ratio, seconds, size
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.model.storage import Node
from fstui.report import by_second, figures, pivot, ruler, steps, way_down
from fstui.report.characters import escape_controls, page
from fstui.report.findings import leading, ordered
from fstui.report.findings import title as finding_title
from fstui.report.glyphs import GLYPHS
from fstui.report.sections import Report, Section, alignment
from fstui.report.sections import text as cell_text
from fstui.report.text import NONE, moment, speed_words

ENDING = "md"
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~&$@])")
_MOST_SECONDS = 60
"""Rows of a table by the second: a ticket is to be read."""
_NAME = re.compile(r"[\w.-]+")


def render(run: Run, saved_to: str | None = None) -> str:
    """The verdict, its sentence, because, next; findings, steps, both ends."""
    return "\n".join(page(block) for block in map(list, _blocks(run)) if block)


def render_report(report: Report, width: int | None = None) -> str:
    """A heading for the report and each of its sections."""
    blocks = [[f"### {escape(report.title)}"]] if report.title else []
    for section in report.in_words:
        blocks += _section(section)
    return "\n".join(page(block) for block in blocks if block)


def _section(section: Section) -> Iterator[list[str]]:
    if section.title:
        yield [f"**{escape(section.title)}**"]
    rows = [[escape(cell_text(cell)) for cell in row] for row in section.rows]
    align = alignment(section).replace("<", "l").replace(">", "r")
    yield table_of([escape(name) for name in section.header], align, rows)
    yield [f"- {escape(line)}" for line in section.lines]
    for label, lines in section.points:
        yield _list(escape(label.capitalize()), lines)
    if section.drawn:
        yield ["```text", *section.drawn, "```"]


def escape(text: str) -> str:
    """Safe text with every character that Markdown or HTML reads as markup escaped."""
    return _SPECIAL.sub(r"\\\1", escape_controls(text))


def _code(name: str) -> str:
    """A name of ours as code; what could end the code is no name of ours."""
    return f"`{name}`" if _NAME.fullmatch(name) else escape(name)


def _blocks(run: Run) -> Iterator[Iterable[str]]:
    scenario, target, counts = run.scenario, run.target, figures.Counts(run)
    title = f"{escape(scenario.name if scenario else 'run')} on {escape(target.path if target else '')}"
    yield [f"### {GLYPHS[run.verdict]} {run.verdict} ({run.confidence} confidence): {title}"]
    if speed := speed_words(run.speed):
        yield [f"**{escape(speed)}**"]
    if run.simulated:
        yield [f"**Simulated: {escape(run.simulated)}. None of this was measured on storage.**"]
    if run.sentence:
        yield [escape(run.sentence)]
    if found := leading(run):
        yield _list("Because", found.because)
        yield _list("Next", found.next)
    if run.speed.sentence:
        yield [f"Is it slow? {escape(run.speed.sentence)}"]
        yield _list("Because", run.speed.because)
        yield _list("Next", run.speed.next)
    yield table_of(("Finding", "Verdict", "Confidence", "What"), "llll", _findings(run))
    yield table_of(
        ("Step", "Rate/s", "p50", "p99", "Max", "Flush/sync", "Bytes arrived"),
        "lrrrrrr",
        [_step(step, counts) for step in run.steps],
    )
    yield [f"- {escape(step.name)}: {words}" for step in run.steps if (words := figures.words(step))]
    yield [
        f"- {escape(step.name)} {step.status}: {escape(figures.failure(step))}"
        for step in run.steps
        if figures.failure(step)
    ]
    yield table_of(
        ("Both ends", "Layer", "Writes", "Bytes", "Syncs", "Flushes", "Per sync"),
        "llrrrrr",
        [row for step in run.steps if step.ops for row in _both_ends(run, step)],
    )
    if way := way_down.of_run(run):
        heading = escape(capital(way_down.title(way[0])))
        yield table_of((heading,), "l", [(escape(part.text),) for part in way[1]])
    for table in (*pivot.tables(run), *by_second.tables(run, _MOST_SECONDS)):
        yield [f"**{escape(table.title)}**"]
        yield [f"- {escape(words)}" for words in table.legend]
        header, *rows = (tuple(map(escape, row)) for row in (table.header, *table.rows))
        yield table_of(header, "l" + "r" * (len(header) - 1), rows)
    yield [f"- {escape(note)}" for note in pivot.notes(run)]
    if placed := ruler.of_run(run):
        yield ["```text", *placed, "```"]
    yield [_footer(run)]


def _list(title: str, lines: Sequence[str]) -> list[str]:
    return [f"**{title}**", "", *(f"- {escape(line)}" for line in lines)] if lines else []


def table_of(header: Sequence[str], align: str, rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    rule = ["---:" if side == "r" else "---" for side in align]
    return [f"| {' | '.join(cells)} |" for cells in (header, rule, *rows)]


def _findings(run: Run) -> list[tuple[str, ...]]:
    return [
        (
            _code(found.rule),
            found.verdict or "note",
            found.confidence,
            escape(finding_title(found)),
        )
        for found in ordered(run)
    ]


def _step(step: Step, counts: figures.Counts) -> tuple[str, ...]:
    name, *numbers = steps.cells(step, counts)
    return escape(name), *numbers


def _both_ends(run: Run, step: Step) -> Iterator[tuple[str, ...]]:
    yield escape(step.name), "fstui asked", count(step.ops), size(step.bytes), count(step.syncs), "", ""
    lowest = {node.id for node in run.target.lowest} if run.target else set()
    for device in step.counters:
        name = escape(device.device) + (", lowest" if device.device in lowest else "")
        per_sync = figures.device_flushes_per_sync(device, step.syncs, step.settings)
        flushed = "not counted" if device.flushes is None else count(device.flushes)
        yield "", name, _count(device.writes), _size(device.written_bytes), "", flushed, _ratio(per_sync)


def _footer(run: Run) -> str:
    devices = "; ".join(_device(node) for node in run.target.lowest) if run.target else ""
    parts = [
        f"{escape(run.host.hostname)}, Linux {escape(run.host.kernel)}" if run.host.hostname else "",
        escape(figures.stack_line(run.target)),
        devices,
        f"{escape(moment(run.started_at))}, {seconds(run.elapsed_s)}",
        f"wrote {size(run.written_bytes)}",
        *(f"{escape(device)} took {size(written)} meanwhile" for device, written in sorted(run.wear_bytes.items())),
        run.status if run.status != "finished" else "",
        f"fstui {escape(run.version)}, run {_code(run.id)}",
    ]
    return " · ".join(filter(None, parts))


def _device(node: Node) -> str:
    medium = node.medium
    stated = [node.model, medium.class_ if medium else None, "(declared)" if medium and medium.declared else None]
    return escape(f"{node.name}: {' '.join(filter(None, stated)) or 'unknown'}")


def _ratio(value: float | None) -> str:
    return NONE if value is None else ratio(value)


def _count(value: int | None) -> str:
    return NONE if value is None else count(value)


def _size(value: int | None) -> str:
    return NONE if value is None else size(value)
