"""Two or more runs side by side: one column for each, or for the rounds of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

import msgspec

from fstui.model.run import Run
from fstui.model.storage import Target
from fstui.report import beside, figures, latency_svg, pivot, price, ranking, sides, steps, way_down
from fstui.report.beside import ComparedStep, Comparison
from fstui.report.glyphs import GLYPHS, SPEEDS
from fstui.report.html_page import text
from fstui.report.sections import Cell, Report, Section, right, verdict
from fstui.report.sides import Side
from fstui.report.text import NONE, WIDTH, moment

_FIGURES = (("rate/s", 1), ("p50", 2), ("p99", 3), ("flush/sync", 5))
"""Label, and its place in ``steps.cells``."""
_LEGEND = ("", "RUN", "VERDICT", "STARTED", "HOST", "WHERE")
_OF_SIDE = ("target", "stack", "hostname", "verdict", "speed")
_IN_THE_LEGEND = {"target", "stack", "host", "started"}


def of_runs(
    runs: Sequence[Run], width: int | None = None, per_hour: Mapping[str, float] = MappingProxyType({})
) -> Report:
    """A ranking of the steps; what each run is and came to; rate, p50, p99 and flushes per sync of every step.

    ``width``: of the bars. ``per_hour``: prices by the ids of their runs.
    """
    found = sides.of(runs)
    document = beside.of_runs(runs)
    _, *below = rows(runs)
    heading = ("", "", *(f"{side.letter} {side.name}" for side in found))
    cells = (heading, *(row for row in below if row[0] not in _IN_THE_LEGEND))
    meaning = ranking.meaning(found)
    sections = [
        Section("", _LEGEND, tuple(map(_legend, found)), (meaning,) if meaning else ()),
        *_ranked(found, width or WIDTH),
        Section("", heading, cells[1:], side_by_side=True),
    ]
    if together := pivot.of_runs(runs):
        sections.append(Section(together.title, together.header, _numbers(together.rows), together.legend))
    if per_hour:
        header, *bought = price.rows(runs, per_hour)
        sections.append(Section("", header, _numbers(bought)))
    sections += _ways(found)
    sections += [Section(name, figures=tuple(_latencies(found, name))) for name in sides.step_names(found)]
    return Report("", tuple(sections), document, _records(document), tuple(runs))


def _numbers(rows: Sequence[Sequence[str]]) -> tuple[tuple[Cell | str, ...], ...]:
    return tuple((first, *map(right, others)) for first, *others in rows)


def _legend(side: Side) -> tuple[Cell | str, ...]:
    run = side.run
    remarks = [f"simulated: {run.simulated}"] if run.simulated else []
    started = moment(side.rounds[0].started_at)
    word = verdict(run.verdict, *remarks)
    shown = word._replace(text=f"{GLYPHS[run.verdict]} {word.text}")
    return side.letter, side.name, shown, started, run.host.hostname, ranking.place(side)


def _ranked(found: Sequence[Side], width: int) -> Iterator[Section]:
    for name in sides.step_names(found):
        if ranked := ranking.ranking(found, name):
            yield Section(name, drawn=tuple(ranking.bars(name, ranked, width)), lines=tuple(ranking.remarks(ranked)))


def _ways(found: Sequence[Side]) -> Iterator[Section]:
    """The way down of each side, in HTML alone: elsewhere `fstui show` has it."""
    for side in found:
        if way := way_down.of_run(side.run):
            drawn = "\n".join(f'<span class="{part.state}">{text(part.text)}</span>' for part in way[1])
            title = f"{side.letter}: {way_down.title(way[0])}"
            yield Section("", figures=((title, f"<pre>{drawn}</pre>"),))


def _latencies(found: Sequence[Side], name: str) -> Iterator[tuple[str, str]]:
    for side in found:
        one = side.step(name)
        if one and one.step.settings.uniform and (drawn := latency_svg.draw(one.run, one.step)):
            yield f"{side.letter}: {name}", drawn


def _records(document: Comparison) -> Section:
    """One row per step and side. Empty cells: it was not counted, or there was one round."""
    by_letter = {side.letter: side for side in document.sides}
    names = [field.name for field in msgspec.structs.fields(ComparedStep)]
    found = []
    for step in document.steps:
        side = by_letter[step.side]
        values = [getattr(step, name) for name in names]
        values += [" ".join(side.runs), *(getattr(side, name) for name in _OF_SIDE)]
        found.append(tuple(Cell("", each) for each in values))
    return Section("", (*names, "runs", *_OF_SIDE), tuple(found))


def rows(runs: Sequence[Run]) -> list[tuple[str, ...]]:
    """The same as cells: what it is about, which figure of it, one cell for each side. A blank row between steps."""
    found = sides.of(runs)
    cells = [("", "", *(side.name for side in found)), *_heads([side.run for side in found])]
    for name in sides.step_names(found):
        cells += [("", *("",) * (len(found) + 1)), *_step(name, found)]
    return cells


def _others(run: Run) -> str:
    """Who else used the devices meanwhile, in the judge's words."""
    note = next((finding.title for finding in run.findings if finding.rule == "other-writers"), "")
    return note.removeprefix("by others: ")


