"""Pages to read: help, glossary, the explanation of a rule, a report such as a comparison."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import ClassVar

from msgspec.structs import replace
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll

from fstui.model.run import Run
from fstui.report.sections import Report, Section, right
from fstui.tui.commands import BACK, COPY, EVERYWHERE, HELP, LIST, PALETTE, QUIT, Command, key_names
from fstui.tui.drawing.cells import ACTION, Card, clickable, line, paragraph, rule, title_line
from fstui.tui.drawing.report import report_cards, section_lines
from fstui.tui.screens.base_screen import BaseScreen
from fstui.tui.styles import FAINT, HEAD, KEY
from fstui.tui.widgets.lines import DrawnLines

COPIED_WIDTH = 80
TWO_COLUMNS_FROM = 150
"""A narrower screen has no cells for two cards side by side."""


class Cards(VerticalScroll):
    """Cards below each other, on a very wide screen in two columns that are about as long."""

    def __init__(self, cards: Sequence[Card]) -> None:
        super().__init__(id="page")
        self._cards = cards

    def compose(self) -> ComposeResult:
        width = self.app.size.width // self._columns
        columns: list[list[Card]] = [[] for _ in range(self._columns)]
        lengths = [0] * self._columns
        for card in self._cards:
            shortest = lengths.index(min(lengths))
            columns[shortest].append(card)
            lengths[shortest] += len(card_lines(card, width))
        for column in columns:
            with Vertical():
                for card in column:
                    yield DrawnLines(partial(card_lines, card), frame=True)

    def on_resize(self) -> None:
        if len(self.children) != self._columns:
            self.refresh(recompose=True)

    @property
    def _columns(self) -> int:
        return 2 if self.app.size.width >= TWO_COLUMNS_FROM else 1


def card_lines(card: Card, width: int, height: int = 0) -> list[Text]:
    title, draw = card
    return [rule(width, title), *draw(width)]


class PageScreen(BaseScreen):
    KEYS: ClassVar[tuple[Command, ...]] = (COPY, HELP, BACK, QUIT, *LIST)
    SCROLLED = "page"
    HELP_TEXT = "A page of text: move through it with the keys below, or with the mouse wheel."

    def __init__(self, name: str, cards: Sequence[Card], subject: str = "", answer: str = "") -> None:
        super().__init__(name)
        self.cards = cards
        self._subject = subject
        self._answer = answer

    def compose(self) -> ComposeResult:
        title = (self.name or "", self._subject, "")
        yield self.lines("title", lambda width, height: [title_line(*title, width)], classes="line")
        if self._answer:
            yield self.lines("answer", lambda width, height: paragraph(self._answer, width - 1, " ", HEAD))
        yield Cards(self.cards)
        yield self.footer_lines()

    def action_move(self, offset: int) -> None:
        self.action_scroll(offset)

    def action_copy(self) -> None:
        cards = ("\n".join(text.plain.rstrip() for text in card_lines(card, COPIED_WIDTH)) for card in self.cards)
        self.copy("\n\n".join([*([self._answer] if self._answer else []), *cards]))

    def action_explain(self, rule_name: str) -> None:
        self.app.push_screen(explain_screen(rule_name))


class HelpScreen(PageScreen):
    """The help, which the key that opened it closes, and also ``q``: it must not end a run."""

    KEYS = (replace(BACK, id="help.close", keys="escape,q,question_mark"), COPY, *LIST)


def help_screen(screen: BaseScreen, keymap: Mapping[str, str]) -> PageScreen:
    commands = {command.id: command for command in (*screen.KEYS, PALETTE, *EVERYWHERE)}.values()
    rows = [(" ".join(key_names(command, keymap)), command.help, right(command.id)) for command in commands]
    keys_width = max(len(keys) for keys, _, _ in rows)

    def draw_keys(width: int) -> list[Text]:
        lines = section_lines(Section("", ("KEY", "", "NAME IN keys.toml"), tuple(rows)), width)
        for text in lines[1:]:
            text.stylize(KEY if text.plain[1:2].strip() else "", 0, keys_width + 1)
            text.highlight_regex(r"\w+\.\w+$", FAINT)
        return lines

    top: list[Card] = [("keys", draw_keys), ("this screen", partial(section_lines, Section(lines=(screen.HELP_TEXT,))))]
    return HelpScreen("help", [*top, *map(_meaning, _words_of(screen))])


def glossary_screen(screen: BaseScreen) -> PageScreen:
    from fstui.report import glossary  # noqa: PLC0415

    names = dict.fromkeys((*_words_of(screen), *glossary.entries()))
    return PageScreen("glossary", list(map(_meaning, names)), "the words of this screen first")


def _words_of(screen: BaseScreen) -> tuple[str, ...]:
    from fstui.report import glossary  # noqa: PLC0415

    return glossary.used_in(f"{screen.shown_text()} {screen.HELP_TEXT}")


def report_screen(name: str, report: Report) -> PageScreen:
    return PageScreen(name, report_cards(report))


def comparison_screen(runs: Sequence[Run]) -> PageScreen:
    from fstui.report import compare  # noqa: PLC0415
    from fstui.tui.drawing import compare as drawing  # noqa: PLC0415

    oldest_first = sorted(runs, key=lambda run: run.started_at)
    report = compare.of_runs(oldest_first)
    return PageScreen("compare", drawing.blocks(report), answer=" ".join(report.sections[0].lines))


def explain_screen(rule_name: str) -> PageScreen:
    from fstui.report import explanation  # noqa: PLC0415  it imports the rules

    def draw(markdown: str, width: int) -> list[Text]:
        drawn = [line(" ").append_text(text) for text in explanation.drawn(markdown, width - 2)]
        return drawn[not drawn[0].plain.strip() :]

    page, words = explanation.of_rule(rule_name)
    _, head, *parts = re.split("^##? ", page, flags=re.MULTILINE)
    name, _, result = head.partition("\n")
    cards = [(title, partial(draw, text)) for title, _, text in (part.partition("\n") for part in parts)]
    answer = f"Result: {' '.join(result.split()).strip('*')}"
    return PageScreen("explain", [*cards, *map(_meaning, words), *_related(rule_name)], name, answer)


def _related(rule_name: str) -> Iterator[Card]:
    """Yield a card with the other rules that answer the same question. A click opens the page of a rule."""
    from fstui.runs.rules import questions  # noqa: PLC0415  it imports the rules

    for question, rows in questions().items():
        related = [row for row in rows if row[0] != rule_name]
        if related and len(related) < len(rows):
            yield question, partial(_rules, related)


def _rules(rows: Sequence[tuple[str, str]], width: int) -> list[Text]:
    lead = max(len(name) for name, _ in rows) + 3
    lines = []
    for name, meaning in rows:
        drawn = paragraph(meaning, width - 1, f" {name}".ljust(lead))
        drawn[0].stylize(KEY, 0, lead)
        lines += [clickable(text, {ACTION: f"explain('{name}')"}) for text in drawn]
    return lines


def _meaning(word: str) -> Card:
    from fstui.report import explanation, glossary  # noqa: PLC0415

    return glossary.titled(word), partial(explanation.word_lines, word)
