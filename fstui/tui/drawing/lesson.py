"""A lesson's pages: what to read, what to answer, its runs side by side, and what they show."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from rich.cells import cell_len
from rich.text import Text

from fstui.model.quantities import duration_ns, rate, ratio
from fstui.model.steps import Snapshot, Step
from fstui.report.glossary import standing_in, titled
from fstui.report.latency_map import LogScale
from fstui.runs.lessons import Choice, Found, Lesson, LessonRun, Planned
from fstui.tui.drawing import charts, io_path, latency
from fstui.tui.drawing.cells import ACTION, clickable, fit, fit_right, line, rule, wrapped
from fstui.tui.drawing.latency import Distribution
from fstui.tui.progress import Progress
from fstui.tui.styles import BAD, DOUBT, FAINT, GOOD, HEAD, HEAT, KEY, not_bold, step_style, verdict_style, verdict_word

STAGES = ("predict", "run", "compare", "explain", "question")
_NAME, _BAR, _LEAST_BAR = 22, 22, 6
_GROUPS = re.compile(r"(?<=\d) (?=\d{3})")
"""Between a number's thousands."""
SCALE = LogScale(1.0, 1e6)
"""Of the rates' bars: the same for all lessons."""


def title(lesson: Lesson, stage: str, width: int) -> list[Text]:
    at = STAGES.index(stage)
    parts = [(name, HEAD) if number == at else (name, FAINT) for number, name in enumerate(STAGES)]
    way = [run for part in parts for run in (part, (" › ", FAINT))][:-1]
    return [
        line((f" fstui  lesson {lesson.number}: ", ""), (lesson.title, HEAD), ("   SIMULATED DISKS", DOUBT)),
        line(" ", *way),
        rule(width),
    ]


def asked(text: str, choice: Choice, chosen: int | None, width: int, *, told: str = "") -> list[Text]:
    """A text, a question, and its answers; ``told``: which one is right, in that word, and why.

    What can still be chosen is chosen by a click, too.
    """
    lines = [*paragraph(text, width), line()] if text else []
    lines += [line(("  " + part, HEAD)) for part in wrapped(choice.ask, width - 4, indent="")]
    lines.append(line())
    for number, answer in enumerate(choice.choices, 1):
        style = (GOOD if number == choice.right else BAD if number == chosen else "") if told else ""
        mark = "▸" if number == chosen else " "
        beside = [(f"  ✓ {told}", GOOD)] if told and number == choice.right else []
        beside += [("  ◂ you", FAINT)] if told and number == chosen else []
        words = (answer, style or (HEAD if mark == "▸" else ""))
        row = line(f"  {mark} ", (f"{number}", HEAD if told else KEY), "  ", words, *beside)
        lines.append(row if told else clickable(row, {ACTION: f"answer({number})"}))
    if told and chosen is not None:
        right = chosen == choice.right
        lines += [line(), line(("  Right.", GOOD) if right else (f"  No: {choice.right} is right.", DOUBT))]
        lines += paragraph(choice.answer, width)
    return lines


def runs(
    planned: Sequence[LessonRun], under_way: Mapping[str, Progress], disks: Mapping[str, str], width: int
) -> list[Text]:
    """Every run with its steps, as far as it has come."""
    lines: list[Text] = []
    cells = width - _NAME - 37
    cells = cells if cells >= _LEAST_BAR else 0
    for run in planned:
        lines.append(
            line("  ", (run.label, HEAD), f"  {fit(disks.get(run.label, ''), width - len(run.label) - 6).rstrip()}")
        )
        ends = f"{'1/s':<{cells - 4}}1M/s" if cells >= _BAR else ""
        lines.append(line((f"    {'':{_NAME}}   RATE/S      P50  FLUSH/SYNC  {ends}", FAINT)))
        progress = under_way.get(run.label)
        for index, step in enumerate(run.steps):
            lines.append(_step(str(step["name"]), index, progress, cells))
        lines += _verdict(progress, width)
        lines.append(line())
    return lines


def compared(choice: Choice, chosen: int | None, claims: Sequence[Found], width: int) -> list[Text]:
    lines = [line("  ", ("What the runs show", HEAD)), line()]
    for claim in claims:
        whole = _GROUPS.sub("\u00a0", claim.sentence)  # a number stays on its line
        first, *more = (part.replace("\u00a0", " ") for part in wrapped(whole, width - 8, indent=""))
        lines.append(line(("  ✓ ", GOOD) if claim.holds else ("  ✗ ", BAD), first))
        lines += [line("    " + part) for part in more]
    lines += [line(), line(("  You had been asked:", FAINT))]
    return [*lines, *asked("", choice, chosen, width, told="measured")]


def explained(lesson: Lesson, width: int) -> list[Text]:
    words = ", ".join(titled(name) for name in dict.fromkeys((*lesson.words, *standing_in(lesson.explain))))
    return [
        *paragraph(lesson.explain, width),
        line(),
        *(line((part, FAINT)) for part in wrapped(f"words: {words} (g shows them)", width - 4, indent="  ")),
    ]


