"""A lesson's pages: what to read, what to answer, its runs side by side, and what they show."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from rich.cells import cell_len
from rich.text import Text

from fstui.model.steps import Snapshot, Step
from fstui.quantities import duration_ns, rate, ratio
from fstui.session.lessons import Choice, Found, Lesson, LessonRun, Planned
from fstui.session.lessons_taken import Taken
from fstui.session.words import standing_in, titled
from fstui.tui.drawing import bars, heat, stack, way
from fstui.tui.drawing.bars import Scale
from fstui.tui.drawing.cells import fit, fit_right, line, rule, wrapped
from fstui.tui.glyphs import BAD, DOUBT, FAINT, GOOD, HEAD, HEAT, not_bold, of_step, of_verdict, word
from fstui.tui.progress import Progress

STAGES = ("predict", "run", "compare", "explain", "question")
_NAME, _BAR = 22, 22
_RIGHT = (DOUBT, "", GOOD)
"""By how many answers were right."""
_GROUPS = re.compile(r"(?<=\d) (?=\d{3})")
"""Between a number's thousands."""
_SCALE = Scale(1.0, 1e6)
"""Of the rates' bars: the same for all lessons."""


def title(lesson: Lesson, stage: str, width: int) -> list[Text]:
    """The lesson, and how far it is taken."""
    at = STAGES.index(stage)
    parts = [(name, HEAD) if number == at else (name, FAINT) for number, name in enumerate(STAGES)]
    way = [run for part in parts for run in (part, (" › ", FAINT))][:-1]
    return [
        line((f" fstui  lesson {lesson.number}: ", ""), (lesson.title, HEAD), ("   SIMULATED DISKS", DOUBT)),
        line(" ", *way),
        rule(width),
    ]


def asked(text: str, choice: Choice, chosen: int | None, width: int, right: str = "") -> list[Text]:
    """A text, a question, and its answers; ``right``: what is said of the right one, where it is told, and why."""
    lines = [*_paragraph(text, width), line()] if text else []
    lines += [line(("  " + part, HEAD)) for part in wrapped(choice.ask, width - 4, indent="")]
    lines.append(line())
    for number, answer in enumerate(choice.choices, 1):
        style = (GOOD if number == choice.right else BAD if number == chosen else "") if right else ""
        mark = "▸" if number == chosen else " "
        beside = [(f"  ✓ {right}", GOOD)] if right and number == choice.right else []
        beside += [("  ◂ you", FAINT)] if right and number == chosen else []
        words = (answer, style or (HEAD if mark == "▸" else ""))
        lines.append(line(f"  {mark} ", (f"{number}", HEAD), "  ", words, *beside))
    if right and chosen is not None:
        lines += [
            line(),
            line(("  Right.", GOOD) if chosen == choice.right else (f"  No: {choice.right} is right.", DOUBT)),
        ]
        lines += _paragraph(choice.answer, width)
    return lines


def runs(
    planned: Sequence[LessonRun], under_way: Mapping[str, Progress], disks: Mapping[str, str], width: int
) -> list[Text]:
    """Every run with its steps, as far as it has come."""
    lines: list[Text] = []
    cells = max(width - _NAME - 37, 8)
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
    """What was predicted against what was seen."""
    lines = [line("  ", ("What the runs show", HEAD)), line()]
    for claim in claims:
        whole = _GROUPS.sub("\u00a0", claim.sentence)  # a number stays on its line
        first, *more = (part.replace("\u00a0", " ") for part in wrapped(whole, width - 8, indent=""))
        lines.append(line(("  ✓ ", GOOD) if claim.holds else ("  ✗ ", BAD), first))
        lines += [line("    " + part) for part in more]
    lines += [line(), line(("  You had been asked:", FAINT))]
    return [*lines, *asked("", choice, chosen, width, "measured")]


def explained(lesson: Lesson, width: int) -> list[Text]:
    """Why."""
    words = ", ".join(titled(name) for name in dict.fromkeys((*lesson.words, *standing_in(lesson.explain))))
    return [
        *_paragraph(lesson.explain, width),
        line(),
        *(line((part, FAINT)) for part in wrapped(f"words: {words} (g shows them)", width - 4, indent="  ")),
    ]


def listed(lessons: Sequence[Lesson], taken: Mapping[str, Taken], selected: int, width: int) -> list[Text]:
    """A row for each."""
    lines = []
    for at, lesson in enumerate(lessons):
        done = taken.get(lesson.name)
        mark = ("✓", GOOD) if done else ("·", FAINT)
        told, style = (
            (f"{done.right} of 2 right, {done.day}", _RIGHT[done.right]) if done else (f"{lesson.minutes} min", FAINT)
        )
        bar = ("━" * lesson.minutes, HEAT[0] if not done else FAINT)
        row = fit(f"{lesson.number:2}  {lesson.title}", width - 30)
        chosen = at == selected
        shown = [(fit(told, 28).rstrip(), style)] if done else [bar, (f" {told}", style)]
        lines.append(line(("▌" if chosen else " ", HEAD), mark, (f" {row} ", HEAD if chosen else ""), *shown))
    return lines


