"""A run as plain text, for a terminal, a log or a ticket: the word, the sentence, because, next, then the tables."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len

from fstui.model.judgement import Finding, Speed
from fstui.model.quantities import seconds, size
from fstui.model.run import Run
from fstui.report import figures, pivot, ruler, side_by_side, steps, way_down
from fstui.report.characters import page
from fstui.report.findings import leading, ordered, title
from fstui.report.glyphs import GLYPHS
from fstui.report.sections import Report, Section, alignment
from fstui.report.sections import text as cell_text
from fstui.report.text import (
    NONE,
    WIDTH,
    because,
    columns,
    cut_left,
    hanging,
    labelled,
    moment,
    speed_words,
    verdict_words,
    wrap,
)

ENDING = ""
_LEAST = 16
"""Cells of a column on a narrow terminal."""


def render(run: Run, saved_to: str | None = None) -> str:
    """The whole result; ``saved_to`` is the file it can be read from again."""
    lines = [*_head(run), *_verdict(run), "", *_findings(run), *steps.table(run.steps, figures.Counts(run))]
    if way := way_down.of_run(run):
        lines += ["", way_down.title(way[0]), *(f"  {part.text}" for part in way[1])]
    for each in pivot.tables(run):
        lines += ["", *pivot.lines(each, WIDTH)]
    lines += [part for note in pivot.notes(run) for part in ["", *wrap(note, WIDTH)]]
    if placed := ruler.of_run(run):
        lines += ["", *placed]
    if run.wear_bytes:
        lines += ["", *wrap(_wear(run), WIDTH)]
    if run.left_behind:
        lines += [
            "",
            "Could not be removed, see 'fstui clean':",
            *(f"  {path}" for path in run.left_behind),
        ]
    if saved_to:
        lines += ["", f"saved {saved_to}"]
    return page(lines)


def render_report(report: Report, width: int | None = None) -> str:
    """The title, then the sections with a blank line between them."""
    blocks = [[report.title]] if report.title else []
    blocks += [list(_section(section, width)) for section in report.in_words]
    return page(line for at, block in enumerate(blocks) for line in (["", *block] if at else block))


def _section(section: Section, width: int | None) -> Iterator[str]:
    indent = "  " if section.title else ""
    room = min(width or WIDTH, WIDTH) - len(indent)
    if section.title:
        yield from wrap(section.title, room)
    yield from _table(section, width)
    yield from (f"{indent}{line}" for line in section.drawn)
    for line in section.lines:
        yield from (f"{indent}{part}" for part in wrap(line, room))
    for label, lines in section.points:
        yield from because(lines) if label == "because" else labelled(label, lines)


def _table(section: Section, width: int | None) -> list[str]:
    if not section.rows:
        return []
    align = alignment(section)
    rows = [section.header, *(tuple(map(cell_text, row)) for row in section.rows)]
    if section.side_by_side:
        return list(side_by_side.lines(rows, width or WIDTH))
    whole = columns(rows, align)
    return whole if width is None or _widest(whole) <= width else _narrow(rows, align, width)


def _narrow(rows: list[tuple[str, ...]], align: str, width: int) -> list[str]:
    """The columns for which there is room; below each row the others, and whole what was too long for its column."""
    most = max(width // 3, _LEAST)
    shown, kept = rows, len(align) - 1
    while _widest(columns([row[:kept] for row in shown], align[:kept])) > width and kept > 1:
        if shown is rows:
            shown = [tuple(cut_left(cell, most) for cell in row) for row in rows]
        else:
            kept -= 1
    lines = columns([row[:kept] for row in shown], align[:kept])
    drawn = [lines[0]]
    for line, row, cells in zip(lines[1:], rows[1:], shown[1:], strict=True):
        below = [whole for whole, cell in zip(row[:kept], cells, strict=False) if whole != cell]
        for name, cell, side in zip(rows[0][kept:], row[kept:], align[kept:], strict=True):
            below += [f"{name} {cell}" if side == ">" else cell] if cell not in ("", NONE) else []
        drawn += [line, *(f"     {part}" for part in wrap(" · ".join(below), width - 5))]
    return drawn


def _widest(lines: list[str]) -> int:
    return max(map(cell_len, lines))


def _head(run: Run) -> Iterator[str]:
    scenario = run.scenario.name if run.scenario else "no scenario"
    target = run.target.path if run.target else ""
    stack = figures.stack_line(run.target)
    yield f"{scenario}   {target} · {stack}" if stack else f"{scenario}   {target}"
    where = f"{run.host.hostname} · {run.host.kernel} · " if run.host.hostname else ""
    status = "" if run.status == "finished" else f" · {run.status}"
    yield f"{where}{moment(run.started_at)} · {seconds(run.elapsed_s)}{status} · run {run.id}"
    if run.simulated:
        yield f"SIMULATED: {run.simulated}. None of this was measured on storage."
    yield ""


def _wear(run: Run) -> str:
    """``written to vda meanwhile: 12.1 MiB, whoever wrote it; by fstui itself 8.0 MiB``"""
    devices = ", ".join(f"{device} {size(written)}" for device, written in sorted(run.wear_bytes.items()))
    return f"written meanwhile, whoever wrote it: {devices}; by fstui's own probes {size(run.written_bytes)}"


def _verdict(run: Run) -> Iterator[str]:
    yield verdict_words(run.verdict, run.confidence)
    yield from hanging([tuple(speed_words(run.speed).partition("  ")[::2])]) if run.speed.title else ()
    yield from (f"  {line}" for line in wrap(run.sentence, WIDTH - 2))
    if found := leading(run):
        yield from because(found.because)
        yield from labelled("next", found.next)
    yield from _speed(run.speed)


def _speed(speed: Speed) -> Iterator[str]:
    """The second answer, after the first one is explained."""
    if speed.sentence:
        yield ""
        yield from (f"  {line}" for line in wrap(f"Is it slow? {speed.sentence}", WIDTH - 2))
        yield from because(speed.because)
        yield from labelled("next", speed.next)


def _findings(run: Run) -> list[str]:
    if not run.findings:
        return []
    found = f"{len(run.findings)} finding" + ("s" if len(run.findings) > 1 else "")
    return [found, *hanging([finding_row(finding) for finding in ordered(run)]), ""]


def finding_row(finding: Finding) -> tuple[str, str, str, str, str]:
    """Glyph, rule, verdict or ``note``, confidence, title."""
    glyph = GLYPHS[finding.verdict] if finding.verdict else " "
    return (
        glyph,
        finding.rule,
        finding.verdict or "note",
        finding.confidence,
        title(finding),
    )
