"""The list of the lessons: how far one has come, and what the chosen one is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.text import Text

from fstui.model.quantities import rate
from fstui.report.glossary import titled
from fstui.runs.lessons import Lesson, Planned
from fstui.runs.lessons_taken import Taken
from fstui.tui.drawing import charts
from fstui.tui.drawing.cells import Column, fit, fit_right, line, rule, shown, wrapped
from fstui.tui.drawing.lesson import SCALE, disks, meanings, paragraph, ways
from fstui.tui.styles import DOUBT, FAINT, GOOD, HEAD, HEAT
from fstui.tui.widgets.table import Rows, row_cells

_RIGHT = (DOUBT, "", GOOD)
"""By how many answers were right."""
_NAME = 32
COLUMNS = (Column("", 1), Column("NO", 2, right=True), Column("LESSON", gap=2), Column("TAKES", 24, gap=2))


def listed(lessons: Sequence[Lesson], taken: Mapping[str, Taken], width: int) -> Rows:
    """Return a row for each lesson, by its name."""
    columns = shown(COLUMNS, width - 1)
    cells = {}
    for lesson in lessons:
        done = taken.get(lesson.name)
        values = {
            "": "✓" if done else "·",
            "NO": str(lesson.number),
            "LESSON": lesson.title,
            "TAKES": f"{done.right} of 2 right, {done.day}" if done else f"{'━' * lesson.minutes} {lesson.minutes} min",
        }
        styles = {"": GOOD if done else FAINT, "TAKES": _RIGHT[done.right] if done else HEAT[0]}
        cells[lesson.name] = row_cells(columns, values, styles)
    return Rows(columns, cells, {})


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
    lines = [rule(width, f"{lesson.number}  {lesson.title}", f"{lesson.minutes} min"), *paragraph(lesson.text, width)]
    asks = [line((part, HEAD)) for part in wrapped(lesson.predict.ask, width - 4, indent="  ")]
    answers = [line(f"    {at}  ", answer) for at, answer in enumerate(lesson.predict.choices, 1)]
    drawn = ways(lesson, planned, width, told=done is not None)
    told = ", ".join(map(titled, lesson.words))
    words = [line((part, FAINT)) for part in wrapped(f"words: {told}", width - 4, indent="  ")]
    more = [[line(), *asks], answers, drawn, disks(lesson, planned, width), _measured(lesson, done, width)]
    for part in (*more, [line(), *words]):
        if len(lines) + len(part) <= height:
            lines += part
    # what the words mean would give the answer away
    return [*lines, *meanings(lesson, width, height - len(lines))] if done else lines


def _measured(lesson: Lesson, done: Taken | None, width: int) -> list[Text]:
    """The rates of the last time, or what there will be."""
    rates = done.rates_per_s if done else {}
    cells = max(width - _NAME - 22, 8)
    lines = [line(), rule(width, "what was measured" if rates else "what it will measure", done.day if done else "")]
    for run in lesson.runs:
        for step in run.steps:
            name = str(step["name"])
            known = rates.get(f"{run.label}/{name}")
            label = name if len(lesson.runs) == 1 else f"{run.label}: {name}"
            bar = (charts.bar(known, SCALE, cells), HEAT[0]) if known else ("╌" * cells + " ?", FAINT)
            each = fit_right(f"{rate(known)}/s" if known else "", 12)
            lines.append(line(f"  {fit(label, _NAME)}{each}  ", bar))
    return lines
