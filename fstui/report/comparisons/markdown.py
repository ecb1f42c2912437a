"""A comparison as Markdown, fit for a ticket."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fstui.model.quantities import duration_ns, rate
from fstui.model.run import Run
from fstui.report import pivot, price, ranking, sides
from fstui.report.characters import page
from fstui.report.formats.markdown import escape, table_of
from fstui.report.glyphs import GLYPHS
from fstui.report.sides import Side
from fstui.report.text import NONE, moment


def render(runs: Sequence[Run], width: int | None, per_hour: Mapping[str, float]) -> str:
    """Who is compared; for each step the ranking and what is to be said of it."""
    return "\n".join(page(block) for block in map(list, _blocks(runs, per_hour)) if block)


def _blocks(runs: Sequence[Run], per_hour: Mapping[str, float]) -> Iterator[Sequence[str]]:
    found = sides.of(runs)
    yield table_of(("", "Run", "Verdict", "Where", "Host", "Started"), "llllll", [_side(side) for side in found])
    yield [escape(meaning)] if (meaning := ranking.meaning(found)) else []
    ranked = {name: ranking.ranking(found, name) for name in sides.step_names(found)}
    rows = [_row(name, one) for name, steps in ranked.items() for one in steps]
    yield table_of(("Step", "", "Rate/s", "Rounds", "Times", "p99"), "llrrrr", rows)
    yield [f"- {escape(f'{name}: {told}')}" for name, steps in ranked.items() for told in ranking.remarks(steps)]
    if together := pivot.of_runs(runs):
        yield [f"**{escape(together.title)}**"]
        yield [f"- {escape(words)}" for words in together.legend]
        yield _table([together.header, *together.rows])
    if per_hour:
        yield _table(list(price.rows(runs, per_hour)))


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    header, *below = [tuple(map(escape, row)) for row in rows]
    return table_of(header, "l" + "r" * (len(header) - 1), below)


def _side(side: Side) -> tuple[str, ...]:
    run = side.run
    verdict = f"{GLYPHS[run.verdict]} {run.verdict}" + (f", simulated: {run.simulated}" if run.simulated else "")
    started = moment(side.rounds[0].started_at)
    return tuple(map(escape, (side.letter, side.name, verdict, ranking.place(side), run.host.hostname, started)))


def _row(name: str, one: ranking.Ranked) -> tuple[str, ...]:
    p99 = one.step.latency_ns.p99 if one.step.latency_ns else None
    spread = ranking.spread(one.side, name) or NONE
    cells = (name, one.side.letter, rate(one.step.rate_per_s), spread, one.told, duration_ns(p99) if p99 else NONE)
    return tuple(map(escape, cells))
