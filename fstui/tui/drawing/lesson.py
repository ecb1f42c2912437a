"""A lesson's pages: what to read, what to answer, its runs side by side, and what they show."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from rich.text import Text

from fstui.model.steps import Snapshot, Step
from fstui.quantities import duration_ns, rate, ratio
from fstui.session.lessons import Choice, Found, Lesson, LessonRun
from fstui.session.lessons_taken import Taken
from fstui.session.words import standing_in, titled
from fstui.tui.drawing.cells import fit, fit_right, line, rule, wrapped
from fstui.tui.glyphs import BAD, DOUBT, FAINT, GOOD, HEAD, of_step, of_verdict, word
from fstui.tui.progress import Progress

STAGES = ("predict", "run", "compare", "explain", "question")
_NAME, _BAR = 22, 22
_GROUPS = re.compile(r"(?<=\d) (?=\d{3})")
"""Between a number's thousands."""
_MOST_PER_S = 6
"""Decades of the bar."""


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


def asked(text: str, choice: Choice, chosen: int | None, width: int, *, told: bool = False) -> list[Text]:
    """A text, a question, and its answers; ``told``: which one is right, and why."""
    lines = [*_paragraph(text, width), line()] if text else []
    lines += [line(("  " + part, HEAD)) for part in wrapped(choice.ask, width - 4, indent="")]
    lines.append(line())
    for number, answer in enumerate(choice.choices, 1):
        style = (GOOD if number == choice.right else BAD if number == chosen else "") if told else ""
        mark = "▸" if number == chosen else " "
        lines.append(line(f"  {mark} ", (f"{number}", HEAD), "  ", (answer, style or (HEAD if mark == "▸" else ""))))
    if told and chosen is not None:
        right = chosen == choice.right
        lines += [line(), line(("  Right.", GOOD) if right else (f"  No: {choice.right} is right.", DOUBT))]
        lines += _paragraph(choice.answer, width)
    return lines


def runs(
    planned: Sequence[LessonRun], under_way: Mapping[str, Progress], disks: Mapping[str, str], width: int
) -> list[Text]:
    """Every run with its steps, as far as it has come."""
    lines: list[Text] = []
    for run in planned:
        lines.append(
            line("  ", (run.label, HEAD), f"  {fit(disks.get(run.label, ''), width - len(run.label) - 6).rstrip()}")
        )
        lines.append(line((f"    {'':{_NAME}}   RATE/S      P50  FLUSH/SYNC", FAINT)))
        progress = under_way.get(run.label)
        for index, step in enumerate(run.steps):
            lines.append(_step(str(step["name"]), index, progress))
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
    return [*lines, *asked("", choice, chosen, width, told=True)]


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
        mark = ("✓", GOOD) if done else ("·", "")
        told = f"{done.right} of 2 right, {done.day}" if done else f"{lesson.minutes} min"
        row = fit(f"{lesson.number:2}  {lesson.title}", width - 34)
        lines.append(line("▌" if at == selected else " ", mark, f" {row} ", (fit(told, 28).rstrip(), FAINT)))
    return lines


def prompt(words: str) -> Text:
    """What to do now."""
    return line(("  " + words, HEAD))


def _step(name: str, index: int, progress: Progress | None) -> Text:
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
    return line("  ", glyph, f" {fit(name, _NAME)}{numbers}  ", (_bar(seen.rate_per_s), "cyan"))


def _bar(per_s: float) -> str:
    """On a logarithmic scale: a decade is a sixth of it."""
    return "━" * round(_BAR * min(1.0, math.log10(max(per_s, 1.0)) / _MOST_PER_S))


def _verdict(progress: Progress | None, width: int) -> Iterator[Text]:
    run = progress.run if progress else None
    if run is not None:
        glyph, style = of_verdict(run.verdict)
        why = next((found.title for found in run.findings if found.verdict == run.verdict != "consistent"), "")
        why = why.removeprefix(f"{run.verdict} ").strip("()")
        yield line("  ", (f"{glyph} {word(run.verdict)}", style), f"  {fit(why, width - 30).rstrip()}")


def _paragraph(text: str, width: int) -> list[Text]:
    return [line(part) for part in wrapped(" ".join(text.split()), width - 4, indent="  ")] if text.strip() else []
