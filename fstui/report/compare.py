"""Two or more runs side by side: one column for each, or for the rounds of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from fstui.model.run import Run
from fstui.model.storage import Target
from fstui.report import figures, pivot, price, ranking, side_by_side, sides, steps
from fstui.report.characters import page
from fstui.report.glyphs import GLYPHS, SPEEDS
from fstui.report.sides import Side
from fstui.report.text import NONE, WIDTH, moment, table

_FIGURES = (("rate/s", 1), ("p50", 2), ("p99", 3), ("flush/sync", 5))
"""Label, and its place in ``steps.cells``."""
_IN_THE_LEGEND = {"target", "stack", "host", "started"}


def render(runs: Sequence[Run], width: int | None = None, per_hour: Mapping[str, float] = MappingProxyType({})) -> str:
    """A ranking of the steps; what each run is and came to; rate, p50, p99 and flushes per sync of every step.

    ``per_hour``: prices by the ids of their runs.
    """
    width = width or WIDTH
    together = pivot.of_runs(runs)
    databases = ["", *pivot.lines(together, width)] if together else []
    bought = ["", *table(list(price.rows(runs, per_hour)), "<" + ">" * len(runs), width)] if per_hour else []
    _, *below = rows(runs)
    heading = ("", "", *(f"{side.letter} {side.name}" for side in sides.of(runs)))
    cells = [heading, *(row for row in below if row[0] not in _IN_THE_LEGEND)]
    return page([*ranking.lines(runs, width), "", *side_by_side.lines(cells, width), *databases, *bought])


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
