"""Pages to read: help, the explanation of a rule, the glossary, a comparison."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from msgspec.structs import replace
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Markdown

from fstui.model.run import Run
from fstui.report.sections import Report
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
from fstui.tui.drawing.cells import rule
from fstui.tui.drawing.report import report_lines
from fstui.tui.screens.base_screen import BaseScreen

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~])")


class PageScreen(BaseScreen):
    """A page that scrolls."""

    KEYS: ClassVar[tuple[Command, ...]] = (COPY, HELP, BACK, QUIT, *LIST)
    BINDINGS = bindings(KEYS)
    HELP_TEXT = "A page to read."

    def __init__(self, page: str | Callable[[int], list[Text]]) -> None:
        """``page``: Markdown, or a function that draws the lines for a width."""
        super().__init__()
        self._page = page

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="page"):
            if isinstance(page := self._page, str):
                yield Markdown(page, open_links=False)
            else:
                yield self.lines("drawn", lambda width, height: page(width))
        yield self.footer_lines()

    def action_move(self, by: int) -> None:
        self.query_one("#page").scroll_relative(y=by, animate=False)

    action_scroll = action_move

    def action_copy(self) -> None:
        """Copy Markdown as it is written, and lines as they are drawn here."""
        if isinstance(self._page, str):
            self.copy(self._page)
        else:
            self.copy("\n".join(text.plain.rstrip() for text in self._page(self.part("drawn").size.width)))


class HelpScreen(PageScreen):
    """The key that opened the help closes it. ``q`` closes it, too, instead of ending a run."""

    KEYS = (replace(BACK, id="help.close", keys="escape,q,question_mark"), COPY, *LIST)
    BINDINGS = bindings(KEYS)


def help_screen(screen: BaseScreen, keymap: Mapping[str, str]) -> PageScreen:
    """Return a page about the screen and each of its keys."""
    by_id = {command.id: command for command in (PALETTE, GLOSSARY, QUIT, INTERRUPT, SUSPEND)}
    commands = ({command.id: command for command in screen.KEYS} | by_id).values()
    rows = [f"| **{_plain(all_key_names(one, keymap))}** | {_plain(one.help)} |" for one in commands]
    names = _plain(", ".join(command.id for command in commands))
    told = f"Keys can be changed in keys.toml in the configuration directory, by these names: {names}"
    parts = ["## help", _plain(screen.HELP_TEXT), "\n".join(["| keys | |", "|---|---|", *rows]), told]
    return HelpScreen("\n\n".join(parts))


def glossary_screen(screen: BaseScreen) -> PageScreen:
    """Return a page of the glossary that begins with the words of the screen."""
    from fstui.report import glossary  # noqa: PLC0415

    here = glossary.used_in(f"{screen.shown_text()} {screen.HELP_TEXT}")
    rest = tuple(name for name in glossary.words() if name not in here)
    parts = []
    for title, names in (("words of this screen", here), ("all others", rest)):
        parts += [f"## {title}"] if names else []
        for name in names:
            word = glossary.words()[name]
            parts += [f"### {_plain(glossary.titled(name))}", _plain(" ".join(word.text.split()))]
            source = [f"source: {word.source}"] if word.source else []
            see = [f"see: {', '.join(map(glossary.titled, word.see))}"] if word.see else []
            parts += ["\\\n".join(f"*{_plain(part)}*" for part in (*source, *see))]
    return PageScreen("\n\n".join(parts))


def report_screen(title: str, report: Callable[[int], Report]) -> PageScreen:
    """Return a page with a report that is made for the width of its drawings."""
    return PageScreen(lambda width: [rule(width, title), *report_lines(report(width - 2), width)])


def comparison_screen(runs: Sequence[Run]) -> PageScreen:
    """Return a page that compares the runs, the oldest first."""
    from fstui.report import compare  # noqa: PLC0415

    oldest_first = sorted(runs, key=lambda run: run.started_at)
    return report_screen("compare", lambda width: compare.of_runs(oldest_first, width))


def explain_screen(rule_name: str) -> PageScreen:
    """Return the page of a rule."""
    from fstui.report import explanation  # noqa: PLC0415  it imports the rules

    return PageScreen(explanation.markdown(rule_name))


def _plain(text: str) -> str:
    """Escape what Markdown would read as a mark."""
    return _SPECIAL.sub(r"\\\1", text)
