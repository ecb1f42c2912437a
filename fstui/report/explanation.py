"""The pages of ``fstui explain``: rules, documentation (``fstui/docs``), log messages and terms."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Markdown, TableElement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from fstui.judge import explain, has_page, questions
from fstui.model.quantities import with_nonbreaking_spaces
from fstui.report import glossary, symptoms
from fstui.report.characters import join_lines
from fstui.report.text import WIDTH, wrap, wrapped_columns

_CODE = re.compile("(?<!`)`([^`]+)`(?!`)")
_NO_BREAK = "\ue000"
"""Replaces a non-breaking space, because Rich would break a line at it."""
_FIRST_PLACEHOLDER = 0xE100
"""The first of the private-use characters that replace text that must not be wrapped."""
_INDENT = 8
"""Columns left and right of text in a list."""
_LINK = re.compile(r"\[([^\]]+)\]\(([\w-]+)\.md(?:#[^)]*)?\)")
_THEME = Theme({"markdown.code": "cyan", "markdown.code_block": "cyan"})
_LONG_ROW_LINES = 3
"""A table is printed as a list if one of its rows, as running text, fills more lines than this."""
_DOCS = Path(__file__).resolve().parents[1] / "docs"


class _Table(TableElement):
    """A table that breaks long words, which may be part of a command. A table with long rows is printed as a list."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            if isinstance(table, Table):
                heads = [f"{column.header}: " for column in table.columns]
                rows = list(zip(*(map(str, column.cells) for column in table.columns), strict=True))
                longest = max((sum(map(len, row)) for row in rows), default=0)
                if len(heads) > 2 and longest > _LONG_ROW_LINES * options.max_width:
                    for name, *cells in rows:
                        yield Text(f"\n{name}", style="bold")
                        for head, cell in zip(heads[1:], cells, strict=True):
                            yield Padding(Text(head + cell), (0, 0, 0, 2))
                    continue
                for column in table.columns:
                    column.overflow = "fold"
            yield table


class _Page(Markdown):
    elements: ClassVar = Markdown.elements | {"table_open": _Table}


def render_word(name: str) -> str:
    return join_lines([glossary.spelling(name), *(text.plain for text in word_lines(name, WIDTH))])


def word_markdown(name: str) -> str:
    word = glossary.entries()[name]
    return "".join([f"# {glossary.spelling(name)}\n\n{word.text}\n", *(f"\n{line}\n" for line in _references(word))])


def overview(width: int | None) -> str:
    """List the rules by question, the pages and the terms. Without a width, return Markdown."""
    sections = questions() | {
        "Documentation": [(name, text.partition("\n")[0].removeprefix("# ")) for name, text in documentation().items()],
        "Log messages and settings": [(symptom.product, symptom.name) for symptom in symptoms.symptoms().page],
    }
    names = ", ".join(glossary.spelling(name) for name in glossary.entries())
    lines: list[str] = []
    for title, rows in sections.items():
        if width is None:
            lines += [f"## {title}", *(f"- {name}: {meaning}" for name, meaning in rows), ""]
        else:
            lines += [title, *wrapped_columns([(f"  {name}", meaning) for name, meaning in rows], width), ""]
    words = ["## Words", names] if width is None else ["Words", *(f"  {part}" for part in wrap(names, width - 2))]
    lines += [*words, ""]
    return join_lines([*lines, "fstui explain NAME shows a page, or what a word means."])


def documentation() -> dict[str, str]:
    """Return the Markdown of every page in ``fstui/docs`` by its file name without ``.md``."""
    return {path.stem: with_nonbreaking_spaces(path.read_text()) for path in sorted(_DOCS.glob("*.md"))}


def rule_markdown(name: str) -> str:
    """Return the page of a rule, with the terms used in it; empty for an unknown rule."""
    if not has_page(name):
        return ""
    text, words = rule_page(name)
    return text + (f"\n*Words (`fstui explain WORD`): {', '.join(map(glossary.spelling, words))}*\n" if words else "")


def rule_page(name: str) -> tuple[str, tuple[str, ...]]:
    """Return the page of a rule as Markdown, and the terms used in it. Raises KeyError for an unknown rule."""
    text = explain(name)
    return text, glossary.terms_in(_CODE.sub("", text.partition("\n")[2]))


def plain_text(markdown: str, width: int) -> str:
    """Return Markdown as lines of text. Lines of code, paths and addresses stay whole, so that they can be copied."""
    text_width = max(width - _INDENT, 1)
    long_parts: list[str] = []

    def placeholder(long: re.Match[str]) -> str:
        long_parts.append(long[0])
        return chr(_FIRST_PLACEHOLDER + len(long_parts) - 1) * text_width  # it fills a line, so no other text is on it

    rows: list[str] = []
    in_code = False
    for row in _LINK.sub(_name_command, markdown).split("\n"):
        fence = row.lstrip().startswith("```")
        in_code ^= fence
        if in_code and not fence:
            rows.append(re.sub(rf"\S.{{{text_width},}}", placeholder, row))
        elif fence or row.startswith("|"):
            rows.append(row)
        else:
            rows.append(re.sub(rf"(?<!\S)[\w/][^\s\[\]()`]{{{text_width},}}", placeholder, row))
    text = join_lines(line.plain.rstrip() for line in markdown_lines(_CODE.sub(_quote, "\n".join(rows)), width))
    for index, part in enumerate(long_parts):
        text = text.replace(chr(_FIRST_PLACEHOLDER + index) * text_width, part)
    return text


def markdown_lines(markdown: str, width: int) -> list[Text]:
    console = Console(width=width, theme=_THEME)
    return [
        Text.assemble(*((part.text.replace(_NO_BREAK, "\xa0"), part.style or "") for part in row), end="")
        for row in console.render_lines(_Page(markdown.replace("\xa0", _NO_BREAK)), pad=False)
    ]


def _name_command(link: re.Match[str]) -> str:
    """Return the text of a link and the command that shows the page; the text alone if it is this command."""
    text, command = link[1], f"`fstui explain {link[2]}`"
    return text if text == command else f"{text} ({command})"


def _quote(code: re.Match[str]) -> str:
    """Put a command in quotation marks, because plain text has no other sign of where the command ends."""
    return f"'{code[0]}'" if re.search(r"\s", code[1]) and "'" not in code[1] else code[0]


def word_lines(name: str, width: int, lead: str = "") -> list[Text]:
    word = glossary.entries()[name]
    text = [Text(f"  {part}", end="") for part in wrap(lead + word.text, width - 4)]
    references = (part for line in _references(word) for part in wrap(line, width - 4))
    return [*text, *(Text.assemble((f"  {part}", "dim"), end="") for part in references)]


def _references(word: glossary.Term) -> Iterator[str]:
    if word.source:
        yield f"source: {word.source}"
    if word.see:
        yield f"see: {', '.join(map(glossary.spelling, word.see))}"
