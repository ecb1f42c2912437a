"""Define every key once: a command supplies the binding, the footer and palette entries, and the line in the help.

Users change keys in ``keys.toml`` in the configuration directory: ``"storage.filter" = "f"``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec
from rich.text import Text
from textual.binding import Binding, BindingType

from fstui.model.errors import hint_for
from fstui.tui.drawing.cells import clickable, line
from fstui.tui.styles import KEY, MAIN_BUTTON

if TYPE_CHECKING:
    from fstui.tui.screens.base_screen import BaseScreen

_KEY_NAMES = {
    "enter": "Enter", "space": "Space", "escape": "Esc", "tab": "Tab", "slash": "/", "question_mark": "?",
    "left": "←", "right": "→", "up": "↑", "down": "↓", "pageup": "PgUp", "pagedown": "PgDn", "ctrl+c": "Ctrl-C",
    "ctrl+z": "Ctrl-Z", "ctrl+p": "Ctrl-P", "home": "Home", "end": "End",
}  # fmt: skip

_ALWAYS_IN_FOOTER = ("app.help", "app.back", "app.quit")
"""Shown in the footer however narrow it is, after the other commands."""


class Command(msgspec.Struct, frozen=True):
    id: str
    """The name by which the user changes the key."""
    keys: str
    """Textual's names, separated by commas."""
    action: str
    label: str
    """One or two words for the footer; empty if it is not shown there."""
    help: str
    shown_as: str = ""
    """The key as the footer shows it, if it is not the first of ``keys``."""
    works_while_typing: bool = False
    """Whether the key also works while a value is being typed."""


QUIT = Command("app.quit", "q", "app.quit", "quit", "Quit, and print the last result. A run is stopped first.")
INTERRUPT = Command(
    "app.interrupt", "ctrl+c", "app.interrupt", "", "Copy the selected text, or quit. Twice: quit without waiting.",
    works_while_typing=True,
)  # fmt: skip
SUSPEND = Command(
    "app.suspend", "ctrl+z", "app.suspend_process", "", "Put fstui into the background; fg brings it back.",
    works_while_typing=True,
)  # fmt: skip
HELP = Command("app.help", "question_mark", "app.help", "help", "Explain this screen and its keys.")
PALETTE = Command(
    "app.palette",
    "ctrl+p",
    "app.command_palette",
    "find",
    "Find what this screen can do, or a mount, lesson, term, run or theme.",
)
PALETTE_KEYS = (
    Command("palette.choose", "enter", "", "choose", "Run the selected entry."),
    Command("palette.close", "escape", "", "close", "Close the palette."),
)
GLOSSARY = Command("app.glossary", "g", "app.glossary", "", "Explain the terms, first those of this screen.")
BACK = Command("app.back", "escape", "back", "back", "Return to the previous screen. If there is none, leave fstui.")
UP = Command("list.up", "up,k", "move(-1)", "", "Go one row up.")
DOWN = Command("list.down", "down,j", "move(1)", "", "Go one row down.")
TOP = Command("list.top", "home", "move(-100000)", "", "Go to the first row.")
BOTTOM = Command("list.bottom", "end", "move(100000)", "", "Go to the last row.")
PAGE_UP = Command("detail.up", "pageup", "scroll(-5)", "", "Scroll the text up.")
PAGE_DOWN = Command("detail.down", "pagedown", "scroll(5)", "", "Scroll the text down.")
LIST = (UP, DOWN, TOP, BOTTOM, PAGE_UP, PAGE_DOWN)
RECORDING = Command("app.recording", "w", "app.recording", "recorded", "Show what 'fstui record' has recorded.")
TREND = Command("history.trend", "t", "trend", "trend", "Show how the rates on each filesystem changed.")
WATCH = Command("storage.watch", "t", "watch", "watch", "See which processes wait for syncs here.")
HISTORY = Command("app.history", "h", "app.history", "history", "Show the saved runs.")
COPY = Command("app.copy", "y", "copy", "copy", "Copy the text to the clipboard (OSC 52).")
EVERYWHERE = (QUIT, INTERRUPT, SUSPEND, GLOSSARY)


def bindings(commands: Iterable[Command]) -> list[BindingType]:
    return [
        Binding(
            command.keys,
            command.action,
            command.label or command.help,
            id=command.id,
            tooltip=command.help,
            priority=command.works_while_typing,
        )
        for command in commands
    ]


def key_names(command: Command, keymap: Mapping[str, str]) -> list[str]:
    return [_KEY_NAMES.get(key.strip(), key.strip()) for key in keymap.get(command.id, command.keys).split(",")]


def key_name(command: Command, keymap: Mapping[str, str]) -> str:
    if command.shown_as and command.id not in keymap:
        return command.shown_as
    return key_names(command, keymap)[0]


def footer(commands: Iterable[Command], keymap: Mapping[str, str], width: int) -> Text:
    """Return one line: ``Enter run here  / filter``. If it is too long, the least important commands are left out.

    The gaps are smaller if that makes room for a command.
    """
    last = (*_ALWAYS_IN_FOOTER, PALETTE.id)
    shown = [command for command in commands if command.label]
    shown.sort(key=lambda command: (command.keys != "enter", last.index(command.id) if command.id in last else -1))
    keys = {command.id: key_name(command, keymap) for command in shown}
    own = [command for command in shown if command.id not in last]
    by_importance = sorted(shown, key=lambda command: (command in own[1:], command.id == PALETTE.id, command in own))
    widths = {command: len(keys[command.id]) + len(command.label) + 1 for command in shown}
    padding = 2 * any(command.keys == "enter" for command in shown)

    def fits(gap: int) -> bool:
        return sum(widths[command] + gap for command in shown) + padding < width

    while len(shown) > 1 and not fits(1):
        shown.remove(by_importance.pop())
    blank = " " if fits(2) else ""
    text = line(" ")
    for command in shown:
        key, label = keys[command.id], command.label
        item = (
            line((f" {key} {label} ", MAIN_BUTTON)) if command.keys == "enter" else line((key, KEY), f" {label}{blank}")
        )
        text.append_text(clickable(item, command.action)).append(" ")
    text.right_crop(1)
    return text


def unknown_commands_message(names: Iterable[str]) -> str:
    """Return a sentence about the names in keys.toml that no command has; empty if there are none."""
    commands = [*EVERYWHERE, PALETTE, *(command for screen in screens() for command in screen.KEYS)]
    command_names = sorted({command.id for command in commands})
    wrong = [name for name in names if name not in command_names]
    if not wrong:
        return ""
    hint = (
        hint_for(wrong[0], command_names)
        or " In a terminal of at least 100 columns, the help of each screen (?) lists the names of its commands."
    )
    return f"keys.toml: there is no command {', '.join(wrong)}.{hint}"


def screens() -> list[type[BaseScreen]]:
    """Import all modules of ``fstui.tui.screens`` and return every screen class, so that no list is needed."""
    from importlib import import_module  # noqa: PLC0415
    from pkgutil import iter_modules  # noqa: PLC0415

    from fstui.tui import screens  # noqa: PLC0415
    from fstui.tui.screens.base_screen import BaseScreen  # noqa: PLC0415

    for module in iter_modules(screens.__path__, f"{screens.__name__}."):
        import_module(module.name)
    classes: list[type[BaseScreen]] = [BaseScreen]
    for screen in classes:
        classes += screen.__subclasses__()
    return classes
