import asyncio
from itertools import combinations

import pytest
from textual._callback import invoke
from textual.color import Color
from textual.command import Hit
from textual.constants import DIM_FACTOR

from fstui.runs import startup
from fstui.state import paths
from fstui.tui.palette import EntryProvider
from fstui.tui.styles import COLOURS, DEFAULT_THEME, Colours
from tests.tui.conftest import PreparedApp
from tests.tui.screen import screen_lines

_SEEN_WITHOUT_GREEN = ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969))
_SEEN_WITHOUT_RED = ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052))
"""Machado, Oliveira and Fernandes (2009), severity 1.0. They are for linear light, which is close enough here."""


def seen(name: str, by: tuple[tuple[float, ...], ...]) -> tuple[float, ...]:
    return tuple(sum(part * each for part, each in zip(row, Color.parse(name).rgb, strict=True)) for row in by)


def luminance(name: str) -> float:
    parts = [part / 255 for part in Color.parse(name).rgb]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def lightness(name: str) -> float:
    """CIE 1976 L*, from 0 for black to 100 for white."""
    return float(116 * luminance(name) ** (1 / 3) - 16)


def dimmed(name: str, background: str) -> str:
    """Return the colour that Textual draws for ``dim``."""
    return Color.parse(background).blend(Color.parse(name), DIM_FACTOR).hex


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("colours", COLOURS.values(), ids=COLOURS)
def test_every_colour_contrasts_with_the_background(colours: Colours) -> None:
    least = 7.0 if colours is COLOURS["high-contrast"] else 4.5  # WCAG 2.2, 1.4.3 and 1.4.6
    faint = dimmed(colours.foreground, colours.background)  # headings, labels, units
    for name in (colours.foreground, faint, colours.bad, colours.warning, colours.good, colours.area, colours.time):
        assert contrast(name, colours.background) >= least, name


@pytest.mark.parametrize("eyes", [_SEEN_WITHOUT_GREEN, _SEEN_WITHOUT_RED], ids=["no green", "no red"])
def test_verdicts_differ_without_red_or_green(eyes: tuple[tuple[float, ...], ...]) -> None:
    colours = COLOURS["colour-blind"]
    for one, other in combinations((colours.bad, colours.warning, colours.good), 2):
        apart = zip(seen(one, eyes), seen(other, eyes), strict=True)
        assert sum((a - b) ** 2 for a, b in apart) ** 0.5 > 80


def test_verdicts_differ_in_lightness() -> None:
    colours = COLOURS["colour-blind"]
    dark, middle, light = sorted(lightness(name) for name in (colours.bad, colours.warning, colours.good))
    assert min(middle - dark, light - middle) >= 15  # visible in greyscale


async def test_a_theme_is_found_applied_and_saved() -> None:
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        found = [hit async for hit in EntryProvider(app.screen).search("theme light") if isinstance(hit, Hit)]
        hit = max(found, key=lambda hit: hit.score)
        assert "Current." not in str(hit.match_display)
        await invoke(hit.command)
        await app.workers.wait_for_complete()
        await pilot.pause()
        ground = {segment.style.bgcolor.name for strip in app.screen._compositor.render_strips(app.size)
                  for segment in strip if segment.style and segment.style.bgcolor}  # fmt: skip
        assert ground == {COLOURS["light"].background}
    again = PreparedApp()
    async with again.run_test(size=(80, 24)) as pilot:
        await again.workers.wait_for_complete()
        await pilot.pause()
        assert again.theme == "light"
        found = [hit async for hit in EntryProvider(again.screen).search("theme current") if isinstance(hit, Hit)]
        assert ["light" in str(hit.match_display) for hit in found] == [True]
        again.choose_theme(DEFAULT_THEME)
        await again.workers.wait_for_complete()
        assert again.native_ansi_color


async def test_a_chosen_theme_stays_until_it_is_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(name: str) -> None:
        await asyncio.Event().wait()

    paths.config_dir().mkdir(parents=True)
    (paths.config_dir() / "theme.toml").write_text('theme = "dark"\n')
    app = PreparedApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        monkeypatch.setattr(startup, "save_theme", hang)
        app.choose_theme("light")
        await pilot.pause()
        await app.read_state().wait()  # the first screen does this when the palette closes
        assert app.theme == "light"


async def test_an_unknown_theme_is_reported() -> None:
    paths.config_dir().mkdir(parents=True)
    (paths.config_dir() / "theme.toml").write_text('theme = "solarised"\n')
    app = PreparedApp()
    async with app.run_test(size=(120, 24)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.native_ansi_color and "no theme 'solarised'" in screen_lines(app)[-2]
