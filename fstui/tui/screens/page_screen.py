"""Pages to read: help, glossary, the explanation of a rule, a report such as a comparison."""

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
from fstui.tui.commands import BACK, COPY, EVERYWHERE, HELP, LIST, PALETTE, QUIT, Command, key_names
from fstui.tui.drawing.cells import title_line
from fstui.tui.drawing.report import report_lines
from fstui.tui.screens.base_screen import BaseScreen

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~])")


class PageScreen(BaseScreen):
    KEYS: ClassVar[tuple[Command, ...]] = (COPY, HELP, BACK, QUIT, *LIST)
    SCROLLED = "page"
    HELP_TEXT = "A page to read."

    def __init__(self, name: str, page: str | Callable[[int], list[Text]]) -> None:
        """``page``: Markdown, or a function that returns the lines for a width."""
        super().__init__(name)
        self._page = page

    def compose(self) -> ComposeResult:
        yield self.lines("title", lambda width, height: [title_line(self.name or "", "", "", width)], classes="line")
        with VerticalScroll(id="page"):
            if isinstance(page := self._page, str):
                yield Markdown(page, open_links=False)
            else:
                yield self.lines("drawn", lambda width, height: page(width))
        yield self.footer_lines()

    def action_move(self, by: int) -> None:
        self.action_scroll(by)

    def action_copy(self) -> None:
        """Copy the Markdown source, or the lines as they are drawn."""
        if isinstance(self._page, str):
            self.copy(self._page)
        else:
            self.copy("\n".join(text.plain.rstrip() for text in self._page(self.part("drawn").size.width)))


class HelpScreen(PageScreen):
    """The help, which the key that opened it closes, and also ``q``: it must not end a run."""

    KEYS = (replace(BACK, id="help.close", keys="escape,q,question_mark"), COPY, *LIST)


def help_screen(screen: BaseScreen, keymap: Mapping[str, str]) -> PageScreen:
    commands = {command.id: command for command in (*screen.KEYS, PALETTE, *EVERYWHERE)}.values()
    rows = [f"| **{_escape(' '.join(key_names(one, keymap)))}** | {_escape(one.help)} |" for one in commands]
    names = ", ".join(command.id for command in commands)
    how = _escape(f"To change keys, use these names in keys.toml in the configuration directory: {names}")
    parts = [_escape(screen.HELP_TEXT), "\n".join(["| keys | |", "|---|---|", *rows]), how]
    return HelpScreen("help", "\n\n".join(parts))


def glossary_screen(screen: BaseScreen) -> PageScreen:
    """Return the glossary, beginning with the terms that the screen shows."""
    from fstui.report import glossary  # noqa: PLC0415

    here = glossary.used_in(f"{screen.shown_text()} {screen.HELP_TEXT}")
    others = tuple(name for name in glossary.entries() if name not in here)
    parts = []
    for title, names in (("words of this screen", here), ("all others", others)):
        parts += [f"## {title}"] if names else []
        for name in names:
            word = glossary.entries()[name]
            source = [f"source: {word.source}"] if word.source else []
            see = [f"see: {', '.join(map(glossary.titled, word.see))}"] if word.see else []
            parts += [f"### {_escape(glossary.titled(name))}", _escape(" ".join(word.text.split()))]
            parts += ["\\\n".join(f"*{_escape(part)}*" for part in (*source, *see))]
    return PageScreen("glossary", "\n\n".join(parts))


def report_screen(name: str, report: Report) -> PageScreen:
    return PageScreen(name, lambda width: report_lines(report, width))


def comparison_screen(runs: Sequence[Run]) -> PageScreen:
    """Return a page that compares the runs, the oldest first."""
    from fstui.report import compare  # noqa: PLC0415

    oldest_first = sorted(runs, key=lambda run: run.started_at)
    return report_screen("compare", compare.of_runs(oldest_first))


def explain_screen(rule_name: str) -> PageScreen:
    from fstui.report import explanation  # noqa: PLC0415  it imports the rules

    return PageScreen("explain", explanation.markdown(rule_name))


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)
