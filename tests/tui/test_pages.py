import re

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from fstui.report import compare, explanation, glossary
from fstui.tui.drawing.compare import blocks
from fstui.tui.drawing.report import card_lines
from fstui.tui.screens.page_screen import PageScreen, comparison_screen, explain_screen
from fstui.tui.styles import FAINT, WARNING
from tests.factories import busy, screens
from tests.tui.conftest import PreparedApp
from tests.tui.screen import press, screen_lines

RUNS = [busy.run_of_the_queue(f"aaa11{at}", 1 + at, times) for at, times in enumerate((1.0, 1.6, 0.5))]


@pytest.mark.parametrize("width", [50, 80, 120, 200])
async def test_comparison_shows_every_step_and_fits_the_width(width: int) -> None:
    async with PreparedApp().run_test(size=(width, 200)) as pilot:
        lines = await page(pilot, comparison_screen(RUNS))
    bars = [bar for text in lines for bar in re.findall("━+╸?|╸", text)]
    assert len(bars) == sum(len(run.steps) for run in RUNS)
    (_, draw), *_ = blocks(compare.comparison_report(RUNS))
    assert all(text.plain.strip() for text in draw(width)), "a step without remarks has no blank line"


@pytest.mark.parametrize("width", [120, 200])
async def test_a_long_path_does_not_break_the_frames(width: int) -> None:
    target = replace(screens.DATA, path="/srv/" + 200 * "x")
    async with PreparedApp().run_test(size=(width, 200)) as pilot:
        lines = await page(pilot, comparison_screen([replace(run, target=target) for run in RUNS]))
    assert all(text[-1] in "╮│┤╯" for text in lines[2:-1] if text)


def test_verdicts_of_a_comparison_have_their_colour() -> None:
    lines = [text for card in blocks(compare.comparison_report(RUNS)) for text in card_lines(card, 80)]
    coloured = [text for text in lines if any(span.style == WARNING for span in text.spans)]
    assert coloured and all("! suspicious" in text.plain for text in coloured)


def test_runs_without_a_common_step_are_listed_all_the_same() -> None:
    other = replace(RUNS[1], steps=tuple(replace(step, name=f"other {step.name}") for step in RUNS[1].steps))
    (_, draw), *_ = blocks(compare.comparison_report([RUNS[0], other]))
    drawn = [text.plain for text in draw(120)]
    assert any(RUNS[0].id in text for text in drawn) and any(other.id in text for text in drawn)
    assert not any("VS A" in text or "VS BEST" in text for text in drawn)


def test_the_next_steps_of_the_run_replace_the_general_ones() -> None:
    pages = (
        explain_screen("barriers-off"),
        explain_screen("barriers-off", lambda width: []),
        explain_screen("barriers-off", lambda width: [], says_next=True),
    )
    general, with_run, with_next = ([title for title, _ in screen.cards] for screen in pages)
    assert general[:2] == ["", "What to do next"] and with_run[:3] == ["", "In this run", "What to do next"]
    assert "What to do next" not in with_next


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("times", [1, 2])
def test_each_rate_of_a_run_that_is_not_durable_is_dim(width: int, times: int) -> None:
    """It is dim also where the other run is faster."""
    report = compare.comparison_report([replace(RUNS[times], verdict="not-durable"), RUNS[0]])
    (_, draw), *_ = blocks(report)
    rates = [text for text in draw(width) if "A ✗ " in text.plain]
    assert len(rates) == sum(step.syncs > 0 for step in RUNS[0].steps)
    assert all(any(span.style == FAINT and span.start > 20 for span in text.spans) for text in rates)


@pytest.mark.parametrize(("width", "shown"), [(80, "≈ 1.00 ×"), (120, "≈ 1.00 ×")])
def test_a_ratio_without_a_clear_difference_is_marked(width: int, shown: str) -> None:
    (_, draw), *_ = blocks(compare.comparison_report([RUNS[0], replace(RUNS[0], id="bbb222")]))
    assert any(shown in text.plain for text in draw(width))


async def page(pilot: Pilot[int], screen: PageScreen) -> list[str]:
    pilot.app.push_screen(screen)
    await pilot.pause()
    await pilot.pause()
    return screen_lines(pilot.app)