def meanings(lesson: Lesson, width: int, height: int) -> list[Text]:
    """As many of its words as there is room for, each with what it means."""
    from fstui.report import explanation  # noqa: PLC0415  it comes with Markdown

    lines = [line(), rule(width, "its words", "g: all of them")]
    for name in lesson.words:
        meant = [line(" ", (titled(name), HEAD)), *explanation.word_lines(name, width - 2)]
        if len(lines) + len(meant) <= height:
            lines += meant
    return lines if len(lines) > 2 else []


def disks(lesson: Lesson, planned: Sequence[Planned], width: int) -> list[Text]:
    """What each run is done on, as this box would read it."""
    lines = [line(), rule(width, "its disks", "simulated")] if planned else []
    for run, plan in zip(lesson.runs, planned, strict=False):
        lines += [line(("  " + run.label, HEAD)), *io_path.tree(plan.target, width - 2)]
    return lines


def ways(lesson: Lesson, planned: Sequence[Planned], width: int, *, told: bool) -> list[Text]:
    """Each run's steps, how far what they write has come when the call returns."""
    lines = (
        [
            line(),
            rule(width, io_path.ACTUAL_REACH if told else io_path.EXPECTED_REACH, io_path.REACH_LEGEND if told else ""),
        ]
        if planned
        else []
    )
    for run, plan in zip(lesson.runs, planned, strict=False):
        steps = [(step.name, step.settings) for step in plan.plan.steps]
        first, *rest = io_path.reach_lines(steps, plan.target, width, hidden=not told, actual=plan.made)
        head = line(("  " + run.label, HEAD))
        head.append_text(first[cell_len(head.plain) :] if first.plain[: cell_len(head.plain)].isspace() else line())
        lines += [head, *rest]
    return lines


def live(progress: Progress, width: int, height: int) -> list[Text]:
    """The latencies of the step that runs, else of the one before."""
    step = progress.snapshot or progress.done.get(-1 if progress.shown is None else progress.shown)
    if step is None:
        return []
    length_s = step.length_s if isinstance(step, Snapshot) else step.elapsed_s
    view = latency.View(step.timeline, step.elapsed_s, length_s or None, (), step.latency_ns)
    return [rule(width, step.name), *latency.heat_map(view, width, height - 1)]


def spreads(planned: Sequence[LessonRun], under_way: Mapping[str, Progress]) -> list[Distribution]:
    """The steps of all runs, as far as they have come."""
    shown = []
    for run in planned:
        progress = under_way.get(run.label)
        for index, step in enumerate(run.steps):
            name = str(step["name"]) if len(planned) == 1 else f"{run.label}: {step['name']}"
            seen, _ = _seen(str(step["name"]), index, progress)
            style = HEAT[0] if seen is None or not seen.syncs else _style(progress)
            shown.append(Distribution(name, seen.timeline, seen.latency_ns, style) if seen else Distribution(name))
    return shown


def prompt(words: str) -> Text:
    return line(("  " + words, HEAD))


def _seen(name: str, index: int, progress: Progress | None) -> tuple[Step | Snapshot | None, tuple[str, str]]:
    """What was measured of a step by now, and the sign of how far it is."""
    if progress is not None:
        over = progress.run.steps if progress.run else progress.done.values()
        if (done := next((step for step in over if step.name == name), None)) is not None:
            return done, step_style(done.status)
        if progress.current == index or (progress.snapshot is not None and progress.snapshot.index == index):
            return progress.snapshot, ("▸", HEAD)
    return None, ("·", "")


def _step(name: str, index: int, progress: Progress | None, cells: int) -> Text:
    seen, glyph = _seen(name, index, progress)
    if seen is None:
        return line("  ", glyph, f" {fit(name, _NAME)}")
    p50 = duration_ns(seen.latency_ns.p50) if seen.latency_ns else "–"
    flushes = sum(device.flushes or 0 for device in seen.counters)
    each = ratio(flushes / seen.syncs) if seen.syncs else "–"
    numbers = f"{fit_right(rate(seen.rate_per_s), 9)}{fit_right(p50, 9)}{fit_right(each, 12)}"
    bar = charts.bar(seen.rate_per_s, SCALE, cells) if cells else ""
    return line("  ", glyph, f" {fit(name, _NAME)}{numbers}  ", (bar, _style(progress) if seen.syncs else HEAT[0]))


def _style(progress: Progress | None) -> str:
    """A bar is in its verdict's colour once there is one."""
    run = progress.run if progress else None
    return not_bold(verdict_style(run.verdict)[1]) if run and run.verdict != "cannot-tell" else HEAT[0]


def _verdict(progress: Progress | None, width: int) -> Iterator[Text]:
    run = progress.run if progress else None
    if run is not None:
        glyph, style = verdict_style(run.verdict)
        why = next((found.title for found in run.findings if found.verdict == run.verdict != "consistent"), "")
        why = why.removeprefix(f"{run.verdict} ").strip("()")
        yield line("  ", (f"{glyph} {verdict_word(run.verdict)}", style), f"  {fit(why, width - 30).rstrip()}")


def paragraph(text: str, width: int) -> list[Text]:
    return [line(part) for part in wrapped(" ".join(text.split()), width - 4, indent="  ")] if text.strip() else []
