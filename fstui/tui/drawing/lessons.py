"""The list of lessons, and the pages of a lesson: text, question, runs, and pictures of what they show."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from math import ceil, log2
from typing import Any

from msgspec.structs import replace
from rich.cells import cell_len
from rich.text import Text

from fstui.model.quantities import duration_ns, rate, ratio
from fstui.model.steps import Snapshot, Step
from fstui.report.comparison import bar
from fstui.report.figures import percentile, settings_words
from fstui.report.glossary import spelling, terms_in
from fstui.report.teaching import durations_ns
from fstui.report.text import verdict_label
from fstui.runs.lessons import CheckedClaim, Choice, Lesson, LessonRun, PlannedRun, TakenLesson
from fstui.tui.drawing import charts, io_path, latency
from fstui.tui.drawing.cells import (
    Column,
    clickable,
    fit,
    fit_columns,
    fit_list,
    line,
    meter,
    name_lines,
    paragraph,
    rule,
    spread,
)
from fstui.tui.drawing.report import short_term_lines, term_lines
from fstui.tui.progress import Progress
from fstui.tui.styles import (
    AREA,
    BAD,
    BRAND,
    FAINT,
    GOOD,
    HEAD,
    KEY,
    SELECTED,
    TIME,
    WARNING,
    step_style,
    verdict_style,
)
from fstui.tui.widgets.table import TableContent, row_cells

STAGES = ("predict", "run", "compare", "explain", "question")
_STAGE_TEXTS = (
    "Choose what you expect.",
    "Watch the steps run on simulated disks.",
    "See your answer and the measured rates.",
    "Read why.",
    "Answer one more question.",
)
_STEP_WIDTH, _RATE_WIDTH, _MIN_BAR_WIDTH = 22, 32, 6
_ACTION_WIDTH, _MAX_TIME_CELLS = 22, 40
_RUNNING, _WAITING = "▸", "·"
_MIN_QUESTION_WIDTH = 90
_ALL_MAPS_FROM, _MIN_MAP_LINES = 80, 13
"""The maps of all steps are side by side from this width, and below each other if each has as many lines."""
_MAX_LINEAR_RATIO = 50
"""If the highest rate is more than this many times the lowest one, the scale of the bars is logarithmic."""
_OMITTED_SETTINGS = ("max_bytes_per_s", "prefill", "seconds")
"""Settings that do not matter to the student. A step takes longer or shorter than its ``seconds``."""
_RIGHT_STYLES = (WARNING, "", GOOD)
"""The style for 0, 1 and 2 right answers."""
COLUMNS = (
    Column("NO", 2, right=True),
    Column("LESSON", 32, gap=2),
    Column("TIME, RESULT", 12, gap=2),
    Column("TERMS", gap=2, from_width=70),
)


def table(lessons: Sequence[Lesson], taken: Mapping[str, TakenLesson], width: int, *, tall: bool) -> TableContent:
    """Return a row for each lesson. A tall row has the terms below the title, and on a wide screen the question."""
    number, name, result_column, terms_column = COLUMNS
    if tall:
        columns = fit_columns((number, replace(name, width=0), result_column), width - 1)
    else:
        name = replace(name, width=min(name.width, width - 20))
        columns = fit_columns((number, name, result_column, terms_column), width - 1)
    rows = {}
    for lesson in lessons:
        result = taken.get(lesson.name)
        terms = ", ".join(map(spelling, lesson.words[:3]))
        values = {
            "NO": str(lesson.number),
            "LESSON": lesson.title,
            "TERMS": fit_list(terms, columns[-1].width),
            "TIME, RESULT": f"{result.right} of 2 right" if result else f"{lesson.minutes} min",
        }
        styles = {"LESSON": HEAD if tall else "", "TIME, RESULT": _RIGHT_STYLES[result.right] if result else ""}
        question = paragraph(lesson.predict.ask, columns[1].width + 3, "  ") if width >= _MIN_QUESTION_WIDTH else []
        below = [*(text.plain for text in question), f"  {fit_list(terms, columns[1].width)}"] if tall else []
        rows[lesson.name] = partial(_row, columns, values, styles, below)
    return TableContent(columns, rows, {} if taken else {result_column.title: "TIME"})


def _row(
    columns: Sequence[Column], values: Mapping[str, str], styles: Mapping[str, str], below: Sequence[str]
) -> list[Text]:
    cells = row_cells(columns, values, styles)
    cells[1].append("".join(f"\n{text}" for text in below))
    return cells


def progress_line(lessons: Sequence[Lesson], taken: Mapping[str, TakenLesson], width: int) -> Text:
    results = [taken[lesson.name] for lesson in lessons if lesson.name in taken]
    minutes_left = sum(lesson.minutes for lesson in lessons if lesson.name not in taken)
    state = f"  {len(results)} of {len(lessons)} taken"
    state += f", {sum(result.right for result in results)} of {2 * len(results)} last answers right" if results else ""
    remark = f"   {minutes_left} min left" if minutes_left else "   all done"
    cells = min(2 * len(lessons), width - 1 - len(f" fstui  lessons   {state}{remark}"))
    bar = meter(len(results) / len(lessons), cells, GOOD) if cells > len(lessons) // 2 else ()
    return line((" fstui ", BRAND), " ", ("lessons", HEAD), "   ", *bar, state, (remark, FAINT))


def introduction(lesson: Lesson, width: int) -> list[Text]:
    return [
        rule(width, f"{lesson.number}  {lesson.title}", f"{lesson.minutes} min"),
        *prose(lesson.predict.ask, width, HEAD),
        *(
            part
            for number, answer in enumerate(lesson.predict.choices, 1)
            for part in paragraph(answer, width, f"     {number}  ")
        ),
        line(),
        *prose(lesson.text, width),
    ]


def pictures(lesson: Lesson, planned: Sequence[PlannedRun], result: TakenLesson | None, width: int) -> list[Text]:
    rates = _measured_rates(lesson, result, width) if result else []
    return [*rates, *disks(lesson, planned, width), *location_lines(lesson, planned, width, hidden=result is None)]


def title(lesson: Lesson, stage: str, width: int) -> list[Text]:
    stages = [span for name in STAGES for span in ((name, HEAD if name == stage else FAINT), (" › ", FAINT))][:-1]
    return [
        spread(
            [(" fstui ", BRAND), f" lesson {lesson.number}: ", (lesson.title, HEAD)], "SIMULATED DISKS", width, WARNING
        ),
        line(" ", *stages),
    ]


def question(title: str, choice: Choice, chosen: int | None, width: int, *, remark: str = "") -> list[Text]:
    """Draw a question and clickable answers. ``remark``: the words after the right answer; empty: hide it."""
    lines = [rule(width, title, style=HEAD if remark else KEY), *prose(choice.ask, width, HEAD)]
    for number, answer in enumerate(choice.choices, 1):
        sign = "▸" if number == chosen and not remark else " "
        if not remark:
            rows = _answer(answer, f"   {sign} {number}  ", width, "" if number == chosen else KEY, "")
            for row in rows if number == chosen else ():
                row.stylize(SELECTED, 3)
            lines += [clickable(row, f"answer({number})") for row in rows]
            continue
        style = GOOD if number == choice.right else BAD if number == chosen else ""
        notes = [(f"  ✓ {remark}", GOOD)] if number == choice.right else []
        notes += [("  ◂ you", FAINT)] if number == chosen else []
        rows, tail = _answer(answer, f"   {sign} {number}  ", width, HEAD, style), line(*notes)
        fits = rows[-1].cell_len + tail.cell_len <= width
        lines += [*rows[:-1], rows[-1].append_text(tail)] if fits else [*rows, line("     ").append_text(tail)]
    if remark and chosen is not None:
        is_right = chosen == choice.right
        lines += [line(("   Right.", GOOD) if is_right else (f"   No: {choice.right} is right.", WARNING))]
        lines += prose(choice.answer, width)
    return lines


def _answer(answer: str, lead: str, width: int, number_style: str, style: str) -> list[Text]:
    rows = paragraph(answer, width, lead)
    for row in rows:
        row.stylize(style, len(lead))
    rows[0].stylize(number_style, 5, len(lead) - 2)
    return rows


def runs(lesson: Lesson, progress_by_label: Mapping[str, Progress], disks: Mapping[str, str], width: int) -> list[Text]:
    """Draw each run with the title of its disk, and its steps with their rates so far. All bars have one scale."""
    lines: list[Text] = []
    longest = max(cell_len(str(step["name"])) for run in lesson.runs for step in run.steps)
    name_width = max(min(longest, _STEP_WIDTH, width - 35), 8)  # the numbers need the rest
    bar_width = width - name_width - 47
    cells = bar_width if bar_width >= _MIN_BAR_WIDTH else 0  # without the bars, there is no p99 either
    draw_bar, axis = _rate_bars(lesson.rates_per_s, cells)
    axis = fit(axis if len(axis) <= cells else axis.rpartition(" ")[2], cells)
    titles = f"{'P50':>9}{'P99':>9}  FLUSH/SYNC  {axis}" if cells else f"{'P50':>9}  FLUSH/SYNC"
    header = line((f"     {'':{name_width}}   RATE/S{titles}", FAINT))
    for run in lesson.runs:
        lines += [*([line()] if lines else []), *_run_title(run, disks.get(run.label, ""), width)]
        lines += [header] if run is lesson.runs[0] else []
        progress = progress_by_label.get(run.label)
        for index, step in enumerate(run.steps):
            name = str(step["name"])
            lines.append(_step(name, index, progress, draw_bar if cells else None, fit(name, name_width)))
        lines += _verdict(progress, width)
    return lines


def _run_title(run: LessonRun, disk: str, width: int) -> list[Text]:
    lines = paragraph(disk, width, f"   {run.label}  ")
    lines[0].stylize(HEAD, 0, len(run.label) + 5)
    return lines


def _settings(settings: Mapping[str, Any]) -> Iterator[str]:
    """Return the settings that matter to the student: ``block 16 KiB``, ``sync fdatasync``."""
    return settings_words({name: value for name, value in settings.items() if name not in _OMITTED_SETTINGS})


def explanation(lesson: Lesson, width: int) -> list[Text]:
    """Draw the explanation, with each term of the lesson in bold where it is first used."""
    lines = prose(lesson.explain, width)
    for term in map(spelling, lesson.words):
        for text in lines:
            if text.highlight_regex(rf"(?<!\w){re.escape(term)}(?!\w)", HEAD):
                break
    return lines


def claim_lines(claims: Sequence[CheckedClaim], width: int) -> list[Text]:
    lines = [line(), rule(width, "what the runs show")]
    for claim in claims:
        sentence = paragraph(claim.sentence, width - 4, "   ✓ " if claim.holds else "   ✗ ")
        sentence[0].stylize(GOOD if claim.holds else BAD, 0, 5)
        lines += sentence
    return lines


def comparison(choice: Choice, chosen: int | None, claims: Sequence[CheckedClaim], width: int) -> list[Text]:
    remark = "right, as measured" if all(claim.holds for claim in claims) else "right"
    return [*question("your prediction", choice, chosen, width, remark=remark), *claim_lines(claims, width)]


def expected(choice: Choice, chosen: int | None, width: int) -> list[Text]:
    """Draw the question and the answer that the student expects."""
    answer = paragraph(choice.choices[chosen - 1], width, "   you expect: ") if chosen else []
    return [line(), rule(width, "the question"), *prose(choice.ask, width, HEAD), *answer]


def question_terms(lesson: Lesson, width: int) -> list[Text]:
    """Draw one sentence for each term that the question uses. A whole definition may reveal the answer."""
    names = terms_in(" ".join((lesson.text, lesson.predict.ask, *lesson.predict.choices)))
    heading = [line(), rule(width, "terms in the question", "g: all terms")]
    return [*heading, *short_term_lines(names, width)] if names else []


def how_it_works(width: int) -> list[Text]:
    stages = name_lines(list(zip(STAGES, _STAGE_TEXTS, strict=True)), width)
    heading = [line(), rule(width, "how a lesson works")]
    return [*heading, *stages, *prose("The disks follow a physical model: nothing is measured on real storage.", width)]


def meanings(lesson: Lesson, width: int) -> list[Text]:
    names = tuple(dict.fromkeys((*lesson.words, *terms_in(lesson.explain))))
    return [line(), rule(width, "terms in this lesson", "g: all terms"), *term_lines(names, width)]


def disks(lesson: Lesson, planned: Sequence[PlannedRun], width: int) -> list[Text]:
    """Draw the layers of each run, the times of its disks unless an earlier run has the same disks, and its steps.

    The settings of a step begin with those in which the steps differ.
    """
    durations = [[(disk.name, durations_ns(disk)) for disk in plan.disk.disks if disk] for plan in planned]
    longest_ns = max((ns for row in durations for _, actions in row for ns in actions.values()), default=1.0)
    steps = [step for plan in planned for step in plan.plan.steps]
    name_width = max((cell_len(step.name) for step in steps), default=0)
    uses = Counter(setting for step in steps for setting in _settings(step.settings.as_dict()))
    shown: list[tuple[str, dict[str, float]]] = []
    lines = [line(), rule(width, "disks and steps in this lesson", "simulated")] if planned else []
    for run, plan, row in zip(lesson.runs, planned, durations, strict=False):
        lines += [*_run_title(run, run.title or plan.disk.title, width), *io_path.tree(plan.target, width - 2)]
        new = [disk for disk in row if disk not in shown]
        shown += new
        for name, actions in new:
            for action, ns in actions.items():
                label = f"     {fit(f'{name} {action}', _ACTION_WIDTH)}{duration_ns(ns):>9}  "
                bar, _ = meter(ns / longest_ns, min(max(width - len(label) - 3, 6), _MAX_TIME_CELLS), TIME)
                lines.append(line((label, FAINT), bar))
        for step in plan.plan.steps:
            ordered = sorted(_settings(step.settings.as_dict()), key=lambda setting: uses[setting] == len(steps))
            settings = fit_list(", ".join(ordered), width - name_width - 9)
            lines.append(line(f"   · {fit(step.name, name_width)}  ", (settings, FAINT)))
    return lines


def location_lines(lesson: Lesson, planned: Sequence[PlannedRun], width: int, *, hidden: bool) -> list[Text]:
    """Draw where the data of each step is when the call returns, or only the places if that is hidden."""
    if not planned:
        return []
    heading = io_path.POSSIBLE_REACH if hidden else io_path.ACTUAL_REACH
    lines = [line(), rule(width, heading, io_path.REACH_LEGEND)]
    label_width = max(cell_len(run.label) for run in lesson.runs)
    for run, plan in zip(lesson.runs, planned, strict=False):
        names = [(run.label if hidden else step.name).ljust(label_width) for step in plan.plan.steps]
        steps = list(zip(names, (step.settings for step in plan.plan.steps), strict=True))
        heading_line, *bars = io_path.reach_lines(steps, plan.target, width, actual=plan.disk)
        title = line(("   " + run.label, HEAD))
        lines += [title.append_text(heading_line[cell_len(title.plain) :]), *([] if hidden else bars)]
    return lines


def heat_maps(
    lesson: Lesson, planned: Sequence[PlannedRun], progress_by_label: Mapping[str, Progress], width: int, height: int
) -> list[Text]:
    """Draw the latencies of the steps with a shared axis, side by side, or below each other if they are high enough.

    A narrow screen shows only the newest one.
    """
    views: list[tuple[str, latency.LatencyView]] = []
    newest = 0
    for run, plan in zip(lesson.runs, planned, strict=False):
        progress = progress_by_label.get(run.label)
        for index, planned_step in enumerate(plan.plan.steps):
            step, (glyph, _) = _measured_step(planned_step.name, index, progress)
            newest = len(views) if step else newest
            name = _full_name(lesson, run.label, planned_step.name)
            view = _view(step) if step else latency.LatencyView(length_s=planned_step.settings.seconds or None)
            state = ", starting" if glyph == _RUNNING and not view.timeline else ""
            name = f"{name}, not started" if glyph == _WAITING else f"{glyph} {name}{state}".strip()
            views.append((name, view))
    rows = min(max(height // _MIN_MAP_LINES, 1), len(views))
    if rows == 1 and width < _ALL_MAPS_FROM:
        views = views[newest:][:1]
    return latency.heat_maps(views, ceil(len(views) / rows), width, height // rows, frame=False)


def elapsed(progress: Progress) -> str:
    """Return the time of the running step: ``0.4 of 1 s``."""
    elapsed_s = progress.snapshot.elapsed_s if progress.snapshot else 0.0
    steps, index = progress.plan.steps, len(_finished_steps(progress))
    length_s = steps[index].settings.seconds if index < len(steps) else 0.0
    return f"{elapsed_s:.1f} of {length_s:g} s" if elapsed_s < length_s else f"{elapsed_s:.1f} s"


def _full_name(lesson: Lesson, label: str, step_name: str) -> str:
    return step_name if len(lesson.runs) == 1 else f"{label}: {step_name}"


def _view(step: Step | Snapshot) -> latency.LatencyView:
    if isinstance(step, Snapshot):
        length_s = step.length_s or _window_s(step.elapsed_s)
    else:  # a round length, although a step ends slightly later than planned
        length_s = charts.round_up(max(0.99 * step.elapsed_s, 1e-3))
    return latency.LatencyView(step.timeline, step.elapsed_s, length_s or None, (), step.latency_ns)


def _finished_steps(progress: Progress) -> Collection[Step]:
    return progress.run.steps if progress.run else progress.finished_steps.values()


def _window_s(elapsed_s: float) -> float:
    """Return the length of the time axis of a running step without an end: 8 s, doubled whenever it is full."""
    return max(8.0, 2.0 ** ceil(log2(max(elapsed_s, 1.0))))


def prose(text: str, width: int, style: str = "") -> list[Text]:
    """Draw paragraphs. Blank lines in the text separate them."""
    lines: list[Text] = []
    for words in filter(None, text.split("\n\n")):
        lines += [line()] if lines else []
        lines += paragraph(" ".join(words.splitlines()), width, style=style)
    return lines


def _measured_rates(lesson: Lesson, result: TakenLesson, width: int) -> list[Text]:
    cells = max(width - _RATE_WIDTH - 23, 8)
    draw_bar, axis = _rate_bars(lesson.rates_per_s, cells)
    lines = [line(), rule(width, "what was measured", f"bars: {axis} · {result.day}")]
    for run in lesson.runs:
        for step in run.steps:
            name = str(step["name"])
            if rate_per_s := result.rates_per_s.get(f"{run.label}/{name}"):
                label = _full_name(lesson, run.label, name)
                label_and_rate = f"   {fit(label, _RATE_WIDTH)}{rate(rate_per_s):>10}/s  "
                lines.append(line(label_and_rate, (draw_bar(rate_per_s), AREA)))
    return lines


def _measured_step(name: str, index: int, progress: Progress | None) -> tuple[Step | Snapshot | None, tuple[str, str]]:
    """Return what was measured of a step so far, and the glyph of its state."""
    if progress is not None:
        if (finished_step := next((step for step in _finished_steps(progress) if step.name == name), None)) is not None:
            is_done = finished_step.status == "finished"  # a tick would look like a verdict
            return finished_step, (" ", "") if is_done else step_style(finished_step.status)
        if index == len(_finished_steps(progress)):
            return progress.snapshot, (_RUNNING, KEY)
    return None, (_WAITING, "")


def _rate_bars(bounds: tuple[float, float], cells: int) -> tuple[Callable[[float], str], str]:
    """Return a function that draws a rate as a bar, and the ends of the scale."""
    lowest, highest = bounds
    if highest > _MAX_LINEAR_RATIO * lowest:
        scale = charts.scale_around(bounds)
        return lambda rate_per_s: charts.bar(rate_per_s, scale, cells), f"{charts.ends(scale)}/s log"
    return lambda rate_per_s: bar(min(rate_per_s / highest, 1.0), cells), f"0…{rate(highest)}/s"


def _step(
    name: str, index: int, progress: Progress | None, draw_bar: Callable[[float], str] | None, title: str
) -> Text:
    """Draw a step after its title. Without ``draw_bar``, the screen is too narrow for bars and p99."""
    step, glyph = _measured_step(name, index, progress)
    if step is None:
        return line("   ", glyph, f" {title}")
    p50, p99 = (percentile(step.latency_ns, field) for field in ("p50", "p99"))
    flushes = sum(device.flushes or 0 for device in step.counters)
    per_sync = ratio(flushes / step.syncs) if step.syncs else "–"
    numbers = f"{rate(step.rate_per_s):>9}{p50:>9}{f'{p99:>9}' if draw_bar else ''}{per_sync:>12}"
    drawn = draw_bar(step.rate_per_s) if draw_bar and step.rate_per_s else ""
    return line("   ", glyph, f" {title}{numbers}  ", (drawn, _style(progress) if step.syncs else AREA))


def _style(progress: Progress | None) -> str:
    """Return the colour of the verdict, or the neutral colour if there is no verdict yet or it is cannot-tell."""
    run = progress.run if progress else None
    return verdict_style(run.verdict)[1].removeprefix("bold ") if run and run.verdict != "cannot-tell" else AREA


def _verdict(progress: Progress | None, width: int) -> Iterator[Text]:
    run = progress.run if progress else None
    if run is not None:
        glyph, style = verdict_style(run.verdict)
        reason = next((finding.title for finding in run.findings if finding.verdict == run.verdict != "consistent"), "")
        lead = f"   {glyph} {verdict_label(run.verdict)}  "
        lines = paragraph(reason, width, lead)
        lines[0].stylize(style, 3, len(lead) - 2)
        yield from lines
