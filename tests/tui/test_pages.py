import pytest
from textual.pilot import Pilot
from textual.widgets._markdown import MarkdownHeader

from fstui.report import compare
from fstui.tui.drawing.report import report_lines
from fstui.tui.screens.page_screen import PageScreen, explain_screen
from fstui.tui.styles import DOUBT
from tests.factories import busy
from tests.tui.conftest import PreparedApp
from tests.tui.screen import shown

RUNS = [busy.run_of_the_queue(f"aaa11{at}", 1 + at, times) for at, times in enumerate((1.0, 1.6, 0.5))]


@pytest.mark.parametrize("width", [50, 80, 120, 200])
def test_comparison_shows_every_step_and_fits_the_width(width: int) -> None:
    lines = report_lines(compare.of_runs(RUNS), width)
    bars = [text.plain for text in lines if "█" in text.plain]
    assert len(bars) == sum(len(run.steps) for run in RUNS)
    assert max(text.cell_len for text in lines) <= width


def test_verdicts_of_a_comparison_have_their_colour() -> None:
    lines = report_lines(compare.of_runs(RUNS), 80)
    coloured = [text for text in lines if any(span.style == DOUBT for span in text.spans)]
    assert coloured and all("! suspicious" in text.plain for text in coloured)


async def page(pilot: Pilot[int], screen: PageScreen) -> list[str]:
    pilot.app.push_screen(screen)
    await pilot.pause()
    await pilot.pause()
    return shown(pilot.app)


async def test_lines_of_text_are_at_most_102_columns() -> None:
    async with PreparedApp().run_test(size=(200, 60)) as pilot:
        explained = await page(pilot, explain_screen("barriers-off"))
        assert max(len(row.rstrip()) for row in explained if not row.startswith("── ")) <= 102


async def test_explanation_has_markdown_headings_and_words() -> None:
    async with PreparedApp().run_test(size=(80, 60)) as pilot:
        explained = await page(pilot, explain_screen("barriers-off"))
        heads = [head.region.y for head in pilot.app.screen.query(MarkdownHeader)]
        assert [explained[y].strip() for y in heads[:2]] == ["barriers-off", "What it means"]
        assert any(row.startswith("  words: ") for row in explained)


async def test_help_names_every_command() -> None:
    async with PreparedApp().run_test(size=(80, 60)) as pilot:
        await pilot.press("question_mark")
        told = " ".join(shown(pilot.app))
        assert "storage.run" in told and "app.suspend" in told
