"""Every lesson is run as fast as possible, and its claims are checked."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from fstui.model.errors import Refused
from fstui.model.events import RunFinished, StepProgressed
from fstui.model.quantities import rate
from fstui.model.run import Run
from fstui.report import glossary as words
from fstui.runs import lessons, simulation
from fstui.runs.lessons import Lesson

LESSONS = lessons.lessons()
PAGE = Path(__file__).resolve().parents[2] / "fstui" / "docs" / "teaching.md"


async def results(lesson: Lesson) -> dict[str, Run]:
    """Run a lesson. If the student cuts the power, it is cut as soon as something was measured, in real time."""
    found = {}
    for run in lesson.runs:
        running = await lessons.start(lesson, run, pace=1.0 if run.plug else 0.0)
        pulled = False
        async for event in running.events():
            if run.plug and not pulled and isinstance(event, StepProgressed) and event.snapshot.ops > 50:
                pulled = True
                running.pull_plug()
            if isinstance(event, RunFinished):
                found[run.label] = event.run
    return found


def assert_ratios_are_those_shown(sentences: Iterable[str]) -> None:
    """Sentences such as "7.50 times as fast: 222/s instead of 29.6/s"."""
    for sentence in sentences:
        if found := re.search(r"([\d.\xa0]+) times.*?([\d.\xa0]+)/s .*?([\d.\xa0]+)/s", sentence):
            factor, of, over = found.groups()
            assert factor == rate(float(of.replace("\xa0", "")) / float(over.replace("\xa0", ""))), sentence


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
async def test_the_claims_of_lessons_hold(lesson: Lesson) -> None:
    runs = await results(lesson)
    claims = [lessons.check(claim, runs) for claim in lesson.claims]
    assert [claim for claim in claims if not claim.holds] == []
    assert_ratios_are_those_shown(claim.sentence for claim in claims)
    assert all(run.simulated for run in runs.values())
    lowest, highest = lesson.rates_per_s
    steps = [step for run in runs.values() for step in run.steps if step.name != "power cut"]
    assert all(lowest <= step.rate_per_s <= highest for step in steps)
    for run in runs.values():
        if run.verdict == "lost":
            loss = next(one for one in run.findings if one.verdict == "lost")
            assert loss.next[0].startswith(
                "On a real disk, all flushes arrived at sda: it ignores them, or a write failed"
            )
            assert run.speed.answer != "unknown" or run.speed.title == "the disk lost acknowledged writes"


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_a_lesson_can_be_taken(lesson: Lesson) -> None:
    for question in (lesson.predict, lesson.question):
        assert 2 <= len(question.choices) <= 4 and 1 <= question.right <= len(question.choices)
        assert all(len(choice) < 72 for choice in question.choices)
    assert lesson.question.answer and 5 <= lesson.minutes <= 10
    assert [word for word in lesson.words if word not in words.entries()] == []
    assert all(simulation.find(run.disk) for run in lesson.runs)
    assert not set("`*#") & set(lesson.text + lesson.explain)


def test_teaching_page_lists_every_lesson() -> None:
    assert [lesson.number for lesson in LESSONS] == list(range(1, 14))
    rows = re.findall(r"^\| (\d+) \| (.+?) \| (\d+) \|$", PAGE.read_text(), re.MULTILINE)
    assert rows == [(str(each.number), each.title, str(each.minutes)) for each in LESSONS]


def test_a_lesson_is_found_by_name_or_number() -> None:
    assert lessons.find("12") == lessons.find("power-cut") == LESSONS[11]
    with pytest.raises(Refused, match="Choose one of: fsync-cost"):
        lessons.find("14")


async def test_taken_lessons_are_saved() -> None:
    assert await lessons.read_taken() == {}
    await lessons.save_taken("odirect", 1, {})
    await lessons.save_taken("odirect", 2, {})
    assert {name: taken.right for name, taken in (await lessons.read_taken()).items()} == {"odirect": 2}
