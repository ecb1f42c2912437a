"""Text to read: help, the explanation of a rule, what words mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from msgspec.structs import replace
from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult

from fstui.model.run import Run
from fstui.tui.commands import (
    BACK,
    COPY,
    GLOSSARY,
    HELP,
    INTERRUPT,
    LIST,
    PALETTE,
    QUIT,
    SUSPEND,
    Command,
    all_key_names,
    bindings,
)
from fstui.tui.drawing.cells import fit, line, rule, wrapped
from fstui.tui.glyphs import FAINT, HEAD
from fstui.tui.screens.base_screen import BaseScreen

_MEASURE = 100
"""Cells: longer lines of text are hard to follow."""


class PageScreen(BaseScreen):
    """A page that is scrolled; Esc leads back."""

    KEYS: ClassVar[tuple[Command, ...]] = (COPY, HELP, BACK, QUIT, *LIST)
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

    def action_copy(self) -> None:
        """All of it, as wide as it stands here."""
        page = self._page(self.part("page").size.width)
        self.copy("\n".join(text.plain.rstrip() for text in page))


class HelpScreen(PageScreen):
    """What opened it closes it, and q too: who has only read the help ends no run."""

    KEYS = (replace(BACK, id="help.close", keys="escape,q,question_mark"), COPY, *LIST)
    BINDINGS = bindings(KEYS)


def help_screen(screen: BaseScreen, keymap: Mapping[str, str]) -> PageScreen:
    """What the screen shows, and each of its keys."""
    by_id = {command.id: command for command in (PALETTE, GLOSSARY, QUIT, INTERRUPT, SUSPEND)}
    commands = ({command.id: command for command in screen.KEYS} | by_id).values()

    def page(width: int) -> list[Text]:
        room = min(width - 2, _MEASURE)
        lines = [rule(width, "help"), *(line(part) for part in wrapped(screen.HELP_TEXT, room, indent="  "))]
        lines += [line(), rule(width, "keys")]
        for command in commands:
            keys = all_key_names(command, keymap)
            first, *more = wrapped(command.help, room - 14, indent="")
            lines.append(line("  ", (fit(keys, 12), HEAD), first))
            lines += [line(" " * 14 + part) for part in more]
        names = ", ".join(command.id for command in commands)
        told = f"Keys can be changed in keys.toml in the configuration directory, by these names: {names}"
        return [*lines, line(), *(line((part, FAINT)) for part in wrapped(told, room, indent="  "))]

    return HelpScreen(page)


def glossary_screen(screen: BaseScreen) -> PageScreen:
    """What the words mean: first those that stand on the screen."""
    from fstui.report import explanation  # noqa: PLC0415  it comes with Markdown
    from fstui.report import glossary as words  # noqa: PLC0415

    shown = " ".join(text for part in screen.parts() for text in part.texts)
    here = words.standing_in(f"{shown} {screen.HELP_TEXT}")
    rest = tuple(name for name in words.words() if name not in here)

    def page(width: int) -> list[Text]:
        lines, room = [], min(width, _MEASURE)
        for title, names in (("words of this screen", here), ("all others", rest)):
            lines += [rule(width, title)] if names else []
            for name in names:
                lines += [line(" ", (words.titled(name), HEAD)), *explanation.word_lines(name, room), line()]
        return lines

    return PageScreen(page)


def page_screen(title: str, text: Callable[[int], str]) -> PageScreen:
    """Plain text for a width."""
    return PageScreen(lambda width: [rule(width, title), *(line(f" {part}") for part in text(width).splitlines())])


def comparison_screen(runs: Sequence[Run]) -> PageScreen:
    """These runs side by side."""
    from fstui.tui.drawing import comparison  # noqa: PLC0415

    return PageScreen(lambda width: comparison.page(runs, width))


def explain_screen(rule_name: str) -> PageScreen:
    """The rule's own page."""
    from fstui.report import explanation  # noqa: PLC0415  Markdown takes its time to import

    def page(width: int) -> list[Text]:
        told = explanation.lines(rule_name, min(width, _MEASURE))
        return [rule(width, rule_name), *(rule(width, part.plain.strip()) if _heads(part) else part for part in told)]

    return PageScreen(page)


def _heads(text: Text) -> bool:
    """Markdown's headings are what it underlines."""
    return any(isinstance(span.style, Style) and bool(span.style.underline) for span in text.spans)