def asking(lessons: Sequence[Lesson], rows: Sequence[Text], width: int, height: int) -> list[Text]:
    """Under each row what that lesson asks, where there is room for all of them, and a line between them for more."""
    each = min(height // len(rows), 3)
    if each < 2:
        return list(rows)
    questions = (line((fit("        " + lesson.predict.ask, width).rstrip(), FAINT)) for lesson in lessons)
    between = [line()] * (each - 2)
    return [text for row, question in zip(rows, questions, strict=True) for text in (row, question, *between)]


def progress(lessons: Sequence[Lesson], taken: Mapping[str, Taken], width: int) -> Text:
    """How many were taken, how many answers were right, how long the others take."""
    done = [taken[lesson.name] for lesson in lessons if lesson.name in taken]
    left = sum(lesson.minutes for lesson in lessons if lesson.name not in taken)
    said = f"{len(done)} of {len(lessons)} taken"
    right = f", {sum(one.right for one in done)} of {2 * len(done)} answers right" if done else ""
    cells = min(2 * len(lessons), max(width - 70, 0))
    full = cells * len(done) // len(lessons)
    bar = [("━" * full, GOOD), ("─" * (cells - full), FAINT)] if cells > len(lessons) // 2 else []
    rest = f"   {left} min left" if left else "   all of them"
    return line(" ", ("fstui", HEAD), "  ", ("lessons", HEAD), "   ", *bar, f"  {said}{right}", (rest, FAINT))


def about(lesson: Lesson, planned: Sequence[Planned], done: Taken | None, width: int, height: int) -> list[Text]:
    """What the chosen one is about and asks; what its runs do as a picture, told only to who has taken it."""
    lines = [rule(width, f"{lesson.number}  {lesson.title}", f"{lesson.minutes} min"), *_paragraph(lesson.text, width)]
    asks = [line((part, HEAD)) for part in wrapped(lesson.predict.ask, width - 4, indent="  ")]
    answers = [line(f"    {at}  ", answer) for at, answer in enumerate(lesson.predict.choices, 1)]
    drawn = ways(lesson, planned, width, told=done is not None)
    words = [
        line((part, FAINT))
        for part in wrapped(f"words: {', '.join(map(titled, lesson.words))}", width - 4, indent="  ")
    ]
    for more in ([line(), *asks], answers, drawn, [line(), *words]):
        if len(lines) + len(more) <= height:
            lines += more
    return lines


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
        lines += [line(("  " + run.label, HEAD)), *stack.tree(plan.target, width - 2)]
    return lines


def ways(lesson: Lesson, planned: Sequence[Planned], width: int, *, told: bool) -> list[Text]:
    """Each run's steps, how far what they write has come when the call returns."""
    lines = [line(), rule(width, way.TRUTH if told else way.TITLE, way.LEGEND if told else "")] if planned else []
    for run, plan in zip(lesson.runs, planned, strict=False):
        asked = [way.Asked(step.name, step.settings) for step in plan.plan.steps]
        first, *rest = way.lines(asked, plan.target, width, told=told, truth=plan.made)
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
    view = heat.View(step.timeline, step.elapsed_s, length_s or None, (), step.latency_ns)
    return [rule(width, step.name), *heat.draw(view, width, height - 1)]


def prompt(words: str) -> Text:
    """What to do now."""
    return line(("  " + words, HEAD))


def _step(name: str, index: int, progress: Progress | None, cells: int) -> Text:
    seen: Step | Snapshot | None = None
    glyph = ("·", "")
    if progress is not None:
        over = progress.run.steps if progress.run else progress.done.values()
        if (done := next((step for step in over if step.name == name), None)) is not None:
            seen, glyph = done, of_step(done.status)
        elif progress.current == index or (progress.snapshot is not None and progress.snapshot.index == index):
            seen, glyph = progress.snapshot, ("▸", HEAD)
    if seen is None:
        return line("  ", glyph, f" {fit(name, _NAME)}")
    p50 = duration_ns(seen.latency_ns.p50) if seen.latency_ns else "–"
    flushes = sum(device.flushes or 0 for device in seen.counters)
    each = ratio(flushes / seen.syncs) if seen.syncs else "–"
    numbers = f"{fit_right(rate(seen.rate_per_s), 9)}{fit_right(p50, 9)}{fit_right(each, 12)}"
    bar = bars.across(seen.rate_per_s, _SCALE, cells), _style(progress) if seen.syncs else HEAT[0]
    return line("  ", glyph, f" {fit(name, _NAME)}{numbers}  ", bar)


def _style(progress: Progress | None) -> str:
    """A bar is in its verdict's colour once there is one."""
    run = progress.run if progress else None
    return not_bold(of_verdict(run.verdict)[1]) if run and run.verdict != "cannot-tell" else HEAT[0]


def _verdict(progress: Progress | None, width: int) -> Iterator[Text]:
    run = progress.run if progress else None
    if run is not None:
        glyph, style = of_verdict(run.verdict)
        why = next((found.title for found in run.findings if found.verdict == run.verdict != "consistent"), "")
        why = why.removeprefix(f"{run.verdict} ").strip("()")
        yield line("  ", (f"{glyph} {word(run.verdict)}", style), f"  {fit(why, width - 30).rstrip()}")


def _paragraph(text: str, width: int) -> list[Text]:
    return [line(part) for part in wrapped(" ".join(text.split()), width - 4, indent="  ")] if text.strip() else []
