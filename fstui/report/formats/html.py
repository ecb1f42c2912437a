"""A run as one HTML page that holds all it needs: both answers, why, the way down, latencies, tables, the document."""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge.words import capital
from fstui.model.quantities import counted, seconds, size
from fstui.model.run import Run
from fstui.report import figures, html_page, latency_svg, pivot, ruler, steps, way_down
from fstui.report.findings import leading, ordered, title
from fstui.report.html_page import listed, section, table, text
from fstui.report.sections import Report, Section
from fstui.report.text import moment, speed_words, verdict_words

ENDING = "html"


def render(run: Run, saved_to: str | None = None) -> str:
    """The whole page."""
    name = f"{run.scenario.name if run.scenario else 'run'} on {run.target.path if run.target else 'no storage'}"
    return html_page.page(f"fstui: {run.verdict}, {name}", _body(run, name))


def render_report(report: Report, width: int | None = None) -> str:
    """A page with a section for each of the report's, and the documents of its runs."""
    documents = [html_page.document(run, f"run-{at}") for at, run in enumerate(report.runs)]
    parts = [part for section in report.shown for part in _section(section)]
    return html_page.page(
        f"fstui: {report.title}", [f"<header><h1>{text(report.title)}</h1></header>", *parts, *documents]
    )


def _section(section: Section) -> Iterator[str]:
    yield "<section>"
    if section.title:
        yield (
            f'<h3 class="{section.style}">{text(section.title)}</h3>'
            if section.style
            else f"<h3>{text(section.title)}</h3>"
        )
    yield from (f"<p>{text(line)}</p>" for line in section.lines)
    yield from table(section.header, section.rows)
    for label, lines in section.points:
        yield from listed(label.capitalize(), lines)
    if section.drawn:
        yield f"<pre>{text(section.drawn)}</pre>"
    yield from (f"<figure><figcaption>{text(title)}</figcaption>{svg}</figure>" for title, svg in section.figures)
    yield "</section>"


def _body(run: Run, name: str) -> Iterator[str]:
    yield f"<header><p>{text(name)}</p>"
    yield f'<h1 class="{run.verdict}">{text(verdict_words(run.verdict, run.confidence))}</h1>'
    if speed := speed_words(run.speed):
        yield f'<h2 class="{run.speed.answer}">{text(speed)}</h2>'
    if run.simulated:
        yield f"<p><strong>Simulated: {text(run.simulated)}. None of this was measured on storage.</strong></p>"
    yield f"<p>{text(run.sentence)}</p></header>"
    if found := leading(run):
        yield from listed("Next", found.next)
        yield from listed("Because", found.because)
    yield from section("Is it slow?", [f"<p>{text(run.speed.sentence)}</p>"] if run.speed.sentence else [])
    yield from listed("Because", run.speed.because)
    yield from listed("Next", run.speed.next)
    yield from _way(run)
    yield from _steps(run)
    yield from _latencies(run)
    rows = [(one.verdict or "note", one.confidence, one.rule, title(one)) for one in ordered(run)]
    yield from section("Findings", table(("verdict", "confidence", "rule", "what"), rows))
    for told in pivot.tables(run):
        yield from section(told.title, table(told.header, told.rows))
    if placed := ruler.of_run(run):
        yield from section("Among published rates", [f"<pre>{text(line for line in placed)}</pre>"])
    yield f"<footer><p>{text(_footer(run))}</p></footer>"
    yield html_page.document(run, "run")


def _way(run: Run) -> Iterator[str]:
    if way := way_down.of_run(run):
        step, lines = way
        drawn = "\n".join(f'<span class="{part.state}">{text(part.text)}</span>' for part in lines)
        yield from section(capital(way_down.title(step)), [f"<pre>{drawn}</pre>"])


def _steps(run: Run) -> Iterator[str]:
    counts = figures.Counts(run)
    rows = [steps.cells(step, counts) for step in run.steps]
    notes = [f"{step.name}: {words}" for step in run.steps if (words := figures.words(step) or figures.failure(step))]
    body = table(tuple(name.lower() for name in steps.HEADER), rows)
    yield from section("Steps", [*body, *(f"<p>{text(note)}</p>" for note in notes)])


def _latencies(run: Run) -> Iterator[str]:
    for step in run.steps:
        if step.settings.uniform and (drawn := latency_svg.draw(run, step)):
            yield f"<figure><figcaption>{text(step.name)}</figcaption>{drawn}</figure>"


def _footer(run: Run) -> str:
    host = f"{run.host.hostname}, Linux {run.host.kernel}" if run.host.hostname else ""
    parts = [
        host,
        figures.stack_line(run.target),
        f"{moment(run.started_at)}, {seconds(run.elapsed_s)}",
        f"wrote {size(run.written_bytes)}",
        "" if run.status == "finished" else run.status,
        counted(len(run.steps), "step"),
        f"fstui {run.version}, run {run.id}",
    ]
    return " · ".join(filter(None, parts))
