"""The saved runs: a list, newest first, and the trend of each scenario on each filesystem."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePath

import msgspec

from fstui.model.judgement import NOT_TRUSTED, Verdict
from fstui.model.quantities import counted, rate, seconds
from fstui.model.storage import Target
from fstui.report.sections import Cell, Report, Row, Section, glyph_cell, number_cell, speed_cell
from fstui.report.text import GLYPHS, moment, setting_text, sparkline
from fstui.state.outlines import ReplicaCutResult
from fstui.state.runs import Summary

_HEADER = ("", "RUN", "STARTED", "SCENARIO", "VERDICT", "SPEED", "RATE/S", "STEP", "TOOK", "TARGET", "NOTE")
_RECORDS = (
    "run", "started_at", "elapsed_s", "scenario", "target", "rate_per_s", "verdict", "speed", "status", "note",
)  # fmt: skip
_TREND_RECORDS = ("target", "scenario", "step", "run", "started_at", "rate_per_s", "verdict")
NO_TREND = "A trend needs two finished runs of one scenario on one filesystem, without --max-rate or --idle."
_MAX_TREND_RUNS = 40
_RESULT_STYLES: dict[ReplicaCutResult, Verdict] = {"lost": "lost", "diverged": "suspicious", "none lost": "consistent"}


def history_report(summaries: Sequence[Summary]) -> Report:
    from fstui.report.documents import HistoryDocument  # noqa: PLC0415  a plan screen needs no JSON documents

    readable = [summary for summary in summaries if summary.unreadable is None]
    unreadable = tuple(f"unreadable: {summary.unreadable}" for summary in summaries if summary.unreadable)
    table = Section("", _HEADER, tuple(map(_row, readable)), unreadable)
    values = [
        (
            run.id, run.started_at, run.elapsed_s, run.scenario, run.target, run.rate_per_s or None, run.verdict,
            run.speed, run.status, run.note,
        )
        for run in readable
    ]  # fmt: skip
    return Report("", (table,), HistoryDocument(runs=tuple(summaries)), (_RECORDS, *values))


def remarks(summary: Summary) -> list[str]:
    """Return short remarks, such as ``stopped``, ``time limit``, ``simulated``, or ``2/5`` for a round."""
    words: list[str] = [summary.status] if summary.status and summary.status != "finished" else []
    if summary.status == "stopped" and summary.time_limit_s is not None:
        words = ["time limit"]
    words += [f"{summary.round.number}/{summary.round.of}"] if summary.round else []
    words += ["limited"] * summary.limited
    return [*words, *["simulated"] * (summary.simulated is not None), *["altered"] * summary.altered]


def answer(summary: Summary) -> tuple[str, Verdict]:
    """Return the verdict of a run, or the result of a replica test, and the verdict in whose style it is shown."""
    word = summary.verdict or "cannot-tell"
    if summary.survived is None or word in NOT_TRUSTED:
        return word, word
    return summary.survived, _RESULT_STYLES[summary.survived]


def _row(summary: Summary) -> Row:
    word, style = answer(summary)
    return (
        glyph_cell(style),
        summary.id,
        moment(summary.started_at),
        summary.scenario,
        Cell(" · ".join([word, *remarks(summary)]), style),
        speed_cell(summary.speed),
        number_cell(summary.rate_per_s or None, rate),
        summary.rate_of,
        seconds(summary.elapsed_s),
        summary.target,
        f"“{summary.note}”" if summary.note else "",
    )


def trend_report(summaries: Sequence[Summary]) -> Report:
    from fstui.report.documents import Series, TrendDocument  # noqa: PLC0415

    repeated = repeated_series(summaries)
    document = TrendDocument(
        series=tuple(
            Series(target=runs[-1].target, scenario=runs[-1].scenario, step=runs[-1].rate_of, runs=tuple(runs))
            for runs in repeated
        )
    )
    values = [
        (run.target, run.scenario, run.rate_of, run.id, run.started_at, run.rate_per_s, run.verdict)
        for runs in repeated
        for run in runs
    ]
    lasts = [runs[-1] for runs in repeated]
    sections = tuple(trend(runs, own_settings(runs[-1], lasts)) for runs in repeated)
    return Report("", sections, document, (_TREND_RECORDS, *values))


def series(summaries: Sequence[Summary]) -> list[list[Summary]]:
    """Group finished runs, newest first, by scenario, settings and target. Each group has its oldest run first."""
    lists: dict[tuple[object, ...], list[Summary]] = {}
    for run in summaries:
        if run.rate_per_s and run.status == "finished" and not run.limited:
            settings = msgspec.json.encode(run.settings, order="sorted")
            lists.setdefault((run.scenario, settings, run.rate_of, *storage_key(run)), []).append(run)
    return [sorted(runs, key=lambda run: (run.started_at, run.path)) for runs in lists.values()]


def repeated_series(summaries: Sequence[Summary]) -> list[list[Summary]]:
    return [runs for runs in series(summaries) if len(runs) > 1]


def runs_with_other_settings(run: Summary, summaries: Sequence[Summary]) -> int:
    """Return how many finished runs of the same scenario on the same storage have other settings."""
    others = (other for runs in series(summaries) for other in runs if other.settings != run.settings)
    return sum(other.scenario == run.scenario and storage_key(other) == storage_key(run) for other in others)


def own_settings(run: Summary, others: Iterable[Summary]) -> str:
    """Return the settings in which the run differs from another run of its scenario: ``seconds=2 block=4096,8192``."""
    settings = [other.settings for other in others if other.scenario == run.scenario]
    differing = (key for key, value in run.settings.items() if any(other.get(key) != value for other in settings))
    return " ".join(f"{key}={setting_text(run.settings[key])}" for key in differing)


def storage_key(run: Summary) -> tuple[str | None, ...]:
    """Return a key that is equal for runs on the same target of the same host."""
    # the identity alone is not enough: disks without serial numbers, such as loop devices, may have the same one
    return run.hostname, run.identity, run.target, run.simulated


def is_run_on(run: Summary, target: Target, hostname: str) -> bool:
    """Return whether a run was on this filesystem. The identity alone is not enough: see ``storage_key``."""
    is_same = bool(target.identity) and (run.identity, run.hostname) == (target.identity, hostname)
    return is_same and PurePath(run.target).is_relative_to(target.mount_point)


def bars(runs: Sequence[Summary]) -> str:
    return sparkline([run.rate_per_s for run in runs])


def trend(runs: Sequence[Summary], settings: str) -> Section:
    first, last, recent = runs[0], runs[-1], runs[-_MAX_TREND_RUNS:]
    simulated = " · SIMULATED" if last.simulated else ""
    rates = [run.rate_per_s for run in runs]
    line = (
        f"{counted(len(runs), 'finished run')} since {moment(first.started_at)}: first {rate(rates[0])}/s, last "
        f"{rate(rates[-1])}/s ({rates[-1] / rates[0]:.2f} ×)"
    )
    if {min(rates), max(rates)} != {rates[0], rates[-1]}:
        line += f"; lowest {rate(min(rates))}/s, highest {rate(max(rates))}/s"
    verdicts = "".join(GLYPHS[run.verdict or "cannot-tell"] for run in recent)
    title = " · ".join(filter(None, (last.target, last.scenario, last.rate_of, settings))) + simulated
    return Section(title, lines=(line,), drawn=(bars(recent), verdicts))
