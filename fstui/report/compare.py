"""The report of a comparison: which run was faster, what each run is, and a table for each step."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf
from types import MappingProxyType

from msgspec.structs import astuple

from fstui.judge.facts import Case
from fstui.judge.speed.reasons import limits_reached
from fstui.model.judgement import NOT_DURABLE
from fstui.model.quantities import count
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.model.storage import Target
from fstui.report import databases, figures, io_path, latency_map
from fstui.report.comparison import Comparison, Side, bar, remarks
from fstui.report.documents import ComparedSide, ComparisonDocument, ComparisonRow
from fstui.report.sections import Report, Row, Section, Value, cell_text, right_cell, speed_cell, verdict_cell
from fstui.report.stack import medium, stack_line
from fstui.report.text import GLYPHS, NONE, moment, setting_text

RANKING_HEADER = ("", "RATE/S", "", "RATIO", "P50", "P99", "FLUSH/SYNC")
_BAR_WIDTH = 16
NOTES_TITLE = "about this comparison"
_LEGEND = ("", "RUN", "VERDICT", "STARTED")
_SIDE_FIELDS = ("target", "stack", "hostname", "verdict", "speed")
_HOUR_S = 3600


def comparison_report(runs: Sequence[Run], per_hour: Mapping[str, float] = MappingProxyType({})) -> Report:
    """Return the report of a comparison. ``per_hour``: the price per hour of each run, by run id."""
    comparison = Comparison(runs)
    sides = tuple(map(_side, comparison.sides))
    steps = tuple(step for name in comparison.step_names for step in _steps(comparison, name))
    sections = (
        Section(lines=(comparison.answer,) if comparison.answer else ()),
        _legend(comparison),
        *(_step(comparison, name) for name in comparison.step_names),
        Section(NOTES_TITLE, lines=tuple(_notes(comparison))),
        databases.workloads_compared(comparison),
        _prices(runs, per_hour),
        *(_io_path(side) for side in comparison.sides),
    )
    document = ComparisonDocument(sides=sides, steps=steps)
    return Report("", sections, document, tuple(_records(sides, steps)), tuple(runs))


def _legend(comparison: Comparison) -> Section:
    """Return a row for each side, with the facts in which the sides differ."""
    differing = {title: values for title, values in _facts(comparison).items() if not _equal(values) and any(values)}
    rows: list[Row] = []
    for index, side in enumerate(comparison.sides):
        run = side.run
        limited = ["rate limited by fstui"] * bool(run.rate_limit)
        word = verdict_cell(run.verdict, *limited, *([f"simulated: {run.simulated}"] if run.simulated else []))
        cell = word._replace(text=f"{GLYPHS[run.verdict]} {word.text}")
        started = moment(side.rounds[0].started_at)
        rows.append((side.letter, side.name, cell, started, *(values[index] or NONE for values in differing.values())))
    return Section("", (*_LEGEND, *(title.upper() for title in differing)), tuple(rows))


def _notes(comparison: Comparison) -> Iterator[str]:
    """Yield the facts that all sides have in common, and how far the ratios can be trusted."""
    equal = {title: values[0] for title, values in _facts(comparison).items() if _equal(values)}
    if text := "; ".join(f"{title} {value}" for title, value in equal.items() if value):
        yield f"The same in {'both' if len(comparison.sides) == 2 else 'all'}: {text}"
    _, trust_note = comparison.trust
    yield from filter(None, [trust_note])


def _facts(comparison: Comparison) -> dict[str, list[str]]:
    """Return, for each fact, its value on each side. Settings that are equal are left out."""
    facts = {title: [value(side) for side in comparison.sides] for title, value in _FACTS.items()}
    settings_of_sides = [side.run.scenario.settings if side.run.scenario else {} for side in comparison.sides]
    for key in dict.fromkeys(key for settings in settings_of_sides for key in settings):
        values = [setting_text(settings.get(key, NONE)) for settings in settings_of_sides]
        if len(set(values)) > 1 and all(key in settings for settings in settings_of_sides):
            facts[f"setting {key}"] = values
    return facts


def _equal(values: Sequence[str]) -> bool:
    return len(values) > 1 and len(set(values)) == 1


def _step(comparison: Comparison, name: str) -> Section:
    middle_rounds = {side.letter: middle for side in comparison.sides if (middle := side.step(name))}
    latencies = tuple(_latencies(comparison, name))
    if any(figures.figures_text(middle.step) for middle in middle_rounds.values()):
        texts = tuple((letter, figures.figures_text(middle.step) or NONE) for letter, middle in middle_rounds.items())
        return Section(name, ("", "RESULT"), texts, figures=latencies)
    ranking, compared, ratios = comparison.ranking(name), comparison.comparable(name), comparison.ratios(name)
    compared_letters = [rank.side.letter for rank in compared if len(compared) > 1]
    lossy = [rank.side.letter for rank in ranking if rank.is_lossy and len(ranking) > 1]
    rows: list[Row] = []
    for letter, middle in middle_rounds.items():
        counts = comparison.counts(middle.run)
        cells = figures.step_cells(middle.step, middle.step.settings, counts)  # with the median rate of all rounds
        measured = figures.step_cells(middle.measured, middle.step.settings, counts)  # as in the middle round
        share = middle.step.rate_per_s / compared[0].step.rate_per_s if letter in compared_letters else 0.0
        ratio = str(ratios[letter]) if letter in ratios else NONE
        marked = f"{letter} {GLYPHS['not-durable']}" if letter in lossy else letter
        figures_ = (ratio, cells["P50"], cells["P99"], measured["FLUSH/SYNC"])
        rows.append(
            (marked, right_cell(cells["RATE/S"]), bar(share, _BAR_WIDTH) if share else "", *map(right_cell, figures_))
        )
    return Section(name, RANKING_HEADER, tuple(rows), tuple(remarks(comparison, name)), figures=latencies)


def _side(side: Side) -> ComparedSide:
    run = side.run
    return ComparedSide(
        letter=side.letter,
        runs=tuple(round_.id for round_ in side.rounds),
        scenario=run.scenario_name,
        target=run.target_path,
        stack=stack_line(run.target),
        hostname=run.host.hostname,
        started_at=side.rounds[0].started_at,
        simulated=run.simulated,
        verdict=run.verdict,
        confidence=run.confidence,
        speed=side.speed,
    )


def _steps(comparison: Comparison, name: str) -> Iterator[ComparisonRow]:
    ranks = {rank.side.letter: rank for rank in comparison.ranking(name)}
    durable_per_s = [rank.step.rate_per_s for rank in ranks.values() if not rank.is_lossy]
    for side in comparison.sides:
        rates, middle, rank = side.rates(name).values(), side.step(name), ranks.get(side.letter)
        if not rates or middle is None or rank is None:
            continue
        latency = middle.step.latency_ns
        yield ComparisonRow(
            step=name,
            side=side.letter,
            rounds=len(rates),
            rate_per_s=middle.step.rate_per_s,
            lowest_rate_per_s=min(rates),
            highest_rate_per_s=max(rates),
            p50_ns=latency.p50 if latency else None,
            p99_ns=latency.p99 if latency else None,
            flushes_per_sync=comparison.counts(middle.run).flushes_per_sync(middle.measured, middle.step.settings),
            times=rank.ratio.factor if len(ranks) > 1 else None,
            times_low=rank.ratio.low,
            times_high=rank.ratio.high,
            faster_but_not_durable=rank.is_lossy and rank.step.rate_per_s > min(durable_per_s, default=inf),
        )


def _records(sides: Sequence[ComparedSide], steps: Sequence[ComparisonRow]) -> Iterator[tuple[Value, ...]]:
    by_letter = {side.letter: side for side in sides}
    yield *ComparisonRow.__struct_fields__, "runs", *_SIDE_FIELDS
    for step in steps:
        side = by_letter[step.side]
        yield *astuple(step), " ".join(side.runs), *(getattr(side, name) for name in _SIDE_FIELDS)


def _io_path(side: Side) -> Section:
    section = io_path.section(side.run)
    return section._replace(title=f"{side.letter}: {section.title}", only_in_documents=True)


def _latencies(comparison: Comparison, name: str) -> Iterator[tuple[str, str]]:
    for side in comparison.sides:
        middle = side.step(name)
        if middle and middle.step.settings.uniform and (drawn := latency_map.svg(middle.run, middle.step)):
            yield f"{side.letter}: {name}", drawn


def _other_writers(run: Run) -> str:
    """Return the flushes per second that other processes caused on each device. Their writes are left out."""
    title = next((finding.title for finding in run.findings if finding.rule == "other-writers"), "")
    rates = re.sub("(flushes/s), [^;]*", r"\1", title.partition(": ")[2])
    rates = "; ".join(device for device in rates.split("; ") if not device.endswith(" 0.00 flushes/s"))
    return rates and f"{rates} by others"  # a narrow table shows it without the title of its column


def _status(run: Run) -> str:
    """Return why the run ended early; empty if it finished."""
    status = "time limit" if run.status == "stopped" and run.time_limit_s is not None else run.status
    return "" if status == "finished" else status


def _io_limits(run: Run) -> str:
    """Return the I/O limits of the cgroup that slowed a step down."""
    case = Case(run)
    limits = dict.fromkeys(limit for step in run.steps for limit in limits_reached(case, step))
    return ", ".join(f"{limit.what} {limit.value}" for limit in limits)


def _media(target: Target | None) -> str:
    lowest = target.lowest if target else ()
    return " + ".join(dict.fromkeys(medium(node) or "unknown" for node in lowest)) or NONE


_FACTS: dict[str, Callable[[Side], str]] = {
    "scenario": lambda side: side.run.scenario_name,
    "confidence": lambda side: side.run.confidence,
    "speed": lambda side: cell_text(speed_cell(side.speed)) if side.run.speed.title else "",
    "status": lambda side: _status(side.run),
    "host": lambda side: side.run.host.hostname,
    "medium": lambda side: _media(side.run.target),
    "target": lambda side: side.location,
    "I/O limit": lambda side: _io_limits(side.run),
    "other writers": lambda side: _other_writers(side.run),
}


def _prices(runs: Sequence[Run], per_hour: Mapping[str, float]) -> Section:
    """Return how many operations of each step one unit of money pays for, and how many of them are durable."""
    if not per_hour:
        return Section()
    rows: list[Row] = []
    rows.append(("price per hour", *(f"{per_hour[run.id]:g}" if run.id in per_hour else NONE for run in runs)))
    for name in dict.fromkeys(step.name for run in runs for step in run.steps):
        steps = [next((step for step in run.steps if step.name == name), None) for run in runs]
        if any(step and step.rate_per_s and step.settings.uniform for step in steps):
            rows += _operations_for_price(name, runs, steps, per_hour)
    return Section("", ("per 1.00 spent", *(run.id for run in runs)), tuple(rows), labelled=True)


def _operations_for_price(
    name: str, runs: Sequence[Run], steps: Sequence[Step | None], per_hour: Mapping[str, float]
) -> Iterator[tuple[str, ...]]:
    word = next((step.settings.operation_name for step in steps if step and step.settings.operation_name), "writes")
    all_operations: list[str] = []
    durable_operations: list[str] = []
    for run, step in zip(runs, steps, strict=True):
        price = per_hour.get(run.id)
        text = count(round(step.rate_per_s * _HOUR_S / price)) if step and step.ops and price else NONE
        all_operations.append(text)
        # each operation was synced, on storage that is not known to drop syncs
        synced = step is not None and 0 < step.ops <= step.syncs and run.verdict not in NOT_DURABLE
        durable_operations.append(text if synced else NONE)
    yield f"{name}: {word}", *all_operations
    if any(text != NONE for text in durable_operations):
        yield "  of which durable", *durable_operations
