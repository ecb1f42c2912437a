"""The colours: the terminal's own, or one of four palettes. What is drawn names sixteen colours; a theme says which.

Verdicts have a sign and a word besides; their three colours are told apart in every theme. Those of ``colour-blind``
are Okabe and Ito's (2008), vermillion for red and sky blue for green, on a dark ground: they differ in lightness, too.
"""

from __future__ import annotations

from typing import NamedTuple

from rich.terminal_theme import TerminalTheme
from textual.app import App
from textual.theme import Theme

TERMINAL = "terminal"
_TEXTUAL = "ansi-dark"
"""Textual's name for it."""


class Palette(NamedTuple):
    """RGB of what is drawn with. ``good``, ``doubt``, ``bad``: the verdicts; ``few``, ``most``: a heat map."""

    paper: str
    ink: str
    bad: str
    good: str
    doubt: str
    few: str
    most: str
    help: str
    dark: bool = True


PALETTES = {
    "dark": Palette(
        paper="#16181c", ink="#d8d8d8", bad="#ff6b6b", good="#6bd37c", doubt="#ffcc55", few="#5cc8f2", most="#d78cff",
        help="Light on dark, the same on any terminal.",
    ),
    "light": Palette(
        paper="#fafafa", ink="#1b1b1b", bad="#b00020", good="#1a7f37", doubt="#8a5a00", few="#0b6e99", most="#7a2e9d",
        help="Dark on light, for a bright room or a projector.", dark=False,
    ),
    "high-contrast": Palette(
        paper="#000000", ink="#ffffff", bad="#ff7070", good="#00ff66", doubt="#ffff00", few="#00ffff", most="#ff90ff",
        help="Black, white, and colours of at least 7 to 1.",
    ),
    "colour-blind": Palette(
        paper="#101418", ink="#e0e0e0", bad="#d55e00", good="#56b4e9", doubt="#f0e442", few="#9aa0a6", most="#cc79a7",
        help="Orange for bad, blue for good: told apart without red and green, and in grey.",
    ),
}  # fmt: skip

HELP = {TERMINAL: "The terminal's own colours."} | {name: palette.help for name, palette in PALETTES.items()}
"""Every theme, and what it is for."""


def choose(app: App[int], name: str) -> None:
    """Draw with that one from now on. Raises KeyError where it is none."""
    if name == TERMINAL:
        app.theme = _TEXTUAL
        return
    palette = PALETTES[name]
    colours = _sixteen(palette)
    if palette.dark:
        app.ansi_theme_dark = colours
    else:
        app.ansi_theme_light = colours
    app.register_theme(
        Theme(
            name=name, primary=palette.few, error=palette.bad, success=palette.good, warning=palette.doubt,
            foreground=palette.ink, background=palette.paper, surface=palette.paper, panel=palette.paper,
            dark=palette.dark,
        )
    )  # fmt: skip
    app.theme = name


def _sixteen(palette: Palette) -> TerminalTheme:
    """Black, red, green, yellow, blue, magenta, cyan and white, as a terminal has them; bright is the same."""
    paper, ink = _rgb(palette.paper), _rgb(palette.ink)
    bad, good, doubt, few, most = map(_rgb, (palette.bad, palette.good, palette.doubt, palette.few, palette.most))
    eight = [paper, bad, good, doubt, few, most, few, ink]
    return TerminalTheme(paper, ink, eight, eight)


def _rgb(name: str) -> tuple[int, int, int]:
    red, green, blue = bytes.fromhex(name[1:])
    return red, green, blue
