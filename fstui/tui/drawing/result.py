"""The result screen: the verdict, its sentence, what to do next and the evidence, then the findings and the steps."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from datetime import datetime
from typing import cast

from msgspec.structs import replace
from rich.text import Text

from fstui.model.judgement import FASTEST_STEP, NOT_TRUSTED, TOO_SLOW, Finding, Verdict
from fstui.model.quantities import count, duration_ns, ratio, seconds, size
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.report import databases, figures, replicas
from fstui.report import fit as fit_report
from fstui.report import io_path as path_report
from fstui.report.figures import Counts
from fstui.report.findings import judged_steps, leading_finding, quoted_steps, without_power_cut
from fstui.report.findings import title as finding_title
from fstui.report.latency_map import LogScale
from fstui.report.run import FILESYSTEM_PREFIX
from fstui.report.text import NONE, cut_left, origin, speed_label, unsaved_reason, verdict_label, verdict_line
from fstui.runs.checking import FIT
from fstui.tui.drawing import charts, io_path, latency, report
from fstui.tui.drawing.cells import (
    MIN_FRAME_WIDTH,
    Column,
    drawn_width,
    fit,
    fit_columns,
    heading,
    labelled_lines,
    line,
    paragraph,
    row,
    rule,
    selectable_row,
    styled_row,
    tell_apart,
    title_line,
    window,
)
from fstui.tui.drawing.report import IS_IT_SLOW, PART_STYLES, Detail
from fstui.tui.drawing.run import (
    CURVE,
    W_AMP,
    cell_styles,
    numbers,
    step_columns,
    text_row,
    with_scale,
)
from fstui.tui.styles import BAD, FAINT, WARNING, speed_style, step_style, verdict_style

STEPS = (
    Column("STEP", gap=0, cut="middle"),
    Column(CURVE, 16, from_width=100, gap=2),
    Column("RATE/S", 9, right=True),
    Column("P50", 7, right=True),
    Column("P90", 8, right=True, from_width=120),
    Column("P99", 8, right=True, from_width=60),
    Column("P99.9", 8, right=True, from_width=110),
    Column("MAX", 8, right=True, from_width=70),
    Column("STALLS", 7, right=True, from_width=130),
    Column("FLUSH/SYNC", 10, right=True),
    Column(W_AMP, 6, right=True, from_width=75),
)
_JUDGED_TITLE = f"STEP ({figures.JUDGED} in verdict)"
_NAME_WIDTH, _WIDE_SCREEN = 20, 90
"""A narrower terminal cuts the names of rules and omits the confidence, to leave room for the text."""
FINDINGS = (
    Column("FINDING", gap=0),
    Column("VERDICT", gap=2),
    Column("CONFIDENCE", gap=2, from_width=_WIDE_SCREEN - 4),
    Column("WHAT", gap=2, cut="list"),
)
_BARE_EDGES = ("│", "╳")

SHORT_LINES = 10
"""An explanation that does not fit into this height begins with the most important lines of each part."""


def title(run: Run, width: int, *, is_saved: bool = False) -> Text:
    name = run.scenario.name if run.scenario else ""
    place = io_path.path(run.target) if run.target else ""
    has_year = is_saved and width >= MIN_FRAME_WIDTH
    when = started(run, "%Y " if has_year else "")
    remark = " · ".join(filter(None, (when, seconds(run.elapsed_s), run.status_text)))
    badge = "  ".join(filter(None, (origin(run.simulated), "saved run" if is_saved else "")))
    return title_line(name, place, remark, width, badge)


def started(run: Run, year: str = "%Y ") -> str:
    return datetime.fromisoformat(run.started_at).strftime(f"%-d %b {year}%H:%M")


def verdict(run: Run, width: int, power_cut: str = "no power-cut test") -> Text:
    """Draw the verdict. ``power_cut``: how to test it with a power cut."""
    if loss := replicas.headline(run):
        badge, (_, style) = f" {loss.title} ", verdict_style(cast(Verdict, loss.style))
        return line((fit(badge, min(drawn_width(badge), width)), f"reverse {style}"))
    glyph, style = verdict_style(run.verdict)
    badge, confidence = f" {glyph} {verdict_label(run.verdict)} ", f" {run.confidence} confidence"
    untested = f"   {power_cut}" if run.verdict == "consistent" else ""
    return line((badge, f"reverse {style}"), confidence, untested)


def speed(run: Run, width: int) -> list[Text]:
    """Draw the answer to "is it slow?". If the headline is the loss of a replica, draw the verdict above it."""
    lines: list[Text] = []
    if replicas.headline(run):
        verdict_text = fit(
            verdict_line(run.verdict, run.confidence), max(width - len(FILESYSTEM_PREFIX) - 1, 0)
        ).rstrip()
        lines = [line(f" {FILESYSTEM_PREFIX}", (verdict_text, verdict_style(run.verdict)[1]))]
    if not run.speed.title:
        return lines
    glyph, style = speed_style(run.speed.answer)
    badge = f" {glyph} {speed_label(run.speed.answer)} "
    width -= len(badge) + 2  # a blank on both sides
    titles = [run.speed.title, run.speed.title.removesuffix(FASTEST_STEP)]
    if run.speed.answer in TOO_SLOW:
        what, _, cause = re.sub(r" \([^()]*\)$", "", run.speed.title).partition(": ")  # without the names of processes
        shorter = (what, what.partition(" of “")[0], what.partition(" for ")[0])
        titles = [f"{part}: {cause}" for part in shorter] if cause else [what]
    elif answer := _answer(run):
        titles = [*(f"{answer} · {title.partition(';')[0]}" for title in titles), answer]
    title = next((title for title in titles if drawn_width(title) <= width), titles[-1])
    return [*lines, line((badge, f"reverse {style}"), f" {fit(title, width).rstrip()}")]


def _answer(run: Run) -> str:
    """Return the answer to the question of the scenario in a few words; empty if the verdict answers it."""
    if run.verdict in NOT_TRUSTED:
        return ""
    return fit_report.headline(run) if run.scenario_name == FIT else databases.headline(run)


def explanation(run: Run, finding: Finding | None, width: int, height: int, *, brief: bool = False) -> list[Text]:
    """Draw the sentence of a finding, what to do next, and the evidence. ``brief``: without its details."""
    if finding is None:
        return paragraph(sentence(run, finding), width)
    # the verdict line already names the key of the power-cut test
    names_key = run.verdict == "consistent" and not run.simulated
    next_steps = tuple(without_power_cut(finding.next)) if names_key else finding.next
    shown = replace(finding, sentence=sentence(run, finding), next=next_steps)
    complete = _explanation(shown, width)
    if len(complete) <= height and not (brief and height > SHORT_LINES):
        return complete
    evidence = tuple(re.sub(r" \([^()]*\)$", "", part) for part in finding.evidence)
    shown = replace(shown, evidence=evidence)
    if height > SHORT_LINES:
        lines = _explanation(shown, width)
        if len(lines) <= height:
            return lines
        lines = lines[: height - 1]
        return [*lines, line((f"   … {len(complete) - len(lines)} more (PgDn)", FAINT))]
    numbers = range(len(evidence), -1, -1)
    parts = [(shown, number) for number in numbers if number]
    if (
        finding.verdict not in (None, "cannot-tell") or finding.rule == IS_IT_SLOW
    ):  # then the first sentence says what the verdict is based on
        first = re.split("(?<=[.!?]) ", finding.sentence or finding.title, maxsplit=1)[0]
        shown = replace(shown, sentence=first)
    parts += [(shown, number) for number in numbers]
    drawn = (
        _explanation(replace(part, next=next_steps[:1], evidence=evidence[:number]), width) for part, number in parts
    )
    lines = next((lines for lines in drawn if len(lines) < height), [])
    if not lines:  # the next step is complete, and the sentence is cut
        after = _explanation(replace(shown, sentence="", next=next_steps[:1], evidence=()), width)
        lines = paragraph(shown.sentence, width)[: max(height - 1 - len(after), 0)]
        for last in lines[-1:]:
            last.truncate(width - 3, overflow="crop")
            last.append(" …")
        lines = [*lines, *after][: height - 1]
    return [*lines, line((f"   … {len(complete) - len(lines)} more (PgDn)", FAINT))]


def _explanation(finding: Finding, width: int) -> list[Text]:
    lines = paragraph(finding.sentence, width) if finding.sentence else []
    if finding.scope == "step":
        lines.append(line(("   this step only: " + ", ".join(finding.steps), FAINT)))
    lines += labelled_lines("next", finding.next, width)
    return [*lines, *labelled_lines("because", finding.evidence, width)]


def sentence(run: Run, finding: Finding | None) -> str:
    if finding is None or (finding is leading_finding(run) and run.sentence):
        return run.sentence
    return finding.sentence or finding.title


def picture(run: Run, step: Step | None, width: int, height: int) -> list[Text]:
    if step is None:
        return []
    view, is_database = latency.step_view(run, step), step.settings.reports_own_figures
    title = rule(width, step.name, latency.P95_NOTE if is_database else "", () if is_database else latency.LEGEND)
    return [title, *latency.chart(view, width, height - 1, step.settings.operation_name)] if view.timeline else []


def step_of_finding(run: Run, chosen: Finding | None) -> Step | None:
    """Return the step whose heat map is shown next to a finding.

    Prefer the step whose rate the finding's sentence quotes. Next is the step that the answer to "is it slow?" names,
    unless another finding than the leading one names only other steps. Otherwise, choose the step with the most syncs:
    of those that the finding names, or of all if it names none.
    """
    timed_steps = [step for step in run.steps if step.timeline]
    if quoted := quoted_steps(sentence(run, chosen), timed_steps):
        return quoted[0]
    steps_of_finding = [step for step in timed_steps if chosen and step.name in chosen.steps] or timed_steps
    candidates = steps_of_finding if chosen and chosen is not leading_finding(run) else timed_steps
    answer = step_of_speed(run)
    return answer if answer in candidates else max(steps_of_finding, key=lambda step: step.syncs, default=None)


def step_of_speed(run: Run) -> Step | None:
    """Return the step with a timeline that the answer to "is it slow?" names first, if it names one."""
    answer = next(iter(run.speed.evidence), "")  # "fdatasync: 3.9 ms each, …"; a name may itself contain a colon
    named = [step for step in run.steps if step.timeline and answer.startswith(f"{step.name}: ")]
    return max(named, key=lambda step: step.syncs, default=None)


def io_path_lines(run: Run, step: Step | None, width: int, *, compact: bool) -> list[Text]:
    """Draw the I/O path of a step. ``compact``: omit the edges without counts, and ratios that do not fit."""
    if step is None:
        return []
    parts = path_report.lines(run, step)
    if compact:
        shown = [part for part in parts if part.text.strip() not in _BARE_EDGES]
        parts = [
            part if drawn_width(part.text) + 3 <= width else part._replace(text=re.sub(r" \([^()]*\)", "", part.text))
            for part in shown
        ]
    inset = "   " if max((drawn_width(part.text) for part in parts), default=0) + 3 <= width else " "
    drawn = [(fit(inset + part.text, width).rstrip(), PART_STYLES[part.style]) for part in parts]
    return [rule(width, path_report.title(step)), *map(line, drawn)]


def step_detail(step: Step, run: Run, width: int) -> list[Text]:
    operation, counts = step.latency_ns, Counts(run)
    is_normal = step.status == "finished" and not figures.failure(step)
    lines = paragraph(step.name if is_normal else f"{step.name}: {step.status}. {figures.failure(step)}", width)
    requested = f"{count(step.ops)} operations, {count(step.syncs)} syncs, {size(step.bytes)}"
    requested += f", {step.writers} writers" if step.writers > 1 else ""
    elapsed = seconds(step.elapsed_s) if step.elapsed_s >= 1 else duration_ns(step.elapsed_s * 1e9)
    parts = [f"requested: {requested} in {elapsed}"]
    if figures_text := figures.figures_text(step):
        parts.append(f"result: {figures_text}")
    for label, part in (("whole operation", operation), ("write", step.write_ns), ("sync", step.sync_ns)):
        if part is not None and step.settings.uniform:
            times = ((name, figures.percentile(part, field)) for name, field in figures.PERCENTILES.items())
            parts.append(f"{label}: {' '.join(f'{name.lower()} {time}' for name, time in times if time != NONE)}")
    shared = counts.shared_devices([step])
    for device in step.counters:
        flushed = "flushes not counted" if device.flushes is None else f"{count(device.flushes)} flushes"
        bytes_written = "" if device.written_bytes is None else f", {size(device.written_bytes)}"
        owner = ", of all processes" if device.device in shared else ""
        parts.append(f"{device.device}: {count(device.writes or 0)} writes{bytes_written}, {flushed}{owner}")
    if step.stalls.count:
        parts.append(f"stalls: {step.stalls.count}, {seconds(step.stalls.lost_s)} lost")
    if (arrived := counts.bytes_ratio(step)) is not None:
        parts.append(f"bytes at the device: {ratio(arrived)} per byte written")
    parts.append(f"settings: {', '.join(figures.settings_words(step.settings.as_dict()))}")
    return lines + labelled_lines("details", parts, width)


def findings(ordered: Sequence[Finding], selected: int | None, width: int, height: int) -> list[Text]:
    """Draw a line for each finding."""
    cells = [_cells(finding) for finding in ordered]
    widths = {
        column.title: max(len(text) for text in (column.title, *(values[column.title] for values in cells)))
        for column in FINDINGS[:-1]
    }
    if width < _WIDE_SCREEN:
        widths["FINDING"] = min(widths["FINDING"], max(width * 3 // 10, _NAME_WIDTH))
    columns = fit_columns([replace(column, width=widths.get(column.title, 0)) for column in FINDINGS], width - 4)

    def draw(index: int) -> Text:
        finding = ordered[index]
        glyph = verdict_style(None if finding.scope == "step" else finding.verdict)
        return selectable_row([(row(columns, cells[index]), "")], selected=index == selected, glyph=glyph)

    return [heading(columns, width), *window(len(ordered), draw, selected or 0, height - 1)]


def steps(
    run: Run,
    details: Sequence[Detail],
    selected: int | None,
    width: int,
    height: int,
    *,
    open_titles: Set[str] = frozenset(),
) -> list[Text]:
    """Draw a line for each step and for each further section. ``open_titles``: of the sections that are visible."""
    judged = judged_steps(run)
    names = [step.name for step in run.steps]
    counts = Counts(run)
    has_bytes = any(counts.bytes_ratio(step) is not None for step in run.steps)
    columns = step_columns([column for column in STEPS if has_bytes or column.title != W_AMP], names, width - 5)
    names = tell_apart(names, columns[0].width)
    scale = charts.p99_scale(latency.timeline(step) for step in run.steps if step.settings.uniform)
    rows = [
        _step(
            step,
            name,
            counts,
            columns,
            scale,
            verdict=run.verdict,
            selected=index == selected,
            is_judged=step.name in judged,
        )
        for index, (step, name) in enumerate(zip(run.steps, names, strict=True))
    ]
    rows += [
        report.row(part, width, selected=index == selected, is_open=part.title in open_titles)
        for index, part in enumerate(details, len(run.steps))
    ]
    explained = figures.HIGH_AND_LOW if any(part.title == databases.DURABLE_AND_NOT for part in details) else ""
    step_notes = figures.step_notes(run.steps, counts, [column.title for column in columns])
    notes = [part for note in step_notes if note != explained for part in paragraph(note, width, style=FAINT)]
    if len(rows) + 1 + len(notes) > height or width < MIN_FRAME_WIDTH - 2:  # a small screen needs the room
        notes = []
    first, *others = with_scale(columns, scale)
    top_line = heading([replace(first, title=_JUDGED_TITLE) if judged else first, *others], width)
    return [top_line, *window(len(rows), rows.__getitem__, selected or 0, height - 1 - len(notes)), *notes]


def saved(run: Run, saved_to: str | None, save_error: str | None, width: int) -> Text:
    if run.left_behind:
        return line((fit(f" ! could not be removed: {run.left_behind[0]}", width), BAD))
    if saved_to is None:
        notice = f" ! not saved: {save_error}" if save_error else f" not saved: {unsaved_reason(run.simulated or '')}"
        return line((fit(notice, width), WARNING if save_error else FAINT))
    return line((" saved ", FAINT), cut_left(saved_to, width - 8))


def _cells(finding: Finding) -> dict[str, str]:
    of_step = finding.scope == "step"  # then the verdict is not about the storage
    return {
        "FINDING": finding.rule,
        "VERDICT": "note" if of_step else finding.verdict or "note",
        "CONFIDENCE": "" if of_step else finding.confidence,
        "WHAT": finding_title(finding),
    }


def _step(
    step: Step,
    name: str,
    counts: Counts,
    columns: Sequence[Column],
    scale: LogScale,
    *,
    verdict: Verdict,
    selected: bool,
    is_judged: bool,
) -> Text:
    glyph, style = (figures.JUDGED if is_judged else " ", "")
    if step.status != "finished":
        glyph, style = step_style(step.status)
        name += f" {figures.JUDGED}" if is_judged else ""
    values = {"STEP": name}
    if step.ops and not step.settings.uniform:
        text = text_row(columns, name, figures.figures_text(step))
        return selectable_row([(text, "")], selected=selected, glyph=(glyph, style))
    if step.ops:
        values |= numbers(step, step.settings, counts, columns, scale)
        values["STALLS"] = count(step.stalls.count)
    else:
        values["RATE/S"] = step.status
    spans = styled_row(columns, values, cell_styles(values, verdict))
    return selectable_row(spans, selected=selected, glyph=(glyph, style))
