"""The glyphs and styles of verdicts, speeds and steps, and the colour themes.

Every part of a screen is drawn with the terminal's sixteen colours. A theme replaces these sixteen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.terminal_theme import TerminalTheme
from textual.app import App
from textual.theme import Theme

from fstui.model.judgement import Answer, Verdict
from fstui.report.text import GLYPHS, SPEED_GLYPHS

if TYPE_CHECKING:  # the first screen has no steps
    from fstui.model.steps import StepStatus

WARNING = "bold yellow"
BAD = "bold red"
GOOD = "bold green"
FAINT = "dim"
HEAD = "bold"
BRAND = "bold reverse cyan"
SELECTED = "reverse"
"""The row under the cursor, as in Textual's tables."""
KEY, MAIN_BUTTON = "bold cyan", BRAND
AREA, TIME = "cyan", "magenta"
"""Colours of bars and areas: for amounts and rates, and for latencies. They mean neither good nor bad."""

_VERDICT_STYLES: dict[Verdict, str] = {
    "lost": BAD, "not-durable": BAD, "suspicious": WARNING, "cannot-tell": HEAD, "plausible": HEAD,
    "consistent": GOOD, "kept": GOOD,
}  # fmt: skip
_SPEED_STYLES: dict[Answer, str] = {"stalls": BAD, "slow": WARNING, "unknown": HEAD, "normal": GOOD}
_STEP_STYLES: dict[StepStatus, tuple[str, str]] = {
    "finished": ("✓", GOOD), "failed": ("✗", BAD), "skipped": ("–", ""), "stopped": ("–", ""),
    "disturbed": ("!", WARNING),
}  # fmt: skip

DEFAULT_THEME = "terminal"
_TEXTUAL_DEFAULT = "ansi-dark"


class Colours(NamedTuple):
    """The colours of a theme as ``#rrggbb``. ``area`` and ``time`` are for bars, areas and heat maps."""

    background: str
    foreground: str
    bad: str
    good: str
    warning: str
    area: str
    time: str
    help: str
    dark: bool = True


# The colours of "colour-blind", except the grey of areas, are those of Okabe and Ito (2008): vermillion for red, sky
# blue for green. They differ in lightness as well.
COLOURS = {
    "dark": Colours(
        background="#16181c", foreground="#d8d8d8", bad="#ff6b6b", good="#6bd37c", warning="#ffcc55", area="#5cc8f2",
        time="#d3a4ff", help="Light on dark, the same on any terminal.",
    ),
    "light": Colours(
        background="#fafafa", foreground="#1b1b1b", bad="#b00020", good="#1a7f37", warning="#8a5a00", area="#0b6e99",
        time="#7a3db8", help="Dark on light, for a bright room or a projector.", dark=False,
    ),
    "high-contrast": Colours(
        background="#000000", foreground="#ffffff", bad="#ff7070", good="#00ff66", warning="#ffff00", area="#00ffff",
        time="#ff9cff", help="Colours on black with a contrast of at least 7:1.",
    ),
    "colour-blind": Colours(
        background="#101418", foreground="#e0e0e0", bad="#d55e00", good="#56b4e9", warning="#f0e442", area="#9aa0a6",
        time="#cc79a7", help="Orange is bad, blue is good: distinct without red and green, and in greyscale.",
    ),
}  # fmt: skip

THEMES = {DEFAULT_THEME: "The terminal's own colours."} | {name: colours.help for name, colours in COLOURS.items()}


def verdict_style(verdict: Verdict | None) -> tuple[str, str]:
    return (GLYPHS[verdict], _VERDICT_STYLES[verdict]) if verdict else (" ", "")


def speed_style(answer: Answer) -> tuple[str, str]:
    return SPEED_GLYPHS[answer], _SPEED_STYLES[answer]


def step_style(status: StepStatus) -> tuple[str, str]:
    return _STEP_STYLES[status]


def shades(colour: str) -> tuple[str, str, str]:
    """Return the styles of low, medium and high values. High values stand out on any background."""
    return f"dim {colour}", colour, HEAD


def set_theme(app: App[int], name: str) -> None:
    """Draw the app with this theme from now on. Raise KeyError if there is no such theme."""
    if name == DEFAULT_THEME:
        app.theme = _TEXTUAL_DEFAULT
        return
    colours = COLOURS[name]
    if colours.dark:
        app.ansi_theme_dark = _terminal_theme(colours)
    else:
        app.ansi_theme_light = _terminal_theme(colours)
    app.register_theme(
        Theme(
            name=name, primary=colours.area, error=colours.bad, success=colours.good, warning=colours.warning,
            foreground=colours.foreground, background=colours.background, surface=colours.background,
            panel=colours.background, dark=colours.dark,
        )
    )  # fmt: skip
    app.theme = name


def _terminal_theme(colours: Colours) -> TerminalTheme:
    """Return a theme in which these colours replace the eight ANSI colours, and their bright variants, too."""
    background, foreground = _rgb(colours.background), _rgb(colours.foreground)
    bad, good, warning = map(_rgb, (colours.bad, colours.good, colours.warning))
    area, time = map(_rgb, (colours.area, colours.time))
    ansi_colours = [background, bad, good, warning, area, time, area, foreground]
    return TerminalTheme(background, foreground, ansi_colours, ansi_colours)


def _rgb(name: str) -> tuple[int, int, int]:
    red, green, blue = bytes.fromhex(name[1:])
    return red, green, blue
