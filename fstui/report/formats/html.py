"""A run as one HTML page that holds all it needs: both answers, why, the way down, latencies, tables, the document.

No script runs in it and nothing is fetched; it prints. The document can be taken out again: it stands in a data block
(HTML standard, 4.12.1: a script element whose type is no script's), with every ``<`` written as ``\\u003c``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path

from fstui.model.run import Run
from fstui.quantities import counted, seconds, size
from fstui.report import figures, json, latency_svg, pivot, ruler, steps, way_down
from fstui.report.characters import escape_controls
from fstui.report.findings import leading, ordered, title
from fstui.report.text import moment, speed_words, verdict_words

ENDING = "html"
_STYLE = Path(__file__).parent / "html.css"


def render(run: Run, saved_to: str | None = None) -> str:
    """The whole page."""
    return "\n".join(_page(run)) + "\n"


def _page(run: Run) -> Iterator[str]:
    name = f"{run.scenario.name if run.scenario else 'run'} on {run.target.path if run.target else 'no storage'}"
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    yield f"<title>fstui: {_text(run.verdict)}, {_text(name)}</title>"
    yield f"<style>{_STYLE.read_text()}</style></head><body>"
    yield f"<header><p>{_text(name)}</p>"
    yield f'<h1 class="{run.verdict}">{_text(verdict_words(run.verdict, run.confidence))}</h1>'
    if speed := speed_words(run.speed):
        yield f'<h2 class="{run.speed.answer}">{_text(speed)}</h2>'
    if run.simulated:
        yield f"<p><strong>Simulated: {_text(run.simulated)}. None of this was measured on storage.</strong></p>"
    yield f"<p>{_text(run.sentence)}</p></header>"
    if found := leading(run):
        yield from _list("Next", found.next)
        yield from _list("Because", found.because)
    yield from _section("Is it slow?", [f"<p>{_text(run.speed.sentence)}</p>"] if run.speed.sentence else [])
    yield from _list("Because", run.speed.because)
    yield from _list("Next", run.speed.next)
    yield from _way(run)
    yield from _steps(run)
    yield from _latencies(run)
    rows = [(one.verdict or "note", one.confidence, one.rule, title(one)) for one in ordered(run)]
    yield from _section("Findings", _table(("verdict", "confidence", "rule", "what"), rows))
    for table in pivot.tables(run):
        yield from _section(table.title, _table(table.header, table.rows))
    if placed := ruler.of_run(run):
        yield from _section("Among published rates", [f"<pre>{_text(line for line in placed)}</pre>"])
    yield f"<footer><p>{_text(_footer(run))}</p></footer>"
    yield f'<script type="application/json" id="run">{_document(run)}</script>'
    yield "</body></html>"


def _text(words: str | Iterable[str]) -> str:
    """Safe as text and within an attribute; several are lines."""
    lines = [words] if isinstance(words, str) else words
    return "\n".join(escape(escape_controls(line)) for line in lines)


def _section(heading: str, body: Sequence[str]) -> Iterator[str]:
    if body:
        yield f"<section><h3>{_text(heading)}</h3>"
        yield from body
        yield "</section>"


def _list(heading: str, lines: Sequence[str]) -> Iterator[str]:
    yield from _section(heading, [f"<ul>{''.join(f'<li>{_text(line)}</li>' for line in lines)}</ul>"] if lines else [])


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    body = [f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows]
    head = "".join(f"<th>{_text(cell)}</th>" for cell in header)
    return [f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"] if body else []


def _way(run: Run) -> Iterator[str]:
    if way := way_down.of_run(run):
        step, lines = way
        drawn = "\n".join(f'<span class="{part.state}">{_text(part.text)}</span>' for part in lines)
        yield from _section(way_down.title(step).capitalize(), [f"<pre>{drawn}</pre>"])


def _steps(run: Run) -> Iterator[str]:
    counts = figures.Counts(run)
    rows = [steps.cells(step, counts) for step in run.steps]
    notes = [f"{step.name}: {words}" for step in run.steps if (words := figures.words(step) or figures.failure(step))]
    body = _table(tuple(name.lower() for name in steps.HEADER), rows)
    yield from _section("Steps", [*body, *(f"<p>{_text(note)}</p>" for note in notes)])


def _latencies(run: Run) -> Iterator[str]:
    for step in run.steps:
        if step.settings.alike and (drawn := latency_svg.draw(run, step)):
            yield f"<figure><figcaption>{_text(step.name)}</figcaption>{drawn}</figure>"


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


def _document(run: Run) -> str:
    return json.line(run).decode().strip().replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
