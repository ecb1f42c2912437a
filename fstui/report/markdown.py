"""A run as Markdown, fit for a ticket."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from fstui.model import Node, Run, Step
from fstui.quantities import count, plain, ratio, seconds, size
from fstui.report import figures, oltp, ruler
from fstui.report.glyphs import GLYPHS
from fstui.report.text import NONE, moment, step_cells

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~&$@])")


def render(run: Run) -> str:
    """The verdict, its sentence, because, next; findings, steps, both ends."""
    return "\n\n".join("\n".join(block) for block in map(list, _blocks(run)) if block) + "\n"


def escape(text: str) -> str:
    """Safe text with every character that Markdown or HTML reads as markup escaped."""
    return _SPECIAL.sub(r"\\\1", plain(text))


def _blocks(run: Run) -> Iterator[Iterable[str]]:
    scenario, target = run.scenario, run.target
    title = f"{escape(scenario.name if scenario else 'run')} on {escape(target.path if target else '')}"
    yield [f"### {GLYPHS[run.verdict]} {run.verdict} ({run.confidence} confidence): {title}"]
    if run.simulated:
        yield [f"**Simulated: {escape(run.simulated)}. None of this was measured on storage.**"]
    if run.sentence:
        yield [escape(run.sentence)]
    if found := figures.leading(run):
        yield _list("Because", found.because)
        yield _list("Next", found.next)
    yield _table(("Finding", "Verdict", "Confidence", "What"), "llll", _findings(run))
    yield _table(
        ("Step", "Rate/s", "p50", "p99", "Max", "Flush/sync", "Bytes arrived"),
        "lrrrrrr",
        [_step(run, step) for step in run.steps],
    )
    yield [f"- {escape(step.name)}: {words}" for step in run.steps if (words := figures.growth(step.figures))]
    yield [
        f"- {escape(step.name)} {step.status}: {escape(figures.failure(step))}"
        for step in run.steps
        if figures.failure(step)
    ]
    yield _table(
        ("Both ends", "Layer", "Writes", "Bytes", "Syncs", "Flushes", "Per sync"),
        "llrrrrr",
        [row for step in run.steps if step.ops for row in _both_ends(run, step)],
    )
    for table in oltp.tables(run):
        yield [f"**{escape(table.title)}**"]
        yield _table(table.header, "l" + "r" * (len(table.header) - 1), table.rows)
    yield [f"- {escape(note)}" for note in oltp.notes(run)]
    if placed := ruler.of_run(run):
        yield ["```text", *placed, "```"]
    yield [_footer(run)]


def _list(title: str, lines: Sequence[str]) -> list[str]:
    return [f"**{title}**", "", *(f"- {escape(line)}" for line in lines)] if lines else []


def _table(header: Sequence[str], align: str, rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    rule = ["---:" if side == "r" else "---" for side in align]
    return [f"| {' | '.join(cells)} |" for cells in (header, rule, *rows)]


def _findings(run: Run) -> list[tuple[str, ...]]:
    return [
        (f"`{plain(found.rule)}`", found.verdict or "note", found.confidence, escape(figures.finding_title(found)))
        for found in run.findings
    ]


def _step(run: Run, step: Step) -> tuple[str, ...]:
    name, *numbers = step_cells(step, run.target)
    return escape(name), *numbers


def _both_ends(run: Run, step: Step) -> Iterator[tuple[str, ...]]:
    yield escape(step.name), "fstui asked", count(step.ops), size(step.bytes), count(step.syncs), "", ""
    lowest = {node.id for node in run.target.lowest} if run.target else set()
    for device in step.counters:
        name = escape(device.device) + (", lowest" if device.device in lowest else "")
        per_sync = figures.device_flushes_per_sync(device, step.syncs, step.probe)
        flushed = "not counted" if device.flushes is None else count(device.flushes)
        yield "", name, _count(device.writes), _size(device.written_bytes), "", flushed, _ratio(per_sync)


def _footer(run: Run) -> str:
    devices = "; ".join(_device(node) for node in run.target.lowest) if run.target else ""
    parts = [
        f"{escape(run.host.hostname)}, Linux {escape(run.host.kernel)}" if run.host.hostname else "",
        escape(figures.stack_line(run.target)),
        devices,
        f"{moment(run.started_at)}, {seconds(run.elapsed_s)}",
        f"wrote {size(run.written_bytes)}",
        run.status if run.status != "finished" else "",
        f"fstui {escape(run.version)}, run `{plain(run.id)}`",
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
