"""The saved runs, newest first."""

from __future__ import annotations

from collections.abc import Sequence

from fstui.quantities import seconds
from fstui.report.characters import page
from fstui.report.glyphs import GLYPHS, SPEEDS
from fstui.report.text import NONE, moment, table
from fstui.state.runs import Summary

_HEADER = ("", "RUN", "STARTED", "TOOK", "SCENARIO", "TARGET", "VERDICT", "SLOW?")


def render(summaries: Sequence[Summary], width: int | None = None) -> str:
    """One line per run; a file that could not be read is listed with the reason."""
    rows = [_row(summary) for summary in summaries if summary.unreadable is None]
    lines = table([_HEADER, *rows], "<<<><<<<", width) if rows else []
    lines += [f"unreadable: {summary.unreadable}" for summary in summaries if summary.unreadable]
    return page(lines)


def _row(summary: Summary) -> tuple[str, ...]:
    verdict, status = summary.verdict or "cannot-tell", summary.status or "finished"
    remarks = [status] * (status != "finished") + ["simulated"] * (summary.simulated is not None)
    remarks += ["altered"] * summary.altered
    return (
        GLYPHS[verdict],
        summary.id,
        moment(summary.started_at),
        seconds(summary.elapsed_s),
        summary.scenario,
        summary.target,
        " · ".join([verdict, *remarks]),
        f"{SPEEDS[summary.speed]} {summary.speed}" if summary.speed else NONE,
    )
