"""The saved runs, newest first."""

from __future__ import annotations

from collections.abc import Sequence

from fstui.quantities import plain, seconds
from fstui.report.glyphs import GLYPHS
from fstui.report.text import columns, moment
from fstui.state.runs import Summary

_HEADER = ("", "RUN", "STARTED", "TOOK", "SCENARIO", "TARGET", "VERDICT")


def render(summaries: Sequence[Summary]) -> str:
    """One line per run; a file that could not be read is listed with the reason."""
    rows = [_row(summary) for summary in summaries if summary.unreadable is None]
    lines = columns([_HEADER, *rows], "<<<><<<") if rows else []
    lines += [f"unreadable: {plain(summary.unreadable)}" for summary in summaries if summary.unreadable]
    return "".join(f"{line}\n" for line in lines)


def _row(summary: Summary) -> tuple[str, ...]:
    verdict, status = summary.verdict or "cannot-tell", summary.status or "finished"
    remarks = [status] * (status != "finished") + ["simulated"] * (summary.simulated is not None)
    return (
        GLYPHS[verdict],
        plain(summary.id),
        moment(summary.started_at),
        seconds(summary.elapsed_s),
        plain(summary.scenario),
        plain(summary.target),
        " · ".join([verdict, *remarks]),
    )
