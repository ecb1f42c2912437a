"""Pages to read: help, glossary, the explanation of a rule, a report such as a comparison."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import ClassVar

from msgspec.structs import replace
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Container, ItemGrid, VerticalScroll
from textual.geometry import Region
from textual.strip import Strip

from fstui.model.judgement import VERDICTS
from fstui.model.quantities import counted
from fstui.model.run import Run
from fstui.tui.commands import BACK, COPY, EVERYWHERE, HELP, LIST, PALETTE, QUIT, Command, key_names
from fstui.tui.drawing.cells import Card, Column, fit_columns, headline, line, paragraph, rule, title_line
from fstui.tui.drawing.report import NEXT, card_lines, short_term_lines, term_lines
from fstui.tui.screens.base_screen import BaseScreen
from fstui.tui.styles import FAINT, HEAD, KEY, verdict_style
from fstui.tui.widgets.lines import DrawnLines
from fstui.tui.widgets.table import DrawnTable, TableContent, row_cells

COPIED_WIDTH = 80
MIN_NAMES_WIDTH = 97
"""Width inside the frame on a screen of 100 columns. A narrower help omits the names of commands."""
_GENERAL = {command.id for command in (HELP, BACK, PALETTE, *EVERYWHERE)}
INDEX = (Column("TERMS", 20, gap=2), Column("MEANING", gap=2, from_width=60))
"""The columns of the index of terms."""


class _CardLines(DrawnLines):
    def render_lines(self, crop: Region) -> list[Strip]:
        """Leave the title to the next page if no line below it is visible."""
        is_alone = crop.y == 0 and crop.height == 1 < self.size.height
        return [Strip.blank(crop.width, self._background)] if is_alone else super().render_lines(crop)


class PageScreen(BaseScreen):
    """Cards in one column. On a wide terminal, they are a panel over the previous screen, which remains visible."""

    BLANK = False
    KEYS: ClassVar[tuple[Command, ...]] = (COPY, HELP, BACK, QUIT, *LIST)
    SCROLLED_PART = "page"
    HELP_TEXT = "A page of text: move through it with the keys below, or with the mouse wheel."

    def __init__(
        self,
        name: str,
        cards: Sequence[Card],
        subject: str = "",
        answer: str = "",
        *,
        pairs: int = 0,
        is_panel: bool = True,
    ) -> None:
        """``pairs``: how many of the last cards are side by side on a huge screen.

        ``is_panel``: False for a page that needs the whole width.
        """
        super().__init__(name, classes="-panel" if is_panel else "")
        first: Card = ("", partial(headline, answer, end=". "))
        self.cards = [first, *cards] if answer else cards
        self._pairs = pairs
        self._subject = subject

    def compose(self) -> ComposeResult:
        yield self.lines("title", self._draw_title, classes="line")
        with VerticalScroll(id="page", classes="box") as page:
            page.border_title = line(f"{self.name}: {self._subject}")
            widgets = [
                _CardLines(None, partial(card_lines, card), frame=bool(card[0]) and not self.has_class("-panel"))
                for card in self.cards
            ]
            single = len(widgets) - self._pairs
            yield from widgets[:single]
            if self._pairs:
                yield ItemGrid(*widgets[single:])
        yield self.footer_lines()

    def _draw_title(self, width: int, height: int) -> list[Text]:
        return [title_line(self.name or "", self._subject, "", width)]

    def action_move(self, offset: int) -> None:
        self.action_scroll(offset)

    def action_copy(self) -> None:
        cards = ("\n".join(text.plain.rstrip() for text in card_lines(card, COPIED_WIDTH)) for card in self.cards)
        self.copy("\n\n".join(cards))


class HelpScreen(PageScreen):
    """The help. The key that opened it closes it, and so does ``q``, so that ``q`` does not end a run by mistake."""

    KEYS = (replace(BACK, id="help.close", keys="escape,q,question_mark"), COPY, *LIST)


def help_screen(screen: BaseScreen, keymap: Mapping[str, str]) -> PageScreen:
    names_title = ("", "", "name in keys.toml")
    rows: dict[str, list[tuple[str, str, str]]] = {"keys of this screen": [names_title], "everywhere": [], "moving": []}
    commands = {command.id: command for command in (*screen.KEYS, PALETTE, *EVERYWHERE)}
    for command in sorted(commands.values(), key=lambda command: not command.keys.startswith("enter")):
        own_group = "moving" if command.action.startswith(("move(", "scroll(", "zoom(")) else "keys of this screen"
        group = "everywhere" if command.id in _GENERAL else own_group
        rows[group].append((" ".join(key_names(command, keymap)), command.help, command.id))
    widths = [max(len(row[index]) for group in rows.values() for row in group) for index in range(3)]
    cards: list[Card] = [(title, partial(_key_lines, group, widths)) for title, group in rows.items() if group]
    name = screen.name or re.sub("(?<=[a-z])(?=[A-Z])", " ", type(screen).__name__.removesuffix("Screen")).lower()
    summary, *more = re.split(r"(?<=\.) ", screen.HELP_TEXT)
    if more:
        cards.insert(1, (f"more about the {name} screen", partial(_bullets, more)))
    if terms := _terms_of(screen):
        cards.append(("terms of this screen", partial(short_term_lines, terms)))
    return HelpScreen("help", cards, name, summary)


def _bullets(sentences: Sequence[str], width: int) -> list[Text]:
    return [part for sentence in sentences for part in paragraph(sentence, width, " • ")]


def _key_lines(rows: Sequence[tuple[str, str, str]], widths: Sequence[int], width: int) -> list[Text]:
    """Draw keys with their help and, on a wide screen, the names of their commands in keys.toml."""
    keys_width, help_width, name_width = widths
    shows_names = width >= MIN_NAMES_WIDTH
    help_width = min(help_width, width - keys_width - 6 - shows_names * (name_width + 2))
    lines = []
    for keys, help_text, name in rows if shows_names else (row for row in rows if row[0]):
        drawn = paragraph(help_text, keys_width + help_width + 6, f"   {keys:{keys_width}}  ")
        drawn[0].stylize(KEY, 0, keys_width + 3)
        if shows_names:
            drawn[0].pad_right(keys_width + help_width + 7 - len(drawn[0]))
            drawn[0].append(name, FAINT)
        lines += drawn
    return lines


class GlossaryScreen(PageScreen):
    """An index of all terms, with the meaning of the selected one and of the terms related to it."""

    KEYS = (
        Command("glossary.open", "enter", "open", "open", "Show the term and related terms on a page of their own."),
        Command("glossary.jump", "slash", "jump", "jump to", "Go to the first term that begins with what you type."),
        *PageScreen.KEYS,
    )
    DOUBLE_CLICK_ACTION = "open"
    action_move = BaseScreen.action_move  # the keys move the cursor of the index, and do not scroll
    on_data_table_row_highlighted = BaseScreen.show_row
    HELP_TEXT = "The terms of the previous screen are in bold and come first, then all others, A to Z."

    def __init__(self, screen: BaseScreen) -> None:
        from fstui.report import glossary  # noqa: PLC0415

        self._own = _terms_of(screen)
        others = sorted(
            set(glossary.entries()).difference(self._own),
            key=lambda name: (name.endswith("-columns"), glossary.spelling(name).lower()),
        )
        self._spellings = {name: glossary.spelling(name) for name in (*self._own, *others)}
        own = counted(len(self._own), "term")
        subject = f"{own} of the previous screen, then {len(others)} others, A to Z"
        super().__init__("glossary", (), subject, is_panel=False)
        self.table = DrawnTable(self._rows, id="terms", header=False)
        self.table.border_title = "terms"

    def compose(self) -> ComposeResult:
        yield self.lines("title", self._draw_title, classes="line")
        with Container(id="pair"):
            yield self.table
            yield self.lines("page", self._draw_meaning, frame=True)
        yield self.footer_lines()

    @property
    def chosen(self) -> str:
        return self.table.chosen_key or next(iter(self._spellings))

    def action_open(self) -> None:
        self.app.push_screen(term_screen(self.chosen))

    def action_copy(self) -> None:
        self.copy("\n".join(text.plain.rstrip() for text in term_lines([self.chosen], COPIED_WIDTH)))

    async def action_jump(self) -> None:
        await self.open_prompt("the first letters of a term", change=self.action_jump_to)

    def action_jump_to(self, letters: str) -> None:
        """Select the first term that begins with the letters."""
        matches = (name for name, term in self._spellings.items() if term.lower().startswith(letters.lower()))
        if letters:
            self.table.choose(next(matches, None))

    def _rows(self, width: int) -> TableContent:
        from fstui.report import glossary  # noqa: PLC0415

        columns = fit_columns(INDEX, width)

        def cells(name: str) -> list[Text]:
            values = {"TERMS": self._spellings[name], "MEANING": glossary.first_sentence(name)}
            return row_cells(columns, values, {"TERMS": HEAD if name in self._own else "", "MEANING": FAINT})

        return TableContent(columns, {name: partial(cells, name) for name in self._spellings})

    def _draw_meaning(self, width: int, height: int) -> list[Text]:
        from fstui.report import explanation, glossary  # noqa: PLC0415

        entries = glossary.entries()
        related = entries[self.chosen].see
        if self.has_class("-huge"):  # there is room for the terms that are related to these
            related = tuple(dict.fromkeys((*related, *(name for term in related for name in entries[term].see))))
        return [
            rule(width, self._spellings[self.chosen]),
            *(line(" ").append_text(text) for text in explanation.word_lines(self.chosen, width)),
            line(),
            rule(width, "related terms"),
            *term_lines([name for name in related if name != self.chosen], width),
        ]


def _terms_of(screen: BaseScreen) -> tuple[str, ...]:
    from fstui.report import glossary  # noqa: PLC0415

    shown = screen.shown_text()
    return tuple(dict.fromkeys((*glossary.terms_in(f"{shown} {screen.HELP_TEXT}"), *glossary.columns_in(shown))))


def comparison_screen(runs: Sequence[Run], height: int = 0) -> PageScreen:
    from fstui.report import compare  # noqa: PLC0415
    from fstui.tui.drawing import compare as drawing  # noqa: PLC0415

    oldest_first = sorted(runs, key=lambda run: run.started_at)
    report = compare.comparison_report(oldest_first)
    answer = " ".join(report.sections[0].lines)
    return PageScreen("compare", drawing.blocks(report, height), answer=answer, is_panel=False)


def explain_screen(
    rule_name: str, draw_finding: Callable[[int], list[Text]] | None = None, *, says_next: bool = False
) -> PageScreen:
    """Return the page of a rule. ``draw_finding`` draws what it found in the run from which the page was opened.

    ``says_next``: this includes what to do next, so that the page does not repeat it.
    """
    from fstui.report import explanation  # noqa: PLC0415  it imports the rules

    def draw(markdown: str, width: int) -> list[Text]:
        rows = explanation.markdown_lines(markdown, width - 4)
        drawn = [line("  " if row.plain.startswith((" • ", "   ")) else "   ").append_text(row) for row in rows]
        return drawn[not drawn[0].plain.strip() :]

    page, terms = explanation.rule_page(rule_name)
    _, introduction, meaning, *parts = re.split("^##? ", page, flags=re.MULTILINE)
    name, _, result = introduction.partition("\n")
    answer, _, more = meaning.partition("\n")[2].strip().partition("\n\n")

    def verdicts(width: int) -> list[Text]:
        drawn = draw(result, width)
        for text, verdict in product(drawn, VERDICTS):
            text.highlight_regex(f"{verdict}(?=,)", verdict_style(verdict)[1])
        return drawn

    cards: list[Card] = [("Verdict", verdicts)]
    cards += [("More about what it means", partial(draw, more))] if more.strip() else []
    cards += [(title, partial(draw, text)) for title, _, text in (part.partition("\n") for part in parts)]
    cards = sorted((card for card in cards if not (says_next and card[0] == NEXT)), key=lambda card: card[0] != NEXT)
    if draw_finding:
        cards.insert(0, ("In this run", draw_finding))
    answer = re.sub("[ \n]+", " ", answer.replace("`", ""))
    cards += [("Terms", partial(short_term_lines, terms))] if terms else []
    return PageScreen("explain", cards, name, answer)


def term_screen(name: str) -> PageScreen:
    from fstui.report import glossary  # noqa: PLC0415

    cards: list[Card] = [("", partial(term_lines, [name]))]
    if related := glossary.entries()[name].see:
        cards.append(("related terms", partial(term_lines, related)))
    return PageScreen("glossary", cards, glossary.spelling(name))
