"""Text to read: help and the explanation of a rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rich.text import Text
from textual.app import ComposeResult

from fstui.model.run import Run
from fstui.tui.commands import BACK, INTERRUPT, LIST, QUIT, SUSPEND, all_key_names, bindings
from fstui.tui.drawing.cells import fit, line, rule, wrapped
from fstui.tui.glyphs import HEAD
from fstui.tui.screens.base_screen import BaseScreen


class PageScreen(BaseScreen):
    """A page that is scrolled; Esc leads back."""

    KEYS = (BACK, QUIT, *LIST)
    BINDINGS = bindings(KEYS)
    HELP_TEXT = "A page to read."

    def __init__(self, page: Callable[[int], list[Text]]) -> None:
        super().__init__()
        self._page = page

    def compose(self) -> ComposeResult:
        yield self.lines("page", lambda width, height: self._page(width), classes="rest")
        yield self.footer_lines()

    def action_move(self, by: int) -> None:
        self.part("page").scroll_lines(by)

    action_scroll = action_move


def help_screen(screen: BaseScreen, keymap: Mapping[str, str]) -> PageScreen:
    """What the screen shows, and each of its keys."""
    commands = dict.fromkeys((*screen.KEYS, QUIT, INTERRUPT, SUSPEND))

    def page(width: int) -> list[Text]:
        lines = [rule(width, "help"), *(line(part) for part in wrapped(screen.HELP_TEXT, width - 2, indent="  "))]
        lines.append(line())
        for command in commands:
            keys = all_key_names(command, keymap)
            first, *more = wrapped(command.help, width - 16, indent="")
            lines.append(line("  ", (fit(keys, 12), HEAD), first))
            lines += [line(" " * 14 + part) for part in more]
        lines += [line(), line("  Keys can be changed in keys.toml in the configuration directory,")]
        lines += [line(f"  by these names: {', '.join(command.id for command in commands)}"[: width - 2])]
        return lines

    return PageScreen(page)


def comparison_screen(runs: Sequence[Run]) -> PageScreen:
    """These runs side by side."""
    from fstui.tui.drawing import comparison  # noqa: PLC0415

    return PageScreen(lambda width: comparison.page(runs, width))


def explain_screen(rule_name: str) -> PageScreen:
    """The rule's own page."""
    from fstui.report import explanation  # noqa: PLC0415  Markdown takes its time to import

    return PageScreen(lambda width: [rule(width, rule_name), *explanation.lines(rule_name, width)])
