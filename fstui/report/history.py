"""The saved runs, newest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from fstui.model.quantities import rate, seconds
from fstui.report.characters import page
from fstui.report.glyphs import GLYPHS, SPEEDS
from fstui.report.text import NONE, columns, cut_left, moment
from fstui.state.runs import Summary

_HEADER = ("", "RUN", "STARTED", "TOOK", "SCENARIO", "RATE/S", "VERDICT", "SLOW?", "TARGET")
_ALIGN = "<<<<<><<<"
_LEFT_OUT = ("TOOK", "SLOW?", "STARTED")
"""On a narrow terminal, one after the other."""
_LEAST = 16
"""Cells of a target before that."""


def render(summaries: Sequence[Summary], width: int | None = None) -> str:
    """One line per run, its note beneath it; a file that could not be read is listed with the reason."""
    readable = [summary for summary in summaries if summary.unreadable is None]
    head, *rows = _table([_HEADER, *map(_row, readable)], width)
    noted = [line for row, one in zip(rows, readable, strict=True) for line in _with_note(row, one)]
    lines = [head, *noted] if readable else []
    return page([*lines, *(f"unreadable: {summary.unreadable}" for summary in summaries if summary.unreadable)])


def remarks(summary: Summary) -> list[str]:
    """What is special about the run, a word each; ``2/5``: its round."""
    found: list[str] = [summary.status] if summary.status and summary.status != "finished" else []
    found += [f"{summary.round.number}/{summary.round.of}"] if summary.round else []
    return [*found, *["simulated"] * (summary.simulated is not None), *["altered"] * summary.altered]


def _table(rows: Sequence[tuple[str, ...]], width: int | None) -> list[str]:
    """As wide as the terminal at most: columns are left out, then targets cut at their beginning."""
    if width is None:
        return columns(rows, _ALIGN)
    longest = max(cell_len(row[-1]) for row in rows)
    shown = [at for at, _ in enumerate(_HEADER[:-1])]
    for title in (None, *_LEFT_OUT):
        shown = [at for at in shown if _HEADER[at] != title]
        lead = columns([(*(row[at] for at in shown), "|") for row in rows], "".join(_ALIGN[at] for at in shown) + "<")
        room = width - cell_len(lead[0]) + 1
        if room >= min(_LEAST, longest):
            break
    return [line[:-1] + cut_left(row[-1], room) for line, row in zip(lead, rows, strict=True)]


def _with_note(line: str, one: Summary) -> Iterator[str]:
    yield line
    if one.note:
        yield f"   “{one.note}”"


def _row(summary: Summary) -> tuple[str, ...]:
    verdict = summary.verdict or "cannot-tell"
    return (
        GLYPHS[verdict],
        summary.id,
        moment(summary.started_at),
        seconds(summary.elapsed_s),
        summary.scenario,
        rate(summary.rate_per_s) if summary.rate_per_s else NONE,
        " · ".join([verdict, *remarks(summary)]),
        f"{SPEEDS[summary.speed]} {summary.speed}" if summary.speed else NONE,
        summary.target,
    )
