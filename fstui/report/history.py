"""The saved runs, newest first."""

from __future__ import annotations

from collections.abc import Sequence

from fstui.model.quantities import rate, seconds
from fstui.report.sections import Cell, Report, Section, glyph, number, speed, verdict
from fstui.report.text import moment
from fstui.state.runs import Summary

_HEADER = ("", "RUN", "STARTED", "TOOK", "SCENARIO", "RATE/S", "VERDICT", "SLOW?", "TARGET", "NOTE")
_RECORDS = (
    "run", "started_at", "elapsed_s", "scenario", "target", "rate_per_s", "verdict", "speed", "status", "note",
)  # fmt: skip


def of_summaries(summaries: Sequence[Summary]) -> Report:
    """One row per run, then the files that could not be read."""
    readable = [summary for summary in summaries if summary.unreadable is None]
    unreadable = tuple(f"unreadable: {one.unreadable}" for one in summaries if one.unreadable)
    table = Section("", _HEADER, tuple(map(_row, readable)), unreadable)
    return Report("", (table,), summaries, Section("", _RECORDS, tuple(map(_record, readable))))


def remarks(summary: Summary) -> list[str]:
    """What is special about the run, a word each; ``2/5``: its round."""
    found: list[str] = [summary.status] if summary.status and summary.status != "finished" else []
    found += [f"{summary.round.number}/{summary.round.of}"] if summary.round else []
    return [*found, *["simulated"] * (summary.simulated is not None), *["altered"] * summary.altered]


def _row(summary: Summary) -> tuple[Cell | str, ...]:
    word = summary.verdict or "cannot-tell"
    return (
        glyph(word),
        summary.id,
        moment(summary.started_at),
        seconds(summary.elapsed_s),
        summary.scenario,
        number(summary.rate_per_s or None, rate),
        verdict(word, *remarks(summary)),
        speed(summary.speed),
        summary.target,
        f"“{summary.note}”" if summary.note else "",
    )


def _record(one: Summary) -> tuple[Cell | str, ...]:
    values = (
        one.id, one.started_at, one.elapsed_s, one.scenario, one.target, one.rate_per_s or None, one.verdict, one.speed,
        one.status, one.note,
    )  # fmt: skip
    return tuple(Cell("", each) for each in values)