@pytest.mark.parametrize("width", [50, 80, 120, 200])
async def test_an_explanation_is_a_panel_on_a_wide_terminal(width: int) -> None:
    async with PreparedApp().run_test(size=(width, 66)) as pilot:
        below = screen_lines(pilot.app)
        explained = await page(pilot, explain_screen("barriers-off"))
        text = "\n".join(explained)
        assert "The filesystem is configured" in text and "── What to do next ──" in text
        assert any(re.search("   fsync  ", row) for row in explained)
        if width < 110:
            assert explained[0].strip().endswith("barriers-off")
        else:
            frames = [re.search("[╭│╰].{118}[╮│╯]", row) for row in explained]
            assert "╭─ explain: barriers-off ─" in text and len([frame for frame in frames if frame]) > 20
            assert explained[0] == below[0] and explained[-2] == below[-2], "the previous screen remains visible"


@pytest.mark.parametrize("height", range(12, 40))
async def test_no_page_ends_with_a_heading(height: int) -> None:
    async with PreparedApp().run_test(size=(80, height)) as pilot:
        lines = await page(pilot, explain_screen("barriers-off"))
        assert not lines[-2].strip().startswith("──")
        await pilot.press("down")
        await pilot.pause()
        assert not screen_lines(pilot.app)[-2].strip().startswith("──")


async def test_explanation_lists_the_verdicts_of_a_rule() -> None:
    async with PreparedApp().run_test(size=(120, 60)) as pilot:
        lines = await page(pilot, explain_screen("disturbed"))
    assert any("• cannot-tell, high confidence: the storage changed" in line for line in lines)
    assert any("• a note: fstui was delayed" in line for line in lines)


async def test_maps_of_a_comparison_are_side_by_side() -> None:
    async with PreparedApp().run_test(size=(120, 60)) as pilot:
        lines = await page(pilot, comparison_screen(RUNS[:2], 60))
    assert any("── A " in text and "── B " in text for text in lines)


@pytest.mark.parametrize("width", range(50, 90, 3))
def test_pages_do_not_break_numbers_before_their_units(width: int) -> None:
    whole = re.findall(r"[\d.]+\xa0[%\w]+", explanation.rule_markdown("flushes-arrive"))
    drawn = [text for card in explain_screen("flushes-arrive").cards for text in card_lines(card, width)]
    assert whole and all(any(words in text.plain for text in drawn) for words in whole)


@pytest.mark.parametrize("width", range(70, 90))
def test_the_headline_of_a_page_does_not_break_numbers(width: int) -> None:
    _, draw = explain_screen("same-block-rotation").cards[0]
    drawn = draw(width)
    assert any("10\xa0000" in text.plain for text in drawn)


@pytest.mark.parametrize("width", [50, 80, 120, 200])
async def test_the_glossary_explains_the_selected_term(width: int) -> None:
    async with PreparedApp().run_test(size=(width, 24)) as pilot:
        lines = await press(pilot, "g", *"/group", "enter")
        assert any("── group commit ──" in line for line in lines)
        assert any("Several writers" in line for line in lines)
        assert "related terms" in " ".join(await press(pilot, "enter"))
        title = "fstui  glossary   group commit" if width < 110 else "╭─ glossary: group commit ─"
        assert title in "\n".join(screen_lines(pilot.app))


async def test_the_index_of_terms_starts_with_those_of_the_screen() -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        title, *_ = await press(pilot, "g")
        own, others = map(int, re.findall(r"\d+", title))
        assert own + others == len(glossary.entries()) and " terms of the previous screen, then " in title
        assert any("── wait columns ──" in line for line in await press(pilot, "end"))


@pytest.mark.parametrize("width", [80, 120])
async def test_help_starts_with_the_screen_it_is_about(width: int) -> None:
    async with PreparedApp().run_test(size=(width, 24)) as pilot:
        text = "\n".join(await press(pilot, "h", "question_mark"))
        assert re.search("help: +history" if width == 120 else r"fstui +help +history", text)
        assert text.index(" Every run is saved as one document.") < text.index("── keys of this screen ──")


@pytest.mark.parametrize(("width", "named"), [(80, False), (120, True)])
async def test_help_names_every_command_on_a_wide_screen(width: int, named: bool) -> None:
    async with PreparedApp().run_test(size=(width, 60)) as pilot:
        await pilot.press("question_mark")
        help_text = " ".join(screen_lines(pilot.app))
        assert ("storage.run" in help_text and "app.suspend" in help_text) == named
        assert ("name in keys.toml" in help_text) == named
        assert "Put fstui into the background" in help_text
