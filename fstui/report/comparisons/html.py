"""A comparison as one HTML page that holds all it needs: who, bars, ways down, latencies, documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fstui.model.quantities import duration_ns, rate
from fstui.model.run import Run
from fstui.report import compare, html_page, latency_svg, pivot, price, ranking, sides, way_down
from fstui.report.html_page import section, table, text
from fstui.report.ranking import Ranked
from fstui.report.sides import Side
from fstui.report.text import moment, speed_words, verdict_words

_NAME, _BAR, _TOLD, _ROW = 24, 400, 340, 22


def render(runs: Sequence[Run], width: int | None, per_hour: Mapping[str, float]) -> str:
    """The whole page."""
    found = sides.of(runs)
    return html_page.page(f"fstui: {', '.join(side.name for side in found)}", _body(found, runs, per_hour))


def _body(found: Sequence[Side], runs: Sequence[Run], per_hour: Mapping[str, float]) -> Iterator[str]:
    yield "<header><p>Side by side</p>"
    for side in found:
        yield from _who(side)
    yield f"<p>{text(ranking.meaning(found))}</p></header>"
    for name in sides.step_names(found):
        if ranked := ranking.ranking(found, name):
            told = [f"<p>{text(remark)}</p>" for remark in ranking.remarks(ranked)]
            yield from section(name, [_bars(name, ranked), *told])
    for side in found:
        if way := way_down.of_run(side.run):
            drawn = "\n".join(f'<span class="{part.state}">{text(part.text)}</span>' for part in way[1])
            yield from section(f"{side.letter}: {way_down.title(way[0])}", [f"<pre>{drawn}</pre>"])
    header, *rows = compare.rows(runs)
    yield from section("Figures", table(header, rows))
    if together := pivot.of_runs(runs):
        yield from section(together.title, [*(f"<p>{text(words)}</p>" for words in together.legend),
                                            *table(together.header, together.rows)])  # fmt: skip
    if per_hour:
        header, *rows = price.rows(runs, per_hour)
        yield from section("What it costs", table(header, rows))
    for name in sides.step_names(found):
        yield from _latencies(found, name)
    yield from (html_page.document(run, f"run-{at}") for at, run in enumerate(runs))


def _who(side: Side) -> Iterator[str]:
    run = side.run
    verdict = text(verdict_words(run.verdict, run.confidence))
    yield f'<h2>{side.letter} <span class="{run.verdict}">{verdict}</span></h2>'
    if speed := speed_words(run.speed):
        yield f'<p class="{run.speed.answer}">{text(speed)}</p>'
    if run.simulated:
        yield f"<p><strong>Simulated: {text(run.simulated)}. None of this was measured on storage.</strong></p>"
    words = (ranking.place(side), run.host.hostname, moment(side.rounds[0].started_at), f"run {side.name}")
    yield f"<p>{text(' · '.join(filter(None, words)))}</p>"


def _bars(name: str, ranked: Sequence[Ranked]) -> str:
    most = max(one.step.rate_per_s for one in ranked)
    shapes = [shape for at, one in enumerate(ranked) for shape in _bar(name, one, most, at * _ROW)]
    size = f"{_NAME + _BAR + _TOLD} {len(ranked) * _ROW}"
    return f'<svg viewBox="0 0 {size}" role="img" aria-label="rates of {text(name)}">{"".join(shapes)}</svg>'


def _bar(name: str, one: Ranked, most: float, y: int) -> Iterator[str]:
    long = max(one.step.rate_per_s / most * _BAR, 1)
    p99 = one.step.latency_ns.p99 if one.step.latency_ns else None
    words = (
        f"{rate(one.step.rate_per_s)}/s",
        ranking.spread(one.side, name),
        one.told,
        f"p99 {duration_ns(p99)}" if p99 else "",
    )
    yield f'<text x="0" y="{y + 14}">{one.side.letter}</text>'
    yield f'<rect x="{_NAME}" y="{y + 3}" width="{long:.1f}" height="14" class="{"cheat" if one.cheats else "cell"}"/>'
    yield f'<text x="{_NAME + long + 8:.1f}" y="{y + 14}">{text(" · ".join(filter(None, words)))}</text>'


def _latencies(found: Sequence[Side], name: str) -> Iterator[str]:
    for side in found:
        one = side.step(name)
        if one and one.step.settings.alike and (drawn := latency_svg.draw(one.run, one.step)):
            yield f"<figure><figcaption>{side.letter}: {text(name)}</figcaption>{drawn}</figure>"
