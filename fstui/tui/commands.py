"""Every key, once: the declaration gives the binding, the footer's words, the palette entry and the help.

A key can be changed in ``keys.toml`` in the configuration directory: ``"storage.filter" = "f"``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from rich.text import Text
from textual.binding import Binding, BindingType

from fstui.model.errors import meant
from fstui.tui.drawing.cells import ACTION, clickable, line
from fstui.tui.styles import KEY

if TYPE_CHECKING:
    from fstui.tui.screens.base_screen import BaseScreen

_NAMES = {
    "enter": "Enter", "space": "Space", "escape": "Esc", "tab": "Tab", "slash": "/", "question_mark": "?",
    "left": "←", "right": "→", "up": "↑", "down": "↓", "pageup": "PgUp", "pagedown": "PgDn", "ctrl+c": "Ctrl-C",
    "ctrl+z": "Ctrl-Z", "ctrl+p": "Ctrl-P", "home": "Home", "end": "End",
}  # fmt: skip

_KEPT = ("app.help", "app.quit", "app.back")
"""Named in the footer however narrow it is."""


class Command(msgspec.Struct, frozen=True):
    """What a key does on one screen."""

    id: str
    """The name to change the key by."""
    keys: str
    """Textual's names, comma-separated."""
    action: str
    label: str
    """One or two words for the footer; empty keeps it out of there."""
    help: str
    """A sentence for the help and the palette."""
    shown_as: str = ""
    """What the footer calls the key, where that is not its name."""
    always: bool = False
    """Also while a value is being typed."""


QUIT = Command("app.quit", "q", "app.quit", "quit", "Stop what runs, clean up and leave.")
INTERRUPT = Command(
    "app.interrupt", "ctrl+c", "app.interrupt", "", "The same as quit; a second time leaves at once.", always=True
)
SUSPEND = Command(
    "app.suspend", "ctrl+z", "app.suspend_process", "", "Put fstui into the background; fg brings it back.", always=True
)
HELP = Command("app.help", "question_mark", "app.help", "help", "What this screen shows, and its keys.")
PALETTE = Command(
    "app.palette",
    "ctrl+p",
    "app.command_palette",
    "find",
    "Find a mount, a scenario, a rule, a run, a theme or a key by its name.",
)
GLOSSARY = Command("app.glossary", "g", "app.glossary", "", "What the words mean, those of this screen first.")
BACK = Command("app.back", "escape", "back", "back", "To the screen before.")
UP = Command("list.up", "up,k", "move(-1)", "", "The row above.")
DOWN = Command("list.down", "down,j", "move(1)", "", "The row below.")
TOP = Command("list.top", "home", "move(-100000)", "", "The first row.")
BOTTOM = Command("list.bottom", "end", "move(100000)", "", "The last row.")
PAGE_UP = Command("detail.up", "pageup", "scroll(-5)", "", "Scroll the lower part up.")
PAGE_DOWN = Command("detail.down", "pagedown", "scroll(5)", "", "Scroll the lower part down.")
LIST = (UP, DOWN, TOP, BOTTOM, PAGE_UP, PAGE_DOWN)
HISTORY = Command("app.history", "h", "app.history", "history", "The runs that were saved.")
COPY = Command(
    "app.copy", "y", "copy", "copy", "Copy to the clipboard through the terminal (OSC 52), fit for a ticket."
)


def bindings(commands: Iterable[Command]) -> list[BindingType]:
    return [
        Binding(
            command.keys,
            command.action,
            command.label or command.help,
            id=command.id,
            tooltip=command.help,
            priority=command.always,
        )
        for command in commands
    ]


def key_name(command: Command, keymap: Mapping[str, str]) -> str:
    """The key as a person reads it; of several the first."""
    if command.shown_as and command.id not in keymap:
        return command.shown_as
    key = keymap.get(command.id, command.keys).split(",")[0].strip()
    return _NAMES.get(key, key)


def all_key_names(command: Command, keymap: Mapping[str, str]) -> str:
    keys = keymap.get(command.id, command.keys).split(",")
    return " ".join(_NAMES.get(key.strip(), key.strip()) for key in keys)


def footer(commands: Iterable[Command], keymap: Mapping[str, str], width: int) -> Text:
    """One line: ``Enter run here  / filter``. Where there is no room, the last but help and quit go first."""
    shown = [command for command in commands if command.label]
    words = {command.id: f"{key_name(command, keymap)} {command.label}" for command in shown}
    while len(shown) > 1 and 1 + sum(len(words[command.id]) + 2 for command in shown) - 2 > width:
        shown.remove(_expendable(shown))
    text = line(" ")
    for command in shown:
        key = key_name(command, keymap)
        named = line((key, KEY), f" {command.label}")
        text.append_text(clickable(named, {ACTION: command.action})).append("  ")
    text.rstrip()
    return text


def _expendable(shown: Sequence[Command]) -> Command:
    """The first to give way: the last of the screen's own, down to what it does first; before that, the palette."""
    kept = [command for command in shown if command.id in _KEPT]
    palette = [command for command in shown if command.id == PALETTE.id]
    own = [command for command in shown if command not in (*kept, *palette)]
    return [*kept, *own[:1], *palette, *own[1:]][-1]


def unknown(names: Iterable[str]) -> str:
    """A sentence about the names that no command has; empty where all of them are known."""
    always = (QUIT, INTERRUPT, SUSPEND, GLOSSARY, PALETTE)
    known = sorted({command.id for command in (*always, *(one for screen in screens() for one in screen.KEYS))})
    strange = [name for name in names if name not in known]
    if not strange:
        return ""
    near = meant(strange[0], known) or " The help of each screen (?) names its own."
    return f"keys.toml: no command is called {', '.join(strange)}.{near}"


def screens() -> list[type[BaseScreen]]:
    """Return every kind of screen. All modules of ``screens`` are imported, so that a new screen needs no list."""
    from importlib import import_module  # noqa: PLC0415
    from pkgutil import iter_modules  # noqa: PLC0415

    from fstui.tui import screens  # noqa: PLC0415
    from fstui.tui.screens.base_screen import BaseScreen  # noqa: PLC0415

    for module in iter_modules(screens.__path__, f"{screens.__name__}."):
        import_module(module.name)
    found: list[type[BaseScreen]] = [BaseScreen]
    for screen in found:
        found += screen.__subclasses__()
    return found