_HEADS: tuple[tuple[str, Callable[[Run], str]], ...] = (
    ("verdict", lambda run: f"{GLYPHS[run.verdict]} {run.verdict}"),
    ("confidence", lambda run: run.confidence),
    ("speed", lambda run: f"{SPEEDS[run.speed.answer]} {run.speed.answer}" if run.speed.title else ""),
    ("status", lambda run: "" if run.status == "finished" else run.status),
    ("scenario", lambda run: run.scenario.name if run.scenario else NONE),
    ("target", lambda run: run.target.path if run.target else NONE),
    ("stack", lambda run: figures.stack_line(run.target) or NONE),
    ("medium", lambda run: _media(run.target)),
    ("host", lambda run: run.host.hostname or NONE),
    ("started", lambda run: moment(run.started_at)),
    ("others", _others),
    ("simulated", lambda run: run.simulated or ""),
)


def _heads(runs: Sequence[Run]) -> Iterator[tuple[str, ...]]:
    for label, value in _HEADS:
        if any(values := [value(run) for run in runs]):
            yield label, "", *values
    yield from _settings(runs)


def _settings(runs: Sequence[Run]) -> Iterator[tuple[str, ...]]:
    """The settings in which the runs differ: figures beside them do not compare as they stand."""
    chosen = [run.scenario.settings if run.scenario else {} for run in runs]
    for key in dict.fromkeys(key for settings in chosen for key in settings):
        values = [_words(settings.get(key, NONE)) for settings in chosen]
        if len(set(values)) > 1 and all(key in settings for settings in chosen):
            yield key, "", *values


def _words(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _step(name: str, found: Sequence[Side]) -> Iterator[tuple[str, ...]]:
    measured = [side.step(name) for side in found]
    if any(words := [figures.words(one.step) if one else "" for one in measured]):
        yield name, "flush", *(said.removeprefix("flush ") or NONE for said in words)
        return
    cells = [steps.cells(one.step, figures.Counts(one.run)) if one else (NONE,) * 7 for one in measured]
    for label, place in _FIGURES:
        title = name if place == 1 else ""
        yield title, label, *(cell[place] for cell in cells)
    if any(spreads := [ranking.spread(side, name) for side in found]):
        yield "", "rounds", *(spread or NONE for spread in spreads)
    if len(found) == 2 and len(ranked := ranking.ranking(found, name)) == 2:
        other = next(one for one in ranked if one.side is found[1])
        yield "", "rate", "", other.told


def _media(target: Target | None) -> str:
    media = [node.medium for node in target.lowest if node.medium] if target else []
    words = [medium.class_ + (" (declared)" if medium.declared else "") for medium in media]
    return " + ".join(dict.fromkeys(words)) or NONE
